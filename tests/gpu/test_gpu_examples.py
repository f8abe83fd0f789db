"""Every example on the GPU, on arrays of torch and cupy, and the guide's own host code."""

from __future__ import annotations

import numpy as np
import pytest
from gpu_arrays import to_device, to_host

import ptxspec
from ptxspec.diagnostics import LaunchError

pytestmark = pytest.mark.gpu


def test_strided_load_reads_every_word(library, example):
    executable = ptxspec.compile(example("strided_load").strided_load, target="cuda")
    x = np.random.default_rng().standard_normal(420).astype(np.float32)
    out = to_device(library, np.full(420, np.nan, np.float32))
    # The kernel's tensor is the array under its own strided layout; the logical order is the physical one here.
    executable(to_device(library, x.reshape(15, 2, 7, 2)), out)
    np.testing.assert_array_equal(to_host(library, out), x)


def test_read_next_row_shifts_the_rows(library, example):
    executable = ptxspec.compile(example("read_next_row").read_next_row, target="cuda")
    a = np.random.default_rng().standard_normal((64, 4)).astype(np.float32)
    b = to_device(library, np.full_like(a, np.nan))
    executable(to_device(library, a), b)
    np.testing.assert_array_equal(to_host(library, b), np.roll(a, -1, axis=0))


def test_the_guides_torch_code(example):
    torch = pytest.importorskip("torch")
    compiled = ptxspec.compile(example("read_next_row").read_next_row, target="cuda")
    a = torch.arange(256, dtype=torch.float32, device="cuda").reshape(64, 4)
    b = torch.empty_like(a)
    compiled(a, b)
    torch.testing.assert_close(b, torch.roll(a, shifts=-1, dims=0), rtol=0, atol=0)


def test_the_reference_documents_host_code(example):
    """``tvm.tirx.compile``, ``tvm.runtime.tensor`` and ``tvm.cuda`` through the compatibility layer."""
    tvm = pytest.importorskip("ptxspec.compat.tvm")
    compiled = tvm.tirx.compile(example("strided_load").strided_load, target="cuda", pipeline="tirx")
    x = np.arange(420, dtype="float32")
    a = tvm.runtime.tensor(x.reshape(15, 2, 7, 2), tvm.cuda())
    out = tvm.runtime.tensor(np.zeros_like(x), tvm.cuda())
    compiled(a, out)
    np.testing.assert_array_equal(out.numpy(), x)


def test_on_a_stream_of_torch(example):
    torch = pytest.importorskip("torch")
    compiled = ptxspec.compile(example("read_next_row").read_next_row, target="cuda")
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        a = torch.rand((64, 4), device="cuda")
        b = torch.empty_like(a)
        compiled(a, b, stream=stream)
        doubled = b * 2
    stream.synchronize()
    assert torch.equal(doubled, torch.roll(a, -1, 0) * 2)


def test_a_wrong_array_is_refused_before_the_launch(example):
    torch = pytest.importorskip("torch")
    compiled = ptxspec.compile(example("read_next_row").read_next_row, target="cuda")
    a = torch.rand((64, 4), device="cuda")
    storage = torch.rand(257, device="cuda")
    for wrong in (a.double(), a[:32], a.t().contiguous().t(), storage[1:].view(64, 4), a.cpu()):
        with pytest.raises(LaunchError):
            compiled(wrong, torch.empty_like(a))
    with pytest.raises(LaunchError):
        compiled(a)
