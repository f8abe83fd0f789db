"""What every part of emission shares: the target, registers, the current scope, and the one way to write a line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ptxspec.diagnostics import Diagnostic, EmitError, FormError, Note, Span
from ptxspec.ptx.operand import Guard, Immediate, Label, Operand, Register
from ptxspec.scalar.evaluate import substitute
from ptxspec.scalar.expr import Const, Expr, Var

from .code import Block, Labels
from .registers import Registers
from .scopes import Levels, Scope, Value
from .statics import free, free_uids

if TYPE_CHECKING:
    from ..select import Selected, Target

Slots = Mapping[str, str]
Select = Callable[["Target", str, Slots, Sequence[Operand], "Guard | None"], "Selected"]
Resolve = Callable[[str], "tuple[str, Slots]"]


class Context:
    """State of one emission. ``env`` holds the variables that emission itself enumerates (unrolled loops),
    by ``uid``, and ``static`` is the set of them."""

    def __init__(self, target: Target, select: Select, resolve: Resolve) -> None:
        self.target = target
        self.registers = Registers()
        self.labels = Labels()
        self.levels = Levels()
        self.prologue = Block()
        self.body = Block()
        self.scope = Scope("root", None, self.body)
        self.root = self.scope
        self.env: dict[int, int] = {}
        self.static: frozenset[Var] = frozenset()
        self.span: Span | None = None
        self.floor_ptx: tuple[int, int] = (1, 0)
        self.floor_sm = 0
        self.instructions = 0
        self._select = select
        self._resolve = resolve
        self._opcodes: dict[str, tuple[str, Slots]] = {}

    # -- lines ---------------------------------------------------------------------------------------------------

    def instr(self, opcode: str, operands: Sequence[Operand], guard: Guard | None = None) -> None:
        """Write the instruction ``opcode`` (a spelling such as ``add.s32``)."""
        found = self._opcodes.get(opcode)
        if found is None:
            try:
                found = self._resolve(opcode)
            except FormError as error:
                raise self.refused(error) from None
            self._opcodes[opcode] = found
        self.form(found[0], found[1], operands, guard)

    def form(self, mnemonic: str, slots: Slots, operands: Sequence[Operand],
             guard: Guard | None = None) -> None:
        """Write one instruction through the generated selector, the only source of instruction text."""
        try:
            selected = self._select(self.target, mnemonic, slots, operands, guard)
        except FormError as error:
            raise self.refused(error) from None
        if selected.floor_ptx > self.floor_ptx:
            self.floor_ptx = selected.floor_ptx
        if selected.floor_sm > self.floor_sm:
            self.floor_sm = selected.floor_sm
        self.instructions += 1
        self.scope.block.items.append((selected.text, self.span))

    def offers(self, opcode: str, operands: Sequence[Operand]) -> bool:
        """True where the target has this instruction."""
        try:
            self._select(self.target, *self._resolve(opcode), operands, None)
        except FormError:
            return False
        return True

    def label(self, name: str) -> None:
        """Define a branch target here."""
        self.scope.block.items.append((f"{name}:", None))

    def branch(self, name: str, guard: Guard | None = None) -> None:
        """Jump to ``name``."""
        self.instr("bra", (Label(name),), guard)

    def refused(self, error: FormError) -> EmitError:
        """The selector's refusal, put on the kernel's line."""
        return EmitError(*(
            Diagnostic("E100", f"the target has no such instruction: {d.message}", self.span,
                       notes=(*d.notes, Note("rule", f"refused as {d.code}", d.span)))
            for d in error.diagnostics
        ))

    def error(self, code: str, message: str, *notes: Note, span: Span | None = None) -> EmitError:
        """An emission error at the statement in hand."""
        return EmitError(Diagnostic(code, message, span or self.span, notes=notes))

    # -- scopes --------------------------------------------------------------------------------------------------

    @contextmanager
    def inside(self, scope: Scope) -> Iterator[Scope]:
        """Emit into ``scope`` for a while."""
        before = self.scope
        self.scope = scope
        try:
            yield scope
        finally:
            self.scope = before

    @contextmanager
    def at(self, span: Span | None) -> Iterator[None]:
        """Lines written inside belong to ``span``."""
        before = self.span
        self.span = span
        try:
            yield
        finally:
            self.span = before

    def known(self, expr: Expr) -> Expr:
        """``expr`` with the enumerated variables replaced by their values."""
        env = self.env
        if not env or type(expr) is Const:
            return expr
        if isinstance(expr, Var):
            value = env.get(expr.uid)
            return expr if value is None else Const(value, expr.dtype, expr.span)
        if free_uids(expr).isdisjoint(env):
            return expr
        return substitute(expr, {v: env[v.uid] for v in free(expr) if v.uid in env})

    def cached(self, key: object, depends: Expr | int, cls: str, write: Callable[[Register], None], *,
               eager: bool = False) -> Value:
        """The register kept for ``key``; on first use ``write`` computes it at the best place.

        ``eager`` is for address arithmetic: it is moved out of branches, everything else only out of loops.
        """
        found = self.scope.find(key)
        if found is not None:
            return found
        if isinstance(depends, int):
            block, home = self.scope.place(depends, eager=eager)
        else:
            block, home = self.scope.place(self.levels.of(depends), self.levels.pinned(depends), eager)
        register = self.registers.fresh(cls)
        if block is self.scope.block:
            write(register)
        else:
            # What the value is made of is looked up from where it will stand, so it dominates it.
            before = self.scope
            self.scope = Scope("inline", home, block)
            try:
                write(register)
            finally:
                self.scope = before
        home.cache[key] = register
        return register

    def once(self, key: object, cls: str, write: Callable[[Register], None]) -> Value:
        """A register set in the prologue: hardware ids, parameters, base addresses."""
        found = self.root.cache.get(key)
        if found is None:
            register = self.registers.fresh(cls)
            before, span = self.scope, self.span
            self.scope, self.span = Scope("inline", None, self.prologue), None
            try:
                write(register)
            finally:
                self.scope, self.span = before, span
            found = self.root.cache[key] = register
        return found

    def define(self, variable: Var, value: Value) -> None:
        """Bind a kernel variable that is computed in the current scope."""
        self.levels.define(variable, self.scope.depth)
        self.scope.cache[variable.uid] = value

    def materialise(self, value: Value, cls: str) -> Register:
        """``value`` in a register; a literal is moved into a new one."""
        if isinstance(value, Register):
            return value
        register = self.registers.fresh(cls)
        self.instr(f"mov.{cls}", (register, value))
        return register


def integer(value: int) -> Immediate:
    """An integer literal."""
    return Immediate(str(value))
