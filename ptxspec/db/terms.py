"""Expressions of the specs as the nested tuples that generated tables hold (read by ``ptxspec.forms.evaluate``).

``("attr", "type", "bytes")``, ``("mul", a, b)``, ``("slot", name)``, ``("wide", slot)``, ``("part", slot)``,
``("map", slot, ((word, result), ...))``, ``("has", slot)``; plain integers and strings stand for themselves.
"""

from __future__ import annotations

from collections.abc import Mapping

from ptxspec.forms.table import Expression
from ptxspec.spec.expression import Arithmetic, FlagExpr, IntExpr, TypeExpr, TypeOf, WordExpr, WordOf
from ptxspec.spec.obligation import Obligation
from ptxspec.spec.semantics import StepModel

OPERATORS = ("mul", "add", "sub", "div", "mod", "min")


def integer(expression: IntExpr, lets: Mapping[str, IntExpr]) -> Expression:
    """An integer expression with ``let`` names written out."""
    if isinstance(expression, int):
        return expression
    if isinstance(expression, str):
        return integer(lets[expression], {k: v for k, v in lets.items() if k != expression})
    if expression.attr is not None:
        name, attribute = expression.attr.split(".")
        return ("attr", name, attribute)
    for operator in OPERATORS:
        pair: tuple[IntExpr, IntExpr] | None = getattr(expression, operator)
        if pair is not None:
            return (operator, integer(pair[0], lets), integer(pair[1], lets))
    raise AssertionError(expression)


def lanes(expression: IntExpr | tuple[int, ...], lets: Mapping[str, IntExpr]) -> Expression:
    """Lanes: an expression, or the choice of counts as ``("one-of", 2, 4)``."""
    return ("one-of", *expression) if isinstance(expression, tuple) else integer(expression, lets)


def type_term(expression: TypeExpr | None) -> Expression:
    """A type expression; ``""`` for operands without a type."""
    if expression is None:
        return ""
    if isinstance(expression, str):
        return expression
    for kind in ("slot", "wide", "part"):
        name: str | None = getattr(expression, kind)
        if name is not None:
            return (kind, name)
    raise AssertionError(expression)


def word_term(expression: WordExpr) -> Expression:
    """A word expression."""
    if isinstance(expression, str):
        return expression
    if expression.map is None:
        return ("slot", expression.slot)
    return ("map", expression.slot, tuple(expression.map.items()))


def flag_term(expression: FlagExpr) -> Expression:
    """A flag."""
    return expression if isinstance(expression, bool) else ("has", expression.has)


def step_fields(step: StepModel, lets: Mapping[str, IntExpr]) -> tuple[tuple[str, Expression], ...]:
    """The arguments of a step, leaving out those that were not written."""
    out: list[tuple[str, Expression]] = []
    for name, field in type(step).model_fields.items():
        if name in ("do", "when") or name not in step.model_fields_set:
            continue
        value = getattr(step, name)
        out.append((field.alias or name, _term(name, value, lets)))
    return tuple(out)


def _term(name: str, value: object, lets: Mapping[str, IntExpr]) -> Expression:
    if name in ("bytes", "count") and (isinstance(value, Arithmetic) or value in lets):
        assert isinstance(value, int | str | Arithmetic)
        return integer(value, lets)
    if isinstance(value, WordOf):
        return word_term(value)
    if isinstance(value, TypeOf):
        return type_term(value)
    if isinstance(value, tuple):
        return ("list", *value)
    if isinstance(value, int | str):
        return value
    has = getattr(value, "has", None)
    assert isinstance(has, str), value
    return ("has", has)


def obligation_fields(obligation: Obligation, lets: Mapping[str, IntExpr]) -> tuple[Expression, Expression, Expression]:
    """``bytes``, ``to`` and ``space``."""
    return integer(obligation.bytes, lets), integer(obligation.to, lets), word_term(obligation.space)
