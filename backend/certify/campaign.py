"""A run over many units of work that can be stopped at any moment and goes on where it was.

A unit is one mnemonic under one setting with one way of drawing. Each finished unit is one line of JSON in the state
file; units found there are not asked again. The file's name holds a digest of the database and of the plan, so that a
changed database starts anew.
"""

from __future__ import annotations

import hashlib
import json
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Literal, TextIO

from ptxspec.forms import check, registry

from .compare import Disagreement, Tally, add, compare
from .draw import Case, case, neighbours, random_cases
from .enumerate import accepted_anywhere
from .host import Setting
from .operands import operand_cases
from .product import product_cases
from .settings import grid, spread, toolkits

Kind = Literal["grid", "sample", "exhaustive", "operands", "entry", "product"]
_CHUNK = 40_000


@dataclass(frozen=True, slots=True)
class Plan:
    """What is asked. ``grid``: ``lines`` lines of each mnemonic under every setting of every toolkit (floors).

    ``sample``: the same under a spread of settings. ``exhaustive``: every form that some assembler takes, and all its
    one-slot neighbours. ``operands``: right opcodes with operands changed, of the
    mnemonics that the database has completely; these ``lint`` predicts. ``entry``: forms that the front end takes, in
    a kernel, where code is generated for them. ``product``: all spellings of all words, through representatives.
    """

    kind: Kind
    mnemonics: tuple[str, ...]
    lines: int = 500
    seed: int = 0
    toolkits: tuple[str, ...] = ()
    settings: tuple[Setting, ...] = ()

    @property
    def digest(self) -> str:
        """Of the plan and of the tables of its mnemonics."""
        tables = [registry.table(name).digest for name in self.mnemonics]
        return hashlib.sha256(repr((self, tables)).encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Unit:
    """One mnemonic under one setting of one toolkit."""

    toolkit: str
    setting: Setting
    mnemonic: str

    @property
    def key(self) -> str:
        """Its name in the state file."""
        return f"{self.toolkit}|{self.setting.version}|{self.setting.target}|{self.mnemonic}"


@dataclass
class Result:
    """What a campaign found; ``tallies`` by the units' keys."""

    plan: Plan
    tallies: dict[str, Tally] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def asked(self) -> int:
        """Lines asked in all."""
        return sum(tally.asked for tally in self.tallies.values())

    @property
    def disagreements(self) -> list[Disagreement]:
        """All of them, in the order of the plan."""
        return [found for tally in self.tallies.values() for found in tally.disagreements]


def units(plan: Plan) -> list[Unit]:
    """The work of a plan, for the toolkits that this machine has."""
    out: list[Unit] = []
    # Lint leaves operands alone where a mnemonic has forms that the database lacks, so there is nothing to compare.
    names = [name for name in plan.mnemonics if plan.kind != "operands" or registry.complete(name)]
    for toolkit in toolkits(plan.toolkits):
        known = grid(toolkit)
        chosen = known if plan.kind == "grid" else spread(toolkit)
        if plan.settings:
            chosen = [setting for setting in known if setting in plan.settings]
        if plan.kind == "entry":
            chosen = [replace(setting, context="entry") for setting in chosen]
        out += [Unit(toolkit, setting, name) for setting in chosen for name in names]
    return out


def run(plan: Plan, state: Path | None = None, progress: TextIO | None = None) -> Result:
    """Do what ``plan`` asks for; with a ``state`` folder, skip what an earlier run of the same plan has done."""
    result, started = Result(plan), time.monotonic()
    path = None
    if state is not None:
        state.mkdir(parents=True, exist_ok=True)
        path = state / f"{plan.kind}-{plan.digest}.jsonl"
        result.tallies.update(_load(path))
    work = units(plan)
    tools = toolkits(plan.toolkits)
    asked = done = 0
    for toolkit, setting, group in _together(plan, work):
        done += len(group)
        todo = [unit for unit in group if unit.key not in result.tallies]
        tallies = {unit.mnemonic: Tally() for unit in todo}
        # One run of the assembler serves all mnemonics of a setting: starting it costs more than a thousand lines.
        for chunk in _chunks(one for unit in todo for one in _cases(plan, unit)):
            parts = compare(toolkit, tools[toolkit], setting, chunk, operands=plan.kind == "operands")
            for name, part in parts.items():
                add(tallies[name], part)
            asked += len(chunk)
            found = sum(len(tally.disagreements) for tally in tallies.values())
            _tell(progress, done, len(work), asked, started, found)
        for unit in todo:
            result.tallies[unit.key] = tallies[unit.mnemonic]
        if path is not None and todo:
            with path.open("a", encoding="utf-8") as out:
                out.writelines(
                    json.dumps({"unit": unit.key, **tallies[unit.mnemonic].to_json()}) + "\n" for unit in todo
                )
    result.seconds = time.monotonic() - started
    if progress is not None and progress.isatty():
        progress.write("\n")
    return result


def _together(plan: Plan, work: Sequence[Unit]) -> Iterator[tuple[str, Setting, list[Unit]]]:
    """Units that are asked in one go: a whole setting, or a single unit where it is large enough by itself."""
    if plan.kind in ("exhaustive", "product"):
        yield from ((unit.toolkit, unit.setting, [unit]) for unit in work)
        return
    groups: dict[tuple[str, Setting], list[Unit]] = {}
    for unit in work:
        groups.setdefault((unit.toolkit, unit.setting), []).append(unit)
    yield from ((toolkit, setting, group) for (toolkit, setting), group in groups.items())


def _cases(plan: Plan, unit: Unit) -> Iterator[Case]:
    source = random.Random(f"{plan.seed}|{unit.key}")
    if plan.kind == "operands":
        yield from operand_cases(unit.mnemonic, unit.setting, plan.lines, source)
        return
    if plan.kind == "product":
        yield from product_cases(unit.mnemonic)
        return
    if plan.kind == "entry":
        drawn = random_cases(unit.mnemonic, 6 * plan.lines, source)
        sm, ptx = unit.setting.target, unit.setting.version
        fine = (one for one in drawn if check(one.opcode, sm=sm, ptx=ptx, toolkit=unit.toolkit).ptxas)
        yield from islice(fine, plan.lines)
        return
    if plan.kind != "exhaustive":
        yield from random_cases(unit.mnemonic, plan.lines, source)
        return
    table = registry.table(unit.mnemonic)
    for form in table.forms:
        seen: set[int] = set()
        for mask in accepted_anywhere(table, form):
            for near in (mask, *neighbours(form, mask)):
                if near not in seen:
                    seen.add(near)
                    written = case(table, form, near)
                    if written is not None:
                        yield written


def _chunks(cases: Iterator[Case]) -> Iterator[Sequence[Case]]:
    chunk: list[Case] = []
    for one in cases:
        chunk.append(one)
        if len(chunk) == _CHUNK:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def _load(path: Path) -> dict[str, Tally]:
    out: dict[str, Tally] = {}
    if not path.exists():
        return out
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            record = json.loads(line)
        except json.JSONDecodeError:
            continue  # the last line of a run that was stopped while writing: that unit is done again
        found = [Disagreement(**{**one, "rules": tuple(one["rules"])}) for one in record["disagreements"]]
        out[record["unit"]] = Tally(record["asked"], record["accepted"], record["crashed"], record["legal"], found,
                                    record["unpredicted"])
    return out


def _tell(progress: TextIO | None, number: int, total: int, asked: int, started: float, found: int) -> None:
    if progress is None:
        return
    seconds = max(time.monotonic() - started, 1e-9)
    text = f"{number}/{total} units, {asked:,} lines, {asked / seconds:,.0f} a second"
    if found:
        text += f", {found} differences just now"
    progress.write(f"\r{text:<78}" if progress.isatty() else text + "\n")
    progress.flush()
