"""Elements that are more than a number: where their components lie in memory, read and written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product

from ptxspec.compat.warp.types import Element, Struct
from ptxspec.compat.warp.values import Composite, Fields
from ptxspec.lang.errors import refuse, said
from ptxspec.lang.tensor import ElementRef, TensorView
from ptxspec.lang.trace import current, where
from ptxspec.scalar.expr import Expr

Load = Callable[[ElementRef], Expr]
Write = Callable[[ElementRef, object], None]


def components(view: TensorView, kind: Element) -> Iterator[tuple[int, ElementRef]]:
    """Every component of the element at ``view``, whose axes are those inside the element."""
    for k, at in enumerate(product(*(range(n) for n in kind.trailing))):
        found = view[at]
        assert isinstance(found, ElementRef)
        yield k, found


def fields(view: TensorView, struct: Struct, start: int = 0) -> Iterator[tuple[str, Element, TensorView, int]]:
    """Every field of the structure at ``view``, one axis of its words: name, kind, those bytes in the field's own
    type, and where in there it begins. Structures inside are given as they are, with their first byte."""
    offsets = struct.record().fields
    assert offsets is not None
    for name, kind in struct.fields:
        first = start + int(offsets[name][1])
        if kind.struct is not None:
            yield name, kind, view, first
        else:
            yield name, kind, view.view(kind.scalar), first // kind.bytes


def read(view: TensorView, kind: Element, load: Load) -> Composite | Fields:
    """The element at ``view``, every component of it read now."""
    if kind.struct is not None:
        return _read_fields(view, kind.struct, 0, load)
    return Composite(kind.scalar, kind.trailing, [load(e) for _, e in components(view, kind)])


def _read_fields(view: TensorView, struct: Struct, start: int, load: Load) -> Fields:
    found: dict[str, object] = {}
    for name, kind, part, first in fields(view, struct, start):
        if kind.struct is not None:
            found[name] = _read_fields(part, kind.struct, first, load)
            continue
        values = [load(_one(part, first + k)) for k in range(kind.size)]
        found[name] = Composite(kind.scalar, kind.trailing, values) if kind.trailing else values[0]
    return Fields(struct, found)


def write(view: TensorView, kind: Element, value: object, store: Write) -> None:
    """Write ``value`` to the element at ``view`` (K245 where it is of another kind)."""
    if not kind.trailing and isinstance(value, (Expr, int, float)):
        store(ElementRef(view.ir, (), current("an element").place()), value)
    elif kind.struct is None and isinstance(value, Composite) and value.shape == kind.trailing:
        for k, element in components(view, kind):
            store(element, value.values[k])
    elif kind.struct is not None and isinstance(value, Fields) and value.struct == kind.struct:
        _write_fields(view, value, 0, store)
    else:
        what = repr(kind.struct) if kind.struct else f"{'x'.join(map(str, kind.trailing))} {kind.scalar}"
        refuse("K245", f"an element of {what} is written, but {said_value(value)} is given", where(),
               help="give a value of that kind, such as another element or wp.vec3(x, y, z)")


def _write_fields(view: TensorView, value: Fields, start: int, store: Write) -> None:
    for name, _, part, first in fields(view, value.struct, start):
        given = value.fields[name]
        if isinstance(given, Fields):
            _write_fields(part, given, first, store)
            continue
        for k, number in enumerate(given.values if isinstance(given, Composite) else (given,)):
            store(_one(part, first + k), number)


def said_value(value: object) -> str:
    """What ``value`` is, for a message."""
    return repr(value) if isinstance(value, (Composite, Fields)) else said(value)


def _one(view: TensorView, k: int) -> ElementRef:
    found = view[k]
    assert isinstance(found, ElementRef)
    return found
