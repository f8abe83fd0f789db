# ruff: noqa: N803, N806
"""Data-movement kernels as factories over a language namespace ``T``: ptxspec's, or TIRx's for the comparison.

This file is loaded by path in the peers' interpreter too, so it imports nothing. Rows are 16 bytes: one vector access.
"""


def dense(T, rows, threads, each=1, load="ld.global.v4.b32", store="st.global.v4.b32", dtype="float32", lanes=4):
    """Copy ``rows`` vectors of ``lanes`` elements, ``each`` vectors a thread, all loads before the first store."""
    blocks = rows // (threads * each)
    assert blocks * threads * each == rows

    if each == 1:
        @T.function
        def dense_copy(
            A: T.Tensor((rows, lanes), dtype, align=16),
            B: T.Tensor((rows, lanes), dtype, align=16),
        ):
            T.device_entry(launch=T.cuda.LaunchConfig(grid=blocks, block=threads))
            row = T.cuda.block_idx("x") * threads + T.cuda.thread_idx("x")
            registers = T.alloc_local((lanes,), dtype, layout="default")
            T.cuda.tile.apply(T.ptx[load], registers, A.sub[row, :])
            T.cuda.tile.apply(T.ptx[store], B.sub[row, :], registers)

        return dense_copy

    @T.function
    def dense_copy_many(
        A: T.Tensor((blocks, each, threads, lanes), dtype, align=16),
        B: T.Tensor((blocks, each, threads, lanes), dtype, align=16),
    ):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=blocks, block=threads))
        block = T.cuda.block_idx("x")
        tid = T.cuda.thread_idx("x")
        registers = T.alloc_local((each, lanes), dtype, layout="default")
        T.cuda.tile.apply(T.ptx[load], registers, A.sub[block, :, tid, :])
        T.cuda.tile.apply(T.ptx[store], B.sub[block, :, tid, :], registers)

    return dense_copy_many


def elements(T, count, threads, dtype, bits):
    """Copy ``count`` elements of ``bits`` bits, one a thread: what an element-wise kernel does."""
    blocks = count // threads
    load = f"ld.global.b{bits}"
    store = f"st.global.b{bits}"

    @T.function
    def element_copy(A: T.Tensor((count, 1), dtype), B: T.Tensor((count, 1), dtype)):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=blocks, block=threads))
        i = T.cuda.block_idx("x") * threads + T.cuda.thread_idx("x")
        registers = T.alloc_local((1,), dtype, layout="default")
        T.cuda.tile.apply(T.ptx[load], registers, A.sub[i, :])
        T.cuda.tile.apply(T.ptx[store], B.sub[i, :], registers)

    return element_copy


def widened(T, count, threads, dtype, bits):
    """Copy ``count`` elements of ``bits`` bits (8 or 16), 16 bytes a thread, through a 32-bit view of the arrays."""
    lanes = 128 // bits
    rows = count // lanes
    blocks = rows // threads

    @T.function
    def widened_copy(
        A: T.Tensor((rows, lanes), dtype, align=16),
        B: T.Tensor((rows, lanes), dtype, align=16),
    ):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=blocks, block=threads))
        row = T.cuda.block_idx("x") * threads + T.cuda.thread_idx("x")
        registers = T.alloc_local((4,), "uint32", layout="default")
        words_in = A.view("uint32")
        words_out = B.view("uint32")
        T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], registers, words_in.sub[row, :])
        T.cuda.tile.apply(T.ptx["st.global.v4.b32"], words_out.sub[row, :], registers)

    return widened_copy


def rows_of(T, rows, width, pitch, threads):
    """Copy the first ``width`` elements of each of ``rows`` rows ``pitch`` elements apart (f32) to a dense array."""
    vectors = width // 4
    blocks = rows * vectors // threads

    @T.function
    def row_copy(
        A: T.Tensor((rows, pitch // 4, 4), "float32", align=16),
        B: T.Tensor((rows, vectors, 4), "float32", align=16),
    ):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=blocks, block=threads))
        i = T.cuda.block_idx("x") * threads + T.cuda.thread_idx("x")
        registers = T.alloc_local((4,), "float32", layout="default")
        T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], registers, A.sub[i // vectors, i % vectors, :])
        T.cuda.tile.apply(T.ptx["st.global.v4.b32"], B.sub[i // vectors, i % vectors, :], registers)

    return row_copy


def exchange(T, blocks, threads=64):
    """Every thread writes its row to shared memory and reads the next thread's row of its block."""
    rows = blocks * threads

    @T.function
    def exchange_rows(
        A: T.Tensor((rows, 4), "float32", align=16),
        B: T.Tensor((rows, 4), "float32", align=16),
    ):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=blocks, block=threads))
        tid = T.cuda.thread_idx("x")
        row = T.cuda.block_idx("x") * threads + tid
        registers = T.alloc_local((4,), "float32", layout="default")
        shared = T.alloc_shared((threads, 4), "float32", align=16)
        T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], registers, A.sub[row, :])
        T.cuda.tile.apply(T.ptx["st.shared.v4.b32"], shared.sub[tid, :], registers)
        T.cuda.cta_sync()
        T.cuda.tile.apply(T.ptx["ld.shared.v4.b32"], registers, shared.sub[(tid + 1) % threads, :])
        T.cuda.tile.apply(T.ptx["st.global.v4.b32"], B.sub[row, :], registers)

    return exchange_rows


def transpose(T, n, m, load="ld.global.v4.b32"):
    """Transpose f32 ``(n, m)`` in 64x64 tiles, 256 threads a block, every global access 16 bytes wide.

    Arrays are seen as rows of vectors: ``(n, m // 4, 4)`` to ``(m, n // 4, 4)``. A warp (threads x and y) reads 4 rows
    of 8 vectors. Word w of vector c in row r of the tile goes to row ``4 * c + w`` of the shared tile, into its group
    ``(r // 4) ^ c`` at place ``r % 4``: the XOR spreads the 8 vectors over the banks, so that neither the word stores
    nor the vector loads of a warp meet in a bank.
    """
    assert (n % 64, m % 64) == (0, 0)

    @T.function
    def transpose_tiles(
        A: T.Tensor((n, m // 4, 4), "float32", align=16),
        B: T.Tensor((m, n // 4, 4), "float32", align=16),
    ):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=(m // 64, n // 64), block=(8, 4, 8)))
        x = T.cuda.thread_idx("x")
        y = T.cuda.thread_idx("y")
        half = T.cuda.thread_idx("z") % 2
        quarter = T.cuda.thread_idx("z") // 2
        bx = T.cuda.block_idx("x")
        by = T.cuda.block_idx("y")
        shared = T.alloc_shared((64, 16, 4), "float32", align=16)
        registers = T.alloc_local((4, 4), "float32", layout="default")
        words = registers.view(4, 4, 1)
        c = half * 8 + x
        for k in T.unroll(4):
            T.cuda.tile.apply(
                T.ptx[load],
                registers.sub[k, :],
                A.sub[by * 64 + k * 16 + quarter * 4 + y, bx * 16 + c, :],
            )
        for k in T.unroll(4):
            for w in T.unroll(4):
                T.cuda.tile.apply(
                    T.ptx["st.shared.b32"], shared.sub[c * 4 + w, (k * 4 + quarter) ^ c, y : y + 1], words.sub[k, w, :]
                )
        T.cuda.cta_sync()
        for k in T.unroll(4):
            T.cuda.tile.apply(
                T.ptx["ld.shared.v4.b32"],
                registers.sub[k, :],
                shared.sub[k * 16 + quarter * 4 + y, c ^ (k * 4 + quarter), :],
            )
        for k in T.unroll(4):
            T.cuda.tile.apply(
                T.ptx["st.global.v4.b32"],
                B.sub[bx * 64 + k * 16 + quarter * 4 + y, by * 16 + c, :],
                registers.sub[k, :],
            )

    return transpose_tiles


def scaled(T, rows, lanes, dtype, factor=None, threads=256):
    """Element by element: each thread reads a row of ``lanes`` neighbours, and writes it, or ``factor`` times it."""
    blocks = rows // threads
    assert blocks * threads == rows

    if factor is None:
        @T.function
        def copy_elements(A: T.Tensor((rows, lanes), dtype, align=16), B: T.Tensor((rows, lanes), dtype, align=16)):
            T.device_entry(launch=T.cuda.LaunchConfig(grid=blocks, block=threads))
            row = T.cuda.block_idx("x") * threads + T.cuda.thread_idx("x")
            for k in T.unroll(lanes):
                B[row, k] = A[row, k]

        return copy_elements

    @T.function
    def scale_elements(A: T.Tensor((rows, lanes), dtype, align=16), B: T.Tensor((rows, lanes), dtype, align=16)):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=blocks, block=threads))
        row = T.cuda.block_idx("x") * threads + T.cuda.thread_idx("x")
        for k in T.unroll(lanes):
            B[row, k] = A[row, k] * factor

    return scale_elements


def strided(T, S, TileLayout, repeats7):
    """The document's strided load with ``7 * repeats7`` vector loads into gapped registers (15 in the document)."""
    n = repeats7
    global_layout = TileLayout(S[(n, 2, 7, 2) : (4, 1, 4 * n, 2)])
    register_layout = TileLayout(S[(n, 2, 7, 2) : (8, 2, 8 * n, 4)])

    @T.function
    def strided_load(
        A: T.Tensor((n, 2, 7, 2), "float32", layout=global_layout, align=16),
        Out: T.Tensor((28 * n,), "float32"),
    ):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=1))
        R = T.alloc_tensor(ty_args=[T.Tensor((n, 2, 7, 2), "float32", scope="local", layout=register_layout)])
        av = A.rearrange("i b j d -> j i (d b)")
        rv = R.rearrange("i b j d -> j i (d b)")
        T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], rv, av)
        for j, i, d, b in T.grid(7, n, 2, 2):
            Out[4 * n * j + 4 * i + 2 * d + b] = R[i, b, j, d]

    return strided_load
