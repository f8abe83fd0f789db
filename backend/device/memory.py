"""Plain device memory: allocate, copy in and out, free. ``R109`` names a copy that does not fit."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING

from ptxspec.diagnostics import LaunchError, fail

from .driver import call, driver, number
from .module import on_device
from .streams import stream_handle

if TYPE_CHECKING:
    import numpy


class DeviceBuffer:
    """``size`` bytes on a device, aligned to at least 256; freed when closed or collected."""

    def __init__(self, size: int, ordinal: int = 0) -> None:
        self.size = size
        self.ordinal = ordinal
        with on_device(ordinal):
            # The driver refuses to allocate nothing; an empty array still needs an address to pass.
            self.pointer = number("cuMemAlloc", max(size, 1))

    def copy_in(self, array: numpy.ndarray, stream: object = None) -> None:
        """Copy a contiguous host array to the start of the buffer; returns when its memory may be changed again."""
        self._fits(array, "in")
        if array.nbytes:
            handle = driver().CUstream(stream_handle(stream))
            with on_device(self.ordinal):
                call("cuMemcpyHtoDAsync", self.pointer, array.ctypes.data, array.nbytes, handle)
                call("cuStreamSynchronize", handle)

    def copy_out(self, array: numpy.ndarray, stream: object = None) -> None:
        """Copy from the start of the buffer into a contiguous host array; a kernel's fault surfaces here (R102)."""
        self._fits(array, "out")
        handle = driver().CUstream(stream_handle(stream))
        with on_device(self.ordinal):
            if array.nbytes:
                call("cuMemcpyDtoHAsync", array.ctypes.data, self.pointer, array.nbytes, handle)
            call("cuStreamSynchronize", handle)

    def close(self) -> None:
        """Free the memory; a second time does nothing."""
        pointer, self.pointer = self.pointer, 0
        if pointer:
            # The collector may run this anywhere, in the midst of another library's work on another device.
            with on_device(self.ordinal):
                call("cuMemFree", pointer)

    def __enter__(self) -> DeviceBuffer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # After a kernel's fault the context is lost, and so is its memory: the first error is the one to tell.
        try:
            self.close()
        except LaunchError:
            if error is None:
                raise

    def __del__(self) -> None:
        if getattr(self, "pointer", 0):
            try:
                self.close()
            except Exception:  # at exit of the interpreter the driver may already be gone
                self.pointer = 0

    def _fits(self, array: numpy.ndarray, way: str) -> None:
        if not array.flags.c_contiguous or array.nbytes > self.size:
            raise fail(
                LaunchError, "R109",
                f"cannot copy {way} {array.nbytes} bytes of strides {array.strides} with a buffer of {self.size} bytes",
            )
