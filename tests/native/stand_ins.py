"""Device arrays, libraries and a driver made by hand: what the C extension reads, where the real ones have it."""

from __future__ import annotations

import ctypes
import sys
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

CONTEXT, KERNEL, STREAM = 0xC0, 0xBEEF, 0x51
DTYPES = {"float32": (2, 32), "float64": (2, 64), "int32": (0, 32), "complex64": (5, 64)}


class Described(ctypes.Structure):
    """DLTensor."""

    _fields_ = [
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class Config(ctypes.Structure):
    """CUlaunchConfig."""

    _fields_ = [
        ("grid", ctypes.c_uint * 3), ("block", ctypes.c_uint * 3), ("shared", ctypes.c_uint),
        ("stream", ctypes.c_void_p), ("attrs", ctypes.c_void_p), ("count", ctypes.c_uint),
    ]


class Attribute(ctypes.Structure):
    """CUlaunchAttribute."""

    _fields_ = [("id", ctypes.c_uint), ("pad", ctypes.c_uint), ("value", ctypes.c_uint * 16)]


class Device(NamedTuple):
    type: str
    index: int


class Dtype:
    def __init__(self, name: str) -> None:
        self.name = name

    def __str__(self) -> str:
        return f"torch.{self.name}"


TORCH_DTYPES = {name: Dtype(name) for name in DTYPES}


class Tensor:
    """As much of torch's as is read. ``failing`` makes the exchange raise, as tensors without storage do."""

    __dlpack_c_exchange_api__: object

    def __init__(self, pointer: int, shape: tuple[int, ...] = (64, 4), dtype: str = "float32",
                 strides: tuple[int, ...] | None = None, device: int = 0, negated: bool = False,
                 failing: bool = False) -> None:
        steps = [1]
        for extent in reversed(shape[1:]):
            steps.insert(0, steps[0] * extent)
        self.pointer, self.shape, self.negated, self.failing = pointer, shape, negated, failing
        self.dtype, self.device = TORCH_DTYPES[dtype], Device("cuda", device)
        self.steps = tuple(steps[:len(shape)]) if strides is None else strides

    def stride(self) -> tuple[int, ...]:
        return self.steps

    def data_ptr(self) -> int:
        return self.pointer

    def is_neg(self) -> bool:
        return self.negated


class Parameter(Tensor):
    """torch.nn.Parameter."""


class Subclass(Tensor):
    """One that torch does not know."""


class ndarray:  # noqa: N801 - cupy's own name
    """As much of cupy's as is read."""

    devices: dict[int, int] = {}   # which device holds an address: the driver's answer

    def __init__(self, pointer: int, shape: tuple[int, ...] = (64, 4), dtype: str = "float32",
                 strides: tuple[int, ...] | None = None, device: int = 0) -> None:
        size = np.dtype(dtype).itemsize
        steps = [size]
        for extent in reversed(shape[1:]):
            steps.insert(0, steps[0] * extent)
        self.data = SimpleNamespace(ptr=pointer, device_id=device)
        self.devices[pointer] = device
        self.shape, self.dtype = shape, np.dtype(dtype)
        self.strides = tuple(steps[:len(shape)]) if strides is None else strides

    @property
    def __cuda_array_interface__(self) -> dict[str, object]:
        return {"shape": self.shape, "typestr": self.dtype.str, "data": (self.data.ptr, False),
                "strides": self.strides, "version": 3}


ndarray.__module__ = "cupy"
Tensor.__module__ = "torch"
Parameter.__module__ = "torch.nn.parameter"


class Libraries:
    """Puts the two libraries into ``sys.modules``; keeps the C callbacks alive."""

    def __init__(self, monkeypatch: Any) -> None:
        self.stream = STREAM
        self.asked: list[int] = []
        self._sizes: dict[int, Any] = {}
        tensor = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(Described))(self._describe)
        stream = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p))(
            self._stream)
        one = (ctypes.c_uint32 * 2)(1, 3)
        address = ctypes.cast(one, ctypes.POINTER(ctypes.c_uint64))[0]
        self._table = (ctypes.c_uint64 * 7)(address, 0, 0, 0, 0, _address(tensor), _address(stream))
        self._keep = (tensor, stream)
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        capsule = new(ctypes.addressof(self._table), b"dlpack_exchange_api", None)
        monkeypatch.setattr(Tensor, "__dlpack_c_exchange_api__", capsule, raising=False)
        torch = ModuleType("torch")
        torch.Tensor, torch.nn = Tensor, SimpleNamespace(Parameter=Parameter)  # type: ignore[attr-defined]
        torch._C = SimpleNamespace(_cuda_getCurrentRawStream=lambda index: self.stream + index)  # type: ignore[attr-defined]
        cupy = ModuleType("cupy")
        cupy.ndarray = ndarray  # type: ignore[attr-defined]
        cupy.cuda = SimpleNamespace(  # type: ignore[attr-defined]
            get_current_stream=lambda index=-1: SimpleNamespace(ptr=self.stream + 0x100 + index))
        monkeypatch.setitem(sys.modules, "torch", torch)
        monkeypatch.setitem(sys.modules, "cupy", cupy)

    def _describe(self, tensor: Tensor, out: Any) -> int:
        if tensor.failing:
            return -1
        count = len(tensor.shape)
        held = (ctypes.c_int64 * (2 * count))(*tensor.shape, *tensor.steps)
        self._sizes[id(tensor)] = held
        to = out.contents
        to.data, to.device_type, to.device_id = tensor.pointer, 2, tensor.device.index
        to.ndim, (to.code, to.bits), to.lanes, to.byte_offset = count, DTYPES[tensor.dtype.name], 1, 0
        to.shape = ctypes.cast(ctypes.addressof(held), ctypes.POINTER(ctypes.c_int64))
        to.strides = ctypes.cast(ctypes.addressof(held) + 8 * count, ctypes.POINTER(ctypes.c_int64))
        return 0

    def _stream(self, kind: int, index: int, out: Any) -> int:
        self.asked.append(index)
        out[0] = self.stream + index
        return 0


class Driver:
    """``cuLaunchKernelEx`` and ``cuCtxGetCurrent`` as C functions that note what they are given."""

    def __init__(self) -> None:
        self.launches: list[SimpleNamespace] = []
        self.context, self.status = CONTEXT, 0
        self.sizes: tuple[int, ...] = (8, 8)
        self.during: Any = None
        self.launch = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 4)(self._launch)
        self.current = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(self._current)

    def addresses(self) -> tuple[int, int]:
        return _address(self.launch), _address(self.current)

    def _launch(self, place: int, function: int, parameters: int | None, extra: int | None) -> int:
        if self.during is not None:
            self.during()
        config = Config.from_address(place)
        places = (ctypes.c_void_p * len(self.sizes)).from_address(parameters) if parameters else ()
        raw = [ctypes.string_at(p, size) for p, size in zip(places, self.sizes, strict=False)]
        attributes = (Attribute * config.count).from_address(config.attrs) if config.count else ()
        if self.status == 0:
            self.launches.append(SimpleNamespace(
                grid=tuple(config.grid), block=tuple(config.block), stream=config.stream or 0, function=function,
                shared=config.shared, attributes={a.id: tuple(a.value[:3]) for a in attributes},
                raw=raw, numbers=[int.from_bytes(r, "little") for r in raw]))
        return self.status

    def _current(self, place: int) -> int:
        ctypes.c_void_p.from_address(place).value = self.context or None
        return 0


def _address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0
