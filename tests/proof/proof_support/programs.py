"""Random programs of thread scope: many are wrong on purpose."""

from __future__ import annotations

import random
from dataclasses import dataclass

from proof_support.maker import HEADER, Made, Maker


@dataclass
class Array:
    """An array of the kernel: rows x cols of float32."""

    name: str
    rows: int
    cols: int
    scope: str


class Program(Maker):
    """The statements of one kernel."""

    initialised = False

    def __init__(self, rng: random.Random) -> None:
        super().__init__(rng)
        r = rng
        self.arrays: list[Array] = []
        self.registers: list[tuple[str, int]] = []
        self.params: list[str] = []
        for name in ("A", "B"):
            rows = r.choice(
                [self.total, self.total, self.total + 1, self.block, max(1, self.total // 2), 2 * self.total]
            )
            cols = r.choice([1, 2, 4, 4, 4, 8, 6])
            layout = r.choice(
                [
                    "",
                    "",
                    "",
                    f", layout=TileLayout(S[({rows}, {cols}) : ({cols + r.choice([0, 1, 2, 4])}, 1)])",
                    f", layout=TileLayout(S[({rows}, {cols}) : (1, {rows})])",
                ]
            )
            align = r.choice(["", ", align=16", ", align=16", ", align=8", ", align=4"])
            self.arrays.append(Array(name, rows, cols, "global"))
            self.params.append(f'{name}: T.Tensor(({rows}, {cols}), "float32"{align}{layout})')
        if self.scalar:
            self.params.append("n: T.int32")

    def build(self) -> Made:
        """The whole source."""
        r = self.rng
        self.emit(f"T.device_entry(launch=T.cuda.LaunchConfig(grid={self.grid}, block={self.block}))")
        self.emit('tid = T.cuda.thread_idx("x")')
        if self.grid > 1:
            self.emit(f'gid = T.cuda.block_idx("x") * {self.block} + tid')
        values: dict[str, range] = {}
        if self.scalar:
            low, high = r.choice([(0, 3), (1, 4), (0, 5)])
            self.emit(f"T.assume(n >= {low})")
            self.emit(f"T.assume(n <= {high})")
            values["n"] = range(low, high + 1)
        if self.cells:
            self.cells = False
            self.emit('c = T.alloc_local((2,), "int32")')
            self.emit(f"c[0] = {self.index(self.block)}")
            self.emit(f"c[1] = {self.index(self.block)}")
            self.cells = True
        for k in range(r.choice([1, 1, 2])):
            words = r.choice([1, 2, 4, 4, 4])
            repeats = r.choice([1, 1, 2])
            if words * repeats == words:
                layout = r.choice(["", "", f", layout=TileLayout(S[({words},) : ({r.choice([1, 2])},)])"])
                shape = f"({words},)"
            else:
                layout = r.choice(
                    [
                        "",
                        "",
                        f", layout=TileLayout(S[({repeats}, {words}) : ({r.choice([words, words - 1, 1])}"
                        f", {r.choice([1, 1, repeats])})])",
                    ]
                )
                shape = f"({repeats}, {words})"
            self.emit(f'r{k} = T.alloc_local({shape}, "float32"{layout})')
            self.registers.append((f"r{k}", words * repeats if repeats == 1 else -words))
            if self.initialised or r.random() < 0.5:
                self.initialise(k, words, repeats)
        if r.random() < 0.55:
            rows = r.choice([self.block, self.block, self.block + 1, 2 * self.block])
            cols = r.choice([1, 4, 4, 2])
            layout = ""
            if cols == 4 and rows & (rows - 1) == 0 and rows >= 4 and r.random() < 0.3:
                tile = f"TileLayout(S[({rows}, {cols}) : ({cols}, 1)])"
                layout = f", layout=ComposeLayout({r.choice([0, 2, 2])}, 1, 1, {tile})"
            self.emit(f'sh = T.alloc_shared(({rows}, {cols}), "float32"{r.choice(["", ", align=16"])}{layout})')
            self.arrays.append(Array("sh", rows, cols, "shared"))
        for _ in range(r.choice([1, 2, 2, 3, 4, 5])):
            self.statement(2)
        text = HEADER.format(params=", ".join(self.params)) + "\n".join(self.lines) + "\n"
        return Made(text, values)

    def initialise(self, k: int, words: int, repeats: int) -> None:
        """Give a register tensor its first values."""
        view = f"r{k}.view({words * repeats}, 1)"
        self.emit(f'T.cuda.tile.apply(T.ptx["mov.b32"], {view}, T.float32(0))')

    def statement(self, nesting: int) -> None:
        """One random statement."""
        r = self.rng
        kind = r.random()
        if kind < 0.14 and nesting > 0:
            name = f"i{next(self.names)}"
            extent = r.choice([1, 2, 3, 4])
            text = (
                f"T.serial({extent})"
                if r.random() < 0.7
                else f"T.serial({r.choice(['tid', '1', '0'])}, {self.block}, "
                f"{r.choice([2, self.block // 2 + 1, self.block])})"
            )
            if self.scalar and r.random() < 0.25:
                text = "T.serial(n)"
            self.emit(f"for {name} in {text}:")
            self.nested([(name, extent)], nesting)
            return
        if kind < 0.28 and nesting > 0:
            self.emit(f"if {self.guard()}:")
            self.nested([], nesting)
            if r.random() < 0.3:
                self.emit("else:")
                self.nested([], nesting)
            return
        if kind < 0.42:
            if self.cells and r.random() < 0.5:
                self.emit(f"c[{r.choice([0, 0, 1])}] = {self.index(self.block)}")
            else:
                self.emit("T.cuda.cta_sync()")
            return
        if kind < 0.60:
            self.element()
            return
        if kind < 0.66:
            self.move()
            return
        self.transfer()

    def nested(self, loops: list[tuple[str, int]], nesting: int) -> None:
        """A block inside."""
        self.depth += 1
        self.loops += loops
        before = len(self.lines)
        for _ in range(self.rng.choice([1, 1, 2, 3])):
            self.statement(nesting - 1)
        if len(self.lines) == before:
            self.emit("pass")
        del self.loops[len(self.loops) - len(loops) :]
        self.depth -= 1

    def element(self) -> None:
        """A scalar access."""
        r = self.rng
        array = r.choice(self.arrays)
        at = f"{array.name}[{self.index(array.rows)}, {self.column(array)}]"
        register, words = r.choice(self.registers)
        slot = (
            f"{register}[{r.randrange(abs(words))}]"
            if words > 0
            else f"{register}[{r.choice([0, 1])}, {r.randrange(-words)}]"
        )
        self.emit(r.choice([f"{at} = 1.0", f"{at} = {slot}", f"{slot} = {at}"]))

    def column(self, array: Array) -> str:
        """A column index."""
        r = self.rng
        if r.random() < 0.2:
            return self.index(array.cols)
        return str(r.choice([0, array.cols - 1]))

    def move(self) -> None:
        """A register copy."""
        r = self.rng
        name, words = r.choice(self.registers)
        size = words if words > 0 else -2 * words
        other = [n for n, w in self.registers if (w if w > 0 else -2 * w) == size and n != name]
        source = f"{r.choice(other)}.view({size}, 1)" if other and r.random() < 0.6 else "T.float32(2)"
        self.emit(f'T.cuda.tile.apply(T.ptx["mov.b32"], {name}.view({size}, 1), {source}{self.predicate(False)})')

    def predicate(self, load: bool) -> str:
        """Optional keyword arguments."""
        r = self.rng
        if r.random() > 0.2:
            return ""
        return f", pred={self.simple()}" + (", preserve_dst=True" if load and r.random() < 0.4 else "")

    def simple(self) -> str:
        """A condition without and/or."""
        while True:
            text = self.guard()
            if " and " not in text and " or " not in text:
                return text

    def transfer(self) -> None:
        """A vector load or store."""
        r = self.rng
        array = r.choice(self.arrays)
        register, words = r.choice(self.registers)
        many = words < 0
        width = abs(words)
        load = r.random() < 0.5
        space = array.scope if r.random() < 0.97 else r.choice(["global", "shared"])
        vec = "" if width == 1 else f".v{width}"
        if many:
            row = self.index(array.rows)
            if array.cols >= 2 * width and r.random() < 0.5:
                start = r.choice([0, 0, array.cols - 2 * width, 1])
                memory = f"{array.name}.sub[{row}, {start}:{start + 2 * width}].view(2, {width})"
            else:
                start = r.choice([0, 0, max(0, array.cols - width)])
                low = r.choice([0, 0, max(0, array.rows - 2)])
                memory = f"{array.name}.sub[{low}:{low + 2}, {start}:{start + width}]"
        else:
            start = r.choice([0, 0, 0, max(0, array.cols - width), 1])
            memory = f"{array.name}.sub[{self.index(array.rows)}, {start}:{start + width}]"
            if r.random() < 0.15 and array.rows * array.cols % width == 0:
                memory = (
                    f"{array.name}.view({array.rows * array.cols // width}, {width}).sub["
                    f"{self.index(array.rows * array.cols // width)}, :]"
                )
        operands = f"{register}, {memory}" if load else f"{memory}, {register}"
        self.emit(
            f'T.cuda.tile.apply(T.ptx["{"ld" if load else "st"}.{space}{vec}.b32"], {operands}{self.predicate(load)})'
        )
