"""The outcome of a campaign as JSON for programs and Markdown for people."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from ptxspec.forms import registry

from .campaign import Plan, Result
from .compare import Disagreement, Tally, add, grouped
from .product import product_size
from .settings import missing_toolkits, toolkits

_MOST = 40


def summary(result: Result) -> str:
    """Plain text: what was asked, and every kind of difference with an example."""
    accepted = sum(tally.accepted for tally in result.tallies.values())
    crashed = sum(tally.crashed for tally in result.tallies.values())
    silent = sum(tally.unpredicted for tally in result.tallies.values())
    found = result.disagreements
    lines = [
        f"{result.asked:,} lines asked in {len(result.tallies):,} units: {accepted:,} accepted, {crashed:,} crashed an"
        f" assembler, {silent:,} not predicted, {len(found):,} unexplained differences"
    ]
    lines += [f"  {count:6} x {_sentence(one)}" for count, one in grouped(found)[:_MOST]]
    absent = missing_toolkits()
    if absent:
        lines.append(f"not on this machine, so not asked: {', '.join(absent)} (scripts/toolchains fetches them)")
    return "\n".join(lines)


def to_json(result: Result, date: str) -> dict[str, object]:
    """Counts for each toolkit, setting and mnemonic; differences grouped, with one example each."""
    return {
        "date": date,
        "plan": {"kind": result.plan.kind, "lines": result.plan.lines, "seed": result.plan.seed},
        "assemblers": {name: tool.name for name, tool in toolkits(result.plan.toolkits).items()},
        "tables": {name: registry.table(name).digest for name in result.plan.mnemonics},
        "columns": ["asked", "accepted", "crashed", "legal", "not predicted", "differences"],
        "units": {
            key: " ".join(map(str, (t.asked, t.accepted, t.crashed, t.legal, t.unpredicted, len(t.disagreements))))
            for key, t in _units(result).items()
        },
        "differences": [{"count": count, **_plain(one)} for count, one in grouped(result.disagreements)],
    }


def markdown(result: Result, date: str) -> str:
    """One page: the question, the assemblers, counts by toolkit and by mnemonic, and the differences."""
    tools = ", ".join(tool.name for tool in toolkits(result.plan.toolkits).values())
    out = [
        f"# Certification: {result.plan.kind}",
        "",
        f"{_question(result.plan)} Asked on {date} of {tools}. Each instruction stood alone on a line; the database's"
        f" prediction ({'errors of `ptxspec lint`' if result.plan.kind == 'operands' else 'field `ptxas` of `check`'},"
        " findings applied) was held against the assembler's answer.",
        "",
        f"**{result.asked:,} lines, {len(result.disagreements):,} unexplained differences.**",
        "",
        *_silent(result),
        "## By toolkit",
        "",
        *_table("toolkit", _sums(result, 0)),
        "",
        "## By mnemonic",
        "",
        *_table("mnemonic", _sums(result, 3)),
    ]
    if result.disagreements:
        out += ["", "## Differences", ""]
        out += [f"* {count} x {_sentence(one)}" for count, one in grouped(result.disagreements)]
    drawn = result.plan.kind not in ("exhaustive", "product")
    counts = f" --lines {result.plan.lines} --seed {result.plan.seed}" if drawn else ""
    out += ["", f"Again with: `ptxspec certify {result.plan.kind}{counts} --report docs/certification`", ""]
    return "\n".join(out)


def write(result: Result, folder: Path, date: str) -> list[Path]:
    """``KIND.json`` and ``KIND.md`` in ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    data, page = folder / f"{result.plan.kind}.json", folder / f"{result.plan.kind}.md"
    data.write_text(json.dumps(to_json(result, date), indent=1) + "\n", encoding="utf-8")
    page.write_text(markdown(result, date), encoding="utf-8")
    return [data, page]


def _silent(result: Result) -> list[str]:
    silent = sum(tally.unpredicted for tally in result.tallies.values())
    if not silent:
        return []
    return [
        f"Of {silent:,} lines nothing is predicted: they have words that the database does not have, for a mnemonic of"
        " which it does not have all forms.", "",
    ]


def _question(plan: Plan) -> str:
    match plan.kind:
        case "grid":
            return f"{plan.lines} lines of each mnemonic under every PTX version and target that each assembler takes."
        case "sample":
            return f"{plan.lines} lines of each mnemonic under a spread of PTX versions and targets."
        case "operands":
            return f"{plan.lines} lines of each mnemonic with operands changed, under a spread of versions and targets."
        case "entry":
            return f"{plan.lines} lines of each mnemonic that the front end takes, in a kernel: code is generated."
        case "product":
            total = sum(product_size(name) for name in plan.mnemonics)
            return f"One spelling for each class of words that no rule tells apart; they stand for {total:,} spellings."
        case "exhaustive":
            return "Every form that some assembler takes, and every spelling one qualifier away from one."


def _units(result: Result) -> dict[str, Tally]:
    """Tallies by unit; a grid has tens of thousands of small ones, so there by setting."""
    if result.plan.kind != "grid":
        return result.tallies
    out: dict[str, Tally] = defaultdict(Tally)
    for key, tally in result.tallies.items():
        add(out[key.rpartition("|")[0]], tally)
    return out


def _sums(result: Result, part: int) -> dict[str, Tally]:
    out: dict[str, Tally] = defaultdict(Tally)
    for key, tally in result.tallies.items():
        add(out[key.split("|")[part]], tally)
    return out


def _table(head: str, sums: dict[str, Tally]) -> Iterable[str]:
    yield f"| {head} | asked | accepted | crashed the assembler | not predicted | unexplained |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for name, t in sums.items():
        counts = (t.asked, t.accepted, t.crashed, t.unpredicted, len(t.disagreements))
        yield f"| {name} | {' | '.join(f'{count:,}' for count in counts)} |"


def _sentence(one: Disagreement) -> str:
    why = f" ({one.code}{': ' + ', '.join(one.rules) if one.rules else ''})" if one.code else ""
    said = f": {one.message}" if one.message else ""
    return (
        f"`{one.line}` predicted {one.predicted}{why}, {one.answered} by {one.toolkit}"
        f" at PTX {one.ptx}, {one.target}{said}"
    )


def _plain(one: Disagreement) -> dict[str, object]:
    return {
        "line": one.line, "predicted": one.predicted, "code": one.code, "rules": list(one.rules),
        "answered": one.answered, "message": one.message, "toolkit": one.toolkit, "ptx": one.ptx, "target": one.target,
    }
