"""Random proved kernels beyond plain moves: element loops, tiles, atomics, conversions. One function a family.

Each gives a kernel and its arguments for a seed. What a kernel computes does not depend on the order of its threads, so
the GPU and the simulator must agree bit for bit, also where nothing is written.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ptxspec import T
from ptxspec.layout import R, S, TileLayout

M = T.dim("M")
INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
FLOATS = ("float16", "bfloat16", "float32", "float64")
#: NumPy's type of an array of each element type.
HOST = {name: name for name in (*INTEGERS, "float16", "float32", "float64", "bool")} | {
    "bfloat16": "uint16", "float8_e4m3": "uint8", "float8_e5m2": "uint8", "bits8": "V1", "bits16": "V2", "bits32": "V4",
    "bits64": "V8", "bits128": "V16"}


@dataclass(frozen=True)
class Case:
    """A kernel and what to call it with."""

    kernel: T.KernelFunction
    arguments: list[object]


def array(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Any bits at all; truths are 0 or 1."""
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    host = np.dtype(HOST[dtype])
    count = int(np.prod(shape, dtype=int))
    return rng.integers(0, 256, count * host.itemsize, dtype=np.uint8).view(host).reshape(shape)


def numbers(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Small integers of any type: sums of them are exact in every order."""
    values = rng.integers(0, 5, shape)
    if dtype == "bfloat16":
        return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return values.astype(HOST[dtype])


def combined(which: int, a, b, i, integer: bool):
    """One of the operations on two values; ``i`` is an index."""
    if which == 0:
        return a + b
    if which == 1:
        return a - b
    if which == 2:
        return a * b
    if which == 3:
        return T.min(a, b)
    if which == 4:
        return T.max(a, b)
    if which == 5:
        return T.Select(a < b, a, b)
    if which == 6:
        return T.abs(a) if i % 2 == 0 else -b
    if which == 7:
        return ((a & b) ^ (a >> 3)) | (b << 2) if integer else a / b
    return ~a if integer else b


def elements(seed: int) -> Case:
    """Rows of elements, computed one by one: what emission joins to vectors must give the same."""
    r, rng = random.Random(seed), np.random.default_rng(seed)
    dtype = r.choice((*INTEGERS, *FLOATS))
    into = r.choice((*INTEGERS, *FLOATS))
    lanes, threads, blocks = r.choice((1, 2, 3, 4, 6, 8, 16)), r.choice((32, 33, 64, 128)), r.choice((1, 2, 4))
    rows, which, unroll = r.randrange(1, 400), r.randrange(9), r.random() < 0.5
    turned = r.random() < 0.25
    layout = TileLayout(S[(M, lanes) : (1, M)]) if turned else None
    integer = dtype in INTEGERS

    @T.function
    def kernel(A: T.Tensor((M, lanes), dtype, layout=layout), B: T.Tensor((M, lanes), dtype),
               Out: T.Tensor((M, lanes), dtype), Cast: T.Tensor((M, lanes), into), limit: T.int32):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=blocks, block=threads))
        for row in range(T.cuda.block_idx() * threads + T.cuda.thread_idx(), M, threads * blocks):
            if unroll:
                for k in T.unroll(lanes):
                    Out[row, k] = combined(which, A[row, k], B[row, k], row, integer)
            else:
                for k in range(lanes):
                    Out[row, k] = combined(which, A[row, k], B[row, k], row, integer)
            if row < limit:
                for k in range(lanes):
                    Cast[row, k] = getattr(T, into)(B[row, k])

    given = [array(rng, (rows, lanes), dtype) for _ in range(3)]
    if turned:
        given[0] = np.asfortranarray(given[0])
    return Case(kernel, [*given, array(rng, (rows, lanes), into), r.randrange(rows + 50)])


def tiles(seed: int) -> Case:
    """A tile moved from one place to another, both read from memory, partly outside."""
    r, rng = random.Random(seed), np.random.default_rng(seed)
    rank = r.randrange(1, 4)
    most = (40, 14, 7)[rank - 1]
    shape, out = (tuple(r.randrange(1, most) for _ in range(rank)) for _ in range(2))
    tile = tuple(r.choice((1, 2, 3, 4, 5, 8, 16) if rank < 3 else (1, 2, 3, 4)) for _ in range(rank))
    dtype = r.choice(("float32", "float16", "bfloat16", "uint8", "int8", "float64", "int32", "int64"))
    threads, storage = r.choice((1, 3, 8, 32, 33, 64, 128)), r.choice(("register", "shared"))
    multiple, add = r.choice((1, 2, 4, 8)), r.random() < 0.3

    @T.function
    def kernel(A: T.Tensor(shape, dtype), B: T.Tensor(out, dtype), Where: T.Tensor((2, rank), "int32")):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=threads))
        source = tuple([T.int64(Where[0, k]) * multiple for k in range(rank)])
        target = tuple([T.int64(Where[1, k]) * multiple for k in range(rank)])
        t = T.tile_load(A, shape=tile, offset=source, storage=storage)
        T.tile_store(B, t + t if add else t, offset=target)

    values = numbers if add else array
    return Case(kernel, [values(rng, shape, dtype), values(rng, out, dtype),
                         rng.integers(-4, 9, (2, rank)).astype(np.int32)])


def vector_tiles(seed: int) -> Case:
    """Tiles of short vectors with arithmetic, partly outside; or the adjoint of that. Groups run across elements."""
    r, rng = random.Random(seed), np.random.default_rng(seed)
    inner = r.choice(((3,), (5,), (6,), (2, 3), (3, 3)))
    shape = (r.randrange(1, 9), r.randrange(1, 20), *inner)
    tile = (r.choice((1, 2, 4)), r.choice((1, 3, 4, 8)), *inner)
    dtype, threads = r.choice(("float32", "float16", "float64")), r.choice((3, 8, 24, 32, 64))
    shift, storage, mode = r.randrange(-2, 3), r.choice(("register", "shared")), r.choice(("", "plain", "atomic"))
    grid = (-(-shape[1] // tile[1]), -(-shape[0] // tile[0]))
    zero = (0,) * len(inner)

    @T.function
    def kernel(A: T.Tensor(shape, dtype, align=16), B: T.Tensor(shape, dtype, align=16)):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=grid, block=threads))
        i, j = T.cuda.block_idx("y") * tile[0], T.cuda.block_idx("x") * tile[1]
        t = T.tile_load(A, shape=tile, offset=(i, j + shift, *zero), storage=storage)
        T.tile_store(B, t * 2 + t, offset=(i, j, *zero))

    given = [numbers(rng, shape, dtype) for _ in range(4 if mode else 2)]
    return Case(kernel.adjoint(atomics=mode == "atomic") if mode else kernel, given)


def added_tiles(seed: int) -> Case:
    """Blocks add one tile into one place: small integers, so every order gives the same sums."""
    r, rng = random.Random(seed), np.random.default_rng(seed)
    shape = (r.randrange(4, 20), r.choice((8, 16, 24)))
    tile = (r.choice((1, 2, 4)), r.choice((4, 8)))
    dtype = r.choice(("int32", "uint32", "int64", "uint64", "float32", "float64", "float16", "bfloat16"))
    storage, blocks, threads = r.choice(("register", "shared")), r.randrange(1, 6), r.choice((8, 32, 64))

    @T.function
    def kernel(A: T.Tensor(tile, dtype, align=16), B: T.Tensor(shape, dtype, align=16), Where: T.Tensor((2,), "int32")):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=blocks, block=threads))
        T.tile_atomic_add(B, T.tile_load(A, shape=tile, storage=storage), offset=(Where[0], Where[1]))

    return Case(kernel, [numbers(rng, tile, dtype), numbers(rng, shape, dtype),
                         rng.integers(-3, 12, 2).astype(np.int32)])


REDUCTIONS = (
    ("add.u32", "uint32"), ("add.s32", "int32"), ("add.u64", "uint64"), ("min.s32", "int32"), ("max.u32", "uint32"),
    ("min.s64", "int64"), ("max.u64", "uint64"), ("and.b32", "uint32"), ("or.b64", "uint64"), ("xor.b32", "uint32"),
    ("inc.u32", "uint32"), ("add.f32", "float32"), ("add.f64", "float64"), ("add.noftz.f16", "float16"),
    ("add.noftz.bf16", "bfloat16"))
EXCHANGES = (("exch.b32", "uint32"), ("exch.b64", "uint64"), ("add.u32", "uint32"), ("add.s32", "int32"),
             ("max.s32", "int32"), ("min.u64", "uint64"), ("and.b64", "uint64"), ("add.f32", "float32"),
             ("cas.b32", "uint32"), ("inc.u32", "uint32"), ("dec.u32", "uint32"))


def atomics(seed: int) -> Case:
    """Reductions of all threads into a few places, and exchanges at places of their own."""
    r, rng = random.Random(seed), np.random.default_rng(seed)
    (red, red_type), (atom, atom_type) = r.choice(REDUCTIONS), r.choice(EXCHANGES)
    threads, blocks, places = r.choice((32, 64, 100)), r.randrange(1, 5), r.choice((1, 3, 8))
    ordering = r.choice(("", "relaxed.gpu.", "relaxed.cta." if blocks == 1 else "relaxed.sys.", "release.gpu."))
    shared = blocks == 1 and r.random() < 0.8
    total = threads * blocks

    @T.function
    def kernel(A: T.Tensor((total, 1), red_type), Sums: T.Tensor((places, 1), red_type),
               B: T.Tensor((total, 1), atom_type), Own: T.Tensor((total, 1), atom_type),
               Old: T.Tensor((total, 1), atom_type), C: T.Tensor((total, 1), atom_type)):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=blocks, block=threads))
        tid = T.cuda.thread_idx()
        i = T.cuda.block_idx() * threads + tid
        mine = T.alloc_local((1,), red_type)
        mine[0] = A[i, 0]
        if shared:
            partial = T.alloc_shared((places, 1), red_type)
            if tid < places:
                partial[tid, 0] = Sums[tid, 0]
            T.cuda.cta_sync()
            T.cuda.tile.apply(T.ptx[f"red.shared.{red}"], partial.sub[tid % places], mine)
            T.cuda.cta_sync()
            if tid < places:
                Sums[tid, 0] = partial[tid, 0]
        else:
            T.cuda.tile.apply(T.ptx[f"red.{ordering}global.{red}"], Sums.sub[i % places], mine)
        given, old, new = (T.alloc_local((1,), atom_type) for _ in range(3))
        given[0] = B[i, 0]
        new[0] = C[i, 0]
        if atom.startswith("cas"):
            T.cuda.tile.apply(T.ptx[f"atom.{ordering}global.{atom}"], old, Own.sub[total - 1 - i], given, new)
        else:
            T.cuda.tile.apply(T.ptx[f"atom.{ordering}global.{atom}"], old, Own.sub[total - 1 - i], given)
        Old[i, 0] = old[0]

    exact = not red_type.startswith(("float", "bfloat"))
    values = array if exact else numbers
    others = numbers if atom_type == "float32" or atom.startswith("cas") else array
    added = values(rng, (total, 1), red_type)
    if red.startswith(("inc", "dec")):   # with bounds that differ the result depends on the order of the threads
        added[:] = added[0]
    return Case(kernel, [added, values(rng, (places, 1), red_type),
                         *(others(rng, (total, 1), atom_type) for _ in range(4))])


def copies(seed: int) -> Case:
    """Elements of every storage type through registers and shared memory whose layout keeps several copies."""
    r, rng = random.Random(seed), np.random.default_rng(seed)
    dtype = r.choice(tuple(HOST))
    threads, lanes = r.choice((32, 64, 96)), r.choice((1, 2, 4))
    layout = r.choice((None, TileLayout(S[(threads, lanes) : (lanes, 1)] + R[2 : threads * lanes]),
                       TileLayout(S[(threads, lanes) : (2 * lanes, 1)] + R[2 : lanes]),
                       TileLayout(S[(threads, lanes) : (-lanes, -1)]), TileLayout(S[(threads, lanes) : (1, threads)])))
    back = r.randrange(threads)

    @T.function
    def kernel(A: T.Tensor((M, lanes), dtype), B: T.Tensor((M, lanes), dtype)):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=(M + threads - 1) // threads, block=threads))
        tid, first = T.cuda.thread_idx(), T.int64(T.cuda.block_idx()) * threads
        shared = T.alloc_shared((threads, lanes), dtype, layout=layout)
        if first + tid < M:
            for k in range(lanes):
                shared[tid, k] = A[first + tid, k]
        T.cuda.cta_sync()
        other = (tid + back) % threads
        if first + tid < M and first + other < M:
            for k in range(lanes):
                B[first + tid, k] = shared[other, lanes - 1 - k]

    rows = r.randrange(1, 300)
    return Case(kernel, [array(rng, (rows, lanes), dtype), array(rng, (rows, lanes), dtype)])


#: Family and how many kernels of it are run.
FAMILIES: dict[str, tuple[Callable[[int], Case], int]] = {
    "elements": (elements, 120), "tiles": (tiles, 60), "vector tiles": (vector_tiles, 60),
    "added tiles": (added_tiles, 40), "atomics": (atomics, 80),
    "copies": (copies, 60)}
