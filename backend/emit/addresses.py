"""Memory operands: one base per array, constants in the instruction, 32-bit arithmetic where proved enough."""

from __future__ import annotations

from ptxspec.diagnostics import Note
from ptxspec.lang.ir import Buffer
from ptxspec.ptx.operand import Address, Register, Symbol
from ptxspec.scalar import index as ix
from ptxspec.scalar.expr import Poly

from .context import Context, integer
from .indices import S32, Indices
from .scopes import Value


class Addresses:
    """Builds ``[register+constant]`` operands. ``bases`` gives each global array's parameter symbol, ``symbols`` the
    variable (and byte offset inside it) of each shared or addressable local tensor."""

    def __init__(self, context: Context, indices: Indices) -> None:
        self.context = context
        self.indices = indices
        self.parameters: dict[Buffer, Symbol] = {}
        self.symbols: dict[Buffer, Symbol] = {}
        self._bases: dict[Buffer, Register] = {}

    def operand(self, buffer: Buffer, runtime: Poly, constant: int, fixed: Poly | None = None) -> Address:
        """The address of byte ``runtime + constant`` of ``buffer``.

        ``fixed`` are the terms of ``runtime`` that repeats do not change: their sum is shared by all of them.
        """
        if buffer.scope == "global":
            base = self._global(buffer, runtime, fixed)
        else:
            symbol = self.symbols[buffer]
            constant += symbol.offset
            start = Symbol(symbol.name, symbol.space, 0, symbol.kind, symbol.type)
            if runtime.is_const:
                return Address(start, constant)
            base = self._window(buffer, start, runtime, fixed)
        if not S32[0] <= constant <= S32[1]:
            base = self._far(base, buffer, runtime, constant)
            constant = 0
        return Address(base, constant)

    def base(self, buffer: Buffer) -> Register:
        """The global-space address of an array parameter."""
        known = self._bases.get(buffer)
        if known is not None:
            return known
        symbol = self.parameters.get(buffer)
        if symbol is None:
            raise self.context.error("E109", f"`{buffer.name}` is global memory but not a parameter",
                                     Note("help", "global tensors are the kernel's parameters"))

        def write(register: Register) -> None:
            generic = self.context.registers.fresh("b64")
            self.context.instr("ld.param.b64", (generic, Address(symbol)))
            self.context.instr("cvta.to.global.u64", (register, generic))
        found = self.context.once(("base", buffer), "b64", write)
        assert isinstance(found, Register)
        self._bases[buffer] = found
        return found

    def _global(self, buffer: Buffer, runtime: Poly, fixed: Poly | None = None) -> Register:
        base = self.base(buffer)
        if runtime.is_const:
            return base
        found = self.context.scope.find(("address", buffer, runtime))
        if found is None:
            outer, inner = self._by_level(runtime)
            if fixed is not None and outer.is_const and not fixed.is_const and fixed.terms != runtime.terms:
                outer, inner = fixed, ix.sub(runtime, fixed)
            start = base if outer.is_const else self._global(buffer, outer)
            found = self.context.cached(("address", buffer, runtime), runtime, "b64",
                                        lambda register: self.indices.sum64(inner, start, register), eager=True)
        assert isinstance(found, Register)
        return found

    def _by_level(self, runtime: Poly) -> tuple[Poly, Poly]:
        """Terms known further out, and those of the innermost scope: the former are summed before the loop."""
        levels = self.context.levels
        if levels.of(runtime) == 0:
            return Poly(0, ()), runtime
        by_term = [(levels.of(Poly(0, ((m, 1),))), (m, c)) for m, c in runtime.terms]
        most = max(level for level, _ in by_term)
        return (Poly(0, tuple(t for level, t in by_term if level < most)),
                Poly(0, tuple(t for level, t in by_term if level == most)))

    def _window(self, buffer: Buffer, symbol: Symbol, runtime: Poly, fixed: Poly | None = None) -> Register:
        """Shared and local memory: 32-bit addresses (both windows are smaller than 4 GiB)."""
        context = self.context
        if fixed is not None and not fixed.is_const and set(fixed.terms) < set(runtime.terms):
            rest = ix.sub(runtime, fixed)

            def onto(register: Register) -> None:
                self.indices.plus32(self._window(buffer, symbol, fixed), rest, register)
            moved = context.cached(("address", buffer, runtime), runtime, "b32", onto, eager=True)
            assert isinstance(moved, Register)
            return moved

        def start(register: Register) -> None:
            context.instr("mov.u32", (register, symbol))

        def write(register: Register) -> None:
            base = context.once(("window", symbol.name), "b32", start)
            offset: Value = self.indices.low(runtime)
            context.instr("add.s32", (register, base, offset))
        found = context.cached(("address", buffer, runtime), runtime, "b32", write, eager=True)
        assert isinstance(found, Register)
        return found

    def _far(self, base: Register, buffer: Buffer, runtime: Poly, constant: int) -> Register:
        """A constant too large for the instruction's 32-bit offset field."""
        found = self.context.cached(("far", buffer, runtime, constant), runtime, base.cls,
                                    lambda register: self.context.instr(
                                        f"add.s{base.cls[1:]}", (register, base, integer(constant))))
        assert isinstance(found, Register)
        return found
