"""Damaged PTX gives verdicts or diagnostics: no traceback, no hang."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ptxspec.ptx import parse_recovering
from ptxspec.ptx.lint import lint

from .lines import TAIL, Lines, head
from .other_lines import OtherLines

FIXTURES = sorted((Path(__file__).parent / "fixtures").glob("*.ptx"))
PIECES = (
    "{", "}", "[", "]", "(", ")", ";", ",", ".", '"', "/*", "*/", "//", "%", "@", "!", "<", ">", "-", "+", "1", "0x",
    "0f", "0f00000000", "::", "\0", "\n", "é", "$", "|", ":", ".reg", ".version 99.9", ".target sm_1", "{{{{{{{{{{",
    "((((((((((", "[[[[[[[[", "<<", "?", "_", "WARP_SZ", "%r<999999999>", "9" * 400, "1e999", ".b128", ".section {",
    "@@DWARF", "\x0c", "\ud800", "ld.", "mov.b64 {", ".entry", ".func (", "call (", "~~~~", "--", "\t", "\r\n",
)


def damaged(text: str, pick: random.Random) -> str:
    """``text`` with a few pieces deleted, inserted, replaced or copied."""
    for _ in range(pick.choice((1, 1, 2, 3, 8, 30))):
        at, roll = pick.randrange(len(text) + 1), pick.random()
        if roll < 0.3:
            text = text[:at] + text[at + pick.choice((1, 1, 2, 10, 200)) :]
        elif roll < 0.65:
            text = text[:at] + pick.choice(PIECES) + text[at:]
        elif roll < 0.8:
            text = text[:at] + chr(pick.randrange(32, 127)) + text[at + 1 :]
        else:
            other = pick.randrange(len(text) + 1)
            text = text[:at] + text[other : other + pick.randrange(80)] + text[at:]
    return text


def check(text: str) -> None:
    """Both ways in: reading and judging."""
    began = time.perf_counter()
    result = lint(text, "fuzz.ptx")
    parse_recovering(text)
    assert time.perf_counter() - began < 60, "this takes too long"
    lines = text.count("\n") + 1
    for finding in result.findings:
        assert finding.severity in ("error", "warning")
        assert finding.code
        span = finding.diagnostic.span
        assert span is None or (1 <= span.line <= lines and span.column >= 1), finding.diagnostic
        assert finding.to_json()["message"]
    assert result.instructions == result.checked + sum(result.unknown_mnemonics.values())


def test_damaged_files() -> None:
    count = int(os.environ.get("PTXSPEC_FUZZ", "400"))
    pick = random.Random(int(os.environ.get("PTXSPEC_SEED", "20260101")))
    texts = [p.read_text() for p in FIXTURES if p.stat().st_size < 8000]
    for number in range(count):
        if number % 3:
            text = pick.choice(texts)
        else:
            source = (Lines if number % 2 else OtherLines)(pick.randrange(1 << 30), (9, 0), 90)
            make = source.other if isinstance(source, OtherLines) else source.line
            before = f".version 9.0\n.target sm_90\n.address_size 64\n{head((9, 0), 90)}"
            text = before + "\n".join(make() for _ in range(30)) + "\n" + TAIL
        check(damaged(text, pick))


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=6)), max_size=40))
def test_any_pieces_as_a_body(pieces: list[str]) -> None:
    check(".version 9.0\n.target sm_90\n.address_size 64\n.entry k()\n{\n" + " ".join(pieces) + "\n}\n")


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.text(max_size=200))
def test_any_text(text: str) -> None:
    check(text)


def test_long_and_deep_input_ends_soon() -> None:
    start = ".version 9.0\n.target sm_90\n.address_size 64\n.entry k()\n{\n.reg .b32 %r<5>;\n"
    names = ",".join(f"a{i}" for i in range(9000))
    for middle in (
        "{" * 20000, "(" * 20000, "mov.b32 %r1, " + "(" * 20000, "mov.b32 %r1, " + "-" * 20000 + "1;",
        "ld.u32 {" + "%r1," * 20000 + "%r1}, [%r1];", f".reg .b32 {names};", "mov.b32 %r1, " + "1+" * 20000 + "1;",
        "L: " * 9000, "/*" * 20000, '"' * 20001, "@" * 9000, "mov.b32 %r1, %r2;" * 9000, "mov.b32 %r1 %r2;" * 9000,
        ".loc 1 1 1 " * 9000, "ld" + ".u32" * 9000 + " ;",
    ):
        check(start + middle + "\n}\n")
