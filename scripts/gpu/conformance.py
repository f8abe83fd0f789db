"""Hardware conformance of the database: every legal executable form of ld, st and mov, GPU against simulator.

    python -P -m gpu.conformance [--simulate-only] [--out DIR] [--jobs N] [--limit N]

Writes ``hardware-sm_90.json`` and ``.md`` (default: docs/certification). Modules of many cases run in worker processes,
so that a fault spoils only its worker; a module that fails is halved until the one case that fails is found.
A difference that specs/findings.yaml explains as wrong code of this assembler is counted under its finding.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

import numpy as np

from gpu.cases import PTX, SM, TOOLKIT, Case, Left, plan
from gpu.module import BLOB, INPUT, STRIDE, THREADS, Bytes, on_gpu, simulated, text
from ptxspec.forms import use
from ptxspec.forms.defects import wrong_code

ROOT = Path(__file__).resolve().parents[2]
CHUNK = 120

Verdict = dict[str, str]


def inputs(seed: int) -> tuple[Bytes, bytes, bytes, Bytes]:
    """Random input, constants, parameter bytes, and the pattern that the output holds before the run."""
    random = np.random.default_rng(seed)
    given = random.integers(0, 256, INPUT, dtype=np.uint8)
    poison = random.integers(0, 256, CHUNK * STRIDE, dtype=np.uint8)
    return given, random.bytes(128), random.bytes(BLOB), poison


def differences(cases: list[Case], expected: Bytes, actual: Bytes) -> list[Verdict]:
    """One verdict a case: ``agrees``, or where the first difference is."""
    verdicts = []
    for number, case in enumerate(cases):
        want = expected[number * STRIDE : (number + 1) * STRIDE].reshape(THREADS, -1)
        got = actual[number * STRIDE : (number + 1) * STRIDE].reshape(THREADS, -1)
        verdict = {"opcode": case.opcode, "what": case.what, "outcome": "agrees"}
        if not np.array_equal(want, got):
            thread, byte = (int(v) for v in np.argwhere(want != got)[0])
            verdict["outcome"] = "differs"
            verdict["where"] = (f"thread {thread}, byte {byte}: simulator {bytes(want[thread]).hex()}, "
                                f"GPU {bytes(got[thread]).hex()}")
        verdicts.append(verdict)
    return verdicts


_CLASS = re.compile(r"\b(?:into|from) \.(b\d+)")


def explained(verdict: Verdict) -> str:
    """The finding that expects this difference, by the case's data registers; ``""`` when none does."""
    register = _CLASS.search(verdict["what"])
    if verdict["outcome"] != "differs" or register is None:
        return ""
    found = use(verdict["opcode"], sm=SM, ptx=PTX)
    data = found.operand("b" if found.mnemonic == "st" else "d")
    finding = wrong_code(found.mnemonic, data.type, data.lanes, [register[1]], TOOLKIT)
    return finding.id if finding else ""


def examine(cases: list[Case], job_seed: int, simulate_only: bool) -> list[Verdict]:
    """One module of cases. What the assembler or the simulator refuses is narrowed down here, without a new process."""
    from ptxspec.backend.assemble import assemble
    from ptxspec.backend.simulate import SimulationFault

    from ptxspec.diagnostics import AssembleError

    given, constants, blob, poison = inputs(job_seed)
    ptx = text(cases, constants)
    try:
        expected = simulated(ptx, len(cases), given, blob, poison)
        cubin = assemble(ptx, SM).data
    except (AssembleError, SimulationFault) as error:
        if len(cases) == 1:
            said = [line for line in str(error).splitlines() if line.strip()]
            return [{"opcode": cases[0].opcode, "what": cases[0].what, "outcome": f"refused: {type(error).__name__}",
                     "where": " ".join(said)[:600], "lines": "\n".join(cases[0].lines)}]
        middle = len(cases) // 2
        return examine(cases[:middle], job_seed, simulate_only) + examine(cases[middle:], job_seed, simulate_only)
    actual = expected if simulate_only else on_gpu(cubin, len(cases), given, blob, poison)
    return differences(cases, expected, actual)


def work(path: Path, simulate_only: bool) -> None:
    """A worker: run the cases in ``path``, module by module, and write the verdicts beside it."""
    job = json.loads(path.read_text())
    cases = [Case(entry["opcode"], entry["what"], tuple(entry["lines"])) for entry in job["cases"]]
    verdicts = []
    for k in range(0, len(cases), CHUNK):
        verdicts += examine(cases[k : k + CHUNK], job["seed"], simulate_only)
    path.with_suffix(".out").write_text(json.dumps(verdicts))


def run(cases: list[Case], seed: int, folder: Path, simulate_only: bool) -> list[Verdict]:
    """Run some cases in a worker; halve them when the worker fails, which a fault on the GPU makes it do."""
    handle, place = tempfile.mkstemp(".json", dir=folder)
    os.close(handle)
    name = Path(place)
    name.write_text(json.dumps({"seed": seed, "cases": [asdict(case) for case in cases]}))
    command = [sys.executable, "-P", "-m", "gpu.conformance", "--work", place]
    if simulate_only:
        command.append("--simulate-only")
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        if done.returncode == 0:
            verdicts: list[Verdict] = json.loads(name.with_suffix(".out").read_text())
            return verdicts
        why = (done.stderr.strip() or f"status {done.returncode}")[-1500:]
    except subprocess.TimeoutExpired:
        why = "no answer in 300 s"
    if len(cases) == 1:
        return [{"opcode": cases[0].opcode, "what": cases[0].what, "outcome": "failed", "where": why,
                 "lines": "\n".join(cases[0].lines)}]
    middle = len(cases) // 2
    return run(cases[:middle], seed, folder, simulate_only) + run(cases[middle:], seed, folder, simulate_only)


def ordered(cases: list[Case]) -> list[Case]:
    """Forms that touch devices last, so that trouble with one does not take others along."""
    return sorted(cases, key=lambda case: ".mmio" in case.opcode)


def conformance(simulate_only: bool, jobs: int, limit: int | None, seed: int | None = None) -> dict[str, object]:
    """Plan, run and sum up."""
    seed = int.from_bytes(os.urandom(4), "little") if seed is None else seed
    cases, left, forms = plan()
    cases = ordered(cases)
    if limit is not None:
        step = max(1, len(cases) // limit)
        cases = cases[seed % step :: step]
    size = CHUNK * max(1, min(12, -(-len(cases) // (CHUNK * jobs))))
    chunks = [cases[k : k + size] for k in range(0, len(cases), size)]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(jobs) as pool:
        verdicts = [v for chunk in pool.map(lambda c: run(c, seed, Path(folder), simulate_only), chunks) for v in chunk]
    return summary(verdicts, left, forms, seed, simulate_only)


def summary(
    verdicts: list[Verdict], left: list[Left], forms: dict[str, int], seed: int, simulate_only: bool
) -> dict[str, object]:
    """Counts a mnemonic, exceptions in full. What a finding explains is no exception."""
    table = {}
    for v in verdicts:
        finding = explained(v)
        if finding:
            v["outcome"], v["finding"] = "explained", finding
    bad = [v for v in verdicts if v["outcome"] not in ("agrees", "explained")]
    for mnemonic, count in forms.items():
        mine = [v for v in verdicts if v["opcode"].split(".")[0] == mnemonic]
        table[mnemonic] = {
            "legal forms": count,
            "forms run": len({v["opcode"] for v in mine}),
            "cases": len(mine),
            "cases that agree": sum(v["outcome"] == "agrees" for v in mine),
            "cases explained": dict(Counter(v["finding"] for v in mine if v["outcome"] == "explained")),
            "forms with an exception": len({v["opcode"] for v in bad if v["opcode"].split(".")[0] == mnemonic}),
            "forms left out": dict(Counter(entry.why for entry in left if entry.opcode.split(".")[0] == mnemonic)),
        }
    return {
        "what": "simulator only, assembled" if simulate_only else "GPU against simulator",
        "target": SM, "ptx": PTX, "toolkit": TOOLKIT, "seed": seed,
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"), "machine": machine(simulate_only),
        "mnemonics": table, "exceptions": bad,
    }


def machine(simulate_only: bool) -> dict[str, str]:
    """Where it ran and with what."""
    from importlib import metadata

    found = {"python": platform.python_version()}
    for name in ("numpy", "nvidia-nvjitlink", "cuda-bindings", "cuda-core"):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    if not simulate_only:
        asked = "--query-gpu=name,driver_version"
        command = ["nvidia-smi", asked, "--format=csv,noheader"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        found["gpu"] = done.stdout.strip() or "unknown"
    return found


def page(result: dict[str, object]) -> str:
    """The Markdown page."""
    table: dict[str, dict[str, object]] = result["mnemonics"]  # type: ignore[assignment]
    bad: list[Verdict] = result["exceptions"]  # type: ignore[assignment]
    out = [
        f"# Hardware conformance on {result['target']}", "",
        f"{result['what']}: each legal executable form of PTX {result['ptx']} is turned into micro-kernels from its "
        "spec (a register of the width and a wider one; every way to reach its space; a third of them predicated), run "
        "on 64 threads over random bytes, and every observable byte is compared with the simulator's. Orders and "
        "scopes are checked for the value only.", "",
        "| mnemonic | legal forms | forms run | cases | agree | explained by a finding | forms with an exception |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for mnemonic, row in table.items():
        known: dict[str, int] = row["cases explained"]  # type: ignore[assignment]
        out.append(f"| {mnemonic} | {row['legal forms']:,} | {row['forms run']:,} | {row['cases']:,} | "
                   f"{row['cases that agree']:,} | {sum(known.values()):,} | "
                   f"{row['forms with an exception']:,} |")
    findings: Counter[str] = Counter()
    for row in table.values():
        findings.update(row["cases explained"])  # type: ignore[arg-type]
    if findings:
        out += ["", f"Cases where ptxas {result['toolkit']} is known to make wrong code (see the "
                "[findings](../findings.md)):", ""]
        out += [f"- `{finding}`: {count:,}" for finding, count in sorted(findings.items())]
    out += ["", "Left out:", ""]
    for mnemonic, row in table.items():
        reasons: dict[str, int] = row["forms left out"]  # type: ignore[assignment]
        out += [f"- {mnemonic}: {count:,} forms, because {why}" for why, count in reasons.items()]
    out += ["", "Registers whose value no program can predict (`%clock`, `%smid`, `%warpid`...) are not compared.", ""]
    if bad:
        out += ["## Exceptions", ""]
        for v in bad[:200]:
            out.append(f"- `{v['opcode']}` ({v['what']}): {v['outcome']}; {v['where'].splitlines()[-1][:300]}")
        out.append("")
    where = "; ".join(f"{key} {value}" for key, value in result["machine"].items())  # type: ignore[attr-defined]
    out += [f"Measured {result['date']}, seed {result['seed']}: {where}.", "", "Again: `scripts/conformance`", ""]
    return "\n".join(out)


def main() -> int:
    """1 if anything differs or fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--simulate-only", action="store_true", help="assemble and simulate; no GPU is needed")
    parser.add_argument("--jobs", type=int, default=max(1, min(8, (os.cpu_count() or 2) // 2)))
    parser.add_argument("--limit", type=int, help="about so many cases, evenly spread")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "certification")
    given = parser.parse_args()
    if given.work:
        work(given.work, given.simulate_only)
        return 0
    result = conformance(given.simulate_only, given.jobs, given.limit)
    text_ = page(result)
    print(text_)
    if not given.simulate_only and given.limit is None:
        given.out.mkdir(parents=True, exist_ok=True)
        (given.out / f"hardware-{SM}.json").write_text(json.dumps(result, indent=1) + "\n")
        (given.out / f"hardware-{SM}.md").write_text(text_)
    return int(bool(result["exceptions"]))


if __name__ == "__main__":
    sys.exit(main())
