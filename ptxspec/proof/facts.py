"""Hypotheses: named facts on the path to a statement, and what they say in linear and modular terms.

A :class:`Context` is an immutable chain of facts, grown as the kernel is walked. What the normaliser needs from it
(linear inequalities, ranges of atoms, residues of atoms) is worked out once for each link and shared by all below.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ptxspec.diagnostics import Span
from ptxspec.proof import formula
from ptxspec.proof.congruence import Residue, Residues, meet, residue, solve
from ptxspec.proof.interval import Ranges, interval
from ptxspec.proof.quotients import at_least, by_constant, by_unknown, divided
from ptxspec.scalar import index as ix
from ptxspec.scalar.expr import BOOL, INDEX, Const, Expr, Op, Poly, Var, int_range, is_integer, walk
from ptxspec.scalar.interval import Interval


@dataclass(frozen=True, eq=False, slots=True)
class Fact:
    """One hypothesis. ``kind``: guard, pred, loop, assume, launch, extent, select or thread.

    ``condition`` is a bool expression with machine meaning (typed integers wrap), so it may be assumed as it stands.
    """

    name: str
    text: str
    condition: Expr
    span: Span | None
    kind: str
    binds: Var | None = None  # a loop's variable,
    start: Expr | None = None  # and the value it surely takes when the loop runs at all
    progress: Poly | None = None  # the variable as start + step * iteration, where step is known and start is not


#: Linear facts that are tried in combination with each other; further ones are left to Z3.
NEAR_FACTS = 16


class Context:
    """A chain of facts from the launch to one statement."""

    __slots__ = ("_exact", "_intervals", "congruent", "fact", "linear", "parent", "ranges", "reachable")

    def __init__(self, parent: Context | None = None, fact: Fact | None = None) -> None:
        self.parent = parent
        self.fact = fact
        self.linear: tuple[tuple[Poly, Fact], ...] = parent.linear if parent else ()
        self.ranges: Ranges = parent.ranges if parent else {}
        self.congruent: Residues = parent.congruent if parent else {}
        self.reachable: bool | None = None  # filled in by the solver's vacuity check
        self._intervals: dict[Expr, Interval] = {}
        self._exact: dict[Expr, Poly | None] = {}
        if fact is not None:
            for part in formula.conjuncts(fact.condition):
                self._learn(part, fact)
            if fact.binds is not None and fact.progress is not None:  # start + step * iteration, one of its conjuncts
                self._residue(fact.binds, residue(fact.progress, self.congruent))

    def extend(self, fact: Fact) -> Context:
        """This context with one more fact."""
        return Context(self, fact)

    def follows(self, other: Context) -> bool:
        """True when ``other`` is this context or one that it grew from."""
        link: Context | None = self
        while link is not None:
            if link is other:
                return True
            link = link.parent
        return False

    def facts(self) -> tuple[Fact, ...]:
        """All facts, outermost first."""
        found: list[Fact] = []
        link: Context | None = self
        while link is not None:
            if link.fact is not None:
                found.append(link.fact)
            link = link.parent
        return tuple(reversed(found))

    def __iter__(self) -> Iterator[Fact]:
        return iter(self.facts())

    def interval(self, expr: Expr) -> Interval:
        """Inclusive bounds of ``expr`` under the facts."""
        if not self.ranges:
            return ix.bounds(expr)
        return interval(expr, self.ranges, self._intervals)

    def exact(self, expr: Expr) -> Poly | None:
        """The exact integer meaning of a typed expression where none of its operations can wrap here; else None."""
        if isinstance(expr, Poly):
            return expr
        if expr.dtype == INDEX:
            return ix.index(expr)
        if expr.dtype != BOOL and not is_integer(expr.dtype):
            return None
        if expr not in self._exact:
            self._exact[expr] = ix.index(expr) if all(self.keeps(n) for n in typed_nodes(expr)) else None
        return self._exact[expr]

    def keeps(self, node: Op) -> bool:
        """True when the typed operation ``node`` surely stays in its type (its operands taken as exact)."""
        low, high = int_range(node.dtype)
        value = ix.index(node)
        lo, hi = ix.bounds(value)
        if lo is not None and hi is not None and low <= lo and hi <= high:
            return True
        return self.at_least_zero(ix.sub(value, low)) and self.at_least_zero(ix.sub(high, value))

    def at_least_zero(self, value: Poly) -> bool:
        """True when ``value >= 0`` follows from bounds and at most three linear facts."""
        return self._nonneg(value, 3)

    def _nonneg(self, value: Poly, depth: int) -> bool:
        lo = ix.bounds(value)[0]
        if lo is not None and lo >= 0:
            return True
        if self.ranges:
            lo = self.interval(value)[0]
            if lo is not None and lo >= 0:
                return True
        if depth == 0 or not value.terms:
            return False
        have = dict(value.terms)
        for known in (*self._beside(value, depth), *self._near()):
            # value - factor*known >= 0 and known >= 0 give value >= 0; the factor is chosen to cancel one term.
            tried: set[int] = set()
            for monomial, coefficient in known.terms:
                mine = have.get(monomial)
                if mine is None or (mine > 0) != (coefficient > 0) or mine % coefficient:
                    continue
                factor = mine // coefficient
                if factor in tried:
                    continue
                tried.add(factor)
                rest = ix.sub(value, ix.scale(known, factor))
                if len(rest.terms) <= len(value.terms) + 1 and self._nonneg(rest, depth - 1):
                    return True
        return False

    def _near(self) -> Iterator[Poly]:
        """What is at least zero by the innermost facts, newest first."""
        return (known for known, _ in self.linear[: -NEAR_FACTS - 1 : -1])

    def _beside(self, value: Poly, depth: int) -> Iterator[Poly]:
        """What is at least zero by the divisions in ``value``."""
        for (atom, *more), coefficient in value.terms:
            pair = None if more else divided(atom)
            if pair is None:
                continue
            assert isinstance(atom, Op)
            inner, by = pair
            if by.is_const:
                if by.const > 1 and coefficient % by.const == 0:
                    yield from by_constant(atom, inner, by.const)
            elif (self.interval(by)[0] or 0) > 0:
                yield from by_unknown(atom, inner, by, self._near(), lambda sum: self._nonneg(sum, depth - 1))

    def _learn(self, part: Expr, fact: Fact) -> None:
        if not isinstance(part, Op) or part.name not in ("lt", "le", "gt", "ge", "eq"):
            return
        left, right = self._sound(part.args[0]), self._sound(part.args[1])
        if right is None and part.name in ("lt", "le"):
            right = self._no_less(part.args[1])
        if left is None and part.name in ("gt", "ge"):
            left = self._no_less(part.args[0])
        if left is None or right is None:
            return
        difference = ix.sub(right, left)
        if part.name in ("gt", "ge"):
            difference = ix.neg(difference)
        if part.name in ("lt", "gt"):
            difference = ix.add(difference, -1)
        if difference.is_const:
            return
        self._add_linear(difference, fact)
        if part.name == "eq":
            self._add_linear(ix.neg(difference), fact)
            self._add_residue(difference)

    def _sound(self, expr: Expr) -> Poly | None:
        if expr.dtype == BOOL:
            return None
        return self.exact(expr)

    def _no_less(self, expr: Expr) -> Poly | None:
        """What a typed operation gives at most: its exact value, where that is not below the type. A value above the
        type wraps to a smaller one."""
        if not isinstance(expr, Op) or not is_integer(expr.dtype) or expr.name not in ("add", "sub", "mul"):
            return None
        more = expr.args[-1]
        if expr.name == "add" and isinstance(more, Const) and int(more.value) >= 0:     # of what may wrap itself
            most = self.exact(expr.args[0])
            most = self._no_less(expr.args[0]) if most is None else most
            return None if most is None else ix.add(most, int(more.value))
        if not all(self.keeps(n) for n in typed_nodes(expr) if n is not expr):
            return None
        value = ix.index(expr)
        return value if self.at_least_zero(ix.sub(value, int_range(expr.dtype)[0])) else None

    def _add_linear(self, poly: Poly, fact: Fact) -> None:
        self.linear = (*self.linear, (poly, fact))
        fresh: Ranges | None = None
        inside: list[Poly] = []
        for atom in dict.fromkeys(a for monomial, _ in poly.terms if len(monomial) > 1 for a in monomial):
            high = self.interval(Poly(poly.const, tuple(t for t in poly.terms if atom not in t[0])))[1]
            if high is not None and high < 0 and self.interval(atom)[0] == 0:
                # What it is a factor of is above zero, so it is not zero itself.
                fresh = dict(self.ranges) if fresh is None else fresh
                fresh[atom] = (1, fresh.get(atom, (None, None))[1])
        for monomial, coefficient in poly.terms:
            if len(monomial) != 1:
                continue
            rest = Poly(poly.const, tuple(t for t in poly.terms if t[0] != monomial))
            high = self.interval(rest)[1]
            if high is None:
                continue
            atom = monomial[0]
            low, top = (fresh or self.ranges).get(atom, (None, None))
            base_low, base_top = self.interval(atom)
            if coefficient > 0:  # coefficient*atom >= -rest
                bound = -(high // coefficient)
                low = bound if low is None else max(low, bound)
                if base_low is not None and base_low >= low:
                    continue
            else:
                bound = high // -coefficient
                top = bound if top is None else min(top, bound)
                if base_top is not None and base_top <= top:
                    continue
            fresh = dict(self.ranges) if fresh is None else fresh
            fresh[atom] = (low, top)
            if coefficient > 0:
                inside += at_least(atom, bound)
        if fresh is not None:
            self.ranges = fresh
            self._intervals = {}
        for known in inside:
            self._add_linear(known, fact)

    def _add_residue(self, difference: Poly) -> None:
        """Learn from ``difference == 0``: an atom's value, or the residue of what a remainder was taken of."""
        singles = [(m[0], c) for m, c in difference.terms if len(m) == 1]
        if len(difference.terms) != 1 or not singles:
            return
        atom, coefficient = singles[0]
        if difference.const % coefficient:
            return
        value = -difference.const // coefficient
        self._residue(atom, Residue(0, value))
        if isinstance(atom, Op) and atom.name == "floormod" and atom.dtype == INDEX:
            inner, modulus = atom.args
            if isinstance(inner, Poly) and isinstance(modulus, Poly) and modulus.is_const and modulus.const > 0:
                found = solve(inner, modulus.const, value)
                if found is not None:
                    self._residue(*found)

    def _residue(self, atom: Expr, found: Residue) -> None:
        self.congruent = {**self.congruent, atom: meet(self.congruent.get(atom, Residue(1, 0)), found)}


#: Operations whose low bits depend on the low bits of their operands only.
_LOW_BITS = ("add", "sub", "mul", "neg", "and", "or", "xor", "not")


def typed_nodes(expr: Expr) -> tuple[Op, ...]:
    """Every typed integer operation whose exact meaning :func:`ptxspec.scalar.index.index` uses for ``expr``.

    Operands of conditions, of explicit casts that may cut, and of floats keep their machine meaning and are left out.
    So is arithmetic of which only low bits are used (``(a + b) % 64``, ``x * 5 & 31``): wrapping does not touch those.
    """
    found: list[Op] = []
    seen: set[tuple[Expr, bool]] = set()

    def visit(node: Expr, low: bool) -> None:
        if (node, low) in seen:
            return
        seen.add((node, low))
        if isinstance(node, (Const, Var)):
            return
        if isinstance(node, Poly) or node.dtype == INDEX:
            for child in node.children():
                visit(child, False)
            return
        assert isinstance(node, Op)
        if not is_integer(node.dtype):
            return  # conditions and floats have machine meaning
        if node.name == "select":
            visit(node.args[1], low)
            visit(node.args[2], low)
            return
        if node.name == "cast":
            source = node.args[0]
            if is_integer(source.dtype) and ix.index(node) == ix.index(source):
                visit(source, False)  # widening: the exact value passes through
            return
        if low and (node.name in _LOW_BITS or (node.name == "shl" and isinstance(node.args[1], Const))):
            visit(node.args[0], True)
            for child in node.args[1:]:
                visit(child, node.name != "shl")
            return
        if node.name in ("floormod", "and") and _low_mask(node):
            visit(node.args[0], True)
            return
        for child in node.args:
            visit(child, False)
        if node.name not in ("min", "max", "and", "or", "xor", "shr", "floormod", "truncmod"):
            found.append(node)

    visit(expr, False)
    return tuple(dict.fromkeys(found))


def _low_mask(node: Op) -> bool:
    """``x % 2**k`` rounding down, or ``x & m`` with a mask that is not negative: only low bits of ``x`` count."""
    right = node.args[1]
    if not isinstance(right, Const) or isinstance(right.value, float):
        return False
    value = int(right.value)
    return value > 0 and value & (value - 1) == 0 if node.name == "floormod" else value >= 0


def divisions(expr: Expr) -> tuple[Op, ...]:
    """Division and remainder nodes, and shifts, under ``expr`` whose right operand is not a plain constant."""
    return tuple(
        n
        for n in walk(expr)
        if isinstance(n, Op)
        and n.name in ("floordiv", "floormod", "truncdiv", "truncmod", "shl", "shr")
        and not isinstance(n.args[1], Const)
        and not (isinstance(n.args[1], Poly) and n.args[1].is_const)
    )
