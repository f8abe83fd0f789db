"""From host arguments to numbers: arrays described, symbolic dimensions bound, every premise compared.

Each comparison names the premise, the parameter, what was expected and what was given. Codes: ``R301`` count, ``R302``
kind of argument, ``R303`` rank, ``R304`` element type, ``R305`` shape, ``R306`` strides, ``R307`` alignment, ``R308``
aliasing, ``R309`` an assumption, ``R310`` a dimension, ``R311`` a scalar's range, ``R312`` devices, ``R313`` read-only
memory, ``R314`` the grid.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf, isfinite

from ptxspec.diagnostics import Diagnostic, LaunchError, Note, Span
from ptxspec.lang.ir import Buffer, Kernel
from ptxspec.layout import TileLayout
from ptxspec.scalar import index as ix
from ptxspec.scalar.evaluate import Unknown, evaluate
from ptxspec.scalar.expr import BITS, BOOL, INDEX, Expr, Poly, Var, int_range, is_float, is_integer, show

from .arrays import ArrayView

Env = dict[Expr, int]

#: From this value on a finite number becomes infinite in the type (half a step above the largest one).
FLOAT_LIMITS: dict[str, float] = {
    "float16": 65520.0, "bfloat16": (2 - 2.0**-8) * 2.0**127, "float32": (2 - 2.0**-24) * 2.0**127, "float64": inf,
}


@dataclass(frozen=True, slots=True)
class Problem:
    """One premise that does not hold; collected, so that a call reports all of them at once."""

    code: str
    message: str
    span: Span | None
    notes: tuple[Note, ...] = ()

    def diagnostic(self) -> Diagnostic:
        """As shown to the user."""
        return Diagnostic(self.code, self.message, self.span, notes=self.notes)


def raise_problems(problems: Sequence[Problem]) -> None:
    """Raise :class:`LaunchError` with every problem, if there is one."""
    if problems:
        raise LaunchError(*(p.diagnostic() for p in problems))


def expected(what: str, wanted: object, got: object) -> tuple[Note, ...]:
    """The two notes that every mismatch carries."""
    if isinstance(got, int) and got.bit_length() > 256:   # Python refuses to print the longest of them
        got = f"an integer of {got.bit_length()} bits"
    return Note("fact", f"expected {what}: {wanted}"), Note("fact", f"got: {got}")


def scalar_value(variable: Var, value: object, problems: list[Problem]) -> int | float | bool:
    """``value`` for a scalar parameter, or a problem (R302, R311)."""
    dtype, name = variable.dtype, variable.name
    if isinstance(value, (bool, int, float)):
        plain: int | float | bool = value
    else:
        item = getattr(value, "item", None)
        shape = getattr(value, "shape", ())
        taken = item() if callable(item) and tuple(shape) == () else None
        if not isinstance(taken, (bool, int, float)):
            problems.append(Problem("R302", f"scalar parameter `{name}` needs a number", variable.span,
                                    expected("a number", dtype, type(value).__name__)))
            return 0
        plain = taken
    if is_float(dtype):
        number = _float(plain)
        limit = FLOAT_LIMITS[dtype]
        if number is None or (isfinite(number) and not -limit < number < limit):
            problems.append(Problem("R311", f"scalar parameter `{name}` is out of range", variable.span,
                                    expected("a finite value, infinity or NaN of", dtype, plain)))
            return 0.0
        return number
    if isinstance(plain, float):
        problems.append(Problem("R302", f"scalar parameter `{name}` needs an integer", variable.span,
                                expected("an integer", dtype, plain)))
        return 0
    if dtype == BOOL:
        return bool(plain)
    check_range(variable, int(plain), "scalar parameter", "R311", problems)
    return int(plain)


def _float(value: int | float | bool) -> float | None:
    try:
        return float(value)
    except OverflowError:   # an integer of more than 1,024 bits
        return None


def check_range(variable: Var, value: int, what: str, code: str, problems: list[Problem]) -> None:
    """The value against the type and the declared bounds of ``variable``."""
    low, high = int_range("int64" if variable.dtype == INDEX else variable.dtype)
    low = low if variable.lo is None else max(low, variable.lo)
    high = high if variable.hi is None else min(high, variable.hi)
    if not low <= value <= high:
        problems.append(Problem(code, f"{what} `{variable.name}` is out of range", variable.span,
                                expected(f"{low} to {high}", variable.dtype, value)))


def bind_dims(kernel: Kernel, arrays: Sequence[tuple[Buffer, ArrayView]], env: Env, problems: list[Problem]) -> None:
    """Give each symbolic dimension the extent of the arrays and compare the arrays among them (R303, R305, R310)."""
    came_from: dict[Var, str] = {}
    ranked = []
    for buffer, view in arrays:
        if len(view.shape) != len(buffer.shape):
            problems.append(Problem("R303", f"`{buffer.name}` has another number of dimensions", buffer.span,
                                    expected("rank", f"{len(buffer.shape)} {_shape(buffer.shape)}",
                                             f"{len(view.shape)} {tuple(view.shape)}")))
            continue
        ranked.append((buffer, view))
        for axis, (extent, size) in enumerate(zip(buffer.shape, view.shape)):
            variable = _plain(extent)
            if variable is None or variable.role != "dim":
                continue
            if variable not in env:
                env[variable] = size
                came_from[variable] = f"axis {axis} of `{buffer.name}`"
                check_range(variable, size, "dimension", "R310", problems)
            elif env[variable] != size:
                problems.append(Problem(
                    "R310", f"dimension `{variable.name}` cannot be both {env[variable]} and {size}", buffer.span,
                    (Note("fact", f"{came_from.get(variable, 'an argument')} gave {env[variable]}"),
                     Note("fact", f"axis {axis} of `{buffer.name}` gives {size}"))))
    for buffer, view in ranked:
        _solve(buffer, view, env, problems)
    for dim in kernel.dims:
        if dim not in env and not problems:
            problems.append(Problem("R310", f"no array tells dimension `{dim.name}`", dim.span, (
                Note("help", "give one parameter an axis of exactly that extent"),)))
    if problems:
        return
    for buffer, view in ranked:
        wanted = tuple(evaluate(e, env) for e in buffer.shape)
        if wanted != tuple(view.shape):
            problems.append(Problem("R305", f"`{buffer.name}` has another shape", buffer.span,
                                    expected("shape", f"{_shape(buffer.shape)} = {wanted}"
                                             if any(not e.is_const for e in buffer.shape) else wanted,
                                             tuple(view.shape))))


def _solve(buffer: Buffer, view: ArrayView, env: Env, problems: list[Problem]) -> None:
    """Extents such as ``4*M + 1`` tell M where no axis is M itself."""
    for extent, size in zip(buffer.shape, view.shape):
        if len(extent.terms) != 1 or len(extent.terms[0][0]) != 1:
            continue
        (monomial, coefficient), = extent.terms
        variable = monomial[0]
        if not isinstance(variable, Var) or variable.role != "dim" or variable in env:
            continue
        value, rest = divmod(size - extent.const, coefficient)
        if rest:
            problems.append(Problem("R310", f"no value of dimension `{variable.name}` makes {show(extent)} = {size}",
                                    buffer.span))
            continue
        env[variable] = value
        check_range(variable, value, "dimension", "R310", problems)


def _plain(extent: Poly) -> Var | None:
    if extent.const == 0 and len(extent.terms) == 1:
        (monomial, coefficient), = extent.terms
        if coefficient == 1 and len(monomial) == 1 and isinstance(monomial[0], Var):
            return monomial[0]
    return None


def _shape(shape: Sequence[Poly]) -> str:
    return f"({', '.join(show(e) for e in shape)})"


def check_dtype(buffer: Buffer, view: ArrayView, problems: list[Problem]) -> None:
    """R304. A parameter of ``bits32`` and the like takes any element of that width."""
    if view.dtype == buffer.dtype:
        return
    if buffer.dtype.startswith("bits") and view.itemsize * 8 == BITS[buffer.dtype]:
        return
    # NumPy has no bfloat16 and no fp8: their bits come as unsigned integers of the same width.
    if buffer.dtype in ("bfloat16", "float8_e4m3", "float8_e5m2") and view.dtype == f"uint{BITS[buffer.dtype]}":
        return
    problems.append(Problem("R304", f"`{buffer.name}` has another element type", buffer.span,
                            expected("element type", buffer.dtype, view.dtype)))


def check_strides(buffer: Buffer, view: ArrayView, env: Env, problems: list[Problem]) -> None:
    """R306: elements lie where the layout says, or the array is dense and the layout stays inside its storage."""
    if view.size == 0:
        return
    wanted = layout_strides(buffer, env)
    size = BITS[buffer.dtype] // 8
    if wanted is not None and all(e == 1 or s == w * size for e, s, w in zip(view.shape, view.strides, wanted)):
        return
    low, high = (evaluate(e, env) for e in buffer.layout.memory_range())
    if view.contiguous and low >= 0 and high <= view.size:
        return
    if view.contiguous:
        problems.append(Problem("R306", f"the layout of `{buffer.name}` reaches outside its array", buffer.span,
                                expected("elements", f"{low} to {high - 1} of the array", f"{view.size} elements")))
        return
    steps = "a row-major array without gaps" if wanted is None else f"{tuple(w * size for w in wanted)} bytes"
    problems.append(Problem("R306", f"the elements of `{buffer.name}` lie apart from its layout", buffer.span, (
        *expected("strides", steps, f"{tuple(view.strides)} bytes"),
        Note("help", "pass a contiguous copy, or declare the tensor with layout=TileLayout(S[shape : strides])"))))


def layout_strides(buffer: Buffer, env: Env) -> tuple[int, ...] | None:
    """Stride of each axis in elements where the layout is affine and starts at element zero; else None."""
    layout = buffer.layout
    if not isinstance(layout, TileLayout) or layout.replica or layout.axes():
        return None
    try:
        origin = evaluate(layout.place([ix.ZERO] * len(buffer.shape), buffer.shape)["m"], env)
        groups = layout.groups(buffer.shape)
        if origin != 0 or groups is None:
            return None
        strides: list[int] = []
        for factors in groups:
            kept = [(evaluate(f.extent, env), evaluate(f.stride, env)) for f in factors]
            kept = [(e, s) for e, s in kept if e != 1]
            if any(a[1] != b[0] * b[1] for a, b in pairwise(kept)):
                return None
            strides.append(kept[-1][1] if kept else 0)
        return tuple(strides)
    except Unknown:
        return None


def check_alignment(align: int, buffer: Buffer, address: int, problems: list[Problem]) -> None:
    """R307: the base alignment in bytes that the proofs and the widest access rest on."""
    if align > 1 and address % align:
        problems.append(Problem(
            "R307", f"`{buffer.name}` starts at an address that its widest access does not allow", buffer.span,
            (*expected("alignment", f"{align} bytes",
                       f"an address that is {address % align} bytes past a multiple of {align}"),
             Note("help", "pass an array that owns its memory, or use narrower accesses in the kernel"))))


def check_aliasing(kernel: Kernel, arrays: Sequence[tuple[Buffer, ArrayView]], written: frozenset[Buffer],
                   problems: list[Problem]) -> None:
    """R308: a parameter that the kernel writes shares no byte with another; R313: it may be written."""
    for position, (buffer, view) in enumerate(arrays):
        if buffer in written and view.readonly:
            problems.append(Problem("R313", f"`{buffer.name}` is written by the kernel, but its memory is read-only",
                                    buffer.span))
        for other, view2 in arrays[position + 1:]:
            if (buffer in written or other in written) and view.overlaps(view2):
                which = buffer if buffer in written else other
                problems.append(Problem(
                    "R308", f"`{buffer.name}` and `{other.name}` share memory, and `{which.name}` is written",
                    which.span, (Note("fact", "the proofs take different parameters for different memory"),
                                 Note("help", "pass a copy of one of them"))))


def bind_scalars(variable: Var, value: int | float | bool, env: Env) -> None:
    """Integers take part in shapes, grids and assumptions."""
    if is_integer(variable.dtype) or variable.dtype == BOOL:
        env[variable] = int(value)
