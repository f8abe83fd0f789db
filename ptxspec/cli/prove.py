"""``ptxspec prove``: every obligation of a file's kernels."""

from __future__ import annotations

from typing import Annotated

import typer

from ptxspec.cli.common import FINE, UNKNOWN, VIOLATED, Json, finish, line, put, write_bytes


def command(
    place: Annotated[str, typer.Argument(metavar="FILE.py[:KERNEL]")],
    sm: Annotated[str, typer.Option("--sm", metavar="SM", help="Target, such as sm_90.")] = "sm_90",
    json: Json = False,
    html: Annotated[str | None, typer.Option("--html", metavar="OUT", help="Also write a page.")] = None,
    replay: Annotated[bool, typer.Option("--replay", help="Run each counterexample in the simulator.")] = False,
) -> None:
    """Prove kernels. Exit status 1 when an obligation is refuted, 3 when one is unknown or vacuous."""
    from ptxspec.cli import report as render
    from ptxspec.cli.kernels import kernels
    from ptxspec.proof import prove
    worst = FINE
    reports = []
    for kernel in kernels(place):
        report = prove(kernel, sm=sm)
        reports.append(report)
        put(line(report.to_json()) if json else render.text(report))
        if replay:
            render.replay(kernel, report, sm)
        if report.verdict == "refuted":
            worst = VIOLATED
        elif report.verdict != "proved" and worst == FINE:
            worst = UNKNOWN
    if html is not None:
        write_bytes(html, render.page(reports).encode())
    finish(worst)
