"""Random kernels whose tiles are dealt out by sizes of the launch: proved ones never have two blocks at one element.

The truth is worked out on sets of elements for small sizes; what is proved holds for all of them. Most right kernels
must be proved, and wrong ones refuted.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import pytest
from loading import written

import ptxspec

SOURCE = '''
from ptxspec import T

rows, cols = T.dim("rows"), T.dim("cols")


@T.function
def kernel(A: T.Tensor((rows, cols), "float32", align=16), B: T.Tensor((rows, cols), "float32", align=16)):
    T.device_entry(launch=T.cuda.LaunchConfig(grid={blocks}, block=32))
    T.assume(cols <= 1 << 12)
    T.assume(rows <= 1 << 12)
    across, down = {across}, {down}
    for t in T.serial(T.cuda.block_idx("x"), {count}, {step}):
        i, j = {i}, {j}
        tile = T.tile_load(A, shape=({height}, {width}), offset=(i, j), storage="{storage}")
        T.tile_store(B, tile, offset=(i, j))
'''
SIZES = [*product((0, 1, 7, 8, 9, 16, 33), (0, 1, 8, 15, 16, 17, 50)), (200, 3), (3, 400), (100, 100)]


@dataclass(frozen=True)
class Case:
    """The texts of a kernel."""

    height: int
    width: int
    blocks: int
    step: int
    across: str
    down: str
    count: str
    i: str
    j: str
    storage: str

    @classmethod
    def of(cls, seed: int) -> Case:
        """A random kernel, wrong in about half of the cases."""
        rng = random.Random(seed)

        def rarely(usual: str, *others: str) -> str:
            return usual if rng.random() < 0.8 else rng.choice(others)

        height, width, blocks = rng.choice((4, 8)), rng.choice((8, 16)), rng.choice((2, 3, 5))
        by = rarely("across", "down", "(across + 1)", "3")
        first, second = f"t // {by}", f"t % {rarely(by, 'across', 'down', '(across + 1)')}"
        if rng.random() < 0.2:
            first, second = second, first
        return cls(
            height, width, blocks, int(rarely(str(blocks), str(blocks + 1), str(max(1, blocks - 1)))),
            rarely(f"(cols + {width - 1}) // {width}", f"cols // {width}", f"cols // {width} + 1"),
            rarely(f"(rows + {height - 1}) // {height}", f"rows // {height}", f"rows // {height} + 1"),
            rarely("across * down", "across * down + 1", "across * (down + 1)", "across + down"),
            f"{first} * {rarely(str(height), str(height - 1), str(height + 1))}",
            f"{second} * {rarely(str(width), str(width // 2), str(width + 4))}", rng.choice(("register", "shared")),
        )

    def verdict(self, path: Path) -> str:
        """What the prover says of the kernel, written to ``path``."""
        kernel = written(path, SOURCE.format(**vars(self))).kernel
        return ptxspec.prove(kernel, use_cache=False).verdict

    def wrong(self, rows: int, cols: int) -> bool:
        """True where tiles meet that are not the same, or of different blocks, or a divisor is zero."""
        known = {"rows": rows, "cols": cols}
        known |= {"across": eval(self.across, dict(known)), "down": eval(self.down, dict(known))}
        seen: dict[tuple[int, int], tuple[int, int, int]] = {}
        for block in range(self.blocks):
            for t in range(block, eval(self.count, dict(known)), self.step):
                try:
                    i, j = (eval(text, {**known, "t": t}) for text in (self.i, self.j))
                except ZeroDivisionError:
                    return True
                rows_in, cols_in = (range(max(at, 0), min(at + n, end))
                                    for at, n, end in ((i, self.height, rows), (j, self.width, cols)))
                if any(seen.setdefault(place, (block, i, j)) != (block, i, j) for place in product(rows_in, cols_in)):
                    return True
        return False


@pytest.mark.parametrize("seed", range(24))
def test_what_is_proved_is_right(seed: int, tmp_path: Path) -> None:
    case = Case.of(seed)
    verdict = case.verdict(tmp_path / "dealt.py")
    wrong = [size for size in SIZES if case.wrong(*size)]
    if verdict == "proved":
        assert not wrong, (case, wrong[0])
    elif wrong:
        assert verdict == "refuted", case
    else:
        assert verdict in ("refuted", "unknown"), case      # wrong for larger sizes, or too hard


def test_right_kernels_are_proved(tmp_path: Path) -> None:
    seen = {"proved": 0, "else": 0}
    for seed in range(100, 130):
        case = Case.of(seed)
        if not any(case.wrong(*size) for size in SIZES):
            verdict = case.verdict(tmp_path / f"dealt_{seed}.py")
            seen["proved" if verdict == "proved" else "else"] += 1
    assert seen["proved"] >= 8 and seen["else"] <= 1, seen
