"""What would make a claim of a tile operation true: the least that it takes, for the message that refuses it."""

from __future__ import annotations

from ptxspec.proof import formula
from ptxspec.scalar import index as ix
from ptxspec.scalar.expr import Expr, Op, Poly, Var, show, variables
from ptxspec.tiles.facts import Known
from ptxspec.tiles.region import Region

#: Roles of variables that a launch knows, so that an assumption on them is checked there.
_LAUNCH = ("param", "dim")


def inside(region: Region, claim: str) -> str | None:
    """What it takes for the tile to lie inside its array; None where that is known."""
    asked: list[str] = []
    learned: list[Expr] = []
    hopeless: list[str] = []
    for axis, count in enumerate(region.shape):
        offset, extent = ix.index(region.offset[axis]), region.array.ir.shape[axis]
        low, high = region.known.at_most(0, offset), region.known.at_most(ix.add(offset, count), extent)
        if low and high:
            continue
        if low and not extent.is_const and _by_blocks(offset, count, extent):
            asked.append(f"T.assume({_text(extent)} % {count} == 0)")
            continue
        name = _name(region.offset[axis])
        if all(v.role in _LAUNCH for v in variables(offset)) and variables(offset):
            if not low:
                asked.append(f"T.assume({name} >= 0)")
                learned.append(formula.le(0, offset))
            if not high:
                asked.append(f"T.assume({name} <= {_text(ix.sub(extent, ix.constant(count)))})")
                learned.append(formula.le(ix.add(offset, count), extent))
            continue
        top = ix.bounds(offset)[1]
        hopeless.append(f"`0 <= {name}` and `{name} + {count} <= {_text(extent)}` in every block (axis {axis})"
                        + (f", so an extent of {top + count}" if extent.is_const and top is not None and low else ""))
    if not asked and not hopeless:
        return None
    what = f"{claim} claims that the tile lies inside `{region.array.ir.buffer.name}`"
    if hopeless:
        return f"{what}: that takes {' and '.join(hopeless)}; without the claim, what lies outside is left out"
    then = _known(region, learned)
    sure = all(then.at_most(ix.add(ix.index(o), n), e) and then.at_most(0, ix.index(o))
               for o, n, e in zip(region.offset, region.shape, region.array.ir.shape, strict=True))
    return f"{what}: the least that makes it true is {' and '.join(asked)}" + (" (proved)" if sure else "")


def _by_blocks(offset: Poly, count: int, extent: Poly) -> bool:
    """True where block b has the tile at ``b * count``, and the grid has just enough blocks for ``extent``."""
    if len(offset.terms) != 1 or offset.const or offset.terms[0][1] != count or len(offset.terms[0][0]) != 1:
        return False
    block = offset.terms[0][0][0]
    return isinstance(block, Var) and block.hi_expr is not None \
        and ix.index(block.hi_expr) == ix.floordiv(ix.add(extent, count - 1), count)


def _known(region: Region, more: list[Expr]) -> Known:
    known = Known(region.tracer)
    for fact in more:
        known.learn(fact)
    return known


def _name(offset: Expr) -> str:
    return show(offset.args[0] if isinstance(offset, Op) and offset.name == "cast" else offset)


def _text(value: Poly) -> str:
    return str(value.const) if value.is_const else show(value) if len(value.terms) == 1 and not value.const \
        else f"({show(value)})"
