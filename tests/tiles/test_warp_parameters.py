"""Vectors, matrices and structures as parameters of Warp's kernels, and what does not fit them."""

from __future__ import annotations

import numpy as np
import pytest
from warp_cases import Sample, run

import ptxspec
from ptxspec.compat import warp as wp

N = 12
F = np.float32


@wp.struct
class Mixed:
    count: wp.int16
    where: wp.vec2
    deep: Sample


def test_vectors_and_matrices_as_parameters() -> None:
    @wp.func
    def pushed(v: wp.vec3, by: wp.vec3, dt: float):
        return v + by * dt

    @wp.kernel
    def k(v: wp.array[wp.vec3], out: wp.array[wp.vec3], by: wp.vec3, dt: float, m: wp.mat22, by_0: int):
        t = wp.tile_load(v, shape=N)
        wp.tile_store(out, wp.tile_map(pushed, t, by, dt * m[1, 0] + float(by_0)))

    v = wp.array(np.random.default_rng(13).standard_normal((N, 3)).astype(F), dtype=wp.vec3)
    out = wp.zeros(N, dtype=wp.vec3)
    for by in (wp.vec3(1.0, 2.0, 3.0), (1, 2, 3), np.array([1, 2, 3], F)):
        run(k, v, out, by, 0.5, ((0, 0), (4, 0)), 1)
        np.testing.assert_array_equal(out.numpy(), v.numpy() + F([1, 2, 3]) * F(3))
    assert len(k.variants) == 1
    for by in (wp.vec2(1.0, 2.0), 3.0, (1, 2, 3, 4), (1, 2, "x"), None):
        with pytest.raises(ptxspec.PtxspecError) as caught:
            run(k, v, out, by, 0.5, ((0, 0), (4, 0)), 1)
        assert caught.value.code == "R331"

    @wp.kernel
    def structure(v: wp.array[wp.vec3], s: Sample):
        wp.tile_store(v, wp.tile_load(v, shape=N))

    with pytest.raises(ptxspec.PtxspecError) as caught:
        run(structure, v, 1.0)
    assert caught.value.code == "R331"


def test_vectors_as_parameters_have_no_gradient() -> None:
    @wp.kernel
    def k(a: wp.array[float], b: wp.array[float], w: wp.vec2):
        wp.tile_store(b, wp.tile_load(a, shape=N) * w[0] + w[1])

    a, b = wp.ones(N, requires_grad=True), wp.zeros(N, requires_grad=True)
    with wp.Tape() as tape:
        run(k, a, b, wp.vec2(3.0, 4.0))
    tape.backward(grads={b: wp.ones(N)})
    assert (b.numpy() == 7).all() and (a.grad.numpy() == 3).all()


def test_what_does_not_fit_is_refused() -> None:
    def kernel(body, kind=wp.vec3):
        @wp.kernel
        def k(a: wp.array[kind]):
            _, i = wp.tid()
            body(a, wp.tile_load(a, shape=N), i)
        return k

    def number(a, t, i):
        a[i % N] = 1.0

    def other_shape(a, t, i):
        t[0] = wp.vec2(1.0, 2.0)

    def product(a, t, i):
        a[i % N] = t[0] * t[1]

    def component(a, t, i):
        a[i % N] = wp.vec3(t[0][0], t[0].w, 0.0)

    def far_component(a, t, i):
        v = t[0]
        a[i % N] = wp.vec3(v[3])

    def runtime_component(a, t, i):
        v = t[0]
        a[i % N] = wp.vec3(v[i % 3])

    def count(a, t, i):
        a[i % N] = wp.vec3(1.0, 2.0)

    def struct_sum(a, t, i):
        a[i % N] = a[0] + a[1]

    def field(a, t, i):
        a[i % N].nothing

    def other_struct(a, t, i):
        a[i % N] = wp.vec3(1.0)

    for body, kind, code in ((number, wp.vec3, "K245"), (other_shape, wp.vec3, "K245"), (product, wp.vec3, "K222"),
                             (component, wp.vec3, "K214"), (far_component, wp.vec3, "K141"),
                             (runtime_component, wp.vec3, "K141"), (count, wp.vec3, "K207"),
                             (struct_sum, Mixed, "K222"), (field, Mixed, "K214"), (other_struct, Mixed, "K245")):
        with pytest.raises(ptxspec.PtxspecError) as caught:
            run(kernel(body, kind), wp.zeros(N, dtype=kind))
        assert caught.value.diagnostics[0].code == code, (body.__name__, str(caught.value))
