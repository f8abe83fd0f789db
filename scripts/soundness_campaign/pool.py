"""Worker processes with a watchdog: a task that does not answer in time is killed, and only that one is lost."""

from __future__ import annotations

import multiprocessing
import resource
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

#: A task is (kind, payload); a record is what comes of it. Both are plain JSON values.
Task = tuple[str, dict[str, object]]
Record = dict[str, object]

BATCH = 6              # tasks handed to a worker at once
LIFE = 600             # tasks of one worker process: solvers keep memory
MEMORY = 6 << 30       # bytes of address space of one worker


def _serve(handle: Callable[[Task], Record], pipe: Connection) -> None:
    """A worker's loop: a list of tasks comes in, one record goes out for each; None ends it."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    while True:
        tasks: list[Task] | None = pipe.recv()
        if tasks is None:
            return
        for task in tasks:
            try:
                record = handle(task)
            except Exception:
                record = {**task[1], "outcome": "error", "text": traceback.format_exc()[-3000:]}
            pipe.send(record)


@dataclass
class Worker:
    """One process, the tasks it still owes, and when it last answered."""

    process: BaseProcess
    pipe: Connection
    owed: deque[Task] = field(default_factory=deque)
    heard: float = 0.0
    done: int = 0


class Pool:
    """``jobs`` workers that run ``handle``; ``patience`` seconds for one task."""

    def __init__(self, handle: Callable[[Task], Record], jobs: int, patience: float) -> None:
        self.handle, self.jobs, self.patience = handle, jobs, patience
        self._context = multiprocessing.get_context("fork")
        self._workers: list[Worker] = []

    def _start(self) -> Worker:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=_serve, args=(self.handle, theirs), daemon=True)
        process.start()
        theirs.close()
        return Worker(process, ours)

    @staticmethod
    def _end(worker: Worker) -> None:
        worker.pipe.close()
        worker.process.kill()
        worker.process.join()

    def run(self, tasks: Iterator[Task], deadline: float, enough: Callable[[], bool]) -> Iterator[tuple[Task, Record]]:
        """Records as they come, until the tasks end, ``enough()`` is true, or the monotonic ``deadline`` passes.

        Tasks that were handed out are finished first, within ``patience`` and half a minute past the deadline.
        """
        back: deque[Task] = deque()  # tasks of a killed worker that it had not begun
        more = True
        self._workers = [self._start() for _ in range(self.jobs)]
        try:
            while True:
                now = time.monotonic()
                open_ = more and now < deadline and not enough()
                for number, worker in enumerate(self._workers):
                    if worker.owed or not open_:
                        continue
                    if worker.done >= LIFE:
                        self._end(worker)
                        worker = self._workers[number] = self._start()
                    batch = _take(back, tasks, BATCH)
                    more = bool(batch)
                    if not batch:
                        break
                    worker.owed.extend(batch)
                    worker.heard = now
                    worker.pipe.send(batch)
                busy = [w for w in self._workers if w.owed]
                if not busy or now > deadline + 30:
                    return
                ready = set(wait([w.pipe for w in busy], timeout=0.5))
                for number, worker in enumerate(self._workers):
                    if not worker.owed:
                        continue
                    late = time.monotonic() - worker.heard > self.patience
                    if worker.pipe in ready:
                        try:
                            record = worker.pipe.recv()
                        except EOFError:
                            record = {**worker.owed[0][1], "outcome": "died", "text": "the process ended"}
                            late = True
                        else:
                            late = False
                    elif late:
                        record = {**worker.owed[0][1], "outcome": "time", "text": f"no answer in {self.patience:g} s"}
                    else:
                        continue
                    yield worker.owed.popleft(), record
                    worker.heard = time.monotonic()
                    worker.done += 1
                    if late:
                        back.extend(worker.owed)
                        self._end(worker)
                        self._workers[number] = self._start()
        finally:
            for worker in self._workers:
                self._end(worker)


def _take(back: deque[Task], tasks: Iterator[Task], count: int) -> list[Task]:
    batch: list[Task] = []
    while len(batch) < count:
        task = back.popleft() if back else next(tasks, None)
        if task is None:
            break
        batch.append(task)
    return batch
