"""``T.cuda.tile``: a named instruction over tensor operands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptxspec.diagnostics import Diagnostic, FormError, KernelError, Note, Span
from ptxspec.lang import ir
from ptxspec.lang.bind import POLICY, Group, bind, data_operands, has_policy, is_memory, written
from ptxspec.lang.copies import each_copy
from ptxspec.lang.errors import refuse, said
from ptxspec.lang.groups import group_of
from ptxspec.lang.tensor import TensorView
from ptxspec.lang.trace import current, intrinsic
from ptxspec.layout.value import Value
from ptxspec.scalar import index as ix
from ptxspec.scalar import typed
from ptxspec.scalar.expr import BITS, BOOL, Expr, show

if TYPE_CHECKING:
    from ptxspec.forms.use import FormUse

PARAMETERS = ("scope", "pred", "preserve_dst", "cache_policy")


class Opcode:
    """``T.ptx["ld.global.v4.b32"]``: an opcode, judged when it is applied."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return f"T.ptx[{self.text!r}]"


class Ptx:
    """The instructions of PTX by opcode: ``T.ptx["st.shared.v2.b32"]``."""

    def __getitem__(self, opcode: str) -> Opcode:
        if not isinstance(opcode, str):
            refuse("K170", f"an opcode is text such as \"ld.global.v4.b32\", not {said(opcode)}")
        return Opcode(opcode)

    def __repr__(self) -> str:
        return "T.ptx"


def apply(instruction: Opcode | str, *operands: object, scope: str = "thread", pred: object = None,
          preserve_dst: bool = False, cache_policy: object = None, **unknown: object) -> None:
    """Issue one instruction for each repeat of its operands.

    ``operands`` come destination first, each of shape ``(*group, *repeat, atom)``: the group axes belong to ``scope``
    ("thread", "warp", "warpgroup", "cta", "cluster"), repeats are unrolled, the atom is one instruction's words. A
    scalar for an input register serves every repeat. ``pred`` executes the instruction where true; with
    ``preserve_dst=True`` the destination keeps its value elsewhere. ``cache_policy`` (uint64) is given exactly for
    opcodes that have one.
    """
    tracer = current("T.cuda.tile.apply")
    span = tracer.place()
    if isinstance(instruction, str):
        instruction = Opcode(instruction)
    if not isinstance(instruction, Opcode):
        refuse("K170", f"apply takes T.ptx[opcode] first, not {said(instruction)}", span)
    for name in unknown:
        refuse("K177", f"`{name}` is not a parameter of apply", span,
               help=f"parameters: {', '.join(PARAMETERS)}; qualifiers belong into the opcode")
    names, extents = group_of(tracer, scope, span)
    spans = tracer.operand_spans(len(operands), span)
    use, bound, repeat = _choose(instruction.text, operands, spans, Group(scope, names, extents), span)
    guard = _pred(pred, span)
    if not isinstance(preserve_dst, bool):
        refuse("K178", "preserve_dst is True or False, known while the kernel is read", span)
    if preserve_dst and guard is None:
        refuse("K178", "preserve_dst=True without pred: an unconditional instruction always writes", span,
               help="give pred=..., or drop preserve_dst")
    if preserve_dst and not any(o.role == "out" for o in data_operands(use)):
        refuse("K178", f"{use.opcode} has no register result to preserve", span)
    policy = _policy(cache_policy, use.opcode, has_policy(use), span)
    written_to = _written_copies(use, bound, spans)
    first = tuple(written_to[k][0] if k in written_to else o for k, o in enumerate(bound))
    tracer.emit(ir.Apply(use, scope, first, names, extents, repeat, guard, preserve_dst, policy, span, spans))
    for k, (whole, *others) in written_to.items():
        for other in others:
            if is_memory(data_operands(use)[k]):
                operands_there = (*first[:k], other, *first[k + 1:])
                tracer.emit(ir.Apply(use, scope, operands_there, names, extents, repeat, guard, preserve_dst, policy,
                                     span, spans))
            else:
                move = Opcode(f"mov.b{BITS[other.dtype]}")
                apply(move, _by_word(other, span), _by_word(whole, span), scope=scope, pred=guard,
                      preserve_dst=preserve_dst)


def _written_copies(use: FormUse, bound: tuple[ir.View | Expr, ...],
                    spans: tuple[Span, ...]) -> dict[int, list[ir.View]]:
    """Operands that the instruction changes and that have several copies in memory, by position (K157).

    Memory is written by the same instruction once more; registers get the others by moves.
    """
    result: dict[int, list[ir.View]] = {}
    for k, (operand, value, at) in enumerate(zip(data_operands(use), bound, spans, strict=True)):
        if not isinstance(value, ir.View) or not written(use, operand):
            continue
        views = each_copy(value, at)
        if len(views) == 1:
            continue
        if is_memory(operand) and any(o.role in ("out", "inout") for o in data_operands(use)):
            refuse("K157", f"{use.opcode} changes `{value.buffer.name}` and gives back what was there, but its layout "
                           "keeps several copies of each element", at,
                   help="use a layout without replicas, or an instruction without a result")
        if not is_memory(operand) and BITS[value.dtype] == 8:
            refuse("K157", f"`{value.buffer.name}` keeps several copies of 8-bit registers, and no instruction moves "
                           "one to another", at, help="use a layout without replicas, or wider elements")
        result[k] = views
    return result


def _by_word(view: ir.View, span: Span) -> TensorView:
    """The operand with every word as an atom of its own."""
    shape = (*view.shape, ix.ONE)
    return TensorView(ir.View(view.buffer, (*view.steps, ir.Reshape(shape, span)), shape, view.dtype, span))


def _choose(opcode: str, operands: tuple[object, ...], spans: tuple[Span, ...], group: Group,
            span: Span) -> tuple[FormUse, tuple[ir.View | Expr, ...], tuple[int, ...]]:
    """The form whose operands fit; where none does, the complaint of the one that came furthest."""
    from ptxspec.forms.use import uses
    try:
        candidates = uses(opcode)
    except FormError as error:
        first = error.diagnostics[0]
        raise KernelError(Diagnostic("K170", f"`{opcode}` is not a legal opcode: {first.message}", span,
                                     notes=(Note("rule", f"refused with {first.code}", first.span), *first.notes)),
                          *error.diagnostics[1:]) from error
    complaints: list[KernelError] = []
    for use in candidates:
        try:
            bound, repeat = bind(use, operands, spans, group, span)
            return use, bound, repeat
        except KernelError as error:
            complaints.append(error)
    if not complaints:
        refuse("K170", f"`{opcode}` is not a legal opcode", span)
    tensors = any(isinstance(o, TensorView) for o in operands)
    rank = {"K171": 0, "K172": 1 if tensors else 2}
    raise max(complaints, key=lambda e: rank.get(e.code, 3))


def _pred(value: object, span: Span) -> Expr | None:
    if isinstance(value, Value):
        value = value.expr
    if value is None or value is True:
        return None
    if value is False:
        return typed.literal(False, BOOL, span)
    if isinstance(value, Expr) and value.dtype == BOOL:
        return value
    what = f"`{show(value)}` of type {value.dtype}" if isinstance(value, Expr) else said(value)
    refuse("K182", f"pred is a condition, not {what}", span, help="compare it, for example pred=x != 0")


def _policy(value: object, opcode: str, wanted: bool, span: Span) -> Expr | None:
    if value is None:
        if wanted:
            refuse("K179", f"{opcode} has a cache-policy operand, but cache_policy= is not given", span,
                   help="give cache_policy=<uint64>, or drop .L2::cache_hint from the opcode")
        return None
    if not wanted:
        refuse("K179", f"{opcode} has no {POLICY} operand, but cache_policy= is given", span,
               help="add .L2::cache_hint to the opcode, or drop cache_policy")
    if isinstance(value, Value):
        value = value.expr
    if isinstance(value, Expr) and value.dtype in ("uint64", "bits64"):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return typed.literal(value, "uint64", span)
    what = f"`{show(value)}` of type {value.dtype}" if isinstance(value, Expr) else said(value)
    refuse("K179", f"cache_policy is a uint64, not {what}", span, help="convert it with T.uint64(...)")


intrinsic(apply)
apply.ptxspec_lazy = True  # type: ignore[attr-defined]
