"""The typed kernel IR: what the tracer produces, and what proofs and emission read.

A kernel is a tree of statements over expressions of :mod:`ptxspec.scalar`. Memory and registers are named by a
:class:`Buffer`; every access goes through a :class:`View`, which keeps the whole chain of steps the user wrote, so
that each step's bounds can be proved before the steps fold into one offset. Every statement knows its place in the
user's file. Objects are immutable; buffers compare by identity.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ptxspec.diagnostics import Span
from ptxspec.scalar.expr import Expr, Poly, Var

if TYPE_CHECKING:
    from ptxspec.forms.use import FormUse
    from ptxspec.layout import Layout


@dataclass(frozen=True, eq=False, slots=True)
class Buffer:
    """Storage: a global array parameter, shared memory of a CTA, or per-thread registers/local memory.

    ``shape`` is in elements of ``dtype`` and may be symbolic; ``layout`` maps logical indices to the memory axis ``m``
    (in elements) and, for distributed register tensors, to hardware axes. ``align`` is the base alignment in bytes
    that proofs may assume (checked on the host at launch for parameters, provided by emission for shared memory).
    ``scope`` is ``global``, ``shared`` or ``local``; a ``local`` buffer used through ld.local/st.local is addressable.
    """

    name: str
    dtype: str
    shape: tuple[Poly, ...]
    layout: Layout
    scope: str
    align: int
    span: Span
    is_param: bool = False


@dataclass(frozen=True, slots=True)
class SubAxis:
    """One axis of a ``.sub``/region step. ``keep=False``: an integer index that drops the axis.

    ``start`` may be a typed user expression (kept for no-wrap goals and messages); old index = start + step * new.
    """

    start: Expr
    extent: Poly
    step: int
    keep: bool


@dataclass(frozen=True, slots=True)
class Sub:
    """Narrowing: one :class:`SubAxis` for each axis of the shape before the step. ``text`` is how the user wrote it."""

    axes: tuple[SubAxis, ...]
    span: Span
    text: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Reshape:
    """Row-major reshape to ``shape`` (equal element count)."""

    shape: tuple[Poly, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Permute:
    """New axis ``k`` is old axis ``order[k]``."""

    order: tuple[int, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Reinterpret:
    """The element type becomes ``dtype``; the last axis is scaled by the ratio of sizes (unit stride there)."""

    dtype: str
    span: Span


@dataclass(frozen=True, slots=True)
class Relayout:
    """Same storage under a new ``shape`` and ``layout``; judged against the storage behind."""

    shape: tuple[Poly, ...]
    layout: Layout
    span: Span


Step = Sub | Reshape | Permute | Reinterpret | Relayout


@dataclass(frozen=True, slots=True)
class View:
    """A typed window on a buffer: ``steps`` in the order the user wrote them, ``shape`` after the last one."""

    buffer: Buffer
    steps: tuple[Step, ...]
    shape: tuple[Poly, ...]
    dtype: str
    span: Span


@dataclass(frozen=True, slots=True)
class BoundCheck:
    """Goal ``0 <= index < extent`` for one axis of one step. ``axis`` counts from 0; ``what`` describes it in words."""

    index: Expr
    extent: Poly
    axis: int
    span: Span
    what: str


@dataclass(frozen=True, slots=True)
class Replica:
    """``extent`` copies of every element, ``stride`` apart on ``axis`` (in elements on ``m``)."""

    axis: str
    extent: Poly
    stride: Poly


@dataclass(frozen=True, slots=True)
class Located:
    """Where one element of a view lies.

    ``byte``: exact byte offset from the buffer's base of the element's first byte (along axis ``m``).
    ``slot``: for ``local`` buffers the register number in elements of its dtype, ``slot_byte`` the byte inside.
    ``axes``: for distributed layouts the value on each hardware axis (``laneid``, ``warpid`` ...).
    ``replicas``: the replica axes of the layout, if it has any. ``checks``: one goal for every step's every axis.
    """

    byte: Poly
    slot: Poly
    slot_byte: Poly
    axes: tuple[tuple[str, Poly], ...]
    checks: tuple[BoundCheck, ...]
    replicas: tuple[Replica, ...] = ()


@dataclass(frozen=True, eq=False, slots=True)
class Apply:
    """One ``T.cuda.tile.apply``. ``operands`` in the instruction's order; an operand is a view or a scalar (broadcast).

    ``use`` is the selected form. ``group`` are the extents of the group axes (named by ``group_axes``, e.g. ``warpid``,
    ``laneid``), ``repeat`` the static extents of the repeat axes; each operand then ends in its own atom axis.
    """

    use: FormUse
    scope: str
    operands: tuple[View | Expr, ...]
    group_axes: tuple[str, ...]
    group: tuple[int, ...]
    repeat: tuple[int, ...]
    pred: Expr | None
    preserve_dst: bool
    cache_policy: Expr | None
    span: Span
    operand_spans: tuple[Span, ...] = ()


@dataclass(frozen=True, eq=False, slots=True)
class Load:
    """Scalar element read ``result = view[index]`` (memory or register). ``result`` has role ``value``."""

    result: Var
    view: View
    index: tuple[Expr, ...]
    span: Span


@dataclass(frozen=True, eq=False, slots=True)
class Store:
    """Scalar element write ``view[index] = value`` (memory or register)."""

    view: View
    index: tuple[Expr, ...]
    value: Expr
    span: Span


@dataclass(frozen=True, eq=False, slots=True)
class For:
    """``for var in range(start, stop, step)``; ``step`` > 0 is a constant or a kernel value (grid-stride loops)."""

    var: Var
    start: Expr
    stop: Expr
    step: Expr
    body: tuple[Statement, ...]
    unroll: bool
    span: Span


@dataclass(frozen=True, eq=False, slots=True)
class If:
    """A structured branch on a kernel value."""

    condition: Expr
    then: tuple[Statement, ...]
    orelse: tuple[Statement, ...]
    span: Span


@dataclass(frozen=True, eq=False, slots=True)
class Barrier:
    """``cta_sync`` (``kind="cta"``), ``warp_sync`` or ``cluster_sync``."""

    kind: str
    span: Span


@dataclass(frozen=True, eq=False, slots=True)
class Assume:
    """``T.assume(condition)``: a visible hypothesis, listed in the report and the PTX header, checked at launch
    when it only mentions parameters and dimensions (else listed as trusted)."""

    condition: Expr
    text: str
    span: Span


Statement = Apply | Load | Store | For | If | Barrier | Assume


@dataclass(frozen=True, slots=True)
class Launch:
    """``LaunchConfig``: ``grid`` x,y,z may be expressions over dims and scalar parameters; ``block`` are ints."""

    grid: tuple[Expr, Expr, Expr]
    block: tuple[int, int, int]
    cluster: tuple[int, int, int] = (1, 1, 1)
    dynamic_smem_bytes: int = 0
    span: Span | None = None
    stream: int | None = None
    cooperative: bool = False


@dataclass(frozen=True, eq=False, slots=True)
class Kernel:
    """A traced kernel. ``params`` in the user's order: a :class:`Buffer` or a scalar :class:`Var` (role ``param``).

    ``dims`` are the symbolic dimensions met in parameter shapes (role ``dim``); ``hardware`` the hardware-id variables
    used (roles ``tid.x`` ... ``ctaid.z``), each bounded by the launch.
    """

    name: str
    params: tuple[Buffer | Var, ...]
    dims: tuple[Var, ...]
    hardware: tuple[Var, ...]
    launch: Launch
    buffers: tuple[Buffer, ...]
    body: tuple[Statement, ...]
    span: Span
    file: str = ""
    notes: tuple[str, ...] = field(default=())
    #: (code, array or place, remedy) for refusals with that code of accesses to tiles of that array, or at that place.
    advice: tuple[tuple[str, str, str], ...] = field(default=())


def buffers_of(params: Sequence[Buffer | Var]) -> tuple[Buffer, ...]:
    """The array parameters among ``params``."""
    return tuple(p for p in params if isinstance(p, Buffer))
