"""The kernel language's namespace: ``from ptxspec import T``.

Kernels are functions under :func:`function`; ptxspec reads their source and never runs them.
"""

from __future__ import annotations

from ptxspec.lang import cuda
from ptxspec.lang.cuda import LaunchConfig
from ptxspec.lang.declare import Tensor, alloc_local, alloc_shared, alloc_tensor
from ptxspec.lang.function import KernelFunction, function
from ptxspec.lang.loops import grid, serial, unroll
from ptxspec.lang.scalars import (
    Select,
    abs,
    assume,
    bitwise_and,
    bitwise_or,
    bitwise_xor,
    ceildiv,
    device_entry,
    dim,
    floordiv,
    floormod,
    if_then_else,
    max,
    min,
    shift_left,
    shift_right,
)
from ptxspec.lang.tile import Opcode, Ptx
from ptxspec.lang.types import TYPES
from ptxspec.layout import ComposeLayout, R, S, TileLayout

ptx = Ptx()

int8, uint8 = TYPES["int8"], TYPES["uint8"]
int16, uint16 = TYPES["int16"], TYPES["uint16"]
int32, uint32 = TYPES["int32"], TYPES["uint32"]
int64, uint64 = TYPES["int64"], TYPES["uint64"]
float16, bfloat16 = TYPES["float16"], TYPES["bfloat16"]
float32, float64 = TYPES["float32"], TYPES["float64"]
float8_e4m3, float8_e5m2 = TYPES["float8_e4m3"], TYPES["float8_e5m2"]
bits8, bits16, bits32 = TYPES["bits8"], TYPES["bits16"], TYPES["bits32"]
bits64, bits128 = TYPES["bits64"], TYPES["bits128"]
bool = TYPES["bool"]

__all__ = [
    "ComposeLayout", "KernelFunction", "LaunchConfig", "Opcode", "R", "S", "Select", "Tensor", "TileLayout", "abs",
    "alloc_local", "alloc_shared", "alloc_tensor", "assume", "bfloat16", "bits8", "bits16", "bits32", "bits64",
    "bits128", "bitwise_and", "bitwise_or", "bitwise_xor", "bool", "ceildiv", "cuda", "device_entry", "dim",
    "float8_e4m3",
    "float8_e5m2", "float16", "float32", "float64", "floordiv", "floormod", "function", "grid", "if_then_else", "int8",
    "int16", "int32", "int64", "max", "min", "ptx", "serial", "shift_left", "shift_right", "uint8", "uint16", "uint32",
    "uint64", "unroll",
]
