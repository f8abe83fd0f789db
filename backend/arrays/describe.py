"""One question, ``describe(array)``, for every library's arrays; none of those libraries is ever imported here."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from ..device.driver import pointer_device
from .dlpack import describe_dlpack
from .errors import broken_exporter, exporter_failed, no_such_device, no_such_dtype, not_an_array
from .interface import describe_interface, describe_numpy
from .view import ALIASES, ITEMSIZE, ArrayView, Capsule

if TYPE_CHECKING:
    import numpy


def describe(array: object, *, stream: int | None = None) -> ArrayView:
    """Where ``array`` lies and how.

    Taken are NumPy arrays, torch tensors, and exporters of ``__dlpack__`` or ``__cuda_array_interface__``: empty,
    sliced, broadcast, negative-stride and zero-dimensional ones too. ``stream`` is the CUDA stream handle on which the
    memory will be used, given to DLPack exporters so that they order their work before it; None asks for no ordering.
    Errors: R120 to R123.
    """
    view = _describe(array, stream)
    if view.pointer == 0 and view.size:
        raise broken_exporter(array, "it has elements but no memory; was its storage given back?")
    return view


def _describe(array: object, stream: int | None) -> ArrayView:
    numpy_module = sys.modules.get("numpy")
    if numpy_module is not None and isinstance(array, numpy_module.ndarray):
        return describe_numpy(array)
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(array, torch.Tensor):
        return _describe_torch(array)
    kind = type(array)
    if hasattr(kind, "__dlpack__"):
        return describe_dlpack(array, array.__dlpack__, stream)  # type: ignore[attr-defined]
    if hasattr(kind, "__cuda_array_interface__") or "__cuda_array_interface__" in getattr(array, "__dict__", {}):
        try:
            interface = array.__cuda_array_interface__  # type: ignore[attr-defined]
        except Exception as error:
            raise exporter_failed(array, error, "__cuda_array_interface__") from error
        view = describe_interface(array, interface, 0)
        ordinal = pointer_device(view.pointer) if view.pointer else 0
        return view if ordinal == 0 else describe_interface(array, interface, ordinal)
    raise not_an_array(array)


def _describe_torch(tensor: object) -> ArrayView:
    # The tensor's own methods are several times faster than a DLPack capsule, and take tensors that require gradients.
    try:
        name = str(tensor.dtype).rpartition(".")[2]  # type: ignore[attr-defined]
        name = ALIASES.get(name, name)
        if name not in ITEMSIZE:
            raise no_such_dtype(tensor, name)
        size = ITEMSIZE[name]
        if tensor.is_neg():  # type: ignore[attr-defined]
            raise broken_exporter(tensor, "it is a lazily negated view; pass tensor.resolve_neg()")
        device = tensor.device  # type: ignore[attr-defined]
        if device.type not in ("cpu", "cuda"):
            raise no_such_device(tensor, str(device))
        return ArrayView(
            int(tensor.data_ptr()),  # type: ignore[attr-defined]
            tuple(tensor.shape),  # type: ignore[attr-defined]
            tuple(step * size for step in tensor.stride()),  # type: ignore[attr-defined]
            name,
            "cpu" if device.type == "cpu" else f"cuda:{device.index or 0}",
            False,
            tensor,
        )
    except (RuntimeError, NotImplementedError, AttributeError) as error:  # sparse, meta and quantised tensors
        raise exporter_failed(tensor, error, "the storage") from error


def to_numpy(view: ArrayView) -> numpy.ndarray:
    """The same host memory as a NumPy array; types that NumPy lacks (bfloat16, fp8) come as unsigned integers."""
    import ctypes

    import numpy as np

    if view.device != "cpu":
        owner = view.owner.array if isinstance(view.owner, Capsule) else view.owner
        raise no_such_device(owner, f"{view.device}, which the host cannot read;")
    known = view.dtype if not view.dtype.startswith(("bfloat", "float8")) else f"uint{8 * view.itemsize}"
    known = f"V{view.itemsize}" if known.startswith("bits") else known
    if view.size == 0:
        return np.empty(view.shape, known)
    low, high = view.byte_range
    memory = (ctypes.c_uint8 * (high - low)).from_address(low)
    # The buffer owns nothing, so the exporter must outlive the array: the array holds the buffer, which holds it.
    memory._ptxspec_owner = view.owner  # type: ignore[attr-defined]
    array = np.ndarray(view.shape, known, memoryview(memory), view.pointer - low, view.strides)
    array.flags.writeable = not view.readonly
    return array
