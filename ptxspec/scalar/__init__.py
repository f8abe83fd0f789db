"""Scalar expressions: typed kernel arithmetic and exact index arithmetic."""

from ptxspec.scalar.expr import BITS, BOOL, INDEX, Const, Expr, Op, Poly, Var, show, variables, walk

__all__ = ["BITS", "BOOL", "INDEX", "Const", "Expr", "Op", "Poly", "Var", "show", "variables", "walk"]
