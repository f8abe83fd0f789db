"""Element types of the kernel language, usable as casts (``T.int32(x)``) and as annotations (``n: T.int32``)."""

from __future__ import annotations

from ptxspec.lang.errors import nearest, refuse
from ptxspec.layout.value import Value
from ptxspec.scalar import typed
from ptxspec.scalar.expr import BITS, BOOL, INDEX, Expr, is_float, is_integer

#: Spellings of other libraries that name one of our types.
ALIASES = {"float8_e4m3fn": "float8_e4m3", "half": "float16", "float": "float32", "double": "float64"}


class DType:
    """An element type. Called, it converts a number or a kernel value; as an annotation it declares a scalar."""

    __slots__ = ("name",)

    #: Calls inside kernels go straight to this object.
    ptxspec_intrinsic = True

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def bits(self) -> int:
        """Width in bits."""
        return BITS[self.name]

    def __repr__(self) -> str:
        return f"T.{self.name}"

    def __str__(self) -> str:
        return self.name

    def __eq__(self, other: object) -> bool:
        return self.name == (other.name if isinstance(other, DType) else other)

    def __hash__(self) -> int:
        return hash(self.name)

    def __call__(self, value: Expr | Value | int | float | bool) -> Expr:
        """``value`` as this type: C-like casts; integer narrowing keeps the low bits, floats round toward zero."""
        from ptxspec.lang.trace import where
        span = where()
        given = number(value.expr if isinstance(value, Value) else value)
        if not isinstance(given, (Expr, int, float)):
            refuse("K222", f"{self!r} converts numbers and kernel values, not {type(given).__name__}", span)
        value = given
        if self.name == BOOL:
            return typed.truth(value, span)
        if not (is_integer(self.name) or is_float(self.name)):
            refuse("K222", f"{self!r} is a storage type: values of it are moved, not computed", span,
                   help="convert through a register copy of the same width, or a view with another element type")
        if isinstance(value, Expr) and value.dtype not in (INDEX, BOOL) and not is_integer(value.dtype) \
                and not is_float(value.dtype):
            refuse("K222", f"{value.dtype} has no arithmetic, so it cannot become {self.name}", span,
                   help="view the tensor with another element type of the same width to reuse its bits")
        return typed.cast(value, self.name, span)


TYPES: dict[str, DType] = {name: DType(name) for name in BITS}


def number(value: object) -> object:
    """``value``, as Python's number where it is one of NumPy's."""
    if type(value).__module__ == "numpy" and getattr(value, "shape", None) == ():
        item = value.item()  # type: ignore[attr-defined]
        return item if isinstance(item, (bool, int, float)) else value
    return value


def dtype_name(value: object) -> str:
    """The canonical name of an element type given as text or as ``T.float32``; KernelError K150 when unknown."""
    if isinstance(value, DType):
        return value.name
    name = getattr(value, "name", value) if not isinstance(value, str) else value
    if isinstance(name, str):
        name = ALIASES.get(name, name)
        if name in BITS:
            return name
        refuse("K150", f"`{name}` is not an element type", help=nearest(name, list(BITS)))
    refuse("K150", f"an element type is named by text such as \"float32\", not by {type(value).__name__}")
