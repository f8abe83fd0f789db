"""The strict YAML loader: every surprise of YAML is a refusal with its place."""

from __future__ import annotations

import random

import pytest

from ptxspec import source
from ptxspec.diagnostics import Diagnostic, SpecError


@pytest.mark.parametrize(
    ("text", "code", "line", "column"),
    [
        ("a: 1\na: 2\n", "S003", 2, 1),
        ("a: yes\n", "S006", 1, 4),
        ("a:\n  - on\n", "S006", 2, 5),
        ("a: 1.0\n", "S006", 1, 4),
        ("a: 0x10\n", "S006", 1, 4),
        ("a: 012\n", "S006", 1, 4),
        ("a: 2026-11-29\n", "S006", 1, 4),
        ("a: 1:30\n", "S006", 1, 4),
        ("a: ~\n", "S006", 1, 4),
        ("a:\n", "S006", 1, 3),
        ("no: a\n", "S006", 1, 1),
        ("a: &x 1\n", "S004", 1, 4),
        ("a: *x\n", "S004", 1, 4),
        ("a: !!python/object/apply:os.system [ls]\n", "S005", 1, 4),
        ("a: !!str 1\n", "S005", 1, 4),
        ("- a\n", "S002", 1, 1),
        ("a: 1\n---\nb: 2\n", "S002", 2, 1),
        ("a: [1, 2\n", "S001", 2, 1),
        ("? [a]\n: 1\n", "S002", 1, 3),
        ("", "S002", 1, 1),
    ],
)
def test_refusals(text: str, code: str, line: int, column: int) -> None:
    with pytest.raises(SpecError) as caught:
        source.load(text, "f.yaml")
    first = caught.value.diagnostics[0]
    assert first.span is not None
    assert (first.code, first.span.line, first.span.column) == (code, line, column)


def test_plain_data_and_positions() -> None:
    document = source.load('a: true\nb: [x, {c: "1.0"}]\nk: -3\n', "f.yaml")
    assert document.data == {"a": True, "b": ["x", {"c": "1.0"}], "k": -3}
    assert (document.span(("b", 1, "c")).line, document.span(("b", 1, "c")).column) == (2, 12)
    assert document.span(("b", "Condition", 1, "c")).column == 12, "names of union branches are skipped"
    assert document.key_span(("k",)).column == 1


def test_all_problems_of_a_file_are_told_at_once() -> None:
    with pytest.raises(SpecError) as caught:
        source.load("a: yes\nb: no\nb: 1\n", "f.yaml")
    assert [d.code for d in caught.value.diagnostics] == ["S006", "S006", "S003"]


def test_bombs_end_quickly() -> None:
    deep = "a: " + "[" * 5000 + "]" * 5000
    many = "a: [" + "1," * 200_000 + "1]"
    laughs = "a: &a [x,x]\n" + "".join(
        f"{chr(98 + i)}: &{chr(98 + i)} [*{chr(97 + i)},*{chr(97 + i)}]\n" for i in range(20)
    )
    for text, code in ((deep, "S009"), (many, "S009"), (laughs, "S004"), ("a: " + "x" * 2_000_000, "S009")):
        with pytest.raises(SpecError) as caught:
            source.load(text, "f.yaml")
        assert caught.value.code == code


def test_random_bytes_give_data_or_a_diagnostic() -> None:
    rng = random.Random(5)
    alphabet = "ab:{}[],-&*!|>'\"%@`#?\n\t \\0189.~\u00e9\x00\x85"
    for _ in range(3000):
        text = "".join(rng.choice(alphabet) for _ in range(rng.randrange(40)))
        problems = _problems(text)
        assert all(d.code.startswith("S") and d.span for d in problems)


def _problems(text: str) -> tuple[Diagnostic, ...]:
    try:
        source.load(text, "f.yaml")
    except SpecError as error:
        return error.diagnostics
    return ()
