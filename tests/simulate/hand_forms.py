"""Forms written by hand, for instructions that no spec has: the step engine is tested without the database."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ptxspec.ptx.module import TYPE_BITS, Instruction, Module


@dataclass(frozen=True)
class Use:
    name: str
    role: str
    kinds: tuple[str, ...]
    type: str
    lanes: int = 1


@dataclass(frozen=True)
class HandStep:
    do: str
    args: Mapping[str, object]


@dataclass(frozen=True)
class HandForm:
    form: str
    operands: tuple[Use, ...]
    steps: tuple[HandStep, ...]


def step(do: str, **args: object) -> HandStep:
    return HandStep(do, {k.rstrip("_"): v for k, v in args.items()})


def out(name: str, type_: str, lanes: int = 1) -> Use:
    return Use(name, "out", ("register",), type_, lanes)


def source(name: str, type_: str, lanes: int = 1) -> Use:
    return Use(name, "in", ("register", "immediate", "vector"), type_, lanes)


def memory(name: str) -> Use:
    return Use(name, "in", ("address",), "")


_LANES = {"v2": 2, "v4": 4, "v8": 8}


def hand_resolve(instruction: Instruction, module: Module) -> HandForm:
    """A few instructions, in the shapes that the contract gives them."""
    words = instruction.modifiers
    name = instruction.mnemonic
    type_ = words[-1] if words else ""
    lanes = next((n for w, n in _LANES.items() if w in words), 1)
    space = next((w for w in words if w in ("global", "shared", "local", "param", "const")), "generic")
    size = TYPE_BITS.get(type_, 0) // 8 * lanes
    if name == "ld":
        return HandForm("ld", (out("d", type_, lanes), memory("a")), (
            step("read", at="a", bytes=size, space=space, into="raw"), step("split", value="raw", count=lanes, into="lane"),
            step("extend", value="lane", from_=type_, into="d")))
    if name == "st":
        return HandForm("st", (memory("a"), source("b", type_, lanes)), (
            step("join", value="b", type=type_, into="raw"), step("write", at="a", value="raw", bytes=size, space=space)))
    if name == "mov":
        return HandForm("mov", (out("d", type_), source("a", type_)), (step("copy", value="a", into="d"),))
    if name == "bar":
        return HandForm("bar", (source("a", "u32"),), (step("barrier", id="a", scope="cta"),))
    if name == "ret":
        return HandForm("ret", (), (step("return"),))
    if name == "bra":
        return HandForm("bra", (Use("target", "in", ("label",), ""),), (step("branch", target="target", uniform=False),))
    if name == "setp":
        return HandForm("setp", (out("p", "pred"), source("a", type_), source("b", type_)), (
            step("compute", op=words[0], type=type_, args=["a", "b"], into="p"),))
    if name in ("add", "and", "shl", "sub"):
        return HandForm(name, (out("d", type_), source("a", type_), source("b", type_)), (
            step("compute", op=name, type=type_, args=["a", "b"], into="d"),))
    if name == "mad" and words[0] == "wide":
        wide = type_[0] + "64"
        return HandForm("mad", (out("d", wide), source("a", type_), source("b", type_), source("c", wide)), (
            step("compute", op="mad_wide", type=type_, args=["a", "b", "c"], into="d"),))
    if name == "atom":
        return HandForm("atom", (out("d", type_), memory("a"), source("b", type_)), (
            step("combine", at="a", op=words[1], type=type_, value="b", space=space, into="d"),))
    raise KeyError(instruction.opcode)
