"""Proof reports for people, programs and browsers."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ptxspec.cli.common import put

if TYPE_CHECKING:
    from ptxspec.lang.function import KernelFunction
    from ptxspec.proof import ProofReport


def text(report: ProofReport) -> str:
    """The table of obligations, then one diagnostic for each that is not proved."""
    parts = [report.text()]
    premises = report.premises
    if premises.alignments:
        aligned = ", ".join(f"{name} aligned to {size}" for name, size in premises.alignments.items())
        parts.append(f"  rests on: {aligned} (checked at launch)")
    parts += [f"  assumes: {t} (checked at launch)" for t, _, _ in premises.assumptions]
    parts += [f"  trusts: {t} (nobody can check it before the kernel runs)" for t, _, _ in premises.trusted]
    for diagnostic in report.diagnostics:
        parts.append("\n" + diagnostic.render())
    return "\n".join(parts)


def replay(kernel: KernelFunction, report: ProofReport, sm: str) -> None:
    """Run every counterexample of ``report`` in the simulator and print what happened."""
    from ptxspec.backend.replay import replay as run
    for obligation in report.failures():
        if obligation.counterexample is not None:
            put("\n" + run(kernel.kernel(), obligation, sm).text())


_STYLE = """body{font:15px/1.5 system-ui,sans-serif;margin:2em auto;max-width:70em;padding:0 1em}
body{color:#1b1f24;background:#fff}
table{border-collapse:collapse;width:100%}td,th{text-align:left;padding:.25em .8em;border-bottom:1px solid #d0d7de}
pre{background:#f6f8fa;padding:1em;overflow:auto}
.proved{color:#116329}.refuted{color:#a40e26}.unknown,.vacuous{color:#7d4e00}
td.ms{text-align:right;font-variant-numeric:tabular-nums}
@media(prefers-color-scheme:dark){body{color:#e6edf3;background:#0d1117}pre{background:#161b22}td,th{border-color:#30363d}
.proved{color:#56d364}.refuted{color:#ff7b72}.unknown,.vacuous{color:#e3b341}}"""


def page(reports: Sequence[ProofReport]) -> str:
    """One self-contained page: no script, no outside resource."""
    body: list[str] = []
    for report in reports:
        body.append(f"<h2>{html.escape(report.kernel)}: <span class={report.verdict}>{report.verdict}</span></h2>")
        body.append(f"<p>{len(report.obligations)} obligations for {html.escape(report.sm)} in {report.ms:.1f} ms</p>")
        body.append("<table><tr><th>code<th>obligation<th>verdict<th>line<th>of<th>ms</tr>")
        for code, name, verdict, line, subject, ms in report.rows():
            body.append(f"<tr><td>{code}<td>{html.escape(name)}<td class={verdict}>{verdict}<td>{line}"
                        f"<td>{html.escape(subject)}<td class=ms>{ms:.2f}</tr>")
        body.append("</table>")
        body += [f"<pre>{html.escape(d.render())}</pre>" for d in report.diagnostics]
    return ("<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>"
            f"<title>Proofs</title><style>{_STYLE}</style><h1>Proofs</h1>{''.join(body)}</html>\n")
