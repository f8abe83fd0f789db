"""The few host names that TVM's ld/st and data-movement documents use.

``from ptxspec.compat import tvm`` stands for ``import tvm`` (and ``as tvm_tirx`` for ``import tvm_tirx``);
``ptxspec.compat.tvm.script`` and ``ptxspec.compat.tvm.tirx.layout`` stand for the modules of those names.
"""

from __future__ import annotations

from ptxspec.compat.tvm import runtime, script, tirx
from ptxspec.compat.tvm.runtime import Device, cpu, cuda
from ptxspec.compat.tvm.tirx import compile

__all__ = ["Device", "compile", "cpu", "cuda", "runtime", "script", "tirx"]
