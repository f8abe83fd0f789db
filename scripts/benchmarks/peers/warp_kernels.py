"""Kernels in Warp's language for the comparisons; each maker returns a function that enqueues one launch.

Everything goes on the legacy default stream, where the timing events are.
"""

import contextlib
import functools
import importlib.util
import sys
import tempfile
from pathlib import Path

import warp as wp

BLOCK = 128
ROW = wp.types.vector(length=4, dtype=wp.float32)


@wp.kernel(enable_backward=False)
def copy_rows(a: wp.array(dtype=ROW), b: wp.array(dtype=ROW)):
    i = wp.tid()
    b[i] = a[i]


@wp.kernel(enable_backward=False)
def exchange_rows(a: wp.array(dtype=ROW), b: wp.array(dtype=ROW)):
    i = wp.tid()
    b[i] = a[(i // 64) * 64 + (i + 1) % 64]


@wp.kernel(enable_backward=False)
def copy_strided(a: wp.array2d(dtype=ROW), b: wp.array2d(dtype=ROW)):
    i, j = wp.tid()
    b[i, j] = a[i, j]


@wp.kernel(enable_backward=False)
def transpose_tiles(a: wp.array2d(dtype=wp.float32), b: wp.array2d(dtype=wp.float32)):
    i, j = wp.tid()
    t = wp.tile_load(a, shape=(64, 64), offset=(i * 64, j * 64), storage="shared", bounds_check=False)
    wp.tile_store(b, wp.tile_transpose(t), offset=(j * 64, i * 64), bounds_check=False)


def _recorded(kernel, dim, arrays, block, tiled=False, **more):
    device = wp.get_device("cuda:0")
    launch = wp.launch_tiled if tiled else wp.launch
    command = launch(
        kernel, dim=dim, inputs=list(arrays), block_dim=block, device=device, stream=device.null_stream,
        record_cmd=True, **more,
    )
    return lambda: command.launch(stream=device.null_stream)


def rows(a, b, block=256):
    """Copy of 16-byte rows, one a thread. ``a`` and ``b`` are torch tensors ``(n, 4)``."""
    views = [wp.from_torch(x, dtype=ROW) for x in (a, b)]
    return _recorded(copy_rows, a.shape[0], views, block)


def exchange(a, b, block=64):
    """Exchange of rows within blocks of 64, through global memory (Warp has no scalar shared memory)."""
    views = [wp.from_torch(x, dtype=ROW) for x in (a, b)]
    return _recorded(exchange_rows, a.shape[0], views, block)


def strided(a, b, block=256):
    """Copy of ``(rows, vectors, 4)`` from a pitched array."""
    views = [wp.from_torch(x, dtype=ROW) for x in (a, b)]
    return _recorded(copy_strided, b.shape[:2], views, block)


def transpose(a, b, block=256):
    """Transpose in 64x64 tiles through shared memory."""
    views = [wp.from_torch(x) for x in (a, b)]
    return _recorded(transpose_tiles, (a.shape[0] // 64, a.shape[1] // 64), views, block, tiled=True)


def plain_launch(a, b):
    """A whole ``wp.launch`` a call, as most programs write it; arrays converted beforehand."""
    views = [wp.from_torch(x, dtype=ROW) for x in (a, b)]
    device = wp.get_device("cuda:0")
    return lambda: wp.launch(copy_rows, dim=a.shape[0], inputs=views, block_dim=64, device=device,
                             stream=device.null_stream)


_TILES = """
import warp as wp

@wp.kernel(enable_backward={backward}, grid_stride={grid_stride})
def move_tiles(a: wp.array(dtype=wp.{dtype}, ndim={rank}), b: wp.array(dtype=wp.{dtype}, ndim={rank})):
    {index} = wp.tid()
"""
_LOAD = '    t{k} = wp.tile_load(a, shape={shape}, offset={offset}, storage="{storage}", bounds_check={checked})\n'
_STORE = "    wp.{out}(b, t{k}, offset={offset}, bounds_check={checked})\n"


@functools.cache
def _tile_kernel(dtype, shape, storage, checked, grid_stride, out="tile_store", backward=False, count=1):
    """A kernel in a module of its own, written to a file because Warp reads its kernels' source.

    A block takes ``count`` tiles, neighbours along the last axis: all loaded, then all stored.
    """
    names = "ijkl"[: len(shape)]
    *outer, last = (f"{name} * {extent}" for name, extent in zip(names, shape, strict=True))
    offsets = [", ".join([*outer, last if count == 1 else f"({names[-1]} * {count} + {k}) * {shape[-1]}"])
               for k in range(count)]
    text = _TILES.format(grid_stride=grid_stride, dtype=dtype, rank=len(shape), index=", ".join(names),
                         backward=backward)
    for form in (_LOAD, _STORE):
        text += "".join(form.format(k=k, shape=tuple(shape), offset=f"({offset},)", storage=storage, checked=checked,
                                    out=out) for k, offset in enumerate(offsets))
    path = Path(tempfile.mkdtemp()) / f"warp_tiles_{abs(hash(text))}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module.move_tiles


DTYPES = {"float32": wp.float32, "float16": wp.float16, "uint8": wp.uint8, "vec3": wp.vec3, "float64": wp.float64}
BLOCKS = (128, 256, 512)
STORAGES = ("register", "shared")


def build_tiles(dtype, shape, checks, out="tile_store", backward=False, blocks=BLOCKS, counts=(1,)):
    """Build every variant of a tile kernel, several at a time; what fails to build shows when it is launched."""
    kernels = [_tile_kernel(dtype, tuple(shape), storage, checked, grid_stride, out, backward, count)
               for storage in STORAGES for checked in checks for grid_stride in (True, False) for count in counts]
    for block in blocks:
        with contextlib.suppress(Exception):
            wp.force_load(wp.get_device("cuda:0"), [kernel.module for kernel in kernels], block, 8)


def _launched(kernel, views, shape, block, count=1, **more):
    steps = (*shape[:-1], shape[-1] * count)
    dim = tuple(-(-extent // step) for extent, step in zip(views[0].shape, steps, strict=True))
    return _recorded(kernel, dim, views, block, tiled=True, **more)


def tiles(a, b, dtype, shape, storage, checked, grid_stride=True, block=BLOCK, count=1):
    """Tile copy of torch tensors; partial tiles are covered by rounding the number of tiles up."""
    kernel = _tile_kernel(dtype, tuple(shape), storage, checked, grid_stride, count=count)
    return _launched(kernel, [wp.from_torch(x, dtype=DTYPES[dtype]) for x in (a, b)], shape, block, count)


def backward(arrays, gradients, dtype, shape, storage, grid_stride, block, out, count=1):
    """The adjoint of a tile copy (``out`` "tile_store") or accumulation ("tile_atomic_add"), as a tape launches it."""
    kernel = _tile_kernel(dtype, tuple(shape), storage, True, grid_stride, out, True, count)
    views, adjoints = ([wp.from_torch(x, dtype=DTYPES[dtype]) for x in group] for group in (arrays, gradients))
    return _launched(kernel, views, shape, block, count, adj_inputs=adjoints, adjoint=True)
