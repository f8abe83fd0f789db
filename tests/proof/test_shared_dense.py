"""Shared arrays that all threads fill like the digits of a number are told without going through the threads."""

from __future__ import annotations

import pytest

from ptxspec import T
from ptxspec.proof import prove


def kernel(stride: int, rows: int, flip: bool = False) -> object:
    """A block of 8 x 4 x 2 threads; each writes four floats, ``stride`` elements after its neighbour's."""

    @T.function
    def fills(A: T.Tensor((64,), "float32"), B: T.Tensor((64, 4), "float32", align=16)):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=(8, 4, 2)))
        x, y, z = T.cuda.thread_idx("x"), T.cuda.thread_idx("y"), T.cuda.thread_idx("z")
        flat = x + 8 * y + 32 * z
        row = 63 - flat if flip else flat
        s = T.alloc_shared((rows * 4,), "float32", align=16)
        q = T.alloc_local((4,), "float32")
        T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], q, B.sub[flat, :])
        T.cuda.tile.apply(T.ptx["st.shared.v4.b32"], s.sub[row * stride : row * stride + 4], q)
        T.cuda.cta_sync()
        A[flat] = s[4 * flat + 3]

    return fills


@pytest.mark.parametrize(("stride", "rows", "flip", "verdict"), [
    (4, 64, False, "proved"),       # every byte
    (4, 64, True, "proved"),        # the same from the other end
    (4, 65, False, "proved"),       # a row is left bare, and nobody reads it
    (8, 128, False, "refuted"),     # every other row
])
def test_what_is_filled(stride: int, rows: int, flip: bool, verdict: str) -> None:
    report = prove(kernel(stride, rows, flip))
    assert report.verdict == verdict
    assert report.not_judged == ()
    if verdict == "refuted":
        assert any("no write before it touches these bytes" in o.message for o in report.obligations)
