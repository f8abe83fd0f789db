"""Random kernels that deal tiles out by a number that only a launch knows: ``t // n`` and ``t % n``.

A block takes one tile, or every so many; a thread one element of it. Or numbers are cut in three parts, an element for
each. Right ones are left so or broken: other divisors, tiles wider or narrower than their distance, too many tiles,
guards left out, tiles from the last one on.
"""

from __future__ import annotations

import random

from soundness_campaign.family import Family, Made


class Dealt(Family):
    """One kernel; ``make`` of :mod:`families` builds it."""

    def __init__(self, rng: random.Random) -> None:
        super().__init__(rng)
        r = rng
        self.fits = r.random() < 0.5    # nothing is broken
        self.height, self.width = r.choice((1, 1, 2)), r.choice((1, 2, 4))

    def rarely(self, usual: str, *others: str) -> str:
        """The usual text; in kernels that may be broken another one now and then."""
        r = self.rng
        return usual if self.fits or r.random() < 0.8 else r.choice(others)

    def build(self) -> Made:
        """The kernel."""
        return self.parts() if self.rng.random() < 0.3 else self.tiles()

    def parts(self) -> Made:
        """Numbers cut in three parts, by two divisors; an element for each number."""
        r = self.rng
        for name in "nmp":
            low = r.choice((0, 1, 1))
            self.values[name] = range(low, low + r.choice((1, 2)) + 1)
        n, m, p = (self.values[name].stop - 1 for name in "nmp")
        rows = max(int(self.rarely(str(m), str(m + 1), str(m - 1))), 1)
        self.params = [f'B: T.Tensor(({rows}, {n}, {p}), "float32")', "n: T.int32", "m: T.int32", "p: T.int32"]
        count = self.rarely("m * n * p", "n * m * p", "m * n * p + 1", "m * n", "(m + 1) * n * p")
        threads, blocks = r.choice((1, 2, 4)), r.choice((1, 2))
        self.emit(f"T.device_entry(launch=T.cuda.LaunchConfig(grid={blocks}, block={threads}))")
        self.assumed()
        step = self.rarely(str(threads * blocks), str(threads), "1")
        start = f'T.cuda.block_idx("x") * {threads} + T.cuda.thread_idx("x")'
        self.emit(f"for t in T.serial({start}, {count}, {step}):")
        whole = self.rarely("t // (n * p)", "t // (p * n)", "t // p // n", "t // n // p", "t // (n * m)", "t // n")
        middle = self.rarely("t // p % n", "t % (n * p) // p", "t // n % p", "t // p % m", "t // p % p")
        self.emit(f"i, j, k = {whole}, {middle}, {self.rarely('t % p', 't % n', 't % 2')}", 2)
        depth = 2
        if r.random() < 0.4:
            self.emit(f"if {self.rarely(f'i < {rows}', f'j < {n}', f'i < {rows} and j < {n} and k < {p}')}:", 2)
            depth = 3
        self.emit("B[i, j, k] = 1.0", depth)
        return self.done()

    def assumed(self) -> None:
        """Lines for the ranges of the parameters."""
        for name, values in self.values.items():
            self.emit(f"T.assume({name} >= {values.start})")
            self.emit(f"T.assume({name} <= {values.stop - 1})")

    def tiles(self) -> Made:
        """Tiles by quotient and remainder."""
        r, h, w = self.rng, self.height, self.width
        most: dict[str, int] = {}
        for name in ("n", "m"):
            low = r.choice((0, 1, 1, 2))
            most[name] = low + r.choice((1, 2, 3))
            self.values[name] = range(low, most[name] + 1)
        rows = int(self.rarely(str(most["m"] * h), str(most["m"] * h - 1), str(most["m"] * h + 1)))
        columns = int(self.rarely(str(most["n"] * w), str(most["n"] * w - 1), str(most["n"] * w + 2)))
        shape = f"({max(rows, 1)}, {max(columns, 1)})"
        self.params = [f'A: T.Tensor({shape}, "float32")', f'B: T.Tensor({shape}, "float32")', "n: T.int32",
                       "m: T.int32"]
        count = self.rarely("n * m", "n * m + 1", "n * (m + 1)", "n * m - 1", "n + m")
        flat = r.random() < 0.35
        blocks = 0 if flat else r.choice((1, 2, 3))
        grid = count if flat else str(blocks)
        self.emit(f"T.device_entry(launch=T.cuda.LaunchConfig(grid={grid}, block={h * w}))")
        self.assumed()
        self.emit('tid = T.cuda.thread_idx("x")')
        self.emit('b = T.cuda.block_idx("x")')
        depth = 1
        if flat:
            self.emit("t = b")
        else:
            step = self.rarely(str(blocks), str(blocks + 1), str(max(blocks - 1, 1)))
            backwards = r.random() < 0.2
            self.emit(f"for k in T.serial(b, {count}, {step}):")
            depth = 2
            self.emit("t = n * m - 1 - k" if backwards else "t = k", depth)
        by = self.rarely("n", "m", "n + 1", "n - 1", "2")
        other = self.rarely(by, "n", "m", "n + 1", "2")
        up = self.rarely(str(h), str(h + 1), "1")
        across = self.rarely(str(w), str(w + 1), "1")
        first, second = (f"t // {_in(by)}", f"t % {_in(other)}")
        if r.random() < 0.15:       # tiles in the other order fit where the array is square
            first, second = second, first
        self.emit(f"i = {first} * {up} + tid // {w}", depth)
        self.emit(f"j = {second} * {across} + tid % {w}", depth)
        if r.random() < (0.6 if self.fits else 0.4):
            guard = self.rarely(f"i < {max(rows, 1)} and j < {max(columns, 1)}", f"i < {max(rows, 1)}",
                                f"j < {max(columns, 1)}", f"i < m * {h} and j < n * {w}")
            self.emit(f"if {guard}:", depth)
            depth += 1
        read = self.rarely("A[i, j]", "B[i, j]", "B[i, 0]", "A[j, i]")
        self.emit(f"B[i, j] = {read}", depth)
        return self.done()


def _in(text: str) -> str:
    return f"({text})" if " " in text else text
