"""Words that no condition of a table can tell apart share one bit here, so that verdicts can be remembered by class.

All conditions of generated tables are truth values of ``spelling & constant``. Two words of one qualifier that lie in
the same of those constants are alike: exchanging them changes no verdict. The constants are read from the compiled
conditions themselves, so a table needs no further data, and a constant too many only makes the classes finer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import CodeType
from typing import NamedTuple

from ptxspec.forms.table import Table


class Alike(NamedTuple):
    """``tokens``: word -> (bit, mask of its slot, bit of its class); ``of``: bit -> bit of its class."""

    tokens: dict[str, tuple[int, int, int]]
    of: dict[int, int]


def _numbers(code: CodeType) -> Iterator[int]:
    for constant in code.co_consts:
        if isinstance(constant, int):
            yield constant
        elif isinstance(constant, CodeType):
            yield from _numbers(constant)


def _conditions(table: Table) -> Iterator[Callable[[int], object]]:
    for form in table.forms:
        yield form.broken
        yield form.floor
        yield from (f.when for f in form.floors if f.when is not None)
        yield from (f.when for f in form.findings if f.when is not None)


_known: dict[tuple[str, str], Alike] = {}


def alike(table: Table) -> Alike:
    """The classes of a table (worked out once)."""
    found = _known.get((table.mnemonic, table.digest))
    if found is not None:
        return found
    numbers = {table.placed}
    for condition in _conditions(table):
        numbers.update(_numbers(condition.__code__))
    for form in table.forms:
        numbers.update((form.allowed, *form.required))
    constants = sorted(numbers)
    classes: dict[tuple[object, ...], int] = {}
    of: dict[int, int] = {}
    for bit, (slot, _) in table.names.items():
        of[bit] = classes.setdefault((slot, *[bool(c & bit) for c in constants]), bit)
    tokens = {word: (bit, slot, of[bit]) for word, (bit, slot) in table.tokens.items()}
    made = _known[table.mnemonic, table.digest] = Alike(tokens, of)
    return made


__all__ = ["Alike", "alike"]
