"""Mutation testing: a right kernel with one small change. Where brute force finds it wrong, the prover must too."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from proof_support import brute, generator

from ptxspec.diagnostics import KernelError
from ptxspec.proof import prove

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

#: (pattern, replacements): every place where a pattern matches gives one mutant for each replacement.
CHANGES = (
    (r"^ *T\.cuda\.cta_sync\(\)\n", ("",)),  # drop a barrier
    (r"\.sub\[(tid|gid)\b", (r".sub[\1 + 1", r".sub[\1 // 2")),  # another row
    (r"(\d+):(\d+)\]", (lambda m: f"{int(m[1]) + 1}:{int(m[2]) + 1}]",)),  # another column
    (r"align=16", ("align=4",)),  # a weaker promise
    (r"< (\d+)", (lambda m: f"< {int(m[1]) + 1}", lambda m: f"<= {m[1]}")),  # an edge
    (r"% (\d+)", (lambda m: f"% {int(m[1]) + 1}", lambda m: f"% {max(1, int(m[1]) // 2)}")),
    (r", pred=[^,)]*(\)[^,)]*)?", ("",)),  # no predicate
    (r"T\.serial\((\d+)\)", (lambda m: f"T.serial({int(m[1]) + 1})",)),  # one iteration more
    (r"^ *T\.cuda\.tile\.apply\(T\.ptx\[\"mov[^\n]*\n", ("",)),  # no initialisation
    (r"block=(\d+)", (lambda m: f"block={int(m[1]) * 2}",)),  # more threads
)


def mutants(text: str) -> Iterator[str]:
    """Every single change of a source."""
    for pattern, replacements in CHANGES:
        for match in re.finditer(pattern, text, re.MULTILINE):
            for replacement in replacements:
                new = replacement(match) if callable(replacement) else match.expand(replacement)
                if new != match[0]:
                    yield text[: match.start()] + new + text[match.end() :]


def judge(text: str, values: dict[str, range]) -> str | None:
    """None when the mutant is not a kernel any more; else "same", "killed" or "survived"."""
    try:
        kernel = generator.traced(text)
        truth = brute.Truth(kernel, values)
    except (KernelError, SyntaxError, NotImplementedError):
        return None
    report = prove(kernel, use_cache=False)
    if not truth.broken(report):
        refuted = {o.code for o in report.obligations if o.verdict == "refuted"}
        assert refuted <= truth.soft, f"a right kernel is refuted:\n{text}"
        return "same"
    return "survived" if report.verdict == "proved" else "killed"


def run(sources: list[tuple[str, dict[str, range]]], limit: int) -> dict[str, int]:
    """Judge the mutants of many kernels."""
    rng = random.Random(1)
    count = {"same": 0, "killed": 0, "survived": 0}
    for text, values in sources:
        changed = list(mutants(text))
        rng.shuffle(changed)
        for mutant in changed[:limit]:
            verdict = judge(mutant, values)
            if verdict is not None:
                count[verdict] += 1
                assert verdict != "survived", f"brute force finds this wrong, the prover does not:\n{mutant}"
    return count


def example(name: str) -> str:
    """An example with its kernel under the name that the generator's tracer looks for."""
    text = (EXAMPLES / f"{name}.py").read_text()
    return text.replace(f"def {name}(", "def kernel(", 1).replace(
        "from ptxspec import T\n", "import ptxspec.lang.t as T\n"
    )


@pytest.mark.parametrize("name", ["read_next_row", "cta_copy", "strided_load"])
def test_mutants_of_the_examples(name: str) -> None:
    count = run([(example(name), {})], 60)
    assert count["killed"] > 0


def legal(count: int, start: int) -> list[tuple[str, dict[str, range]]]:
    """Generated kernels that are proved."""
    found: list[tuple[str, dict[str, range]]] = []
    seed = start
    while len(found) < count:
        seed += 2
        made = generator.make(seed)
        try:
            if prove(made.trace(), use_cache=False).verdict == "proved":
                found.append((made.text, made.values))
        except KernelError:
            continue
    return found


def test_mutants_of_generated_kernels() -> None:
    count = run(legal(12, 70_001), 5)
    assert count["killed"] >= 10


@pytest.mark.slow
def test_mutants_of_many_generated_kernels() -> None:
    count = run(legal(200, 80_001), 8)
    assert count["killed"] > 300
    assert count["survived"] == 0
