"""What is left of numbers once two accesses that meet are known to agree on something.

What that determines is taken off, where all numbers have it. And rows that are turned are turned back: where numbers
are ``(p + u) % n``, or ``p + u`` that stays below ``n``, and ``p`` is determined, they meet exactly where the ``u`` do,
if nothing reaches past ``n``. The rules are proved with Z3 in the tests.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache

from ptxspec.layout.value import exact_div
from ptxspec.proof.congruence import remainder
from ptxspec.proof.determine import Fixed
from ptxspec.proof.tree import Access
from ptxspec.scalar import index as ix
from ptxspec.scalar.evaluate import substitute
from ptxspec.scalar.expr import Expr, Monomial, Poly, Var, variables

Values = Mapping[Expr, Expr | int]


def one_name(numbers: Sequence[Poly], shared: Callable[[Var], bool]) -> list[Values]:
    """For each number, names for the loop variables that are not in all of them: those of the same range, in order,
    get one name. Each thread has values of its own for them, so what they are called says nothing."""
    inside = [[v for v in variables(n) if v.role == "loop" and not shared(v)] for n in numbers]
    everywhere = set(inside[0]).intersection(*inside[1:])
    found: list[Values] = []
    for own in inside:
        names: dict[Expr, Expr | int] = {}
        used: set[Var] = set()
        for var in own:
            if var not in everywhere and var.lo is not None and var.hi is not None:
                alike = sum((v.dtype, v.lo, v.hi) == (var.dtype, var.lo, var.hi) for v in used)
                names[var] = _any(var.dtype, var.lo, var.hi, alike)
                used.add(var)
        found.append(names)
    return found


@cache
def _any(dtype: str, low: int, high: int, number: int) -> Var:
    """The loop variable of a range that stands for others of it."""
    return Var(f"any{number}", dtype, "loop", low, high)


def named(number: Poly, names: Values) -> Poly:
    """``number`` in other names."""
    return ix.index(substitute(number, names)) if names else number


def left_of(accesses: Sequence[Access], numbers: Sequence[Poly], sizes: Sequence[int], fixed: Fixed,
            names: Sequence[Values]) -> list[Poly] | None:
    """What is left of the numbers: as near to each other as they are, wherever two of them meet. None where nothing can
    be taken off."""
    parts = [[(named(Poly(0, (t,)), n), t) for t in number.terms] for number, n in zip(numbers, names, strict=True)]
    held = {term for term in {t for t, _ in parts[0]}.intersection(*({t for t, _ in ts} for ts in parts[1:]))
            if fixed.holds(term)}
    if held:
        return [Poly(n.const, tuple(t for name, t in ts if name not in held))
                for n, ts in zip(numbers, parts, strict=True)]
    turns = {(c, by, n.const) for n, own in zip(numbers, names, strict=True) for c, _, by in _remainders(n, fixed, own)}
    for unit, around, base in sorted(turns):
        found = [_turned_back(ix.sub(n, base), a, size, unit, around, fixed, own)
                 for n, a, size, own in zip(numbers, accesses, sizes, names, strict=True)]
        back = [f for f in found if f is not None]
        if len(back) == len(numbers) and len({turn for turn, _ in back}) == 1:
            return [number for _, number in back]
    return None


def _remainders(number: Poly, fixed: Fixed, names: Values) -> list[tuple[int, Poly, int]]:
    """``(c, x, m)`` for each term ``c * (x % m)`` that is not determined."""
    found: list[tuple[int, Poly, int]] = []
    for monomial, coefficient in number.terms:
        if len(monomial) == 1 and coefficient > 0 and not fixed.holds(named(ix.atom(monomial[0]), names)):
            pair = remainder(monomial[0])
            if pair is not None:
                found.append((coefficient, ix.index(pair[0]), pair[1]))
    return found


def _turned_back(number: Poly, access: Access, size: int, unit: int, around: int, fixed: Fixed,
                 names: Values) -> tuple[Poly, Poly] | None:
    """``(p, unit * u)`` where the number is ``unit * ((p + u) % around)``, or ``unit * (p + u)`` below ``around``, with
    ``p`` determined; None where it is neither, or the access reaches further."""
    turned = [inner for c, inner, by in _remainders(number, fixed, names) if (c, by) == (unit, around)]
    if turned:
        if len(number.terms) != 1 or number.const or size > unit:
            return None
        place = turned[0]
    else:
        whole = exact_div(number, ix.constant(unit))
        if whole is None or not _below(access, whole, unit, size, around):
            return None
        place = whole
    turn = Poly(0, tuple(t for t in place.terms if _held(t, fixed, names)))
    own = ix.sub(place, turn)
    return (named(turn, names), ix.scale(own, unit)) if _below(access, own, unit, size, around) else None


def _held(term: tuple[Monomial, int], fixed: Fixed, names: Values) -> bool:
    return fixed.holds(named(Poly(0, (term,)), names))


def _below(access: Access, place: Poly, unit: int, size: int, around: int) -> bool:
    """``size`` from ``unit * place`` on lie between 0 and ``unit * around``."""
    low, high = access.context.interval(place)
    return low is not None and high is not None and low >= 0 and high * unit + size <= around * unit
