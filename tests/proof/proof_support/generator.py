"""Random small kernels by number: mostly right ones, mostly wrong ones, and cooperative ones."""

from __future__ import annotations

import random

from proof_support.maker import HEADER, Made, Maker, traced
from proof_support.programs import Array, Program

__all__ = ["Made", "make", "traced"]


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

    initialised = True

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
