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
        self.cells = rng.random() < 0.25

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
        if self.cells and r.random() < 0.4:
            return r.choice(["c[0]", "c[0]", "c[1]", f"c[0] + {base}"])
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
