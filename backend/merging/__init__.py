"""Neighbouring element accesses of scalar code become vector instructions, where the prover shows that they may.

:func:`merged` turns a proved kernel into one with fewer, wider accesses: the same IR, so it can be proved, emitted and
simulated like any other. What may move is decided in :mod:`.neighbours`; which instruction there is for it in
:mod:`.widths`, which asks the database; and whether its alignment holds in :mod:`.alignment`, which asks the prover.
"""

from .plan import Merging, merged

__all__ = ["Merging", "merged"]
