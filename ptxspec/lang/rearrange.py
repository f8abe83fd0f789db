"""Axis rearrangement by names: split, permute, merge."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ptxspec.diagnostics import Span
from ptxspec.lang import ir
from ptxspec.lang.errors import refuse, said
from ptxspec.lang.select import index_expr
from ptxspec.lang.shapes import count, quotient
from ptxspec.layout import show_shape
from ptxspec.scalar import index as ix
from ptxspec.scalar.expr import Poly, show

_TOKEN = re.compile(r"\s*([A-Za-z_]\w*|[()1])")
Groups = list[list[str]]


def rearranged(view: ir.View, pattern: object, sizes: Mapping[str, object], span: Span) -> ir.View:
    """``view`` under ``pattern``; every name stands once on each side, parentheses group factors of one axis (K148)."""
    if not isinstance(pattern, str) or pattern.count("->") != 1:
        refuse("K148", f"a pattern has the form \"i (b d) -> b (i d)\", not {said(pattern)}", span)
    left, right = (_parse(side, pattern, span) for side in pattern.split("->"))
    names = [n for group in left for n in group]
    wanted = [n for group in right for n in group]
    for side, found in (("left", names), ("right", wanted)):
        twice = {n for n in found if found.count(n) > 1}
        if twice:
            refuse("K148", f"`{sorted(twice)[0]}` stands twice on the {side} side of {pattern!r}", span)
    for name in set(names) ^ set(wanted):
        side = "left" if name in names else "right"
        refuse("K148", f"`{name}` stands on the {side} side of {pattern!r} only", span,
               help="an axis can be neither dropped nor invented; use .sub or .view")
    for name in sizes:
        if name not in names:
            refuse("K148", f"{name}= is given, but `{name}` does not occur in {pattern!r}", span)
    if len(left) != len(view.shape):
        refuse("K148", f"{pattern!r} names {len(left)} axes, but `{view.buffer.name}` has shape "
                       f"{show_shape(view.shape)}",
               span)
    extents: dict[str, Poly] = {}
    for axis, group in enumerate(left):
        _solve(group, view.shape[axis], axis, sizes, extents, pattern, span)
    split = tuple(extents[n] for n in names)
    steps: list[ir.Step] = []
    if split != view.shape:
        steps.append(ir.Reshape(split, span))
    order = tuple(names.index(n) for n in wanted)
    if order != tuple(range(len(order))):
        steps.append(ir.Permute(order, span))
    merged = tuple(count([extents[n] for n in group]) for group in right)
    if merged != tuple(extents[n] for n in wanted):
        steps.append(ir.Reshape(merged, span))
    if not steps:
        return view
    return ir.View(view.buffer, (*view.steps, *steps), merged, view.dtype, span)


def _parse(text: str, pattern: str, span: Span) -> Groups:
    groups: Groups = []
    open_group: list[str] | None = None
    position = 0
    text = text.rstrip()
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            refuse("K148", f"{pattern!r} cannot be read from {text[position:].strip()!r} on", span,
                   help="a pattern holds names, 1 and parentheses")
        token, position = match.group(1), match.end()
        if token == "(":
            if open_group is not None:
                refuse("K148", f"parentheses are nested in {pattern!r}", span)
            open_group = []
        elif token == ")":
            if open_group is None:
                refuse("K148", f"`)` without `(` in {pattern!r}", span)
            groups.append(open_group)
            open_group = None
        elif open_group is not None:
            open_group += [] if token == "1" else [token]
        else:
            groups.append([] if token == "1" else [token])
    if open_group is not None:
        refuse("K148", f"`(` is not closed in {pattern!r}", span)
    return groups


def _solve(group: list[str], extent: Poly, axis: int, sizes: Mapping[str, object], extents: dict[str, Poly],
           pattern: str, span: Span) -> None:
    known = ix.ONE
    unknown: list[str] = []
    for name in group:
        if name in sizes:
            size = ix.index(index_expr(sizes[name], span))
            extents[name] = size
            known = ix.mul(known, size)
        else:
            unknown.append(name)
    if len(unknown) > 1:
        refuse("K148", f"the extents of {' and '.join(f'`{n}`' for n in unknown)} in axis {axis} are not known", span,
               help=f"give all but one: rearrange({pattern!r}, {unknown[-1]}=...)")
    rest = quotient(extent, known) if known != ix.ZERO else None
    if rest is None or (not unknown and rest != ix.ONE):
        refuse("K148", f"axis {axis} has extent {show(extent)}, which the factors in {pattern!r} do not make up: "
                       f"the known "
                       f"ones multiply to {show(known)}", span)
    if unknown:
        extents[unknown[0]] = rest
