"""What notebooks show for layouts, form verdicts, reports and kernels (behind their ``_repr_html_``)."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ptxspec.forms.verdict import FormVerdict
    from ptxspec.lang.function import KernelFunction
    from ptxspec.layout import Layout
    from ptxspec.proof.report import ProofReport


def layout(value: Layout) -> str:
    """The drawing; just the text for a layout of symbolic extents."""
    from ptxspec.report.draw_layout import layout_picture
    from ptxspec.report.places import CORNER_COLUMNS, CORNER_ROWS, WHOLE, NotConstant
    text = f"<code>{escape(repr(value))}</code>"
    size = value.size()
    try:
        if size.is_const and size.const > WHOLE:
            picture = layout_picture(value, rows=CORNER_ROWS, columns=CORNER_COLUMNS)
        else:
            picture = layout_picture(value)
    except NotConstant as reason:
        return f"<div>{text}<br><small>not drawn: {escape(str(reason))}</small></div>"
    notes = "".join(f"<br><small>{escape(n)}</small>" for n in picture.notes)
    return f'<div>{text}{notes}<div style="overflow-x:auto">{picture.drawing.notebook()}</div></div>'


def report(value: ProofReport) -> str:
    """Verdict, diagnostics and the table of obligations."""
    from ptxspec.report.page import fragment
    return fragment(None, value)


def kernel(value: KernelFunction) -> str:
    """The kernel's page, proofs included; what is wrong with it where it cannot be read."""
    from ptxspec.diagnostics import PtxspecError
    from ptxspec.proof import prove
    from ptxspec.report.page import fragment
    try:
        traced = value.kernel()
    except PtxspecError as error:
        return f"<pre>{escape(str(error))}</pre>"
    return fragment(traced, prove(traced))


def verdict(value: FormVerdict) -> str:
    """Legal or not, and all that explains it."""
    word, colour = ("legal", "#1a7f37") if value.legal else ("not legal", "#cf222e")
    rows = [("the assembler", {"accept": "accepts it", "reject": "rejects it", "crash": "crashes on it"}[
        value.ptxas.value])]
    if value.floor is not None:
        rows.append(("needs", str(value.floor)))
    if value.canonical and value.canonical != value.opcode:
        rows.append(("canonical order", value.canonical))
    rows += [("forbidden by", f"{r.why} ({r.spec})") for r in value.rules]
    if value.nearest:
        rows.append(("nearest legal", ", ".join(value.nearest)))
    rows += [(f"finding {f.id}", f"{f.ptxas} {f.advice}") for f in value.findings]
    body = "".join(f"<tr><td>{escape(k)}</td><td style='text-align:left'>{escape(v)}</td></tr>" for k, v in rows)
    code = f" [{value.code}]" if value.code else ""
    return (f"<div><code>{escape(value.opcode)}</code>: <b style='color:{colour}'>{word}</b>{escape(code)}"
            f"<table>{body}</table></div>")
