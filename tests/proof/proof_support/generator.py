"""Random small kernels as source text, and their tracing. Many are wrong on purpose: off by one, badly aligned, racy,
reading registers too early."""

from __future__ import annotations

import linecache
import random
from dataclasses import dataclass
from itertools import count

from ptxspec.lang import ir

_numbers = count()

HEADER = """\
import ptxspec.lang.t as T
from ptxspec.layout import S, ComposeLayout, TileLayout, laneid, warpid


@T.function
def kernel({params}):
"""


@dataclass
class Made:
    """A kernel's source and the scalar values brute force has to try."""

    text: str
    values: dict[str, range]

    def trace(self) -> ir.Kernel:
        """The typed kernel; KernelError where the language refuses it."""
        return traced(self.text)


def traced(text: str) -> ir.Kernel:
    """Execute source text (kept in linecache, so that it can be read back) and trace its kernel."""
    name = f"<generated {next(_numbers)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    scope: dict[str, object] = {"__name__": name}
    exec(compile(text, name, "exec"), scope)
    try:
        return scope["kernel"].kernel()  # type: ignore[attr-defined]
    finally:
        while len(linecache.cache) > 4000:
            linecache.cache.pop(next(iter(linecache.cache)))


class Maker:
    """Builds one kernel."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.lines: list[str] = []
        self.depth = 1
        self.loops: list[tuple[str, int]] = []
        self.names = count()
        cooperative = rng.random() < 0.15
        self.block = rng.choice([32, 64]) if cooperative else rng.choice([1, 2, 4, 8, 8, 16, 32])
        self.grid = rng.choice([1, 1, 1, 2, 3])
        self.cooperative = cooperative
        self.scalar = rng.random() < 0.4
        self.total = self.block * self.grid

    def emit(self, text: str) -> None:
        """One line at the current depth."""
        self.lines.append("    " * self.depth + text)

    def thread(self) -> str:
        """Something that tells threads apart."""
        choices = ["tid", "tid", "tid", "gid" if self.grid > 1 else "tid", "gid" if self.grid > 1 else "tid"]
        return self.rng.choice(choices)

    def index(self, extent: int) -> str:
        """An index that is mostly, but not always, inside ``extent``."""
        r = self.rng
        base = self.thread()
        size = self.total if base == "gid" else self.block
        loop = r.choice(self.loops) if self.loops and r.random() < 0.5 else None
        kinds = [
            "plain",
            "plain",
            "shift",
            "mod",
            "rotate",
            "const",
            "half",
            "reverse",
            "xor",
            "and",
            "min",
            "select",
            "scale",
            "shr",
        ]
        if self.scalar:
            kinds += ["n", "n"]
        if loop is not None:
            kinds = ["loop", "loop", "loop+", "loopmod", "mixed", *kinds[:4]]
        kind = r.choice(kinds)
        near = max(1, extent)
        if kind == "plain":
            return base
        if kind == "shift":
            return f"{base} + {r.choice([1, 1, 2, max(0, near - size), near])}"
        if kind == "mod":
            return f"{base} % {r.choice([near, near, max(1, near // 2), near + 1])}"
        if kind == "rotate":
            return f"({base} + {r.choice([1, 2, 3])}) % {r.choice([near, size, size])}"
        if kind == "const":
            return str(r.choice([0, max(0, near - 1), near // 2]))
        if kind == "half":
            return f"{base} // {r.choice([2, 2, 4, 3])}"
        if kind == "reverse":
            return f"{r.choice([size - 1, size - 1, size, near - 1])} - {base}"
        if kind == "xor":
            return f"{base} ^ {r.choice([1, 1, 2, 3, 5])}"
        if kind == "and":
            return f"{base} & {r.choice([1, 3, 7, 6])}"
        if kind == "shr":
            return f"{base} >> {r.choice([1, 2])}"
        if kind == "min":
            return f"T.min({base}, {r.choice([near - 1, near - 1, near, 3])})"
        if kind == "select":
            return f"T.Select({base} < {r.choice([1, size // 2 + 1, near])}, {base}, {r.choice([0, near - 1, near])})"
        if kind == "scale":
            return f"{base} * {r.choice([1, 2, 2, 3])}"
        if kind == "n":
            return r.choice([f"{base} + n", "n", f"{base} * n", f"({base} + n) % {near}"])
        assert loop is not None
        name, extent_of_loop = loop
        if kind == "loop":
            return name
        if kind == "loop+":
            return f"{name} + {r.choice([1, max(0, near - extent_of_loop), 2])}"
        if kind == "loopmod":
            return f"({base} + {name}) % {r.choice([near, near, near + 1, size])}"
        return f"{name} * {size} + {base}"

    def guard(self) -> str:
        """A condition on the thread, a loop or the scalar."""
        r = self.rng
        base = self.thread()
        size = self.total if base == "gid" else self.block
        options = [
            f"{base} < {r.choice([1, size // 2 + 1, size, max(1, size - 1)])}",
            f"{base} % 2 == {r.choice([0, 1])}",
            f"{base} > 0",
            f"{base} + 1 < {size}",
            f"{base} != {r.choice([0, size - 1])}",
        ]
        if self.scalar:
            options += ["n > 1", "n < 3", f"{base} < n", "n % 2 == 0"]
        if self.loops:
            options += [f"{self.loops[-1][0]} > 0", f"{self.loops[-1][0]} % 2 == 0"]
        if r.random() < 0.15:
            return f"{r.choice(options)} {r.choice(['and', 'or'])} {r.choice(options)}"
        return r.choice(options)


@dataclass
class Array:
    """An array of the kernel: rows x cols of float32."""

    name: str
    rows: int
    cols: int
    scope: str


class Program(Maker):
    """The statements of one kernel."""

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
            if isinstance(self, Careful) or r.random() < 0.5:
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


class Cooperative(Maker):
    """Kernels of warp and cta scope with distributed register tensors."""

    def build(self) -> Made:
        """The whole source."""
        r = self.rng
        self.block = r.choice([32, 64])
        warps = self.block // 32
        scope = r.choice(["warp", "cta"])
        words = r.choice([1, 2, 4])
        repeats = r.choice([1, 2])
        group = (warps, 32) if scope == "cta" else (32,)
        shape = (*group, repeats, words)
        text = ", ".join(map(str, shape))
        sizes = ", ".join(
            f"{a}"
            for a in (["1 @ warpid"] if scope == "cta" else []) + ["1 @ laneid", str(r.choice([words, words, 1])), "1"]
        )
        if r.random() < 0.1:
            sizes = sizes.replace("1 @ laneid", r.choice(["1 @ warpid", "2 @ laneid"]), 1)
        total = 1
        for extent in shape:
            total *= extent
        rows = total + r.choice([0, 0, 0, 4])
        strides = []
        step = 1
        for extent in reversed(shape):
            strides.append(step)
            step *= extent
        strides.reverse()
        if r.random() < 0.3:
            strides[0] = r.choice([strides[0], strides[0] + 1, strides[0] + 4])
        span = sum((e - 1) * s for e, s in zip(shape, strides)) + 1
        layout = f"TileLayout(S[({text}) : ({', '.join(map(str, strides))})])"
        align = r.choice([16, 16, 8, 4])
        params = [
            f'A: T.Tensor(({text}), "float32", align={align}, layout={layout})',
            f'B: T.Tensor(({text}), "float32", align={align})',
        ]
        self.emit(f"T.device_entry(launch=T.cuda.LaunchConfig(grid={r.choice([1, 1, 2])}, block={self.block}))")
        self.emit('tid = T.cuda.thread_idx("x")')
        self.emit(f'q = T.alloc_local(({text}), "float32", layout=TileLayout(S[({text}) : ({sizes})]))')
        vec = "" if words == 1 else f".v{words}"
        if r.random() < 0.9:
            self.emit(f'T.cuda.tile.apply(T.ptx["ld.global{vec}.b32"], q, A, scope="{scope}")')
        if r.random() < 0.3:
            self.emit("if tid < 32:" if r.random() < 0.5 else "if tid < 16:")
            self.depth += 1
        self.emit(
            f'T.cuda.tile.apply(T.ptx["st.global{vec}.b32"], B, q, scope="{scope}"'
            f"{', pred=tid % 2 == 0' if r.random() < 0.1 else ''})"
        )
        del rows, span
        return Made(HEADER.format(params=", ".join(params)) + "\n".join(self.lines) + "\n", {})


class Careful(Program):
    """Kernels that are mostly right: rows by thread, whole vectors, registers initialised, barriers for all."""

    def __init__(self, rng: random.Random) -> None:
        super().__init__(rng)
        r = rng
        self.arrays = []
        self.params = []
        for name in ("A", "B"):
            rows = r.choice([self.total, self.total, 2 * self.total, self.total + 4])
            cols = r.choice([4, 4, 8])
            pitch = cols + r.choice([0, 4, 8])
            layout = r.choice(["", "", f", layout=TileLayout(S[({rows}, {cols}) : ({pitch}, 1)])"])
            self.arrays.append(Array(name, rows, cols, "global"))
            self.params.append(f'{name}: T.Tensor(({rows}, {cols}), "float32", align=16{layout})')
        if self.scalar:
            self.params.append("n: T.int32")

    def index(self, extent: int) -> str:
        """An index that nearly always is inside and tells threads apart."""
        r = self.rng
        if r.random() < 0.04:
            return super().index(extent)
        shared = extent <= 2 * self.block and extent < self.total
        base, size = ("tid", self.block) if shared or self.grid == 1 else ("gid", self.total)
        kinds = ["plain", "plain", "reverse", "rotate"]
        if size & (size - 1) == 0 and size > 1:
            kinds += ["xor", "and"]
        if extent >= size + 4:
            kinds.append("shift")
        if extent >= 2 * size:
            kinds += ["double", "loop"]
        kind = r.choice(kinds)
        if kind == "reverse":
            return f"{size - 1} - {base}"
        if kind == "rotate":
            return f"({base} + {r.choice([1, 2, 3, size - 1])}) % {size}"
        if kind == "xor":
            return f"{base} ^ {r.choice([1, size - 1, size // 2])}"
        if kind == "and":
            return f"({base} + {r.choice([1, 5])}) & {size - 1}"
        if kind == "shift":
            return f"{base} + {r.choice([1, 2, 4])}"
        if kind == "double":
            return f"{base} * 2 + {r.choice([0, 1])}"
        if kind == "loop" and self.loops and self.loops[-1][1] <= 2:
            return f"{self.loops[-1][0]} * {size} + {base}"
        return base

    def initialise(self, k: int, words: int, repeats: int) -> None:
        """Always called: registers start with values."""
        super().initialise(k, words, repeats)

    def build(self) -> Made:
        """As a program, with registers initialised and a barrier after each shared access."""
        made = super().build()
        return made

    def statement(self, nesting: int) -> None:
        """Mostly transfers; barriers only where all threads come by."""
        r = self.rng
        kind = r.random()
        if kind < 0.15 and nesting > 0:
            name = f"i{next(self.names)}"
            extent = r.choice([1, 2, 2, 3])
            text = "n" if self.scalar and r.random() < 0.3 else str(extent)
            self.emit(f"for {name} in T.serial({text}):")
            self.nested([(name, 9 if text == "n" else extent)], nesting)
        elif kind < 0.25 and nesting > 0:
            self.emit(f"if {self.guard()}:")
            self.divergent = True
            self.nested([], nesting)
            self.divergent = False
        elif kind < 0.35:
            self.emit("T.cuda.cta_sync()" if not self.divergent else "pass")
        elif kind < 0.5:
            self.careful_element()
        elif kind < 0.6:
            self.move()
        else:
            self.careful_transfer()

    divergent = False
    owner: dict[str, str]

    def row(self, array: Array) -> str:
        """One way of indexing each array for the whole kernel most of the time: reads and writes then agree."""
        rows: dict[str, str] = self.__dict__.setdefault("owner", {})
        if array.name not in rows or self.rng.random() < 0.12:
            text = self.index(array.rows)
            if "i" in text.replace("tid", "").replace("gid", ""):
                return text
            rows.setdefault(array.name, text)
            return text
        return rows[array.name]

    def careful_element(self) -> None:
        """A scalar access inside."""
        r = self.rng
        array = r.choice(self.arrays)
        at = f"{array.name}[{self.row(array)}, {r.randrange(array.cols)}]"
        register, words = r.choice(self.registers)
        slot = (
            f"{register}[{r.randrange(words)}]"
            if words > 0
            else f"{register}[{r.choice([0, 1])}, {r.randrange(-words)}]"
        )
        self.emit(r.choice([f"{at} = 1.0", f"{at} = {slot}", f"{slot} = {at}"]))
        if array.scope == "shared" and not self.divergent:
            self.emit("T.cuda.cta_sync()")

    def careful_transfer(self) -> None:
        """A vector access inside."""
        r = self.rng
        register, words = r.choice(self.registers)
        array = r.choice(self.arrays)
        width = abs(words)
        load = r.random() < 0.55
        vec = "" if width == 1 else f".v{width}"
        row = self.row(array)
        if words < 0:
            if array.cols < 2 * width:
                return
            memory = f"{array.name}.sub[{row}, {array.cols - 2 * width}:{array.cols}].view(2, {width})"
        elif width > array.cols:
            return
        else:
            start = r.randrange(0, array.cols - width + 1, width)
            memory = f"{array.name}.sub[{row}, {start}:{start + width}]"
        operands = f"{register}, {memory}" if load else f"{memory}, {register}"
        opcode = f"{'ld' if load else 'st'}.{array.scope}{vec}.b32"
        self.emit(f'T.cuda.tile.apply(T.ptx["{opcode}"], {operands}{self.predicate(load)})')
        if array.scope == "shared" and not self.divergent:
            self.emit("T.cuda.cta_sync()")


def make(seed: int) -> Made:
    """The kernel with this number; odd ones are mostly right, even ones mostly wrong."""
    rng = random.Random(seed)
    if rng.random() < 0.12:
        return Cooperative(rng).build()
    return Careful(rng).build() if seed % 2 else Program(rng).build()
