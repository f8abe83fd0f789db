"""One kernel: the prover's verdict against what brute force knows."""

from __future__ import annotations

import time
from collections.abc import Mapping

from proof_support.brute import Truth
from proof_support.maker import traced

from ptxspec.diagnostics import KernelError
from ptxspec.lang import ir
from ptxspec.proof import ProofReport, prove

Record = dict[str, object]

#: Outcomes that must not occur.
WRONG = ("proved wrong", "refuted wrong", "vacuous wrong")
#: Outcomes that count as judged.
JUDGED = ("proved right", "refuted right", "vacuous right", "unknown legal", "unknown illegal", *WRONG)


def judged(text: str, values: Mapping[str, range]) -> tuple[Record, ir.Kernel | None, ProofReport | None]:
    """Trace, run by brute force, prove, compare. The kernel and the report are None where the language refuses it."""
    started = time.perf_counter()
    try:
        kernel = traced(text)
    except KernelError as error:
        return {"outcome": "refused", "code": error.diagnostics[0].code}, None, None
    try:
        truth = Truth(kernel, dict(values))
    except NotImplementedError as error:
        return {"outcome": "not judged", "text": str(error)}, kernel, None
    seen = time.perf_counter()
    report = prove(kernel, use_cache=False)
    done = time.perf_counter()
    record = compare(truth, report)
    record |= {"prove_ms": round((done - seen) * 1e3, 2), "brute_ms": round((seen - started) * 1e3, 2)}
    record["obligations"] = len(report.obligations)
    return record, kernel, report


def compare(truth: Truth, report: ProofReport) -> Record:
    """The outcome, the rules that are broken, and what the report said of each."""
    by_verdict: dict[str, set[str]] = {}
    for obligation in report.obligations:
        by_verdict.setdefault(obligation.verdict, set()).add(obligation.code)
    refuted = by_verdict.get("refuted", set())
    bad = truth.broken(report)
    record: Record = {"verdict": report.verdict, "broken": sorted(bad)}
    if report.not_judged:
        record["not judged"] = len(report.not_judged)
    if (truth.soft | ({"defined"} if truth.unfilled else set())) - bad:  # broken indeed, but a proof promises less
        record["soft"] = sorted(truth.soft - bad | ({"defined"} if truth.unfilled else set()))
    if report.verdict == "proved":
        record["outcome"] = "proved wrong" if bad else "proved right"
    elif report.verdict == "vacuous":
        runs = truth.any and not truth.dead
        record["outcome"] = "vacuous wrong" if bad or runs else "vacuous right"
    elif report.verdict == "unknown":
        record["outcome"] = "unknown illegal" if bad or truth.soft else "unknown legal"
        record["causes"] = sorted({f"{o.code}: {o.reason}" for o in report.obligations if o.verdict == "unknown"})
    else:
        # Where barriers are not met by all, races are judged on the structure; outside its bounds neither order nor
        # races nor what was written is judged: there is no such element, and where it would lie is anyone's guess.
        loose = {"race-free"} if "convergent" in bad else set()
        loose |= {"consecutive", "defined", "race-free"} if "in-bounds" in bad else set()
        extra = refuted - bad - loose - truth.soft
        lacks = any(o.counterexample is None for o in report.obligations if o.verdict == "refuted")
        record["outcome"] = "refuted wrong" if not bad | truth.soft or extra or lacks else "refuted right"
        if extra or lacks:
            record["extra"] = sorted(extra) or ["no counterexample"]
        record["refuted"] = sorted(refuted)
    # Broken rules of which nothing was said. After a wrapping index or one out of bounds, the other rules of that
    # access are judged for the indices that exist, so these are counted apart.
    silent = bad - set().union(*(names for verdict, names in by_verdict.items() if verdict != "proved"))
    if silent and report.verdict != "proved":
        record["silent"] = sorted(silent)
        record["excused"] = bool(refuted & {"no-wrap", "in-bounds", "convergent"})
    return record


def broken_source(text: str) -> bool:
    """True when Python itself, not the project, stumbles over a source: its last frame is the generated text."""
    try:
        traced(text)
    except KernelError:
        return False
    except Exception as error:
        frame = error.__traceback__
        last = ""
        while frame is not None:
            last, frame = frame.tb_frame.f_code.co_filename, frame.tb_next
        return last.startswith("<generated") or isinstance(error, SyntaxError)
    return False
