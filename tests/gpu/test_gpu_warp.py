"""Kernels under Warp's names on the GPU: what NumPy says, and what the simulator says of the same launch."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from ptxspec.compat import warp as wp

pytestmark = pytest.mark.gpu
DEVICE = "cuda"
PROGRAMS = int(os.environ.get("PTXSPEC_RANDOM_KERNELS", "60"))
N = 40


@wp.struct
class Mixed:
    flag: wp.uint8
    count: wp.int16
    value: wp.float32
    where: wp.vec2


@wp.func
def folded(x: float, y: float, s: float):
    if x < 0.0:
        return y - x * s
    z = x
    if y > s:
        z += y
    return z


@wp.func
def turned(v: wp.vec3, w: float):
    return wp.vec3(v[1], v.z, -v[0]) * w


@wp.func
def summed(s: Mixed):
    return s.value + float(s.count) * s.where[1]


def programs() -> ModuleType:
    file = Path(__file__).parents[1] / "tiles" / "test_random_warp_programs.py"
    spec = importlib.util.spec_from_file_location("random_warp_programs", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def agree(kernel, block: int, *given: np.ndarray, dtypes: tuple[object, ...] = (), dim: int = 2) -> None:
    """The launch on the GPU leaves in every array what the simulator leaves there, to the bit."""
    results = []
    for device in ("cpu", DEVICE):
        arrays = [wp.array(np.array(a), dtype=dtypes[k] if dtypes else None, device=device)
                  for k, a in enumerate(given)]
        wp.launch_tiled(kernel, dim=dim, inputs=arrays, block_dim=block)
        results.append([bits(a.numpy()) for a in arrays])
    assert results[0] == results[1]


def bits(values: np.ndarray) -> list[bytes]:
    """The bytes of an array, field by field: those between fields mean nothing."""
    return [values[n].tobytes() for n in values.dtype.names] if values.dtype.names else [values.tobytes()]


def floats(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def test_random_programs(tmp_path) -> None:
    module = programs()
    accepted = sum(module.run(tmp_path, seed, DEVICE) for seed in range(1000, 1000 + PROGRAMS))
    assert accepted >= PROGRAMS // 3


@pytest.mark.parametrize("storage", ["register", "shared"])
@pytest.mark.parametrize("block", [32, 96])
def test_maps_and_tiles_changed_in_place(storage, block) -> None:
    @wp.kernel
    def k(a: wp.array2d[float], b: wp.array2d[float]):
        row, lane = wp.tid()
        t, u = wp.tile_load(a[row], shape=N, storage=storage), wp.tile_load(a[row + 1], shape=N, offset=-2)
        s = 1.0
        for n in range(3):
            t += wp.tile_map(folded, t, u, s)
            if row == 1:
                s = s * 0.5
                u = wp.tile_load(a[n], shape=N)
        t[1:9] = t[0:8]
        scale = wp.tile_from_thread(N, float(lane), 5)
        wp.tile_store(b[row], t + scale)

    agree(k, block, floats(1, 3, N), floats(2, 2, N))


@pytest.mark.parametrize("storage", ["register", "shared"])
def test_vectors(storage) -> None:
    @wp.kernel
    def k(a: wp.array[wp.vec3], w: wp.array[float], b: wp.array[wp.vec3], c: wp.array[wp.vec3]):
        block, lane = wp.tid()
        t = wp.tile_load(a, shape=N // 2, offset=block * (N // 2), storage=storage)
        u = wp.tile_load(w, shape=N // 2, offset=block * (N // 2))
        wp.tile_store(b, wp.tile_map(turned, t, u), offset=block * (N // 2))
        if lane < N // 2:
            c[block * (N // 2) + lane] = t[N // 2 - 1 - lane] + wp.vec3(1.0, 2.0, 3.0)

    agree(k, 32, floats(3, N, 3), floats(4, N), floats(5, N, 3), floats(6, N, 3),
          dtypes=(wp.vec3, float, wp.vec3, wp.vec3))


def test_structures_of_several_types() -> None:
    @wp.kernel
    def k(a: wp.array[Mixed], b: wp.array[Mixed], c: wp.array[float], total: wp.array[Mixed]):
        block = wp.tid()
        t, u = wp.tile_load(a, shape=N, offset=block * 3), wp.tile_load(b, shape=N)
        if block == 0:
            wp.tile_store(b, t + u)
            wp.tile_store(c, wp.tile_map(summed, t))
            wp.tile_atomic_add(total, t)

    rng = np.random.default_rng(7)
    records = [np.zeros(N, Mixed.record()) for _ in range(3)]
    for found in records:
        found["flag"], found["count"] = rng.integers(0, 9, N), rng.integers(-9, 9, N)
        found["value"], found["where"] = rng.standard_normal(N), rng.standard_normal((N, 2))
    agree(k, 64, records[0], records[1], floats(8, N), records[2], dtypes=(Mixed, Mixed, float, Mixed), dim=1)


def test_threads_scatter() -> None:
    @wp.kernel
    def k(a: wp.array[int], b: wp.array2d[int], c: wp.array2d[int]):
        block, lane = wp.tid()
        t = wp.tile_zeros(shape=8, dtype=int)
        x = a[lane]
        wp.tile_scatter_add(t, x, lane, x >= 0 and x < 8)
        wp.tile_store(b[block], t)
        wp.tile_scatter_masked(t, 7 - lane, x, lane < 8)
        wp.tile_store(c[block], t)

    agree(k, 64, np.random.default_rng(9).integers(-2, 10, 64).astype(np.int32), np.zeros((2, 8), np.int32),
          np.zeros((2, 8), np.int32))


def test_gradients_of_maps() -> None:
    @wp.func
    def linear(x: float, y: float):
        return x * 3.0 - y / 2.0

    @wp.kernel
    def k(a: wp.array[float], b: wp.array[float], c: wp.array[float]):
        t = wp.tile_load(a, shape=N)
        for _ in range(2):
            t *= 2.0
            t += wp.tile_map(linear, wp.tile_load(a, shape=N), wp.tile_load(b, shape=N))
        wp.tile_store(c, t)

    found = []
    for device in ("cpu", DEVICE):
        a, b = (wp.array(floats(s, N), device=device, requires_grad=True) for s in (10, 11))
        c = wp.zeros(N, device=device, requires_grad=True)
        with wp.Tape() as tape:
            wp.launch_tiled(k, dim=1, inputs=[a, b, c], block_dim=32)
        tape.backward(grads={c: wp.array(floats(12, N), device=device)})
        found.append([x.numpy() for x in (c, a.grad, b.grad)])
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)
