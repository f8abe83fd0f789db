"""Kernel IR to PTX text, every instruction of it through the generated selector."""

from .header import Parameter, targets
from .module import Module, emit

__all__ = ["Module", "Parameter", "emit", "targets"]
