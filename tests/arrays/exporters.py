"""Exporters made by hand, so that CUDA memory and every flavour of DLPack can be described without a device."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

_new = ctypes.pythonapi.PyCapsule_New
_new.restype, _new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class Old(ctypes.Structure):
    _fields_ = [("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class New(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64), ("tensor", Tensor),
    ]


class Exporter:
    """``versioned`` picks the capsule; an unversioned exporter knows no ``max_version``, as the old ones did not."""

    def __init__(
        self, *, pointer: int | None = 4096, shape: tuple[int, ...] = (2, 3), strides: tuple[int, ...] | None = None,
        code: int = 2, bits: int = 32, lanes: int = 1, device: tuple[int, int] = (2, 0), offset: int = 0,
        versioned: bool = True, major: int = 1, flags: int = 0, name: bytes | None = None,
        fail: Callable[[], Exception] | None = None,
    ) -> None:
        self.device, self.fail, self.versioned = device, fail, versioned
        self.streams: list[object] = []
        self._shape = (ctypes.c_int64 * max(len(shape), 1))(*shape)
        self._strides = (ctypes.c_int64 * len(strides))(*strides) if strides else None
        tensor = Tensor(
            pointer, device[0], device[1], len(shape), code, bits, lanes,
            ctypes.cast(self._shape, ctypes.POINTER(ctypes.c_int64)),
            ctypes.cast(self._strides, ctypes.POINTER(ctypes.c_int64)) if self._strides else None, offset,
        )
        self._managed = New(major, 0, None, None, flags, tensor) if versioned else Old(tensor, None, None)
        self._name = name or (b"dltensor_versioned" if versioned else b"dltensor")

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device

    def __dlpack__(self, **keywords: object) -> object:
        if self.fail:
            raise self.fail()
        if not self.versioned and "max_version" in keywords:
            raise TypeError("unexpected keyword argument 'max_version'")
        self.streams.append(keywords.get("stream", "absent"))
        return _new(ctypes.addressof(self._managed), self._name, None)


class Interface:
    """An exporter of ``__cuda_array_interface__`` that says what it is given."""

    def __init__(self, **changes: object) -> None:
        plain = {"shape": (2, 3), "typestr": "<f4", "data": (8192, False), "strides": None, "version": 3}
        self._answer = {**plain, **changes}

    @property
    def __cuda_array_interface__(self) -> object:
        return {key: value for key, value in self._answer.items() if value != "absent"}
