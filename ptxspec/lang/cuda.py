"""``T.cuda``: launch configuration, hardware ids, barriers and tile instructions."""

from __future__ import annotations

from dataclasses import dataclass, field

from ptxspec.diagnostics import Span
from ptxspec.lang import ir, tile
from ptxspec.lang.errors import refuse, said
from ptxspec.lang.shapes import launch_time
from ptxspec.lang.trace import GRID_LIMITS, current, intrinsic, where
from ptxspec.lang.types import number
from ptxspec.layout.value import Value
from ptxspec.scalar import typed
from ptxspec.scalar.expr import Const, Expr, is_integer, show

__all__ = ["LaunchConfig", "block_dim", "block_idx", "cluster_cta_id", "cluster_sync", "cta_sync", "grid_dim",
           "lane_id", "thread_idx", "tile", "warp_id", "warp_in_warpgroup", "warp_sync", "warpgroup_id"]

Size = int | Expr | Value
BLOCK_LIMITS = (1024, 1024, 64)
MAX_THREADS = 1024
MAX_CLUSTER = 16


@dataclass(frozen=True, slots=True)
class LaunchConfig:
    """Launch sizes. ``grid`` and ``cluster`` count CTAs, ``block`` threads; an int stands for (x, 1, 1).

    ``grid`` may use symbolic dimensions and scalar parameters. ``dynamic_smem_bytes`` is extra shared memory;
    ``stream`` a CUDA stream handle; ``cooperative`` asks for all CTAs to be resident at once.
    """

    grid: Size | tuple[Size, ...] = 1
    block: int | tuple[int, ...] = 1
    cluster: int | tuple[int, ...] | None = None
    dynamic_smem_bytes: int = 0
    stream: int | None = None
    cooperative: bool = False
    place: Span | None = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "place", where())

    def resolve(self, entry: Span) -> ir.Launch:
        """The checked launch of the device entry at ``entry``; KernelError K218 for sizes no device launches."""
        span = self.place or entry
        grid = _three("grid", self.grid, span)
        block = _known("block", self.block, span)
        cluster = _known("cluster", 1 if self.cluster is None else self.cluster, span)
        for k, (size, limit) in enumerate(zip(block, BLOCK_LIMITS)):
            if not 1 <= size <= limit:
                refuse("K218", f"block size {size} along {'xyz'[k]} is outside 1 to {limit}", span)
        if block[0] * block[1] * block[2] > MAX_THREADS:
            refuse("K218", f"a block of {block[0] * block[1] * block[2]} threads; at most {MAX_THREADS} fit", span)
        if any(c < 1 for c in cluster) or cluster[0] * cluster[1] * cluster[2] > MAX_CLUSTER:
            refuse("K218", f"a cluster of {cluster} CTAs; 1 to {MAX_CLUSTER} are possible", span)
        for k, extent in enumerate(grid):
            if not isinstance(extent, Const):
                if not launch_time(extent):
                    refuse("K218", f"the grid size `{show(extent)}` is not known at launch", span,
                           help="use dimensions and scalar parameters only")
                continue
            if not 0 <= int(extent.value) <= GRID_LIMITS[k]:
                refuse("K218", f"grid size {extent.value} along {'xyz'[k]} is outside 0 to {GRID_LIMITS[k]}", span)
            if int(extent.value) % cluster[k]:
                refuse("K218", f"grid size {extent.value} along {'xyz'[k]} is no multiple of the cluster size "
                               f"{cluster[k]}", span)
        extra = number(self.dynamic_smem_bytes)
        if isinstance(extra, bool) or not isinstance(extra, int) or extra < 0:
            refuse("K218", f"dynamic_smem_bytes is a number of bytes, not {said(self.dynamic_smem_bytes)}", span)
        if not isinstance(self.cooperative, bool):
            refuse("K218", f"cooperative is True or False, not {said(self.cooperative)}", span)
        return ir.Launch(grid, block, cluster, extra, span, self.stream, self.cooperative)


def _three(name: str, value: object, span: Span) -> tuple[Expr, Expr, Expr]:
    items = list(value) if isinstance(value, (tuple, list)) else [value]
    if not 1 <= len(items) <= 3:
        refuse("K218", f"{name} has {len(items)} sizes; 1 to 3 are possible", span)
    result: list[Expr] = []
    for item in [*items, 1, 1, 1][:3] if len(items) < 3 else items:
        item = item.expr if isinstance(item, Value) else number(item)
        if isinstance(item, Expr) and is_integer(item.dtype):
            result.append(item)
        elif isinstance(item, int) and not isinstance(item, bool):
            result.append(typed.literal(item, typed.default_dtype(item), span))
        else:
            refuse("K218", f"{name} is made of integers, not {said(item)}", span)
    return result[0], result[1], result[2]


def _known(name: str, value: object, span: Span) -> tuple[int, int, int]:
    sizes: list[int] = []
    for item in _three(name, value, span):
        if not isinstance(item, Const):
            refuse("K218", f"{name} size `{show(item)}` is not known while the kernel is read", span,
                   help=f"{name} sizes are Python integers; only the grid may be symbolic")
        sizes.append(int(item.value))
    return sizes[0], sizes[1], sizes[2]


@intrinsic
def thread_idx(axis: str = "x") -> Expr:
    """Index of the thread in its block along "x", "y" or "z" (int32, 0 to block size - 1)."""
    return current("thread_idx").hardware_id("tid", axis)


@intrinsic
def block_idx(axis: str = "x") -> Expr:
    """Index of the block in the grid along "x", "y" or "z" (int32)."""
    return current("block_idx").hardware_id("ctaid", axis)


def _axis(axis: object, what: str) -> int:
    if axis not in ("x", "y", "z"):
        refuse("K141", f"an axis is \"x\", \"y\" or \"z\", not {said(axis)}", where())
    return ("x", "y", "z").index(str(axis))


@intrinsic
def block_dim(axis: str = "x") -> Expr:
    """Threads of a block along "x", "y" or "z" (int32)."""
    launch = current("block_dim").require_launch("block_dim")
    return typed.literal(launch.block[_axis(axis, "block_dim")], "int32", where())


@intrinsic
def grid_dim(axis: str = "x") -> Expr:
    """Blocks of the grid along "x", "y" or "z"."""
    launch = current("grid_dim").require_launch("grid_dim")
    return launch.grid[_axis(axis, "grid_dim")]


@intrinsic
def lane_id() -> Expr:
    """Lane of the thread in its warp (int32, 0 to 31)."""
    tracer = current("lane_id")
    linear = tracer.linear_thread()
    return linear if tracer.threads <= 32 else typed.binary("floormod", linear, 32, tracer.place())


@intrinsic
def warp_id() -> Expr:
    """Warp of the thread in its block (int32)."""
    tracer = current("warp_id")
    return typed.binary("floordiv", tracer.linear_thread(), 32, tracer.place())


@intrinsic
def warpgroup_id() -> Expr:
    """Warpgroup (four warps) of the thread in its block (int32)."""
    tracer = current("warpgroup_id")
    return typed.binary("floordiv", tracer.linear_thread(), 128, tracer.place())


@intrinsic
def warp_in_warpgroup() -> Expr:
    """Warp of the thread in its warpgroup (int32, 0 to 3)."""
    tracer = current("warp_in_warpgroup")
    return typed.binary("floormod", typed.binary("floordiv", tracer.linear_thread(), 32, tracer.place()), 4,
                        tracer.place())


@intrinsic
def cluster_cta_id(axis: str = "x") -> Expr:
    """Index of the block in its cluster along "x", "y" or "z" (int32).

    Clusters tile the grid, so this is the block's index modulo the cluster size.
    """
    tracer = current("cluster_cta_id")
    size = tracer.require_launch("cluster_cta_id").cluster[_axis(axis, "cluster_cta_id")]
    return typed.binary("floormod", tracer.hardware_id("ctaid", axis), size, tracer.place())


def _barrier(kind: str, what: str) -> None:
    tracer = current(what)
    tracer.emit(ir.Barrier(kind, tracer.place()))


@intrinsic
def cta_sync() -> None:
    """Wait for all threads of the block; their memory writes before it are visible after it."""
    _barrier("cta", "cta_sync")


@intrinsic
def warp_sync() -> None:
    """Wait for all threads of the warp."""
    _barrier("warp", "warp_sync")


@intrinsic
def cluster_sync() -> None:
    """Wait for all threads of the cluster (K180 without a cluster launch)."""
    tracer = current("cluster_sync")
    if tracer.require_launch("cluster_sync").cluster == (1, 1, 1):
        refuse("K180", "cluster_sync needs a cluster launch", tracer.place(),
               help="give T.cuda.LaunchConfig(cluster=...)")
    _barrier("cluster", "cluster_sync")


intrinsic(LaunchConfig)
