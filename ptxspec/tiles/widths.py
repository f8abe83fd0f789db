"""Why an access of a tile is as wide as it is, and what would make it wider: notes of the report."""

from __future__ import annotations

from functools import reduce

from ptxspec.lang import ir
from ptxspec.lang.locate import locate
from ptxspec.lang.target import target
from ptxspec.lang.trace import Tracer
from ptxspec.scalar import index as ix
from ptxspec.scalar.expr import INDEX, Const, Expr, Op, Poly, Var, show
from ptxspec.tiles.access import WIDEST, Verb, opcode, widest
from ptxspec.tiles.region import Region


def note(tracer: Tracer, verb: Verb, region: Region, axis: int, words: int, limited: str = "", *,
         edges: bool = False) -> None:
    """Add a note on one end of a tile operation.

    ``limited``: why less than the end itself allows was taken; ``edges``: groups may lie across the array's edge.
    """
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
        because += f" ({', '.join(reasons(tracer, region, axis, words))})"
    else:
        because = "one element at a time"
    if edges and words > 1 and not region.split_free(axis, words):
        because += ", and a group across an edge goes element by element"
    text = f"{tracer.place()}: `{name}` goes by {code}, {size} bytes an access: {because}"
    wider = limited if words < own else obstacle(region, axis, wish(region, axis))
    if verb.adds and words >= verb.limit(region.array):
        memory = region.array.scope()
        wider = f"no wider atomic addition of {region.array.dtype} in {memory} memory " + \
            (f"on {target()}" if verb.vectors else "with vectors=False")
    line = f"{text}; {wider}"
    if line not in tracer.notes:
        tracer.notes.append(line)


def dealt(extent: int, axis: int, words: int, most: int) -> str:
    """Why a thread owns no more than ``words`` neighbours of a tile, where its shape and type allow ``most``."""
    if words < most:
        single = "element by element" if words == 1 else f"in groups of {words} elements"
        return f"tiles of this shape are dealt out {single}, as an array that one is written to takes them"
    if extent % (2 * words):
        return f"wider needs a tile extent along axis {axis} that is a multiple of {2 * words}, not {extent}"
    return "a thread owns 16 bytes side by side in a register tile"


def reasons(tracer: Tracer, region: Region, axis: int, words: int) -> list[str]:
    """The facts that make groups of ``words`` aligned: base, pitches, offsets, and the assumptions that it takes."""
    found = [f"base align={region.array.data_alignment}"]
    found += [f"pitch {_number(pitch)} bytes along axis {k}" for k, pitch in pitches(region, axis)]
    found += [f"offset {show(_bare(o))} along axis {k}" for k, o in enumerate(region.offset)
              if not isinstance(o, Const) and region.shape[k] > 0]
    for block in tracer.blocks:
        for statement in block:
            if isinstance(statement, ir.Assume) and region.without(statement).words(axis) < words:
                found.append(f"assumed {statement.text}")
    return found


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
    wanted: list[str] = []
    if region.shape[axis] % words:
        wanted.append(f"a tile extent along axis {axis} that is a multiple of {words}, not {region.shape[axis]}")
    if array.data_alignment % size:
        wanted.append(f"the base of `{name}` at a multiple of {size} bytes: align={size}")
    for k, pitch in pitches(region, axis):
        if not region.known.multiple(pitch, size):
            asked = "" if pitch.is_const else _assumption(pitch, size, region.bytes)
            wanted.append(f"a pitch along axis {k} that is a multiple of {size} bytes, not {_number(pitch)}{asked}")
    zero = [ix.ZERO] * len(region.shape)
    for k, offset in enumerate(region.offset):
        step = list(zero)
        step[k] = ix.index(offset)
        distance = ix.sub(locate(array.ir, step).byte, locate(array.ir, zero).byte)
        if not region.known.multiple(distance, size) and not (k != axis and region.shape[k] > 1):
            asked = _assumption(ix.index(_bare(offset)), words, 1)
            wanted.append(f"an offset along axis {k} that is a multiple of {words}"
                          f"{asked or f', not {show(_bare(offset))}'}")
    return f"wider needs {', and '.join(wanted)}{seen_flat(region, axis, words)}" if wanted else "wider is not proved"


def seen_flat(region: Region, axis: int, words: int) -> str:
    """What helps a dense array whose rows are no whole vectors, where single elements do not know of rows."""
    array, size = region.array.ir, words * region.bytes
    rows = [pitch for k, pitch in pitches(region, axis) if not region.known.multiple(pitch, size)]
    if not rows or array.steps or not array.buffer.layout.is_contiguous():
        return ""
    name = array.buffer.name
    return f"; work that treats all elements alike may see `{name}`, which is dense, as one row: {name}.view(-1)"


def pitches(region: Region, axis: int) -> list[tuple[int, Poly]]:
    """Bytes from one element to the next along each other axis that the tile spans."""
    found: list[tuple[int, Poly]] = []
    for k in range(len(region.shape)):
        if k == axis or region.shape[k] == 1:
            continue
        at = [ix.ZERO] * len(region.shape)
        at[k] = ix.add(Var("c", INDEX, "word", 0, max(0, region.shape[k] - 2)), 0)
        following = list(at)
        following[k] = ix.add(at[k], 1)
        found.append((k, ix.sub(locate(region.array.ir, following).byte, locate(region.array.ir, at).byte)))
    return found


def _assumption(value: Poly, of: int, size: int) -> str:
    """What to assume for ``value`` to be a multiple of ``of``: its terms that are none by themselves, in elements of
    ``size``. Empty where no assumption helps."""
    left = [(monomial, factor) for monomial, factor in value.terms if factor % of]
    if not left or value.const % of % size or any(factor % size for _, factor in left):
        return ""
    elements = ix.constant(value.const % of // size)
    for monomial, factor in left:
        elements = ix.add(elements, reduce(ix.mul, map(ix.index, monomial), ix.constant(factor // size)))
    text = show(elements)
    many = len(elements.terms) > 1 or bool(elements.const)
    return f": T.assume({f'({text})' if many else text} % {of // size} == 0)"


def _bare(offset: Expr) -> Expr:
    """An offset as its author wrote it: without the widening around it."""
    if isinstance(offset, Op) and offset.name == "cast":
        return offset.args[0]
    return offset


def _number(value: Poly) -> str:
    return str(value.const) if value.is_const else f"`{show(value)}`"
