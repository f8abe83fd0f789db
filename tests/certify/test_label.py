"""The labeller: what an assembler says of each line, in spite of fatal errors, crashes and impossible settings."""

from __future__ import annotations

from pathlib import Path

import pytest
from ptxspec.backend.assemble import Toolchain, toolchains
from ptxspec.backend.certify import Setting, label
from ptxspec.backend.certify.host import PREFIXES, module, register
from ptxspec.backend.certify.label import knows

from ptxspec.diagnostics import AssembleError

PTXAS = toolchains("ptxas")
each_ptxas = pytest.mark.parametrize("tool", PTXAS, ids=lambda tool: tool.name)
SETTING = Setting((8, 0), "sm_80")
LINES = {
    "ld.global.b32 %r0, [%rd0];": "accept",
    "ld.global.b31 %r0, [%rd0];": "reject",
    "ld.global.v2.b32 {%r0, %r1}, [%rd0];": "accept",
    "ld.global.v2.b32 %r0 %r1;": "reject",  # a parse error, fatal
    "st.shared.f64 [%rd1], %fd0;": "accept",
    "st.shared.f64 [%rd1], %nothing;": "reject",
    "mov.b64 %rd3, gvar;": "accept",
    "bra LAST;": "accept",
    "ld.global.b32 %r0, [%rd0] [;": "reject",  # fatal too
    "add.s32 %sr0, %sr1, 7;": "accept",
}


@each_ptxas
def test_each_line_by_itself(tool: Toolchain) -> None:
    labels = label(tool, SETTING, list(LINES))
    assert [one.answer for one in labels] == list(LINES.values())
    assert all(bool(one.message) == (one.answer != "accept") for one in labels)


@each_ptxas
def test_batches_change_nothing(tool: Toolchain) -> None:
    lines = list(LINES) * 3
    assert label(tool, SETTING, lines, batch=7) == label(tool, SETTING, lines)
    assert label(tool, SETTING, []) == []


@each_ptxas
def test_every_register_class_is_there(tool: Toolchain) -> None:
    lines = [f"{{ .reg .b32 %x; mov.b32 %x, {register(kind, 39)}; }}" for kind in ("b32", "f32", "u32", "s32")]
    for kind in PREFIXES:
        if kind != "b128":
            assert register(kind, 0).startswith("%")
    assert len(lines) == 4
    for setting in (Setting((6, 0), "sm_70"), Setting((8, 0), "sm_90"), Setting((8, 4), "sm_90a", "entry")):
        if knows(tool, setting):
            assert label(tool, setting, ["mov.b32 %r0, %f39;"])[0].answer == "accept"


@each_ptxas
def test_an_impossible_setting_is_said_so(tool: Toolchain) -> None:
    wrong = Setting((1, 0), "sm_90")
    assert not knows(tool, wrong)
    with pytest.raises(AssembleError) as caught:
        label(tool, wrong, ["ret;"])
    assert caught.value.code == "A121"


@pytest.mark.parametrize("line", ["ret", "ret; ret;", "ret;\nret;", "ret; // no", "/* ret; */", "", ";ret"])
def test_only_single_instructions_are_asked(line: str) -> None:
    with pytest.raises(AssembleError) as caught:
        label(Toolchain("ptxas", (0,), "none"), SETTING, [line])
    assert caught.value.code == "A120"


def stand_in(folder: Path, body: str) -> Toolchain:
    path = folder / "ptxas"
    path.write_text(f"#!/bin/sh\nfor last; do case $last in *.ptx) file=$last;; esac; done\n{body}\n", encoding="utf-8")
    path.chmod(0o755)
    return Toolchain("ptxas", (1,), str(path))


def test_the_line_that_crashes_is_found(tmp_path: Path) -> None:
    tool = stand_in(tmp_path, 'grep -q "^bad" "$file" && kill -SEGV $$; exit 0')
    lines = ["good;"] * 50
    lines[17] = lines[40] = "bad;"
    labels = label(tool, SETTING, lines)
    assert [number for number, one in enumerate(labels) if one.answer == "crash"] == [17, 40]
    assert labels[17].message == "SIGSEGV"
    assert sum(one.answer == "accept" for one in labels) == 48


def test_lines_that_crash_only_together_are_judged_apart(tmp_path: Path) -> None:
    tool = stand_in(tmp_path, '[ "$(grep -c "^odd" "$file")" -gt 1 ] && kill -ABRT $$; exit 0')
    assert all(one.answer == "accept" for one in label(tool, SETTING, ["odd;", "plain;", "odd;", "odd;"]))


def test_an_error_without_a_line_is_traced_to_its_line(tmp_path: Path) -> None:
    body = 'grep -q "^whole" "$file" && { echo "ptxas fatal   : the module is wrong" >&2; exit 255; }; exit 0'
    labels = label(stand_in(tmp_path, body), SETTING, ["a;", "b;", "whole;", "c;"])
    assert [one.answer for one in labels] == ["accept", "accept", "reject", "accept"]


def test_in_a_kernel_code_is_generated_for_what_the_parser_took(tmp_path: Path) -> None:
    # As ptxas does: errors are reported first, and only a module without any reaches code generation, which crashes.
    body = (
        'n=0; bad=; while read -r text; do n=$((n+1)); case $text in wrong*) bad=1;'
        ' echo "ptxas module.ptx, line $n; error   : no" >&2;; esac; done <"$file"; [ -n "$bad" ] && exit 255;'
        ' grep -q "[.]entry" "$file" && grep -q "^deep" "$file" && kill -SEGV $$; exit 0'
    )
    tool = stand_in(tmp_path, body)
    lines = ["fine;", "wrong;", "deep;", "fine;", "wrong;", "fine;"]
    entry = Setting((8, 0), "sm_80", "entry")
    answers = [one.answer for one in label(tool, entry, lines)]
    assert answers == ["accept", "reject", "crash", "accept", "reject", "accept"]
    assert [one.answer for one in label(tool, SETTING, lines)].count("crash") == 0


@each_ptxas
def test_a_line_is_judged_as_if_it_stood_alone(tool: Toolchain) -> None:
    # An error of one line hides those that the assembler looks for later: in the routine that it puts in for a
    # division, in what createpolicy is expanded to, and in the module as a whole.
    lines = [
        "@p mov.b64 {%r0, %r1}, %ur1;", "div.s64 %srd0, host, %srd16;",
        "createpolicy.fractional.L2::evict_last.b64 %rd0, {%r1};",
        "mov.b16 %h0, %hh6;", "add.s32 %sr0, %sr1, 7;", "mov.u32 %ur0, gvar;", "mov.u32 %ur0, svar;",
    ]
    setting = Setting((8, 0), "sm_90")
    if knows(tool, setting):
        answers = [one.answer for one in label(tool, setting, lines)]
        assert answers == [*["reject"] * 4, "accept", "reject", "accept"]
        assert answers == [label(tool, setting, [line])[0].answer for line in lines]
        assert answers[::-1] == [one.answer for one in label(tool, setting, lines[::-1])]


def test_an_error_in_the_name_of_another_instruction_is_asked_alone(tmp_path: Path) -> None:
    # The routine of `odd;` complains with a line number of its own, which is that of `plain;` here.
    body = (
        'grep -q "^odd" "$file" || exit 0; line=$(grep -n "^plain" "$file" | head -1 | cut -d: -f1);'
        ' line=${line:-1};'
        ' echo "ptxas module.ptx, line $line; error   : Arguments mismatch for instruction \'call\'" >&2;'
        " exit 255"
    )
    labels = label(stand_in(tmp_path, body), SETTING, ["good;", "odd;", "plain;", "good;"])
    assert [one.answer for one in labels] == ["accept", "reject", "accept", "accept"]


def test_the_module_puts_each_instruction_on_its_line() -> None:
    text = module(SETTING, ["first;", "", "third;"]).splitlines()
    start = text.index("first;")
    assert text[start + 2] == "third;"
    assert "entry" not in text[start - 1]
    assert ".entry" in module(Setting((8, 0), "sm_80", "entry"), []).splitlines()[start - 1]
