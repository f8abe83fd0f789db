"""What integer registers hold once a loop is over, where its iterations can be followed or its last one tells.

Only the effects on known cells are looked at. A value that is made anew in each iteration (the loop's variable where it
is not known, what is read from memory) says nothing once the loop is over, so cells that depend on one are forgotten.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ptxspec.lang import ir
from ptxspec.lang.locate import element_bytes, locate
from ptxspec.proof.cells import Cells
from ptxspec.scalar import index as ix
from ptxspec.scalar.evaluate import substitute
from ptxspec.scalar.expr import BOOL, Const, Expr, Op, Var, variables

#: Iterations that are followed one by one; of longer loops the last one alone is.
FEW_TRIPS = 8

Known = dict[Expr, "Expr | int"]


def after_loop(loop: ir.For, before: Cells, aliases: Mapping[Expr, Expr | int]) -> Cells:
    """The cells after ``loop``; ``before`` are those ahead of it, ``aliases`` what values read outside of it equal."""
    bound = _bound((loop,))
    outer: Known = {v: e for v, e in aliases.items() if v not in bound}
    cells = before.copy()
    _loop(loop, cells, outer, bound)
    return cells


def _bound(body: Sequence[ir.Statement]) -> set[Var]:
    """The variables that statements make."""
    found: set[Var] = set()
    for statement in body:
        if isinstance(statement, ir.Load):
            found.add(statement.result)
        elif isinstance(statement, ir.For):
            found |= {statement.var} | _bound(statement.body)
        elif isinstance(statement, ir.If):
            found |= _bound((*statement.then, *statement.orelse))
    return found


def _loop(loop: ir.For, cells: Cells, known: Known, bound: set[Var]) -> None:
    parts = [substitute(e, known) for e in (loop.start, loop.stop, loop.step)]
    numbers = [int(p.value) for p in parts if isinstance(p, Const) and not isinstance(p.value, float)]
    if len(numbers) == 3 and numbers[2] > 0:
        trips = range(*numbers)
        if len(trips) > FEW_TRIPS:
            cells.forget_written(loop.body)
        for value in trips[-1:] if len(trips) > FEW_TRIPS else trips:
            _block(loop.body, cells, {**known, loop.var: value}, bound)
        return
    # It may not run at all; where it does, the last iteration tells, whatever came before.
    before = cells.copy()
    cells.forget_written(loop.body)
    _block(loop.body, cells, dict(known), bound)
    _join(Op("lt", (parts[0], parts[1]), BOOL), cells, cells.copy(), before, bound)


def _block(body: Sequence[ir.Statement], cells: Cells, known: Known, bound: set[Var]) -> None:
    for statement in body:
        if isinstance(statement, ir.Store):
            if statement.view.buffer.scope == "local":
                byte = ix.index(substitute(locate(statement.view, statement.index).byte, known))
                value = substitute(statement.value, known)
                dtype = "" if bound & set(variables(value)) else statement.view.dtype
                cells.store(statement.view.buffer, byte, element_bytes(statement.view.dtype), dtype, value)
        elif isinstance(statement, ir.Load):
            byte = ix.index(substitute(locate(statement.view, statement.index).byte, known))
            width = element_bytes(statement.view.dtype)
            found = cells.load(statement.view.buffer, byte, width, statement.result.dtype)
            known.pop(statement.result, None)
            if found is not None:
                known[statement.result] = found
        elif isinstance(statement, ir.If):
            condition = substitute(statement.condition, known)
            if isinstance(condition, Const):
                _block(statement.then if condition.value else statement.orelse, cells, known, bound)
                continue
            other = cells.copy()
            _block(statement.then, cells, dict(known), bound)
            _block(statement.orelse, other, dict(known), bound)
            _join(condition, cells, cells.copy(), other, bound)
        elif isinstance(statement, ir.For):
            _loop(statement, cells, known, bound)
        else:
            cells.forget_written((statement,))


def _join(condition: Expr, cells: Cells, yes: Cells, no: Cells, bound: set[Var]) -> None:
    """``cells`` becomes what holds after one of two ways."""
    if bound & set(variables(condition)):
        cells.known = {k: v for k, v in yes.known.items() if no.known.get(k) == v}
    else:
        cells.join(condition, yes, no)
