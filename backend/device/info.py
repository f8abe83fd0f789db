"""What a device is and what it allows."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from .driver import call, driver, number, require_device


@dataclass(frozen=True, slots=True)
class DeviceInfo:
    """Limits of one device: threads a block, bytes of shared memory a block (opted in), extents of a grid."""

    ordinal: int
    name: str
    capability: tuple[int, int]
    memory: int
    multiprocessors: int
    max_threads: int
    max_block: tuple[int, int, int]
    max_grid: tuple[int, int, int]
    max_shared: int
    clusters: bool

    @property
    def target(self) -> str:
        """The PTX target of exactly this device: ``sm_90``."""
        return f"sm_{self.capability[0]}{self.capability[1]}"


@functools.cache
def device_info(ordinal: int = 0) -> DeviceInfo:
    """Facts about device ``ordinal``; R100 where it does not exist."""
    require_device(ordinal)
    call("cuInit", 0)
    device = call("cuDeviceGet", ordinal)
    names = driver().CUdevice_attribute

    def ask(attribute: str) -> int:
        return number("cuDeviceGetAttribute", getattr(names, f"CU_DEVICE_ATTRIBUTE_{attribute}"), device)

    raw = call("cuDeviceGetName", 256, device)
    name = raw.split(b"\0")[0].decode() if isinstance(raw, bytes) else str(raw)
    return DeviceInfo(
        ordinal=ordinal,
        name=name,
        capability=(ask("COMPUTE_CAPABILITY_MAJOR"), ask("COMPUTE_CAPABILITY_MINOR")),
        memory=number("cuDeviceTotalMem", device),
        multiprocessors=ask("MULTIPROCESSOR_COUNT"),
        max_threads=ask("MAX_THREADS_PER_BLOCK"),
        max_block=(ask("MAX_BLOCK_DIM_X"), ask("MAX_BLOCK_DIM_Y"), ask("MAX_BLOCK_DIM_Z")),
        max_grid=(ask("MAX_GRID_DIM_X"), ask("MAX_GRID_DIM_Y"), ask("MAX_GRID_DIM_Z")),
        max_shared=ask("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN"),
        clusters=bool(ask("CLUSTER_LAUNCH")),
    )


def device_target(ordinal: int = 0) -> str:
    """``sm_NN`` of device ``ordinal``."""
    return device_info(ordinal).target
