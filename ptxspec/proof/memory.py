"""Values of memory in a counterexample: one place that the kernel never writes has one value."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ptxspec.lang import ir
from ptxspec.lang.locate import locate
from ptxspec.proof import formula
from ptxspec.proof.facts import Fact
from ptxspec.proof.twin import Source, Twin
from ptxspec.scalar import index as ix
from ptxspec.scalar.evaluate import Unknown, evaluate
from ptxspec.scalar.expr import Expr, Var, is_integer

#: How often a question is asked again with one more such fact.
AGAIN = 4


def two_values(loads: Mapping[Var, Source], model: Mapping[Expr, int], twin: Twin | None) -> Fact | None:
    """What ``model`` breaks: two reads of one place, by one thread or by two, that find different values there.

    The fact holds in every run: where a read does not happen, its value is that of the place all the same.
    """
    seen: dict[tuple[ir.Buffer, str, int], tuple[Expr, Expr]] = {}
    names: list[Callable[[Expr], Expr]] = [lambda e: e]
    if twin is not None:
        names.append(twin.rename)
    for rename in names:
        for var, source in loads.items():
            name = rename(var)
            if not source.constant or not is_integer(var.dtype) or name not in model:
                continue
            address = rename(locate(source.load.view, source.load.index).byte)
            try:
                place = evaluate(address, model, machine=True)
            except Unknown:
                continue
            buffer = source.load.view.buffer
            other, where = seen.setdefault((buffer, var.dtype, place), (name, address))
            if model[other] != model[name]:
                apart = formula.negate(formula.eq(ix.index(address), ix.index(where)))
                claim = formula.disj((apart, formula.eq(ix.index(name), ix.index(other))))
                return Fact(f"one place in {buffer.name}", "", claim, source.load.span, "value")
    return None
