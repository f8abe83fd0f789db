"""Element types under Warp's names: scalars, and the small vectors and matrices that are a trailing axis here."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from ptxspec.diagnostics import Diagnostic, KernelError
from ptxspec.lang.types import TYPES, DType

if TYPE_CHECKING:
    from numpy import dtype

    from ptxspec.compat.warp.values import Composite

#: Python's own types stand for 32-bit ones; bool takes a byte.
_PLAIN: dict[type, str] = {float: "float32", int: "int32", bool: "uint8"}
#: NumPy has no bfloat16, so its elements are kept as raw 16-bit values there.
_STORAGE = {"bfloat16": "uint16", "bits8": "uint8", "bits16": "uint16", "bits32": "uint32", "bits64": "uint64",
            "float8_e4m3": "uint8", "float8_e5m2": "uint8"}


@dataclass(frozen=True, slots=True)
class Compound:
    """A vector, matrix, quaternion or transform: ``shape`` elements of ``scalar`` side by side."""

    name: str
    scalar: str
    shape: tuple[int, ...]

    ptxspec_intrinsic = True

    @property
    def size(self) -> int:
        """Scalars in one element."""
        return prod(self.shape)

    def __call__(self, *components: object) -> Composite:
        """Such a value, of so many numbers; of one number throughout; or of zeros."""
        from ptxspec.compat.warp.values import value_of
        return value_of(self, components)

    def __repr__(self) -> str:
        return f"wp.{self.name}"


@dataclass(frozen=True, slots=True)
class Struct:
    """A structure: what ``@wp.struct`` makes. Tiles move its elements whole.

    Where all fields are of one scalar type, an element is a row of those scalars, and can be added and has gradients;
    else it is a row of untyped words, as wide as the structure's alignment allows.
    """

    name: str
    fields: tuple[tuple[str, Element], ...]

    def record(self) -> dtype:
        """NumPy's structured type, laid out as C lays it out."""
        import numpy as np
        return np.dtype([(name, kind.struct.record() if kind.struct else kind.storage, kind.trailing
                          if not kind.struct else ()) for name, kind in self.fields], align=True)

    @property
    def element(self) -> Element:
        """How elements lie in an array."""
        record = self.record()
        scalars = {kind.scalar for _, kind in self.fields}
        packed = sum(kind.size * kind.bytes for _, kind in self.fields)
        if len(scalars) == 1 and packed == record.itemsize and not next(iter(scalars)).startswith("bits"):
            scalar = scalars.pop()
            return Element(scalar, (record.itemsize // Element(scalar, ()).bytes,), self)
        word = min(record.alignment, 8)
        return Element(f"bits{8 * word}", (record.itemsize // word,), self)

    def __repr__(self) -> str:
        return f"<struct {self.name}>"


def struct(cls: type) -> Struct:
    """Decorator: a structure of annotated fields, each a number, a vector, a matrix or another structure (K238)."""
    import sys
    spaces = {**vars(sys.modules[cls.__module__]), **sys._getframe(1).f_locals}
    kinds = {name: eval(kind, spaces) if isinstance(kind, str) else kind for name, kind in cls.__annotations__.items()}
    return Struct(cls.__name__, tuple((name, element(kind)) for name, kind in kinds.items()))


@dataclass(frozen=True, slots=True)
class Element:
    """An element type: its scalar's name and the axes that each element adds to an array."""

    scalar: str
    trailing: tuple[int, ...]
    struct: Struct | None = None

    @property
    def storage(self) -> str:
        """NumPy's name of the scalar."""
        return _STORAGE.get(self.scalar, self.scalar)

    @property
    def size(self) -> int:
        """Scalars in one element."""
        return prod(self.trailing)

    @property
    def bytes(self) -> int:
        """Bytes of one scalar."""
        return TYPES[self.scalar].bits // 8


def element(dtype: object) -> Element:
    """What ``dtype`` names: Python's float, int and bool, a scalar of Warp, a compound or a NumPy type (K238)."""
    if isinstance(dtype, Compound):
        return Element(dtype.scalar, dtype.shape)
    if isinstance(dtype, Struct):
        return dtype.element
    if isinstance(dtype, DType):
        return Element(dtype.name, ())
    if isinstance(dtype, type) and dtype in _PLAIN:
        return Element(_PLAIN[dtype], ())
    name = dtype if isinstance(dtype, str) else getattr(dtype, "__name__", getattr(dtype, "name", ""))
    if name in TYPES:
        return Element(name, ())
    raise KernelError(Diagnostic("K238", f"{dtype!r} is no element type of an array"))


int8, uint8, int16, uint16 = (TYPES[n] for n in ("int8", "uint8", "int16", "uint16"))
int32, uint32, int64, uint64 = (TYPES[n] for n in ("int32", "uint32", "int64", "uint64"))
float16, float32, float64, bfloat16 = (TYPES[n] for n in ("float16", "float32", "float64", "bfloat16"))

_LETTERS = {"": "float32", "f": "float32", "h": "float16", "d": "float64", "i": "int32", "ub": "uint8"}
COMPOUNDS: dict[str, Compound] = {}
for _letter, _scalar in _LETTERS.items():
    for _n in (2, 3, 4):
        COMPOUNDS[f"vec{_n}{_letter}"] = Compound(f"vec{_n}{_letter}", _scalar, (_n,))
    if _letter in ("", "f", "h", "d"):
        for _n in (2, 3, 4):
            COMPOUNDS[f"mat{_n}{_n}{_letter}"] = Compound(f"mat{_n}{_n}{_letter}", _scalar, (_n, _n))
        COMPOUNDS[f"quat{_letter}"] = Compound(f"quat{_letter}", _scalar, (4,))
        COMPOUNDS[f"transform{_letter}"] = Compound(f"transform{_letter}", _scalar, (7,))
        COMPOUNDS[f"spatial_vector{_letter}"] = Compound(f"spatial_vector{_letter}", _scalar, (6,))
