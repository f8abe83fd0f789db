"""Layouts worked out element by element, arranged as a grid that fits a page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ptxspec.layout import ComposeLayout, Layout
from ptxspec.scalar import index as ix
from ptxspec.scalar.expr import Poly

MOST_ROWS = 32
MOST_COLUMNS = 64
#: Layouts of up to this many elements are shown whole in a terminal; of others a corner.
WHOLE = 4096
CORNER_ROWS, CORNER_COLUMNS = 16, 16
_LINE = 32

#: How an axis is written in a cell: a letter and the coordinate.
LETTERS: dict[str, str] = {
    "m": "", "laneid": "l", "warpid": "w", "tx": "t", "wid_in_wg": "q", "wgid": "g", "bx": "bx", "by": "by", "bz": "bz",
    "cbx": "cx", "cby": "cy", "cbz": "cz",
}
_THREAD = {"laneid": 1, "warpid": 32, "wid_in_wg": 32, "wgid": 128, "tx": 1}


class NotConstant(ValueError):  # noqa: N818
    """The layout's extents or places are not known numbers, so it cannot be drawn."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One logical element: its index and its coordinate on every axis."""

    index: tuple[int, ...]
    axes: Mapping[str, int]

    @property
    def thread(self) -> int | None:
        """The owning thread within the CTA; None for a layout without thread axes."""
        return thread_of(self.axes)

    def owner(self) -> str:
        """The owner in short (``w1 l3``); empty for plain memory."""
        return " ".join(f"{LETTERS.get(axis, axis)}{at}" for axis, at in self.axes.items() if axis != "m")

    def place(self) -> str:
        """Owner and position, as the terminal shows them."""
        owner = self.owner()
        return f"{owner} r{self.axes['m']}" if owner else str(self.axes["m"])


@dataclass(frozen=True, slots=True)
class Grid:
    """Rows of cells. ``notes`` say what was left out and what the cells do not show."""

    shape: tuple[int, ...]
    axes: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]
    columns: tuple[str, ...]
    notes: tuple[str, ...]

    def cells(self) -> Iterator[Cell]:
        """Every cell, row by row."""
        for _, row in self.rows:
            yield from row


def thread_of(axes: Mapping[str, int]) -> int | None:
    """The linear thread that coordinates on thread axes name."""
    named = [(axis, at) for axis, at in axes.items() if axis in _THREAD]
    return sum(_THREAD[axis] * at for axis, at in named) if named else None


def constant(value: Poly, what: str) -> int:
    """The number ``value`` is. Raises :class:`NotConstant`."""
    if not value.is_const:
        raise NotConstant(f"{what} {value!r} is not a known number")
    return value.const


def shape_of(layout: Layout) -> tuple[int, ...]:
    """The layout's own extents as numbers. Raises :class:`NotConstant`."""
    return tuple(constant(e, "the extent") for e in layout.extents())


def place(layout: Layout, index: Sequence[int], shape: Sequence[int]) -> dict[str, int]:
    """Coordinates of one element on ``m`` and every other axis of the layout."""
    at = layout.place([ix.constant(i) for i in index], [ix.constant(e) for e in shape])
    found = {axis: constant(value, f"the place on {axis}") for axis, value in at.items()}
    return {axis: found.get(axis, 0) for axis in [*layout.axes(), "m"]}


def grid(layout: Layout, shape: Sequence[int] | None = None, *, rows: int = MOST_ROWS,
         columns: int = MOST_COLUMNS) -> Grid:
    """The first ``rows`` x ``columns`` elements. Raises :class:`NotConstant` for symbolic layouts."""
    dims = tuple(shape) if shape is not None else shape_of(layout)
    dims = dims or (1,)
    notes: list[str] = []
    if len(dims) == 1 and dims[0] > min(columns, _LINE):
        return _folded(layout, dims[0], rows, min(columns, _LINE))
    lead, tail = split(dims, columns)
    all_rows = list(first_indices(lead, rows))
    all_columns = list(first_indices(tail, columns))
    total_rows, total_columns = _size(lead), _size(tail)
    if total_rows > len(all_rows):
        notes.append(f"{len(all_rows)} of {total_rows} rows are shown")
    if total_columns > len(all_columns):
        notes.append(f"{len(all_columns)} of {total_columns} columns are shown")
    notes += copies(layout)
    made = []
    for row in all_rows:
        cells = tuple(Cell((*row, *column), place(layout, (*row, *column), dims)) for column in all_columns)
        made.append((", ".join(map(str, row)), cells))
    return Grid(dims, layout.axes(), tuple(made), tuple(",".join(map(str, c)) for c in all_columns), tuple(notes))


def corner(layout: Layout, columns: int = WHOLE) -> Grid:
    """All elements of a layout of moderate size, in rows of at most ``columns``; of a larger one the first corner."""
    size = constant(layout.size(), "the number of elements")
    if size <= WHOLE:
        return grid(layout, rows=WHOLE, columns=columns)
    found = grid(layout, rows=CORNER_ROWS, columns=CORNER_COLUMNS)
    last = [e - 1 for e in found.shape]
    at = Cell(tuple(last), place(layout, last, found.shape)).place()
    return replace(found, notes=(*found.notes, f"the last element, {last}, lies at {at}"))


def _folded(layout: Layout, size: int, rows: int, width: int) -> Grid:
    """One long dimension in rows of ``width``."""
    total = -(-size // width)
    made = []
    for row in range(min(rows, total)):
        indices = range(row * width, min(size, (row + 1) * width))
        made.append((str(row * width), tuple(Cell((i,), place(layout, (i,), (size,))) for i in indices)))
    notes = [f"{len(made)} of {total} rows are shown"] if total > len(made) else []
    return Grid((size,), layout.axes(), tuple(made), tuple(f"+{k}" for k in range(width)),
                (*notes, *copies(layout)))


def split(dims: tuple[int, ...], columns: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Leading dimensions as rows, trailing ones as columns, as many as fit (at least the last one)."""
    if len(dims) == 1:
        return (), dims
    best, width = len(dims) - 1, dims[-1]
    for k in range(len(dims) - 2, 0, -1):
        width *= dims[k]
        if width > min(columns, 32):
            break
        best = k
    return dims[:best], dims[best:]


def copies(layout: Layout) -> list[str]:
    """What the replica factors of a layout mean, in words."""
    tile = layout.tile_layout if isinstance(layout, ComposeLayout) else layout
    found = []
    for factor in getattr(tile, "replica", ()):
        if factor.extent != ix.ONE:
            axis = "memory" if factor.axis == "m" else factor.axis
            found.append(f"every element has {factor.extent!r} copies, {factor.stride!r} apart along {axis}; "
                         "the first is shown")
    return found


def shared_places(cells: Sequence[Cell]) -> set[tuple[int, ...]]:
    """Indices of the cells that lie where another one lies."""
    seen: dict[tuple[tuple[str, int], ...], Cell] = {}
    found: set[tuple[int, ...]] = set()
    for cell in cells:
        other = seen.setdefault(tuple(sorted(cell.axes.items())), cell)
        if other is not cell:
            found |= {cell.index, other.index}
    return found


def first_indices(dims: tuple[int, ...], most: int) -> Iterator[tuple[int, ...]]:
    """The first ``most`` indices of an array of shape ``dims``, in row-major order."""
    # itertools.product would hold every range in memory, and extents may be large.
    for number in range(min(most, _size(dims))):
        index: list[int] = []
        for extent in reversed(dims):
            number, at = divmod(number, extent)
            index.append(at)
        yield tuple(reversed(index))


def _size(dims: tuple[int, ...]) -> int:
    size = 1
    for extent in dims:
        size *= extent
    return size
