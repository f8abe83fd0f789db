"""Operands of PTX instructions, as the linter reads them, the selector prints them and the simulator runs them.

PTX manual, section "Instruction Operands". ``str(operand)`` is the PTX spelling.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Register:
    """A declared register: ``name`` with its ``%``, ``cls`` the declared type without dot (``b32``, ``pred``).

    ``lanes`` is 1, or 2 or 4 for a register declared as a vector (``.reg .v4 .b32 v``).
    """

    name: str
    cls: str
    lanes: int = 1

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Immediate:
    """A literal. ``text`` is the spelling; ``kind`` is ``int``, ``float`` or ``name`` (``WARP_SZ``)."""

    text: str
    kind: str = "int"

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Special:
    """A special register such as ``%tid.x``."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Symbol:
    """A variable, parameter or function name with a constant byte ``offset`` (``name+4``).

    ``space`` is the declared state space, ``""`` when unknown or when the name is a function. ``kind`` says what was
    declared: ``variable``, ``parameter`` (input of the enclosing function), ``result`` (its return parameter),
    ``argument`` (a ``.param`` variable of a call), ``function``, ``entry``, or ``""`` when unknown. ``type`` is the
    declared type without dot. ``form`` keeps the spelling: ``plus`` for ``name+4``, ``element`` for ``name[i]``,
    ``generic`` for ``generic(name)``. ``register`` as ``kind`` is the odd ``register+4`` outside an address.
    ``unified`` tells that the variable was declared with ``.attribute(.unified(...))``, ``array`` that it was declared
    with extents.
    """

    name: str
    space: str = ""
    offset: int = 0
    kind: str = ""
    type: str = ""
    form: str = ""
    unified: bool = False
    array: bool = False

    def __str__(self) -> str:
        if self.form == "generic":
            return f"generic({self.name})" + (f"{self.offset:+d}" if self.offset else "")
        if self.form == "element":
            return f"{self.name}[{self.offset}]"
        return self.name if self.offset == 0 else f"{self.name}{self.offset:+d}"


@dataclass(frozen=True, slots=True)
class Sink:
    """The discarding operand ``_``."""

    def __str__(self) -> str:
        return "_"


@dataclass(frozen=True, slots=True)
class Label:
    """A branch target, or any name that nothing in scope declares."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class NotPredicate:
    """``!p`` as a source operand."""

    register: Register

    def __str__(self) -> str:
        return f"!{self.register}"


@dataclass(frozen=True, slots=True)
class Component:
    """One component of a register: ``v.x`` of a vector, ``r.h0`` or ``r.b3`` in video instructions."""

    register: Register
    selector: str

    def __str__(self) -> str:
        return f"{self.register}.{self.selector}"


@dataclass(frozen=True, slots=True)
class Negated:
    """``-r``: a negated register, which only a few instructions take."""

    operand: Register | Component | Special

    def __str__(self) -> str:
        return f"-{self.operand}"


@dataclass(frozen=True, slots=True)
class Vector:
    """A brace group ``{a, b, ...}``."""

    elements: tuple[Register | Immediate | Sink | Symbol | Special | Label | NotPredicate | Component | Negated, ...]

    def __str__(self) -> str:
        return "{" + ", ".join(str(e) for e in self.elements) + "}"


@dataclass(frozen=True, slots=True)
class Address:
    """``[base]`` or ``[base+offset]``: ``base`` a register, a symbol or a literal; ``offset`` in bytes."""

    base: Register | Symbol | Immediate | Label | Special
    offset: int = 0
    unified: bool = False

    def __str__(self) -> str:
        inner = str(self.base) if self.offset == 0 else f"{self.base}+{self.offset}"
        return f"[{inner}]" + (".unified" if self.unified else "")


@dataclass(frozen=True, slots=True)
class Pair:
    """Two destinations ``p|q``."""

    first: Register | Sink | Label | Vector
    second: Register | Sink | Label

    def __str__(self) -> str:
        return f"{self.first}|{self.second}"


@dataclass(frozen=True, slots=True)
class Group:
    """A parenthesised list of a call, or a bracketed list such as ``[texture, {x, y}]`` (``bracket`` is ``[``)."""

    elements: tuple[Operand, ...]
    bracket: str = "("

    def __str__(self) -> str:
        inner = ", ".join(str(e) for e in self.elements)
        return f"[{inner}]" if self.bracket == "[" else f"({inner})"


@dataclass(frozen=True, slots=True)
class Guard:
    """``@p`` or ``@!p`` before an instruction."""

    register: Register
    negated: bool = False

    def __str__(self) -> str:
        return f"@{'!' if self.negated else ''}{self.register}"


Operand = (
    Register | Immediate | Special | Symbol | Sink | Vector | Address | Label | NotPredicate | Component | Negated
    | Pair | Group
)
