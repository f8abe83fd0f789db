"""Why an access of a tile is as wide as it is, and what would make it wider: notes of the report."""

from __future__ import annotations

from ptxspec.lang.locate import locate
from ptxspec.lang.target import target
from ptxspec.lang.trace import Tracer
from ptxspec.scalar import index as ix
from ptxspec.scalar.expr import INDEX, Expr, Op, Poly, Var, show
from ptxspec.tiles.access import WIDEST, Verb, opcode, widest
from ptxspec.tiles.region import Region


def note(tracer: Tracer, verb: Verb, region: Region, axis: int, words: int, limited: str = "") -> None:
    """Add a note on one end of a tile operation; ``limited``: why less than the end itself allows was taken."""
    if region.array.scope() != "global":
        return
    size = words * region.bytes
    code, _ = opcode(verb, region.array, region.bytes, words)
    name = region.array.ir.buffer.name
    own = region.words(axis)
    if region.claimed:
        because = "claimed by aligned=True, and proved"
    elif words > 1:
        because = f"every group of {words} elements of `{name}` starts at a multiple of {size} bytes"
    else:
        because = "one element at a time"
    text = f"{tracer.place()}: `{name}` goes by {code}, {size} bytes an access: {because}"
    wider = limited if words < own else obstacle(region, axis, wish(region, axis))
    if verb.adds and words >= verb.limit(region.array):
        memory = region.array.scope()
        wider = f"no wider atomic addition of {region.array.dtype} in {memory} memory " + \
            (f"on {target()}" if verb.vectors else "with vectors=False")
    line = f"{text}; {wider}"
    if line not in tracer.notes:
        tracer.notes.append(line)


def wish(region: Region, axis: int) -> int:
    """The width to aim at: the most that the tile's shape allows, or the next one up."""
    return max(region.natural(axis), 2 * region.words(axis)) if region.words(axis) != region.natural(axis) \
        else 2 * region.words(axis)


def obstacle(region: Region, axis: int, words: int) -> str:
    """What stands against accesses of ``words`` elements along ``axis``, and what would remove it."""
    size, array, name = words * region.bytes, region.array, region.array.ir.buffer.name
    if size > 2 * WIDEST:
        return "the widest there is"
    if size > WIDEST and widest(array) <= WIDEST:
        return "the widest there is (32 bytes need sm_100 and a base at a multiple of 32)"
    if region.unit_axis() is None:
        return f"wider needs neighbours in memory: no axis of `{name}` that the tile spans has unit stride"
    if region.shape[axis] % words:
        return f"wider needs a tile extent along axis {axis} that is a multiple of {words}, not {region.shape[axis]}"
    if array.data_alignment % size:
        return f"wider needs the base of `{name}` at a multiple of {size} bytes: align={size}"
    zero = [ix.ZERO] * len(region.shape)
    for k in range(len(region.shape)):
        if k == axis:
            continue
        at = list(zero)
        at[k] = ix.add(Var("c", INDEX, "word", 0, max(0, region.shape[k] - 2)), 0)
        following = list(at)
        following[k] = ix.add(at[k], 1)
        pitch = ix.sub(locate(array.ir, following).byte, locate(array.ir, at).byte)
        if region.shape[k] > 1 and not region.known.multiple(pitch, size):
            return f"wider needs a pitch along axis {k} that is a multiple of {size} bytes, not {_number(pitch)}"
    for k, offset in enumerate(region.offset):
        step = list(zero)
        step[k] = ix.index(offset)
        if not region.known.multiple(ix.sub(locate(array.ir, step).byte, locate(array.ir, zero).byte), size):
            return (f"wider needs an offset along axis {k} that is a multiple of {words}: "
                    f"T.assume({_asked(offset)} % {words} == 0)")
    return "wider is not proved"


def _asked(offset: Expr) -> str:
    """An offset as its author wrote it: without the widening around it."""
    if isinstance(offset, Op) and offset.name == "cast":
        offset = offset.args[0]
    return f"({show(offset)})" if isinstance(offset, Op) else show(offset)


def _number(value: Poly) -> str:
    return str(value.const) if value.is_const else f"`{show(value)}`"
