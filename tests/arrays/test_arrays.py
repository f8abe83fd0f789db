"""Arrays of every kind described alike, and the ones that cannot be launched on refused with a code."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ptxspec.backend.arrays import ITEMSIZE, describe, quick, to_numpy

from ptxspec.diagnostics import LaunchError

from .exporters import Exporter, Interface

BASE = np.arange(120, dtype=np.float32).reshape(4, 5, 6)


class OnlyDlpack:
    """A NumPy array seen through DLPack alone."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()

    def __dlpack__(self, **keywords: object) -> object:
        return self.array.__dlpack__(**keywords)  # type: ignore[arg-type]


@pytest.mark.parametrize("through", [lambda a: a, OnlyDlpack], ids=["numpy", "dlpack"])
@pytest.mark.parametrize(
    "array",
    [
        BASE, BASE[1:, ::2, 3], BASE[::-1, :, ::-2], BASE.T, BASE[:0], np.zeros(()), BASE[None, 2, 2, 2:3],
        np.zeros((0, 7), np.int16), np.arange(6, dtype=np.uint64)[::3],
    ],
    ids=["whole", "sliced", "negative", "transposed", "empty", "0-d", "new axis", "0 x 7", "one element strided"],
)
def test_shape_strides_and_place(array: np.ndarray, through: Callable[[np.ndarray], object]) -> None:
    view = describe(through(array))
    assert (view.shape, view.dtype, view.device) == (array.shape, array.dtype.name, "cpu")
    assert view.itemsize == array.itemsize
    assert view.size == array.size
    assert view.contiguous == array.flags.c_contiguous
    if array.size:
        assert view.pointer == array.ctypes.data
        assert all(n == 1 or a == b for n, a, b in zip(view.shape, view.strides, array.strides, strict=True))
        assert view.byte_range == np.lib.array_utils.byte_bounds(array)
        assert np.array_equal(to_numpy(view), array)
    else:
        assert view.byte_range[0] == view.byte_range[1]
        assert to_numpy(view).shape == array.shape


def test_broadcast_and_read_only() -> None:
    array = np.broadcast_to(np.arange(3, dtype=np.int8), (4, 3))
    view = describe(array)
    assert view.strides == (0, 1)
    assert view.readonly
    assert not view.contiguous
    with pytest.raises(ValueError, match="read-only"):
        to_numpy(view)[0, 0] = 1
    assert not describe(BASE).readonly


def test_what_is_written_reaches_the_owner() -> None:
    array = np.zeros((3, 4), np.int32)
    to_numpy(describe(OnlyDlpack(array[::-1])))[0, 1] = 7
    assert array[2, 1] == 7


def test_the_view_keeps_the_memory() -> None:
    again = to_numpy(describe(OnlyDlpack(np.full(1000, 5, np.int64))))
    junk = [np.zeros(1000, np.int64) for _ in range(50)]
    assert (again == 5).all()
    assert len(junk) == 50


ELSEWHERE = {"bfloat16", "float8_e4m3", "float8_e5m2", "bits8", "bits16", "bits32"}


@pytest.mark.parametrize("name", sorted(set(ITEMSIZE) - ELSEWHERE))
def test_every_dtype_of_numpy(name: str) -> None:
    array = np.zeros(3, {"bits64": "complex64", "bits128": "complex128"}.get(name, name))
    assert describe(array).dtype == name
    assert describe(OnlyDlpack(array)).dtype == name


@pytest.mark.parametrize("size", [1, 2, 4, 8, 16])
def test_plain_bytes_are_bits(size: int) -> None:
    array = np.frombuffer(bytes(range(3 * size)), f"V{size}")
    assert (describe(array).dtype, describe(array).itemsize) == (f"bits{8 * size}", size)
    assert to_numpy(describe(array)).tobytes() == array.tobytes()
    with pytest.raises(LaunchError):   # a record is no plain word
        describe(np.zeros(3, [("x", f"V{size}")]))


@pytest.mark.parametrize("versioned", [True, False])
@pytest.mark.parametrize(
    ("code", "bits", "name"),
    [
        (4, 16, "bfloat16"), (10, 8, "float8_e4m3"), (8, 8, "float8_e4m3"), (12, 8, "float8_e5m2"), (6, 8, "bool"),
        (2, 16, "float16"),
    ],
)
def test_narrow_floats_on_a_device(code: int, bits: int, name: str, versioned: bool) -> None:
    view = describe(Exporter(code=code, bits=bits, device=(2, 3), versioned=versioned, offset=64, strides=(-4, 1)))
    assert (view.dtype, view.device, view.pointer) == (name, "cuda:3", 4096 + 64)
    assert view.strides == (-4 * bits // 8, bits // 8)
    assert view.shape == (2, 3)


def test_dlpack_flags_devices_and_streams() -> None:
    assert describe(Exporter(flags=1)).readonly
    assert describe(Exporter(flags=2)).readonly, "what is written to a copy would be lost"
    assert not describe(Exporter(flags=0)).readonly
    assert describe(Exporter(device=(3, 0))).device == "cpu"
    assert describe(Exporter(device=(13, 1))).device == "cuda:1"
    assert describe(Exporter()).strides == (12, 4)
    assert describe(Exporter(shape=(0, 3), pointer=None)).pointer == 0
    for stream, told in ((None, -1), (0, 1), (1, 1), (77, 77)):
        exporter = Exporter()
        describe(exporter, stream=stream)
        assert exporter.streams == [told]
    host = Exporter(device=(1, 0))
    describe(host, stream=5)
    assert host.streams == ["absent"]


@pytest.mark.parametrize(
    ("array", "code"),
    [
        (Exporter(bits=32, code=5), "R122"), (Exporter(lanes=4), "R122"), (Exporter(bits=4, code=17), "R122"),
        (Exporter(device=(10, 0)), "R123"), (Exporter(device=(99, 0)), "R123"), (Exporter(major=2), "R121"),
        (Exporter(shape=(), pointer=None), "R121"), (Interface(data=(None, False)), "R121"),
        (Exporter(name=b"used_dltensor"), "R121"), (Exporter(fail=lambda: BufferError("no")), "R121"),
        (Exporter(fail=lambda: TypeError("odd")), "R121"), (Exporter(shape=(2, -3)), "R121"),
        (np.zeros(2, np.clongdouble), "R122"), (np.array([object()]), "R122"), (np.array(["a"]), "R122"),
        (np.zeros(2, "datetime64[s]"), "R122"), (np.zeros(2, ">f4"), "R122"), (np.zeros(2, [("a", "i4")]), "R122"),
        (np.zeros(2, np.longdouble), "R122"),
        ([1, 2], "R120"), (3, "R120"), (None, "R120"), ("text", "R120"), (memoryview(b"ab"), "R120"), (object, "R120"),
        (Exporter, "R120"),
        (Interface(typestr="<c32"), "R122"), (Interface(typestr=">f4"), "R122"), (Interface(typestr="<V2"), "R122"),
        (Interface(typestr=None), "R121"), (Interface(shape="absent"), "R121"), (Interface(shape=3), "R121"),
        (Interface(strides=(4,)), "R121"), (Interface(data=8192), "R121"), (Interface(mask=Interface()), "R121"),
        (Interface(shape=(2, -1)), "R121"), (Interface(stream=0), "R121"), (Interface(shape=(2, "x")), "R121"),
    ],
)
def test_refused(array: object, code: str) -> None:
    with pytest.raises(LaunchError) as caught:
        describe(array)
    assert caught.value.code == code


def test_cuda_array_interface() -> None:
    view = describe(Interface(data=(8192, True), strides=(4, 8), stream=7))
    assert (view.pointer, view.shape, view.strides) == (8192, (2, 3), (4, 8))
    assert (view.dtype, view.device, view.readonly, view.producer_stream) == ("float32", "cuda:0", True, 7)
    assert describe(Interface()).strides == (12, 4)
    assert describe(Interface(typestr="|b1")).dtype == "bool"
    assert describe(Interface(shape=(0,), data=(None, False))).pointer == 0
    with pytest.raises(LaunchError) as caught:
        to_numpy(view)
    assert caught.value.code == "R123"


@pytest.mark.parametrize("answer", ["text", 3, None])
def test_an_interface_that_is_no_mapping(answer: object) -> None:
    class Odd:
        __cuda_array_interface__ = answer

    with pytest.raises(LaunchError, match="no mapping"):
        describe(Odd())


def test_an_interface_that_raises_says_what_it_said() -> None:
    class Gradient:
        @property
        def __cuda_array_interface__(self) -> object:
            raise RuntimeError("cannot be taken of a tensor that requires grad")

    with pytest.raises(LaunchError, match="requires grad") as caught:
        describe(Gradient())
    assert "detach" in str(caught.value)


_CUTS = st.builds(slice, st.none() | st.integers(0, 3), st.none(), st.sampled_from([-3, -2, -1, 1, 2, 3]))


@given(st.lists(_CUTS, min_size=1, max_size=3))
def test_byte_range_is_exact_for_every_slicing(cuts: list[slice]) -> None:
    array = BASE[tuple(cuts)]
    view = describe(array)
    if array.size:
        assert view.byte_range == np.lib.array_utils.byte_bounds(array)
        assert np.array_equal(to_numpy(view), array)


def test_overlap() -> None:
    whole = np.zeros(100, np.uint8)
    views = [describe(part) for part in (whole[:50], whole[50:], whole[49:60], whole[:0])]
    first, second, middle, nothing = views
    assert not first.overlaps(second)
    assert first.overlaps(middle)
    assert middle.overlaps(second)
    assert not nothing.overlaps(first)
    assert not describe(Interface(data=(first.pointer, False))).overlaps(first)


def test_no_library_is_imported() -> None:
    code = (
        "import sys; from ptxspec.backend.arrays import describe\n"
        "class A:\n"
        "    __cuda_array_interface__ = {'shape': (2,), 'typestr': '<f4', 'data': (8, False), 'version': 3}\n"
        "describe(A()); print([m for m in ('numpy', 'torch', 'cupy', 'cuda') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")
def test_torch() -> None:
    import torch

    whole = torch.arange(24, dtype=torch.bfloat16).reshape(4, 6)
    view = describe(whole[1:, ::2])
    assert (view.dtype, view.shape, view.strides, view.device) == ("bfloat16", (3, 3), (12, 4), "cpu")
    assert view.pointer == whole.data_ptr() + 12
    assert describe(torch.zeros(2, dtype=torch.float8_e4m3fn)).dtype == "float8_e4m3"
    assert describe(torch.zeros(2, requires_grad=True)).dtype == "float32"
    assert describe(torch.zeros((0, 3))).size == 0
    assert describe(torch.tensor(3)).shape == ()
    for bad, code in (
        (torch.zeros(2, dtype=torch.complex32), "R122"), (torch.zeros(2, device="meta"), "R123"),
        (torch.eye(3).to_sparse(), "R121"), (torch.zeros(2, dtype=torch.complex64).conj().imag, "R121"),
    ):
        with pytest.raises(LaunchError) as caught:
            describe(bad)
        assert caught.value.code == code


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")
def test_the_quick_look_at_torch_tensors() -> None:
    import torch

    whole = torch.arange(24, dtype=torch.float32).reshape(4, 6)
    first, second = quick(whole[1:3]), quick(whole[2:4])
    assert first is not None
    assert second is not None
    assert first[0] == second[0]
    assert first[1] == describe(whole[1:3]).pointer != second[1]
    assert hash(first[0]) == hash(second[0])
    for other in (whole[1:2], whole.T, whole.int(), whole[1:3, ::2]):
        different = quick(other)
        assert different is not None
        assert different[0] != first[0]
    for unusual in (torch.zeros(2, dtype=torch.complex64).conj().imag, torch.eye(3).to_sparse()):
        assert quick(unusual) is None


def test_the_quick_look_at_other_arrays() -> None:
    assert quick(np.zeros(3)) is None
    assert quick(Exporter()) is None
    assert quick([1]) is None
    kind = type("ndarray", (), {"__module__": "cupy", "__qualname__": "ndarray"})
    array = kind()
    array.dtype, array.shape, array.strides = np.dtype("float32"), (3,), (4,)
    array.data = SimpleNamespace(device_id=1, ptr=4096)
    assert quick(array) == (("cupy", np.dtype("float32"), (3,), (4,), 1), 4096)
