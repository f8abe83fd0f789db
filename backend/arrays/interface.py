"""Reading NumPy arrays and ``__cuda_array_interface__`` (versions 0 to 3)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from .errors import broken_exporter, no_such_dtype
from .view import ALIASES, ITEMSIZE, ArrayView, compact_strides

if TYPE_CHECKING:
    import numpy

_KINDS = {"i": "int", "u": "uint", "f": "float", "c": "complex"}
_TYPESTR = re.compile(r"^([<>|=])([a-zA-Z])(\d+)$")


def describe_numpy(array: numpy.ndarray) -> ArrayView:
    """View of a NumPy array of any strides; types of ml_dtypes (bfloat16, fp8) are known by name."""
    if hasattr(array, "mask") and array.mask.any():   # numpy.ma, which is imported nowhere here
        raise broken_exporter(array, "it has a mask, which a kernel cannot see")
    dtype = array.dtype
    name = ALIASES.get(dtype.name, dtype.name)
    if dtype.kind == "V" and dtype.names is None and dtype.subdtype is None:   # plain bytes, such as "V16"
        name = f"bits{8 * dtype.itemsize}"
    if name not in ITEMSIZE or dtype.itemsize != ITEMSIZE[name]:
        raise no_such_dtype(array, str(dtype))
    if not dtype.isnative:
        raise no_such_dtype(array, f"{dtype} (other byte order)", "array.astype(array.dtype.newbyteorder('='))")
    # Not array.ctypes.data, which builds an object of its own each time.
    pointer, readonly = array.__array_interface__["data"]
    return ArrayView(pointer, array.shape, array.strides, name, "cpu", readonly, array)


def describe_interface(array: object, interface: object, ordinal: int) -> ArrayView:
    """View of what ``__cuda_array_interface__`` says; ``ordinal`` is the device that holds its pointer."""
    if not isinstance(interface, Mapping):
        raise broken_exporter(array, "__cuda_array_interface__ is no mapping")
    missing = [key for key in ("shape", "typestr", "data") if key not in interface]
    if missing:
        raise broken_exporter(array, f"__cuda_array_interface__ lacks {', '.join(missing)}")
    if interface.get("mask") is not None:
        raise broken_exporter(array, "it has a mask, which a kernel cannot see")
    dtype = _dtype(array, interface["typestr"])
    shape = _integers(array, "shape", interface["shape"])
    if any(extent < 0 for extent in shape):
        raise broken_exporter(array, f"shape {shape}")
    given = interface.get("strides")
    strides = compact_strides(shape, ITEMSIZE[dtype]) if given is None else _integers(array, "strides", given)
    if len(strides) != len(shape):
        raise broken_exporter(array, f"{len(strides)} strides for {len(shape)} dimensions")
    data = interface["data"]
    if not isinstance(data, Sequence) or len(data) != 2 or not isinstance(data[0], int | None):
        raise broken_exporter(array, "data is not (pointer, readonly)")
    stream = interface.get("stream")
    if stream is not None and (not isinstance(stream, int) or stream == 0):
        raise broken_exporter(array, f"stream {stream!r}")
    return ArrayView(data[0] or 0, shape, strides, dtype, f"cuda:{ordinal}", bool(data[1]), array, stream)


def _dtype(array: object, typestr: object) -> str:
    found = _TYPESTR.match(str(typestr))
    if not found:
        raise broken_exporter(array, f"typestr {typestr!r}")
    order, kind, size = found[1], found[2], int(found[3])
    if kind == "b" and size == 1:
        return "bool"
    name = f"{_KINDS.get(kind, '')}{8 * size}"
    name = ALIASES.get(name, name)
    if name not in ITEMSIZE:
        raise no_such_dtype(array, str(typestr))
    if order == ">":
        raise no_such_dtype(array, f"{typestr} (other byte order)")
    return name


def _integers(array: object, what: str, values: object) -> tuple[int, ...]:
    if isinstance(values, Sequence) and not isinstance(values, str):
        out = tuple(int(value) for value in values if hasattr(value, "__index__"))
        if len(out) == len(values):
            return out
    raise broken_exporter(array, f"{what} {values!r}")
