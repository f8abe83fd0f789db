"""The calls that move tiles: ``T.tile_load``, ``T.tile_store`` and ``T.tile_atomic_add``."""

from __future__ import annotations

from ptxspec.lang.errors import refuse, said
from ptxspec.lang.locate import element_bytes
from ptxspec.lang.tensor import TensorView
from ptxspec.lang.trace import Tracer, current, intrinsic
from ptxspec.layout import S, TileLayout
from ptxspec.scalar import typed
from ptxspec.scalar.expr import is_float
from ptxspec.tiles import claims, move, tape
from ptxspec.tiles.access import atomic
from ptxspec.tiles.barriers import insert
from ptxspec.tiles.copying import copy
from ptxspec.tiles.ownership import dealt_out, written
from ptxspec.tiles.plan import Plan
from ptxspec.tiles.region import Region, make_offset
from ptxspec.tiles.shared import SharedTile
from ptxspec.tiles.tile import RegisterTile

MAX_ELEMENTS = 1 << 20


def tile_load(a: TensorView, shape: int | tuple[int, ...], offset: object = None, storage: str = "register",
              bounds_check: bool = True, aligned: bool = False) -> RegisterTile | TensorView:
    """The tile ``a[offset[0] + i, offset[1] + j, ...]`` for i, j, ... below ``shape``; every thread takes part.

    Elements outside the array, at either end of any axis, read as zero. ``bounds_check=False`` claims that there are
    none, ``aligned=True`` that 16-byte accesses are possible throughout; both claims are proved, or the kernel is
    refused. ``storage="register"`` spreads the tile over the threads' registers; ``"shared"`` puts it where every
    thread sees all of it, as a tensor ``t[i, j]``. Codes K230 to K233.
    """
    tracer = current("T.tile_load")
    array, extents = array_of(a, "tile_load", tracer), extents_of(shape, tracer)
    if len(extents) != len(array.ir.shape):
        refuse("K231", f"a tile of {len(extents)} dimensions of an array of {len(array.ir.shape)}", tracer.place(),
               help="give one extent for each axis of the array")
    offsets = make_offset(offset if offset is not None else (0,) * len(extents), len(extents), "tile_load", tracer)
    if storage not in ("register", "shared"):
        refuse("K232", f"storage is \"register\" or \"shared\", not {said(storage)}", tracer.place())
    flags(tracer, bounds_check=bounds_check, aligned=aligned)
    region = Region(tracer, array, extents, offsets, bounds_check and not aligned)
    advise(region, bounds_check, aligned)
    axis = region.main_axis()
    plan = Plan(extents, axis, _claimed(region, axis, tracer), tracer.threads) if aligned else \
        dealt_out(tracer, extents, axis, region.bytes)
    if isinstance(tracer, tape.Taping) and is_float(array.dtype):
        return tape.load(tracer, region, plan, extents)  # type: ignore[return-value]
    if storage == "register":
        tile = RegisterTile(tracer, extents, array.dtype, plan, None, region)
        tracer.put_off(tile)
        return tile
    shared = SharedTile.alloc(tracer, extents, array.dtype, fastest(extents, region.main_axis()))
    copy(tracer, region, shared.whole(), tracer.threads)
    return shared.filled()


def tile_store(a: TensorView, t: RegisterTile | TensorView, offset: object = None, bounds_check: bool = True,
               aligned: bool = False) -> None:
    """Write tile ``t`` to ``a[offset[0] + i, ...]``; elements outside the array, at either end, are skipped.

    The claims ``bounds_check=False`` and ``aligned=True`` are proved. Codes K230 to K233.
    """
    tracer = current("T.tile_store")
    array, t = array_of(a, "tile_store", tracer), held(t)
    region = target(array, t, offset, bounds_check, aligned, "tile_store", tracer)
    t = without_gradient(t, tracer)
    if isinstance(t, tape.TapedTile):
        tape.store(t.tracer, region, t, clears=True)
        return
    if isinstance(t, TensorView):
        insert(tracer, "before the shared tile is stored, for threads that changed elements of it")
        inner = inside_of(t, tracer)
        copy(tracer, inner, region, tracer.threads)
        return
    if not t.copy_to(region):
        written(tracer, region, t.plan)
        move.store(tracer, region, t.plan, t.cells())


def tile_atomic_add(a: TensorView, t: RegisterTile | TensorView, offset: object = None, bounds_check: bool = True,
                    aligned: bool = False, vectors: bool = True) -> RegisterTile:
    """Add tile ``t`` atomically into ``a[offset[0] + i, ...]``; elements outside the array are skipped.

    The result is the tile of what was there before (zero outside); where it is not used, ``red`` is emitted, which
    fetches nothing. Each element is added on its own, at device scope and in no particular order. float32, float16 and
    bfloat16 go as vectors where alignment is proved and the target has such an instruction (sm_90); ``vectors=False``
    keeps to single additions. float32 in global memory treats subnormal numbers as zero, as the hardware does.
    Codes K230 to K235.
    """
    tracer = current("T.tile_atomic_add")
    array, t = array_of(a, "tile_atomic_add", tracer), held(t)
    atomic(array, "tile_atomic_add", tracer)
    region = target(array, t, offset, bounds_check, aligned, "tile_atomic_add", tracer)
    flags(tracer, vectors=vectors)
    t = without_gradient(t, tracer)
    if isinstance(t, tape.TapedTile):
        tape.store(t.tracer, region, t, clears=False)
        return tape.TapedTile(t.tracer, t.shape, t.dtype, t.plan)
    plan, cells = spread(t, tracer)
    written(tracer, region, plan)
    return RegisterTile.old_values(tracer, region, plan, cells, vectors)


def held(t: RegisterTile | TensorView) -> RegisterTile | TensorView:
    """A tile of formulas in registers; any other tile as it is."""
    registers = None if isinstance(t, TensorView) else getattr(t, "registers", None)
    return t if registers is None else registers()


def target(array: TensorView, t: object, offset: object, bounds_check: bool, aligned: bool, what: str,
           tracer: Tracer) -> Region:
    """The checked destination of tile ``t``."""
    if not isinstance(t, (RegisterTile, tape.TapedTile)) and not (isinstance(t, TensorView) and t.scope() == "shared"):
        refuse("K230", f"{what} writes a tile, not {said(t)}", tracer.place())
    extents = tuple(e for e in t.shape if isinstance(e, int))
    if len(extents) != len(array.ir.shape):
        refuse("K231", f"a tile of {len(extents)} dimensions for an array of {len(array.ir.shape)}", tracer.place())
    if t.dtype != array.dtype:
        refuse("K233", f"a tile of {t.dtype} for an array of {array.dtype}", tracer.place(),
               help=f"convert it: t.astype(T.{array.dtype})")
    offsets = make_offset(offset if offset is not None else (0,) * len(extents), len(extents), what, tracer)
    flags(tracer, bounds_check=bounds_check, aligned=aligned)
    region = Region(tracer, array, extents, offsets, bounds_check and not aligned)
    advise(region, bounds_check, aligned)
    if aligned:
        _claimed(region, region.main_axis(), tracer)
    return region


def without_gradient(t: RegisterTile | TensorView, tracer: Tracer) -> RegisterTile | TensorView:
    """Where a kernel is read backwards: a tile of floats made of what has no gradient, such as converted integers."""
    if not isinstance(tracer, tape.Taping) or isinstance(t, tape.TapedTile) or not is_float(t.dtype):
        return t
    extents = tuple(e for e in t.shape if isinstance(e, int))
    axis = len(extents) - 1
    plan = dealt_out(tracer, extents, axis, element_bytes(t.dtype))
    return tape.TapedTile(tracer, extents, t.dtype, plan)  # type: ignore[return-value]


def fastest(extents: tuple[int, ...], axis: int) -> TileLayout:
    """Dense, with ``axis`` varying fastest: what goes along it in the array goes along it in the tile."""
    strides, below = [0] * len(extents), 1
    for k in [axis, *(k for k in reversed(range(len(extents))) if k != axis)]:
        strides[k], below = below, below * extents[k]
    return TileLayout(S[extents:tuple(strides)])


def inside_of(shared: TensorView, tracer: Tracer) -> Region:
    """All of a shared tile."""
    extents = tuple(e for e in shared.shape if isinstance(e, int))
    return Region(tracer, shared, extents, (typed.literal(0, "int32"),) * len(extents), False)


def spread(t: RegisterTile | TensorView, tracer: Tracer) -> tuple[Plan, TensorView]:
    """The tile in registers: its own, or what is read from shared memory now."""
    if isinstance(t, RegisterTile):
        return t.plan, t.cells()
    insert(tracer, "before the shared tile is read, for threads that changed elements of it")
    inner = inside_of(t, tracer)
    plan = dealt_out(tracer, inner.shape, inner.main_axis(), inner.bytes)
    return plan, move.load(tracer, inner, plan, "tile")


def _claimed(region: Region, axis: int, tracer: Tracer) -> int:
    """The width that ``aligned=True`` claims: it is used, and the prover judges it."""
    words = max(1, 16 // region.bytes)
    if region.shape[axis] % words:
        refuse("K233", f"aligned=True needs rows of whole 16-byte vectors; {region.shape[axis]} elements of "
                       f"{region.bytes} bytes are not", tracer.place(), help="drop aligned=True")
    region.claim(axis)
    return words


def advise(region: Region, bounds_check: bool, aligned: bool) -> None:
    """Keep what would make the claims true, for the message if they are refused."""
    if not bounds_check or aligned:
        said = claims.inside(region, "aligned=True" if aligned else "bounds_check=False")
        if said is not None:
            region.tracer.advice.append(("P103", region.array.ir.buffer.name, said))


def array_of(a: object, what: str, tracer: Tracer) -> TensorView:
    if not isinstance(a, TensorView) or a.scope() == "local":
        refuse("K230", f"{what} works on an array in memory, not {said(a)}", tracer.place())
    return a


def extents_of(shape: object, tracer: Tracer) -> tuple[int, ...]:
    items = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    found = tuple(i for i in items if isinstance(i, int) and not isinstance(i, bool) and i > 0)
    total = 1
    for extent in found:
        total *= extent
    if len(found) != len(items) or not found or total > MAX_ELEMENTS:
        refuse("K231", f"a tile's shape is made of positive integers known while the kernel is read, {MAX_ELEMENTS} "
                       f"elements at most; not {said(shape)}", tracer.place())
    return found


def flags(tracer: Tracer, **flags: object) -> None:
    for name, value in flags.items():
        if not isinstance(value, bool):
            refuse("K232", f"{name} is True or False, known while the kernel is read; not {said(value)}",
                   tracer.place())


intrinsic(tile_load)
intrinsic(tile_store)
intrinsic(tile_atomic_add)
