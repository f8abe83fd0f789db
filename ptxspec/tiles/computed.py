"""Tiles whose elements are formulas of their coordinate: no memory, no registers, and nothing hidden from proofs."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from ptxspec.lang import ir
from ptxspec.lang.errors import refuse, said
from ptxspec.lang.locate import element_bytes
from ptxspec.lang.trace import Tracer, current, intrinsic
from ptxspec.lang.types import DType, dtype_name
from ptxspec.scalar import typed
from ptxspec.scalar.expr import Expr, is_integer
from ptxspec.tiles.build import registers
from ptxspec.tiles.calls import extents_of
from ptxspec.tiles.ownership import dealt_out
from ptxspec.tiles.tile import RegisterTile

Formula = Callable[[Expr | int], Expr]


class ComputedTile:
    """``shape[0]`` integers of ``dtype``, each a formula of its place: what ``T.tile_arange`` gives.

    Arithmetic with numbers gives another formula. As indices of a gather or scatter it is seen through by proofs;
    everywhere else it becomes a register tile.
    """

    ptxspec_intrinsic = True

    def __init__(self, tracer: Tracer, extent: int, dtype: str, formula: Formula) -> None:
        self._tracer = tracer
        self.shape = (extent,)
        self.dtype = dtype
        self.formula = formula
        self._tile: RegisterTile | None = None

    def __repr__(self) -> str:
        return f"computed tile of {self.dtype} {list(self.shape)}"

    def __iter__(self) -> NoReturn:
        refuse("K216", "a tile cannot be iterated over", self._tracer.place(), help="loop over its places: t[i]")

    def __getitem__(self, key: object) -> Expr:
        at = key[0] if isinstance(key, tuple) and len(key) == 1 else key
        if not isinstance(at, (int, Expr)) or (isinstance(at, int) and not 0 <= at < self.shape[0]):
            refuse("K231", f"{said(key)} is no place of a tile of {self.shape[0]} elements", self._tracer.place())
        return self.formula(at)

    def registers(self) -> RegisterTile:
        """The tile in registers."""
        tracer = self._tracer
        plan = dealt_out(tracer, self.shape, 0, element_bytes(self.dtype))
        cells = registers(tracer, (plan.repeats, plan.words), self.dtype, "tile")
        for repeat in range(plan.repeats):
            first = plan.at(repeat, tracer.linear_thread())[0]
            for word in range(plan.words):
                value = self.formula(typed.binary("add", first, word))
                at = (typed.literal(repeat, "int32"), typed.literal(word, "int32"))
                tracer.emit(ir.Store(cells.ir, at, typed.cast(value, self.dtype), tracer.place()))
        return RegisterTile(tracer, self.shape, self.dtype, plan, cells)

    # --- arithmetic

    def ptxspec_binary(self, name: str, other: object, reflected: bool) -> ComputedTile | RegisterTile:
        """With a number: another formula. With a tile: element by element in registers."""
        if not isinstance(other, (Expr, int, float)):
            return self.registers().ptxspec_binary(name, other, reflected)
        span, mine = self._tracer.place(), self.formula

        def value(at: Expr | int) -> Expr:
            return typed.binary(name, other, mine(at), span) if reflected else typed.binary(name, mine(at), other, span)

        return self._derived(value)

    def ptxspec_unary(self, name: str) -> ComputedTile | RegisterTile:
        """``-self``."""
        return self._derived(lambda at: typed.unary(name, self.formula(at), self._tracer.place()))

    def astype(self, dtype: object) -> ComputedTile | RegisterTile:
        """Every element converted."""
        kind = dtype_name(dtype)
        return self._derived(lambda at: typed.cast(self.formula(at), kind, self._tracer.place()))

    def _derived(self, formula: Formula) -> ComputedTile | RegisterTile:
        kind = formula(0).dtype
        made = ComputedTile(self._tracer, self.shape[0], kind, formula)
        return made if is_integer(kind) else made.registers()


def tile_arange(*span: int, dtype: str | DType = "int32") -> ComputedTile:
    """The integers of ``range(*span)`` as a 1-D tile of ``dtype``. Its elements are formulas: ``T.tile_arange(8) * 2``
    as indices picks even rows, and the proofs know that they differ. Codes K231, K236."""
    tracer = current("T.tile_arange")
    if not 1 <= len(span) <= 3 or any(isinstance(n, bool) or not isinstance(n, int) for n in span):
        refuse("K231", "tile_arange takes one to three integers, known while the kernel is read", tracer.place())
    kind = dtype_name(dtype)
    if not is_integer(kind):
        refuse("K236", f"tile_arange makes integers, not {kind}", tracer.place(), help="convert it: t.astype(...)")
    numbers = range(*span)
    extents_of(len(numbers), tracer)

    def formula(at: Expr | int) -> Expr:
        value = at if isinstance(at, Expr) else typed.literal(at, "int32")
        if numbers.step != 1:
            value = typed.binary("mul", value, numbers.step)
        if numbers.start:
            value = typed.binary("add", value, numbers.start)
        return typed.cast(value, kind)

    return ComputedTile(tracer, len(numbers), kind, formula)


intrinsic(tile_arange)
