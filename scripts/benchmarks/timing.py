"""Host-side timing: medians, and whole fresh processes."""

from __future__ import annotations

import gc
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

PEERS_VARIABLE = "PTXSPEC_PEERS"


def median_seconds(work: Callable[[], object], rounds: int = 9, number: int = 1) -> float:
    """Median over ``rounds`` of the seconds one call takes, ``number`` calls a round, garbage collection off."""
    times = []
    enabled = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        for _ in range(rounds):
            begun = time.perf_counter()
            for _ in range(number):
                work()
            times.append((time.perf_counter() - begun) / number)
    finally:
        if enabled:
            gc.enable()
    return statistics.median(times)


def fresh(code: str, python: str = sys.executable, rounds: int = 5, timeout: float = 600) -> list[dict[str, object]]:
    """Run ``code`` in ``rounds`` fresh processes; each prints one JSON object on its last line. ``wall`` is added.

    Raises ``RuntimeError`` with the process's own words when one fails.
    """
    answers = []
    for _ in range(rounds):
        begun = time.perf_counter()
        done = subprocess.run([python, "-P", "-c", code], capture_output=True, text=True, timeout=timeout, check=False)
        wall = time.perf_counter() - begun
        if done.returncode:
            raise RuntimeError(done.stderr.strip()[-2000:] or f"exit status {done.returncode}")
        answer = json.loads(done.stdout.strip().splitlines()[-1])
        answer["wall"] = wall
        answers.append(answer)
    return answers


def median_of(answers: list[dict[str, object]], key: str) -> float:
    """Median of one number over the answers of :func:`fresh`."""
    return statistics.median(float(answer[key]) for answer in answers)  # type: ignore[arg-type]


def peers_python() -> str | None:
    """The interpreter that has the peers, if one is named."""
    named = os.environ.get(PEERS_VARIABLE)
    return named if named and Path(named).exists() else None


def peer(script: str, *arguments: str, timeout: float = 1800) -> dict[str, object] | str:
    """Run ``benchmarks/peers/SCRIPT`` with the peers' interpreter; its JSON answer, or in words why there is none."""
    python = peers_python()
    if python is None:
        return f"no peer: {PEERS_VARIABLE} is not set"
    path = Path(__file__).parent / "peers" / script
    try:
        done = subprocess.run(
            [python, str(path), *arguments], capture_output=True, text=True, timeout=timeout, check=False,
            env={k: v for k, v in os.environ.items() if k != "PYTHONPATH" or python == sys.executable},
        )
    except subprocess.TimeoutExpired:
        return f"{script} took more than {timeout:.0f} s"
    if done.returncode:
        return f"{script} failed: {(done.stderr.strip().splitlines() or ['?'])[-1][:300]}"
    answer: dict[str, object] = json.loads(done.stdout.strip().splitlines()[-1])
    return answer
