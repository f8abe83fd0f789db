"""A loaded module and its kernels on one device (``cuda.core`` loads, the driver is asked for limits).

Codes: ``R104`` the module cannot be loaded, ``R105`` it has no kernel of that name.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from ptxspec.diagnostics import LaunchError, Note, PtxspecError, fail

from .driver import call, core, driver, number
from .info import device_info


@dataclass(frozen=True)
class DeviceKernel:
    """One kernel on one device. ``handle`` is the driver's own; ``shared`` is in bytes and static."""

    name: str
    ordinal: int
    context: int
    handle: int = field(repr=False)
    registers: int
    shared: int
    local: int
    max_threads: int
    keep: object = field(repr=False, compare=False)

    def allow_shared(self, size: int) -> None:
        """Permit ``size`` bytes of dynamic shared memory a block (more than 48 KiB must be asked for)."""
        attribute = driver().CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        self._set(attribute, size)

    def allow_large_cluster(self) -> None:
        """Permit clusters of more than eight blocks."""
        attribute = driver().CUfunction_attribute.CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED
        self._set(attribute, 1)

    def _set(self, attribute: object, value: int) -> None:
        device = call("cuDeviceGet", self.ordinal)
        call("cuKernelSetAttribute", attribute, value, driver().CUkernel(self.handle), device)


@dataclass(frozen=True)
class DeviceModule:
    """A cubin or PTX text, loaded on one device."""

    ordinal: int
    context: int
    code: object = field(repr=False)

    def kernel(self, name: str) -> DeviceKernel:
        """The kernel of this name, R105 where there is none."""
        try:
            found = self.code.get_kernel(name)  # type: ignore[attr-defined]
            # ``handle`` is the public name since cuda.core 0.5.
            handle = int(getattr(found, "handle", None) or found._handle)
        except Exception as error:
            raise fail(LaunchError, "R105", f"the module has no kernel '{name}' ({error})") from error
        names = driver().CUfunction_attribute
        kernel = driver().CUkernel(handle)
        device = call("cuDeviceGet", self.ordinal)

        def ask(attribute: str) -> int:
            return number("cuKernelGetAttribute", getattr(names, f"CU_FUNC_ATTRIBUTE_{attribute}"), kernel, device)

        return DeviceKernel(
            name=name,
            ordinal=self.ordinal,
            context=self.context,
            handle=handle,
            registers=ask("NUM_REGS"),
            shared=ask("SHARED_SIZE_BYTES"),
            local=ask("LOCAL_SIZE_BYTES"),
            max_threads=ask("MAX_THREADS_PER_BLOCK"),
            keep=(found, self.code),
        )


def activate(ordinal: int) -> int:
    """Make device ``ordinal`` current in this thread and return the handle of its primary context."""
    device_info(ordinal)
    core().Device(ordinal).set_current()
    return number("cuCtxGetCurrent")


@contextmanager
def on_device(ordinal: int) -> Iterator[int]:
    """Device ``ordinal`` current inside, with the handle of its context; afterwards what was current before.

    So the caller's other libraries go on where they were. A thread that had no context keeps this one.
    """
    device_info(ordinal)   # the driver must be initialised before it is asked
    before = number("cuCtxGetCurrent")
    context = activate(ordinal)
    try:
        yield context
    finally:
        if before and before != context:
            call("cuCtxSetCurrent", driver().CUcontext(before))


def load_module(code: bytes | str, ordinal: int = 0) -> DeviceModule:
    """Load a cubin (bytes) or PTX text (str, or bytes that are no ELF image; the driver assembles it) on a device."""
    raw = code.encode() if isinstance(code, str) else code
    with on_device(ordinal) as context:
        return DeviceModule(ordinal, context, _load(raw, ordinal))


def _load(raw: bytes, ordinal: int) -> object:
    objects = core().ObjectCode
    try:
        loaded: object = objects.from_cubin(raw) if raw.startswith(b"\x7fELF") else objects.from_ptx(raw)
        # Loading is lazy: an image that the device cannot run is found here and not at the first launch.
        _ = getattr(loaded, "handle", None)
    except PtxspecError:
        raise
    except Exception as error:
        target = device_info(ordinal).target
        raise fail(
            LaunchError, "R104", f"device {ordinal} ({target}) cannot load this module: {error}",
            notes=(Note("help", f"compile with target='{target}'"),),
        ) from error
    return loaded
