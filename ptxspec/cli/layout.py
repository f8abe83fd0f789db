"""``ptxspec layout``: where the elements of a layout lie, and what moves between two of them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from ptxspec.cli.common import FINE, UNKNOWN, VIOLATED, Json, finish, line, put, usage, write_bytes

if TYPE_CHECKING:
    from ptxspec.layout import Layout
    from ptxspec.report.banks import Passes

NAME = "layout"
app = typer.Typer(no_args_is_help=True, help="Look at layouts.", rich_markup_mode=None)
Svg = Annotated[str | None, typer.Option("--svg", metavar="OUT", help="Also write a drawing.")]


@app.callback()
def _root() -> None:
    """Look at layouts."""


@app.command("show")
def command(
    expressions: Annotated[list[str], typer.Argument(metavar="EXPR...", help="Such as 'S[(8, 4) : (4, 1)]' or "
                                                     "'TileLayout(S[(32, 4) : (1 @ laneid, 1)])'.")],
    json: Json = False, svg: Svg = None,
    banks: Annotated[int | None, typer.Option("--banks", metavar="BYTES", min=1, max=16, help="Also the bank conflicts "
                                              "of a warp along each axis, for elements of so many bytes in shared "
                                              "memory.")] = None,
) -> None:
    """Print the map from index to memory and threads; in colour, one for each lane, on a terminal.

    Of more than 4,096 elements the first corner is shown, and where the last one lies.
    With several layouts, --svg OUT.svg writes OUT-1.svg, OUT-2.svg and so on.
    """
    layouts = [(text, _read(text)) for text in expressions]
    for number, (text, layout) in enumerate(layouts, 1):
        found = [] if banks is None else list(_along(layout, banks))
        if json:
            put(line({**_data(text, layout), **({} if banks is None else {"banks": [
                {"axis": axis, "passes": p.taken, "ideal": p.ideal} for axis, p in found]})}))
        else:
            from ptxspec.report.terminal import show
            if number > 1:
                put("")
            show(layout, sys.stdout)
            for axis, p in found:
                put(f"banks, lanes along axis {axis}: {p.summary()}")
        if svg is not None:
            from ptxspec.report import layout_svg
            write_bytes(_numbered(svg, number, len(layouts)), layout_svg(layout).encode())
    finish(FINE)


@app.command("diff")
def diff(
    before: Annotated[str, typer.Argument(metavar="EXPR")], after: Annotated[str, typer.Argument(metavar="EXPR")],
    json: Json = False, svg: Svg = None,
) -> None:
    """Print which elements lie in another place in the second layout.

    Exit status 1 when one does, 3 when there are too many elements to compare all of them and the first are the same.
    """
    from ptxspec.report import diff_svg, difference
    from ptxspec.report.places import NotConstant
    from ptxspec.report.terminal import show_difference
    old, new = _read(before), _read(after)
    try:
        found = difference(old, new)
    except NotConstant as reason:
        raise usage("U152", str(reason), "compare layouts of equally many elements") from None
    if json:
        put(line({"before": before, "after": after, **found.to_json()}))
    else:
        show_difference(old, new, found, sys.stdout)
    if svg is not None:
        write_bytes(svg, diff_svg(old, new).encode())
    finish(FINE if found.same else VIOLATED if found.moved else UNKNOWN)


def _along(layout: Layout, size: int) -> Iterator[tuple[int, Passes]]:
    """Axes of more than one element, and what a warp along them costs in shared memory."""
    from ptxspec.report.banks import along
    extents = layout.extents()
    return ((axis, found) for axis, found in enumerate(along(layout, size)) if extents[axis].const > 1)


def _read(text: str) -> Layout:
    """The layout that ``text`` describes. Raises UsageError U150, or U151 where it is no constant one."""
    from ptxspec.cli.expression import read
    layout = read(text)
    size = layout.size()
    low, high = layout.memory_range()
    if not all(e.is_const for e in (size, low, high, *layout.extents())):
        raise usage("U151", f"{text}: only layouts of constant extents can be shown")
    if size.const < 1:
        raise usage("U151", f"{text}: it has no element")
    return layout


def _numbered(name: str, number: int, count: int) -> str:
    if count == 1:
        return name
    stem, dot, end = name.rpartition(".")
    return f"{stem}-{number}.{end}" if dot else f"{name}-{number}"


def _data(text: str, layout: Layout) -> dict[str, object]:
    from ptxspec.report.places import corner
    low, high = layout.memory_range()
    cells = list(corner(layout).cells())
    return {"layout": text, "shape": [e.const for e in layout.extents()], "axes": ["m", *layout.axes()],
            "memory": [low.const, high.const], "contiguous": layout.is_contiguous(), "total": layout.size().const,
            "shown": len(cells), "elements": [{"index": list(c.index), **c.axes} for c in cells]}
