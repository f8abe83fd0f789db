"""Loading and launching against a stand-in driver: real argument blocks and configurations, no device."""

from __future__ import annotations

import ctypes
import gc
import struct
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from ptxspec.backend.device import (
    DeviceBuffer,
    DeviceInfo,
    LaunchShape,
    PreparedLaunch,
    load_module,
    stream_handle,
    synchronize,
    wait_for,
    with_grid,
)
from ptxspec.backend.device import driver as adapter

from ptxspec.diagnostics import LaunchError

real = pytest.importorskip("cuda.bindings.driver")

GRID = (2**31 - 1, 65535, 65535)
H200 = DeviceInfo(0, "stand-in", (9, 0), 1 << 37, 132, 1024, (1024, 1024, 64), GRID, 227 * 1024, True)
CONTEXT = 0xC0


class Attribute(ctypes.Structure):
    """CUlaunchAttribute: an identifier and 64 bytes of value."""

    _fields_ = [("id", ctypes.c_uint), ("pad", ctypes.c_uint), ("value", ctypes.c_uint * 16)]


class Config(ctypes.Structure):
    """CUlaunchConfig."""

    _fields_ = [
        ("grid", ctypes.c_uint * 3), ("block", ctypes.c_uint * 3), ("shared", ctypes.c_uint),
        ("stream", ctypes.c_void_p), ("attrs", ctypes.POINTER(Attribute)), ("count", ctypes.c_uint),
    ]


class Driver:
    """Answers like the driver; keeps what it was told. Types come from the real bindings."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.launches: list[SimpleNamespace] = []
        self.context = CONTEXT
        self.sizes = [8, 4, 8]
        self.statuses: list[int] = []
        self.memory: dict[int, bytearray] = {}

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("cu"):
            return getattr(real, name)

        def answer(*arguments: Any) -> tuple[Any, ...]:
            self.calls.append((name, *arguments))
            return (0, 0)

        return answer

    def cuCtxGetCurrent(self) -> tuple[int, int]:
        return (0, self.context)

    def ask_context(self, place: int) -> int:
        ctypes.c_void_p.from_address(place).value = self.context or None
        return 0

    def cuKernelGetAttribute(self, attribute: object, kernel: object, device: object) -> tuple[int, int]:
        names = real.CUfunction_attribute
        known = {
            names.CU_FUNC_ATTRIBUTE_NUM_REGS: 16,
            names.CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: 1024,
            names.CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: 512,
        }
        return (0, known.get(attribute, 0))

    def launch(self, place: int, function: int, parameters: int, extra: int) -> int:
        # Read as the driver reads it: the C structure at that address.
        config = Config.from_address(place)
        status = self.statuses.pop(0) if self.statuses else 0
        places = (ctypes.c_void_p * len(self.sizes)).from_address(parameters) if parameters else ()
        raw = [ctypes.string_at(place, size) for place, size in zip(places, self.sizes, strict=False)]
        attributes = {a.id: tuple(a.value[:3]) for a in (config.attrs[i] for i in range(config.count))}
        assert isinstance(function, int)
        self.launches.append(
            SimpleNamespace(
                grid=tuple(config.grid), block=tuple(config.block), shared=config.shared,
                stream=config.stream or 0, function=function, raw=raw,
                attributes=attributes, extra=extra, status=status, context=self.context,
            )
        )
        return status

    def cuCtxSetCurrent(self, context: object) -> tuple[int]:
        self.context = int(context)  # type: ignore[call-overload]
        self.calls.append(("cuCtxSetCurrent", self.context))
        return (0,)

    def cuMemAlloc(self, size: int) -> tuple[int, int]:
        pointer = 0x1000 * (len(self.memory) + 1)
        self.memory[pointer] = bytearray(size)
        return (0, pointer)

    def cuMemFree(self, pointer: int) -> tuple[int]:
        del self.memory[pointer]
        return (0,)

    def cuMemcpyHtoDAsync(self, to: int, source: int, size: int, stream: object) -> tuple[int]:
        self.memory[to][:size] = ctypes.string_at(source, size)
        return (0,)

    def cuMemcpyDtoHAsync(self, to: int, source: int, size: int, stream: object) -> tuple[int]:
        ctypes.memmove(to, bytes(self.memory[source][:size]), size)
        return (0,)


class Code:
    """Stands in for cuda.core's ObjectCode."""

    loaded: list[tuple[str, bytes]] = []

    @classmethod
    def from_cubin(cls, raw: bytes) -> Code:
        cls.loaded.append(("cubin", raw))
        return cls()

    @classmethod
    def from_ptx(cls, raw: bytes) -> Code:
        if b"broken" in raw:
            raise RuntimeError("CUDA_ERROR_INVALID_PTX")
        cls.loaded.append(("ptx", raw))
        return cls()

    def get_kernel(self, name: str) -> SimpleNamespace:
        if name != "copy":
            raise RuntimeError("CUDA_ERROR_NOT_FOUND")
        return SimpleNamespace(_handle=real.CUkernel(0xBEEF))


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Driver]:
    fake = Driver()
    core = SimpleNamespace(ObjectCode=Code, Device=lambda ordinal: SimpleNamespace(set_current=lambda: activated(fake)))
    package = "ptxspec.backend.device"
    for module in ("driver", "module", "launch", "memory", "streams", "info"):
        monkeypatch.setattr(f"{package}.{module}.driver", lambda: fake)
    monkeypatch.setattr(f"{package}.module.core", lambda: core)
    monkeypatch.setattr(f"{package}.launch.launcher", lambda: (fake.launch, fake.ask_context))
    for module in ("module", "launch"):
        monkeypatch.setattr(f"{package}.{module}.device_info", lambda ordinal=0: H200)
    Code.loaded.clear()
    yield fake
    if fake.memory:
        # A buffer in a cycle (the traceback of a `raises` block makes one) would be freed during some later test, and
        # call that test's driver.
        gc.collect()
    assert fake.memory == {}


def activated(fake: Driver) -> None:
    fake.context = CONTEXT
    fake.calls.append(("set_current",))


TYPES = ("pointer", "int32", "float64")


def prepared(shape: LaunchShape | None = None, types: tuple[str, ...] = TYPES) -> PreparedLaunch:
    return PreparedLaunch(load_module(b"\x7fELF...").kernel("copy"), shape or LaunchShape.of(8, 256), types)


def test_a_launch_passes_shape_stream_and_arguments(driver: Driver) -> None:
    prepared(LaunchShape.of((4, 2), (32, 4, 2), shared=2048))((2**63 + 5, -7, 1.5), stream=0x77)
    (launch,) = driver.launches
    assert (launch.grid, launch.block, launch.shared) == ((4, 2, 1), (32, 4, 2), 2048)
    assert (launch.stream, launch.function, launch.extra) == (0x77, 0xBEEF, 0)
    assert launch.raw == [struct.pack("<Q", 2**63 + 5), struct.pack("<i", -7), struct.pack("<d", 1.5)]
    assert launch.attributes == {}


def test_every_parameter_type_is_laid_out_as_the_device_reads_it(driver: Driver) -> None:
    cases = {
        "pointer": ("<Q", 1), "bool": ("<?", True), "int8": ("<b", -1), "uint8": ("<B", 255), "int16": ("<h", -2),
        "uint16": ("<H", 65535), "int32": ("<i", -3), "uint32": ("<I", 2**32 - 1), "int64": ("<q", -4),
        "uint64": ("<Q", 2**64 - 1), "float16": ("<e", 1.5), "float32": ("<f", 0.25), "float64": ("<d", -0.125),
    }
    driver.sizes = [struct.calcsize(letter) for letter, _ in cases.values()]
    prepared(types=tuple(cases))([value for _, value in cases.values()])
    assert driver.launches[0].raw == [struct.pack(letter, value) for letter, value in cases.values()]


def test_clusters_and_cooperation_are_launch_attributes(driver: Driver) -> None:
    names = real.CUlaunchAttributeID
    launch = prepared(LaunchShape.of((16, 4), 64, cluster=(8, 2), cooperative=True))
    launch((0, 0, 0.0))
    attributes = driver.launches[0].attributes
    assert attributes[int(names.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)] == (8, 2, 1)
    assert attributes[int(names.CU_LAUNCH_ATTRIBUTE_COOPERATIVE)][0] == 1
    assert any(call[0] == "cuKernelSetAttribute" for call in driver.calls), "16 blocks must be asked for"


def test_more_than_48_kib_is_asked_for(driver: Driver) -> None:
    prepared(LaunchShape.of(1, 32, shared=47 * 1024))
    assert not [call for call in driver.calls if call[0] == "cuKernelSetAttribute"]
    prepared(LaunchShape.of(1, 32, shared=100 * 1024))
    (call,) = [call for call in driver.calls if call[0] == "cuKernelSetAttribute"]
    assert call[1] == real.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
    assert call[2] == 100 * 1024


def test_an_empty_grid_runs_nothing(driver: Driver) -> None:
    prepared(LaunchShape.of(0, 32))((0, 0, 0.0))
    assert driver.launches == []
    launch = with_grid(prepared(LaunchShape.of(0, 32)), 3)
    launch((0, 0, 0.0))
    assert driver.launches[0].grid == (3, 1, 1)


def test_the_context_is_made_current_where_another_one_is(driver: Driver) -> None:
    launch = prepared()
    driver.calls.clear()
    launch((0, 0, 0.0))
    assert ("set_current",) not in driver.calls
    driver.context = 0
    launch((0, 0, 0.0))
    assert ("set_current",) in driver.calls
    assert driver.context == CONTEXT, "a thread without a context keeps the one that it was given"


OTHER = 0xD1


def test_another_device_that_was_current_is_so_afterwards(driver: Driver) -> None:
    driver.context = OTHER
    launch = prepared(LaunchShape.of(16, 64, cluster=16, shared=100 * 1024))
    assert driver.context == OTHER
    launch((0, 0, 0.0))
    assert len(driver.launches) == 1
    assert driver.launches[0].context == CONTEXT
    assert driver.context == OTHER
    data = np.arange(4, dtype=np.int32)
    with DeviceBuffer(16) as buffer:
        buffer.copy_in(data)
        buffer.copy_out(data)
    assert driver.context == OTHER
    driver.statuses = [700]
    with pytest.raises(LaunchError):
        launch((0, 0, 0.0))
    assert driver.context == OTHER, "a failure is no excuse"


def test_a_buffer_that_the_collector_frees_leaves_the_current_device_alone(driver: Driver) -> None:
    cycle: list[object] = [DeviceBuffer(16)]
    cycle.append(cycle)
    driver.context = OTHER
    del cycle
    gc.collect()
    assert driver.memory == {}
    assert driver.context == OTHER


def test_a_lost_context_is_tried_once_more(driver: Driver) -> None:
    driver.statuses = [201, 0]
    prepared()((0, 0, 0.0))
    assert [launch.status for launch in driver.launches] == [201, 0]


@pytest.mark.parametrize(("status", "code"), [(701, "R101"), (700, "R102"), (716, "R102"), (999, "R101")])
def test_driver_errors_have_codes(driver: Driver, status: int, code: str) -> None:
    driver.statuses = [status]
    with pytest.raises(LaunchError) as caught:
        prepared()((0, 0, 0.0))
    assert caught.value.code == code


@pytest.mark.parametrize(
    "arguments",
    [(), (1, 2), (1, 2, 3.0, 4), (-1, 0, 0.0), (1, 2**31, 0.0), (1, 1.5, 0.0), ("a", 1, 1.0), (None, 1, 1.0)],
)
def test_arguments_that_do_not_fit(driver: Driver, arguments: tuple[Any, ...]) -> None:
    with pytest.raises(LaunchError) as caught:
        prepared()(arguments)
    assert caught.value.code == "R108"
    assert driver.launches == []


def test_a_type_that_cannot_be_passed(driver: Driver) -> None:
    with pytest.raises(LaunchError) as caught:
        prepared(types=("complex64",))
    assert caught.value.code == "R108"


def test_a_kernel_that_allows_fewer_threads(driver: Driver) -> None:
    with pytest.raises(LaunchError, match="most are 512"):
        prepared(LaunchShape.of(1, 1024))


def test_loading(driver: Driver) -> None:
    load_module(".version 8.0\n")
    load_module(b"\x7fELFabc")
    assert Code.loaded == [("ptx", b".version 8.0\n"), ("cubin", b"\x7fELFabc")]
    kernel = load_module(b"\x7fELFabc").kernel("copy")
    assert (kernel.registers, kernel.shared, kernel.max_threads) == (16, 1024, 512)
    for attempt, code in ((lambda: load_module("broken"), "R104"), (lambda: load_module("ok").kernel("other"), "R105")):
        with pytest.raises(LaunchError) as caught:
            attempt()
        assert caught.value.code == code


def test_buffers_copy_and_free(driver: Driver) -> None:
    data = np.arange(10, dtype=np.int32)
    back = np.zeros_like(data)
    with DeviceBuffer(data.nbytes) as buffer:
        buffer.copy_in(data)
        buffer.copy_out(back)
        for wrong in (np.zeros(11, np.int32), np.zeros((4, 4), np.int32)[:, 0]):
            with pytest.raises(LaunchError) as caught:
                buffer.copy_in(wrong)
            assert caught.value.code == "R109"
    assert (back == data).all()
    assert driver.memory == {}
    buffer.close()
    empty = DeviceBuffer(0)
    assert empty.pointer
    empty.copy_in(np.zeros(0))


def test_streams_of_every_library(driver: Driver) -> None:
    class Protocol:
        def __cuda_stream__(self) -> tuple[int, int]:
            return (0, 0x55)

    assert stream_handle(None) == 0
    assert stream_handle(12) == 12
    assert stream_handle(Protocol()) == 0x55
    assert stream_handle(SimpleNamespace(__cuda_stream__=(0, 9))) == 9
    assert stream_handle(SimpleNamespace(cuda_stream=3)) == 3
    assert stream_handle(SimpleNamespace(ptr=4)) == 4
    for wrong in ("stream", -1, True, 1.5, SimpleNamespace(__cuda_stream__=(1, 9)), SimpleNamespace(ptr="x")):
        with pytest.raises(LaunchError) as caught:
            stream_handle(wrong)
        assert caught.value.code == "R106"


def test_waiting_for_a_producer(driver: Driver) -> None:
    wait_for(5, 5)
    wait_for(0, 1)
    assert driver.calls == []
    wait_for(5, 9)
    names = [call[0] for call in driver.calls]
    assert names == ["cuEventCreate", "cuEventRecord", "cuStreamWaitEvent", "cuEventDestroy"]
    synchronize(7)
    assert driver.calls[-1][0] == "cuStreamSynchronize"


def test_without_a_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapter, "_library", lambda: None)
    assert adapter.device_count() == 0
    assert not adapter.device_present()
    assert adapter.pointer_device(4096) == 0
    with pytest.raises(LaunchError) as caught:
        adapter.require_device()
    assert caught.value.code == "R100"
    assert "target='sim'" in str(caught.value)


def test_both_names_of_cuda_core(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {"cuda.core": SimpleNamespace(), "cuda.core.experimental": SimpleNamespace(Device=1)}
    monkeypatch.setattr(adapter, "_module", lambda *names: next(found[name] for name in names if name in found))
    assert adapter.core.__wrapped__().Device == 1
    found["cuda.core"] = SimpleNamespace(Device=2)
    assert adapter.core.__wrapped__().Device == 2


def test_missing_packages_are_named() -> None:
    with pytest.raises(LaunchError) as caught:
        adapter._module("no_such_module_a", "no_such_module_b")
    assert caught.value.code == "R103"
    assert "no_such_module_b" in str(caught.value)
