"""``tvm.runtime.tensor``: arrays on a device, or on the host where there is no GPU."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy

    from ptxspec.backend.device import DeviceBuffer


@dataclass(frozen=True, slots=True)
class Device:
    """``kind`` is ``cuda`` or ``cpu``; a ``cuda`` device without a GPU (``simulated``) keeps arrays on the host, and
    kernels on them run in the simulator."""

    kind: str
    index: int = 0

    @property
    def simulated(self) -> bool:
        """True where ``cuda`` was asked for and no GPU answers."""
        if self.kind != "cuda":
            return False
        from ptxspec.backend.device import device_present
        return not device_present()


def cuda(index: int = 0) -> Device:
    """A CUDA device."""
    return Device("cuda", index)


def cpu(index: int = 0) -> Device:
    """Host memory."""
    return Device("cpu", index)


class Tensor:
    """An array with ``.numpy()``, ``.shape`` and ``.dtype``; :func:`tensor` makes one in the right memory."""

    def __init__(self, data: numpy.ndarray, device: Device) -> None:
        import numpy as np
        self.device = device
        self.shape: tuple[int, ...] = tuple(data.shape)
        self.dtype: str = str(data.dtype)
        self._host: numpy.ndarray = np.array(data, order="C", copy=True)

    def numpy(self) -> numpy.ndarray:
        """A copy on the host, after everything that was launched on it."""
        return self._host.copy()

    def __repr__(self) -> str:
        return f"<tensor {self.dtype} {self.shape} on {self.device.kind}>"


class HostTensor(Tensor):
    """In host memory; handed over through DLPack."""

    def __dlpack__(self, *, stream: None = None, **options: object) -> object:
        return self._host.__dlpack__(stream=stream)

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


class DeviceTensor(Tensor):
    """In a GPU's memory; handed over through the CUDA array interface."""

    def __init__(self, data: numpy.ndarray, device: Device) -> None:
        super().__init__(data, device)
        from ptxspec.backend.device import DeviceBuffer
        self._buffer: DeviceBuffer = DeviceBuffer(max(self._host.nbytes, 1), device.index)
        self._buffer.copy_in(self._host)

    @property
    def __cuda_array_interface__(self) -> dict[str, object]:
        return {"shape": self.shape, "typestr": self._host.dtype.str, "data": (self._buffer.pointer, False),
                "version": 3, "strides": None}

    def numpy(self) -> numpy.ndarray:
        self._buffer.copy_out(self._host)
        return self._host.copy()


def tensor(data: object, device: Device | None = None) -> Tensor:
    """A copy of ``data`` on ``device`` (host memory by default)."""
    import numpy as np
    where = device or cpu()
    on_gpu = where.kind == "cuda" and not where.simulated
    return (DeviceTensor if on_gpu else HostTensor)(np.asarray(data), where)
