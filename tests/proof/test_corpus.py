"""The corpus of kernels in ``tests/proofs``: the folder is the verdict, ``EXPECT`` what the message must say."""

from __future__ import annotations

from pathlib import Path

import pytest
from loading import load

from ptxspec.lang.function import KernelFunction
from ptxspec.proof import prove

CORPUS = Path(__file__).resolve().parent.parent / "proofs"
VERDICTS = ("proved", "refuted", "unknown", "vacuous")
FILES = sorted(CORPUS.glob("*/*.py"))


def cases() -> list[tuple[str, str, KernelFunction, tuple[str, ...]]]:
    """(verdict, name, kernel, expected words)."""
    found = []
    for path in FILES:
        module = load(path)
        expect = getattr(module, "EXPECT", {})
        for name, value in vars(module).items():
            if isinstance(value, KernelFunction):
                found.append((path.parent.name, name, value, tuple(expect.get(name, ()))))
    return found


CASES = cases()


def test_the_corpus_is_there() -> None:
    assert {c[0] for c in CASES} == set(VERDICTS)
    for path in FILES:
        expect = set(getattr(load(path), "EXPECT", {}))
        assert expect <= {c[1] for c in CASES}, f"EXPECT of {path.name} names kernels that do not exist"


@pytest.mark.parametrize("case", CASES, ids=[f"{c[0]}-{c[1]}" for c in CASES])
def test_verdict_and_message(case: tuple[str, str, KernelFunction, tuple[str, ...]]) -> None:
    verdict, _, kernel, words = case
    report = prove(kernel, use_cache=False)
    text = "\n\n".join(d.render() for d in report.diagnostics)
    assert report.verdict == verdict, text or report.text()
    if verdict == "proved":
        assert not report.diagnostics
        return
    assert words, "a kernel that is not proved needs its words in EXPECT"
    for word in words:
        assert word in text, f"{word!r} is missing in:\n{text}"
    assert words[0] in {o.explain for o in report.failures()}
    if verdict == "refuted":
        for failure in report.failures():
            if failure.verdict == "refuted":
                assert failure.counterexample is not None
                assert failure.diagnostic is not None
