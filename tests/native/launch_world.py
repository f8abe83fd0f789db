"""A world without a GPU in which launches go all the way to stand-in driver functions, by the extension or without."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from ptxspec.backend import fastpath
from ptxspec.backend.arrays import fast
from ptxspec.backend.checks import HostChecks
from ptxspec.backend.device import DeviceInfo, DeviceKernel
from ptxspec.backend.emit import emit
from ptxspec.backend.executable import Executable
from ptxspec.backend.native import calls
from ptxspec.backend.repeated import Repeated
from stand_ins import CONTEXT, KERNEL, Driver, Libraries, ndarray

import ptxspec

GRID = (2**31 - 1, 65535, 65535)
H200 = DeviceInfo(0, "stand-in", (9, 0), 1 << 37, 132, 1024, (1024, 1024, 64), GRID, 227 << 10, True)


@dataclass
class World:
    """``full`` counts the calls that went through every check."""

    libraries: Libraries
    driver: Driver
    way: str
    full: int = 0
    ordinals: list[int] = field(default_factory=list)
    allowed: list[int] = field(default_factory=list)
    waits: list[tuple[int, int, int]] = field(default_factory=list)

    def executable(self, kernel: Any) -> Executable:
        made = Executable(emit(kernel.kernel()), ptxspec.prove(kernel))
        made._cubin = SimpleNamespace(data=b"\x7fELF")  # type: ignore[assignment]
        return made


def make_world(monkeypatch: pytest.MonkeyPatch, way: str) -> Iterator[World]:
    here = World(Libraries(monkeypatch), Driver(), way)
    for module, name in ((calls, "_KINDS"), (fast, "_LOOKS"), (fastpath, "_STREAMS")):
        monkeypatch.setattr(module, name, {})
    monkeypatch.setenv("PTXSPEC_NATIVE", "on" if way == "native" else "off")
    if way == "plans":
        monkeypatch.setattr(Repeated, "add", lambda *_: False)
    calls.available.cache_clear()
    monkeypatch.setattr(calls, "launch_addresses", here.driver.addresses)
    # By its module: the package has a function of the same name.
    monkeypatch.setattr(sys.modules["ptxspec.backend.arrays.describe"], "pointer_device",
                        lambda pointer: ndarray.devices[pointer])
    device = "ptxspec.backend.device"
    monkeypatch.setattr(f"{device}.launch.launcher", lambda: (here.driver.launch, here.driver.current))
    monkeypatch.setattr(f"{device}.launch.device_info", lambda ordinal=0: H200)
    monkeypatch.setattr(f"{device}.launch.stream_handle", lambda stream: int(stream or 0))

    @contextmanager
    def on_device(ordinal: int) -> Iterator[int]:
        here.ordinals.append(ordinal)
        before, here.driver.context = here.driver.context, CONTEXT
        yield CONTEXT
        here.driver.context = before

    monkeypatch.setattr(f"{device}.launch.on_device", on_device)
    monkeypatch.setattr("ptxspec.backend.executable.on_device", on_device)
    monkeypatch.setattr("ptxspec.backend.executable.wait_for",
                        lambda stream, producer: here.waits.append((stream, producer, here.driver.context)))

    def load(cubin: bytes, ordinal: int) -> SimpleNamespace:
        kernel = DeviceKernel("k", ordinal, CONTEXT, KERNEL, 16, 0, 0, 1024, None)
        return SimpleNamespace(kernel=lambda name: kernel)

    monkeypatch.setattr(device + ".load_module", load)
    monkeypatch.setattr(DeviceKernel, "allow_shared", lambda self, size: here.allowed.append(size))
    whole: Callable[..., Any] = HostChecks.bind

    def bind(self: HostChecks, *args: Any, **keywords: Any) -> Any:
        here.full += 1
        return whole(self, *args, **keywords)

    monkeypatch.setattr(HostChecks, "bind", bind)
    yield here
    calls.available.cache_clear()
