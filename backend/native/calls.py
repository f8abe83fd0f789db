"""A call that passed every check, written down for the C extension."""

from __future__ import annotations

import functools
import os
import struct
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Protocol

from ..arrays import ArrayView, dlpack_code
from ..device.driver import launch_addresses

if TYPE_CHECKING:
    from ..device import PreparedLaunch

#: Form of the tuples; an extension of another form was built from other sources and is not used.
FORM = 1
CUDA = 2   # kDLCUDA
_NUMBER = {"float32": "f", "float64": "d", "float16": "e"}
_LARGEST = (1 << 63) - 1

#: argument (-1: a constant), the constant
Parameter = tuple[int, int | float | bool]


class Calls(Protocol):
    """The extension's class, as _calls.pyi has it (import contracts see no file of the extension)."""

    def launch(self, arguments: tuple[object, ...], stream: int | None, /) -> bool: ...
    def remember(
        self, kernel: int, context: int, config: int, keep: object,
        arguments: tuple[tuple[object, ...], ...], parameters: tuple[tuple[int, str, int], ...], /,
    ) -> bool: ...


@dataclass(frozen=True, slots=True)
class Scalar:
    """A scalar argument: its type, its allowed values (None: a float, smaller than ``limit``), and whether only this
    value was checked."""

    dtype: str
    low: int | None
    high: int | None
    fixed: bool
    limit: float


@dataclass(frozen=True, slots=True)
class Array:
    """An array argument: what its address is a multiple of, and whether the kernel writes it."""

    view: ArrayView
    align: int
    written: bool


@functools.cache
def available() -> ModuleType | None:
    """The extension, None where it was not built, is out of date, or is turned off."""
    if os.environ.get("PTXSPEC_NATIVE", "").lower() in ("off", "0", "no", "false"):
        return None
    try:
        # By name: tools that follow imports see no file of it.
        module = import_module("._calls", __package__)
    except ImportError:
        return None
    return module if getattr(module, "FORM", None) == FORM else None


class Remembered:
    """The calls of one kernel that the extension knows. ``launch`` is None until there is one."""

    def __init__(self) -> None:
        self.launch: Callable[[tuple[object, ...], int | None], bool] | None = None
        self._calls: Calls | None = None

    def add(self, arguments: Sequence[object], expected: Sequence[Array | Scalar],
            parameters: Sequence[Parameter], prepared: PreparedLaunch) -> bool:
        """Keep this call; False where it has something that only the Python path knows.

        ``expected`` says what each argument is, ``parameters`` what each of the kernel's parameters is given.
        """
        module = available()
        if module is None:
            return False
        told: list[tuple[object, ...]] = []
        for argument, what in zip(arguments, expected, strict=True):
            one = _scalar(argument, what) if isinstance(what, Scalar) else _array(argument, what)
            if one is None:
                return False
            told.append(one)
        if prepared.shape.empty:
            return False
        passed: list[tuple[int, str, int]] = []
        for (source, constant), letter in zip(parameters, prepared.letters, strict=True):
            raw = 0 if source >= 0 else int.from_bytes(struct.pack("<" + letter, constant).ljust(8, b"\0"), "little")
            of = None if source < 0 else expected[source]
            # Floats are converted there; everything else travels as its low bytes.
            passed.append((source, letter if isinstance(of, Scalar) and of.low is None else "Q", raw))
        kernel, context, config, keep = prepared.raw()
        if self._calls is None:
            self._calls = module.Calls(*launch_addresses())
        try:
            kept = self._calls.remember(kernel, context, config, keep, tuple(told), tuple(passed))
        except (TypeError, ValueError, OverflowError):   # more axes than it has room for
            return False
        if kept:
            self.launch = self._calls.launch
        return kept


def _scalar(argument: object, what: Scalar) -> tuple[object, ...] | None:
    if what.low is None or what.high is None:
        if what.dtype not in _NUMBER or not isinstance(argument, (int, float)):
            return None
        bits = int.from_bytes(struct.pack("<d", float(argument)), "little")
        return ("f", what.fixed, 0, 0, bits)
    if not isinstance(argument, int) or what.low > _LARGEST:
        return None
    kind = "b" if what.dtype == "bool" else "i"
    return (kind, what.fixed, what.low, min(what.high, _LARGEST), argument & ((1 << 64) - 1))


def _array(argument: object, what: Array) -> tuple[object, ...] | None:
    view = what.view
    known = _KINDS.get(type(argument)) or _known(type(argument))
    if known is None or not view.device.startswith("cuda:"):
        return None
    found = known(argument, view)
    if found is None:
        return None
    low, high = view.byte_range
    reach = (what.align, low - view.pointer, high - view.pointer, view.size > 0, what.written)
    return (*found, *reach)


_Describe = Callable[[object, ArrayView], "tuple[object, ...] | None"]


def _known(kind: type) -> _Describe | None:
    """How arrays of exactly this type are told; None for the types that only the Python path describes."""
    torch, cupy = sys.modules.get("torch"), sys.modules.get("cupy")
    found: _Describe | None = None
    if torch is not None and kind in (torch.Tensor, torch.nn.Parameter):
        table: Mapping[str, object] = vars(torch.Tensor)
        exchange = table.get("__dlpack_c_exchange_api__")
        if exchange is not None:
            negated = torch.Tensor.is_neg

            def tensor(argument: object, view: ArrayView) -> tuple[object, ...]:
                steps = tuple(step // view.itemsize for step in view.strides)
                return ("t", kind, exchange, None, negated, CUDA, int(view.device[5:]), *dlpack_code(view.dtype),
                        view.shape, steps)
            found = tensor
    elif cupy is not None and kind is cupy.ndarray:
        current = cupy.cuda.get_current_stream

        def array(argument: object, view: ArrayView) -> tuple[object, ...] | None:
            shape: tuple[int, ...] = argument.shape  # type: ignore[attr-defined]
            strides: tuple[int, ...] = argument.strides  # type: ignore[attr-defined]
            # The description came through DLPack, which may say anything of axes that are never stepped along.
            same = shape == view.shape and all(
                a == b or extent < 2 for a, b, extent in zip(strides, view.strides, shape, strict=True))
            if not same and view.size:
                return None
            return ("c", kind, None, argument.dtype, current, CUDA, int(view.device[5:]),  # type: ignore[attr-defined]
                    *dlpack_code(view.dtype), shape, strides)
        found = array
    if found is not None:
        _KINDS[kind] = found
    return found


_KINDS: dict[type, _Describe] = {}
