"""Repeated launches through the C extension and through Python: the same numbers launched, the same calls refused."""

from __future__ import annotations

import ctypes
import gc
import math
import random
import struct
import threading
import weakref
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from arrays.exporters import Exporter as Memory
from kernels_launched import copy_rows, scaled, with_options
from launch_world import World, make_world
from ptxspec.backend.native import calls
from stand_ins import CONTEXT, KERNEL, STREAM, Parameter, Subclass, Tensor, ndarray

from ptxspec.diagnostics import LaunchError

A, B = 0x100000, 0x200000
Arrays = Callable[..., Any]
ARRAYS = pytest.mark.parametrize("array", [Tensor, Parameter, ndarray])


def learned(world: World, kernel: Any, *arguments: object) -> Any:
    """An executable that has seen this call; what it did is forgotten."""
    exe = world.executable(kernel)
    exe(*arguments)
    world.driver.launches.clear()
    world.full = 0
    assert (exe._fast.native.launch is not None) == (world.way == "native")
    assert (exe._fast.repeated.launch is not None) == (world.way == "python")
    return exe


@ARRAYS
def test_a_repeated_call_passes_the_new_addresses(world: World, array: Arrays) -> None:
    exe = learned(world, copy_rows, array(A), array(B))
    world.driver.sizes = (8, 8, 4)
    for step in (0, 16, 4096):
        exe(array(A + step), array(B + step))
    assert [launch.numbers for launch in world.driver.launches] == [[A + s, B + s, 64] for s in (0, 16, 4096)]
    launch = world.driver.launches[0]
    assert (launch.grid, launch.block, launch.function) == ((2, 1, 1), (32, 1, 1), KERNEL)
    assert world.full == 0


def test_the_stream_is_the_librarys_or_the_one_given(world: World) -> None:
    for array, own in ((Tensor, STREAM), (ndarray, STREAM + 0x100)):
        exe = learned(world, copy_rows, array(A), array(B))
        exe(array(A), array(B))
        world.libraries.stream += 7   # another `with stream:` block
        exe(array(A), array(B))
        exe(array(A), array(B), stream=99)
        exe(array(A), array(B), stream=SimpleNamespace(cuda_stream=98))
        exe(array(A), array(B), stream=0)
        assert [launch.stream for launch in world.driver.launches] == [own, own + 7, 99, 98, 0]
        world.libraries.stream -= 7
    assert world.full == 0


def test_the_stream_is_that_of_the_arrays_device(world: World) -> None:
    for array, own in ((Tensor, STREAM), (ndarray, STREAM + 0x100)):
        exe = learned(world, copy_rows, Tensor(A, device=1), Tensor(B, device=1)) if array is Tensor else None
        if exe is not None:
            exe(array(A, device=1), array(B, device=1))
            assert world.driver.launches[-1].stream == own + 1


@pytest.mark.parametrize(("change", "code"), [
    (lambda t: (t(A),), "R301"),
    (lambda t: (t(A), t(B), t(B)), "R301"),
    (lambda t: (t(A, (64, 4, 1)), t(B)), "R303"),
    (lambda t: (t(A, (256,)), t(B)), "R303"),
    (lambda t: (t(A, dtype="float64"), t(B)), "R304"),
    (lambda t: (t(A, dtype="int32"), t(B)), "R304"),
    (lambda t: (t(A, (64, 3)), t(B, (64, 3))), "R305"),
    (lambda t: (t(A), t(B, (65, 4))), "R310"),
    (lambda t: (t(A + 4), t(B)), "R307"),
    (lambda t: (t(A), t(B + 8)), "R307"),
    (lambda t: (t(A), t(A)), "R308"),
    (lambda t: (t(A), t(A + 1008)), "R308"),
    (lambda t: (t(A), t(A - 1008)), "R308"),
    (lambda t: (t(A), t(B, device=1)), "R312"),
    (lambda t: (t(0), t(B)), "R302"),
    (lambda t: (t(A), None), "R302"),
    (lambda t: (t(A), [1.0]), "R302"),
])
@ARRAYS
def test_refused_after_a_call_that_fitted(world: World, array: Arrays, change: Any, code: str) -> None:
    exe = learned(world, copy_rows, array(A), array(B))
    exe(array(A), array(A + 1024))   # neighbours that touch but do not overlap
    with pytest.raises(LaunchError) as caught:
        exe(*change(array))
    assert caught.value.code == code
    assert len(world.driver.launches) == 1
    exe(array(A), array(B))
    assert (len(world.driver.launches), world.full) == (2, 1)


@pytest.mark.parametrize(("strides", "unit"), [((8, 1), "elements"), ((1, 64), "elements"), ((-4, 1), "elements")])
@ARRAYS
def test_strides_are_compared(world: World, array: Arrays, strides: tuple[int, int], unit: str) -> None:
    exe = learned(world, copy_rows, array(A), array(B))
    size = 4 if array is ndarray else 1
    with pytest.raises(LaunchError) as caught:
        exe(array(A + 0x10000, strides=(strides[0] * size, strides[1] * size)), array(B))
    assert caught.value.code == "R306"
    assert not world.driver.launches


def test_tensors_whose_memory_is_not_their_value(world: World) -> None:
    exe = learned(world, copy_rows, Tensor(A), Tensor(B))
    for tensor, code in ((Tensor(A, negated=True), "R302"), (Tensor(A, dtype="complex64"), "R304")):
        with pytest.raises(LaunchError) as caught:
            exe(tensor, Tensor(B))
        assert caught.value.code == code
    assert not world.driver.launches
    # No quick look at these: the full way takes them.
    exe(Subclass(A), Tensor(B))
    assert (len(world.driver.launches), world.full) == (1, 3)
    if world.way == "native":
        exe(Tensor(A, failing=True), Tensor(B))
        assert len(world.driver.launches) == 2


def test_both_ways_refuse_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands of calls that differ from each other in one thing or none."""
    outcomes = []
    for way in ("native", "python", "plans"):
        with monkeypatch.context() as patch:
            for world in make_world(patch, way):
                world.driver.sizes = (8, 8, 4, 4, 1, 4)
                outcomes.append(_random_calls(world, random.Random(5)))
    assert outcomes[0] == outcomes[1] == outcomes[2]
    assert {"R301", "R302", "R304", "R307", "R308", "R309", "R310", "R311"} <= {str(o) for o in outcomes[0]}
    assert sum(isinstance(o, list) for o in outcomes[0]) > 400


def _random_calls(world: World, draw: random.Random) -> list[object]:
    exe = world.executable(scaled)
    seen: list[object] = []
    for _ in range(3000):
        kind = draw.choice([Tensor, Tensor, Tensor, ndarray, Parameter])
        rows = draw.choice([8, 8, 16, 64])
        arguments: list[object] = [
            kind(A + draw.choice([0, 0, 0, 16, 2]), (rows, 4), draw.choice(["float32"] * 9 + ["int32"])),
            kind(draw.choice([B, B, B, A + 256, A + 16 * rows, A]), (draw.choice([rows] * 9 + [9]), 4)),
            draw.choice([1.0, 2.5, -0.0, 3, math.inf, math.nan, 1e39, 10**400, "x", True]),
            draw.choice([4, 4, 8, 0, -1, 100, 1 << 31, 2.0]),
            draw.choice([True, False, 1, 2]),
        ]
        if draw.random() < 0.05:
            arguments.pop()
        before = len(world.driver.launches)
        try:
            exe(*arguments, stream=draw.choice([None, 5]))
        except LaunchError as error:
            seen.append(error.code)
            assert len(world.driver.launches) == before
        else:
            launch = world.driver.launches[-1]
            seen.append([launch.raw, launch.grid, launch.stream])
            assert len(world.driver.launches) == before + 1
    return seen


@pytest.mark.parametrize("factor", [0.0, -0.0, 1.5, 3, -7, math.inf, math.nan, 3.4028234e38, 1e-46])
def test_scalars_travel_as_their_type(world: World, factor: float) -> None:
    world.driver.sizes = (8, 8, 4, 4, 1, 4)
    exe = learned(world, scaled, Tensor(A), Tensor(B), 1.0, -5, True)
    exe(Tensor(A), Tensor(B), factor, -5, False)
    raw = world.driver.launches[0].raw
    assert raw[2:] == [struct.pack("<f", factor), struct.pack("<i", -5), b"\0", struct.pack("<i", 64)]


@pytest.mark.parametrize("value", [1e39, -1e39, 10**400, 3.4028236e38])
def test_a_float_that_its_type_cannot_hold_is_refused(world: World, value: float) -> None:
    exe = learned(world, scaled, Tensor(A), Tensor(B), 1.0, 1, True)
    with pytest.raises(LaunchError) as caught:
        exe(Tensor(A), Tensor(B), value, 1, True)
    assert caught.value.code == "R311"


def test_a_refusal_of_the_driver_is_told(world: World) -> None:
    exe = learned(world, copy_rows, Tensor(A), Tensor(B))
    for status, code in ((700, "R102"), (701, "R101")):
        world.driver.status = status
        with pytest.raises(LaunchError) as caught:
            exe(Tensor(A), Tensor(B))
        assert caught.value.code == code
    world.driver.status = 0
    exe(Tensor(A), Tensor(B))
    assert (len(world.driver.launches), world.full) == (1, 0)


def test_another_current_context_is_seen(world: World) -> None:
    exe = learned(world, copy_rows, Tensor(A), Tensor(B))
    for context in (0, 0xD1):
        world.driver.context = context
        exe(Tensor(A), Tensor(B))
        assert world.driver.context == context
    assert world.ordinals == [0, 0]
    assert len(world.driver.launches) == 2


def test_many_shapes_in_turn(world: World) -> None:
    exe = world.executable(copy_rows)
    world.driver.sizes = (8, 8, 4)
    for _ in range(40):
        for rows in range(1, 13):
            exe(Tensor(A, (rows, 4)), Tensor(B, (rows, 4)))
            assert world.driver.launches[-1].numbers == [A, B, rows]
    assert world.full == 12


def test_launch_options_travel_with_every_launch(world: World) -> None:
    pytest.importorskip("cuda.bindings.driver")
    exe = learned(world, with_options, Tensor(A, (3, 64)), Tensor(B, (3, 64)))
    exe(Tensor(A, (3, 64)), Tensor(B, (3, 64)))
    exe(Tensor(A, (3, 64)), Tensor(B, (3, 64)), stream=5)
    assert [launch.stream for launch in world.driver.launches] == [33, 5], "its own unless one is given"
    for launch in world.driver.launches:
        assert (launch.grid, launch.block, launch.shared) == ((6, 1, 1), (32, 1, 1), 65536)
        assert launch.attributes[4] == (2, 1, 1), "CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION"
        assert launch.attributes[2][0] == 1, "CU_LAUNCH_ATTRIBUTE_COOPERATIVE"
    assert (world.full, world.allowed) == (0, [65536])


def test_prepared_calls_launch_and_are_checked(world: World) -> None:
    exe = world.executable(copy_rows)
    for array in (Tensor, ndarray):
        a, b = array(A), array(B)
        prepared = exe.bind(a, b)
        assert not world.driver.launches, "bind runs nothing"
        world.full = 0
        prepared()
        prepared()
        assert (len(world.driver.launches), world.full) == (2, 0)
        assert world.driver.launches[-1].stream == (STREAM if array is Tensor else STREAM + 0x100)
        if array is Tensor:
            a.pointer = A + 8   # `set_`: the tensor has other memory now
            with pytest.raises(LaunchError) as caught:
                prepared()
            assert caught.value.code == "R307"
            a.pointer = A + 16
            prepared()
            assert world.driver.launches[-1].numbers[0] == A + 16
        exe.bind(a, b, stream=9)()
        assert world.driver.launches[-1].stream == 9
        world.driver.launches.clear()
    with pytest.raises(LaunchError) as caught:
        exe.bind(Tensor(A), Tensor(A))
    assert caught.value.code == "R308"


def test_a_capsule_is_read_once_by_a_prepared_call(world: World) -> None:
    class Exporter:
        """Speaks DLPack only; counts what it exports."""

        exports = 0

        def __init__(self, pointer: int) -> None:
            self.inner = Memory(pointer=pointer, shape=(64, 4))

        def __dlpack_device__(self) -> tuple[int, int]:
            return self.inner.__dlpack_device__()

        def __dlpack__(self, **keywords: object) -> object:
            Exporter.exports += 1
            return self.inner.__dlpack__(**keywords)

    exe = world.executable(copy_rows)
    exe(Exporter(A), Exporter(B))
    exe(Exporter(A), Exporter(B))
    assert (Exporter.exports, len(world.driver.launches), world.full) == (4, 2, 2), "no quick look: checked each time"
    tensor = Tensor(B)
    prepared = exe.bind(Exporter(A), tensor)
    for _ in range(3):
        prepared()
    assert (Exporter.exports, len(world.driver.launches), world.full) == (5, 5, 3)
    tensor.pointer = B + 4096
    prepared()
    assert world.driver.launches[-1].numbers[:2] == [A, B + 4096]
    assert (Exporter.exports, world.full) == (6, 4), "the tensor has other memory: checked anew"


def test_producers_are_waited_for_on_the_arrays_device(world: World) -> None:
    """``stream`` of the CUDA array interface: each call waits, in the context that the arrays lie in."""
    exe = world.executable(copy_rows)
    ndarray.devices |= {A: 0, B: 0}
    world.driver.context = 0xD1
    shape = {"shape": (64, 4), "typestr": "<f4", "version": 3}
    for _ in range(2):
        a = SimpleNamespace(__cuda_array_interface__={**shape, "data": (A, True), "stream": 7})
        b = SimpleNamespace(__cuda_array_interface__={**shape, "data": (B, False), "stream": 7})
        exe(a, b, stream=5)
        exe.bind(a, b, stream=5)()
    assert world.waits == [(5, 7, CONTEXT)] * 6
    assert (world.driver.context, len(world.driver.launches)) == (0xD1, 4)


def test_empty_arrays_launch_nothing(world: World) -> None:
    exe = world.executable(copy_rows)
    for _ in range(3):
        exe(Tensor(0, (0, 4)), Tensor(0, (0, 4)))
    assert not world.driver.launches


def test_threads_do_not_mix_their_arguments(world: World) -> None:
    exe = learned(world, copy_rows, Tensor(A), Tensor(B))
    world.driver.sizes = (8, 8, 4)

    def work(index: int) -> None:
        for step in range(200):
            offset = (index * 200 + step) * 4096
            exe(Tensor(A + offset), Tensor(A + offset + 1024), stream=index + 1)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(world.driver.launches) == 1600
    for launch in world.driver.launches:
        index, step = divmod((launch.numbers[0] - A) // 4096, 200)
        assert launch.numbers == [A + (index * 200 + step) * 4096, launch.numbers[0] + 1024, 64]
        assert launch.stream == index + 1


def test_a_call_may_be_displaced_while_it_runs(world: World) -> None:
    exe = learned(world, copy_rows, Tensor(A), Tensor(B))

    def others() -> None:
        world.driver.during = None
        for rows in range(1, 20):
            exe(Tensor(A, (rows, 4)), Tensor(B, (rows, 4)))
        gc.collect()

    world.driver.during = others
    exe(Tensor(A), Tensor(B))
    assert len(world.driver.launches) == 20


def test_no_memory_is_kept_alive(world: World) -> None:
    exe = world.executable(copy_rows)
    for array in (Tensor, ndarray):
        a, b = array(A), array(B)
        seen = weakref.ref(a)
        for _ in range(3):
            exe(a, b)
        del a, b
        gc.collect()
        assert seen() is None


def test_an_extension_of_another_form_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    from ptxspec.backend.native import _calls
    assert _calls.FORM == calls.FORM
    monkeypatch.delenv("PTXSPEC_NATIVE", raising=False)
    for wrong in (0, None):
        monkeypatch.setattr(_calls, "FORM", wrong)
        calls.available.cache_clear()
        assert calls.available() is None
    monkeypatch.undo()
    calls.available.cache_clear()


def test_the_extension_refuses_what_it_does_not_know() -> None:
    from ptxspec.backend.native import _calls
    memory = _calls.Calls(1, 1)
    assert memory.launch((), None) is False
    memory_of = ctypes.create_string_buffer(56)
    config = ctypes.addressof(memory_of)
    bad: list[tuple[object, ...]] = [
        (), ("i",), ("x", False, 0, 1, 0), ("t", int, None, None, None, 2, 0, 2, 32, (1,), (1,), 1, 0, 4, True, False),
        ("c", int, None, None, None, 2, 0, 2, 32, (1,), (), 1, 0, 4, True, False),
        ("c", int, None, None, None, 2, 0, 2, 32, (1,) * 17, (1,) * 17, 1, 0, 4, True, False),
        ("c", int, None, None, None, 2, 0, 2, 32, (1,), (1,), 0, 0, 4, True, False),
    ]
    for argument in bad:
        with pytest.raises((TypeError, ValueError)):
            memory.remember(1, 1, config, None, (argument,), ())
    with pytest.raises(IndexError):
        memory.remember(1, 1, config, None, (), ((3, "Q", 0),))
    assert memory.remember(1, 1, config, None, (("i", False, 0, 1, 0),) * 33, ()) is False
    assert memory.launch((), None) is False
    with pytest.raises(TypeError):
        memory.launch([], None)  # type: ignore[arg-type]
