"""The host and kernel names that NVIDIA Warp's tile documents use: ``from ptxspec.compat import warp as wp``.

Arrays live on the host by default, where kernels run in the simulator; ``device="cuda"`` puts them on the GPU. Each
kernel is compiled, and proved, for every kind of launch it meets: shapes, strides, alignments, launch size.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import TYPE_CHECKING, TypeVar

from ptxspec.compat.warp.arrays import (
    Array,
    array,
    array1d,
    array2d,
    array3d,
    array4d,
    clone,
    empty,
    empty_like,
    from_numpy,
    full,
    ones,
    zeros,
    zeros_like,
)
from ptxspec.compat.warp.builtins import (
    abs,
    block_dim,
    max,
    min,
    tid,
    tile,
    tile_arange,
    tile_atomic_add,
    tile_atomic_add_indexed,
    tile_broadcast,
    tile_empty,
    tile_full,
    tile_load,
    tile_load_indexed,
    tile_ones,
    tile_reshape,
    tile_squeeze,
    tile_store,
    tile_store_indexed,
    tile_transpose,
    tile_view,
    tile_zeros,
)
from ptxspec.compat.warp.kernels import Kernel, kernel, launch, launch_tiled
from ptxspec.compat.warp.tape import Tape
from ptxspec.compat.warp.types import (
    COMPOUNDS,
    bfloat16,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    struct,
    uint8,
    uint16,
    uint32,
    uint64,
)

if TYPE_CHECKING:
    from ptxspec.compat.warp.types import Compound

config = SimpleNamespace(quiet=True, verify_fp=False, mode="release")
F = TypeVar("F")


def func(function: Callable[..., F]) -> Callable[..., F]:
    """A function that kernels call: it is read where it is called."""
    return function


def constant(value: F) -> F:
    """A value known while a kernel is read."""
    return value


def static(value: F) -> F:
    """A Python expression evaluated while a kernel is read."""
    return value


def init() -> None:
    """Nothing to do here."""


def synchronize() -> None:
    """Wait until the GPU has finished."""
    from ptxspec.backend.device import device_present
    from ptxspec.backend.device import synchronize as wait
    if device_present():
        wait(None)


def __getattr__(name: str) -> Compound:
    """Vectors, matrices, quaternions: ``wp.vec3``, ``wp.mat33`` and their kin."""
    if name in COMPOUNDS:
        return COMPOUNDS[name]
    raise AttributeError(f"ptxspec.compat.warp has no `{name}`")


__all__ = [
    "Array", "Kernel", "Tape", "abs", "array", "array1d", "array2d", "array3d", "array4d", "bfloat16", "block_dim",
    "clone", "config", "constant", "empty", "empty_like", "float16", "float32", "float64", "from_numpy", "full",
    "func", "init", "int16", "int32", "int64", "int8", "kernel", "launch", "launch_tiled", "max", "min", "ones",
    "static", "struct", "synchronize", "tid", "tile", "tile_arange", "tile_atomic_add", "tile_atomic_add_indexed",
    "tile_broadcast", "tile_empty", "tile_full", "tile_load", "tile_load_indexed", "tile_ones", "tile_reshape",
    "tile_squeeze", "tile_store", "tile_store_indexed", "tile_transpose", "tile_view", "tile_zeros", "uint16",
    "uint32", "uint64", "uint8", "zeros", "zeros_like",
]
