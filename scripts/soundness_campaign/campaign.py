"""The three parts of a campaign, each with its file of records."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterable, Iterator
from itertools import count
from pathlib import Path

from soundness_campaign import judge, work
from soundness_campaign.pool import Pool, Record, Task

FIRST_SEED = 1_000_000


def digest() -> str:
    """A short hash of everything that a verdict depends on: prover, language, forms, and the judges themselves."""
    found = hashlib.blake2b(digest_size=6)
    for folder in ("ptxspec/scalar", "ptxspec/layout", "ptxspec/lang", "ptxspec/proof", "ptxspec/forms",
                   "tests/proof/proof_support", "scripts/soundness_campaign"):
        for path in sorted((work.ROOT / folder).rglob("*.py")):
            if path.name not in ("page.py", "__main__.py"):
                found.update(path.read_bytes())
    return found.hexdigest()


class Log:
    """A JSON-lines file that grows; what it held before is there at once."""

    def __init__(self, path: Path) -> None:
        self.records: list[Record] = []
        if path.exists():
            for line in path.read_text().splitlines():
                try:
                    self.records.append(json.loads(line))
                except json.JSONDecodeError:
                    continue  # the last line of a run that was cut off
        self._file = path.open("a")
        if path.stat().st_size and not path.read_bytes().endswith(b"\n"):
            self._file.write("\n")

    def add(self, record: Record) -> None:
        """Keep one, on disk too."""
        self.records.append(record)
        self._file.write(json.dumps(record) + "\n")
        self._file.flush()


class Campaign:
    """``out`` keeps everything; ``deadline`` is on the monotonic clock; ``first`` is the first seed."""

    def __init__(self, out: Path, jobs: int, deadline: float, patience: float, first: int = FIRST_SEED) -> None:
        out.mkdir(parents=True, exist_ok=True)
        self.out, self.deadline, self.first = out, deadline, first
        self.pool = Pool(work.handle, jobs, patience)
        self.kernels, self.mutants, self.solvers = (Log(out / f"{n}.jsonl") for n in ("kernels", "mutants", "solvers"))
        marks = out / "sources"
        before = marks.read_text().split() if marks.exists() else []
        self.versions = list(dict.fromkeys([*before, digest()]))
        marks.write_text("\n".join(self.versions) + "\n")
        self.seconds: dict[str, float] = {}
        self.complete: dict[str, bool] = {}

    def _run(self, name: str, log: Log, tasks: Iterator[Task], enough: int | None = None, wanted: int = 0) -> None:
        begun = said = time.monotonic()
        done = sum(r["outcome"] in judge.JUDGED for r in log.records) if enough is not None else 0
        handled = 0

        def satisfied() -> bool:
            return enough is not None and done >= enough

        for _, record in self.pool.run(tasks, self.deadline, satisfied):
            log.add(record)
            handled += 1
            done += enough is not None and record["outcome"] in judge.JUDGED
            now = time.monotonic()
            if now - said > 20:
                said = now
                print(f"{name}: {len(log.records):,} records, {handled / (now - begun):.0f} a second", flush=True)
        self.seconds[name] = time.monotonic() - begun
        self.complete[name] = satisfied() if enough is not None else handled >= wanted
        print(f"{name}: {len(log.records):,} records after {self.seconds[name]:.0f} s"
              f"{'' if self.complete[name] else ' (stopped by the time limit)'}", flush=True)

    def random(self, wanted: int) -> None:
        """Random kernels until ``wanted`` of them are judged; those that the language refuses do not count."""
        known = {r["seed"] for r in self.kernels.records}
        tasks: Iterator[Task] = (("kernel", {"seed": s}) for s in count(self.first) if s not in known)
        self._run("kernels", self.kernels, tasks, wanted)

    def chosen(self, legal: int) -> list[str]:
        """Every example, and the first ``legal`` random kernels that are proved and right."""
        right = sorted(int(str(r["seed"])) for r in self.kernels.records if r["outcome"] == "proved right")
        return work.examples() + [f"random {seed}" for seed in right[:legal]]

    def mutate(self, legal: int) -> None:
        """All mutants of the chosen kernels."""
        known = {(r["source"], r["number"]) for r in self.mutants.records}
        todo: list[Task] = [("mutant", {"source": source, "number": number}) for source in self.chosen(legal)
                            for number in range(len(work.changed(source))) if (source, number) not in known]
        self._run("mutants", self.mutants, iter(todo), None, len(todo))

    def second(self, every: int) -> None:
        """The written kernels, then every so many-th random kernel, from the first."""
        known = {r["source"] for r in self.solvers.records}
        seeds: Iterable[int] = sorted(int(str(r["seed"])) for r in self.kernels.records
                                      if r["outcome"] in judge.JUDGED)[::every]
        sources = [s for s in [*work.corpus(), *(f"random {n}" for n in seeds)] if s not in known]
        todo: list[Task] = [("solvers", {"source": source}) for source in sources]
        self._run("solvers", self.solvers, iter(todo), None, len(todo))
