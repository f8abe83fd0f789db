"""A launch that was checked before: what depends on types, shapes and strides is remembered, addresses are compared.

The first call with new shapes goes through every check; it leaves a plan under the signatures of its arguments. A later
call with equal signatures compares what can still differ: the alignment of each address, the overlap of written memory,
the range of scalars. It then costs one driver call and a few dictionary look-ups. The latest of these calls are known
to the C extension, or where that was not built to functions made for them: these are asked first and compare the same.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from typing import TYPE_CHECKING

from ptxspec.lang.ir import Assume, Buffer, Kernel
from ptxspec.scalar.expr import BOOL, Expr, Var, int_range, is_float, is_integer, variables

from .arrays import ArrayView, quick
from .binding import FLOAT_LIMITS
from .facts import statements
from .native import Array, Remembered, Scalar
from .repeated import Repeated

if TYPE_CHECKING:
    from .checks import Bound
    from .device import PreparedLaunch
    from .emit import Parameter

MOST_PLANS = 1024
_AGAIN = 16   # a plan used so often is told to the extension anew: newer calls displaced it there

_EXACT = 1 << 53   # an integer up to here is the same number as a float

_Extent = tuple[int, int, int]   # argument, first byte and end relative to its address
_Passed = Callable[[int | float | bool], int | float | bool]


@dataclass(slots=True)
class Plan:
    """``arguments`` says for each parameter of the module which argument it is (>= 0), or the constant it gets.

    ``live`` are the arrays that have elements, ``aligned`` what their addresses are multiples of, ``apart`` the pairs
    that must not overlap; ``tell`` repeats the call to the extension.
    """

    launch: Callable[[Sequence[int | float | bool], int], None]
    arguments: tuple[int, ...]
    constants: tuple[int | float | bool, ...]
    live: tuple[int, ...]
    aligned: tuple[tuple[int, int], ...]
    apart: tuple[tuple[_Extent, _Extent], ...]
    tell: Callable[[Sequence[object]], None]
    used: int = 0


class FastPath:
    """Plans of one executable. ``align`` gives the bytes that each array parameter's address is a multiple of."""

    def __init__(self, kernel: Kernel, written: frozenset[Buffer], align: dict[Buffer, int],
                 conditions: Sequence[Expr]) -> None:
        self._params = kernel.params
        self._written = written
        self._align = align
        deciding = _deciding(kernel, conditions)
        # For each argument: None for an array, else whether the plan depends on the value, its allowed range if it is
        # an integer, and how far a float may reach.
        self._scalars: tuple[tuple[bool, int | None, int | None, float] | None, ...] = tuple(
            None if isinstance(p, Buffer) else (p in deciding, *_range(p), FLOAT_LIMITS.get(p.dtype, inf))
            for p in kernel.params)
        self._travels: tuple[bool, ...] = tuple(
            isinstance(p, Var) and p.dtype == "bfloat16" for p in kernel.params)
        self._possible = not any(self._travels)
        self._plans: dict[object, Plan] = {}
        self.native = Remembered()
        self.repeated = Repeated()
        #: asked first, with the arguments and the stream: the extension or its counterpart in Python
        self.first: Callable[[tuple[object, ...], int | None], bool] | None = None

    def run(self, arguments: Sequence[object], stream: int | None) -> bool:
        """Launch if these arguments were seen before and still fit; False asks for the full way.

        ``stream`` is a handle, None for the stream that the arguments' library works on now.
        """
        if not self._plans:
            return False
        key, numbers = self._signature(arguments)
        plan = self._plans.get(key) if key is not None else None
        if plan is None:
            return False
        for index in plan.live:
            if not numbers[index]:   # a tensor whose storage was given back
                return False
        for index, size in plan.aligned:
            if numbers[index] % size:
                return False
        for (a, low_a, high_a), (b, low_b, high_b) in plan.apart:
            if numbers[a] + low_a < numbers[b] + high_b and numbers[b] + low_b < numbers[a] + high_a:
                return False
        plan.used += 1
        if plan.used % _AGAIN == 0:
            plan.tell(arguments)
        plan.launch([numbers[k] if k >= 0 else plan.constants[-k - 1] for k in plan.arguments],
                    current_stream(arguments) if stream is None else stream)
        return True

    def learn(self, arguments: Sequence[object], bound: Bound, params: Sequence[Parameter],
              launch: PreparedLaunch) -> None:
        """Remember a call that passed every check."""
        key, _ = self._signature(arguments)
        if key is None or key in self._plans:   # the same call prepared once more
            return
        index = {p: k for k, p in enumerate(self._params)}
        order: list[int] = []
        constants: list[int | float | bool] = []
        extents: dict[Buffer, _Extent] = {}
        aligned: list[tuple[int, int]] = []
        for parameter, value in zip(params, bound.values):
            source = parameter.source
            if source in index:
                order.append(index[source])
            else:
                assert not isinstance(value, ArrayView)
                constants.append(value)
                order.append(-len(constants))
            if isinstance(value, ArrayView) and isinstance(source, Buffer) and value.size:
                low, high = value.byte_range
                extents[source] = (index[source], low - value.pointer, high - value.pointer)
                if self._align.get(source, 1) > 1:
                    aligned.append((index[source], self._align[source]))
        held = list(extents)
        apart = tuple((extents[a], extents[b]) for k, a in enumerate(held) for b in held[k + 1:]
                      if a in self._written or b in self._written)
        if len(self._plans) >= MOST_PLANS:   # a program with ever new sizes must not fill the memory
            self._plans.clear()
        # Without their owners: a plan must not keep memory alive.
        views = {index[p.source]: replace(v, owner=None) for p, v in zip(params, bound.values)
                 if isinstance(v, ArrayView)}
        passed = [(k, 0) if k >= 0 else (-1, constants[-k - 1]) for k in order]
        tell = partial(self._tell, views, passed, launch)
        self._plans[key] = Plan(launch.launch, tuple(order), tuple(constants), tuple(extents[b][0] for b in held),
                                tuple(aligned), apart, tell)
        tell(arguments)

    def _tell(self, views: dict[int, ArrayView], passed: list[tuple[int, int | float | bool]], launch: PreparedLaunch,
              arguments: Sequence[object]) -> None:
        """Describe a checked call to the extension, or to the same in Python; ``views`` by argument."""
        expected: list[Array | Scalar] = []
        for index, param in enumerate(self._params):
            scalar = self._scalars[index]
            if isinstance(param, Buffer):
                expected.append(Array(views[index], self._align.get(param, 1), param in self._written))
            elif scalar is not None:
                decides, low, high, limit = scalar
                expected.append(Scalar(param.dtype, low, high, decides, limit))
        if self.native.add(arguments, expected, passed, launch):
            self.first = self.native.launch
        elif self.native.launch is None:
            self.repeated.add(arguments, expected, passed, launch, stream_finder(arguments))
            self.first = self.repeated.launch

    def _signature(self, arguments: Sequence[object]) -> tuple[object, list[int | float | bool]]:
        """What a plan depends on, and the number to pass for each argument; key None where the quick look fails."""
        numbers: list[int | float | bool] = []
        key: list[object] = []
        if len(arguments) != len(self._scalars) or not self._possible:
            return None, numbers
        for argument, scalar in zip(arguments, self._scalars):
            if scalar is None:
                seen = quick(argument)
                if seen is None:
                    return None, numbers
                key.append(seen[0])
                numbers.append(seen[1])
                continue
            decides, low, high, limit = scalar
            kind = type(argument)
            if kind is int and low is not None and high is not None:
                assert isinstance(argument, int)
                if not low <= argument <= high:
                    return None, numbers
            elif low is None and (kind is float or kind is int):
                assert isinstance(argument, (int, float))
                if not -limit < argument < limit or (kind is int and not -_EXACT <= argument <= _EXACT):
                    return None, numbers   # infinities too: they are rare
            elif not (kind is bool and high == 1):
                return None, numbers
            assert isinstance(argument, (int, float))
            if decides:
                key.append(argument)
            numbers.append(argument)
        return tuple(key), numbers


def _deciding(kernel: Kernel, conditions: Sequence[Expr]) -> frozenset[Var]:
    """Scalars that take part in the grid, in assumptions or in launch conditions."""
    found: set[Var] = set()
    for expr in (*kernel.launch.grid, *conditions, *(s.condition for s in statements(kernel.body)
                                                     if isinstance(s, Assume))):
        found |= set(variables(expr))
    return frozenset(found)


def _range(variable: Var) -> tuple[int | None, int | None]:
    """Allowed values of an integer or bool parameter; None for floats and for what only the full way takes."""
    if is_float(variable.dtype):
        return None, None
    if variable.dtype == BOOL:
        return 0, 1
    low, high = int_range(variable.dtype if is_integer(variable.dtype) else "int64")
    return (low if variable.lo is None else max(low, variable.lo),
            high if variable.hi is None else min(high, variable.hi))


def current_stream(arguments: Sequence[object]) -> int:
    """The stream that the library of the first device array works on now: launches without a stream join it."""
    for argument in arguments:
        kind = type(argument)
        try:
            ask = _STREAMS[kind]
        except KeyError:
            ask = _STREAMS[kind] = _stream_of(kind)
        if ask is not None:
            handle = ask(argument)
            if handle is not None:
                return handle
    return 0


def stream_finder(arguments: Sequence[object]) -> Callable[[], int]:
    """What :func:`current_stream` asks for these arguments: the library and the device are known."""
    for argument in arguments:
        kind = type(argument)
        library = kind.__module__.partition(".")[0]
        if library == "torch":
            torch, device = sys.modules["torch"], argument.device  # type: ignore[attr-defined]
            raw = getattr(torch._C, "_cuda_getCurrentRawStream", None)
            if raw is not None:
                return partial(raw, device.index)
            return lambda: int(torch.cuda.current_stream(device).cuda_stream)  # noqa: B023
        if library == "cupy":
            current, number = sys.modules["cupy"].cuda.get_current_stream, argument.data.device_id  # type: ignore[attr-defined]
            return lambda: int(current(number).ptr)  # noqa: B023
    return int


def _stream_of(kind: type) -> Callable[[object], int | None] | None:
    library = kind.__module__.partition(".")[0]
    if library == "torch":
        torch = sys.modules["torch"]
        raw = getattr(torch._C, "_cuda_getCurrentRawStream", None)

        def of_torch(tensor: object) -> int | None:
            device = getattr(tensor, "device", None)
            if device is None or device.type != "cuda":
                return None
            # The raw form is what compilers on top of torch use; the public one makes an object first.
            return int(raw(device.index)) if raw is not None else int(torch.cuda.current_stream(device).cuda_stream)
        return of_torch
    if library == "cupy":
        current = sys.modules["cupy"].cuda.get_current_stream
        # Of the array's device: another one may be current.
        return lambda array: int(current(array.data.device_id).ptr)  # type: ignore[attr-defined]
    return None


_STREAMS: dict[type, Callable[[object], int | None] | None] = {}

__all__ = ["FastPath", "current_stream"]
