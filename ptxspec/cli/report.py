"""Proof reports for people, programs and browsers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ptxspec.cli.common import line, put, usage, write_bytes

if TYPE_CHECKING:
    from ptxspec.lang.function import KernelFunction
    from ptxspec.proof import ProofReport
    from ptxspec.report import Replay


def show(report: ProofReport) -> None:
    """Print a report: the table in colour on a terminal, plain elsewhere."""
    import sys
    if sys.stdout.isatty():
        from ptxspec.report.terminal import show_report
        show_report(report, sys.stdout)
        put(text(report, table=False))
    else:
        put(text(report))


def text(report: ProofReport, *, table: bool = True) -> str:
    """The table of obligations, then one diagnostic for each that is not proved."""
    parts = [report.text()] if table else []
    premises = report.premises
    if premises.alignments:
        aligned = ", ".join(f"{name} aligned to {size}" for name, size in premises.alignments.items())
        parts.append(f"  rests on: {aligned} (checked at launch)")
    parts += [f"  assumes: {t} (checked at launch)" for t, _, _ in premises.assumptions]
    parts += [f"  trusts: {t} (nobody can check it before the kernel runs)" for t, _, _ in premises.trusted]
    if not table:
        parts += [f"  not judged: {t}" for t in report.not_judged]
    for diagnostic in report.diagnostics:
        parts.append("\n" + diagnostic.render())
    return "\n".join(parts)


def replay(kernel: KernelFunction, report: ProofReport, *, json: bool = False) -> list[Replay]:
    """Run every counterexample of ``report`` in the simulator and print what happened beside it."""
    from ptxspec.report import replay_all
    found = replay_all(kernel, report)
    for one in found:
        put(line({"replay": one.to_json()}) if json else "\n" + one.text())
    return found


def write_pages(out: str, items: Sequence[tuple[KernelFunction, ProofReport]],
                replays: Sequence[Sequence[Replay]] = ()) -> None:
    """One page with all kernels, or, where ``out`` is a folder, a page for each and an index. Raises U131."""
    from ptxspec.report.page import index, page
    folder = Path(out)
    if not (out.endswith(("/", "\\")) or folder.is_dir()):
        write_bytes(out, page(items, replays=replays).encode())
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise usage("U131", f"cannot write {out}: {error.strerror}") from None
    names: list[tuple[str, ProofReport]] = []
    for number, (kernel, report) in enumerate(items):
        name = f"{report.kernel}.html"
        if any(name == known for known, _ in names):
            name = f"{report.kernel}-{len(names)}.html"
        write_bytes(str(folder / name), page([(kernel, report)], replays=replays[number:number + 1]).encode())
        names.append((name, report))
    write_bytes(str(folder / "index.html"), index(names).encode())
