"""Offsets in terms of the user's own 32-bit index arithmetic, where it is proved not to wrap.

A layout turns the index ``block * 256 + thread`` into ``1024 * block + 4 * thread``, whose parts would each be widened
to 64 bits. Every typed node of an index expression has its own no-wrap goal at that access, so there the typed value is
the exact one: it can stand in the offset as a single 32-bit atom, ``4 * (block * 256 + thread)``, which a guard has
often computed already. Only the access's own expressions are used: another access with the same offset may reach it
through wider arithmetic, and would not be covered by these goals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Set

from ptxspec.scalar import index as ix
from ptxspec.scalar.expr import BITS, INDEX, Expr, Monomial, Op, Poly, Var, is_integer, walk

from .scopes import Levels
from .statics import free
from .sums import grouped


def folded(poly: Poly, expressions: Iterable[Expr], known: Set[Var], levels: Levels,
           computed: Callable[[Expr], bool]) -> Poly:
    """``poly`` with sums of the typed ``expressions`` as atoms; variables in ``known`` stay outside for unrolling.

    What is one sum of 32 bits anyway only takes in sums that were ``computed`` before, where the address will stand.
    """
    if len(poly.terms) < 2:
        return poly
    single = len(grouped(poly)) == 1
    for candidate, meaning in _candidates(expressions, known):
        if single and not computed(candidate):
            continue
        if len({levels.of(monomial_poly(m)) for m, _ in meaning.terms}) != 1:
            continue
        for beside in _cofactors(poly, meaning):
            scaled = ix.mul(meaning, monomial_poly(beside)) if beside else meaning
            factor = _multiple(poly, scaled)
            if factor:
                whole = ix.mul(ix.atom(candidate), monomial_poly(beside)) if beside else ix.atom(candidate)
                poly = ix.add(ix.sub(poly, ix.scale(scaled, factor)), ix.scale(whole, factor))
    return poly


def _cofactors(poly: Poly, meaning: Poly) -> list[Monomial]:
    """What the sum may be multiplied with in ``poly``, such as a runtime stride; the empty product is one of them."""
    first = meaning.terms[0][0]
    found: list[Monomial] = []
    for monomial, _ in poly.terms:
        rest = list(monomial)
        for atom in first:
            if atom not in rest:
                break
            rest.remove(atom)
        else:
            if tuple(rest) not in found:
                found.append(tuple(rest))
    return found


def recombined(poly: Poly) -> Poly:
    """``k*c*(x // c) + k*(x % c)`` as ``k*x``: warp and lane of a thread are the thread again."""
    for (monomial, coefficient) in poly.terms:
        if len(monomial) != 1 or not isinstance(monomial[0], Op) or monomial[0].name != "floormod":
            continue
        whole, by = monomial[0].args
        if monomial[0].dtype != INDEX or not (isinstance(by, Poly) and by.is_const):
            continue
        quotient = ix.floordiv(whole, by)
        if _multiple(poly, quotient) == coefficient * by.const and quotient.const == 0 and quotient.terms:
            rest = ix.sub(poly, ix.add(ix.scale(quotient, coefficient * by.const), ix.scale(monomial_poly(monomial),
                                                                                         coefficient)))
            return recombined(ix.add(rest, ix.scale(whole, coefficient)))
    return poly


def monomial_poly(monomial: tuple[Expr, ...]) -> Poly:
    """A product of atoms with coefficient one."""
    return Poly(0, ((monomial, 1),))


def _candidates(expressions: Iterable[Expr], known: Set[Var]) -> list[tuple[Op, Poly]]:
    """32-bit sums without a constant part inside ``expressions``, those of most terms first."""
    found: dict[Op, Poly] = {}
    for expression in expressions:
        for node in walk(expression):
            if isinstance(node, Op) and node.name in ("add", "sub", "mul") and is_integer(node.dtype) \
                    and BITS[node.dtype] == 32 and not free(node) & known:
                meaning = ix.index(node)
                if meaning.const == 0 and len(meaning.terms) > 1:
                    found[node] = meaning
    return sorted(found.items(), key=lambda item: -len(item[1].terms))


def _multiple(poly: Poly, part: Poly) -> int:
    """The factor with which all terms of ``part`` occur in ``poly``, 0 where they do not."""
    have = dict(poly.terms)
    factor = 0
    for monomial, coefficient in part.terms:
        whole, rest = divmod(have.get(monomial, 0), coefficient)
        if rest or whole == 0 or (factor and whole != factor):
            return 0
        factor = whole
    return factor
