"""The selector: text, floors, refusals."""

from __future__ import annotations

import pytest
from ptxspec.backend.select import Target, select

from ptxspec.diagnostics import FormError
from ptxspec.ptx.operand import Address, Guard, Immediate, Label, Operand, Register, Special, Symbol, Vector

T90 = Target("sm_90", (9, 0))


def r(name: str, cls: str = "b32") -> Register:
    return Register(name, cls)


RD, R, P = r("%rd1", "b64"), r("%r1"), r("%p1", "pred")
QUAD = Vector((r("%r0"), r("%r1"), r("%r2"), r("%r3")))


@pytest.mark.parametrize(
    ("mnemonic", "slots", "operands", "text", "form"),
    [
        (
            "ld",
            {"space": "global", "vec": "v4", "type": "b32"},
            [QUAD, Address(RD, 16)],
            "ld.global.v4.b32 {%r0, %r1, %r2, %r3}, [%rd1+16];",
            "ld",
        ),
        ("st", {"space": "shared", "type": "b32"}, [Address(R), R], "st.shared.b32 [%r1], %r1;", "st"),
        (
            "ld",
            {"space": "param", "type": "u64"},
            [RD, Address(Symbol("p0", "param"))],
            "ld.param.u64 %rd1, [p0];",
            "ld",
        ),
        ("mov", {"type": "u32"}, [R, Special("%tid.x")], "mov.u32 %r1, %tid.x;", "mov.special"),
        ("mov", {"type": "u32"}, [R, Symbol("buf", "shared")], "mov.u32 %r1, buf;", "mov.address"),
        ("mov", {"type": "b64"}, [RD, Vector((R, R))], "mov.b64 %rd1, {%r1, %r1};", "mov.pack"),
        ("mov", {"type": "b64"}, [Vector((R, R)), RD], "mov.b64 {%r1, %r1}, %rd1;", "mov.unpack"),
        ("mov", {"type": "b32"}, [R, Immediate("7")], "mov.b32 %r1, 7;", "mov.copy"),
        ("bar", {"mode": "sync"}, [Immediate("0")], "bar.sync 0;", "bar.sync"),
        ("bra", {"uni": "uni"}, [Label("L1")], "bra.uni L1;", "bra"),
        ("ret", {}, [], "ret;", "ret"),
        ("mul", {"mode": "wide", "type": "u32"}, [RD, R, Immediate("4")], "mul.wide.u32 %rd1, %r1, 4;", "mul.wide"),
        ("cvt", {"dtype": "s64", "atype": "s32"}, [RD, R], "cvt.s64.s32 %rd1, %r1;", "cvt.int"),
        ("setp", {"cmp": "lt", "type": "s32"}, [P, R, Immediate("5")], "setp.lt.s32 %p1, %r1, 5;", "setp"),
        ("cvta", {"to": "to", "space": "global", "size": "u64"}, [RD, RD], "cvta.to.global.u64 %rd1, %rd1;", "cvta.to"),
    ],
)
def test_text_and_form(mnemonic: str, slots: dict[str, str], operands: list[Operand], text: str, form: str) -> None:
    chosen = select(T90, mnemonic, slots, operands)
    assert (chosen.text, chosen.form) == (text, form)


def test_guard_and_slot_order_do_not_matter_to_the_form() -> None:
    chosen = select(T90, "ld", {"type": "b32", "space": "global"}, [R, Address(RD)], Guard(P, True))
    assert chosen.text == "@!%p1 ld.global.b32 %r1, [%rd1];"


def test_floor_includes_the_special_register() -> None:
    assert select(T90, "mov", {"type": "u32"}, [R, Special("%clusterid.x")]).floor_ptx == (7, 8)


def test_negative_offsets_are_spelled_as_the_assembler_reads_them() -> None:
    assert (
        select(T90, "ld", {"space": "global", "type": "b32"}, [R, Address(RD, -4)]).text
        == "ld.global.b32 %r1, [%rd1+-4];"
    )


@pytest.mark.parametrize(
    ("target", "mnemonic", "slots", "operands", "code"),
    [
        (T90, "ld", {"space": "global", "vec": "v8", "type": "b32"}, [QUAD, Address(RD)], "F301"),
        (T90, "ld", {"space": "global", "vec": "v4", "type": "b32"}, [R, Address(RD)], "F404"),
        (T90, "ld", {"space": "global", "type": "b32"}, [R, Address(R)], "F407"),
        (T90, "ld", {"space": "global", "type": "b64"}, [R, Address(RD)], "F403"),
        (T90, "ld", {"wrong": "global"}, [], "F104"),
        (T90, "nonesuch", {}, [], "F002"),
        (T90, "add", {"type": "s32"}, [R, R], "F401"),
        (T90, "mov", {"type": "u64"}, [RD, Special("%tid.x")], "F412"),
        (T90, "ld", {"space": "shared", "type": "b32"}, [R, Address(Symbol("g", "global"))], "F408"),
        (Target("sm_80", (8, 0)), "mov", {"type": "u32"}, [R, Special("%clusterid.x")], "F301"),
        (Target("sm_90", (7, 0)), "add", {"type": "s32"}, [R, R, R], "F003"),
    ],
)
def test_refusals(target: Target, mnemonic: str, slots: dict[str, str], operands: list[Operand], code: str) -> None:
    with pytest.raises(FormError) as caught:
        select(target, mnemonic, slots, operands)
    assert caught.value.code == code
