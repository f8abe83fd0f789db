"""``from ptxspec.compat.tvm.script import tirx as T``: the kernel language."""

from ptxspec import t as tirx

__all__ = ["tirx"]
