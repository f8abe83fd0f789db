"""The three parts of a campaign, each with its file of records."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from itertools import count
from pathlib import Path

from soundness_campaign import folder, judge, work
from soundness_campaign.pool import Pool, Record, Task

FIRST_SEED = 1_000_000


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
    """``out`` keeps everything; ``deadline`` is on the monotonic clock; ``first`` is the first seed; ``family``: all
    random kernels are of that one. :class:`folder.Mixed` where the folder has results of other sources."""

    def __init__(self, out: Path, jobs: int, deadline: float, patience: float, first: int = FIRST_SEED,
                 family: str = "") -> None:
        self.versions = [folder.digest()]
        folder.claim(out, self.versions[0], family)
        self.out, self.deadline, self.first, self.family = out, deadline, first, family
        self.pool = Pool(work.handle, jobs, patience)
        self.kernels, self.mutants, self.solvers = (Log(out / f"{n}.jsonl") for n in ("kernels", "mutants", "solvers"))
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
        of = {"of": self.family} if self.family else {}
        tasks: Iterator[Task] = (("kernel", {"seed": s, **of}) for s in count(self.first) if s not in known)
        self._run("kernels", self.kernels, tasks, wanted)

    def chosen(self, legal: int) -> list[str]:
        """Every example, and the first ``legal`` random kernels that are proved and right."""
        right = sorted(int(str(r["seed"])) for r in self.kernels.records if r["outcome"] == "proved right")
        return work.examples() + [f"{self.family or 'random'} {seed}" for seed in right[:legal]]

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
        sources = [s for s in [*work.corpus(), *(f"{self.family or 'random'} {n}" for n in seeds)] if s not in known]
        todo: list[Task] = [("solvers", {"source": source}) for source in sources]
        self._run("solvers", self.solvers, iter(todo), None, len(todo))
