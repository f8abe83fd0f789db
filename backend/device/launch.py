"""Launching: the shape is checked once, the argument block is laid out once, and a launch then costs one driver call.

Codes: ``R107`` the launch shape is not possible, ``R108`` the arguments do not fit the kernel's parameters.
"""

from __future__ import annotations

import ctypes
import struct
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ptxspec.diagnostics import LaunchError, Note, PtxspecError, fail

from .driver import driver, driver_error, launcher, number, triple
from .info import DeviceInfo, device_info
from .module import DeviceKernel, on_device
from .streams import stream_handle

Number = int | float | bool
_NO_CONTEXT = (3, 201)  # not initialised in this thread, no or a wrong current context
_STATIC_LIMIT = 48 * 1024

#: element type -> struct letter, in the driver's (native) byte order
_FORMATS: dict[str, str] = {
    "pointer": "Q", "bool": "?", "int8": "b", "uint8": "B", "int16": "h", "uint16": "H", "int32": "i", "uint32": "I",
    "int64": "q", "uint64": "Q", "float16": "e", "float32": "f", "float64": "d",
}


@dataclass(frozen=True, slots=True)
class LaunchShape:
    """Blocks in the grid, threads in a block, blocks in a cluster (1, 1, 1: none); ``shared`` is dynamic, in bytes."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    cluster: tuple[int, int, int] = (1, 1, 1)
    shared: int = 0
    cooperative: bool = False

    @staticmethod
    def of(
        grid: int | Sequence[int],
        block: int | Sequence[int],
        cluster: int | Sequence[int] = 1,
        shared: int = 0,
        cooperative: bool = False,
    ) -> LaunchShape:
        """The same from one, two or three extents each."""
        return LaunchShape(triple(grid), triple(block), triple(cluster), shared, cooperative)

    @property
    def empty(self) -> bool:
        """True where there is no block, so that nothing runs (not an error)."""
        return 0 in self.grid


def check_shape(shape: LaunchShape, device: DeviceInfo, kernel: DeviceKernel | None = None) -> None:
    """Raise R107 with every reason why ``shape`` cannot run on ``device``."""
    wrong: list[str] = []
    for axis, extent, most in zip("xyz", shape.grid, device.max_grid, strict=True):
        if not 0 <= extent <= most:
            wrong.append(f"grid.{axis} is {extent}, allowed are 0 to {most}")
    for axis, extent, most in zip("xyz", shape.block, device.max_block, strict=True):
        if not 1 <= extent <= most:
            wrong.append(f"block.{axis} is {extent}, allowed are 1 to {most}")
    threads = shape.block[0] * shape.block[1] * shape.block[2]
    most = min(device.max_threads, kernel.max_threads) if kernel else device.max_threads
    if threads > most:
        wrong.append(f"a block has {threads} threads, this kernel's most are {most}")
    blocks = shape.cluster[0] * shape.cluster[1] * shape.cluster[2]
    if min(shape.cluster) < 1:
        wrong.append(f"cluster is {shape.cluster}")
    elif blocks > 1:
        if not device.clusters:
            wrong.append(f"{device.target} has no clusters")
        if any(grid % cluster for grid, cluster in zip(shape.grid, shape.cluster, strict=True)):
            wrong.append(f"grid {shape.grid} is no multiple of cluster {shape.cluster}")
        if blocks > 16:
            wrong.append(f"a cluster has {blocks} blocks, the most are 16")
    static = kernel.shared if kernel else 0
    if shape.shared < 0 or static + shape.shared > device.max_shared:
        wrong.append(f"{static} + {shape.shared} bytes of shared memory a block, the most are {device.max_shared}")
    if wrong:
        raise fail(
            LaunchError, "R107", f"this launch is not possible on {device.target}: {wrong[0]}",
            notes=[Note("note", reason) for reason in wrong[1:]],
        )


class PreparedLaunch:
    """A kernel with its launch shape and parameter types, ready to be called many times.

    ``types`` names each parameter in order: ``"pointer"`` or an element type; bfloat16 and fp8 scalars are passed as
    their bits in an unsigned type. Calls from several threads are safe: the argument block is written under a lock and
    the driver copies it before it returns.
    """

    def __init__(self, kernel: DeviceKernel, shape: LaunchShape, types: Sequence[str]) -> None:
        unknown = [name for name in types if name not in _FORMATS]
        if unknown:
            raise fail(LaunchError, "R108", f"parameters of type {', '.join(unknown)} cannot be passed")
        check_shape(shape, device_info(kernel.ordinal), kernel)
        self.kernel = kernel
        self.shape = shape
        self.types = tuple(types)
        #: how ``struct`` writes each parameter
        self.letters = tuple(_FORMATS[name] for name in types)
        self._lock = threading.Lock()
        # One eight-byte place for each parameter: the driver reads as many bytes as the parameter has.
        self._block = ctypes.create_string_buffer(8 * max(len(self.types), 1))
        base = ctypes.addressof(self._block)
        self._places = (ctypes.c_void_p * max(len(self.types), 1))(*(base + 8 * i for i in range(len(self.types))))
        self._pointers = ctypes.addressof(self._places) if self.types else 0
        self._pack = struct.Struct("".join(f"{letter}{8 - struct.calcsize(letter)}x" for letter in self.letters))
        # Stream handle -> the driver's configuration, kept alive, and its address.
        self._configs: dict[int, tuple[object, int]] = {}
        self._launch, self._ask_context = launcher()
        self._context = ctypes.c_void_p()
        self._context_place = ctypes.addressof(self._context)
        if shape.shared > 0 and shape.shared + kernel.shared > _STATIC_LIMIT:
            with on_device(kernel.ordinal):
                kernel.allow_shared(shape.shared)
        if shape.cluster[0] * shape.cluster[1] * shape.cluster[2] > 8:
            with on_device(kernel.ordinal):
                kernel.allow_large_cluster()

    def __call__(self, arguments: Sequence[Number], stream: object = None) -> None:
        """Launch with one number for each parameter (addresses for pointers). Returns before the kernel has run."""
        self.launch(arguments, stream_handle(stream))

    def launch(self, arguments: Sequence[Number], stream: int) -> None:
        """The same with the stream's handle."""
        if self.shape.empty:
            return
        kernel = self.kernel
        with self._lock:
            place = (self._configs.get(stream) or self._config(stream))[1]
            try:
                self._pack.pack_into(self._block, 0, *arguments)
            except (struct.error, OverflowError) as error:   # the second: a float beyond its type
                raise self._misfit(arguments, error) from error
            # A kernel of a library runs in whichever context is current, so a wrong one must be seen before.
            status = _NO_CONTEXT[0]
            if self._ask_context(self._context_place) == 0 and self._context.value == kernel.context:
                status = self._launch(place, kernel.handle, self._pointers, 0)
            if status in _NO_CONTEXT:
                with on_device(kernel.ordinal):
                    status = self._launch(place, kernel.handle, self._pointers, 0)
        if status:
            raise driver_error("cuLaunchKernelEx", status)

    def raw(self) -> tuple[int, int, int, object]:
        """Kernel handle, context, address of the driver's configuration (for stream 0), and what keeps that alive."""
        with self._lock:
            config, place = self._configs.get(0) or self._config(0)
        return self.kernel.handle, self.kernel.context, place, (self, config)

    def _config(self, stream: int) -> tuple[object, int]:
        api = driver()
        config = api.CUlaunchConfig()
        config.gridDimX, config.gridDimY, config.gridDimZ = self.shape.grid
        config.blockDimX, config.blockDimY, config.blockDimZ = self.shape.block
        config.sharedMemBytes = self.shape.shared
        config.hStream = api.CUstream(stream)
        attributes = []
        if self.shape.cluster != (1, 1, 1):
            attribute = api.CUlaunchAttribute()
            attribute.id = api.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
            size = attribute.value.clusterDim
            size.x, size.y, size.z = self.shape.cluster
            attributes.append(attribute)
        if self.shape.cooperative:
            attribute = api.CUlaunchAttribute()
            attribute.id = api.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_COOPERATIVE
            attribute.value.cooperative = 1
            attributes.append(attribute)
        config.numAttrs = len(attributes)
        config.attrs = attributes
        if len(self._configs) >= 64:  # a program that makes a stream for each launch must not fill the memory
            self._configs.clear()
        self._configs[stream] = (config, config.getPtr())
        return self._configs[stream]

    def _misfit(self, arguments: Sequence[Number], error: Exception) -> PtxspecError:
        if len(arguments) != len(self.types):
            what = f"{len(arguments)} arguments for {len(self.types)} parameters"
        else:
            pairs = zip(self.types, arguments, strict=True)
            what = f"{error} in {', '.join(f'{name} {value!r}' for name, value in pairs)}"
        return fail(LaunchError, "R108", f"kernel '{self.kernel.name}' cannot take these arguments: {what}")


def with_grid(launch: PreparedLaunch, grid: int | Sequence[int]) -> PreparedLaunch:
    """The same kernel prepared for another grid."""
    return PreparedLaunch(launch.kernel, replace(launch.shape, grid=triple(grid)), launch.types)


def occupancy(kernel: DeviceKernel, threads: int, shared: int = 0) -> int:
    """Blocks of this size that one multiprocessor holds at once."""
    function = driver().CUfunction(kernel.handle)
    with on_device(kernel.ordinal):
        return number("cuOccupancyMaxActiveBlocksPerMultiprocessor", function, threads, shared)
