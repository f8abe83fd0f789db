"""The truth of the corpus: kernels of constant size are run thread by thread, for all scalars that ``VALUES`` names."""

from __future__ import annotations

import pytest
from proof_support.brute import Truth
from test_corpus import FILES, load

from ptxspec.lang.function import KernelFunction
from ptxspec.proof import prove

FOLDERS = ("proved", "refuted")
#: Layouts put on views are beyond the brute-force judge; these were worked out by hand.
BY_HAND = {"swizzle_put_on_a_view", "two_swizzles_of_one_array"}


def cases() -> list[tuple[str, KernelFunction, dict[str, range]]]:
    """(folder, kernel, values of its scalars) of every file with ``VALUES``."""
    found = []
    for path in FILES:
        module = load(path)
        if path.parent.name in FOLDERS and hasattr(module, "VALUES"):
            for name, value in vars(module).items():
                if isinstance(value, KernelFunction):
                    found.append((path.parent.name, value, module.VALUES.get(name, {})))
    return found


CASES = cases()


def test_there_are_many() -> None:
    assert len([c for c in CASES if c[0] == "proved"]) >= 35
    assert len([c for c in CASES if c[0] == "refuted"]) >= 25


@pytest.mark.parametrize("case", CASES, ids=[f"{c[0]}-{c[1].__name__}" for c in CASES])
def test_brute_force_agrees(case: tuple[str, KernelFunction, dict[str, range]]) -> None:
    folder, kernel, values = case
    if kernel.__name__ in BY_HAND:
        with pytest.raises(NotImplementedError):
            Truth(kernel.kernel(), dict(values))
        return
    truth = Truth(kernel.kernel(), dict(values))
    report = prove(kernel, use_cache=False)
    broken = truth.broken(report)
    assert truth.any
    assert bool(broken) == (folder == "refuted"), broken
    refuted = {o.code for o in report.obligations if o.verdict == "refuted"}
    assert not refuted - broken - truth.soft - {"no-wrap"}, "a rule is refuted that holds"
