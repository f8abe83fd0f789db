"""What a PTX module contains, as frozen values: directives, variables, functions and their statements.

PTX manual, sections "Directives" and "Syntax". The parser in :mod:`ptxspec.ptx.parser` builds these values; the
linter and the simulator read them. Names of types and state spaces are written without the leading dot.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ptxspec.ptx.operand import Guard, Operand

TYPE_BITS: dict[str, int] = {
    "pred": 1, "b8": 8, "u8": 8, "s8": 8, "b16": 16, "u16": 16, "s16": 16, "f16": 16, "bf16": 16,
    "b32": 32, "u32": 32, "s32": 32, "f32": 32, "f16x2": 32, "bf16x2": 32, "tf32": 32, "b64": 64, "u64": 64, "s64": 64,
    "f64": 64, "b128": 128, "e4m3": 8, "e5m2": 8, "e4m3x2": 16, "e5m2x2": 16, "u16x2": 32, "s16x2": 32, "f32x2": 64,
    "b1024": 1024, "texref": 64, "samplerref": 64, "surfref": 64,
}


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction. ``opcode`` is the spelling without blanks (``ld.global.v4.b32``), ``modifiers`` its parts after
    the mnemonic, ``text`` the source from guard to semicolon. ``line`` and ``column`` (1-based) are of the opcode's
    first character; ``end_line`` is the line of the semicolon."""

    line: int
    column: int
    guard: Guard | None
    mnemonic: str
    opcode: str
    modifiers: tuple[str, ...]
    operands: tuple[Operand, ...]
    text: str
    end_line: int

    def __str__(self) -> str:
        head = f"{self.guard} " if self.guard is not None else ""
        tail = " " + ", ".join(str(o) for o in self.operands) if self.operands else ""
        return f"{head}{self.opcode}{tail};"


@dataclass(frozen=True, slots=True)
class LabelDef:
    """A label in front of a statement."""

    name: str
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class RegisterDecl:
    """``.reg .b32 %r<10>``: one name of a register declaration.

    ``count`` is the size of a range (registers ``name0`` to ``name{count-1}``), or None for the single register
    ``name``; ``lanes`` is 2 or 4 for a vector register.
    """

    name: str
    cls: str
    count: int | None
    lanes: int
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class VariableDecl:
    """A variable or parameter.

    ``space``: ``global``, ``const``, ``shared``, ``local``, ``param``, ``reg`` (a register parameter), ``tex``.
    ``dims`` are the array extents, 0 for an open first extent (``dyn[]``); ``align`` is in bytes, the declared one or
    the natural one of the type; ``linkage`` is ``""``, ``visible``, ``extern``, ``weak`` or ``common``.
    ``pointer`` is the text after ``.ptr`` (``global.align16``), None when there is none. ``initializer`` is the source
    text after ``=``.
    """

    name: str
    space: str
    type: str
    lanes: int
    dims: tuple[int, ...]
    align: int
    linkage: str
    initializer: str
    pointer: str | None
    attributes: tuple[str, ...]
    line: int
    column: int

    @property
    def size(self) -> int:
        """Size in bytes; 0 for an open array."""
        size = TYPE_BITS.get(self.type, 0) // 8 * self.lanes
        for extent in self.dims:
            size *= extent
        return size


@dataclass(frozen=True, slots=True)
class Directive:
    """Any other directive: ``name`` without dot, ``text`` the source after it, ``label`` for ``L: .branchtargets``."""

    name: str
    text: str
    line: int
    column: int
    label: str = ""


@dataclass(frozen=True, slots=True)
class ScopeBegin:
    """``{`` inside a body: declarations until the matching :class:`ScopeEnd` belong to the block."""

    line: int


@dataclass(frozen=True, slots=True)
class ScopeEnd:
    """``}`` of an inner block."""

    line: int


Statement = Instruction | LabelDef | RegisterDecl | VariableDecl | Directive | ScopeBegin | ScopeEnd


@dataclass(frozen=True, slots=True)
class Function:
    """An ``.entry`` or ``.func``; ``body`` is flat (inner blocks are bracketed by markers), None for a declaration."""

    name: str
    kind: str
    linkage: str
    returns: tuple[VariableDecl, ...]
    params: tuple[VariableDecl, ...]
    directives: tuple[Directive, ...]
    body: tuple[Statement, ...] | None
    line: int
    column: int
    attributes: tuple[str, ...] = ()

    @property
    def instructions(self) -> Iterator[Instruction]:
        """The instructions in source order."""
        return (s for s in self.body or () if isinstance(s, Instruction))

    def directive(self, name: str) -> Directive | None:
        """The performance directive ``name`` (``reqntid``), or None."""
        return next((d for d in self.directives if d.name == name), None)


@dataclass(frozen=True, slots=True)
class Module:
    """A parsed module. ``version`` is (major, minor); ``target`` the architecture (``sm_90``), ``target_options`` the
    words after it (``debug``, ``texmode_independent``); ``address_size`` 32 or 64."""

    file: str
    version: tuple[int, int]
    target: str
    target_options: tuple[str, ...]
    address_size: int
    variables: tuple[VariableDecl, ...]
    functions: tuple[Function, ...]
    directives: tuple[Directive, ...]

    def function(self, name: str) -> Function:
        """The function ``name`` that has a body (KeyError when there is none)."""
        for function in self.functions:
            if function.name == name and function.body is not None:
                return function
        raise KeyError(name)

    @property
    def entries(self) -> tuple[Function, ...]:
        """The entries that have a body."""
        return tuple(f for f in self.functions if f.kind == "entry" and f.body is not None)

    @property
    def instructions(self) -> Iterator[Instruction]:
        """Every instruction of every function, in source order."""
        for function in self.functions:
            yield from function.instructions
