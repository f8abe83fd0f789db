"""What moved between two layouts of the same elements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ptxspec.layout import Layout
from ptxspec.report.places import Cell, NotConstant, first_indices, place, shape_of

MOST_ELEMENTS = 1 << 16


@dataclass(frozen=True, slots=True)
class Moved:
    """One element whose place differs: its logical index, and its coordinates before and after."""

    index: tuple[int, ...]
    before: Mapping[str, int]
    after: Mapping[str, int]

    def text(self) -> str:
        """``before -> after`` in short."""
        return f"{Cell(self.index, self.before).place()} -> {Cell(self.index, self.after).place()}"


@dataclass(frozen=True, slots=True)
class Difference:
    """``moved`` among the ``compared`` elements of ``shape`` (row-major order); ``total`` is how many there are."""

    shape: tuple[int, ...]
    moved: tuple[Moved, ...]
    compared: int
    total: int

    @property
    def same(self) -> bool:
        """True when every element lies in its old place."""
        return not self.moved and self.compared >= self.total

    def owners_changed(self) -> int:
        """How many elements belong to another thread than before."""
        return sum({k: v for k, v in m.before.items() if k != "m"} != {k: v for k, v in m.after.items() if k != "m"}
                   for m in self.moved)

    def summary(self) -> str:
        """One sentence."""
        if self.same:
            return f"the same: all {self.total} elements lie in the same place"
        cut = f" (the first {self.compared} of {self.total} were compared)" if self.compared < self.total else ""
        owners = self.owners_changed()
        who = f", {owners} of them to another owner" if owners else ""
        return f"{len(self.moved)} of {self.compared} elements moved{who}{cut}"

    def to_json(self) -> dict[str, object]:
        """Plain values."""
        return {"shape": list(self.shape), "total": self.total, "compared": self.compared, "same": self.same,
                "moved": [{"index": list(m.index), "before": dict(m.before), "after": dict(m.after)}
                          for m in self.moved]}


def difference(before: Layout, after: Layout, shape: Sequence[int] | None = None) -> Difference:
    """Compare element by element, with indices in ``shape`` (default: the dimensions of ``before``).

    Of very many elements the first are compared, unless both layouts are the same in their simplest form.

    Raises :class:`~ptxspec.report.places.NotConstant` for symbolic layouts or different numbers of elements.
    """
    dims = tuple(shape) if shape is not None else shape_of(before)
    total = 1
    for extent in dims:
        total *= extent
    other = 1
    for extent in shape_of(after):
        other *= extent
    if total != other:
        raise NotConstant(f"the layouts have {total} and {other} elements, so they cannot be compared")
    axes = dict.fromkeys([*before.axes(), *after.axes()])
    moved: list[Moved] = []
    compared = 0
    if total > MOST_ELEMENTS and dims == shape_of(after) and before.canonicalize() == after.canonicalize():
        return Difference(dims, (), total, total)
    for index in first_indices(dims, MOST_ELEMENTS):
        compared += 1
        old, new = place(before, index, dims), place(after, index, dims)
        if any(old.get(a, 0) != new.get(a, 0) for a in [*axes, "m"]):
            moved.append(Moved(index, old, new))
    return Difference(dims, tuple(moved), compared, total)
