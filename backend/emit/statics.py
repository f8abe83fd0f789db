"""Offsets split into what emission knows and what threads compute.

Repeats and unrolled loops change only constants of an offset. :class:`Split` separates, once for each access, the
terms over variables that emission knows (repeat coordinates, unrolled loop variables) from the rest; each repeat then
costs a few integer operations instead of a substitution. Known variables go by their ``uid``: hashing a plain integer
is several times faster than hashing a node, and this is the innermost loop of emission.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from functools import lru_cache

from ptxspec.scalar import index as ix
from ptxspec.scalar.evaluate import evaluate, substitute
from ptxspec.scalar.expr import Expr, Monomial, Poly, Var, variables

#: Values of the variables that emission enumerates, by ``uid``.
Env = Mapping[int, int]


@lru_cache(maxsize=1 << 14)
def free(expr: Expr) -> frozenset[Var]:
    """Variables of ``expr``."""
    return frozenset((expr,)) if isinstance(expr, Var) else frozenset(variables(expr))


@lru_cache(maxsize=1 << 14)
def free_uids(expr: Expr) -> frozenset[int]:
    """``uid`` of each variable of ``expr``."""
    return frozenset(v.uid for v in free(expr))


class _Product:
    """A product of known atoms with its coefficient; remembers its value for each combination of inputs."""

    __slots__ = ("coefficient", "memo", "monomial", "uids", "variables")

    def __init__(self, monomial: Monomial, coefficient: int) -> None:
        self.monomial = monomial
        self.coefficient = coefficient
        self.variables = tuple(frozenset().union(*(free(a) for a in monomial)))
        self.uids = tuple(v.uid for v in self.variables)
        self.memo: dict[tuple[int, ...], int] = {}

    def at(self, env: Env) -> int:
        key = tuple([env[u] for u in self.uids])
        found = self.memo.get(key)
        if found is None:
            values: dict[Expr, int] = dict(zip(self.variables, key))
            found = self.coefficient
            for part in self.monomial:
                found *= evaluate(part, values)
            self.memo[key] = found
        return found


def _opened(poly: Poly) -> Poly:
    """``poly`` with the sums inside its products multiplied out."""
    total = ix.constant(poly.const)
    for monomial, coefficient in poly.terms:
        product = ix.constant(coefficient)
        for part in monomial:
            product = ix.mul(product, part)
        total = ix.add(total, product)
    return Poly(0, total.terms)


class Split:
    """``poly`` with the variables in ``known`` separated out; :meth:`at` gives (runtime part, constant)."""

    __slots__ = ("const", "general", "linear", "memo", "mixed", "poly", "products", "runtime")

    def __init__(self, poly: Poly, known: Set[Var]) -> None:
        self.poly = poly
        self.const = poly.const
        self.linear: list[tuple[int, int]] = []
        self.products: list[_Product] = []
        self.mixed: list[tuple[Monomial, _Product]] = []
        self.general: tuple[Var, ...] | None = None
        self.memo: dict[tuple[int, ...], tuple[Poly, int]] = {}
        fixed: list[tuple[Monomial, int]] = []
        for monomial, coefficient in poly.terms:
            static = tuple(a for a in monomial if free(a) <= known)
            other = tuple(a for a in monomial if not free(a) <= known)
            if any(free(a) & known for a in other):
                self.general = tuple(free(poly) & known)
            elif not other:
                if len(static) == 1 and isinstance(static[0], Var):
                    self.linear.append((static[0].uid, coefficient))
                else:
                    self.products.append(_Product(static, coefficient))
            elif static:
                self.mixed.append((other, _Product(static, coefficient)))
            else:
                fixed.append((monomial, coefficient))
        self.runtime = Poly(0, tuple(fixed))
        if self.general is not None:   # in the words that :meth:`at` will use
            self.runtime = _opened(self.runtime)

    def at(self, env: Env) -> tuple[Poly, int]:
        """The runtime part (no constant term) and the constant for the known values in ``env``."""
        if self.general is not None:
            key = tuple([env[v.uid] for v in self.general])
            found = self.memo.get(key)
            if found is None:
                values: dict[Expr, Expr | int] = dict(zip(self.general, key))
                whole = ix.index(substitute(self.poly, values))   # simplifies the whole offset again
                found = self.memo[key] = Poly(0, whole.terms), whole.const
            return found
        const = self.const
        for uid, coefficient in self.linear:
            const += coefficient * env[uid]
        for product in self.products:
            const += product.at(env)
        if not self.mixed:
            return self.runtime, const
        parts: list[ix.Like] = [self.runtime]
        for monomial, product in self.mixed:
            parts.append(Poly(0, ((monomial, product.at(env)),)))
        merged = ix.add(*parts)
        return Poly(0, merged.terms), const
