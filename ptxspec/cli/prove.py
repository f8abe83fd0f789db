"""``ptxspec prove``: every obligation of a file's kernels."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

import typer

from ptxspec.cli.common import FINE, UNKNOWN, VIOLATED, Json, finish, line, put

if TYPE_CHECKING:
    from ptxspec.report import Replay


def command(
    places: Annotated[list[str], typer.Argument(metavar="FILE.py[:KERNEL]...")],
    sm: Annotated[str, typer.Option("--sm", metavar="SM", help="Target, cuda for the GPU present.")] = "sm_90",
    json: Json = False,
    html: Annotated[str | None, typer.Option("--html", metavar="OUT", help="Also write a page, or, "
                                                    "where OUT is a folder or ends in /, one page per kernel.")] = None,
    replay: Annotated[bool, typer.Option("--replay", help="Run each counterexample in the simulator.")] = False,
) -> None:
    """Prove kernels. Exit status 1 when an obligation is refuted or a kernel cannot be read, 3 when an obligation is
    unknown or vacuous.

    --replay runs each counterexample in the simulator and puts the fault beside it; the status is 3 where they differ.
    """
    from ptxspec.backend.executable import resolve_target
    from ptxspec.backend.merging import merged
    from ptxspec.cli import report as render
    from ptxspec.cli.kernels import kernels
    from ptxspec.diagnostics import KernelError
    from ptxspec.forms.target import machine
    from ptxspec.proof import prove
    sm = machine(resolve_target(sm)).name
    worst = FINE
    reports = []
    replays: list[list[Replay]] = []
    for kernel in [k for place in places for k in kernels(place)]:
        try:
            report = prove(kernel, sm=sm)
        except KernelError as error:   # the others may be sound
            if json:
                put(line({"kernel": kernel.__name__, "verdict": "unreadable", "sm": sm, "file": kernel.file,
                          "diagnostics": [d.to_json() for d in error.diagnostics]}))
            typer.echo(str(error), err=True)
            worst = VIOLATED
            continue
        if report.verdict == "proved":   # how wide its element accesses then are
            report = merged(kernel.kernel_for(sm), sm).reported(report)
        reports.append((kernel, report))
        if json:
            put(line({**report.to_json(), "file": kernel.file}))
        else:
            if len(places) > 1:
                put(f"{os.path.relpath(kernel.file)}:{kernel.line}")
            render.show(report)
        if replay:
            replays.append(render.replay(kernel, report, json=json))
        if report.verdict == "refuted":
            worst = VIOLATED
        elif report.verdict != "proved" and worst == FINE:
            worst = UNKNOWN
    if html is not None:
        render.write_pages(html, reports, replays)
    # A prover and a simulator that disagree are no verdict at all.
    finish(UNKNOWN if any(not r.ok for found in replays for r in found) else worst)
