"""The command behind scripts/fuzz."""

from __future__ import annotations

import argparse
import random
import signal
import sys
import time
from collections import Counter
from pathlib import Path
from types import FrameType

from fuzzing.opcodes import opcodes, problem
from fuzzing.specs import mutated, problems, texts
from ptxspec.db.load import read
from ptxspec.forms import registry

LIMIT = 20  # seconds for one input


def _late(number: int, frame: FrameType | None) -> None:
    raise TimeoutError(f"no answer in {LIMIT} s")


def run_opcodes(count: int, seed: int) -> tuple[list[str], Counter[str]]:
    """Faults, and how often each code was given."""
    rng, faults, seen = random.Random(seed), [], Counter[str]()
    kits = tuple(registry.vocabulary().toolkits)
    for opcode in opcodes(count, rng):
        signal.alarm(LIMIT)
        try:
            wrong = problem(opcode, rng.choice(kits), rng, seen)
        except Exception as error:  # what must not happen is what this looks for
            wrong = f"{type(error).__name__}: {error}"
        if wrong:
            faults.append(f"opcode {opcode!r}: {wrong}")
    signal.alarm(0)
    return faults, seen


def run_specs(count: int, seed: int) -> tuple[list[str], Counter[str]]:
    """Faults, and how often each code was given."""
    rng, faults, seen = random.Random(seed), [], Counter[str]()
    originals, specs = texts(), read()
    for number in range(count):
        text = mutated(originals, rng)
        signal.alarm(LIMIT)
        try:
            found = problems(text, specs)
        except Exception as error:  # what must not happen is what this looks for
            faults.append(f"spec {number} of seed {seed}: {type(error).__name__}: {error}")
            continue
        seen.update({d.code for d in found} or {"sound"})
        if any(d.span is None or not d.message for d in found):
            faults.append(f"spec {number} of seed {seed}: an error without a place")
    signal.alarm(0)
    return faults, seen


def main() -> int:
    """1 when anything was not a verdict or a clear error."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--opcodes", type=int, default=100_000)
    parser.add_argument("--specs", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    signal.signal(signal.SIGALRM, _late)
    out = ["# Malformed input", "", "What `scripts/fuzz` found: every input must get a verdict or errors with a place, "
           f"each within {LIMIT} s.", "", "| input | number | seconds | faults | answers |", "| --- | ---: | ---: | "
           "---: | --- |"]
    faults: list[str] = []
    for name, function, count in (("opcodes", run_opcodes, given.opcodes), ("spec files", run_specs, given.specs)):
        begun = time.monotonic()
        found, seen = function(count, given.seed)
        answers = ", ".join(f"{code} {n:,}" for code, n in seen.most_common())
        out.append(f"| {name} | {count:,} | {time.monotonic() - begun:.0f} | {len(found)} | {answers} |")
        faults += found
    out += ["", *(f"* {fault[:300]}" for fault in faults[:50]),
            f"Again: `scripts/fuzz --opcodes {given.opcodes} --specs "
            f"{given.specs} --seed {given.seed}`", ""]
    print("\n".join(out))
    if given.out:
        given.out.write_text("\n".join(out), encoding="utf-8")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
