"""Names: which ones a function being read can see, and where they may be bound again."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FunctionType
from typing import NoReturn

from ptxspec.diagnostics import Span
from ptxspec.lang.errors import nearest, refuse
from ptxspec.lang.reader.source import Source


@dataclass(slots=True)
class Block:
    """Names bound in one function body or kernel block. ``open`` blocks may shadow (comprehensions)."""

    names: dict[str, object] = field(default_factory=dict)
    spans: dict[str, Span] = field(default_factory=dict)
    kernel: str = ""
    open: bool = False


class Frame:
    """One function being read: its source, its names, and how deep inside kernel branches and loops it is."""

    def __init__(self, source: Source, outer: Mapping[str, object], module: Mapping[str, object], name: str,
                 caller: Span | None, *, is_kernel: bool) -> None:
        self.source = source
        self.outer = outer
        self.module = module
        self.name = name
        self.caller = caller
        self.is_kernel = is_kernel
        self.blocks: list[Block] = [Block()]
        self.loops: list[bool] = []   # for each open loop: is it unrolled while reading?
        self.gone: dict[str, Span] = {}   # names of blocks that ended

    @property
    def depth(self) -> int:
        """Kernel branches and loops around the statement being read."""
        return sum(bool(b.kernel) for b in self.blocks)

    def lookup(self, name: str, node: ast.AST) -> object:
        """The value of ``name``, which stands at ``node`` (K204 when there is none)."""
        for block in reversed(self.blocks):
            if name in block.names:
                return block.names[name]
        for space in (self.outer, self.module, vars(builtins)):
            if name in space:
                return space[name]
        span = self.source.span(node)
        if name in self.gone:
            refuse("K204", f"`{name}` is not defined here: it was bound inside a branch or a loop and stays there",
                   span,
                   note=f"`{name}` was bound here", where=self.gone[name],
                   help="bind it before, or keep the value in a T.alloc_local tensor")
        known = [n for n in [*(n for b in self.blocks for n in b.names), *self.outer, *self.module]
                 if not n.startswith("__")]
        refuse("K204", f"`{name}` is not defined", span, help=nearest(name, known))

    def bind(self, name: str, value: object, span: Span) -> None:
        """Give ``name`` a value in the innermost block; a name of an outer block cannot change inside one (K201)."""
        innermost = self.blocks[-1]
        if name not in innermost.names and not innermost.open and name != "_":
            for block in reversed(self.blocks[:-1]):
                if name in block.names:
                    self._rebound(name, block, span)
        innermost.names[name] = value
        innermost.spans[name] = span

    def _rebound(self, name: str, block: Block, span: Span) -> NoReturn:
        inner = next((b.kernel for b in reversed(self.blocks) if b.kernel), "block")
        cell = f"keep the changing value in a tensor: {name} = T.alloc_local((1,), dtype), then {name}[0] = ..."
        choice = f"choose the value: `{name} = new if condition else {name}`; or " if inner == "branch" else ""
        refuse("K201", f"`{name}` is bound outside this {inner} and cannot be bound again inside it", span,
               note=f"`{name}` was bound here", where=block.spans.get(name),
               help=f"names are not variables at run time; {choice}{cell}")

    @contextmanager
    def block(self, *, kernel: str = "", open: bool = False) -> Iterator[Block]:
        """A block of its own for names; ``kernel`` is "loop" or "branch" for one of the device."""
        block = Block(kernel=kernel, open=open)
        self.blocks.append(block)
        try:
            yield block
        finally:
            self.blocks.pop()
            self.gone.update(block.spans)


def outer_names(function: FunctionType) -> dict[str, object]:
    """What the function's closure sees."""
    result: dict[str, object] = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        try:
            result[name] = cell.cell_contents
        except ValueError:   # not bound yet
            continue
    return result
