"""From PTX text to code that runs: variables get addresses, instructions closures, labels numbers."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from ptxspec.diagnostics import FormError, LaunchError
from ptxspec.forms.use import use
from ptxspec.ptx import parse
from ptxspec.ptx.constant import evaluate
from ptxspec.ptx.lexer import PtxSyntaxError
from ptxspec.ptx.module import (
    Function,
    Instruction,
    LabelDef,
    Module,
    RegisterDecl,
    ScopeBegin,
    ScopeEnd,
    VariableDecl,
)

from ..memory import SLOT_OFFSET, SLOT_SHIFT, Variable, lay_out
from .faults import bad_launch, unsupported
from .floats import encode
from .operands import Names, immediate_bits
from .state import Active, Batch
from .steps import Control, FormLike, InstructionCompiler

Resolver = Callable[[Instruction, Module], FormLike]


@dataclass(frozen=True, slots=True)
class Code:
    """One instruction, ready to run. ``guard`` is a register number or -1; ``target`` the number to branch to."""

    line: int
    text: str
    guard: int
    negated: bool
    run: Callable[[Batch, Active], None] | None
    control: Control | None
    target: int = -1


@dataclass(slots=True)
class Program:
    """A compiled entry. ``variables`` lists the variables of each space in the order in which they are laid out."""

    entry: str
    target: str
    code: tuple[Code, ...]
    names: Names
    params: tuple[VariableDecl, ...]
    variables: dict[str, tuple[Variable, ...]]
    globals: tuple[Variable, ...]
    dynamic: frozenset[str]
    directives: dict[str, tuple[int, ...]] = field(default_factory=dict)

    @property
    def shared_bytes(self) -> int:
        """Static shared memory of a block, in bytes, without gaps."""
        return sum(v.size for v in self.variables["shared"])

    def thread_bytes(self) -> int:
        """Bytes of registers and local memory of one thread, roughly."""
        registers = sum(max(width // 8, 1) + 1 for width in self.names.widths)
        return registers + 2 * lay_out(self.variables["local"])[1] * bool(self.variables["local"])


def compile_program(ptx: str, entry: str, resolve: Resolver | None = None) -> Program:
    """Parse ``ptx`` and prepare ``entry``; LaunchError R210 when anything in it has no meaning here."""
    module = parse(ptx)
    try:
        function = module.function(entry)
    except KeyError as error:
        known = ", ".join(f.name for f in module.entries) or "none"
        raise bad_launch(f"the module has no entry {entry!r} (it has: {known})") from error
    if function.kind != "entry":
        raise bad_launch(f"{entry!r} is a device function and cannot be launched")
    return _Builder(module, function, resolve or resolve_form).build()


def resolve_form(instruction: Instruction, module: Module) -> FormLike:
    """The form of the database that ``instruction`` uses at the module's version and target."""
    return use(instruction.opcode, sm=module.target, ptx=module.version, operand_kinds=instruction.operands)


class _Builder:
    def __init__(self, module: Module, function: Function, resolve: Resolver) -> None:
        self._module = module
        self._function = function
        self._resolve = resolve
        self._names = Names()
        self._variables: dict[str, list[Variable]] = {"shared": [], "local": [], "const": [], "param": []}
        self._dynamic: dict[str, int] = {}
        self._globals: list[Variable] = []

    def build(self) -> Program:
        declared = [*self._module.variables, *self._function.params,
                    *(s for s in self._function.body or () if isinstance(s, VariableDecl))]
        for variable in declared:
            self._declare(variable)
        # Memory whose size the launch decides comes last, so that no address depends on the launch.
        align = max(self._dynamic.values(), default=1)
        if self._dynamic:
            self._variables["shared"].append(Variable(next(iter(self._dynamic)), 0, max(align, 16)))
        self._place()
        return Program(
            self._function.name, self._module.target, self._instructions(), self._names, self._function.params,
            {space: tuple(found) for space, found in self._variables.items()}, tuple(self._globals),
            frozenset(self._dynamic), {d.name: _numbers(d.text) for d in self._function.directives},
        )

    def _declare(self, decl: VariableDecl) -> None:
        space = decl.space.partition("::")[0]
        if decl.linkage == "extern" and space == "shared" and decl.size == 0:
            self._dynamic[decl.name] = decl.align
            return
        if decl.linkage == "extern":
            raise unsupported(f"the variable {decl.name} is defined in another module")
        if decl.name in self._names.symbols:
            raise unsupported(f"the name {decl.name} is declared twice")
        self._names.symbols[decl.name] = (space, 0)
        if space == "global":
            self._globals.append(Variable(decl.name, decl.size, decl.align, initial_bytes(decl)))
        elif space in self._variables:
            initial = initial_bytes(decl) if space == "const" else None
            self._variables[space].append(Variable(decl.name, decl.size, decl.align, initial))
        else:
            raise unsupported(f"the variable {decl.name} lies in {decl.space or 'unknown'} memory")

    def _place(self) -> None:
        for space, variables in self._variables.items():
            for place in lay_out(variables)[0]:
                self._names.symbols[place.name] = (space, place.start)
        if self._dynamic:
            shared = self._names.symbols[next(iter(self._dynamic))]
            self._names.symbols.update(dict.fromkeys(self._dynamic, shared))
        for k, variable in enumerate(self._globals):
            self._names.symbols[variable.name] = ("global", ((k + 1) << SLOT_SHIFT) + SLOT_OFFSET)

    def _instructions(self) -> tuple[Code, ...]:
        labels: dict[str, int] = {}
        found: list[Instruction] = []
        self._check_names()
        for statement in self._function.body or ():
            if isinstance(statement, LabelDef):
                if statement.name in labels:
                    raise unsupported(f"the label {statement.name} stands in two places")
                labels[statement.name] = len(found)
            elif isinstance(statement, Instruction):
                found.append(statement)
        return tuple(self._code(instruction, labels) for instruction in found)

    def _check_names(self) -> None:
        # Registers go by name: one that hides another of the same name would be taken for it.
        live: list[list[RegisterDecl]] = [[]]
        for statement in self._function.body or ():
            if isinstance(statement, ScopeBegin):
                live.append([])
            elif isinstance(statement, ScopeEnd):
                live.pop()
            elif isinstance(statement, RegisterDecl):
                if any(_overlap(statement, other) for outer in live[:-1] for other in outer):
                    raise unsupported(f"the register {statement.name} is declared again in an inner block")
                live[-1].append(statement)

    def _code(self, instruction: Instruction, labels: dict[str, int]) -> Code:
        where = f"line {instruction.line}: {instruction.text}"
        try:
            compiler = InstructionCompiler(self._names, instruction, self._resolve(instruction, self._module))
            run = compiler.compile()
            control = compiler.control
            guard = instruction.guard
            slot = -1 if guard is None else self._names.register(guard.register)
        except PtxSyntaxError as error:
            raise unsupported(f"{error} ({where})") from error
        except FormError as error:
            raise unsupported(f"{error.diagnostics[0].message} ({where})") from error
        except LaunchError as error:
            raise unsupported(f"{error.diagnostics[0].message.partition(': ')[2]} ({where})") from error
        target = -1
        if control is not None and control.kind == "branch":
            if control.target not in labels:
                raise unsupported(f"the label {control.target} is nowhere ({where})")
            target = labels[control.target]
        return Code(instruction.line, " ".join(instruction.text.split()), slot, guard is not None and guard.negated,
                    run, control, target)


def _overlap(a: RegisterDecl, b: RegisterDecl) -> bool:
    """Whether two declarations have a register name in common."""
    if a.count is not None and b.count is not None:
        # Two ranges can also meet across their digits (``%r<20>`` and ``%r1<5>``).
        long, short = (a, b) if len(a.name) >= len(b.name) else (b, a)
        return long.name == short.name or (
            long.name.startswith(short.name) and long.name[len(short.name):].isdigit())
    if a.count is None and b.count is None:
        return a.name == b.name
    single, several = (a, b) if a.count is None else (b, a)
    rest = single.name.removeprefix(several.name)
    return rest != single.name and rest.isdigit() and int(rest) < (several.count or 0)


def initial_bytes(decl: VariableDecl) -> bytes:
    """The initial value of a ``.global`` or ``.const`` variable; zeros where nothing is written."""
    text = decl.initializer.strip()
    if not text:
        return bytes(decl.size)
    if text.startswith("{"):
        text = text[1:-1]
    if "{" in text:
        raise unsupported(f"the nested initial value of {decl.name}")
    out = b""
    for piece in filter(None, (p.strip() for p in text.split(","))):
        try:
            evaluate(piece)
        except PtxSyntaxError as error:
            raise unsupported(f"the initial value '{piece}' of {decl.name}") from error
        bits, width = immediate_bits(piece, "int", decl.type)
        out += bits.to_bytes(width // 8, "little")
    return out.ljust(decl.size, b"\0")


def _numbers(text: str) -> tuple[int, ...]:
    pieces = [p.strip() for p in text.replace(";", "").split(",")]
    return tuple(int(p) for p in pieces if p.isdigit())


def pack_scalar(value: int | float | bool, type_name: str) -> bytes:
    """The little-endian bytes of a scalar argument of a PTX type."""
    formats = {"f32": "<f", "f64": "<d", "f16": "<e"}
    if type_name in formats:
        return struct.pack(formats[type_name], value)
    if type_name == "bf16":
        return encode(np.array([value], np.float64), "bf16").tobytes()
    width = int("".join(c for c in type_name if c.isdigit()) or "32")
    return (int(value) & ((1 << width) - 1)).to_bytes(width // 8, "little")
