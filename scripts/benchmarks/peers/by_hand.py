"""Tile copies and their adjoint written by hand in CUDA C++: what the memory system gives kernels that move tiles.

Not a system that we compare features with, but a bound: a linear copy never splits a 32-byte sector between two blocks,
tiles of rows that are no multiple of it do. Everything is counted in bytes, so one text serves all element types.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import cupy
import torch

_COPY = r"""
struct alignas(16) Vector { unsigned x, y, z, w; };
extern "C" __global__ void __launch_bounds__(THREADS)
tile_copy(const char* __restrict__ a, char* __restrict__ b, long long rows, long long bytes, long long pitch) {
    constexpr int LANES = WIDTH / 16, GROUPS = HEIGHT * LANES, REPEATS = (GROUPS + THREADS - 1) / THREADS;
    constexpr int SINGLES = 16 / (int)sizeof(ELEMENT);
    const long long top = (long long)blockIdx.y * HEIGHT, left = (long long)blockIdx.x * WIDTH;
    if (top + HEIGHT <= rows && left + WIDTH <= bytes) {
        #pragma unroll
        for (int k = 0; k < REPEATS; k += AHEAD) {
            Vector v[AHEAD];
            ELEMENT e[AHEAD];
            #pragma unroll
            for (int store = 0; store < 2; store++) {
                #pragma unroll
                for (int f = 0; f < AHEAD; f++) {
                    const int group = threadIdx.x + (k + f) * THREADS, row = group / LANES, lane = group % LANES;
                    if (k + f >= REPEATS || (GROUPS % THREADS && group >= GROUPS)) continue;
                    const long long start = (top + row) * pitch + left;
                    const int phase = TURNED ? (int)(-start & 15) : 0;
                    const long long whole = start + phase + 16 * lane;
                    if (!TURNED || lane < LANES - 1) {
                        if (store) *(Vector*)(b + whole) = v[f]; else v[f] = *(const Vector*)(a + whole);
                    }
                    if (TURNED && lane < SINGLES) {
                        const long long single =
                            start + (phase + WIDTH - 16 + lane * (int)sizeof(ELEMENT)) % WIDTH;
                        if (store) *(ELEMENT*)(b + single) = e[f]; else e[f] = *(const ELEMENT*)(a + single);
                    }
                }
            }
        }
        return;
    }
    constexpr int ACROSS = WIDTH / (int)sizeof(ELEMENT);
    for (int k = threadIdx.x; k < HEIGHT * ACROSS; k += THREADS) {
        const long long row = top + k / ACROSS, at = left + k % ACROSS * (int)sizeof(ELEMENT);
        if (row < rows && at < bytes) *(ELEMENT*)(b + row * pitch + at) = *(const ELEMENT*)(a + row * pitch + at);
    }
}
"""

_ADJOINT = r"""
extern "C" __global__ void __launch_bounds__(THREADS)
tile_adjoint(float* a, float* b, long long rows, long long columns) {
    constexpr int LANES = WIDTH / 4, GROUPS = HEIGHT * LANES, REPEATS = (GROUPS + THREADS - 1) / THREADS;
    const long long top = (long long)blockIdx.y * HEIGHT, left = (long long)blockIdx.x * WIDTH;
    if (top + HEIGHT <= rows && left + WIDTH <= columns) {
        #pragma unroll
        for (int k = 0; k < REPEATS; k += AHEAD) {
            float4 v[AHEAD], w[AHEAD];
            float e[AHEAD], d[AHEAD];
            #pragma unroll
            for (int store = 0; store < 2; store++) {
                #pragma unroll
                for (int f = 0; f < AHEAD; f++) {
                    const int group = threadIdx.x + (k + f) * THREADS, row = group / LANES, lane = group % LANES;
                    if (k + f >= REPEATS || (GROUPS % THREADS && group >= GROUPS)) continue;
                    const long long start = (top + row) * columns + left;
                    const int phase = TURNED ? (int)(-start & 3) : 0;
                    const long long whole = start + phase + 4 * lane;
                    if (!TURNED || lane < LANES - 1) {
                        if (store) {
                            *(float4*)(a + whole) =
                                make_float4(v[f].x + w[f].x, v[f].y + w[f].y, v[f].z + w[f].z, v[f].w + w[f].w);
                            *(float4*)(b + whole) = make_float4(0, 0, 0, 0);
                        } else {
                            v[f] = *(const float4*)(b + whole);
                            w[f] = *(const float4*)(a + whole);
                        }
                    }
                    if (TURNED && lane < 4) {
                        const long long single = start + (phase + WIDTH - 4 + lane) % WIDTH;
                        if (store) {
                            a[single] = e[f] + d[f];
                            b[single] = 0;
                        } else {
                            e[f] = b[single];
                            d[f] = a[single];
                        }
                    }
                }
            }
        }
        return;
    }
    for (int k = threadIdx.x; k < HEIGHT * WIDTH; k += THREADS) {
        const long long row = top + k / WIDTH, column = left + k % WIDTH;
        if (row < rows && column < columns) {
            a[row * columns + column] += b[row * columns + column];
            b[row * columns + column] = 0;
        }
    }
}
"""

#: Threads a block and vectors that a thread has in flight.
VARIANTS = tuple((threads, ahead) for threads in (64, 128, 256, 384, 512, 768, 1024) for ahead in (1, 2, 4)
                 if threads * ahead <= 1024)

_ELEMENTS = {1: "unsigned char", 2: "unsigned short", 4: "unsigned", 8: "unsigned long long"}


@functools.cache
def _kernel(text: str, name: str, **macros: object) -> Any:
    options = ("-std=c++17", *(f"-D{macro}={value}" for macro, value in macros.items()))
    return cupy.RawKernel(text, name, options=options, backend="nvrtc")


def _launcher(kernel: Any, grid: tuple[int, ...], threads: int, arguments: tuple[object, ...]) -> Callable[[], object]:
    kernel.compile()
    stream = cupy.cuda.ExternalStream(0)     # the legacy default stream, where the timing events are

    def launch() -> None:
        with stream:
            kernel(grid, (threads,), arguments)

    return launch


def copy(a: torch.Tensor, b: torch.Tensor, tile: tuple[int, ...], threads: int, ahead: int) -> Callable[[], object]:
    """A copy of ``a`` to ``b``, of one, two or three axes (the third being the scalars of an element), in tiles."""
    size = a.element_size()
    inner = a.shape[2] if a.dim() == 3 else 1
    rows, columns = (1, a.shape[0]) if a.dim() == 1 else (a.shape[0], a.shape[1] * inner)
    height, width = (1, tile[0]) if a.dim() == 1 else (tile[0], tile[1] * inner)
    pitch = 0 if a.dim() == 1 else size * a.stride(0)
    kernel = _kernel(_COPY, "tile_copy", HEIGHT=height, WIDTH=width * size, THREADS=threads, AHEAD=ahead,
                     TURNED=int(pitch % 16 > 0), ELEMENT=_ELEMENTS[size])
    grid = (-(-columns // width), -(-rows // height))
    return _launcher(kernel, grid, threads, (a.data_ptr(), b.data_ptr(), rows, columns * size, pitch))


def adjoint(ga: torch.Tensor, gb: torch.Tensor, tile: tuple[int, int], threads: int,
            ahead: int) -> Callable[[], object]:
    """The adjoint of a copy of float32 matrices without atomics: ``gb`` is added to ``ga``, and cleared."""
    kernel = _kernel(_ADJOINT, "tile_adjoint", HEIGHT=tile[0], WIDTH=tile[1], THREADS=threads, AHEAD=ahead,
                     TURNED=int(ga.shape[0] > 1 and ga.shape[1] % 4 > 0))
    grid = (-(-ga.shape[1] // tile[1]), -(-ga.shape[0] // tile[0]))
    return _launcher(kernel, grid, threads, (ga.data_ptr(), gb.data_ptr(), ga.shape[0], ga.shape[1]))
