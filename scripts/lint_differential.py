"""Hold ``ptxspec lint`` against real assemblers over many random lines.

    python scripts/lint_differential.py [--lines 4000] [--seed N] [--others] [--machines 0,3,12]

Each of the (PTX version, target, release) triples of tests/ptx/assembler.py gets ``--lines`` fresh random lines; the
releases come from ``scripts/toolchains``. Prints each line on which linter and assembler differ, and counts. Exit
status 1 when there is a difference. A random seed is drawn and printed unless one is given.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.ptx.assembler import MACHINES, executable  # noqa: E402
from tests.ptx.compare import compare, draw, draw_others  # noqa: E402


def main() -> int:
    """Run, report, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=4000, help="lines for each version and target")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 31))
    parser.add_argument("--others", action="store_true", help="the other instructions instead of ld, st, ldu and mov")
    parser.add_argument("--machines", default="", help="numbers of the triples, comma-separated (default: all)")
    chosen = parser.parse_args()
    numbers = [int(n) for n in chosen.machines.split(",") if n] or list(range(len(MACHINES)))
    print(f"seed {chosen.seed}")
    lines = differences = crashes = 0
    for number in numbers:
        machine = MACHINES[number]
        if executable(machine.toolkit) is None:
            print(f"{number:2} {machine}: this release is not here (scripts/toolchains fetches it)")
            continue
        began = time.perf_counter()
        drawn = (draw_others if chosen.others else draw)(chosen.seed + number, machine, chosen.lines)
        died: list[str] = []
        found = compare(drawn, machine, died)
        lines, differences, crashes = lines + len(drawn), differences + len(found), crashes + len(died)
        took = time.perf_counter() - began
        print(f"{number:2} {machine}: {len(drawn)} lines, {len(found)} differences, {len(died)} crashes, {took:.0f} s",
              flush=True)
        for difference in found:
            print(difference)
        for line in died:
            print(f"    the assembler dies on: {line}")
    print(f"{lines} lines, {differences} differences, {crashes} lines on which the assembler dies")
    return 1 if differences or not lines else 0


if __name__ == "__main__":
    sys.exit(main())
