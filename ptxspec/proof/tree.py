"""The kernel as the prover sees it: a tree of steps, each with its facts, memory accesses and register accesses.

Built once, symbolic in threads, blocks, loop variables and repeats, so its size does not depend on the launch.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ptxspec.diagnostics import Span
from ptxspec.lang import ir
from ptxspec.proof.facts import Context
from ptxspec.scalar import index as ix
from ptxspec.scalar.expr import Expr, Poly, Var


@dataclass(frozen=True, slots=True)
class Threads:
    """The ids of the running thread as exact integers, and the sizes they are bounded by."""

    tid: tuple[Var, Var, Var]
    ctaid: tuple[Var, Var, Var]
    block: tuple[int, int, int]
    cluster: tuple[int, int, int]

    @property
    def count(self) -> int:
        """Threads of a CTA."""
        return self.block[0] * self.block[1] * self.block[2]

    def linear(self) -> Poly:
        """x + width * (y + height * z)."""
        x, y, z = (ix.index(v) for v in self.tid)
        return ix.add(x, ix.scale(y, self.block[0]), ix.scale(z, self.block[0] * self.block[1]))

    def coordinate(self, axis: str) -> Poly | None:
        """The thread's own place on a hardware axis of layouts; None for an axis that does not exist."""
        linear = self.linear()
        if axis in ("tx", "tid"):
            return linear
        if axis == "laneid":
            return ix.floormod(linear, 32)
        if axis == "warpid":
            return ix.floordiv(linear, 32)
        if axis == "wid_in_wg":
            return ix.floormod(ix.floordiv(linear, 32), 4)
        if axis == "wgid":
            return ix.floordiv(linear, 128)
        if axis in ("bx", "by", "bz"):
            return ix.index(self.ctaid["xyz".index(axis[1])])
        if axis in ("cbx", "cby", "cbz"):  # clusters tile the grid
            k = "xyz".index(axis[2])
            return ix.floormod(self.ctaid[k], self.cluster[k])
        return None


def threads_of(kernel: ir.Kernel) -> Threads:
    """The id variables of ``kernel``; those it does not mention are made up with the launch's bounds."""
    have = {v.role: v for v in kernel.hardware}
    launch = kernel.launch

    def one(kind: str, k: int) -> Var:
        role = f"{kind}.{'xyz'[k]}"
        if role in have:
            return have[role]
        if kind == "ctaid":
            low, high = ix.bounds(ix.index(launch.grid[k]))
            return Var(
                f"blockIdx.{'xyz'[k]}",
                "int32",
                role,
                0,
                (high if high is not None else (1 << 31) - 1) - 1,
                hi_expr=None if low == high else launch.grid[k],
            )
        return Var(f"threadIdx.{'xyz'[k]}", "int32", role, 0, launch.block[k] - 1)

    tid, ctaid = ((one(kind, 0), one(kind, 1), one(kind, 2)) for kind in ("tid", "ctaid"))
    return Threads(tid, ctaid, launch.block, launch.cluster)


@dataclass(frozen=True, eq=False, slots=True)
class Access:
    """One memory operand: ``size`` bytes from ``words[0]`` on, for every value of ``free`` (the repeats).

    ``words`` are the byte offsets of the words of one atom from the base of ``view.buffer``, ``word_bytes`` wide each.
    ``kind`` is read, write or combine. ``checks`` are the bounds on the way; ``axes`` and ``rule`` serve messages.
    """

    view: ir.View
    kind: str
    words: tuple[Poly, ...]
    word_bytes: int
    free: tuple[Var, ...]
    checks: tuple[ir.BoundCheck, ...]
    context: Context
    statement: ir.Statement
    operand: int
    span: Span
    what: str
    need_align: int
    rules: dict[str, Span] = field(default_factory=dict)
    index: tuple[Poly, ...] = ()
    moved: int = 0  # bytes by the specs; 0 where they do not say

    @property
    def size(self) -> int:
        """Bytes of one atom."""
        return len(self.words) * self.word_bytes

    @property
    def buffer(self) -> ir.Buffer:
        """The storage."""
        return self.view.buffer


@dataclass(frozen=True, eq=False, slots=True)
class Registers:
    """One register operand: ``slots`` (byte offsets in the thread's own storage) of the words of one atom.

    ``kind`` is read or write; ``axes`` give the owner of each word by hardware axis, ``replicas`` its further copies.
    """

    view: ir.View
    kind: str
    slots: tuple[Poly, ...]
    word_bytes: int
    free: tuple[Var, ...]
    axes: tuple[tuple[str, Poly], ...]
    checks: tuple[ir.BoundCheck, ...]
    context: Context
    statement: ir.Statement
    operand: int
    span: Span
    what: str
    replicas: tuple[ir.Replica, ...] = ()

    @property
    def buffer(self) -> ir.Buffer:
        """The storage."""
        return self.view.buffer


@dataclass(frozen=True, eq=False, slots=True)
class Step:
    """A statement that does something, in the order of its effects: reads, then writes."""

    statement: ir.Statement
    context: Context  # with the predicate
    outside: Context  # without it
    memory: tuple[Access, ...]
    registers: tuple[Registers, ...]
    typed: tuple[Expr, ...]  # the user's index expressions, for no-wrap


@dataclass(frozen=True, eq=False, slots=True)
class Branch:
    """``if``: the context outside, and both arms with their own."""

    statement: ir.If
    context: Context
    then_context: Context
    then: tuple[Node, ...]
    else_context: Context
    orelse: tuple[Node, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Loop:
    """``for``: ``inside`` knows the range of the variable."""

    statement: ir.For
    context: Context
    inside: Context
    body: tuple[Node, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Sync:
    """A barrier."""

    statement: ir.Barrier
    context: Context


@dataclass(frozen=True, eq=False, slots=True)
class Claimed:
    """A ``T.assume``: ``context`` is the one before it."""

    statement: ir.Assume
    context: Context
    after: Context


Node = Step | Branch | Loop | Sync | Claimed


def has_barrier(nodes: tuple[Node, ...], kinds: frozenset[str]) -> bool:
    """True when a barrier of one of ``kinds`` stands anywhere under ``nodes``."""
    for node in nodes:
        if isinstance(node, Sync) and node.statement.kind in kinds:
            return True
        if isinstance(node, Branch) and (has_barrier(node.then, kinds) or has_barrier(node.orelse, kinds)):
            return True
        if isinstance(node, Loop) and has_barrier(node.body, kinds):
            return True
    return False


def steps(nodes: tuple[Node, ...]) -> list[Step]:
    """Every step, in program order."""
    found: list[Step] = []
    for node in nodes:
        if isinstance(node, Step):
            found.append(node)
        elif isinstance(node, Branch):
            found += steps(node.then) + steps(node.orelse)
        elif isinstance(node, Loop):
            found += steps(node.body)
    return found
