"""Further random kernels: what the tests' generator leaves out.

``scopes``: distributed registers at every cooperative scope, in blocks of one to three dimensions, in clusters.
``copies``: replicated registers and arrays. ``tiles``: two-dimensional blocks with shared tiles, swizzles, negative
strides, permuted, strided and reinterpreted views, barriers of block and warp. ``exchanges``: blocks of a cluster that
pass values through global memory. ``late``: writes and reads in some iterations of their loops only. ``dealt``: tiles
dealt out by a number that only a launch knows.
"""

from __future__ import annotations

import random

from soundness_campaign.dealt import Dealt
from soundness_campaign.family import Family, Made
from soundness_campaign.late import Late

#: One seed in so many is a kernel whose blocks exchange values.
EXCHANGE = 40
#: And one in so many has writes and reads in some iterations only.
LATE = 20
#: And one in so many deals out tiles.
DEALT = 20


def make(seed: int) -> tuple[str, Made]:
    """(family, kernel) of a seed."""
    rng = random.Random(seed)
    if seed % EXCHANGE == EXCHANGE // 2:
        return "exchanges", Exchanges(rng).build()
    if seed % LATE == 12:
        return "late", Late(rng).build()
    if seed % DEALT == 16:
        return "dealt", Dealt(rng).build()
    chosen = rng.choice((Scopes, Scopes, Copies, Tiles, Tiles, Tiles))
    return chosen.__name__.lower(), chosen(rng).build()


def alone(family: str, seed: int) -> Made:
    """The kernel of a seed where all of them are of one family."""
    return ALL[family](random.Random(seed)).build()


def _rarely(rng: random.Random, usual: str, *others: str) -> str:
    """The usual text nine times out of ten."""
    return usual if rng.random() < 0.9 else rng.choice(others)


class Exchanges(Family):
    """Blocks of a cluster that pass values through global memory, with and without the barriers that this needs."""

    def build(self) -> Made:
        """The kernel."""
        r = self.rng
        size = r.choice((2, 2, 3))
        clusters = r.choice((1, 2, 2))
        flat = r.random() < 0.7
        threads = r.choice((4, 8, 32, 64))
        grid = size * clusters
        runtime = r.random() < 0.4
        stages = r.choice((1, 1, 2, 2, 3))
        trips = r.choice((1, 2, 3, 4))
        shape = f"({stages}, {grid}, {threads})"
        self.params = [f'A: T.Tensor(({grid}, {threads}), "float32")', f'B: T.Tensor({shape}, "float32")',
                       f'C: T.Tensor(({grid}, {threads}), "float32")']
        if runtime:
            self.params.append("n: T.int32")
        sizes = f"grid={grid}, block={threads}, cluster={size}" if flat else \
            f"grid=({clusters}, {size}), block={threads}, cluster=(1, {size})"
        self.emit(f"T.device_entry(launch=T.cuda.LaunchConfig({sizes}))")
        self.emit('tid = T.cuda.thread_idx("x")')
        axis = "x" if flat else "y"
        self.emit(f'c = T.cuda.cluster_cta_id("{axis}")')
        block = "" if flat else f' * {size} + T.cuda.block_idx("y")'
        self.emit(f'b = T.cuda.block_idx("x"){block}')
        if runtime:
            self.emit("T.assume(n >= 0)")
            self.emit("T.assume(n <= 4)")
            self.values["n"] = range(5)
        depth = 1
        stage = "0"
        if r.random() < 0.6:
            self.emit(f"for i in T.serial({'n' if runtime and r.random() < 0.7 else trips}):")
            depth, stage = 2, f"i % {stages}"
        right = (f"b - c + (c + 1) % {size}", f"b - c + {size - 1} - c", "b")
        wrong = (f"(b + 1) % {grid}", f"{grid - 1} - b", "0")
        other = r.choice(right) if r.random() < 0.85 else r.choice(wrong)
        who = _rarely(r, "b", f"(b + 1) % {grid}", "b - c")
        self.emit(f"B[{stage}, {who}, tid] = A[b, tid]", depth)
        self.barrier(depth, size, 0.8)
        seen = r.choice((stage, stage, "0", f"(i + 1) % {stages}" if depth == 2 else "0"))
        guard = r.choice(("tid > 0", "c == 0", "b > 0", "c < 1"))
        extra = 0
        if r.random() < 0.2:
            self.emit(f"if {guard}:", depth)
            extra = 1
        self.emit(f"C[b, tid] = B[{seen}, {other}, {r.choice(('tid', f'{threads - 1} - tid'))}]", depth + extra)
        if depth == 2:
            self.barrier(depth, size, 0.5 if stages > 1 else 0.8)
        if r.random() < 0.3:
            self.barrier(1, size, 0.6)
            self.emit(f"C[b, tid] = B[0, {r.choice(right)}, tid]")
        return self.done()

    def barrier(self, depth: int, size: int, chance: float) -> None:
        """A barrier of the cluster, a weaker one, none, or one that not all threads meet."""
        r = self.rng
        if r.random() < chance:
            if r.random() < 0.1:
                self.emit(f"if {r.choice(('c == 0', 'tid < 3', f'b < {size}'))}:", depth)
                depth += 1
            self.emit("T.cuda.cluster_sync()", depth)
        elif r.random() < 0.5:
            self.emit(f"T.cuda.{r.choice(('cta', 'warp'))}_sync()", depth)


class Scopes(Family):
    """Loads into registers that are laid out over the hardware, and stores from them."""

    def build(self) -> Made:
        """The kernel."""
        r = self.rng
        scope = r.choice(("warp", "warpgroup", "cta", "cluster", "cluster"))
        threads = r.choice((128, 256)) if scope == "warpgroup" else r.choice((32, 64, 64, 96))
        cluster = r.choice((2, 2, 3)) if scope == "cluster" else 1
        grid = cluster * r.choice((1, 1, 1, 2)) if scope == "cluster" else r.choice((1, 1, 2))
        group, axes = {
            "warp": ([32], ["laneid"]), "warpgroup": ([4, 32], ["wid_in_wg", "laneid"]),
            "cta": ([threads // 32, 32], ["warpid", "laneid"]),
            "cluster": ([cluster, threads // 32, 32], ["cbx", "warpid", "laneid"]),
        }[scope]
        words, repeats = r.choice((1, 2, 4)), r.choice((1, 2, 3))
        shape = [*group, repeats, words]
        text = ", ".join(map(str, shape))
        owned = [f"1 @ {axis}" for axis in axes]
        if r.random() < 0.12:
            k = r.randrange(len(owned))
            owned[k] = r.choice(("2 @ laneid", "1 @ warpid", "1 @ laneid", "1"))
        inner = r.choice(((words, 1), (words, 1), (1, repeats), (words + 1, 1), (-words, 1), (1, 1)))
        registers = f"TileLayout(S[({text}) : ({', '.join([*owned, *map(str, inner)])})])"
        # One tile a group, and as many groups as the launch has: the rest is what makes them different.
        groups, which = {
            "warp": (threads // 32 * grid, f'T.cuda.block_idx("x") * {threads // 32} + T.cuda.warp_id()'),
            "warpgroup": (threads // 128 * grid, f'T.cuda.block_idx("x") * {threads // 128} + T.cuda.warpgroup_id()'),
            "cta": (grid, 'T.cuda.block_idx("x")'),
            "cluster": (grid // cluster, f'T.cuda.block_idx("x") // {cluster}'),
        }[scope]
        which = _rarely(r, which, "0", f"{which} + 1", f"({which} + 1) % {groups}")
        for name in ("A", "B"):
            align = _rarely(r, "align=16", "align=4", "align=8")
            layout = self.memory([groups, *shape])
            self.params.append(f'{name}: T.Tensor(({groups}, {text}), "float32", {align}{layout})')
        block = {32: ("32", "(8, 4)"), 64: ("64", "(16, 4)", "(4, 4, 4)"), 96: ("96", "(32, 3)")}.get(
            threads, (str(threads), f"(32, {threads // 32})", f"(16, {threads // 32}, 2)"))
        self.launch(grid, r.choice(block), cluster)
        self.emit(f'q = T.alloc_local(({text}), "float32", layout={registers})')
        vec = "" if words == 1 else f".v{words}"
        if r.random() < 0.93:
            self.emit(f'T.cuda.tile.apply(T.ptx["ld.global{vec}.b32"], q, A.sub[{which}], scope="{scope}")')
        if r.random() < 0.3:
            if r.random() < 0.2:
                some = r.choice(("T.cuda.warp_id() == 0", "T.cuda.lane_id() < 16", 'T.cuda.block_idx("x") == 0'))
                self.emit(f"if {some}:")
                self.emit(f"T.cuda.{'cluster' if scope == 'cluster' else r.choice(('cta', 'warp'))}_sync()", 2)
            else:
                self.emit(f"T.cuda.{'cluster' if scope == 'cluster' else 'cta'}_sync()")
        depth = 1
        if r.random() < 0.2:
            other = 'T.cuda.warp_id() == 0' if scope == "warp" else 'T.cuda.block_idx("x") == 0'
            self.emit(f"if {other}:")
            depth = 2
        pred = f", pred={r.choice(('T.cuda.lane_id() % 2 == 0', 'T.cuda.lane_id() < 31'))}" if r.random() < 0.2 else ""
        self.emit(f'T.cuda.tile.apply(T.ptx["st.global{vec}.b32"], B.sub[{which}], q, scope="{scope}"{pred})', depth)
        return self.done()

    def memory(self, shape: list[int]) -> str:
        """A layout of an array: dense, with a gap, with two axes in the other order, or swizzled."""
        r = self.rng
        kind = r.choice(("dense", "dense", "gap", "turned", "negative", "overlap", "swizzled"))
        if kind == "dense":
            return ""
        strides, step = [0] * len(shape), 1
        order = list(range(len(shape) - 1))
        if kind == "turned" and len(order) > 1:
            k = r.randrange(len(order) - 1)
            order[k], order[k + 1] = order[k + 1], order[k]
        strides[-1], step = 1, shape[-1]
        for k in reversed(order):
            strides[k], step = step, step * shape[k] + (r.choice((0, 4, shape[-1])) if kind == "gap" else 0)
        if kind == "negative":
            k = r.choice(order)
            strides[k] = -strides[k]
        if kind == "overlap":
            k = r.choice(order)
            strides[k] = max(1, strides[k] // 2)
        names = ", ".join(map(str, shape))
        plain = f"TileLayout(S[({names}) : ({', '.join(map(str, strides))})])"
        if kind == "swizzled":
            return f", layout=ComposeLayout({r.choice((0, 1, 2))}, 2, 2, {plain})"
        return f", layout={plain}"


class Copies(Family):
    """Every element of a small register tensor lies in several lanes; arrays that repeat are read."""

    def build(self) -> Made:
        """The kernel."""
        r = self.rng
        threads = r.choice((32, 64))
        rows = r.choice((4, 8, 16))
        words = r.choice((1, 2, 4))
        copies = _rarely(r, str(32 // rows), str(max(1, 16 // rows)))
        lanes = f"S[({rows}, {words}) : (1 @ laneid, 1)] + R[{copies} : {rows} @ laneid]"
        if threads == 64:
            lanes = f"S[({rows}, {words}) : (1 @ laneid, 1)] + R[({copies}, 2) : ({rows} @ laneid, 1 @ warpid)]"
            lanes = _rarely(r, lanes, f"S[({rows}, {words}) : (1 @ laneid, 1)] + R[{copies} : {rows} @ laneid]")
        repeated = f", layout=TileLayout(S[({rows}, {words}) : ({words}, 1)] + R[2 : {rows * words}])"
        self.params = [f'A: T.Tensor(({rows}, {words}), "float32", align=16{r.choice(("", repeated))})',
                       f'B: T.Tensor(({threads}, {words}), "float32", {_rarely(r, "align=16", "align=4")})']
        self.launch(1, str(threads))
        self.emit('tid = T.cuda.thread_idx("x")')
        self.emit(f'q = T.alloc_local(({rows}, {words}), "float32", layout=TileLayout({lanes}))')
        vec = "" if words == 1 else f".v{words}"
        index = f"tid % {rows}"
        other = (f"tid // {32 // rows} % {rows}", f"(tid + 1) % {rows}")
        self.emit(f'T.cuda.tile.apply(T.ptx["ld.global{vec}.b32"], q.sub[{index}, :], A.sub[{index}, :])')
        guard = r.random() < 0.3
        if guard:
            self.emit(f"if tid < {r.choice((rows, threads - 1))}:")
        used = _rarely(r, index, *other)
        self.emit(f'T.cuda.tile.apply(T.ptx["st.global{vec}.b32"], B.sub[tid, :], q.sub[{used}, :])', 1 + guard)
        return self.done()


class Tiles(Family):
    """Blocks of two dimensions that pass a tile through shared memory."""

    def build(self) -> Made:
        """The kernel."""
        r = self.rng
        wide, high = r.choice(((4, 4), (8, 4), (8, 8), (16, 2), (16, 4)))
        grid = r.choice((1, 1, 2))
        words = r.choice((1, 1, 2, 4))
        cols = wide * words
        rows = high * grid
        scalar = r.random() < 0.4
        for name in ("A", "B"):
            layout = r.choice(("", "", f", layout=TileLayout(S[({rows}, {cols}) : ({cols + 4 * r.choice((1, 2))}, 1)])",
                               f", layout=TileLayout(S[({rows}, {cols}) : (-{cols}, 1)])"))
            align = _rarely(r, "align=16", "align=4")
            self.params.append(f'{name}: T.Tensor(({rows}, {cols}), "float32", {align}{layout})')
        if scalar:
            self.params.append("n: T.int32")
        self.launch(grid, f"({wide}, {high})")
        self.emit('x = T.cuda.thread_idx("x")')
        self.emit('y = T.cuda.thread_idx("y")')
        self.emit(f'row = T.cuda.block_idx("x") * {high} + y')
        if scalar:
            low, top = r.choice(((0, 3), (1, 4)))
            self.emit(f"T.assume(n >= {low})")
            self.emit(f"T.assume(n <= {top})")
            self.values["n"] = range(low, top + 1)
        pitch = r.choice((cols, cols, cols + 4, cols + 1 if words == 1 else cols + words))
        plain = f"TileLayout(S[({high}, {cols}) : ({_rarely(r, str(pitch), str(cols - words), str(-pitch))}, 1)])"
        bits = r.choice((1, 2))
        swizzle = r.choice(("", "", f"ComposeLayout({r.choice((0, 2))}, {bits}, {bits + r.choice((0, 1))}, {plain})"))
        self.emit(f'sh = T.alloc_shared(({high}, {cols}), "float32", align=16, layout={swizzle or plain})')
        double = words == 2 and r.random() < 0.3
        self.emit('q = T.alloc_local((1,), "float64")' if double else f'q = T.alloc_local(({words},), "float32")')
        depth = 1
        if r.random() < 0.35:
            self.emit(f"for i in T.serial({'n' if scalar and r.random() < 0.5 else r.choice((1, 2, 3))}):")
            depth = 2
        opcode = "b64" if double else ("" if words == 1 else f"v{words}.") + "b32"
        self.load("ld.global", opcode, "q", self.part("A", "row", rows, "x", wide, words, double), depth)
        self.load("st.shared", opcode, self.part("sh", "y", high, "x", wide, words, double), "q", depth)
        barrier = "T.cuda.cta_sync()"
        if wide * high == 32:
            barrier = r.choice((barrier, "T.cuda.warp_sync()"))
        self.emit(_rarely(r, barrier, "pass", "T.cuda.warp_sync()"), depth)
        at_y = r.choice(("y", f"{high - 1} - y", f"(y + 1) % {high}", f"y ^ {high - 1}"))
        at_x = r.choice(("x", f"{wide - 1} - x", f"(x + n) % {wide}" if scalar else f"(x + 1) % {wide}"))
        self.load("ld.shared", opcode, "q", self.part("sh", at_y, high, at_x, wide, words, double), depth)
        if depth == 2:
            self.emit(_rarely(r, barrier, "pass"), depth)
        extra = 0
        if r.random() < 0.3:
            guards = ["x < 3", "row > 0", f"row < {rows - 1}", f"x + y < {high}"] + (["n > 1"] if scalar else [])
            self.emit(f"if {r.choice(guards)}:", depth)
            extra = 1
        self.load("st.global", opcode, self.part("B", "row", rows, "x", wide, words, double), "q", depth + extra)
        if r.random() < 0.3:
            self.emit(f"B[row, {r.choice(('x', 'x', f'{words} * x', 'x + 1'))}] = A[row, 0]", depth)
        return self.done()

    def load(self, what: str, opcode: str, one: str, two: str, depth: int) -> None:
        """An instruction."""
        pred = ", pred=x % 2 == y % 2" if self.rng.random() < 0.05 else ""
        self.emit(f'T.cuda.tile.apply(T.ptx["{what}.{opcode}"], {one}, {two}{pred})', depth)

    def part(self, array: str, row: str, rows: int, x: str, wide: int, words: int, double: bool) -> str:
        """The words of one thread in a row: a slice, a view by vectors, a permuted view."""
        r = self.rng
        if r.random() < 0.03:
            row = f"{row} + 1"
        start = x if words == 1 else f"{words} * ({x})"
        if r.random() < 0.03:
            start = f"{start} + 1"
        plain = f"{array}.sub[{row}, {start}:{start} + {words}]"
        if double:
            return f'{plain}.view("float64")'
        kind = r.choice(("slice", "slice", "view", "permuted"))
        if kind == "view":
            return f"{array}.view({rows}, {wide}, {words}).sub[{row}, {x}, :]"
        if kind == "permuted":
            return f"{array}.view({rows}, {wide}, {words}).permute(1, 0, 2).sub[{x}, {row}, :]"
        return plain


#: Every family by name.
ALL: dict[str, type[Exchanges | Scopes | Copies | Tiles | Late | Dealt]] = {
    "exchanges": Exchanges, "scopes": Scopes, "copies": Copies, "tiles": Tiles, "late": Late, "dealt": Dealt,
}
