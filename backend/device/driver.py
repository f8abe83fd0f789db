"""The one place that knows how the CUDA driver and ``cuda.core`` are reached, and which of their versions say what.

Whether there is a device is asked of the driver library directly, so that asking costs no import. Everything else goes
through ``cuda.bindings.driver`` and ``cuda.core`` (``cuda.core.experimental`` before its 0.5). Codes: ``R100`` no
device, ``R101`` the driver refused a call, ``R102`` a kernel faulted on the device, ``R103`` the Python packages are
missing.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Sequence
from importlib import import_module
from types import ModuleType

from ptxspec.diagnostics import LaunchError, Note, PtxspecError, fail

#: CUresult values that say that a kernel did something forbidden; the context is lost after them
_FAULTS: dict[int, str] = {
    700: "a kernel accessed an address that does not exist",
    715: "a kernel executed an illegal instruction",
    716: "a kernel accessed a misaligned address",
    717: "a kernel accessed an address of the wrong state space",
    718: "a kernel jumped to an invalid place",
    719: "a kernel faulted",
    702: "a kernel ran too long",
    710: "a kernel stopped at an assertion",
}
_POINTER_ORDINAL = 9  # CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL


@functools.cache
def _library() -> ctypes.CDLL | None:
    for name in ("libcuda.so.1", "nvcuda.dll"):
        try:
            library = ctypes.CDLL(name)
        except OSError:
            continue
        return library if library.cuInit(0) == 0 else None
    return None


def device_count() -> int:
    """Number of CUDA devices that this process may use; 0 where there is no driver."""
    library = _library()
    count = ctypes.c_int(0)
    if library is None or library.cuDeviceGetCount(ctypes.byref(count)) != 0:
        return 0
    return count.value


def device_present() -> bool:
    """True where a CUDA driver answers and has at least one device. Costs no import of CUDA packages."""
    return device_count() > 0


def pointer_device(pointer: int) -> int:
    """Ordinal of the device that holds this address; 0 where the driver does not know it."""
    library = _library()
    ordinal = ctypes.c_int(0)
    if library is None:
        return 0
    status = library.cuPointerGetAttribute(ctypes.byref(ordinal), _POINTER_ORDINAL, ctypes.c_uint64(pointer))
    return ordinal.value if status == 0 else 0


def require_device(ordinal: int = 0) -> None:
    """Raise R100 unless device ``ordinal`` exists."""
    count = device_count()
    if ordinal < count:
        return
    message = f"there is no CUDA device {ordinal}, the last is {count - 1}" if count else "no CUDA device is here"
    raise fail(
        LaunchError, "R100", message,
        notes=(Note("help", "pass NumPy arrays, or compile with target='sim': the simulator runs the same PTX"),),
    )


@functools.cache
def driver() -> ModuleType:
    """``cuda.bindings.driver``."""
    return _module("cuda.bindings.driver", "cuda.cuda")


@functools.cache
def core() -> ModuleType:
    """``cuda.core``, under whichever of its two names has the classes."""
    module = _module("cuda.core", "cuda.core.experimental")
    return module if hasattr(module, "Device") else _module("cuda.core.experimental")


def call(function: str, *arguments: object) -> object:
    """Call a driver function by name and return its result (None where it has none); R101 or R102 where it fails."""
    status, *results = getattr(driver(), function)(*arguments)
    if int(status) != 0:
        raise driver_error(function, int(status))
    return results[0] if results else None


def number(function: str, *arguments: object) -> int:
    """The same for a result that is a number, an address or a handle."""
    return int(call(function, *arguments))  # type: ignore[call-overload, no-any-return]


@functools.cache
def launcher() -> tuple[Callable[[int, int, int, int], int], Callable[[object], int]]:
    """``cuLaunchKernelEx`` and ``cuCtxGetCurrent`` of the driver library itself, on plain addresses.

    The hot path of a launch: through ``ctypes`` with everything prepared these cost a fraction of a microsecond.
    """
    library = _present()
    launch, current = library.cuLaunchKernelEx, library.cuCtxGetCurrent
    launch.argtypes, launch.restype = [ctypes.c_void_p] * 4, ctypes.c_int
    current.argtypes, current.restype = [ctypes.c_void_p], ctypes.c_int
    return launch, current


def launch_addresses() -> tuple[int, int]:
    """Addresses of the same two functions, for callers that are not Python."""
    library = _present()
    functions = (library.cuLaunchKernelEx, library.cuCtxGetCurrent)
    launch, current = (ctypes.cast(function, ctypes.c_void_p).value for function in functions)
    assert launch is not None and current is not None
    return launch, current


def _present() -> ctypes.CDLL:
    library = _library()
    if library is None:
        require_device()
        raise AssertionError
    return library


def driver_error(function: str, status: int) -> PtxspecError:
    """The error for a driver status: R102 where a kernel faulted, else R101."""
    name = _status_name(status)
    if status in _FAULTS:
        return fail(
            LaunchError, "R102", f"{_FAULTS[status]} ({name}, reported by {function})",
            notes=(
                Note("help", "run the same launch on NumPy arrays: the simulator names thread, instruction and line"),
                Note("note", "this process cannot use the device any more"),
            ),
        )
    return fail(LaunchError, "R101", f"the CUDA driver refused {function}: {name}")


def _status_name(status: int) -> str:
    library = _library()
    text = ctypes.c_char_p()
    if library is None or library.cuGetErrorName(status, ctypes.byref(text)) != 0 or text.value is None:
        return f"status {status}"
    return text.value.decode()


def _module(*names: str) -> ModuleType:
    errors: list[str] = []
    for name in names:
        try:
            return import_module(name)
        except ImportError as error:
            errors.append(f"{name}: {error}")
    raise fail(
        LaunchError, "R103", f"the package for CUDA devices cannot be loaded ({'; '.join(errors)})",
        notes=(Note("help", "pip install 'cuda-python>=13,<14' cuda-core"),),
    )


def triple(values: int | Sequence[int]) -> tuple[int, int, int]:
    """One, two or three extents as three."""
    given = (values,) if isinstance(values, int) else tuple(int(value) for value in values)
    if not 1 <= len(given) <= 3:
        raise fail(LaunchError, "R107", f"{values!r} is not one, two or three extents")
    x, y, z = (*given, 1, 1)[:3]
    return (x, y, z)
