"""``wp.array``: data on the host or on a GPU, and the annotations of kernel parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ptxspec.compat.warp.types import Element, Struct, element
from ptxspec.diagnostics import Diagnostic, LaunchError

if TYPE_CHECKING:
    from numpy import ndarray

    from ptxspec.backend.device import DeviceBuffer

Shape = int | Sequence[int]


@dataclass(frozen=True, slots=True)
class ArrayType:
    """The annotation ``wp.array2d[float]``: an array parameter of ``ndim`` axes."""

    element: Element
    ndim: int


@dataclass(frozen=True, slots=True)
class Annotation:
    """``wp.array1d`` to ``wp.array4d``: in brackets or with ``dtype=`` it annotates a parameter."""

    ndim: int

    def __getitem__(self, dtype: object) -> ArrayType:
        return ArrayType(element(dtype), self.ndim)

    def __call__(self, dtype: object = float) -> ArrayType:
        return ArrayType(element(dtype), self.ndim)


array1d, array2d, array3d, array4d = (Annotation(k) for k in (1, 2, 3, 4))


class Array:
    """An array of ``shape`` elements of ``dtype``; strided views such as ``a[::2]`` share its memory.

    ``device="cuda"`` keeps it on the GPU; :meth:`numpy` gives the values in either case. ``grad`` is an array of the
    same shape when gradients were asked for.
    """

    def __init__(self, host: ndarray, kind: Element, dtype: object, device: str,
                 buffer: DeviceBuffer | None = None, base: ndarray | None = None) -> None:
        self._host = host               # on a GPU: a picture of the layout, refreshed when read
        self._base = host if base is None else base
        self._buffer = buffer
        self.element = kind
        self.dtype = dtype
        self.device = device
        self.grad: Array | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Elements along each axis."""
        return tuple(self._host.shape[:self._host.ndim - len(self.element.trailing)])

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        total = 1
        for extent in self.shape:
            total *= extent
        return total

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes between neighbours along each axis."""
        return tuple(self._host.strides[:self.ndim])

    @property
    def requires_grad(self) -> bool:
        """True when the array has a gradient."""
        return self.grad is not None

    def numpy(self) -> ndarray:
        """The values: host arrays share their memory, those on a GPU are copied. Structures come as records."""
        values = self._host
        if self._buffer is not None:
            self._buffer.copy_out(self._base)
            values = self._host.copy()
        return values if self.element.struct is None else values.view(self.element.struct.record())[..., 0]

    def assign(self, data: object) -> Array:
        """Overwrite with ``data`` of the same shape."""
        import numpy as np
        values = np.asarray(data.scalars_now() if isinstance(data, Array) else data)
        if self.element.struct is not None and values.dtype.names is not None:
            values = np.ascontiguousarray(values).view(self.element.storage)
        if self._buffer is not None:
            self._buffer.copy_out(self._base)
        self._host[...] = values.astype(self._host.dtype, copy=False).reshape(self._host.shape)
        if self._buffer is not None:
            self._buffer.copy_in(self._base)
        return self

    def fill_(self, value: float) -> Array:
        """Set every element."""
        import numpy as np
        return self.assign(np.full(self._host.shape, value, self._host.dtype))

    def zero_(self) -> Array:
        """Clear every element."""
        return self.fill_(0)

    def view_of(self, host: ndarray) -> Array:
        """The same memory under another NumPy view."""
        return Array(host, self.element, self.dtype, self.device, self._buffer, self._base)

    def __getitem__(self, key: object) -> Array:
        # The axes inside one element are always taken whole.
        items = key if isinstance(key, tuple) else (key,)
        if len([i for i in items if i is not Ellipsis]) > self.ndim:
            raise LaunchError(Diagnostic("R330", f"{len(items)} subscripts for an array of {self.ndim} dimensions"))
        return self.view_of(self._host[items])

    def transpose(self, axes: Sequence[int] | None = None) -> Array:
        """The axes in another order (reversed by default), without moving data."""
        order = list(reversed(range(self.ndim))) if axes is None else list(axes)
        return self.view_of(self._host.transpose([*order, *range(self.ndim, self._host.ndim)]))

    def reshape(self, shape: Shape) -> Array:
        """Other axes on the same contiguous data."""
        wanted = (shape,) if isinstance(shape, int) else tuple(shape)
        return self.view_of(self._host.reshape((*wanted, *self.element.trailing)))

    def flatten(self) -> Array:
        """One axis."""
        return self.reshape(self.size)

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"<array {self.dtype!r} {self.shape} on {self.device}>"

    # --- handing over

    def scalars_now(self) -> ndarray:
        """All axes, those inside elements too, as they are now."""
        if self._buffer is not None:
            self._buffer.copy_out(self._base)
        return self._host

    @property
    def scalars(self) -> ndarray:
        """All axes, those inside elements too: what a kernel sees."""
        return self._host

    @property
    def pointer(self) -> int:
        """Address of the first element."""
        if self._buffer is None:
            return _address(self._host)
        start: int = self._buffer.pointer
        return start + _address(self._host) - _address(self._base)

    @property
    def __cuda_array_interface__(self) -> dict[str, object]:
        if self._buffer is None:
            raise AttributeError("this array lies in host memory")
        return {"shape": self._host.shape, "typestr": self._host.dtype.str, "data": (self.pointer, False),
                "version": 3, "strides": self._host.strides}


def _address(data: ndarray) -> int:
    address: int = data.__array_interface__["data"][0]
    return address


class _Maker:
    """``wp.array``: called it makes an array or an annotation; in brackets it annotates one axis."""

    def __getitem__(self, dtype: object) -> ArrayType:
        return ArrayType(element(dtype), 1)

    def __instancecheck__(self, value: object) -> bool:
        return isinstance(value, Array)

    def __call__(self, data: object = None, dtype: object = None, shape: Shape | None = None, ndim: int | None = None,
                 device: str | None = None, copy: bool = True, requires_grad: bool = False) -> Array | ArrayType:
        """Data from a list, a NumPy array or another array; without data and shape, an annotation (``dtype``,
        ``ndim``). ``copy=False`` keeps the memory of a NumPy array of the right type."""
        import numpy as np
        if data is None and shape is None:
            return ArrayType(element(float if dtype is None else dtype), 1 if ndim is None else ndim)
        if data is None:
            assert shape is not None
            return empty(shape, float if dtype is None else dtype, device, requires_grad)
        if isinstance(data, Array):
            dtype = data.dtype if dtype is None else dtype
            data = data.numpy()
        if isinstance(dtype, Struct):
            records = np.ascontiguousarray(np.asarray(data, dtype=dtype.record()))
            data = records.view(dtype.element.storage).reshape(*records.shape, *dtype.element.trailing)
        values = np.asarray(data)
        if dtype is None:
            dtype = float if values.dtype == np.float64 and not isinstance(data, np.ndarray) else values.dtype.name
        kind = element(dtype)
        values = np.array(values, dtype=kind.storage) if copy else np.asarray(values, dtype=kind.storage)
        if shape is not None:
            values = values.reshape((*((shape,) if isinstance(shape, int) else tuple(shape)), *kind.trailing))
        if kind.trailing and values.shape[values.ndim - len(kind.trailing):] != kind.trailing:
            raise LaunchError(Diagnostic("R330", f"an array of shape {values.shape} has no elements of {dtype!r}",
                                         notes=()))
        return _placed(values, kind, dtype, device, requires_grad)


array = _Maker()


def _placed(values: ndarray, kind: Element, dtype: object, device: str | None, requires_grad: bool) -> Array:
    where = device or "cpu"
    if not where.startswith(("cpu", "cuda")):
        raise LaunchError(Diagnostic("R330", f"a device is \"cpu\" or \"cuda\", not {device!r}"))
    result = Array(values, kind, dtype, where)
    if where.startswith("cuda"):
        import numpy as np

        from ptxspec.backend.device import DeviceBuffer, require_device
        require_device()
        values = np.ascontiguousarray(values)
        buffer = DeviceBuffer(values.nbytes)
        buffer.copy_in(values)
        result = Array(values, kind, dtype, where, buffer)
    if requires_grad:
        result.grad = zeros(result.shape, dtype, device)
    return result


def full(shape: Shape, value: float = 0, dtype: object = float, device: str | None = None,
         requires_grad: bool = False) -> Array:
    """An array with ``value`` everywhere."""
    import numpy as np
    kind = element(dtype)
    axes = (shape,) if isinstance(shape, int) else tuple(shape)
    return _placed(np.full((*axes, *kind.trailing), value, kind.storage), kind, dtype, device, requires_grad)


def zeros(shape: Shape, dtype: object = float, device: str | None = None, requires_grad: bool = False) -> Array:
    """An array of zeros."""
    return full(shape, 0, dtype, device, requires_grad)


def ones(shape: Shape, dtype: object = float, device: str | None = None, requires_grad: bool = False) -> Array:
    """An array of ones."""
    return full(shape, 1, dtype, device, requires_grad)


def empty(shape: Shape, dtype: object = float, device: str | None = None, requires_grad: bool = False) -> Array:
    """An array whose contents mean nothing yet (zeros, so that results never depend on old memory)."""
    return full(shape, 0, dtype, device, requires_grad)


def zeros_like(other: Array, device: str | None = None, requires_grad: bool = False) -> Array:
    """Zeros in the shape and type of ``other``."""
    return zeros(other.shape, other.dtype, device or other.device, requires_grad)


def empty_like(other: Array, device: str | None = None, requires_grad: bool = False) -> Array:
    """As :func:`zeros_like`."""
    return zeros_like(other, device, requires_grad)


def clone(other: Array, device: str | None = None, requires_grad: bool = False) -> Array:
    """A contiguous copy."""
    import numpy as np
    return _placed(np.array(other.scalars_now(), order="C"), other.element, other.dtype, device or other.device,
                   requires_grad)


def from_numpy(data: ndarray, dtype: object = None, shape: Shape | None = None, device: str | None = None,
               requires_grad: bool = False) -> Array:
    """A copy of a NumPy array."""
    result = array(data, dtype=dtype, shape=shape, device=device, requires_grad=requires_grad)
    assert isinstance(result, Array)
    return result
