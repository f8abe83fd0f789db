"""Layouts in a terminal: tables with one colour a thread, plain text where colours are not wanted."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TextIO

from ptxspec.layout import Layout
from ptxspec.report.diff import Difference
from ptxspec.report.places import Cell, Grid, corner, grid, shared_places

if TYPE_CHECKING:
    from rich.text import Text

    from ptxspec.proof.report import ProofReport

    Shown = Callable[[Cell], Text]

#: Background colours of the 256-colour palette, one a lane: eight hues in four depths.
_BACKGROUNDS = (
    153, 223, 157, 183, 217, 159, 229, 218, 117, 222, 120, 177, 210, 123, 227, 212,
    75, 215, 84, 141, 203, 87, 221, 205, 69, 214, 78, 135, 197, 80, 220, 199,
)


def show(layout: Layout, out: TextIO, *, most: int = 64) -> None:
    """Write the grid of ``layout`` to ``out``: place of each element, with its owner where there is one.

    Of a layout of very many elements the first corner is written, and where the last element lies.
    """
    low, high = layout.memory_range()
    found = corner(layout, most)
    shown = sum(len(row) for _, row in found.rows)
    clash = shared_places(list(found.cells()))
    out.write(f"{layout!r}\n")
    span = f"memory {low!r} to {high.const - 1}" if high.is_const else f"memory {low!r} to {high!r} - 1"
    out.write(f"elements {layout.size()!r}, {span}{', contiguous' if layout.is_contiguous() else ''}\n")
    out.write("each cell: position\n" if not layout.axes() else
              f"each cell: {', '.join(_meaning(a) for a in layout.axes())}, r register of that thread\n")
    for note in found.notes:
        out.write(f"note: {note}\n")
    if clash:
        what = "elements" if layout.size() == shown else "of the elements shown"
        out.write(f"note: {len(clash)} {what} share a place with another one\n")
    _table(found, out, lambda cell: _shown(cell, cell.index in clash))


def show_difference(before: Layout, after: Layout, found: Difference, out: TextIO, *, rows: int = 64,
                    columns: int = 64) -> None:
    """Write what moved: a grid of ``old>new`` places, dots where nothing changed."""
    from rich.text import Text
    out.write(f"- {before!r}\n+ {after!r}\n{found.summary()}\n")
    if found.same:
        return
    moved = {m.index: m for m in found.moved}
    cells = grid(before, found.shape, rows=rows, columns=columns)
    for note in cells.notes:
        out.write(f"note: {note}\n")

    def shown(cell: Cell) -> Text:
        change = moved.get(cell.index)
        if change is None:
            return Text("\u00b7", style="dim")
        return Text(f"{cell.place()}\u2192{Cell(cell.index, change.after).place()}", style="bold red")
    _table(cells, out, shown)


def show_report(report: ProofReport, out: TextIO) -> None:
    """Write the table of obligations in colour, for a terminal: what is not proved first, then the rest."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text
    colours = {"proved": "green", "refuted": "bold red", "unknown": "yellow", "vacuous": "yellow"}
    console = Console(file=out, highlight=False, soft_wrap=True)
    console.print(Text.assemble((report.kernel, "bold"), ": ", (report.verdict, colours[report.verdict]),
                                f" ({len(report.obligations)} obligations, {report.ms:.1f} ms)"))
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for name in ("", "obligation", "verdict", "line", "ms", "of"):
        table.add_column(name, justify="right" if name in ("line", "ms") else "left", no_wrap=True)
    for code, name, verdict, line, subject, ms in report.rows():
        table.add_row(Text(code, style="dim"), name, Text(verdict, style=colours[verdict]), line, f"{ms:.2f}",
                      Text(subject))
    console.print(table)


def _meaning(axis: str) -> str:
    from ptxspec.report.places import LETTERS
    names = {"laneid": "lane", "warpid": "warp", "tx": "thread", "wid_in_wg": "warp of the warpgroup",
             "wgid": "warpgroup"}
    return f"{LETTERS.get(axis, axis)} {names.get(axis, 'block ' + axis)}"


def _shown(cell: Cell, bad: bool) -> Text:
    from rich.text import Text
    if bad:
        return Text(cell.place(), style="bold red")
    thread = cell.thread
    style = "" if thread is None else f"black on color({_BACKGROUNDS[thread % 32]})"
    return Text(cell.place(), style=style)


def _table(found: Grid, out: TextIO, shown: Shown) -> None:
    from rich.console import Console
    from rich.table import Table
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), show_header=len(found.columns) > 1,
                  header_style="dim")
    table.add_column("", justify="right", no_wrap=True, style="dim")
    for name in found.columns:
        table.add_column(name, justify="right", no_wrap=True)
    width = 0
    for name, row in found.rows:
        texts = [shown(cell) for cell in row]
        width = max(width, sum(len(t.plain) for t in texts))
        table.add_row(_label(name), *texts)
    columns = sum(max(len(n), 12) + 1 for n in found.columns)
    # Lines are never folded by the table: a terminal does that itself, and a file keeps whole lines.
    console = Console(file=out, width=width + columns + 40, highlight=False, soft_wrap=True)
    console.print(table)


def _label(name: str) -> Text:
    from rich.text import Text
    return Text(f"[{name}]" if name else "")

