"""Elements that are vectors, matrices or structures: read whole, computed with, written whole, mapped."""

from __future__ import annotations

import numpy as np
import pytest
from warp_cases import Sample, run

import ptxspec
from ptxspec.compat import warp as wp

N = 12
F = np.float32
STORAGE = pytest.mark.parametrize("storage", ["register", "shared"])


@wp.struct
class Mixed:
    flag: wp.uint8
    count: wp.int16
    value: wp.float32
    where: wp.vec2
    deep: Sample


def vectors(seed: int, *shape: int, dtype=wp.vec3):
    values = np.random.default_rng(seed).standard_normal((*shape, *dtype.shape)).astype(F)
    return wp.array(values, dtype=dtype)


def mixed(seed: int, n: int = N):
    rng = np.random.default_rng(seed)
    records = np.zeros(n, Mixed.record())
    records["flag"], records["count"] = rng.integers(0, 99, n), rng.integers(-99, 99, n)
    records["value"], records["where"] = rng.standard_normal(n), rng.standard_normal((n, 2))
    records["deep"]["x"], records["deep"]["y"] = rng.standard_normal(n), rng.standard_normal((n, 3))
    return wp.array(records, dtype=Mixed)


@wp.func
def turned(v: wp.vec3):
    return wp.vec3(v[1], v.z, -v[0]) * 2.0


@wp.func
def length_sq(v: wp.vec3):
    return wp.dot(v, v)


@wp.func
def weighed(v: wp.vec3, w: float, shift: wp.vec3):
    return v * w + shift


@wp.func
def larger(v: wp.vec3, w: wp.vec3):
    return wp.where(v.x > w.x, v, w)


@wp.func
def raised(x: float):
    return wp.vec2(x, x * x)


@wp.func
def applied(m: wp.mat22, v: wp.vec2):
    return wp.vec2(wp.dot(m[0], v), m[1, 0] * v[0] + m[1][1] * v.y)


@wp.func
def summed(s: Mixed):
    return s.value + float(s.count) * s.where[1] + s.deep.y[2] * s.deep.x


@wp.func
def kept(s: Mixed):
    return s


# --- elements

@STORAGE
def test_elements_are_read_and_written_whole(storage) -> None:
    @wp.kernel
    def k(a: wp.array[wp.vec3], b: wp.array[wp.vec3], c: wp.array[float]):
        _, i = wp.tid()
        t = wp.tile_load(a, shape=N, storage=storage)
        if i < N:
            v = t[N - 1 - i]
            b[i] = v * 2.0 + a[i] - wp.vec3(1.0, 0.0, float(i))
            c[i] = v.y + t[i][2] + v[-1]

    a, b, c = vectors(1, N), wp.zeros(N, dtype=wp.vec3), wp.zeros(N)
    run(k, a, b, c)
    x = a.numpy()
    shift = np.stack([np.ones(N), np.zeros(N), np.arange(N)], 1).astype(F)
    np.testing.assert_array_equal(b.numpy(), x[::-1] * F(2) + x - shift)
    np.testing.assert_array_equal(c.numpy(), x[::-1][:, 1] + x[:, 2] + x[::-1][:, 2])


@STORAGE
def test_rows_of_matrices(storage) -> None:
    @wp.kernel
    def k(a: wp.array2d[wp.mat33], b: wp.array[wp.vec3], c: wp.array[wp.mat33]):
        _, i = wp.tid()
        t = wp.tile_load(a, shape=(2, N), storage=storage)
        if i < N:
            b[i] = t[1, i][2] + t[0, i, 1]
            c[i] = t[1][i] - wp.mat33(1.0)

    a = vectors(2, 2, N, dtype=wp.mat33)
    b, c = wp.zeros(N, dtype=wp.vec3), wp.zeros(N, dtype=wp.mat33)
    run(k, a, b, c)
    x = a.numpy()
    np.testing.assert_array_equal(b.numpy(), x[1, :, 2] + x[0, :, 1])
    np.testing.assert_array_equal(c.numpy(), x[1] - F(1))


@STORAGE
def test_elements_of_tiles_are_assigned_whole(storage) -> None:
    @wp.kernel
    def k(a: wp.array[wp.vec3], b: wp.array[wp.vec3]):
        _, i = wp.tid()
        t = wp.tile_zeros(shape=N, dtype=wp.vec3, storage=storage)
        if i < N:
            t[i] = a[N - 1 - i]
            t[i] += wp.vec3(1.0)
        wp.tile_store(b, t)

    a, b = vectors(3, N), wp.zeros(N, dtype=wp.vec3)
    run(k, a, b)
    np.testing.assert_array_equal(b.numpy(), a.numpy()[::-1] + F(1))


def test_parts_and_other_coordinates_keep_elements_whole() -> None:
    @wp.kernel
    def k(a: wp.array2d[wp.vec3], b: wp.array2d[wp.vec3], c: wp.array[wp.vec3], d: wp.array2d[wp.vec3]):
        t = wp.tile_load(a, shape=(2, 4))
        wp.tile_store(b, wp.tile_transpose(t))
        wp.tile_store(c, wp.tile_reshape(t, shape=(-1,)))
        u = wp.tile_broadcast(t[1], shape=(3, 4))
        wp.tile_store(d, u)
        wp.tile_store(d[3], wp.tile_squeeze(wp.tile_view(t, offset=(0, 0), shape=(1, 4)), axis=0))
        i = wp.tile_arange(1, -1, -1, dtype=int)
        wp.tile_store(d, t[i], offset=(4, 0))

    a, b, c, d = (vectors(4, 2, 4), wp.zeros((4, 2), dtype=wp.vec3), wp.zeros(8, dtype=wp.vec3),
                  wp.zeros((6, 4), dtype=wp.vec3))
    run(k, a, b, c, d)
    x = a.numpy()
    np.testing.assert_array_equal(b.numpy(), x.transpose(1, 0, 2))
    np.testing.assert_array_equal(c.numpy(), x.reshape(8, 3))
    np.testing.assert_array_equal(d.numpy(), np.stack([x[1], x[1], x[1], x[0], x[1], x[0]]))


def test_vectors_of_threads() -> None:
    @wp.kernel
    def k(a: wp.array[wp.vec3], b: wp.array[wp.vec3], c: wp.array2d[float], d: wp.array[wp.vec3], e: wp.array[wp.vec3]):
        _, i = wp.tid()
        v = a[i]
        wp.tile_store(b, wp.tile(v, preserve_type=True) * 2.0)
        t = wp.tile(v)
        wp.tile_store(c, t)
        d[i] = wp.untile(t) + wp.untile(wp.tile(v, preserve_type=True))
        wp.tile_store(e, wp.tile_from_thread(N, v, 5) + wp.tile_full(N, wp.vec3(1.0, 2.0, 3.0)))

    a, b, c, d, e = vectors(5, 32), *(wp.zeros(n, dtype=t) for n, t in (
        (32, wp.vec3), ((3, 32), float), (32, wp.vec3), (N, wp.vec3)))
    run(k, a, b, c, d, e)
    x = a.numpy()
    np.testing.assert_array_equal(b.numpy(), x * F(2))
    np.testing.assert_array_equal(c.numpy(), x.T)
    np.testing.assert_array_equal(d.numpy(), x + x)
    np.testing.assert_array_equal(e.numpy(), np.tile(x[5] + F([1, 2, 3]), (N, 1)))


def test_vectors_scattered_by_threads() -> None:
    @wp.kernel
    def k(a: wp.array[wp.vec3], b: wp.array[wp.vec3], c: wp.array[wp.vec3]):
        _, i = wp.tid()
        t = wp.tile_zeros(shape=8, dtype=wp.vec3)
        wp.tile_scatter_masked(t, 7 - i, a[i], True)
        wp.tile_store(b, t)
        wp.tile_scatter_add(t, i // 4, wp.vec3(1.0, 2.0, 0.0), True)
        wp.tile_store(c, t)

    a, b, c = vectors(6, 8), wp.zeros(8, dtype=wp.vec3), wp.zeros(8, dtype=wp.vec3)
    run(k, a, b, c, block=8)
    expected = a.numpy()[::-1].copy()
    np.testing.assert_array_equal(b.numpy(), expected)
    expected[:2] += F([4, 8, 0])
    np.testing.assert_allclose(c.numpy(), expected, rtol=1e-6)


# --- maps

@STORAGE
@pytest.mark.parametrize("block", [5, 32])
def test_functions_of_vectors(storage, block) -> None:
    @wp.kernel
    def k(a: wp.array[wp.vec3], w: wp.array[float], b: wp.array2d[wp.vec3], c: wp.array[float], d: wp.array[wp.vec2]):
        t = wp.tile_load(a, shape=N, storage=storage)
        u = wp.tile_load(w, shape=N)
        wp.tile_store(b[0], wp.tile_map(turned, t))
        wp.tile_store(b[1], wp.tile_map(weighed, t, u, wp.vec3(1.0, 2.0, 3.0)))
        wp.tile_store(b[2], t + wp.vec3(0.0, 0.0, 1.0))
        wp.tile_store(b[3], -t * 2.0 + t)
        wp.tile_store(c, wp.tile_map(length_sq, t))
        wp.tile_store(d, wp.tile_map(raised, u))

    a, w = vectors(7, N), wp.array(np.random.default_rng(8).standard_normal(N).astype(F), dtype=float)
    b, c, d = wp.zeros((4, N), dtype=wp.vec3), wp.zeros(N), wp.zeros(N, dtype=wp.vec2)
    run(k, a, w, b, c, d, block=block)
    x, y = a.numpy(), w.numpy()
    np.testing.assert_array_equal(b.numpy()[0], np.stack([x[:, 1], x[:, 2], -x[:, 0]], 1) * F(2))
    np.testing.assert_array_equal(b.numpy()[1], x * y[:, None] + F([1, 2, 3]))
    np.testing.assert_array_equal(b.numpy()[2], x + F([0, 0, 1]))
    np.testing.assert_array_equal(b.numpy()[3], -x * F(2) + x)
    np.testing.assert_array_equal(c.numpy(), x[:, 0] * x[:, 0] + x[:, 1] * x[:, 1] + x[:, 2] * x[:, 2])
    np.testing.assert_array_equal(d.numpy(), np.stack([y, y * y], 1))


def test_functions_of_matrices_and_vectors_in_a_loop() -> None:
    @wp.kernel
    def k(m: wp.array2d[wp.mat22], v: wp.array[wp.vec2], b: wp.array[wp.vec2]):
        t = wp.tile_load(v, shape=N)
        for row in range(3):
            t = wp.tile_map(applied, wp.tile_load(m[row], shape=N), t) * 1.0
        wp.tile_store(b, t)

    m, v, b = vectors(9, 3, N, dtype=wp.mat22), vectors(10, N, dtype=wp.vec2), wp.zeros(N, dtype=wp.vec2)
    run(k, m, v, b)
    x = v.numpy()
    for row in m.numpy():
        x = np.stack([row[:, 0, 0] * x[:, 0] + row[:, 0, 1] * x[:, 1],
                      row[:, 1, 0] * x[:, 0] + row[:, 1, 1] * x[:, 1]], 1)
    np.testing.assert_allclose(b.numpy(), x, rtol=1e-6)


@pytest.mark.parametrize("block", [5, 32])
def test_vectors_that_a_thread_has_whole_stay_in_registers(block) -> None:
    """vec2 and vec4: no shared memory, and loads and stores of whole vectors."""
    @wp.func
    def rolled(v: wp.vec4, w: wp.vec2, s: float):
        return wp.vec4(v[3], v[0] * s, v[1] + w.x, v[2] - w.y)

    @wp.kernel
    def k(a: wp.array2d[wp.vec4], b: wp.array2d[wp.vec2], c: wp.array2d[wp.vec4], d: wp.array2d[wp.vec2]):
        t, u = wp.tile_load(a, shape=(3, N)), wp.tile_load(b, shape=(3, N))
        v = wp.tile_map(rolled, t, u, 3.0)
        v += wp.vec4(1.0) + v
        wp.tile_store(c, v)
        wp.tile_store(d, u * 2.0 + wp.vec2(1.0, 2.0))

    a, b = vectors(14, 3, N, dtype=wp.vec4), vectors(15, 3, N, dtype=wp.vec2)
    c, d = wp.zeros((3, N), dtype=wp.vec4), wp.zeros((3, N), dtype=wp.vec2)
    run(k, a, b, c, d, block=block)
    x, y = a.numpy(), b.numpy()
    v = np.stack([x[..., 3], x[..., 0] * F(3), x[..., 1] + y[..., 0], x[..., 2] - y[..., 1]], -1)
    np.testing.assert_array_equal(c.numpy(), v + (F(1) + v))
    np.testing.assert_array_equal(d.numpy(), y * F(2) + F([1, 2]))
    [executable] = k.variants.values()
    assert ".shared" not in executable.ptx and "bar.sync" not in executable.ptx
    assert "ld.global.v4.b32" in executable.ptx and "st.global.v2.b32" in executable.ptx


def test_functions_of_two_vectors_by_component() -> None:
    @wp.kernel
    def k(a: wp.array[wp.vec3], b: wp.array2d[wp.vec3]):
        t, u = wp.tile_load(a, shape=N), wp.tile_load(a, shape=N, offset=N)
        wp.tile_store(b[0], wp.tile_map(wp.cw_mul, t, u))
        wp.tile_store(b[1], wp.tile_map(wp.cw_div, t, u))
        wp.tile_store(b[2], wp.tile_map(wp.cross, t, u))
        wp.tile_store(b[3], wp.tile_map(wp.sub, t, u))
        wp.tile_store(b[4], wp.tile_map(larger, t, u))

    a, b = vectors(11, 2 * N), wp.zeros((5, N), dtype=wp.vec3)
    run(k, a, b)
    x, y = a.numpy()[:N], a.numpy()[N:]
    np.testing.assert_array_equal(b.numpy()[[0, 1, 3]], np.stack([x * y, x / y, x - y]))
    np.testing.assert_array_equal(b.numpy()[4], np.where(x[:, :1] > y[:, :1], x, y))
    np.testing.assert_allclose(b.numpy()[2], np.cross(x, y), rtol=1e-4, atol=1e-6)


# --- structures

@STORAGE
def test_structures_of_many_types(storage) -> None:
    @wp.kernel
    def k(a: wp.array[Mixed], b: wp.array[float], c: wp.array[Mixed], d: wp.array[Mixed], e: wp.array[float]):
        _, i = wp.tid()
        t = wp.tile_load(a, shape=N, storage=storage)
        wp.tile_store(b, wp.tile_map(summed, t))
        wp.tile_store(c, wp.tile_map(kept, t))
        if i < N:
            s = t[N - 1 - i]
            d[i] = s
            e[i] = s.deep.y.x + a[i].value

    a, b, e = mixed(12), wp.zeros(N), wp.zeros(N)
    c, d = wp.zeros(N, dtype=Mixed), wp.zeros(N, dtype=Mixed)
    run(k, a, b, c, d, e)
    x = a.numpy()
    np.testing.assert_array_equal(b.numpy(), x["value"] + x["count"].astype(F) * x["where"][:, 1]
                                  + x["deep"]["y"][:, 2] * x["deep"]["x"])
    for name in Mixed.record().names:
        np.testing.assert_array_equal(c.numpy()[name], x[name])
        np.testing.assert_array_equal(d.numpy()[name], x[name][::-1])
    np.testing.assert_array_equal(e.numpy(), x["deep"]["y"][::-1][:, 0] + x["value"])


# --- gradients

def test_functions_of_vectors_have_no_gradient() -> None:
    @wp.kernel
    def k(a: wp.array[wp.vec3], b: wp.array[wp.vec3]):
        wp.tile_store(b, wp.tile_map(turned, wp.tile_load(a, shape=N)))

    a, b = wp.zeros(N, dtype=wp.vec3, requires_grad=True), wp.zeros(N, dtype=wp.vec3, requires_grad=True)
    with wp.Tape() as tape:
        run(k, a, b)
    with pytest.raises(ptxspec.PtxspecError) as caught:
        tape.backward(grads={b: wp.ones(N, dtype=wp.vec3)})
    assert caught.value.code == "K241"
