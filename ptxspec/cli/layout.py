"""``ptxspec layout show``: where each element of a layout lies."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from ptxspec.cli.common import FINE, Json, finish, line, put, put_all, usage

if TYPE_CHECKING:
    from ptxspec.layout import Layout

app = typer.Typer(no_args_is_help=True, help="Look at layouts.", rich_markup_mode=None)
MOST = 4096


@app.callback()
def _root() -> None:
    """Look at layouts."""


@app.command("show")
def command(
    expressions: Annotated[list[str], typer.Argument(metavar="EXPR...", help="Such as 'S[(8, 4) : (4, 1)]' or "
                                                     "'TileLayout(S[(32, 4) : (1 @ laneid, 1)])'.")],
    json: Json = False,
) -> None:
    """Print the map from index to memory and threads."""
    from ptxspec.cli.expression import read
    for text in expressions:
        layout = read(text)
        size = layout.size()
        if not size.is_const or any(not e.is_const for e in layout.extents()):
            raise usage("U151", f"{text}: only layouts of constant extents can be shown")
        if size.const > MOST:
            raise usage("U151", f"{text}: {size.const} elements are too many to show; the most are {MOST}")
        if json:
            put(line(_data(text, layout)))
        else:
            put_all(_text(layout))
    finish(FINE)


def _rows(layout: Layout) -> Iterator[tuple[tuple[int, ...], dict[str, int]]]:
    from itertools import product
    for index in product(*(range(e.const) for e in layout.extents())):
        yield index, {axis: value.const for axis, value in layout.apply(*index, shape=layout.extents()).items()}


def _data(text: str, layout: Layout) -> dict[str, object]:
    low, high = layout.memory_range()
    return {"layout": text, "shape": [e.const for e in layout.extents()], "axes": ["m", *layout.axes()],
            "memory": [low.const, high.const], "contiguous": layout.is_contiguous(),
            "elements": [{"index": list(index), **axes} for index, axes in _rows(layout)]}


def _text(layout: Layout) -> Iterator[str]:
    """A grid of the last dimension for each row: memory place, and thread places where there are any."""
    low, high = layout.memory_range()
    yield f"{layout!r}"
    yield f"elements {layout.size()!r}, memory {low!r} to {high.const - 1}" \
          f"{', contiguous' if layout.is_contiguous() else ''}"
    axes = ["m", *layout.axes()]
    yield f"each cell: {' / '.join(axes)}"
    rows: dict[tuple[int, ...], list[str]] = {}
    for index, places in _rows(layout):
        cell = "/".join(str(places.get(axis, 0)) for axis in axes)
        rows.setdefault(index[:-1], []).append(cell)
    width = max((len(c) for cells in rows.values() for c in cells), default=1)
    lead = max((len(str(k)) for k in rows), default=1)
    for key, cells in rows.items():
        name = ", ".join(map(str, key))
        yield f"[{name}]".rjust(lead + 2) + "  " + " ".join(c.rjust(width) for c in cells)
