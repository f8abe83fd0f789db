"""Figures of a campaign, as JSON and as a page."""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from soundness_campaign import judge, solvers
from soundness_campaign.campaign import FIRST_SEED, Campaign

#: Plain JSON values.
Result = dict[str, Any]

_LOST = ("time", "died", "error")


def _count(records: Iterable[Result], key: str) -> dict[str, int]:
    return dict(sorted(Counter(str(r[key]) for r in records if key in r).items()))


def summary(campaign: Campaign, given: argparse.Namespace) -> Result:
    """All figures; ``wrong`` lists everything that must not be."""
    import z3

    kernels, mutants, compared = (log.records for log in (campaign.kernels, campaign.mutants, campaign.solvers))
    result: Result = {
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "python": platform.python_version(), "z3": z3.get_version_string(), "cvc5": solvers.available(),
        "sources": campaign.versions, "jobs": given.jobs, "cores": os.cpu_count(), "patience": given.patience,
        "seconds": {k: round(v, 1) for k, v in campaign.seconds.items()}, "complete": campaign.complete,
        "first": (f" --first {campaign.first}" if campaign.first != FIRST_SEED else "")
        + (f" --family {campaign.family}" if campaign.family else ""),
        "kernels": random_figures(kernels),
    }
    if mutants:
        result["mutants"] = mutant_figures(mutants)
    if compared:
        result["solvers"] = solver_figures(compared)
    result["wrong"] = [_brief(r) for r in (*kernels, *mutants) if r["outcome"] in judge.WRONG]
    result["wrong"] += [_brief(r) for r in kernels if not _agrees(r)]
    result["wrong"] += [r for r in compared if r["outcome"] == "contradiction"]
    return result


def _agrees(record: Result) -> bool:
    opinion = record.get("simulator")
    return not isinstance(opinion, dict) or bool(opinion["agrees"])


def _brief(record: Result) -> Result:
    return {k: v for k, v in record.items() if k not in ("has", "prove_ms", "brute_ms", "obligations")}


def random_figures(records: list[Result]) -> Result:
    """Random kernels: outcomes, coverage, causes of unknown, the simulator."""
    done = [r for r in records if r["outcome"] in judge.JUDGED]
    legal = [r for r in done if not r["broken"] and "soft" not in r]
    unknown = [r for r in done if r["outcome"] == "unknown legal"]
    opinions = [r["simulator"] for r in done if isinstance(r.get("simulator"), dict)]
    times = sorted(float(str(r["prove_ms"])) for r in done)
    replays: Counter[str] = Counter()
    for opinion in opinions:
        replays.update(opinion.get("replays", {}))
    return {
        "made": len(records), "judged": len(done), "legal": len(legal), "outcomes": _count(records, "outcome"),
        "seeds": [min((r["seed"] for r in records), default=0), max((r["seed"] for r in records), default=0)],
        "families": _count(done, "family"),
        "obligations": sum(int(str(r["obligations"])) for r in done),
        "refused": _count((r for r in records if r["outcome"] == "refused"), "code"),
        "broken": dict(Counter(n for r in done for n in r["broken"]).most_common()),
        "has": dict(Counter(n for r in done for n in r["has"]).most_common()),
        "unknown legal": {"count": len(unknown), "share": len(unknown) / max(1, len(legal)),
                          "causes": dict(Counter(c for r in unknown for c in _causes(r)).most_common()),
                          "seeds": sorted(r["seed"] for r in unknown)},
        "unknown illegal": {"causes": dict(Counter(
            c for r in done if r["outcome"] == "unknown illegal" for c in _causes(r)).most_common())},
        "silent": {"excused": sum(bool(r.get("silent")) and bool(r["excused"]) for r in done),
                   "other": sorted(r["seed"] for r in done
                                   if r.get("silent") and not r["excused"])[:50]},
        "not judged": sum("not judged" in r and r["verdict"] == "proved" for r in done),
        "beyond the promise": sum("soft" in r and r["verdict"] == "proved" for r in done),
        "lost": [_brief(r) for r in records if r["outcome"] in _LOST],
        "simulator": {"kernels": sum(o["about"] != "not emitted" for o in opinions),
                      "not emitted": _count(opinions, "code"), "proved": sum(o["about"] == "proved" for o in opinions),
                      "disagree": sum(not o["agrees"] for o in opinions), "replays": dict(replays)},
        "prove_ms": {name: times[int(at * (len(times) - 1))] if times else 0
                     for name, at in (("median", 0.5), ("99 %", 0.99), ("longest", 1.0))},
    }


def _causes(record: Result) -> list[str]:
    """Causes with names and numbers of the kernel taken out, so that they can be counted."""
    return sorted({re.sub(r"\b\d+\b", "N", re.sub(r"`[^`]*`", "`...`", c)) for c in record["causes"]})


def _of_a_file(record: Result) -> bool:
    return ".py " in str(record["source"])


def mutant_figures(records: list[Result]) -> Result:
    """Mutants: how many are wrong, how many of those are refuted, and every other one."""
    judged = [r for r in records if r["outcome"] in judge.JUDGED]
    wrong = [r for r in judged if r["broken"]]
    killed = [r for r in wrong if r["verdict"] == "refuted"]
    return {
        "made": len(records), "sources": len({r["source"] for r in records}),
        "examples": len({r["source"] for r in records if _of_a_file(r)}),
        "outcomes": _count(records, "outcome"), "judged": len(judged), "wrong": len(wrong), "killed": len(killed),
        "kill rate": len(killed) / max(1, len(wrong)),
        "survivors": [_brief(r) for r in wrong if r["verdict"] != "refuted"],
        "still right": len(judged) - len(wrong),
        "unknown of those": sum(r["outcome"] == "unknown legal" for r in judged),
        "lost": [_brief(r) for r in records if r["outcome"] in _LOST],
    }


def solver_figures(records: list[Result]) -> Result:
    """Goals by agreement."""
    total: Counter[str] = Counter()
    for record in records:
        count = record.get("count")
        if isinstance(count, dict):
            total.update(count)
    written = [r for r in records if _of_a_file(r)]
    return {"kernels": len(records), "written": len(written), "outcomes": _count(records, "outcome"),
            "count": dict(sorted(total.items())), "lost": [_brief(r) for r in records if r["outcome"] in _LOST]}


def save(result: Result, out: Path) -> str:
    """Write soundness.json and soundness.md; the page is returned."""
    text = page(result)
    (out / "soundness.json").write_text(json.dumps(result, indent=1) + "\n")
    (out / "soundness.md").write_text(text)
    return text


def page(result: Result) -> str:
    """The Markdown page."""
    kernels: Result = result["kernels"]
    outcomes: dict[str, int] = kernels["outcomes"]
    unknown: Result = kernels["unknown legal"]
    seen: Result = kernels["simulator"]
    silent: Result = kernels["silent"]
    out = [
        "# Soundness campaign", "",
        "Random kernels are run by a plain interpreter, thread by thread and for every value of their scalars "
        "(brute force, which shares no code with the prover), and the prover's verdict is compared with what it saw. "
        "Half are written to be mostly right, half to be mostly wrong.", "",
        "## Random kernels", "", "| | kernels |", "| --- | ---: |",
        f"| judged (seeds {kernels['seeds'][0]} to {kernels['seeds'][1]}) | {kernels['judged']:,} |",
        f"| legal by brute force | {kernels['legal']:,} |",
    ]
    for name in ("proved right", "refuted right", "vacuous right", "proved wrong", "refuted wrong", "vacuous wrong",
                 "unknown legal", "unknown illegal"):
        said = {"proved wrong": "**proved, but wrong**", "refuted wrong": "**refuted, but right** (or for a rule that "
                "holds)", "unknown legal": "unknown, and legal", "unknown illegal": "unknown, and illegal",
                "vacuous wrong": "**vacuous, but it runs**"}.get(name, name.replace(" right", ", and so it is"))
        out.append(f"| {said} | {outcomes.get(name, 0):,} |")
    rest = {k: v for k, v in outcomes.items() if k not in judge.JUDGED}
    out += ["", f"Not judged: {_list(rest)}. (`refused`: the language itself says no; `time`: no answer in "
            f"{result['patience']:g} s.)", "",
            f"Unknown among legal kernels: {float(str(unknown['share'])):.2%}. Causes:", ""]
    out += _bullets(unknown["causes"])
    if unknown["seeds"]:
        out += ["", f"Seeds: {unknown['seeds']}"]
    out += ["", "Causes among illegal ones:", "", *_bullets(kernels["unknown illegal"]["causes"]), "",
            f"{kernels['obligations']:,} obligations. Rules broken in the judged kernels: {_list(kernels['broken'])}. "
            f"In {silent['excused']} refused kernels a further broken rule is not named: rules are judged for the "
            f"indices that exist and stay in their type and for barriers that all meet; in {len(silent['other'])} "
            f"it is not named for another reason{': ' + str(silent['other']) if silent['other'] else ''}.", "",
            f"In {kernels['not judged']:,} proved kernels the report names reads of shared memory whose bytes it did "
            f"not judge (docs/soundness.md); in {kernels['beyond the promise']:,} of them such a byte is indeed one "
            "that nobody writes.", "",
            f"Families: {_list(kernels['families'])}. Coverage: {_list(kernels['has'])}.", "",
            f"The simulator saw {seen['kernels']:,} of them (emitted text; {seen['proved']:,} proved ones ran with "
            f"every scalar value): {seen['disagree']} disagree. Counterexamples replayed: "
            f"{_list(seen['replays'])}. Refused by emission, with a code: {_list(seen['not emitted'])}.", "",
            f"Proof time of a kernel, ms: {_list(kernels['prove_ms'])}.", ""]
    if "mutants" in result:
        out += _mutants(result["mutants"])
    if "solvers" in result:
        out += _solvers(result["solvers"])
    wrong: list[Result] = result["wrong"]
    lost = [r for part in ("kernels", "mutants", "solvers") if part in result
            for r in result[part]["lost"]]
    out += ["## Wrong verdicts and contradictions", ""]
    out += [f"- {json.dumps(_short(r))}" for r in wrong] or ["None."]
    if lost:
        out += ["", "## Without an answer", "", *(f"- {json.dumps(_short(r))}" for r in lost[:100])]
    unfinished = [k for k, v in result["complete"].items() if not v]
    out += ["", f"Measured {result['date']} with Python {result['python']}, Z3 {result['z3']}, cvc5 "
            f"{result['cvc5'] or 'absent'}, {result['jobs']} processes on {result['cores']} cores; seconds: "
            f"{_list(result['seconds'])}.{' Stopped by the time limit: ' if unfinished else ''}{', '.join(unfinished)}",
            "", f"Digest of the sources judged: {', '.join(result['sources'])}.",
            "", f"Again: `scripts/soundness --kernels {kernels['judged']}{result['first']} --mutants --solvers "
            "--out DIR`; one kernel: "
            "`scripts/soundness --show SEED`.", ""]
    return "\n".join(out)


def _mutants(figures: Result) -> list[str]:
    survivors: list[Result] = figures["survivors"]
    out = ["## Mutants", "",
           "Every single change (numbers, operators, comparisons, indices, threads, guards, predicates, vector widths, "
           "state spaces, layouts, statements dropped or swapped) of the "
           f"{figures['examples']} kernels of the examples and {figures['sources'] - figures['examples']} random right "
           f"kernels: {figures['made']:,} mutants, {figures['judged']:,} of them kernels.", "",
           "| | mutants |", "| --- | ---: |",
           f"| wrong by brute force | {figures['wrong']:,} |", f"| of these refuted | {figures['killed']:,} |",
           f"| kill rate | {float(str(figures['kill rate'])):.3%} |",
           f"| still right | {figures['still right']:,} |",
           f"| of these unknown | {figures['unknown of those']:,} |", "",
           f"All outcomes: {_list(figures['outcomes'])}.", "",
           f"Survivors (wrong, but not refuted): {len(survivors)}", ""]
    for r in survivors[:200]:
        out.append(f"- {r['source']} number {r['number']} ({r['what']}): {r['verdict']}, breaks {r['broken']}; "
                   f"{'; '.join(_causes(r)) if 'causes' in r else ''}")
    return [*out, ""]


def _solvers(figures: Result) -> list[str]:
    count: dict[str, int] = figures["count"]
    names = ("goals", "decided by the normaliser", "prover and cvc5 agree", "prover and Z3 agree", "Z3 and cvc5 agree",
             "prover and cvc5 contradict", "prover and Z3 contradict", "Z3 and cvc5 contradict", "prover undecided",
             "Z3 undecided", "cvc5 undecided", "no encoding, or a quotient of unknowns")
    return ["## A second solver", "",
            f"The goals of {figures['written']:,} written kernels (`tests/proofs`, `examples`) and "
            f"{figures['kernels'] - figures['written']:,} random ones, each decided by the prover "
            "(normaliser, then Z3), by Z3 alone, and by cvc5, within resource limits. Goals that a process met before "
            "are not counted again.", "", "| | goals |", "| --- | ---: |",
            *(f"| {name} | {count.get(name, 0):,} |" for name in names), "",
            f"Kernels: {_list(figures['outcomes'])}.", ""]


def _short(record: Result) -> Result:
    return {k: (str(v)[-300:] if k == "text" else v) for k, v in record.items() if k != "contradictions"}


def _list(figures: object) -> str:
    assert isinstance(figures, dict)
    return ", ".join(f"{k} {v:,}" for k, v in figures.items()) or "none"


def _bullets(figures: object) -> list[str]:
    assert isinstance(figures, dict)
    return [f"- {v:,} x {k}" for k, v in figures.items()] or ["- none"]
