"""Forms written by hand, for instructions that no spec has: the step engine is tested without the database."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ptxspec.backend.simulate.program import resolve_form

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


def hand_resolve(instruction: Instruction, module: Module) -> HandForm:
    """Instructions that no spec has, each made of the closed vocabulary only."""
    name = instruction.mnemonic
    type_ = instruction.modifiers[-1] if instruction.modifiers else ""
    size = TYPE_BITS.get(type_, 0) // 8
    if name == "swapadd":  # d = memory; memory = memory + b; two lanes at once
        return HandForm(name, (out("d", type_, 2), memory("a"), source("b", type_, 2)), (
            step("read", at="a", bytes=2 * size, space="global", into="raw"),
            step("split", value="raw", count=2, into="old"),
            step("compute", op="add", type=type_, args=["old", "b"], into="new"),
            step("join", value="new", into="packed"),
            step("write", at="a", value="packed", bytes=2 * size, space="global"),
            step("copy", value="old", into="d")))
    if name == "atom":
        return HandForm(name, (out("d", type_), memory("a"), source("b", type_)), (
            step("combine", at="a", op=instruction.modifiers[1], type=type_, value="b",
                 space=instruction.modifiers[0], into="d"),))
    if name == "cas":
        return HandForm(name, (out("d", type_), memory("a"), source("b", type_), source("c", type_)), (
            step("combine", at="a", op="cas", type=type_, value="c", compare="b", space="global", into="d"),))
    if name == "redvec":
        return HandForm(name, (memory("a"), source("b", type_, 2)), (
            step("combine", at="a", op="add", type=type_, value="b", space="global"),))
    if name == "shfl":
        return HandForm(name, (out("d", type_), source("a", type_), source("b", "u32"), source("c", "u32"),
                               source("m", "u32")), (
            step("exchange", mode=instruction.modifiers[0], value="a", lane="b", clamp="c", mask="m", into="d"),))
    if name == "mystery":
        return HandForm(name, (out("d", type_),), (step("teleport", into="d"),))
    if name == "forgetful":
        return HandForm(name, (out("d", type_),), (step("copy", value="nothing", into="d"),))
    return resolve_form(instruction, module)  # type: ignore[return-value]
