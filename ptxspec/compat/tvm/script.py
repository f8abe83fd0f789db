"""``from ptxspec.compat.tvm.script import tirx as T``: the kernel language."""

from ptxspec.lang import t as tirx

__all__ = ["tirx"]
