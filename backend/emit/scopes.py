"""Where a value may be computed and where it may be reused.

A value is reused only in code that its computation dominates: each scope caches what was computed in it, and a
look-up goes from the inner scope outwards. A value that does not depend on what a loop defines is computed before the
loop. Code is appended in program order, so what an outer block holds already stands before everything inside.
"""

from __future__ import annotations

from ptxspec.ptx.operand import Immediate, Register
from ptxspec.scalar.expr import Const, Expr, Op, Poly, Var

from .code import Block

Value = Register | Immediate

DIVISIONS = ("floordiv", "floormod", "truncdiv", "truncmod")


class Scope:
    """``kind`` is ``root``, ``loop`` or ``branch`` (which have ``pre``, a block before them) or ``inline`` (an unrolled
    iteration, which shares its parent's block)."""

    __slots__ = ("block", "cache", "depth", "kind", "parent", "pre")

    def __init__(self, kind: str, parent: Scope | None, block: Block, pre: Block | None = None) -> None:
        self.kind = kind
        self.parent = parent
        self.block = block
        self.pre = pre
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.cache: dict[object, Value] = {}

    def find(self, key: object) -> Value | None:
        """The value kept for ``key`` here or further out."""
        scope: Scope | None = self
        while scope is not None:
            found = scope.cache.get(key)
            if found is not None:
                return found
            scope = scope.parent
        return None

    def place(self, level: int, pinned: bool = False, eager: bool = False) -> tuple[Block, Scope]:
        """Block to compute a value in, and scope to keep it in, when it depends on definitions at ``level``.

        A ``pinned`` value stays behind the branches and loops it was written in. An ``eager`` one, which is cheap and
        cannot fail, is computed before branches too, so that several of them share it.
        """
        outermost: Scope | None = None
        scope: Scope | None = None if pinned else self
        while scope is not None and scope.depth > level:
            if scope.kind == "loop" or (eager and scope.kind == "branch"):
                outermost = scope
            scope = scope.parent
        home = self
        block = self.block
        if outermost is not None:
            assert outermost.pre is not None
            assert outermost.parent is not None
            home, block = outermost.parent, outermost.pre
        while home.kind == "inline" and home.depth > level and home.parent is not None:
            home = home.parent
        return block, home


class Levels:
    """Depth of the scope that an expression's newest variable was defined in (0: known from the start)."""

    __slots__ = ("_memo", "_pinned", "_variables")

    def __init__(self) -> None:
        self._pinned: dict[Expr, bool] = {}
        self._variables: dict[Var, int] = {}
        self._memo: dict[Expr, int] = {}

    def define(self, variable: Var, depth: int) -> None:
        """``variable`` is defined in a scope of ``depth``: the same each time, since statements nest statically."""
        if self._variables.get(variable) != depth:
            self._variables[variable] = depth
            self._memo.clear()

    def of(self, expr: Expr) -> int:
        """The level of ``expr``."""
        if isinstance(expr, Var):
            return self._variables.get(expr, 0)
        level = self._memo.get(expr)
        if level is None:
            level = max((self.of(child) for child in expr.children()), default=0)
            self._memo[expr] = level
        return level

    def pinned(self, expr: Expr) -> bool:
        """True where ``expr`` divides by a runtime value: computed ahead of its guard, the divisor could be zero."""
        known = self._pinned.get(expr)
        if known is None:
            known = any(self.pinned(child) for child in expr.children())
            if isinstance(expr, Op) and expr.name in DIVISIONS and not known:
                divisor = expr.args[1]
                known = not (isinstance(divisor, Const) or (isinstance(divisor, Poly) and divisor.is_const))
            self._pinned[expr] = known
        return known

