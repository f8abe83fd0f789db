"""The linter's verdicts, severities, places and counts. What the assembler says of the same lines is in
``test_differential.py``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ptxspec.diagnostics import UsageError
from ptxspec.ptx.files import ptx_files
from ptxspec.ptx.lint import LintResult, lint

from .lines import TAIL, head

HERE = head((9, 0), 90)
BEFORE = f".version 9.0\n.target sm_90\n.address_size 64\n{HERE}"
FIRST = BEFORE.count("\n") + 1


def verdicts(line: str, **options: str) -> list[tuple[str, str]]:
    """(code, severity) of each finding on one line."""
    result = lint(f"{BEFORE}{line}\n{TAIL}", "a.ptx", toolkit="13.0", **options)
    assert all(f.line == FIRST for f in result.findings), [f.diagnostic for f in result.findings]
    return [(f.code, f.severity) for f in result.findings]


GOOD = """
ld.global.u32 %u32_0, [%b64_0];
ld.global.b8 %b128_0, [%b64_0+4];
ld.global.f32 %b64_0, [g];
ld.v4.f32 {%u32_0, %s32_1, %u32_2, %b32_0}, [%b64_0];
ld.global.v2.u64 {_, %b64_1}, [%u64_0];
ld.shared.v4.b32 %v, [%b32_0];
ld.global.nc.L1::no_allocate.L2::cache_hint.L2::128B.v4.f32 {%f32_0,%f32_1,%f32_2,%f32_3}, [%b64_0], %b64_1;
ld.local.u32 %u32_0, [16];
ld.u32 %u32_0, [%b64_0].unified;
st.global.v2.b32 [%b64_0], {1, %u32_0};
st.global.b32 [%b64_0], 0f3F800000;
st.param.b32 [rv], %b32_0;
ld.param.b32 %b32_0, [pin];
mov.b64 {%b32_0, _}, %f64_0;
mov.b32 %f16x2_0, {%f16_0, %b16_0};
mov.u16 %u16_0, %tid.x;
mov.b64 %b64_0, g+4;
mov.pred %p0, !%p1;
mov.b64 %b64_0, bar;
@!%p0 add.s32 %s32_0, %b32_0, -1;
setp.lt.and.u32 %p0|%p1, %u32_0, 7, !%p2;
cvta.to.shared.u64 %u64_0, %u64_1;
bar.sync 15, 64;
bra lab;
foo.bar %b32_0;
""".strip().splitlines()

BAD = [(line, code) for code, lines in {
    "L200": ["ld.u32 %u32_0;", "ld.u32 %u32_0, [%b64_0], %b64_1;", "mov.u32 %u32_0;",
             "ld.global.L2::cache_hint.u32 %u32_0, [%b64_0];"],
    "L201": ["ld.u32 %f32_0, [%b64_0];", "ld.f32 %u32_0, [%b64_0];", "ld.u64 %u32_0, [%b64_0];", "ld.u8 %p0, [%b64_0];",
             "mov.u32 %u16_0, %u32_0;", "mov.u32 %u32_0, %b64_0;", "add.u32 %u32_0, %f32_0, 1;"],
    "L202": ["ld.v2.u32 {%u32_0}, [%b64_0];", "ld.v4.u32 %u32_0, [%b64_0];", "ld.u32 {%u32_0, %u32_1}, [%b64_0];",
             "mov.b64 {%b32_0,%b32_1}, {%b32_0,%b32_1};", "mov.b64 %b64_0, {%b16_0, %b16_1};",
             "mov.u64 %u64_0, {%b32_0, %b32_1};", "ld.v2.u32 %v, [%b64_0];"],
    "L203": ["ld.v2.u32 {%u32_0, %f32_1}, [%b64_0];", "ld.v2.b32 {%b32_0, %b64_1}, [%b64_0];",
             "st.v2.b32 [%b64_0], {%v.x, 1};"],
    "L204": ["ld.v2.u32 {_, _}, [%b64_0];", "ld.u32 _, [%b64_0];", "st.v2.u32 [%b64_0], {_, %u32_0};",
             "mov.b64 %b64_0, {_, %b32_0};"],
    "L205": ["st.f32 [%b64_0], 1;", "st.u32 [%b64_0], 1.0;", "st.b16 [%b64_0], 0f3F800000;", "mov.f64 %f64_0, 3;",
             "mov.pred %p0, 1.0;", "mov.f32 %f32_0, g;", "add.f32 %f32_0, %f32_1, 1;"],
    "L206": ["ld.u32 g, [%b64_0];", "ld.u32 4, [%b64_0];", "st.u32 [%b64_0], g;", "mov.u32 5, %u32_0;",
             "mov.u32 %tid.x, %u32_0;", "mov.u32 %u32_0, [%b64_0];", "ld.v2.u32 {%u32_0, g}, [%b64_0];"],
    "L207": ["ld.u32 %u32_0, %b64_0;", "ld.u32 %u32_0, [%f64_0];", "ld.u32 %u32_0, [bar];", "ld.u32 %u32_0, [%b128_0];",
             "ld.u32 %u32_0, [1.0];", "ld.u32 %u32_0, [lab];"],
    "L208": ["ld.shared.u32 %u32_0, [16];", "ld.u32 %u32_0, [WARP_SZ];"],
    "L209": ["ld.shared.u32 %u32_0, [g];", "ld.u32 %u32_0, [cc];", "ld.param.u32 %u32_0, [sh];"],
    "L210": ["st.u32 [%b64_0].unified, %u32_0;", "ld.shared.u32 %u32_0, [%b64_0].unified;",
             "ld.u32 %u32_0, [g].unified;"],
    "L211": ["@%b32_0 mov.u32 %u32_0, 1;", "@rin foo;"],
    "L212": ["st.param.b32 [pin], %b32_0;", "ld.param.b32 %b32_0, [rv];"],
    "L213": ["@%p0 st.param.b32 [arg], %b32_0;"],
    "L215": ["mov.f32 %f32_0, %tid.x;", "mov.u64 %u64_0, %laneid;", "st.u32 [%b64_0], %tid.x;"],
    "L216": ["ld.global.L2::cache_hint.u32 %u32_0, [%b64_0], %b32_1;",
             "st.global.L2::cache_hint.u32 [%b64_0], %u32_0, %f64_1;"],
    "L217": ["mov.b64 %b64_0, arg;"],
    "L218": ["ld.u32 %u32_0, [%b32_0];", "st.global.u32 [rin], %u32_0;", "mov.u32 %u32_0, g;"],
    "L219": ["mov.u32 %u32_0, -%u32_1;", "mov.u32 %u32_0, !%p0;", "mov.b32 %b32_0, %b32_1.b0;",
             "mov.pred %p0|%p1, %p2;"],
    "L233": ["mov.b64 %b64_0, bar+4;"],
    "L241": ["bar.sync 16;"], "L242": ["bar.sync 0, 33;"],
    "L002": ["mov.u32 %u32_0 %u32_1;", "ld.u32 %u32_0, [%b64_0-4];", "mov.u32 %u32_0, {%u32_1,};"],
    "L003": ["mov.u32 %u32_9, 1;"],
    "F101": ["ld.foo.u32 %u32_0, [%b64_0];"], "F201": ["ld.relaxed.u32 %u32_0, [%b64_0];"],
    "F301": ["ld.v8.u32 {%u32_0,%u32_0,%u32_0,%u32_0,%u32_0,%u32_0,%u32_0,%u32_0}, [%b64_0];"],
}.items() for line in lines]

DOUBTFUL = {
    "mov.u32 %u32_0, %u32_1+4;": "L234", "st.global.u64 [%b64_0], bar;": "L233",
    "ld.shared.u32 %u32_0, [%laneid];": "L232",
    "ld.shared.u32 %u32_0, [%b16_0];": "L235", "mov.pred %p0, %f16x2_0;": "L236", "mov.u16 %u16_0, g;": "L237",
    "mov.v2.b32 {%b32_0,%b32_1}, 1;": "L238", "mov.v2.b32 {%b32_0,%b32_1}, {%b32_2,%b32_3};": "L239",
    "selp.u32 %u32_0, %u32_1, %u32_2, 1;": "L240", "ld.u32.global %u32_0, [%b64_0];": "F105",
}


@pytest.mark.parametrize("line", GOOD)
def test_nothing_to_say(line: str) -> None:
    assert verdicts(line) == []


@pytest.mark.parametrize("line,code", BAD)
def test_refused(line: str, code: str) -> None:
    assert (code, "error") in verdicts(line)


@pytest.mark.parametrize("line,code", DOUBTFUL.items())
def test_taken_by_the_assembler_only(line: str, code: str) -> None:
    found = verdicts(line)
    assert (code, "warning") in found
    assert {severity for _, severity in found} == {"warning"}


def module(body: str, version: str = "9.0", target: str = "sm_90") -> str:
    return (f".version {version}\n.target {target}\n.address_size 64\n.entry k(.param .u64 p)\n{{\n"
            f".reg .b64 %rd<4>;\n.reg .b32 %r<9>;\n.reg .pred %p<3>;\n{body}\nret;\n}}\n")


def test_places_point_at_the_operand() -> None:
    text = module("    @!%p1 ld.global.v2.u32 {%r1, %r2}, [%p2], %rd1;\n  @%r1 mov.u32 %r1,\n      %rd2;")
    found = [(f.code, str(f.diagnostic.span)) for f in lint(text, "a.ptx").findings]
    assert found == [("L200", "a.ptx:9:47"), ("L211", "a.ptx:10:3"), ("L201", "a.ptx:11:7")]


def test_parameters_of_an_entry_by_toolkit() -> None:
    text = module("ld.param::func.u64 %rd1, [p];")
    assert [f.severity for f in lint(text, toolkit="13.0").findings] == ["warning"]
    assert [f.severity for f in lint(text, toolkit="13.5").findings] == ["error"]


def test_an_undeclared_name_is_said_once() -> None:
    result = lint(module("mov.u32\n %r77,\n %r78;\nmov.u32 %r1, %rd1;"))
    assert [(f.code, f.line) for f in result.findings] == [("L003", 10), ("L003", 11), ("L201", 12)]


def test_special_registers_have_floors() -> None:
    line = "mov.u32 %r1, %clusterid.x;"
    assert lint(module(line)).findings == ()
    assert [f.code for f in lint(module(line, "7.0", "sm_80")).findings] == ["L221"]


def test_version_and_target_of_the_module_decide() -> None:
    line = "ld.global.v4.u64 {%rd0,%rd1,%rd2,%rd3}, [%rd0];"
    assert lint(module(line)).errors == 1
    assert lint(module(line, "8.8", "sm_100")).errors == 0
    assert lint(module(line), sm="sm_100", ptx="8.8").errors == 0
    assert lint(module(line, "8.8", "sm_100"), sm="sm_90").errors == 1


def test_the_newest_release_that_reads_the_module_is_predicted() -> None:
    assert lint(module("", "6.0", "sm_60")).toolkit == "12.9"
    assert lint(module("", "9.0", "sm_90")).toolkit == "13.5"


@pytest.mark.parametrize("version,target,code", [
    ("7.0", "sm_90", "L007"), ("9.0", "sm_91", "L008"), ("9.7", "sm_90", "L008"),
])
def test_modules_that_no_assembler_reads(version: str, target: str, code: str) -> None:
    result = lint(module("ld.global.u32 %r1, [%rd1];", version, target))
    assert [f.code for f in result.findings] == [code]


def test_an_old_release_cannot_read_a_new_module() -> None:
    result = lint(module(""), toolkit="12.0")
    assert [(f.code, f.line) for f in result.findings] == [("L007", 1)]


@pytest.mark.parametrize("options", [{"sm": "sm_12"}, {"ptx": "99"}, {"toolkit": "1.0"}])
def test_unknown_arguments(options: dict[str, str]) -> None:
    with pytest.raises(UsageError):
        lint(module(""), **options)


def test_counts_and_json() -> None:
    result = lint(module("ld.global.u32 %r1, [%rd1];\nfoo.u32 %r1;\nfoo;\nst.u32\n [%rd1], 1.0;"), "a.ptx")
    assert isinstance(result, LintResult)
    assert (result.instructions, result.checked, dict(result.unknown_mnemonics)) == (5, 3, {"foo": 2})
    assert result.unjudged_lines == (10, 11)
    assert result.summary() == {"instructions": 5, "checked": 3, "unknown_mnemonics": 2, "errors": 1, "warnings": 0}
    assert json.loads(json.dumps(result.findings[0].to_json())) == {
        "file": "a.ptx", "line": 13, "column": 10, "code": "L205", "severity": "error",
        "message": "'1.0' is a floating-point constant, which '.u32' does not take",
        "instruction": "st.u32 [%rd1], 1.0;",
    }


def test_asynchronous_stores_are_instructions_of_their_own() -> None:
    line = "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r1], %r2, [%r3];"
    result = lint(module(line + "\nst.bulk.weak.shared::cta [%rd1], 64, 0;"))
    assert [f.code for f in result.findings] == ["F301"]  # st.bulk needs sm_100; operands of neither are judged
    assert dict(result.unknown_mnemonics) == {"st.async": 1}


def test_a_verdict_is_not_carried_to_other_operands() -> None:
    lines = ["ld.global.u32 %r1, [%rd1];", "ld.global.u32 %rd1, [%rd1];", "ld.global.u32 %p1, [%rd1];", "bar.sync 1;",
             "bar.sync 99;", "{ .reg .f32 %r1; ld.global.u32 %r1, [%rd1]; }"]
    result = lint(module("\n".join(lines)))
    assert [(f.code, f.line) for f in result.findings] == [("L201", 11), ("L241", 13), ("L201", 14)]


def test_files_directories_and_patterns(tmp_path: Path) -> None:
    for name in ("b.ptx", "a.ptx", "sub/c.ptx", "sub/d.txt"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("x")

    def names(*arguments: str) -> list[str]:
        return [p.relative_to(tmp_path).as_posix() for p in ptx_files([str(tmp_path / a) for a in arguments])]

    assert names(".") == ["a.ptx", "b.ptx", "sub/c.ptx"]
    assert names("b.ptx", "*.ptx") == ["b.ptx", "a.ptx"]
    assert names("**/c.ptx", "sub/d.txt") == ["sub/c.ptx", "sub/d.txt"]
    for missing in ("e.ptx", "*.cubin", "sub/*.ptx/x"):
        with pytest.raises(UsageError) as caught:
            names(missing)
        assert caught.value.code == "U130"


def test_a_mistake_inside_a_vector_does_not_hide_the_lines_behind_it() -> None:
    text = (".version 9.0\n.target sm_90\n.address_size 64\n.func f() {\n"
            ".reg .pred %p<4>; .reg .b32 %r<4>; .reg .b64 %rd<4>;\n"
            "ld.v2.b32 {%r0, !%p1}, [%rd1];\nld.b32 %p1, [%rd1];\nret;\n}\n")
    assert {6, 7} <= {f.line for f in lint(text, "m.ptx").findings}
