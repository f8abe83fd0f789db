"""The main job on real kernels: prove, emit, assemble, simulate; then a broken kernel refused.

Run through ``scripts/demo``, which makes the environment first. Exit status 0 only if every step gave what it must.
"""

from __future__ import annotations

import importlib.util
import platform
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType

import numpy as np
from ptxspec.backend.assemble import assemble
from ptxspec.backend.device import device_present

import ptxspec
from ptxspec.diagnostics import AssembleError

ROOT = Path(__file__).resolve().parent.parent
SM = "sm_90"
failures: list[str] = []


def say(text: str = "") -> None:
    """One line at once, so that progress is seen."""
    print(text, flush=True)


def load(path: Path) -> ModuleType:
    """An example as a module, without installing it."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def prove(kernel: object) -> None:
    """Print the verdict of every obligation with its time, obligations of one line and code together."""
    report = ptxspec.prove(kernel, sm=SM)
    groups: dict[tuple[str, str, str], list[float]] = {}
    for obligation in report.obligations:
        line = f"line {obligation.where.line}" if obligation.where else "launch"
        groups.setdefault((line, obligation.code, obligation.verdict), []).append(obligation.ms)
    for (line, code, verdict), times in groups.items():
        say(f"    {line:>9}  {code:<12} {verdict:<8} {sum(times):6.2f} ms   ({len(times)} goal{'s'[:len(times) > 1]})")
    say(f"  verdict: {report.verdict}, {len(report.obligations)} obligations")
    if report.verdict != "proved":
        failures.append(f"{kernel}: {report.verdict}")


def show_ptx(ptx: str) -> None:
    """Count the memory instructions and print the first of each kind."""
    lines = [line.strip() for line in ptx.splitlines()]
    moving = [line for line in lines if line.split(" ")[-0].startswith(("ld.", "st.", "bar", "@"))]
    counts = Counter(line.split()[0] if not line.startswith("@") else line.split()[1] for line in moving)
    for opcode, count in counts.items():
        first = next(line for line in moving if opcode in line.split()[:2])
        say(f"    {count:4} x {first}")


def assembled(ptx: str) -> None:
    """Ask the assembler, or say that there is none."""
    try:
        cubin = assemble(ptx, SM)
    except AssembleError as error:
        say(f"  assembler: {error}")
        if error.code != "A100":     # A100: no assembler here; anything else is a refusal
            failures.append("assembler refused the module")
        return
    say(f"  assembler: {cubin.tool} {cubin.version} accepts it, {cubin.registers} registers a thread")


def run(title: str, kernel: object, inputs: list[np.ndarray], out: np.ndarray, expected: np.ndarray) -> None:
    """The whole way of one kernel."""
    say(f"\n== {title}")
    prove(kernel)
    exe = ptxspec.compile(kernel, target=SM)
    say("  emitted PTX, key lines:")
    show_ptx(exe.ptx)
    assembled(exe.ptx)
    exe(*inputs, out)
    same = bool(np.array_equal(out, expected))
    say(f"  simulated: {out.size} values {'equal the expected ones' if same else 'DIFFER from the expected ones'}")
    if not same:
        failures.append(f"{title}: wrong result")


def refused(title: str, kernel: object) -> None:
    """A broken kernel must be refused, with a counterexample."""
    say(f"\n== {title}")
    try:
        ptxspec.compile(kernel, target=SM)
    except ptxspec.ProofError as error:
        say(str(error))
        if not any(o.counterexample for o in error.report.obligations):
            failures.append(f"{title}: refused without a counterexample")
    else:
        failures.append(f"{title}: accepted")


def main() -> int:
    """Run everything and summarise."""
    say(f"ptxspec {ptxspec.__version__}, Python {platform.python_version()}, target {SM}")
    say("GPU: " + ("present" if device_present() else "none here; kernels run in the simulator"))
    examples = ROOT / "examples"
    strided = load(examples / "strided_load.py")
    x = np.random.default_rng(1).standard_normal(420).astype(np.float32)
    run("strided load: 105 vector loads into gapped registers", strided.strided_load,
        [x.reshape(15, 2, 7, 2)], np.zeros(420, np.float32), x)
    exchange = load(examples / "read_next_row.py")
    a = np.random.default_rng(2).standard_normal((64, 4)).astype(np.float32)
    run("shared-memory exchange: each thread reads the next thread's row", exchange.read_next_row,
        [a], np.zeros_like(a), np.roll(a, -1, axis=0))
    broken = load(examples / "broken" / "row_past_the_end.py")
    refused("the same exchange without the wrap-around", broken.kernel)
    say()
    if failures:
        say("demo FAILED: " + "; ".join(failures))
        return 1
    say("demo passed: 2 kernels proved, emitted and simulated, 1 broken kernel refused")
    return 0


if __name__ == "__main__":
    sys.exit(main())
