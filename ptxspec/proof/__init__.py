"""Proof obligations of kernels: stated once for all threads, decided with exact integers, explained with examples.

``prove(kernel, sm="sm_90")`` is the entry. Importing this package loads neither Z3 nor anything heavy: Z3 comes in only
when a goal needs it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ptxspec.proof.discharge import prove
    from ptxspec.proof.report import Counterexample, Obligation, Premises, ProofError, ProofReport

__all__ = ["Counterexample", "Obligation", "Premises", "ProofError", "ProofReport", "prove"]


def __getattr__(name: str) -> object:
    if name == "prove":
        return import_module("ptxspec.proof.discharge").prove
    if name in __all__:
        return getattr(import_module("ptxspec.proof.report"), name)
    raise AttributeError(f"module 'ptxspec.proof' has no attribute {name!r}")
