"""Vectors, matrices and structures as values of a kernel: a number for each component, known or of the device."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod

from ptxspec.compat.warp.types import Compound, Element, Struct
from ptxspec.lang.errors import refuse, said
from ptxspec.lang.scalars import plain
from ptxspec.lang.tensor import constant_of
from ptxspec.lang.trace import where
from ptxspec.scalar import typed
from ptxspec.scalar.expr import Expr

Number = Expr | int | float
_LETTERS = "xyzw"


class Composite:
    """A vector or matrix of ``shape``: ``v[k]``, ``m[i, j]``, ``m[i]``, ``v.x``; sums, and products with numbers."""

    ptxspec_intrinsic = True

    def __init__(self, scalar: str, shape: tuple[int, ...], values: Sequence[Number]) -> None:
        self.scalar = scalar
        self.shape = shape
        self.values = tuple(values)

    @property
    def kind(self) -> Element:
        """The element type that holds such a value."""
        return Element(self.scalar, self.shape)

    def __repr__(self) -> str:
        return f"a value of {'x'.join(map(str, self.shape))} {self.scalar}"

    def __iter__(self) -> Iterator[object]:
        return (self[k] for k in range(self.shape[0]))

    def __len__(self) -> int:
        return self.shape[0]

    def __dir__(self) -> list[str]:
        return [*_LETTERS[:self.shape[0] if len(self.shape) == 1 else 0]]

    def __getattr__(self, name: str) -> object:
        if len(name) == 1 and name in _LETTERS and name in dir(self):
            return self[_LETTERS.index(name)]
        raise AttributeError(name)

    def __getitem__(self, key: object) -> object:
        items = key if isinstance(key, tuple) else (key,)
        if len(items) > len(self.shape):
            refuse("K140", f"{len(items)} indices for {self!r}", where())
        first, below = 0, len(self.values)
        for item, extent in zip(items, self.shape, strict=False):
            index = constant_of(item)
            if index is None or not -extent <= index < extent:
                refuse("K141", f"a component of {self!r} is picked by a number from 0 to {extent - 1}, known while the "
                               f"kernel is read; not {said(item)}", where(),
                       help="read the component from the tile or array itself: t[i][k]")
            below //= extent
            first += below * (index % extent)
        rest = self.shape[len(items):]
        return Composite(self.scalar, rest, self.values[first:first + below]) if rest else self.values[first]

    # --- arithmetic

    def ptxspec_binary(self, name: str, other: object, reflected: bool) -> object:
        """Sums of values of one shape, products and quotients with numbers."""
        span = where()
        if isinstance(other, Composite) and (other.shape != self.shape or name not in ("add", "sub")):
            refuse("K222", f"`{name}` of {self!r} and {other!r} is not computed", span,
                   help="add and subtract values of one shape; multiply components with wp.cw_mul")
        theirs: Sequence[Number]
        if isinstance(other, Composite):
            theirs = other.values
        else:
            number = plain(other, f"`{name}`")
            if name not in ("mul", "div") or (name == "div" and reflected):
                refuse("K222", f"`{name}` of {self!r} and a number is not computed", span)
            theirs = (number,) * len(self.values)
        return self.by_component(lambda a, b: binary(name, b, a) if reflected else binary(name, a, b), theirs)

    def by_component(self, work: Callable[[Number, Number], Expr], theirs: Sequence[Number]) -> Composite:
        """Component by component."""
        values = [work(self.typed(a), b) for a, b in zip(self.values, theirs, strict=True)]
        return Composite(values[0].dtype, self.shape, values)

    def ptxspec_unary(self, name: str) -> Composite:
        """``-self``."""
        return Composite(self.scalar, self.shape, [typed.unary(name, self.typed(v), where()) for v in self.values])

    def typed(self, value: Number) -> Expr:
        """A component in the value's own type."""
        return value if isinstance(value, Expr) else typed.literal(value, self.scalar, where())


class Fields:
    """A structure's value: ``s.x`` is its field, a number, a vector or another structure."""

    ptxspec_intrinsic = True

    def __init__(self, struct: Struct, fields: dict[str, object]) -> None:
        self.struct = struct
        self.fields = fields

    @property
    def kind(self) -> Element:
        """The element type that holds such a value."""
        return self.struct.element

    def __repr__(self) -> str:
        return f"a value of {self.struct!r}"

    def __dir__(self) -> list[str]:
        return list(self.fields)

    def __getattr__(self, name: str) -> object:
        if not name.startswith("_") and name in self.fields:
            return self.fields[name]
        raise AttributeError(name)

    def ptxspec_binary(self, name: str, other: object, reflected: bool) -> object:
        """Refused: structures have no arithmetic of their own (K222)."""
        refuse("K222", f"`{name}` of {self!r}: structures are computed with field by field", where(),
               help="compute with the fields: s.x + u.x")


def binary(name: str, a: Number, b: Number) -> Expr:
    """A typed operation of two numbers, at least one of them of the device."""
    return typed.binary(name, a, b, where())


def value_of(compound: Compound, given: Sequence[object]) -> Composite:
    """``wp.vec3(x, y, z)``: all components, one for all, or none for zeros (K207)."""
    size = prod(compound.shape)
    flat: list[Number] = []
    for item in given:
        flat += item.values if isinstance(item, Composite) else [plain(item, repr(compound))]
    if len(flat) in (0, 1):
        flat = (flat or [0]) * size
    if len(flat) != size:
        refuse("K207", f"{compound!r} takes {size} numbers, one, or none; not {len(flat)}", where())
    return Composite(compound.scalar, compound.shape,
                     [typed.cast(v, compound.scalar, where()) if isinstance(v, Expr) else v for v in flat])
