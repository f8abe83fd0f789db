"""Names as Warp's kernels have them: bound again inside branches and loops; functions that return early."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from ptxspec.compat.warp.state import kind_of
from ptxspec.lang import ir
from ptxspec.lang.function import Reader
from ptxspec.lang.loops import LoopRange
from ptxspec.lang.reader.calls import Returned
from ptxspec.lang.reader.frame import Block, Frame
from ptxspec.lang.tensor import ElementRef, TensorView
from ptxspec.scalar import index as ix
from ptxspec.scalar import typed
from ptxspec.scalar.expr import BOOL, Expr
from ptxspec.tiles import RegisterTile
from ptxspec.tiles.inplace import overwritten
from ptxspec.tiles.shared import SharedTile
from ptxspec.tiles.tape import Taping


@dataclass(frozen=True, slots=True)
class Variable:
    """A name that is bound again inside a branch or a loop: a register with its value now."""

    cell: TensorView
    dtype: str

    ptxspec_intrinsic = True


class Variables(Reader):
    """Names that change their value at run time."""

    def __init__(self, *given: object) -> None:
        super().__init__(*given)  # type: ignore[arg-type]
        self._places: dict[tuple[int, str], tuple[Block, int]] = {}     # how deep in the code names were bound
        self._entered: dict[int, int] = {}      # how deep in the code each function was called
        self._returns: list[tuple[Frame, int]] = []     # functions whose value depends on a branch being read

    def settled(self, value: object, node: ast.AST) -> object:
        """``value`` for use in computations; a variable is read here."""
        if not isinstance(value, Variable):
            return super().settled(value, node)
        found = self.load(ElementRef(value.cell.ir, (ix.ZERO,), self.span(node)), node)
        return typed.compare("ne", found, 0, self.span(node)) if value.dtype == BOOL else found

    def e_name(self, node: ast.Name) -> object:
        """The value of a name now."""
        value = super().e_name(node)
        return self.settled(value, node) if isinstance(value, Variable) else value

    def assign(self, target: ast.expr, value: object) -> None:
        """Bind a name, or change the variable of that name."""
        if not isinstance(target, ast.Name):
            super().assign(target, value)
            return
        home = self._home(target.id)
        inside = home is not None and home is not self.frame.blocks[-1] and not self.frame.blocks[-1].open
        if home is not None and (inside or isinstance(home.names[target.id], Variable)) and target.id != "_":
            variable = self._variable(target.id, home, target)
            if variable is not None:
                self._change(variable, value, target)
                return
            if inside and isinstance(value, (RegisterTile, SharedTile)) \
                    and self._replaced(home.names[target.id], value):
                return
        super().assign(target, value)
        block = self.frame.blocks[-1]
        self._places[id(block), target.id] = block, len(self.tracer.blocks)

    def s_augassign(self, node: ast.AugAssign) -> None:
        """``x += y`` of a name that is a number."""
        if isinstance(node.target, ast.Name):
            old = self.e_name(node.target)
            if isinstance(old, (Expr, int, float)):
                self.assign(node.target, self.binary(node.op, old, self.eval(node.value), node))
                return
        super().s_augassign(node)

    def _loop(self, ranges: list[LoopRange], target: ast.expr, place: ast.expr, node: ast.For) -> None:
        """A loop: names of before that it binds again are variables from its beginning on."""
        for name in sorted(_bound_in(node.body)):
            home = self._home(name)
            if home is not None:
                self._variable(name, home, node)
        super()._loop(ranges, target, place, node)

    def _enter(self, frame: Frame, definition: ast.FunctionDef, bound: dict[str, object], node: ast.AST) -> object:
        self._entered[id(frame)] = len(self.tracer.blocks)
        try:
            return super()._enter(frame, definition, bound, node)
        finally:
            del self._entered[id(frame)]

    # --- variables

    def _home(self, name: str) -> Block | None:
        return next((b for b in reversed(self.frame.blocks) if name in b.names), None)

    def _variable(self, name: str, home: Block, node: ast.AST) -> Variable | None:
        """The variable of ``name``, made of its value where it was bound; None where that is no number."""
        value = home.names[name]
        if isinstance(value, Variable):
            return value
        known = self._places.get((id(home), name))
        if known is None and home is self.frame.blocks[0]:
            known = home, self._entered.get(id(self.frame), 1)      # a parameter
        if known is None or not isinstance(value, (Expr, int, float)):
            return None
        tracer = self.tracer
        if isinstance(tracer, Taping):
            self.refuse("K240", f"`{name}` is bound again inside a branch or a loop, which the adjoint runs in another "
                                "order", node, help="choose the value, `x = new if condition else old`; compute what a "
                                                    "loop counts from its index")
        dtype = value.dtype if isinstance(value, Expr) else typed.default_dtype(value)
        held = "int32" if dtype == BOOL else dtype
        tracer.settle()
        saved, tracer.blocks = tracer.blocks, tracer.blocks[:known[1]]
        try:
            cell = self.hidden_cell(held, node)
            tracer.emit(ir.Store(cell.ir, (ix.ZERO,), typed.cast(value, held), self.span(node)))
        finally:
            tracer.blocks = saved
        home.names[name] = variable = Variable(cell, dtype)
        return variable

    def _change(self, variable: Variable, value: object, node: ast.AST) -> None:
        if variable.dtype == BOOL:
            held: Expr = typed.cast(self.truth(self.settled(value, node), node), "int32", self.span(node))
        else:
            held = self.convert(self.settled(value, node), variable.dtype, node, "a name bound before")
        self.tracer.emit(ir.Store(variable.cell.ir, (ix.ZERO,), held, self.span(node)))

    def _replaced(self, old: object, new: RegisterTile | SharedTile) -> bool:
        """True where the elements of ``new`` were put into ``old``, a tile that no other name can see."""
        if not isinstance(old, (RegisterTile, SharedTile)) or tuple(old.shape) != tuple(new.shape) \
                or old.dtype != new.dtype or kind_of(old) != kind_of(new):
            return False
        names = [v for f in self.frames for b in f.blocks for v in b.names.values()]
        if sum(_sees(v, old) for v in names) > 1:
            return False
        by = new if isinstance(new, RegisterTile) else new.registers()
        self.python(lambda: overwritten(self.tracer, old, by), self._node(), "this assignment")
        return True

    def _node(self) -> ast.AST:
        assert self.node is not None
        return self.node

    # --- functions that return early

    def _leaves(self, node: ast.If) -> bool:
        frame = self.frame
        decided = self._returns[-1][1] if self._returns and self._returns[-1][0] is frame else 0
        last = node.body[-1]
        early = not frame.is_kernel and not frame.loops and frame.depth == decided \
            and isinstance(last, ast.Return) and last.value is not None
        return early or super()._leaves(node)

    def _early_exit(self, node: ast.If, rest: list[ast.stmt]) -> bool:
        """``if c: return a`` in a function: its value is chosen."""
        if self.frame.is_kernel:
            return super()._early_exit(node, rest)
        condition = self.truth(self.eval(node.test), node.test)
        if isinstance(condition, bool):
            self.exec_body(node.body if condition else node.orelse)
            return False
        raise Returned(self.choose(condition, lambda: self._value(node.body),
                                   lambda: self._value([*node.orelse, *rest]), node))

    def _value(self, body: list[ast.stmt]) -> object:
        with self.frame.block(kernel="branch"):
            self._returns.append((self.frame, self.frame.depth))
            try:
                self.exec_body(body)
            except Returned as returned:
                return returned.value
            finally:
                self._returns.pop()
        return None

    def s_return(self, node: ast.Return) -> None:
        """The value of a function, also at the end of a branch that decides it."""
        if self._returns and self._returns[-1] == (self.frame, self.frame.depth) and node.value is not None:
            raise Returned(self.eval(node.value))
        super().s_return(node)


def _sees(value: object, tile: RegisterTile | SharedTile, depth: int = 3) -> bool:
    """True where ``value`` is the tile, a view of it, or a container with one."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple, set)):
        return not depth or any(_sees(v, tile, depth - 1) for v in value)
    memory = _memory(value)
    return value is tile or (memory is not None and memory is _memory(tile))


def _memory(value: object) -> ir.Buffer | None:
    """Where a tile's elements are, or are seen, in shared memory."""
    if isinstance(value, RegisterTile):
        value = value.in_shared_memory
    return value.ir.buffer if isinstance(value, TensorView) else None


def _bound_in(body: list[ast.stmt]) -> set[str]:
    """Names that statements bind, in branches and loops inside too."""
    found: set[str] = set()
    for node in (n for statement in body for n in ast.walk(statement)):
        targets = node.targets if isinstance(node, ast.Assign) else \
            [node.target] if isinstance(node, (ast.AugAssign, ast.AnnAssign)) else []
        names = [n for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)]
        found |= {n.id for n in names if isinstance(n.ctx, ast.Store)}
    return found
