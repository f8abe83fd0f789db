"""What the byte-by-byte look at shared memory has to know of a kernel first: which reads there are, which runtime
values matter to them, and how many of those values have to be tried."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from math import gcd, lcm, prod

from ptxspec.lang import ir
from ptxspec.lang.locate import element_bytes, storage
from ptxspec.proof.tree import Access, Branch, Loop, Node, Step
from ptxspec.proof.walk import Walker
from ptxspec.scalar import index as ix
from ptxspec.scalar.expr import Const, Expr, Op, Poly, Var, is_integer, variables, walk

#: Values of one runtime variable that are tried, and combinations of all of them.
FEW_VALUES = 8
MAX_CASES = 32

_LAUNCH = ("param", "dim", "stride")


@dataclass(frozen=True, slots=True)
class Symbol:
    """A runtime value that is tried: ``numbers`` are its values, or its remainders where there is a ``modulus``."""

    var: Var
    numbers: tuple[int, ...]
    modulus: int = 0


def is_shared(access: Access) -> bool:
    """Shared memory of the block."""
    return access.buffer.scope == "shared"


def has_shared(nodes: tuple[Node, ...]) -> bool:
    """True when something under ``nodes`` touches shared memory."""
    for node in nodes:
        if isinstance(node, Step) and any(is_shared(a) for a in node.memory):
            return True
        if isinstance(node, Branch) and (has_shared(node.then) or has_shared(node.orelse)):
            return True
        if isinstance(node, Loop) and has_shared(node.body):
            return True
    return False


def all_loops(nodes: tuple[Node, ...]) -> tuple[Loop, ...]:
    """Every loop, outer ones first."""
    found: list[Loop] = []
    for node in nodes:
        if isinstance(node, Loop):
            found += [node, *all_loops(node.body)]
        elif isinstance(node, Branch):
            found += all_loops(node.then) + all_loops(node.orelse)
    return tuple(found)


def relevant(nodes: tuple[Node, ...]) -> Iterator[Expr]:
    """Every expression that decides which bytes of shared memory are touched under ``nodes``, and whether."""
    for node in nodes:
        if isinstance(node, Step):
            touched = [a for a in node.memory if is_shared(a)]
            yield from (a.words[0] for a in touched)
            if touched and isinstance(node.statement, ir.Apply) and node.statement.pred is not None:
                yield node.statement.pred
        elif isinstance(node, Branch) and has_shared((node,)):
            yield node.statement.condition
            yield from relevant(node.then)
            yield from relevant(node.orelse)
        elif isinstance(node, Loop) and has_shared((node,)):
            yield from (node.statement.start, node.statement.stop, node.statement.step)
            yield from relevant(node.body)


class Plan:
    """``reads`` and ``ranges`` (first byte, one past the last, unit) of the shared memory of a kernel."""

    def __init__(self, walker: Walker) -> None:
        self._aliases = walker.aliases
        accesses = list(_accesses(walker.nodes))
        self.reads = [a for a in accesses if a.kind != "write"]
        self._symbols = self._chosen(walker.nodes, accesses)
        exact = {s.var for s in self._symbols if not s.modulus}
        self._shift: dict[ir.Buffer, Poly] = {}
        self.ranges: dict[ir.Buffer, tuple[int, int, int]] = {}
        for buffer in dict.fromkeys(a.buffer for a in accesses):
            mine = [a for a in accesses if a.buffer is buffer]
            size = element_bytes(buffer.dtype)
            unit = gcd(size, *(a.word_bytes for a in mine))
            low, high = storage(buffer)
            self.ranges[buffer] = (ix.index(low).const * size, ix.index(high).const * size, unit)
            self._move(buffer, mine, exact, unit)

    def _move(self, buffer: ir.Buffer, mine: list[Access], exact: set[Var], unit: int) -> None:
        """Where all accesses share one unknown offset, bytes are counted from there."""

        def unknown(poly: Poly) -> dict[tuple[Expr, ...], int]:
            return {m: c for m, c in poly.terms if any(
                _launch(v) and v not in exact for part in m for v in variables(part))}

        common = unknown(mine[0].words[0])
        if not common or any(unknown(a.words[0]) != common for a in mine[1:]):
            return
        if any(not _launch(v) for m in common for part in m for v in variables(part)):
            return
        shift = Poly(0, tuple(t for t in mine[0].words[0].terms if t[0] in common))
        bounds = [ix.bounds(ix.sub(a.words[0], shift)) for a in mine]
        lows, highs = [b[0] for b in bounds], [b[1] for b in bounds]
        most = max(a.size for a in mine)
        low = min((x for x in lows if x is not None), default=0) // unit * unit
        high = max((x for x in highs if x is not None), default=0) + most
        if None not in lows and None not in highs and high - low <= 1 << 20:
            self._shift[buffer] = shift
            self.ranges[buffer] = (low, low + -(-(high - low) // unit) * unit, unit)

    def relative(self, access: Access) -> Poly:
        """The first byte of an access, from where its buffer's bytes are counted."""
        shift = self._shift.get(access.buffer)
        return access.words[0] if shift is None else ix.sub(access.words[0], shift)

    def moved(self, buffer: ir.Buffer) -> bool:
        """True when bytes of ``buffer`` are counted from an offset that is not known."""
        return buffer in self._shift

    def cases(self) -> Iterator[tuple[tuple[Symbol, int], ...]]:
        """Every combination of the values that are tried."""
        for numbers in product(*(s.numbers for s in self._symbols)):
            yield tuple(zip(self._symbols, numbers, strict=True))

    def moves(self, loop: Loop) -> bool:
        """False when no iteration touches other bytes than the first."""
        inner = {v for e in relevant(loop.body) for v in self._variables(e)}
        return loop.statement.var in inner

    def period(self, loop: Loop) -> int:
        """The modulus by which the loop's variable picks bytes; 0 where there is none."""
        return _period(loop.statement.var, list(relevant(loop.body)))

    def _variables(self, expr: Expr) -> Iterator[Var]:
        """The variables of ``expr``, and of what is known of values that it mentions."""
        for var in variables(expr):
            yield var
            known = self._aliases.get(var)
            if isinstance(known, Expr):
                yield from self._variables(known)

    def _chosen(self, nodes: tuple[Node, ...], accesses: list[Access]) -> list[Symbol]:
        exprs = list(relevant(nodes))
        exprs += [k for e in exprs for v in variables(e) if isinstance(k := self._aliases.get(v), Expr)]
        found: list[Symbol] = []
        for var in dict.fromkeys(v for e in exprs for v in self._variables(e)):
            if not _launch(var) or not is_integer(var.dtype) or (var.lo is not None and var.lo == var.hi):
                continue
            numbers = _values(var, accesses)
            modulus = 0
            if numbers is None:
                modulus = _period(var, exprs)
                if not modulus:
                    continue
                numbers = tuple(range(modulus))
            if prod(len(s.numbers) for s in found) * len(numbers) <= MAX_CASES:
                found.append(Symbol(var, numbers, modulus))
        return found


def _launch(var: Var) -> bool:
    return var.role in _LAUNCH or var.role.startswith(("ctaid.", "cluster_ctaid."))


def _accesses(nodes: tuple[Node, ...]) -> Iterator[Access]:
    for node in nodes:
        if isinstance(node, Step):
            yield from (a for a in node.memory if is_shared(a))
        elif isinstance(node, Branch):
            yield from _accesses(node.then)
            yield from _accesses(node.orelse)
        elif isinstance(node, Loop):
            yield from _accesses(node.body)


def _values(var: Var, accesses: list[Access]) -> tuple[int, ...] | None:
    """All values that ``var`` may have where shared memory is touched, if they are few."""
    low: int | None = None
    high: int | None = None
    for access in accesses:
        least, most = access.context.interval(var)
        if least is None or most is None:
            return None
        low, high = min(least, least if low is None else low), max(most, most if high is None else high)
    if low is None or high is None or high - low >= FEW_VALUES:
        return None
    return tuple(range(low, high + 1))


def _period(var: Var, exprs: list[Expr]) -> int:
    """The least common multiple of the moduli of remainders that ``var`` is used in; 0 where it is in none."""
    moduli: Mapping[int, None] = {
        m: None for e in exprs for node in walk(e)
        if isinstance(node, Op) and node.name == "floormod" and var in variables(node.args[0])
        for m in [_number(node.args[1])] if m > 1
    }
    found = lcm(*moduli) if moduli else 0
    return found if found <= FEW_VALUES else 0


def _number(expr: Expr) -> int:
    if isinstance(expr, Poly) and expr.is_const:
        return expr.const
    if isinstance(expr, Const) and not isinstance(expr.value, float):
        return int(expr.value)
    return 0
