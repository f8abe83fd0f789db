"""Matching the operands of ``apply`` with what an instruction form takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ptxspec.diagnostics import Span
from ptxspec.lang import ir
from ptxspec.lang.errors import refuse, said
from ptxspec.lang.tensor import ElementRef, Pointer, TensorView
from ptxspec.layout import show_shape
from ptxspec.layout.value import Value
from ptxspec.scalar import typed
from ptxspec.scalar.expr import BITS, BOOL, Expr, Poly, show

if TYPE_CHECKING:
    from ptxspec.forms.use import FormUse, OperandUse

Given = object
POLICY = "policy"   # the operand of this name is given as cache_policy=


@dataclass(frozen=True, slots=True)
class Group:
    """The group axes of a call."""

    scope: str
    names: tuple[str, ...]
    extents: tuple[int, ...]


def data_operands(use: FormUse) -> tuple[OperandUse, ...]:
    """The operands that are given positionally."""
    return tuple(o for o in use.operands if o.name != POLICY)


def has_policy(use: FormUse) -> bool:
    """True when the form has a cache-policy operand."""
    return any(o.name == POLICY for o in use.operands)


def memory_atom(use: FormUse, operand: OperandUse) -> tuple[int, int]:
    """Words and bits a word of the memory operand: its own where the form says, else those of the data register."""
    if operand.bits and operand.lanes and operand.type != "":
        return operand.lanes, operand.bits
    data = [o for o in data_operands(use) if "address" not in o.kinds]
    lanes = max((o.lanes for o in data), default=1)
    size = next((o.bytes for o in use.obligations if o.at == operand.name and o.bytes), 0)
    return (lanes, size * 8 // lanes) if size else (lanes, max((o.bits for o in data), default=0))


def is_memory(operand: OperandUse) -> bool:
    """True when the operand is an address."""
    return "address" in operand.kinds


def written(use: FormUse, operand: OperandUse) -> bool:
    """True when the instruction changes what the operand names."""
    if is_memory(operand):
        return any(o.at == operand.name and o.access in ("write", "combine") for o in use.obligations)
    return operand.role in ("out", "inout")


def bind(use: FormUse, given: tuple[Given, ...], spans: tuple[Span, ...], group: Group,
         span: Span) -> tuple[tuple[ir.View | Expr, ...], tuple[int, ...]]:
    """The operands in the instruction's order and the repeat extents. KernelError K171 to K176, K181 where not."""
    wanted = data_operands(use)
    order = ", ".join(o.name + (" (memory)" if is_memory(o) else " (registers)") for o in wanted)
    if len(given) != len(wanted):
        refuse("K171", f"{use.opcode} takes {len(wanted)} operands, {order}; {len(given)} are given", span)
    result: list[ir.View | Expr] = []
    repeat: tuple[int, ...] | None = None
    first = ""
    for operand, value, at in zip(wanted, given, spans, strict=True):
        if isinstance(value, ElementRef):
            value = value.region()
        if isinstance(value, Pointer):
            refuse("K172", f"{operand.name} of {use.opcode} is given as an address, which has no extent", at,
                   help="pass a view such as t.sub[i, :] instead of ptr_to")
        if not isinstance(value, TensorView):
            result.append(scalar_operand(use, operand, value, at))
            continue
        words, bits = memory_atom(use, operand) if is_memory(operand) else (operand.lanes, operand.bits)
        _check_kind(use, operand, value, at, order)
        _check_bits(use, operand, value, bits, at)
        extents = _check_shape(use, operand, value, words, group, at)
        if repeat is not None and extents != repeat:
            refuse("K176", f"{operand.name} of {use.opcode} has the repeat axes {_tuple(extents)}, but {first} has "
                           f"{_tuple(repeat)}", at,
                   help="view or rearrange one of them so that the middle axes agree")
        if repeat is None:
            repeat, first = extents, operand.name
        result.append(value.ir)
    return tuple(result), repeat or ()


def _tuple(extents: tuple[int, ...]) -> str:
    return f"({extents[0]},)" if len(extents) == 1 else str(extents)


def _check_kind(use: FormUse, operand: OperandUse, value: TensorView, at: Span, order: str) -> None:
    if is_memory(operand):
        return
    if not {"register", "vector"} & set(operand.kinds):
        refuse("K172", f"{operand.name} of {use.opcode} is no tensor but {' or '.join(operand.kinds)}", at)
    if value.scope() != "local":
        refuse("K172", f"{operand.name} of {use.opcode} must lie in registers, but `{value.ir.buffer.name}` is "
                       f"{value.scope()} memory", at, note=f"operands of {use.opcode}: {order}",
               help="the destination comes first; load memory into a T.alloc_local tensor before using it here")


def _check_bits(use: FormUse, operand: OperandUse, value: TensorView, bits: int, at: Span) -> None:
    have = BITS[value.dtype]
    if have != bits:
        refuse("K173", f"{operand.name} of {use.opcode} has elements of {bits} bits, but `{value.ir.buffer.name}` is "
                       f"{value.dtype} ({have} bits)", at,
               help=f"use an opcode of {have}-bit type, or reinterpret with .view(<a {bits}-bit type>)")


def _check_shape(use: FormUse, operand: OperandUse, value: TensorView, words: int, group: Group,
                 at: Span) -> tuple[int, ...]:
    shape = value.ir.shape
    lead = len(group.extents)
    if not shape or not _is(shape[-1], words):
        refuse("K174", f"{operand.name} of {use.opcode} must end in an axis of {words}, the words of one instruction: "
                       f"{_got(value)}", at, note=_expected(group, words),
               help=f"{'add' if words == 1 else 'make'} the last axis with .view(..., {words}) or .rearrange")
    if len(shape) < lead + 1 or not all(_is(shape[k], e) for k, e in enumerate(group.extents)):
        refuse("K175", f"{operand.name} of {use.opcode} must begin with the axes {', '.join(group.names)} = "
                       f"{_tuple(group.extents)} of scope=\"{group.scope}\": {_got(value)}", at,
               note=_expected(group, words))
    middle = shape[lead:-1]
    for extent in middle:
        if not extent.is_const:
            refuse("K176", f"a repeat axis of {operand.name} has the extent {show(extent)}, which is not known while "
                           "the kernel is read", at,
                   help="repeats are unrolled; loop over the symbolic axis with range and select inside")
    return tuple(e.const for e in middle)


def _is(extent: Poly, value: int) -> bool:
    return extent.is_const and extent.const == value


def _got(value: TensorView) -> str:
    return f"`{value.ir.buffer.name}` has shape {show_shape(value.ir.shape)} here"


def _expected(group: Group, words: int) -> str:
    extents = ", ".join([*(str(e) for e in group.extents), "...", str(words)])
    return f"expected shape ({extents}) = ({', '.join([*group.names, 'repeats...', 'atom'])})"


def scalar_operand(use: FormUse, operand: OperandUse, value: Given, at: Span) -> Expr:
    """A kernel value or number for an input register, the same for every repeat (K181)."""
    if isinstance(value, Value):
        value = value.expr
    if is_memory(operand) or operand.role != "in" or not {"register", "immediate"} & set(operand.kinds):
        what = "memory, given as a tensor view" if is_memory(operand) else "a register tensor"
        refuse("K172", f"{operand.name} of {use.opcode} is {what}, not {_describe(value)}", at)
    if isinstance(value, Expr):
        if value.dtype != BOOL and BITS.get(value.dtype) == operand.bits:
            return value
        refuse("K181", f"{operand.name} of {use.opcode} has {operand.bits} bits, but {_describe(value)}", at,
               help=f"convert it to a {operand.bits}-bit type first")
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        refuse("K181", f"{operand.name} of {use.opcode} takes a tensor view or a scalar, not {_describe(value)}", at)
    if isinstance(value, float):
        if operand.bits not in (32, 64):
            refuse("K181", f"a bare float has no {operand.bits}-bit type", at, help="write T.float16(...) or similar")
        return typed.literal(value, f"float{operand.bits}", at)
    if operand.bits not in (8, 16, 32, 64):
        refuse("K181", f"a bare integer has no {operand.bits}-bit type", at)
    return typed.literal(value, f"{'int' if value < 0 else 'uint'}{operand.bits}", at)


def _describe(value: Given) -> str:
    if isinstance(value, Expr):
        return f"`{show(value)}` of type {value.dtype}"
    return said(value)
