"""The same as the C extension in Python: one flat function for each kind of call, made from a template.

Used where the extension was not built. A function compares a call with one that passed every check, attribute by
attribute, and launches; it returns False for whatever differs, and the full way says what is wrong.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from .arrays import ArrayView
from .native import Array, Scalar

if TYPE_CHECKING:
    from .device import PreparedLaunch

MOST_CALLS = 4

Launch = Callable[[tuple[object, ...], "int | None"], bool]
_Telling = tuple[str, tuple[object, ...]]   # the template's letter, the constants it takes

# Letters: t torch, c cupy, capital where the array has elements; i b f scalars, capital where only one value was
# checked. `@` is the argument's number.
_COMPARED = {
    "t": "type(a@) is not T@ or a@.dtype is not D@ or a@.shape != S@ or a@.stride() != R@ or a@.device != V@"
         " or a@.is_neg()",
    "c": "type(a@) is not T@ or a@.dtype is not D@ or a@.shape != S@ or a@.strides != R@ or a@.data.device_id != V@",
    "i": "type(a@) is not int or not L@ <= a@ <= H@",
    "b": "a@ is not True and a@ is not False",
    "f": "type(a@) is not float or not L@ < a@ < H@",
}
_ADDRESS = {"t": "a@.data_ptr()", "c": "a@.data.ptr"}
_CONSTANTS = {"t": "TDSRVMLH", "c": "TDSRVMLH", "i": "LHX", "b": "LHX", "f": "LHX"}


class Repeated:
    """The latest calls of one kernel. ``launch`` is None until there is one."""

    def __init__(self) -> None:
        self.launch: Launch | None = None
        self._calls: list[Launch] = []

    def add(self, arguments: Sequence[object], expected: Sequence[Array | Scalar],
            parameters: Sequence[tuple[int, int | float | bool]], prepared: PreparedLaunch,
            current: Callable[[], int]) -> bool:
        """Keep this call; False where only the full way knows its arguments. ``current`` finds the library's stream."""
        told: list[_Telling] = []
        for argument, what in zip(arguments, expected, strict=True):
            one = _scalar(argument, what) if isinstance(what, Scalar) else _array(argument, what)
            if one is None:
                return False
            told.append(one)
        apart = tuple((k, j) for k, one in enumerate(expected) for j, other in enumerate(expected[:k])
                      if isinstance(one, Array) and isinstance(other, Array) and (one.written or other.written)
                      and told[k][0].isupper() and told[j][0].isupper())
        make = _factory("".join(letter for letter, _ in told), apart, tuple(source for source, _ in parameters))
        constants = [constant for source, constant in parameters if source < 0]
        call = make(prepared.launch, current, constants, *(c for _, constants in told for c in constants))
        self._calls.insert(0, call)
        del self._calls[MOST_CALLS:]
        # With one call there is nothing to choose from.
        self.launch = call if len(self._calls) == 1 else self._any
        return True

    def _any(self, arguments: tuple[object, ...], stream: int | None) -> bool:
        return any(call(arguments, stream) for call in self._calls)


@functools.cache
def _factory(letters: str, apart: tuple[tuple[int, int], ...], sources: tuple[int, ...]) -> Callable[..., Launch]:
    """The function that takes the constants and returns the comparing one."""
    names: list[str] = []
    lines: list[str] = []

    def put(text: str, number: int) -> None:
        lines.append(text.replace("@", str(number)))

    for k, letter in enumerate(letters):
        kind = letter.lower()
        names += [f"{name}{k}" for name in _CONSTANTS[kind]]
        put(f"if {_COMPARED[kind]}: return False", k)
        if kind in _ADDRESS:
            put(f"p@ = {_ADDRESS[kind]}", k)
            if letter.isupper():
                put("if not p@ or p@ % M@: return False", k)
        elif letter.isupper():
            put("if a@ != X@: return False", k)
    for k, j in apart:
        lines.append(f"if p{k} + L{k} < p{j} + H{j} and p{j} + L{j} < p{k} + H{k}: return False")
    passed, constant = [], 0
    for source in sources:
        if source < 0:
            passed.append(f"C[{constant}]")
            constant += 1
        else:
            passed.append(f"{'p' if letters[source].lower() in _ADDRESS else 'a'}{source}")
    body = "\n            ".join(lines or ["pass"])
    text = f"""
def make({", ".join(["launch", "current", "C", *names])}):
    def call(arguments, stream):
        try:
            {"".join(f"a{k}, " for k in range(len(letters))) or "()"} = arguments
            {body}
        except Exception:
            return False
        launch(({"".join(f"{p}, " for p in passed)}), current() if stream is None else stream)
        return True
    return call
"""
    scope: dict[str, Callable[..., Launch]] = {}
    exec(text, scope)
    return scope["make"]


def _scalar(argument: object, what: Scalar) -> _Telling | None:
    if what.low is None or what.high is None:
        return ("F" if what.fixed else "f", (-what.limit, what.limit, argument)) if what.dtype != "bfloat16" else None
    kind = "b" if what.dtype == "bool" else "i"
    return kind.upper() if what.fixed else kind, (what.low, what.high, argument)


def _array(argument: object, what: Array) -> _Telling | None:
    view, kind = what.view, type(argument)
    torch, cupy = sys.modules.get("torch"), sys.modules.get("cupy")
    low, high = view.byte_range
    rest = (what.align, low - view.pointer, high - view.pointer)
    if torch is not None and kind in (torch.Tensor, torch.nn.Parameter):
        letter, seen = "t", _torch(argument, view)
    elif cupy is not None and kind is cupy.ndarray:
        letter, seen = "c", _cupy(argument, view)
    else:
        return None
    return None if seen is None else (letter.upper() if view.size else letter, (kind, *seen, *rest))


def _torch(tensor: object, view: ArrayView) -> tuple[object, ...] | None:
    dtype, shape = tensor.dtype, tensor.shape  # type: ignore[attr-defined]
    strides, device = tensor.stride(), tensor.device  # type: ignore[attr-defined]
    told = tuple(shape) == view.shape and tuple(step * view.itemsize for step in strides) == view.strides
    return (dtype, shape, strides, device) if told else None


def _cupy(array: object, view: ArrayView) -> tuple[object, ...] | None:
    shape, strides = array.shape, array.strides  # type: ignore[attr-defined]
    told = shape == view.shape and all(
        a == b or extent < 2 for a, b, extent in zip(strides, view.strides, shape, strict=True))
    return (array.dtype, shape, strides, array.data.device_id) if told else None  # type: ignore[attr-defined]


__all__ = ["Repeated"]
