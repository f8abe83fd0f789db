"""The quick look at an array for launches that repeat: a signature and a pointer, in about a microsecond.

Two arrays with equal signatures are described alike by :func:`describe`, but for pointer and owner. A caller keeps what
it worked out for a signature and asks for the whole description only for a new one.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Protocol


class _Torch(Protocol):
    dtype: Hashable
    shape: Hashable
    device: Hashable

    def stride(self) -> tuple[int, ...]: ...
    def data_ptr(self) -> int: ...
    def is_neg(self) -> bool: ...


Signature = tuple[Hashable, ...]
Quick = tuple[Signature, int]


def quick(array: object) -> Quick | None:
    """(signature, pointer) of a torch tensor or a cupy array; None where only the full description will do."""
    kind = type(array)
    try:
        look = _LOOKS[kind]
    except KeyError:
        look = _LOOKS[kind] = _look_for(kind)
    return look(array) if look is not None else None


def _torch(tensor: _Torch) -> Quick | None:
    if tensor.is_neg():
        return None
    return ("torch", tensor.dtype, tensor.shape, tensor.stride(), tensor.device), tensor.data_ptr()


def _torch_any(tensor: object) -> Quick | None:
    try:
        return _torch(tensor)  # type: ignore[arg-type]
    except Exception:  # sparse and meta tensors: the full description says what is wrong
        return None


def _cupy(array: object) -> Quick | None:
    data = array.data  # type: ignore[attr-defined]
    signature = ("cupy", array.dtype, array.shape, array.strides, data.device_id)  # type: ignore[attr-defined]
    return signature, data.ptr


def _look_for(kind: type) -> Callable[[object], Quick | None] | None:
    # Exactly these types: a subclass may describe its memory in its own way.
    name = f"{kind.__module__}.{kind.__qualname__}"
    if name in ("torch.Tensor", "torch.nn.parameter.Parameter"):
        return _torch_any
    if kind.__module__.partition(".")[0] == "cupy" and kind.__qualname__ == "ndarray":
        return _cupy
    return None


_LOOKS: dict[type, Callable[[object], Quick | None] | None] = {}
