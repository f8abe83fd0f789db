"""Reading a DLPack capsule, versioned or not, without any library that knows DLPack.

The layouts below are the public C structures of DLPack 1.x. The capsule is never consumed: the view keeps it alive, and
when it goes its own destructor gives the memory back to the exporter.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable

from ptxspec.diagnostics import LaunchError

from .errors import broken_exporter, exporter_failed, no_such_device, no_such_dtype
from .view import ITEMSIZE, ArrayView, Capsule, compact_strides

_CPU, _CUDA, _CUDA_HOST, _CUDA_MANAGED = 1, 2, 3, 13
_DEVICES = {4: "OpenCL", 7: "Vulkan", 8: "Metal", 10: "ROCm", 11: "ROCm host memory", 14: "oneAPI", 15: "WebGPU"}
_READ_ONLY, _COPIED = 1, 2

# (code, bits) -> name; codes of DLDataTypeCode
_DTYPES: dict[tuple[int, int], str] = {
    (0, 8): "int8", (0, 16): "int16", (0, 32): "int32", (0, 64): "int64",
    (1, 8): "uint8", (1, 16): "uint16", (1, 32): "uint32", (1, 64): "uint64",
    (2, 16): "float16", (2, 32): "float32", (2, 64): "float64", (4, 16): "bfloat16", (6, 8): "bool",
    (8, 8): "float8_e4m3", (10, 8): "float8_e4m3", (12, 8): "float8_e5m2",
    (5, 64): "bits64", (5, 128): "bits128",
}
_OF_DTYPE = {dtype: pair for pair, dtype in sorted(_DTYPES.items())}   # float8_e4m3: the finite one, 10
_CODES = {
    0: "int", 1: "uint", 2: "float", 3: "handle", 4: "bfloat", 5: "complex", 6: "bool", 7: "float8_e3m4",
    9: "float8_e4m3b11fnuz", 11: "float8_e4m3fnuz", 13: "float8_e5m2fnuz", 14: "float8_e8m0fnu", 15: "float6_e2m3fn",
    16: "float6_e3m2fn", 17: "float4_e2m1fn",
}


class _Device(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("id", ctypes.c_int32)]


class _DataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", _Device),
        ("ndim", ctypes.c_int32),
        ("dtype", _DataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _Managed(ctypes.Structure):
    _fields_ = [("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class _ManagedVersioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    ]


_is_valid = ctypes.pythonapi.PyCapsule_IsValid
_is_valid.restype, _is_valid.argtypes = ctypes.c_int, [ctypes.py_object, ctypes.c_char_p]
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


def dlpack_code(dtype: str) -> tuple[int, int]:
    """(type code, bits) of an element type."""
    return _OF_DTYPE[dtype]


def describe_dlpack(array: object, export: Callable[..., object], stream: int | None) -> ArrayView:
    """View of what ``export`` (the array's ``__dlpack__``) hands out.

    ``stream`` is the CUDA stream on which the memory will be used (the exporter orders its own work before it); None
    asks for no ordering.
    """
    capsule = _capsule(array, export, stream)
    if _is_valid(capsule, b"dltensor_versioned"):
        managed = _ManagedVersioned.from_address(_pointer(capsule, b"dltensor_versioned"))
        if managed.major != 1:
            raise broken_exporter(array, f"DLPack version {managed.major}.{managed.minor} is not 1.x")
        # A copy that the exporter made can be read; what is written to it would be lost.
        return _view(array, capsule, managed.tensor, bool(managed.flags & (_READ_ONLY | _COPIED)))
    if _is_valid(capsule, b"dltensor"):
        return _view(array, capsule, _Managed.from_address(_pointer(capsule, b"dltensor")).tensor, False)
    raise broken_exporter(array, "__dlpack__ gave no unused DLPack capsule")


def _capsule(array: object, export: Callable[..., object], stream: int | None) -> object:
    device = getattr(array, "__dlpack_device__", None)
    keywords: dict[str, object] = {}
    try:
        kind = int(device()[0]) if callable(device) else _CPU
        if kind in (_CUDA, _CUDA_MANAGED):
            # CUDA convention of the protocol: 1 is the legacy default stream, -1 asks for no synchronisation.
            keywords["stream"] = -1 if stream is None else (stream or 1)
        try:
            return export(max_version=(1, 1), **keywords)
        except TypeError:  # exporters from before DLPack 1.0 have no such argument
            return export(**keywords)
    except LaunchError:
        raise
    except Exception as error:
        raise exporter_failed(array, error, "DLPack export") from error


def _view(array: object, capsule: object, tensor: _Tensor, readonly: bool) -> ArrayView:
    dtype = _DTYPES.get((tensor.dtype.code, tensor.dtype.bits))
    if dtype is None or tensor.dtype.lanes != 1:
        lanes = f" x {tensor.dtype.lanes}" if tensor.dtype.lanes != 1 else ""
        raise no_such_dtype(array, f"{_CODES.get(tensor.dtype.code, 'unknown')} of {tensor.dtype.bits} bits{lanes}")
    if tensor.ndim < 0 or (tensor.ndim and not tensor.shape):
        raise broken_exporter(array, f"{tensor.ndim} dimensions without a shape")
    itemsize = ITEMSIZE[dtype]
    shape = tuple(tensor.shape[axis] for axis in range(tensor.ndim))
    if any(extent < 0 for extent in shape):
        raise broken_exporter(array, f"shape {shape}")
    if tensor.ndim and tensor.strides:
        strides = tuple(tensor.strides[axis] * itemsize for axis in range(tensor.ndim))
    else:
        strides = compact_strides(shape, itemsize)
    kind = tensor.device.type
    if kind in (_CPU, _CUDA_HOST):
        device = "cpu"
    elif kind in (_CUDA, _CUDA_MANAGED):
        device = f"cuda:{tensor.device.id}"
    else:
        raise no_such_device(array, _DEVICES.get(kind, f"a device of DLPack kind {kind}"))
    pointer = (tensor.data or 0) + tensor.byte_offset
    return ArrayView(pointer, shape, strides, dtype, device, readonly, Capsule(array, capsule))
