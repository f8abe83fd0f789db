"""What an operand rule has to say, and what it needs to know of the surroundings."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Problem:
    """One complaint: ``operand`` is the index of the operand to blame (-1: the instruction, -2: the guard).

    ``error`` is True where the assembler refuses the line, False where it takes what the manual does not allow.
    """

    code: str
    message: str
    operand: int = -1
    error: bool = True


@dataclass(frozen=True, slots=True)
class Context:
    """Where an instruction stands: the kind of its function (``entry`` or ``func``), the size of addresses in bits,
    the PTX version and the SM number it is judged for, and the toolkit whose assembler is predicted."""

    function: str
    address_bits: int
    ptx: tuple[int, int]
    sm: int
    toolkit: tuple[int, int]


    @property
    def refuses_narrow(self) -> bool:
        """Is a 32-bit generic or global address in a module of 64-bit addresses refused? The assembler says so of the
        module, not of the line; CUDA 12.0 still compiles it for targets before sm_90."""
        return self.toolkit > (12, 0) or self.sm >= 90


@dataclass(frozen=True, slots=True)
class Shape:
    """The words of a memory or ``mov`` opcode that its operand rules need: type, lanes, state space, cache hint."""

    type: str
    lanes: int
    space: str
    hint: bool
    words: frozenset[str] = field(default=frozenset())

    @property
    def kind(self) -> str:
        """First letter of the type: ``b``, ``u``, ``s``, ``f`` or ``p``."""
        return self.type[0]


_SPACES = frozenset({
    "const", "global", "local", "param", "param::entry", "param::func", "shared", "shared::cta", "shared::cluster",
})


def shape_of(modifiers: tuple[str, ...], types: frozenset[str]) -> Shape | None:
    """The shape of an opcode from its words in any order; None when it has not exactly one type."""
    found = [w for w in modifiers if w in types]
    if len(found) != 1:
        return None
    words = frozenset(modifiers)
    lanes = next((int(w[1:]) for w in modifiers if w in ("v2", "v4", "v8")), 1)
    space = next((w for w in modifiers if w in _SPACES), "")
    return Shape(found[0], lanes, space, "L2::cache_hint" in words, words)
