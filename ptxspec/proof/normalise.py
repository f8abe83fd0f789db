"""The normaliser: decides the everyday goals by intervals, residues and linear facts, without Z3.

It only ever says "proved" or nothing. Each rule it uses is itself proved with Z3 in ``tests/proof``.
"""

from __future__ import annotations

from ptxspec.proof import formula
from ptxspec.proof.congruence import residue
from ptxspec.proof.facts import Context
from ptxspec.scalar import index as ix
from ptxspec.scalar.expr import BOOL, INDEX, Const, Expr, Op, Poly

_COMPARE = ("lt", "le", "gt", "ge", "eq", "ne")


def proved(claim: Expr, context: Context) -> bool:
    """True when ``claim`` surely holds wherever the facts of ``context`` do."""
    if isinstance(claim, Const):
        return bool(claim.value)
    if any(claim == part for fact in context for part in formula.conjuncts(fact.condition)):
        return True
    if not isinstance(claim, Op):
        return False
    if claim.name == "land":
        return proved(claim.args[0], context) and proved(claim.args[1], context)
    if claim.name == "lor":
        return proved(claim.args[0], context) or proved(claim.args[1], context)
    if claim.name == "lnot":
        parts = formula.conjuncts(claim)
        return parts != (claim,) and all(proved(p, context) for p in parts)
    if claim.name in _COMPARE and all(a.dtype != BOOL for a in claim.args):
        left, right = context.exact(claim.args[0]), context.exact(claim.args[1])
        return left is not None and right is not None and _compare(claim.name, left, right, context)
    return False


def _compare(name: str, left: Poly, right: Poly, context: Context) -> bool:
    difference = ix.sub(right, left)
    if name == "le":
        return context.at_least_zero(difference)
    if name == "lt":
        return context.at_least_zero(ix.add(difference, -1))
    if name == "ge":
        return context.at_least_zero(ix.neg(difference))
    if name == "gt":
        return context.at_least_zero(ix.add(ix.neg(difference), -1))
    if name == "eq":
        if difference.is_const:
            return difference.const == 0
        if multiple(left, right, context) or multiple(right, left, context):
            return True
        found = residue(difference, context.congruent)
        if found.modulus == 0:  # the facts leave one value
            return found.rest == 0
        return context.at_least_zero(difference) and context.at_least_zero(ix.neg(difference))
    if difference.is_const:
        return difference.const != 0
    left_over = residue(difference, context.congruent)
    if left_over.modulus != 1 and left_over.rest % left_over.modulus if left_over.modulus else left_over.rest:
        return True
    return context.at_least_zero(ix.add(difference, -1)) or context.at_least_zero(ix.add(ix.neg(difference), -1))


def multiple(left: Poly, right: Poly, context: Context) -> bool:
    """True when the claim is ``x % m == r`` and residues show it."""
    node = ix.single(left)
    if not right.is_const or not isinstance(node, Op) or node.name != "floormod" or node.dtype != INDEX:
        return False
    inner, modulus = node.args
    if not isinstance(modulus, Poly) or not modulus.is_const or modulus.const <= 0:
        return False
    found = residue(inner, context.congruent)
    return found.modulus % modulus.const == 0 and found.rest % modulus.const == right.const
