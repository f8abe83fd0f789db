"""What the memory model asks beside barriers: atomics that know of each other, and reads that may be stale."""

from __future__ import annotations

from ptxspec.lang import ir
from ptxspec.proof.tree import Access

#: Of atomics whose opcode spells no scope.
_DEFAULT = "gpu"


def stale(access: Access) -> bool:
    """True for a read past the coherent caches: what it reads must be written by nobody while the kernel runs."""
    apply = access.statement
    if not isinstance(apply, ir.Apply) or access.kind != "read":
        return False
    return apply.use.mnemonic == "ldu" or "nc" in apply.use.slots or "proxy" in apply.use.slots


def at_odds(one: Access, two: Access, across: bool, cluster: bool | None) -> str:
    """Why two atomics on one byte are no atomics to each other; empty where they are.

    ``across``: they come from two blocks, of one cluster where ``cluster`` is true.
    """
    if one.word_bytes != two.word_bytes:
        return "atomic operations of different sizes are not atomic to each other"
    narrow = {"cta"} | (set() if cluster else {"cluster"})
    for scope in (_scope(one), _scope(two)):
        if across and scope in narrow:
            where = "other clusters" if scope == "cluster" else "other blocks"
            return f"an atomic operation of scope {scope} is not atomic to threads of {where}: use .gpu"
    return ""


def _scope(access: Access) -> str:
    apply = access.statement
    return apply.use.slots.get("scope", _DEFAULT) if isinstance(apply, ir.Apply) else _DEFAULT
