"""What kernels become: the typed form of each construct of the language."""

from __future__ import annotations

from functools import partial

from ptxspec.lang import ir
from ptxspec.lang import t as T
from ptxspec.lang.function import KernelFunction
from ptxspec.lang.show import text
from ptxspec.layout import S, TileLayout, laneid, warpid

M, N = T.dim("M"), T.dim("N")
OFFSET = 3


def body(kernel: KernelFunction) -> list[str]:
    """The statements as text, launch and parameters left out."""
    lines = text(kernel.kernel()).splitlines()
    start = next(k for k, line in enumerate(lines) if line.startswith("  launch"))
    return [line[2:] for line in lines[start + 1:] if not line.startswith(("  local", "  shared"))]


def test_scalars_loops_branches_and_elements() -> None:
    @T.function
    def scale(A: T.Tensor((M, 4), "float32"), n: T.int32, factor: T.float32):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=(M + 127) // 128, block=128))
        i = T.cuda.block_idx("x") * T.cuda.block_dim() + T.cuda.thread_idx()
        if i < M and n > OFFSET:
            for j in range(4):
                A[i, j] = A[i, j] * factor + 1
        elif n == 0:
            A[0, 0] += 2.5
        else:
            A[0, 1] = -A[0, 1]

    assert body(scale) == [
        "if blockIdx.x * 128 + threadIdx.x < M and n > 3",
        "  for j in 0 .. 4 by 1",
        "    A[i, j]: float32 = A[blockIdx.x * 128 + threadIdx.x, j]",
        "    A[blockIdx.x * 128 + threadIdx.x, j] = A[i, j] * factor + 1.0",
        "else",
        "  if n == 0",
        "    A[0, 0]: float32 = A[0, 0]",
        "    A[0, 0] = A[0, 0] + 2.5",
        "  else",
        "    A[0, 1]: float32 = A[0, 1]",
        "    A[0, 1] = -A[0, 1]",
    ]
    kernel = scale.kernel()
    assert [v.name for v in kernel.dims] == ["M"]
    assert {v.role: (v.lo, v.hi) for v in kernel.hardware} == {"ctaid.x": (0, (1 << 31) - 2), "tid.x": (0, 127)}
    block = next(v for v in kernel.hardware if v.role == "ctaid.x")
    assert block.hi_expr == kernel.launch.grid[0]
    assert scale.kernel() is kernel


def test_plain_python_runs_while_reading() -> None:
    taps = [(0, 0.5), (2, 0.25)]
    verbose = False

    @T.function
    def stencil(A: T.Tensor((8,), "float32"), B: T.Tensor((4,), "float32")):
        """A docstring is no statement."""
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=4))
        i = T.cuda.thread_idx("x")
        total = 0.0
        for shift, weight in taps:
            if shift > 5:
                break
            total = total + weight * A[i + shift]
        names = {f"tap{k}": v for k, (v, _) in enumerate(taps) if v != 7}
        assert len(names) == 2, "both taps"
        if verbose:
            B[0] = 1.0
        B[i] = total if taps else 0.0

    assert body(stencil) == [
        "A[i + shift]: float32 = A[i + 0]",
        "A[i + shift]: float32 = A[i + 2]",
        "B[i] = 0.0 + 0.5 * A[i + shift] + 0.25 * A[i + shift]",
    ]


def test_helpers_are_read_inline() -> None:
    def global_id(axis="x"):
        return T.cuda.block_idx(axis) * T.cuda.block_dim(axis) + T.cuda.thread_idx(axis)

    def clamp(x, low, high):
        if isinstance(low, int) and low == 0:
            return T.min(T.max(x, 0), high)
        return min(max(x, low), high)

    @T.function
    def copy(A: T.Tensor((64,), "int32"), B: T.Tensor((64,), "int32")):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=2, block=(16, 2)))

        def linear(y, width=16):
            return y * width + global_id()

        shifted = partial(clamp, low=0, high=63)
        i = linear(T.cuda.thread_idx("y"))
        B[shifted(i)] = A[clamp(i, 1, 62)]

    assert body(copy) == [
        "A[clamp(i, 1, 62)]: int32 = A[min(max(threadIdx.y * 16 + (blockIdx.x * 16 + threadIdx.x), 1), 62)]",
        "B[min(max(threadIdx.y * 16 + (blockIdx.x * 16 + threadIdx.x), 0), 63)] = A[clamp(i, 1, 62)]",
    ]


def test_memory_is_read_only_on_the_side_taken() -> None:
    @T.function
    def guarded(A: T.Tensor((N,), "int32"), B: T.Tensor((64,), "int32")):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
        i = T.cuda.thread_idx("x")
        if i < N and A[i] > 0:
            B[i] = A[i] if i + 1 < N else 0
        B[0] = T.int32((i < N) & (i > 2)) + (1 if i > 3 else 2)

    assert body(guarded) == [
        "if i < N",
        "  A[i]: int32 = A[i]",
        "  if A[i] > 0",
        "    if i + 1 < N",
        "      A[i]: int32 = A[i]",
        "      chosen[0] = A[i]",
        "    else",
        "      chosen[0] = 0",
        "    A[i] if i + 1 < N else 0: int32 = chosen[0]",
        "    B[i] = A[i] if i + 1 < N else 0",
        "B[0] = int32(i < N and i > 2) + Select(i > 3, 1, 2)",
    ]


def test_early_return_guards_the_rest() -> None:
    @T.function
    def early(A: T.Tensor((N,), "int32")):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
        i = T.cuda.thread_idx("x")
        if i >= N:
            return
        i = i + 0
        if A[i] == 0:
            A[i] = 1
            return
        A[i] = 2
        return

    assert body(early) == [
        "if i >= N",
        "else",
        "  A[i]: int32 = A[i + 0]",
        "  if A[i] == 0",
        "    A[i + 0] = 1",
        "  else",
        "    A[i + 0] = 2",
    ]


def test_loops_of_every_kind() -> None:
    @T.function
    def loops(A: T.Tensor((64,), "int32"), n: T.int32, big: T.int64):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=4, block=32))
        for i in T.serial(T.cuda.thread_idx(), n, 128):
            A[i] = 0
        for i in T.unroll(1, 9, 4):
            A[i] = 1
        for k in range(7, 0, -2):
            A[k] = 2
        for a, b in T.grid(2, n):
            A[a + b] = 3
        for i in range(big):
            A[i] = 4
        for i in range(T.cuda.block_idx("x"), 64, T.cuda.grid_dim("x")):
            A[i] = 5
        for k in [x * 2 for x in range(2)]:
            A[k] = 6

    assert body(loops) == [
        "for i in threadIdx.x .. n by 128", "  A[i] = 0",
        "for i in 1 .. 9 by 4 unrolled", "  A[i] = 1",
        "for k in 0 .. 4 by 1", "  A[7 - k * 2] = 2",
        "for a in 0 .. 2 by 1", "  for b in 0 .. n by 1", "    A[a + b] = 3",
        "for i in 0 .. big by 1", "  A[i] = 4",
        "for i in blockIdx.x .. 64 by 4", "  A[i] = 5",
        "A[0] = 6", "A[2] = 6",
    ]
    strided, unrolled, *_, wide, ctas, _, _ = list(loops.kernel().body)
    assert isinstance(strided, ir.For)
    assert isinstance(unrolled, ir.For)
    assert isinstance(wide, ir.For)
    assert isinstance(ctas, ir.For)
    assert (strided.var.lo, strided.var.hi, strided.var.hi_expr is strided.stop) == (0, (1 << 31) - 2, True)
    assert strided.var.step_of == (strided.start, strided.step)
    assert (unrolled.var.lo, unrolled.var.hi, unrolled.unroll) == (1, 5, True)
    assert wide.var.dtype == "int64"
    assert (ctas.var.lo, ctas.var.hi) == (0, 63)


def test_apply_parameters_and_scopes() -> None:
    rows = TileLayout(S[(32, 2) : (1 @ laneid, 1)])

    @T.function
    def warps(A: T.Tensor((2, 32, 2), "float32"), flag: T.bool, policy: T.uint64):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
        w = T.cuda.warp_id()
        r = T.alloc_local((32, 2), "float32", layout=rows)
        T.cuda.tile.apply(T.ptx["ld.global.L2::cache_hint.b32"], r.view(32, 2, 1), A.sub[w].view(32, 2, 1),
                          scope="warp",
                          cache_policy=policy)
        if w == 0:
            T.cuda.tile.apply(T.ptx["ld.global.v2.b32"], r, A.sub[w], scope="warp", pred=flag, preserve_dst=True)
        x = T.alloc_local((2, 1), "int32")
        T.cuda.tile.apply(T.ptx["mov.b32"], x, 7)
        T.cuda.tile.apply(T.ptx["st.global.b32"], A[w, 0:2, 0], T.float32(1), pred=T.cuda.lane_id() == 0)

    assert body(warps) == [
        "ld.global.L2::cache_hint.b32 r.view(32, 2, 1), A.sub[threadIdx.x // 32, 0 +: 32, 0 +: 2].view(32, 2, 1)"
        " scope=warp group=(32,) repeat=(2,) policy=policy",
        "if threadIdx.x // 32 == 0",
        "  ld.global.v2.b32 r, A.sub[threadIdx.x // 32, 0 +: 32, 0 +: 2] scope=warp group=(32,) repeat=() pred=flag"
        " preserve_dst",
        "mov.b32 x, 7 repeat=(2,)",
        "st.global.b32 A.sub[threadIdx.x // 32 +: 1, 0 +: 2, 0 +: 1], 1.0 repeat=(1, 2) pred=threadIdx.x % 32 == 0",
    ]


def test_cluster_and_warpgroup_groups() -> None:
    spread = TileLayout(S[(2, 4, 32, 1) : (0, 1 @ warpid, 1 @ laneid, 1)])

    @T.function
    def cluster(A: T.Tensor((2, 4, 32, 1), "float32")):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=4, block=128, cluster=2))
        r = T.alloc_local((2, 4, 32, 1), "float32", layout=spread)
        T.cuda.tile.apply(T.ptx["ld.global.b32"], r, A, scope="cluster")
        T.cuda.tile.apply(T.ptx["ld.global.b32"], r.sub[T.cuda.cluster_cta_id()], A.sub[0], scope="warpgroup")
        T.cuda.cluster_sync()
        T.cuda.warp_sync()

    first, second, *syncs = cluster.kernel().body
    assert isinstance(first, ir.Apply)
    assert isinstance(second, ir.Apply)
    assert (first.group_axes, first.group) == (("cbx", "warpid", "laneid"), (2, 4, 32))
    assert (second.group_axes, second.group) == (("wid_in_wg", "laneid"), (4, 32))
    assert [s.kind for s in syncs if isinstance(s, ir.Barrier)] == ["cluster", "warp"]


def test_shapes_dtypes_and_queries() -> None:
    seen: dict[str, object] = {}

    def note(name, value):
        seen[name] = value

    @T.function
    def queries(A: T.Tensor((M, 2 * N, 4), "float16", align=32)):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=1))
        s = T.alloc_shared((4, 8), T.float32, align=128)
        note("shape", s.shape)
        note("dtype", s.dtype)
        note("scope", s.scope())
        note("align", (s.data_alignment, A.data_alignment))
        note("layout", s.layout.is_contiguous())
        note("rank", A.ndim)
        note("len", len(s))
        note("offset", s.ptr_to([1, 2]).byte_offset)
        for i in range(A.shape[1] // 2):
            A[0, i * 2, 0] = 0.0

    queries.kernel()
    assert seen == {"shape": (4, 8), "dtype": "float32", "scope": "shared", "align": (128, 32), "layout": True,
                    "rank": 3,
                    "len": 4, "offset": 40}
    assert body(queries) == ["for i in 0 .. 2 * N // 2 by 1", "  A[0, i * 2, 0] = 0.0"]


def test_spans_point_at_the_users_text() -> None:
    @T.function
    def spans(A: T.Tensor((64,), "float32")):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
        ä = T.cuda.thread_idx()
        A[ä] = A[ä] + 1

    load, store = spans.kernel().body
    line = spans.line + 4
    assert isinstance(load, ir.Load)
    assert (load.span.file, load.span.line) == (__file__, line)
    assert (load.span.column, load.span.end_column) == (16, 20)
    assert (store.span.column, store.span.end_column) == (9, 13)


def test_assumptions_keep_their_text() -> None:
    @T.function
    def assumed(A: T.Tensor((N,), "float32"), n: T.int32):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
        T.assume(n % 4 == 0)
        T.assume(True)
        T.assume(n <= N)

    assert body(assumed) == ["assume n % 4 == 0", "assume n <= N"]
