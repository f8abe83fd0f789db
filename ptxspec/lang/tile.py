"""``T.cuda.tile``: a named instruction over tensor operands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptxspec.diagnostics import Diagnostic, FormError, KernelError, Note, Span
from ptxspec.lang import ir
from ptxspec.lang.bind import POLICY, Group, bind, data_operands, has_policy
from ptxspec.lang.errors import refuse, said
from ptxspec.lang.groups import group_of
from ptxspec.lang.tensor import TensorView
from ptxspec.lang.trace import current, intrinsic
from ptxspec.layout.value import Value
from ptxspec.scalar import typed
from ptxspec.scalar.expr import BOOL, Expr, show

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
    tracer.emit(ir.Apply(use, scope, bound, names, extents, repeat, guard, preserve_dst, policy, span, spans))


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
