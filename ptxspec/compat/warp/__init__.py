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
    block_dim,
    tid,
    tile_atomic_add,
    tile_atomic_add_indexed,
    tile_load,
    tile_load_indexed,
    tile_map,
    tile_store,
    tile_store_indexed,
)
from ptxspec.compat.warp.kernels import Kernel, kernel, launch, launch_tiled
from ptxspec.compat.warp.making import (
    tile,
    tile_arange,
    tile_empty,
    tile_from_thread,
    tile_full,
    tile_ones,
    tile_zeros,
    untile,
)
from ptxspec.compat.warp.moving import (
    tile_assign,
    tile_astype,
    tile_axpy,
    tile_broadcast,
    tile_diag_add,
    tile_extract,
    tile_reshape,
    tile_scatter_add,
    tile_scatter_masked,
    tile_slice_indexed,
    tile_squeeze,
    tile_transpose,
    tile_view,
)
from ptxspec.compat.warp.outside import OUTSIDE, outside
from ptxspec.compat.warp.scalars import (
    abs,
    add,
    bit_and,
    bit_or,
    bit_xor,
    clamp,
    div,
    floordiv,
    invert,
    isfinite,
    isinf,
    isnan,
    lshift,
    max,
    min,
    mod,
    mul,
    neg,
    nonzero,
    pos,
    rshift,
    sign,
    step,
    sub,
    unot,
)
from ptxspec.compat.warp.scalars import where_ as where
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
from ptxspec.compat.warp.vectors import cross, cw_div, cw_mul, ddot, dot, length_sq, transpose

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


def __getattr__(name: str) -> Compound | Callable[..., object]:
    """Vectors, matrices, quaternions: ``wp.vec3``, ``wp.mat33`` and their kin; and what Warp has but this has not."""
    if name in COMPOUNDS:
        return COMPOUNDS[name]
    if name in OUTSIDE:
        return outside(name)
    raise AttributeError(f"ptxspec.compat.warp has no `{name}`")


__all__ = [
    "Array", "Kernel", "Tape", "abs", "add", "array", "array1d", "array2d", "array3d", "array4d", "bfloat16",
    "bit_and", "bit_or", "bit_xor", "block_dim", "clamp", "clone", "config", "constant", "cross", "cw_div",
    "cw_mul", "ddot", "div", "dot", "empty", "empty_like", "float16", "float32", "float64", "floordiv",
    "from_numpy", "full", "func", "init", "int16", "int32", "int64", "int8", "invert", "isfinite", "isinf", "isnan",
    "kernel", "launch", "launch_tiled", "length_sq", "lshift", "max", "min", "mod", "mul", "neg", "nonzero", "ones",
    "pos", "rshift", "sign", "static", "step", "struct", "sub", "synchronize", "tid", "tile", "tile_arange",
    "tile_assign", "tile_astype", "tile_atomic_add", "tile_atomic_add_indexed", "tile_axpy", "tile_broadcast",
    "tile_diag_add", "tile_empty", "tile_extract", "tile_from_thread", "tile_full", "tile_load",
    "tile_load_indexed", "tile_map", "tile_ones", "tile_reshape", "tile_scatter_add", "tile_scatter_masked",
    "tile_slice_indexed", "tile_squeeze", "tile_store", "tile_store_indexed", "tile_transpose", "tile_view",
    "tile_zeros", "transpose", "uint16", "uint32", "uint64", "uint8", "unot", "untile", "where", "zeros",
    "zeros_like",
]
