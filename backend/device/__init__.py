"""The CUDA device: is there one, what does it allow, load, launch, copy."""

from .driver import device_count, device_present, require_device
from .info import DeviceInfo, device_info, device_target
from .launch import LaunchShape, PreparedLaunch, check_shape, occupancy, with_grid
from .memory import DeviceBuffer
from .module import DeviceKernel, DeviceModule, activate, load_module, on_device
from .streams import stream_handle, synchronize, wait_for

__all__ = [
    "DeviceBuffer", "DeviceInfo", "DeviceKernel", "DeviceModule", "LaunchShape", "PreparedLaunch", "activate",
    "check_shape", "device_count", "device_info", "device_present", "device_target", "load_module", "occupancy",
    "on_device", "require_device", "stream_handle", "synchronize", "wait_for", "with_grid",
]
