"""One broken kernel for each obligation: refused for the right reason, in the words of its golden file."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from loading import EXAMPLES, example

import ptxspec

BROKEN = EXAMPLES / "broken"

#: The obligation that each file violates (None: refused while the kernel is read).
EXPECTED = {
    "aligned": "aligned", "aligned_dtype_view": "aligned", "consecutive": "consecutive", "convergent": "convergent",
    "defined": "defined", "disjoint": "disjoint", "fits": "fits", "in_space": "in-space", "launch": None,
    "no_wrap": "no-wrap", "owned": "owned", "race_between_blocks": "race-free", "race_free": "race-free",
    "register_view_too_large": "in-bounds", "row_past_the_end": "in-bounds",
}


def refusal(name: str) -> tuple[str, str | None]:
    """The message that refuses the kernel and the obligation that failed first."""
    module = example(f"broken/{name}")
    try:
        ptxspec.compile(module.kernel, target="sm_90")
    except ptxspec.ProofError as error:
        failed = [o for o in error.report.obligations if o.verdict != "proved"]
        assert all(o.verdict == "refuted" for o in failed), [(o.code, o.verdict) for o in failed]
        return str(error), failed[0].code
    except ptxspec.PtxspecError as error:
        return str(error), None
    raise AssertionError(f"{name} was accepted")


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_broken_kernel_is_refused_in_these_words(name: str, golden: Callable[[str, str], None]) -> None:
    text, code = refusal(name)
    assert code == EXPECTED[name]
    # Where a rule stands in its file changes with every rule before it.
    golden(f"{name}.txt", re.sub(r"(specs/\S+?\.yaml):\d+:\d+", r"\1", text) + "\n")


@pytest.mark.parametrize("name", sorted(n for n, code in EXPECTED.items() if code))
def test_the_message_names_the_users_line_and_a_counterexample(name: str) -> None:
    text, _ = refusal(name)
    assert re.search(rf"--> \S*broken/{name}\.py:\d+:\d+", text)
    assert "counterexample" in text or EXPECTED[name] == "fits"


def test_every_broken_file_is_expected_here() -> None:
    assert {p.stem for p in BROKEN.glob("*.py")} == set(EXPECTED)
