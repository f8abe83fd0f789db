"""Layouts as drawings: a cell for each logical element with its owner and its place."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from ptxspec.layout import ComposeLayout, Layout
from ptxspec.report.diff import Difference, difference
from ptxspec.report.palette import lane_class
from ptxspec.report.places import Cell, Grid, grid, shared_places
from ptxspec.report.svg import CHARACTER, Drawing

Style = Callable[[Cell], str]
Label = Callable[[Cell], tuple[str, str]]
_HEAD = 18


@dataclass(frozen=True, slots=True)
class Picture:
    """A drawing and what has to be said beside it."""

    drawing: Drawing
    notes: tuple[str, ...] = ()


def layout_picture(layout: Layout, name: str = "", shape: Sequence[int] | None = None,
                   marked: Collection[tuple[int, ...]] = (), *, rows: int = 32, columns: int = 64) -> Picture:
    """Owner and place of every element; ``marked`` indices are drawn as failing."""
    found = grid(layout, shape, rows=rows, columns=columns)
    title = f"layout {name or repr(layout)}"
    drawing = Drawing(title)
    clash = shared_places(list(found.cells()))
    notes = list(found.notes)
    if clash:
        notes.append(f"{len(clash)} of the elements shown share a place with another one (red)")

    unit = units = 0
    if isinstance(layout, ComposeLayout) and layout.swizzle_len:
        unit, units = 1 << layout.per_element, 1 << layout.swizzle_len
        notes.append(f"colours: which of the {units} swizzled units of {unit} elements the place lies in")

    def style(cell: Cell) -> str:
        if cell.index in clash or cell.index in marked:
            return "px-bad"
        if units and cell.thread is None:
            return f"px-cell {lane_class(cell.axes['m'] // unit % units)}"
        return _style(cell)

    _draw(drawing, found, style, lambda c: (c.owner(), f"r{c.axes['m']}") if c.owner() else (str(c.axes["m"]), ""))
    return Picture(drawing, tuple(notes))


def layout_svg(layout: Layout, name: str = "", shape: Sequence[int] | None = None) -> str:
    """A layout as an SVG file."""
    return layout_picture(layout, name, shape).drawing.standalone()


def diff_picture(before: Layout, after: Layout, shape: Sequence[int] | None = None,
                 found: Difference | None = None) -> Picture:
    """One cell an element: faint where nothing changed, else the old place above the new one."""
    found = difference(before, after, shape) if found is None else found
    cells = grid(before, found.shape)
    new = {m.index: Cell(m.index, m.after) for m in found.moved}
    drawing = Drawing(f"{before!r} against {after!r}")

    def style(cell: Cell) -> str:
        moved = new.get(cell.index)
        return f"{_style(moved)} px-moved" if moved is not None else f"{_style(cell)} px-same"

    def label(cell: Cell) -> tuple[str, str]:
        moved = new.get(cell.index)
        return (cell.place(), "") if moved is None else (cell.place(), f"\u2192 {moved.place()}")

    _draw(drawing, cells, style, label)
    return Picture(drawing, (found.summary(), *cells.notes))


def diff_svg(before: Layout, after: Layout, shape: Sequence[int] | None = None) -> str:
    """What moved between two layouts, as an SVG file."""
    return diff_picture(before, after, shape).drawing.standalone()


def _style(cell: Cell) -> str:
    thread = cell.thread
    if thread is not None:
        return f"px-cell {lane_class(thread)}"
    return f"px-cell {'px-alt' if sum(cell.index[:-1]) % 2 else 'px-plain'}"


def _draw(drawing: Drawing, found: Grid, style: Style, label: Label) -> None:
    labels = {cell.index: label(cell) for cell in found.cells()}
    two = any(second for _, second in labels.values())
    longest = max((len(part) for pair in labels.values() for part in pair), default=1)
    heads = max((len(name) for name in found.columns), default=1)
    width = max(26.0, longest * CHARACTER + 8, heads * 5.8 + 4)
    height = 32.0 if two else 20.0
    lead = max((len(name) for name, _ in found.rows), default=0)
    left = lead * CHARACTER + (10 if lead else 0)
    top = float(_HEAD)
    if len(found.columns) > 1:
        for k, name in enumerate(found.columns):
            drawing.text(left + (k + 0.5) * width, _HEAD / 2, name, "px-dim px-small")
    for r, (name, row) in enumerate(found.rows):
        y = top + r * height
        if name:
            drawing.text(left - 6, y + height / 2, name, "px-dim px-r")
        for k, cell in enumerate(row):
            first, second = labels[cell.index]
            x = left + k * width
            drawing.rectangle(x, y, width, height, style(cell), f"{list(cell.index)}: {_tip(cell)}")
            if two:
                drawing.text(x + width / 2, y + 10, first)
                drawing.text(x + width / 2, y + 23, second, "px-dim")
            else:
                drawing.text(x + width / 2, y + height / 2, first)


def _tip(cell: Cell) -> str:
    return ", ".join(f"{axis} {at}" for axis, at in cell.axes.items())

