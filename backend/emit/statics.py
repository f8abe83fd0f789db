"""Offsets split into what emission knows and what threads compute.

Repeats and unrolled loops change only constants of an offset. :class:`Split` separates, once for each access, the
terms over variables that emission knows (repeat coordinates, unrolled loop variables) from the rest; each repeat then
costs a few integer operations instead of a substitution.
"""

from __future__ import annotations

from collections.abc import Set
from functools import lru_cache

from ptxspec.scalar import index as ix
from ptxspec.scalar.evaluate import evaluate, substitute
from ptxspec.scalar.expr import Expr, Monomial, Poly, Var, variables

from .scopes import Env


@lru_cache(maxsize=1 << 14)
def free(expr: Expr) -> frozenset[Var]:
    """Variables of ``expr``."""
    return frozenset((expr,)) if isinstance(expr, Var) else frozenset(variables(expr))


class Split:
    """``poly`` with the variables in ``known`` separated out; :meth:`at` gives (runtime part, constant)."""

    __slots__ = ("const", "general", "linear", "mixed", "poly", "products", "runtime")

    def __init__(self, poly: Poly, known: Set[Var]) -> None:
        self.poly = poly
        self.const = poly.const
        self.linear: list[tuple[Var, int]] = []
        self.products: list[tuple[Monomial, int]] = []
        self.mixed: list[tuple[Monomial, int, Monomial]] = []
        self.general = False
        fixed: list[tuple[Monomial, int]] = []
        for monomial, coefficient in poly.terms:
            static = tuple(a for a in monomial if free(a) <= known)
            other = tuple(a for a in monomial if not free(a) <= known)
            if any(free(a) & known for a in other):
                self.general = True
            elif not other:
                if len(static) == 1 and isinstance(static[0], Var):
                    self.linear.append((static[0], coefficient))
                else:
                    self.products.append((static, coefficient))
            elif static:
                self.mixed.append((other, coefficient, static))
            else:
                fixed.append((monomial, coefficient))
        self.runtime = Poly(0, tuple(fixed))

    def at(self, env: Env) -> tuple[Poly, int]:
        """The runtime part (no constant term) and the constant for the known values in ``env``."""
        if self.general:
            whole = ix.index(substitute(self.poly, env))   # simplifies the whole offset again
            return Poly(0, whole.terms), whole.const
        const = self.const
        for variable, coefficient in self.linear:
            const += coefficient * env[variable]
        for monomial, coefficient in self.products:
            const += coefficient * _product(monomial, env)
        if not self.mixed:
            return self.runtime, const
        parts: list[ix.Like] = [self.runtime]
        for monomial, coefficient, static in self.mixed:
            parts.append(Poly(0, ((monomial, coefficient * _product(static, env)),)))
        merged = ix.add(*parts)
        return Poly(0, merged.terms), const


def _product(monomial: Monomial, env: Env) -> int:
    result = 1
    for part in monomial:
        result *= evaluate(part, env)
    return result
