"""What only a device shows of launches: streams, graphs, devices, freed memory, both ways to the driver."""

from __future__ import annotations

import gc
import importlib.util
import threading
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from gpu_arrays import to_device, to_host
from gpu_launched import after_barrier, big_shared, clustered, copy_rows, next_row, scaled_by
from ptxspec.backend.executable import Executable
from ptxspec.backend.native import calls

import ptxspec
from ptxspec.diagnostics import LaunchError

pytestmark = pytest.mark.gpu
ROWS = np.random.default_rng(3).standard_normal((640, 4)).astype(np.float32)


@pytest.fixture(params=["native", "python"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Repeated launches through the C extension, and without it."""
    monkeypatch.setenv("PTXSPEC_NATIVE", "off" if request.param == "python" else "on")
    calls.available.cache_clear()
    if request.param == "native" and calls.available() is None:
        pytest.skip("the extension is not built (scripts/native)")
    yield request.param
    calls.available.cache_clear()


def fresh(kernel: Any) -> Executable:
    """An executable that no other test has taught."""
    compiled = ptxspec.compile(kernel, target="cuda")
    return Executable(compiled.module, compiled.report)


def full_checks(exe: Executable, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Counts the calls of ``exe`` that go through every check."""
    seen: list[int] = []
    whole = exe._checks.bind

    def bind(*args: Any, **keywords: Any) -> Any:
        seen.append(1)
        return whole(*args, **keywords)

    monkeypatch.setattr(exe._checks, "bind", bind)
    return seen


def test_repeated_calls_take_the_quick_way(library: ModuleType, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    exe = fresh(copy_rows)
    seen = full_checks(exe, monkeypatch)
    for turn in range(50):
        a = to_device(library, ROWS + turn)
        b = to_device(library, np.zeros_like(ROWS))
        exe(a, b)
        np.testing.assert_array_equal(to_host(library, b), ROWS + turn)
    assert len(seen) == 1
    assert (exe._fast.native.launch is not None) == (way == "native")


def test_a_freed_tensor_is_refused(way: str) -> None:
    torch = pytest.importorskip("torch")
    exe = fresh(copy_rows)
    a, b = torch.rand(640, 4, device="cuda"), torch.zeros(640, 4, device="cuda")
    prepared = exe.bind(a, b)
    exe(a, b)
    prepared()
    torch.cuda.synchronize()
    a.untyped_storage().resize_(0)
    for launch in (lambda: exe(a, b), prepared):
        with pytest.raises(LaunchError) as caught:
            launch()
        assert caught.value.code == "R302"


def test_tensors_of_autograd_and_subclasses(way: str) -> None:
    torch = pytest.importorskip("torch")

    class Marked(torch.Tensor):  # type: ignore[misc,name-defined]
        pass

    exe = fresh(copy_rows)
    tensors = (torch.rand(640, 4, device="cuda", requires_grad=True),
               torch.nn.Parameter(torch.rand(640, 4, device="cuda")),
               torch.rand(640, 4, device="cuda").as_subclass(Marked))
    for a in tensors:
        for _ in range(3):
            b = torch.zeros(640, 4, device="cuda")
            exe(a, b)
            assert torch.equal(a.detach(), b)
    c = torch.view_as_complex(torch.rand(640, 4, 2, device="cuda")).conj().imag
    with pytest.raises(LaunchError):
        exe(c, b)


def test_the_current_stream_orders_the_launch(library: ModuleType, way: str) -> None:
    """Each copy reads what slow work on the same side stream has written just before."""
    exe = fresh(copy_rows)
    if library.__name__ == "torch":
        streams: list[Any] = [library.cuda.Stream() for _ in range(3)]
        entered = library.cuda.stream
    else:
        streams = [library.cuda.Stream(non_blocking=True) for _ in range(3)]
        entered = lambda stream: stream  # noqa: E731
    a = to_device(library, np.zeros((1 << 20, 4), np.float32))
    b = to_device(library, np.zeros((1 << 20, 4), np.float32))
    exe(a, b)
    to_host(library, b)
    for turn, stream in enumerate(streams * 3):
        with entered(stream):
            for _ in range(20):
                a += 1
            exe(a, b)
            got = b.clone() if library.__name__ == "torch" else b.copy()
            stream.synchronize()
        assert float(got.min()) == float(got.max()) == 20 * (turn + 1)


def test_streams_of_every_library_are_taken(way: str) -> None:
    torch = pytest.importorskip("torch")
    exe = fresh(copy_rows)
    a = torch.rand(640, 4, device="cuda")
    side = torch.cuda.Stream()
    torch.cuda.synchronize()
    taken: list[Any] = [side, side.cuda_stream, SimpleNamespace(__cuda_stream__=lambda: (0, side.cuda_stream))]
    if importlib.util.find_spec("cupy"):
        import cupy
        taken.append(cupy.cuda.ExternalStream(side.cuda_stream))
    for stream in taken:
        for _ in range(2):
            b = torch.zeros_like(a)
            torch.cuda.synchronize()
            exe(a, b, stream=stream)
            side.synchronize()
            assert torch.equal(a, b)


def test_captured_into_a_graph_and_replayed(way: str) -> None:
    torch = pytest.importorskip("torch")
    exe = fresh(copy_rows)
    a, b = torch.rand(640, 4, device="cuda"), torch.zeros(640, 4, device="cuda")
    prepared = exe.bind(b, c := torch.zeros_like(b))
    exe(a, b)   # loads the kernel, which a capture does not allow
    prepared()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        exe(a, b)
        prepared()
    for turn in range(3):
        a.fill_(turn)
        graph.replay()
        torch.cuda.synchronize()
        assert torch.equal(a, b) and torch.equal(a, c)


def test_prepared_calls(library: ModuleType, way: str) -> None:
    exe = fresh(copy_rows)
    a, b = to_device(library, ROWS), to_device(library, np.zeros_like(ROWS))
    prepared = exe.bind(a, b)
    assert not to_host(library, b).any(), "bind runs nothing"
    for _ in range(3):
        a += 1
        prepared()
        np.testing.assert_array_equal(to_host(library, b), to_host(library, a))
    del a, b
    gc.collect()
    prepared()
    to_host(library, prepared.arguments[1])


def test_exporters_that_are_no_known_library(way: str) -> None:
    torch = pytest.importorskip("torch")

    class Exporter:
        def __init__(self, tensor: Any) -> None:
            self.tensor = tensor

        def __dlpack__(self, **keywords: Any) -> object:
            return self.tensor.__dlpack__(**keywords)

        def __dlpack_device__(self) -> tuple[int, int]:
            return self.tensor.__dlpack_device__()  # type: ignore[no-any-return]

    class Interface:
        def __init__(self, tensor: Any) -> None:
            self.__cuda_array_interface__ = {**tensor.__cuda_array_interface__, "stream": 1}
            self.tensor = tensor

    exe = fresh(copy_rows)
    for kind in (Exporter, Interface):
        a, b = torch.rand(640, 4, device="cuda"), torch.zeros(640, 4, device="cuda")
        exe(kind(a), kind(b))
        torch.cuda.synchronize()
        assert torch.equal(a, b)
        prepared = exe.bind(kind(a), kind(b))
        a.add_(1)
        torch.cuda.synchronize()
        prepared()
        torch.cuda.synchronize()
        assert torch.equal(a, b)


def test_numba_arrays(way: str) -> None:
    numba = pytest.importorskip("numba.cuda")
    try:
        a, b = numba.to_device(ROWS), numba.to_device(np.zeros_like(ROWS))
    except Exception as error:
        pytest.skip(f"numba does not work here: {type(error).__name__}: {error}")
    exe = fresh(copy_rows)
    exe(a, b)
    numba.synchronize()
    np.testing.assert_array_equal(b.copy_to_host(), ROWS)


def test_cuda_core_memory(way: str) -> None:
    core = pytest.importorskip("cuda.core")
    torch = pytest.importorskip("torch")
    device = core.Device(0)
    device.set_current()
    stream = device.create_stream()
    exe = fresh(copy_rows)
    a, b = torch.rand(640, 4, device="cuda"), torch.zeros(640, 4, device="cuda")
    torch.cuda.synchronize()
    exe(a, b, stream=stream)
    stream.sync()
    assert torch.equal(a, b)


def test_scalars_and_symbolic_extents(library: ModuleType, way: str) -> None:
    exe = fresh(scaled_by)
    for rows, factor, count in ((100, 2.0, 7), (100, -0.5, 100), (33, 3, 0), (640, float("inf"), 1), (100, 2.0, 8)):
        a, b = to_device(library, ROWS[:rows] + 1), to_device(library, np.zeros((rows, 4), np.float32))
        for _ in range(2):
            exe(a, b, factor, count)
        want = np.zeros((rows, 4), np.float32)
        want[:count] = (ROWS[:rows] + 1)[:count] * np.float32(factor)
        np.testing.assert_array_equal(to_host(library, b), want)
    for wrong, code in ((1e39, "R311"), ("x", "R302")):
        with pytest.raises(LaunchError) as caught:
            exe(a, b, wrong, 1)
        assert caught.value.code == code


def test_threads_launch_at_once(way: str) -> None:
    torch = pytest.importorskip("torch")
    exe = fresh(copy_rows)
    wrong: list[int] = []

    def work(index: int) -> None:
        with torch.cuda.stream(torch.cuda.Stream()):
            for turn in range(100):
                a = torch.full((640, 4), float(index * 1000 + turn), device="cuda")
                b = torch.zeros_like(a)
                exe(a, b)
                if not torch.equal(a, b):
                    wrong.append(index)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_thread_without_a_context(way: str) -> None:
    torch = pytest.importorskip("torch")
    exe = fresh(copy_rows)
    a, b = torch.rand(640, 4, device="cuda"), torch.zeros(640, 4, device="cuda")
    exe(a, b)
    torch.cuda.synchronize()
    b.zero_()
    torch.cuda.synchronize()
    worker = threading.Thread(target=lambda: exe(a, b, stream=0))
    worker.start()
    worker.join()
    torch.cuda.synchronize()
    assert torch.equal(a, b)


def test_another_device(way: str) -> None:
    """On a machine of two: the arrays decide, and the caller's current device stays."""
    torch = pytest.importorskip("torch")
    if torch.cuda.device_count() < 2:
        pytest.skip("one device only")
    exe = fresh(copy_rows)
    for _ in range(3):
        for index in (1, 0, 1):
            a = torch.rand(640, 4, device=f"cuda:{index}")
            b = torch.zeros_like(a)
            torch.cuda.synchronize(index)
            exe(a, b)
            assert torch.cuda.current_device() == 0
            assert torch.empty(1, device="cuda").device.index == 0
            torch.cuda.synchronize(index)
            assert torch.equal(a, b)
    with pytest.raises(LaunchError) as caught:
        exe(torch.rand(640, 4, device="cuda:0"), torch.rand(640, 4, device="cuda:1"))
    assert caught.value.code == "R312"


def test_refusals_leave_the_device_usable(library: ModuleType, way: str) -> None:
    exe = fresh(next_row)
    a, b = to_device(library, ROWS[:64]), to_device(library, np.zeros((64, 4), np.float32))
    for _ in range(2):
        exe(a, b)
    flat = to_device(library, np.zeros(1024, np.float32))
    wrong = [((a,), "R301"), ((a, a), "R308"), ((flat[1:257].reshape(64, 4), b), "R307"), ((a[:, ::2], b), "R305"),
             ((to_device(library, ROWS[:64].astype(np.float64)), b), "R304"), ((a, b[::-1] if library.__name__ == "cupy"
                                                                                else b.T.reshape(4, 64)), None)]
    for arguments, code in wrong:
        with pytest.raises(LaunchError) as caught:
            exe(*arguments)
        assert code is None or caught.value.code == code
    exe(a, b)
    np.testing.assert_array_equal(to_host(library, b), np.roll(ROWS[:64], -1, axis=0))


def test_launch_options_on_the_device(library: ModuleType, way: str) -> None:
    """Dynamic shared memory beyond 48 KiB, clusters and cooperative launches, each launched three times."""
    for kernel in (big_shared, clustered, after_barrier):
        exe = fresh(kernel)
        shape = (exe.kernel.params[0].shape[0].const, 4)
        source = np.resize(ROWS, shape).copy()
        a, b = to_device(library, source), to_device(library, np.zeros(shape, np.float32))
        for _ in range(3):
            exe(a, b)
        np.testing.assert_array_equal(to_host(library, b), source)


def test_artefacts_of_a_loaded_kernel() -> None:
    exe = fresh(copy_rows)
    assert exe.cubin.startswith(b"\x7fELF")
    assert exe.registers > 0
    assert ".entry" in exe.ptx
    assert exe.report is not None and exe.report.verdict == "proved"


def test_host_arrays_are_copied_there_and_back() -> None:
    exe = fresh(copy_rows)
    out = np.zeros_like(ROWS)
    exe(ROWS, out, device="cuda")
    np.testing.assert_array_equal(out, ROWS)
