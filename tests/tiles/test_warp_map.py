"""``wp.tile_map``: functions of Warp's own and of the user's, on tiles of every kind, forwards and backwards."""

from __future__ import annotations

import numpy as np
import pytest
from warp_cases import run

import ptxspec
from ptxspec.compat import warp as wp

N = 40      # no multiple of the block's 32 threads


@wp.func
def scaled_sum(x: float, y: float, s: float):
    z = x * s
    return z + y / 2.0


@wp.func
def folded(x: float):
    return x if x > 0.25 else -x


@wp.func
def nothing(x: float):
    y = x + 1.0


@wp.func
def pair(x: float):
    return x, x


@wp.func
def half(x: float):
    return wp.float16(x)


@wp.func
def square(x: float):
    return x * x


@wp.func
def third(x: float, y: float, k: int):
    return -(x - y * 3.0) / float(k) + 1.0


def floats(seed: int, n: int = N, **more):
    values = np.random.default_rng(seed).standard_normal(n).astype(np.float32)
    return wp.array(values, dtype=float, **more)


@pytest.mark.parametrize("storage", ["register", "shared"])
@pytest.mark.parametrize("block", [8, 32, 96])
def test_a_function_of_two_tiles_and_a_number(storage, block) -> None:
    @wp.kernel
    def k(a: wp.array[float], b: wp.array[float], c: wp.array[float], s: float):
        t = wp.tile_load(a, shape=N, storage=storage)
        u = wp.tile_load(b, shape=N)
        wp.tile_store(c, wp.tile_map(scaled_sum, t, u, s))

    a, b, c = floats(1), floats(2), wp.zeros(N)
    run(k, a, b, c, 3.0, block=block)
    np.testing.assert_array_equal(c.numpy(), a.numpy() * np.float32(3) + b.numpy() / np.float32(2))


FLOATS = {"neg": np.negative, "abs": np.abs, "sign": lambda x: np.where(x < 0, -1, 1), "pos": lambda x: x,
          "step": lambda x: (x < 0) * 1.0, "nonzero": lambda x: (x != 0) * 1.0}


@pytest.mark.parametrize("name", FLOATS)
def test_functions_of_one_float(name) -> None:
    op = getattr(wp, name)

    @wp.kernel
    def k(a: wp.array[float], b: wp.array[float]):
        wp.tile_store(b, wp.tile_map(op, wp.tile_load(a, shape=N)))

    a, b = floats(3), wp.zeros(N)
    a.numpy()[:2] = 0, -0.0
    run(k, a, b)
    np.testing.assert_array_equal(b.numpy(), FLOATS[name](a.numpy()))


PAIRS = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "min": np.minimum, "max": np.maximum,
         "div": lambda a, b: np.trunc(a / b), "mod": np.fmod, "floordiv": np.floor_divide, "bit_and": np.bitwise_and,
         "bit_or": np.bitwise_or, "bit_xor": np.bitwise_xor}


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("number", [False, True])
def test_functions_of_two_integers(name, number) -> None:
    op = getattr(wp, name)

    @wp.kernel
    def tiles(a: wp.array[int], b: wp.array[int], c: wp.array[int]):
        wp.tile_store(c, wp.tile_map(op, wp.tile_load(a, shape=N), wp.tile_load(b, shape=N)))

    @wp.kernel
    def numbers(a: wp.array[int], b: wp.array[int], c: wp.array[int]):
        wp.tile_store(c, wp.tile_map(op, wp.tile_load(a, shape=N), 7))

    rng = np.random.default_rng(4)
    a, c = wp.array(rng.integers(-100, 100, N), dtype=int), wp.zeros(N, dtype=int)
    b = wp.array(np.full(N, 7) if number else rng.integers(1, 9, N), dtype=int)
    run(numbers if number else tiles, a, b, c)
    np.testing.assert_array_equal(c.numpy(), PAIRS[name](a.numpy(), b.numpy()).astype(np.int32))


def test_clamp_where_choice_and_conditions() -> None:
    @wp.kernel
    def k(a: wp.array[float], b: wp.array2d[float], c: wp.array[wp.uint8]):
        t = wp.tile_load(a, shape=N)
        wp.tile_store(b[0], wp.tile_map(wp.clamp, t, -0.5, 0.5))
        wp.tile_store(b[1], wp.tile_map(folded, t))
        wp.tile_store(b[2], wp.tile_map(wp.where, wp.tile_map(wp.isnan, t), 2.0, 3.0))
        wp.tile_store(c, wp.tile_map(wp.isfinite, t))

    a, b, c = floats(5), wp.zeros((3, N)), wp.zeros(N, dtype=wp.uint8)
    a.numpy()[:3] = np.nan, np.inf, -np.inf
    run(k, a, b, c)
    x = a.numpy()
    np.testing.assert_array_equal(b.numpy()[0][1:], np.clip(x[1:], -0.5, 0.5))
    np.testing.assert_array_equal(b.numpy()[1][1:], np.where(x[1:] > 0.25, x[1:], -x[1:]))
    np.testing.assert_array_equal(b.numpy()[2], np.where(np.isnan(x), 2, 3))
    np.testing.assert_array_equal(c.numpy(), np.isfinite(x))


def test_the_type_is_the_functions_and_tiles_of_other_types_combine() -> None:
    """float16 tiles are dealt out as float32 ones are: by as many neighbours as the array that is written takes."""
    @wp.kernel
    def k(a: wp.array[float], b: wp.array[wp.float16], c: wp.array[float]):
        t = wp.tile_load(a, shape=N)
        wp.tile_store(b, wp.tile_map(half, t))
        wp.tile_store(c, wp.tile_map(wp.add, wp.tile_load(b, shape=N).astype(wp.float32), t))

    @wp.kernel
    def other(a: wp.array[float], b: wp.array[wp.float16], c: wp.array[float]):
        wp.tile_store(c, wp.tile_load(a, shape=N) + wp.tile_load(b, shape=N).astype(wp.float32))

    a, b, c = floats(6), wp.zeros(N, dtype=wp.float16), wp.zeros(N)
    for kernel in (k, other):       # what a thread reads again it wrote itself
        c.fill_(0)
        run(kernel, a, b, c)
        np.testing.assert_array_equal(b.numpy(), a.numpy().astype(np.float16))
        np.testing.assert_array_equal(c.numpy(), a.numpy() + b.numpy().astype(np.float32))


def test_computed_tiles_are_mapped() -> None:
    @wp.kernel
    def k(b: wp.array[int]):
        wp.tile_store(b, wp.tile_map(wp.mul, wp.tile_arange(N, dtype=int), wp.tile_arange(1, N + 1, dtype=int)))

    b = wp.zeros(N, dtype=int)
    run(k, b)
    np.testing.assert_array_equal(b.numpy(), np.arange(N) * np.arange(1, N + 1))


def test_what_cannot_be_mapped() -> None:
    def kernel(op, *more, first=True):
        @wp.kernel
        def k(a: wp.array[float], b: wp.array[float]):
            t = wp.tile_load(a, shape=N)
            wp.tile_store(b, wp.tile_map(op, t, *more) if first else wp.tile_map(op, *more))
        return k

    @wp.kernel
    def shapes(a: wp.array[float], b: wp.array[float]):
        wp.tile_store(b, wp.tile_map(wp.add, wp.tile_load(a, shape=N), wp.tile_load(a, shape=8)))

    @wp.kernel
    def unnamed(a: wp.array[float], b: wp.array[float]):
        wp.tile_store(b, wp.tile_map(wp.neg, wp.tile_load(a, shape=N), what=3))

    for k, code in ((kernel(nothing), "K243"), (kernel(pair), "K243"), (kernel(5), "K243"), (kernel(wp.sin), "K244"),
                    (kernel(wp.neg, 1.0, first=False), "K230"), (kernel(wp.neg, first=False), "K230"),
                    (kernel(scaled_sum, 1.0), "K207"), (kernel(wp.add, "x"), "K222"), (shapes, "K234"),
                    (unnamed, "K207")):
        with pytest.raises(ptxspec.PtxspecError) as caught:
            run(k, floats(7), wp.zeros(N))
        assert caught.value.code == code, str(caught.value)


# --- gradients

def test_linear_functions_have_gradients() -> None:
    @wp.kernel
    def k(a: wp.array[float], b: wp.array[float], c: wp.array[float], n: int):
        t, u = wp.tile_load(a, shape=N), wp.tile_load(b, shape=N)
        wp.tile_store(c, wp.tile_map(third, t, u, n) + wp.tile_map(wp.neg, t))

    a, b, c = floats(8, requires_grad=True), floats(9, requires_grad=True), floats(10, requires_grad=True)
    with wp.Tape() as tape:
        run(k, a, b, c, 4)
    np.testing.assert_allclose(c.numpy(), -(a.numpy() - b.numpy() * 3) / 4 + 1 - a.numpy(), rtol=1e-6)
    given = floats(11)
    tape.backward(grads={c: given})
    g = given.numpy()
    np.testing.assert_array_equal(a.grad.numpy(), -g + -g / 4)
    np.testing.assert_array_equal(b.grad.numpy(), -(-(g / 4) * np.float32(3)))


@pytest.mark.parametrize(("op", "more"), [(square, ()), (wp.abs, ()), (wp.max, (0.0,)), (folded, ())])
def test_other_functions_have_none(op, more) -> None:
    @wp.kernel
    def k(a: wp.array[float], b: wp.array[float]):
        wp.tile_store(b, wp.tile_map(op, wp.tile_load(a, shape=N), *more))

    a, b = floats(12, requires_grad=True), wp.zeros(N, requires_grad=True)
    with wp.Tape() as tape:
        run(k, a, b)
    with pytest.raises(ptxspec.PtxspecError) as caught:
        tape.backward(grads={b: floats(13)})
    assert caught.value.code == "K241"
