"""Evaluating the expressions of generated tables for one spelling. The tuples are described in ``ptxspec.db.terms``."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ptxspec.forms.table import Expression, VocabularyTable

_ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "mul": lambda a, b: a * b,
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "div": lambda a, b: a // b,
    "mod": lambda a, b: a % b,
    "min": min,
}


class Evaluator:
    """Expressions over ``values`` (slot -> written word or absent word), ``written`` slots, and operand lanes."""

    def __init__(
        self,
        vocabulary: VocabularyTable,
        values: Mapping[str, str],
        written: Mapping[str, str],
        lanes: Mapping[str, int],
    ) -> None:
        self.vocabulary, self.values, self.written, self.lanes = vocabulary, values, written, lanes

    def integer(self, e: Expression) -> int:
        """An integer."""
        if isinstance(e, int):
            return e
        assert isinstance(e, tuple) and isinstance(e[0], str)
        if e[0] == "attr":
            return self.attribute(str(e[1]), str(e[2]))
        return _ARITHMETIC[e[0]](self.integer(e[1]), self.integer(e[2]))

    def attribute(self, name: str, attribute: str) -> int:
        """``type.bits``, ``type.bytes``, ``vec.lanes`` or the lanes of an operand."""
        if attribute == "lanes":
            return self.lanes[name] if name in self.lanes else self.vocabulary.vectors[self.values[name]]
        bits = self.vocabulary.types[self.values[name]][0]
        return bits if attribute == "bits" else max(1, bits // 8)

    def type(self, e: Expression, lanes: int = 1) -> str:
        """A type name; ``part`` shares the slot's width among ``lanes``."""
        if isinstance(e, str):
            return e
        assert isinstance(e, tuple)
        slot = self.values[str(e[1])]
        if e[0] == "slot":
            return slot
        if e[0] == "wide":
            return f"{slot[0]}{self.vocabulary.types[slot][0] * 2}"
        return f"b{self.vocabulary.types[slot][0] // lanes}"

    def word(self, e: Expression) -> str:
        """A word."""
        if isinstance(e, str):
            return e
        assert isinstance(e, tuple)
        value = self.values.get(str(e[1]), "")
        if e[0] == "map":
            assert isinstance(e[2], tuple)
            for pair in e[2]:
                assert isinstance(pair, tuple)
                if pair[0] == value:
                    return str(pair[1])
        return value

    def argument(self, e: Expression, lanes: int) -> object:
        """Any argument of a step."""
        if not isinstance(e, tuple):
            return e
        if e[0] in ("wide", "part"):
            return self.type(e, lanes)
        if e[0] in ("slot", "map"):
            return self.word(e)
        if e[0] == "has":
            return str(e[1]) in self.written
        if e[0] == "list":
            return list(e[1:])
        return self.integer(e)
