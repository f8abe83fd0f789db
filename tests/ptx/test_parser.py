"""The grammar of PTX modules, and errors at exact places."""

from __future__ import annotations

import pytest

from ptxspec.ptx import (
    Directive,
    Function,
    Instruction,
    LabelDef,
    PtxError,
    RegisterDecl,
    ScopeBegin,
    ScopeEnd,
    VariableDecl,
    parse,
    parse_recovering,
)
from ptxspec.ptx.constant import evaluate
from ptxspec.ptx.lexer import PtxSyntaxError
from ptxspec.ptx.operand import (
    Address,
    Component,
    Group,
    Immediate,
    Label,
    NotPredicate,
    Pair,
    Register,
    Sink,
    Special,
    Symbol,
    Vector,
)

HEAD = ".version 9.0\n.target sm_90\n.address_size 64\n"


def body(text: str, before: str = "", params: str = ".param .u64 p") -> Function:
    """The function around ``text``."""
    return parse(f"{HEAD}{before}.visible .entry k({params})\n{{\n{text}\n}}\n").function("k")


def only(text: str, before: str = "") -> Instruction:
    """The last instruction of a body."""
    registers = ".reg .pred %p<4>; .reg .b32 %r<10>; .reg .b64 %rd<10>; .reg .f32 %f<10>; .reg .v4 .b32 %v;"
    return list(body(registers + "\n" + text, before).instructions)[-1]


def test_head_of_a_module() -> None:
    module = parse("// a comment\n.version 8.4\n.target sm_90a, debug, texmode_independent\n.address_size 64 /* x */\n")
    assert (module.version, module.target, module.address_size) == ((8, 4), "sm_90a", 64)
    assert module.target_options == ("debug", "texmode_independent")


def test_entry_with_parameters_and_directives() -> None:
    module = parse(HEAD + """
.visible .entry k(
    .param .u64 .ptr .global .align 16 a,
    .param .align 8 .b8 s[24],
    .param .f32 x
)
.maxntid 128, 1, 1
.minnctapersm 2
.reqnctapercluster 2, 1, 1
.explicitcluster
{
    ret;
}
""")
    function = module.function("k")
    assert module.entries == (function,)
    assert [(p.name, p.type, p.align, p.size) for p in function.params] == [
        ("a", "u64", 8, 8), ("s", "b8", 8, 24), ("x", "f32", 4, 4)]
    assert function.params[0].pointer == "global.align16"
    assert [(d.name, d.text) for d in function.directives] == [
        ("maxntid", "128, 1, 1"), ("minnctapersm", "2"), ("reqnctapercluster", "2, 1, 1"), ("explicitcluster", "")]
    assert function.directive("maxntid") is not None
    assert function.directive("reqntid") is None


def test_functions_prototypes_aliases_and_calls() -> None:
    module = parse(HEAD + """
.extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);
.func (.param .align 4 .b8 out[12]) f(.param .b32 x, .reg .u32 y) .noreturn
{
    .reg .b32 %t<3>;
    .param .b32 hand;
    st.param.b32 [hand+0], %t1;
    call (%t2), g, (%t1, y, 5), proto;
proto: .callprototype (.param .b32 _) _ (.param .b32 _, .param .b32 _, .param .b32 _);
    call.uni h;
    call (hand), f, (hand, y);
    ret;
}
.alias i, f;
.weak .func h();
.func g() { ret; }
""".replace("call (%t2), g", "call (%t2), %t1"). replace(".weak .func h();", "").replace(
        ".extern", ".weak .func h();\n.extern", 1))
    assert [(f.name, f.kind, f.linkage, f.body is None) for f in module.functions] == [
        ("h", "func", "weak", True), ("vprintf", "func", "extern", True), ("f", "func", "", False),
        ("g", "func", "", False)]
    f = module.function("f")
    assert f.returns[0].size == 12
    assert f.params[1].space == "reg"
    calls = [i for i in f.instructions if i.mnemonic == "call"]
    assert calls[0].operands == (
        Group((Register("%t2", "b32"),)), Register("%t1", "b32"),
        Group((Register("%t1", "b32"), Register("y", "u32"), Immediate("5"))), Label("proto"))
    assert calls[1].opcode == "call.uni"
    assert calls[1].operands == (Symbol("h", "", 0, "function"),)
    store = next(f.instructions)
    assert store.operands[0] == Address(Symbol("hand", "param", 0, "argument", "b32"), 0)
    prototype = next(s for s in f.body or () if isinstance(s, Directive))
    assert (prototype.name, prototype.label) == ("callprototype", "proto")
    assert module.directives[-1].text == "i, f"


def test_variables() -> None:
    module = parse(HEAD + """
.global .align 8 .b64 table[2][3] = {{1, 2, 3}, {k+4, generic(k), -1}};
.visible .const .f32 w = 0f3F800000, v = 1.5;
.extern .shared .align 16 .b8 dyn[];
.common .global .v4 .f32 c;
.global .attribute(.managed) .u32 k;
.global .texref t;
.weak .global .attribute(.unified(1, 2)) .b32 u;
""".replace("k+4, generic(k)", "4, 5"))
    found = {v.name: v for v in module.variables}
    assert (found["table"].dims, found["table"].size, found["table"].align) == ((2, 3), 48, 8)
    assert found["table"].initializer == "{{1, 2, 3}, {4, 5, -1}}"
    assert (found["w"].initializer, found["v"].initializer, found["v"].linkage) == ("0f3F800000", "1.5", "visible")
    assert (found["dyn"].linkage, found["dyn"].dims, found["dyn"].size) == ("extern", (0,), 0)
    assert (found["c"].lanes, found["c"].align, found["c"].size) == (4, 16, 16)
    assert found["k"].attributes == (".managed",)
    assert found["u"].attributes == (".unified(1,2)",)


def test_registers_ranges_vectors_and_blocks() -> None:
    function = body("""
    .reg .b32 %r<3>, %r1<2>, single;
    .reg .v2 .f32 v;
    mov.b32 %r2, %r11;
    {
        .reg .b64 %r2;
        mov.b64 %r2, 1;
    }
    mov.b32 single, %r2;
    mov.b32 single, %r01;
    """)
    statements = function.body or ()
    assert [(s.name, s.count, s.lanes) for s in statements if isinstance(s, RegisterDecl)] == [
        ("%r", 3, 1), ("%r1", 2, 1), ("single", None, 1), ("v", None, 2), ("%r2", None, 1)]
    kinds = [type(s) for s in statements if not isinstance(s, (RegisterDecl, Instruction))]
    assert kinds == [ScopeBegin, ScopeEnd]
    classes = [i.operands[0].cls for i in function.instructions if isinstance(i.operands[0], Register)]
    assert classes == ["b32", "b64", "b32", "b32"]


def test_operands() -> None:
    assert only("ld.global.v2.b32 {%r1, _}, [%rd1+-0x10];").operands == (
        Vector((Register("%r1", "b32"), Sink())), Address(Register("%rd1", "b64"), -16))
    assert only("ld.u32 %r1, [%rd1+(2*4)].unified;").operands[1] == Address(Register("%rd1", "b64"), 8, True)
    assert only("setp.lt.u32 %p1|%p2, %r1, WARP_SZ;").operands == (
        Pair(Register("%p1", "pred"), Register("%p2", "pred")), Register("%r1", "b32"), Immediate("WARP_SZ", "name"))
    assert only("@!%p1 mov.pred %p2, !%p3;").operands[1] == NotPredicate(Register("%p3", "pred"))
    assert only("mov.u32 %r1, %tid.x;").operands[1] == Special("%tid.x")
    assert only("mov.b32 %r1, %v.y;").operands[1] == Component(Register("%v", "b32", 4), "y")
    assert only("mov.u64 %rd1, g[2];", ".global .b32 g[4];\n").operands[1] == Symbol(
        "g", "global", 2, "variable", "b32", "element", False, True)
    assert only("mov.f32 %f1, -(1.0);").operands[1] == Immediate("-(1.0)", "float")
    assert only("mov.u32 %r1, (1+2)*3;").operands[1] == Immediate("(1+2)*3")
    texture = only("tex.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [t, {%f5, %f6}];", ".global .texref t;\n").operands[1]
    assert isinstance(texture, Group)
    assert texture.bracket == "["
    assert str(texture) == "[t, {%f5, %f6}]"


def test_spelling_of_instructions_and_places() -> None:
    function = body("    .reg .pred q; .reg .b32 a;\n"
                    "L1: /* c */ @!q\n  add .s32\n   a, a,  // comment; {\n   1 ;  bra.uni L1;")
    add, branch = function.instructions
    assert (add.line, add.column, add.end_line, add.opcode, add.modifiers) == (8, 3, 10, "add.s32", ("s32",))
    assert add.guard is not None
    assert add.guard.negated
    assert str(add) == "@!q add.s32 a, a, 1;"
    assert (branch.line, branch.column) == (10, 9)
    assert branch.operands == (Label("L1"),)
    assert [s.name for s in function.body or () if isinstance(s, LabelDef)] == ["L1"]


def test_directives_in_bodies_and_debug_sections() -> None:
    text = HEAD + """
.file 1 "a.cu"
.entry k()
{
    .loc 1 5 3, function_name $L__x, inlined_at 1 2 3
    .pragma "nounroll";
    .local .align 16 .b8 stack[32];
    .shared .b32 s;
    brx.idx %i, targets;
targets: .branchtargets A, B;
A: ret;
B: exit;
}
.section .debug_str
{
$L__x: .b8 95, 90
.b32 $L__x+4
}
""".replace("brx.idx %i", ".reg .u32 %i; brx.idx %i")
    module = parse(text)
    statements = module.function("k").body or ()
    assert [s.name for s in statements if isinstance(s, Directive)] == ["loc", "pragma", "branchtargets"]
    assert [s.name for s in statements if isinstance(s, VariableDecl)] == ["stack", "s"]
    assert [d.name for d in module.directives] == ["file", "section"]


@pytest.mark.parametrize("text,value", [
    ("017", 15), ("0x1F", 31), ("0b101", 5), ("5U", 5), ("-(2+3)*4", -20), ("7/-2", -3), ("-7 % 3", -1), ("1<<4|3", 19),
    ("~0", -1), ("!3", 0), ("3>2?10:20", 10), ("WARP_SZ*2", 64), ("0f3F800000", 1.0), ("0d4000000000000000", 2.0),
    ("1.5e1", 15.0), ("(.u64)-1", (1 << 64) - 1), ("1.0<2.0", 1), ("2&&0||1", 1),
])
def test_constant_expressions(text: str, value: int | float) -> None:
    assert evaluate(text) == value


@pytest.mark.parametrize("text", [
    "09", "1+1.0", "1/0", "1.0/0.0", "0f3f8", "5u", "1.0?1:2", "-0f00000000", "(1", "", "1 2",
    "99999999999999999999999", "(.s32)1", "~1.0", "7%3",
])
def test_what_is_no_constant_expression(text: str) -> None:
    with pytest.raises(PtxSyntaxError):
        evaluate(text)


@pytest.mark.parametrize("line,code,column", [
    ("ld.global.u32 %r1, [%r2 - 4];", "L002", 25), ("mov.u32 %r1 %r2;", "L002", 13),
    ("mov.u32 %r1, {%r1,};", "L002", 19), ("mov.u32 %r1, %r99;", "L003", 14), (".foo 1;", "L005", 1),
    (".reg .b32 %r1;", "L004", 11), ("bra nowhere;", "L003", 5), ("ret;;", "L002", 5), ("@%r1 {", "L002", 6),
    (".reg .bf16 x;", "L002", 6), ("L: L: ret;", "L004", 4), ("{ M: ret; } bra M;", "L003", 17),
    ("mov.u32 late, 1; .reg .b32 late;", "L003", 9), (".shared .b8 s[];", "L002", 13),
    ("ld..u32 %r1, [%r2];", "L002", 3), ("mov.u32 , %r1;", "L002", 9), ("ld.u32 %r1, [g[1]];", "L002", 15),
    (".reg .b33 x;", "L002", 6), (".local .b32 a[-1];", "L002", 15), ("mov.u32 %r1, %tid.q;", "L003", 14),
])
def test_errors_have_a_code_and_a_place(line: str, code: str, column: int) -> None:
    with pytest.raises(PtxError) as caught:
        parse(HEAD + ".global .b32 g[4];\n.entry k()\n{\n.reg .b32 %r<5>;\n" + line + "\nret;\n}\n", "a.ptx")
    found = caught.value.diagnostics[0]
    assert found.span is not None
    assert (found.code, found.span.line, found.span.column) == (code, 8, column)


def test_several_errors_are_collected_and_the_rest_is_read() -> None:
    module, found = parse_recovering(HEAD + """
.entry a() { .reg .b32 %r<3>; mov.u32 %r1 %r2; add.u32 %r1, %r2, 1; }
.bogus x;
.entry b() { mov.u32 x, 1; ret; }
.entry c() { ret;
""")
    assert [d.code for d in found] == ["L002", "L005", "L003", "L002"]
    assert [f.name for f in module.functions] == ["a", "b", "c"]
    assert [i.mnemonic for i in module.instructions] == ["add", "mov", "ret", "ret"]


@pytest.mark.parametrize("text,code", [
    ("", "L006"), (".version 9.0\n", "L006"), (".version nine\n", "L007"), ("/* never closed", "L001"),
    (HEAD + "\0 .entry k() { ret; }", "L001"), (HEAD + "mov.u32 a, b;", "L002"),
])
def test_modules_that_are_not(text: str, code: str) -> None:
    _, found = parse_recovering(text)
    assert found[0].code == code


def test_a_nul_at_the_end_is_how_nvrtc_ends_its_text() -> None:
    assert parse(HEAD + ".entry k() { ret; }\n\0").entries[0].name == "k"
