"""ptxspec: PTX instruction forms as data, and what follows from them.

The public names are loaded on first use, so ``import ptxspec`` costs nothing of z3, numpy, pydantic, YAML or the
backend.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from ptxspec._version import __version__

if TYPE_CHECKING:
    from ptxspec import layout
    from ptxspec import t as T
    from ptxspec.backend.executable import Executable, compile
    from ptxspec.diagnostics import (
        AssembleError,
        Diagnostic,
        EmitError,
        FormError,
        KernelError,
        LaunchError,
        PtxspecError,
        Span,
        UsageError,
    )
    from ptxspec.proof import ProofError, ProofReport, prove
    from ptxspec.ptx.lint import lint
    from ptxspec.query import Database, database

# public name -> (module, attribute); an empty attribute is the module itself
_LAZY: dict[str, tuple[str, str]] = {
    "AssembleError": ("ptxspec.diagnostics", "AssembleError"),
    "Database": ("ptxspec.query", "Database"),
    "Diagnostic": ("ptxspec.diagnostics", "Diagnostic"),
    "EmitError": ("ptxspec.diagnostics", "EmitError"),
    "Executable": ("ptxspec.backend.executable", "Executable"),
    "FormError": ("ptxspec.diagnostics", "FormError"),
    "KernelError": ("ptxspec.diagnostics", "KernelError"),
    "LaunchError": ("ptxspec.diagnostics", "LaunchError"),
    "ProofError": ("ptxspec.proof", "ProofError"),
    "ProofReport": ("ptxspec.proof", "ProofReport"),
    "PtxspecError": ("ptxspec.diagnostics", "PtxspecError"),
    "Span": ("ptxspec.diagnostics", "Span"),
    "T": ("ptxspec.t", ""),
    "UsageError": ("ptxspec.diagnostics", "UsageError"),
    "compile": ("ptxspec.backend.executable", "compile"),
    "database": ("ptxspec.query", "database"),
    "layout": ("ptxspec.layout", ""),
    "lint": ("ptxspec.ptx.lint", "lint"),
    "prove": ("ptxspec.proof", "prove"),
}

__all__ = [
    "AssembleError", "Database", "Diagnostic", "EmitError", "Executable", "FormError", "KernelError", "LaunchError",
    "ProofError", "ProofReport", "PtxspecError", "Span", "T", "UsageError", "__version__", "compile", "database",
    "layout", "lint", "prove",
]


def __getattr__(name: str) -> object:
    """Load a public name on first use and keep it."""
    try:
        module, attribute = _LAZY[name]
    except KeyError:
        raise AttributeError(f"module 'ptxspec' has no attribute {name!r}") from None
    loaded = import_module(module)
    value: object = getattr(loaded, attribute) if attribute else loaded
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})
