"""The syntax tree of a Python function, with the places of its nodes in the user's file."""

from __future__ import annotations

import ast
import inspect
from dataclasses import dataclass, field
from types import CodeType, FunctionType

from ptxspec.diagnostics import Span
from ptxspec.lang.errors import refuse


@dataclass(frozen=True, slots=True)
class Source:
    """A function's definition; ``lines`` are those of the definition, the first being number ``first``."""

    file: str
    node: ast.FunctionDef
    first: int
    lines: tuple[str, ...]
    _spans: dict[ast.AST, Span] = field(default_factory=dict, repr=False, compare=False)

    def span(self, node: ast.AST) -> Span:
        """Where ``node`` stands: line, 1-based column in characters, end column when it ends on that line."""
        found = self._spans.get(node)
        if found is None:
            found = self._spans[node] = self._find(node)
        return found

    def _find(self, node: ast.AST) -> Span:
        line = getattr(node, "lineno", self.first)
        column = self._column(line, getattr(node, "col_offset", 0))
        end = getattr(node, "end_lineno", line)
        last = self._column(line, getattr(node, "end_col_offset", 0)) if end == line else 0
        return Span(self.file, line, column, last)

    def _column(self, line: int, offset: int) -> int:
        k = line - self.first
        text = self.lines[k] if 0 <= k < len(self.lines) else ""
        if text.isascii():
            return offset + 1
        return len(text.encode()[:offset].decode(errors="replace")) + 1   # syntax trees count bytes

    def excerpt(self, node: ast.AST) -> str:
        """The user's own characters of ``node``; lines joined where it spans several."""
        line, end = getattr(node, "lineno", 0), getattr(node, "end_lineno", 0)
        if not line or line != end:
            return " ".join(ast.unparse(node).split())
        span = self.span(node)
        return self.lines[line - self.first][span.column - 1:span.end_column - 1]

    def text(self, node: ast.AST) -> str:
        """The source text of ``node``."""
        return ast.unparse(node)


#: By identity: code objects of equal text in different files are equal.
_known: dict[int, tuple[CodeType, Source]] = {}


def source_of(function: FunctionType, called_from: Span | None = None) -> Source:
    """The tree of ``function``; KernelError K200 when its source text is not to be had, K203 for a lambda."""
    code = function.__code__
    if id(code) in _known:
        return _known[id(code)][1]
    file, line = code.co_filename, code.co_firstlineno
    try:
        lines, first = inspect.getsourcelines(function)
        text = "".join(lines)
        indented = text[:1].isspace()
        tree = ast.parse("if True:\n" + text if indented else text, file)
    except (OSError, TypeError, SyntaxError, IndentationError) as error:
        if code.co_name == "<lambda>":
            refuse("K203", "a lambda is not read inside kernels", called_from, help="write it as a function with `def`")
        refuse("K200", f"the source of `{function.__name__}` cannot be read: {error}", called_from or Span(file, line),
               help="define the kernel in a file or a notebook cell; text given to exec() has no source lines "
                    "unless it "
                    "is put into linecache first")
    ast.increment_lineno(tree, first - 1 - indented)
    statement: ast.stmt = tree.body[0]
    if indented and isinstance(statement, ast.If):
        statement = statement.body[0]
    if not isinstance(statement, ast.FunctionDef):
        what = "an async function" if isinstance(statement, ast.AsyncFunctionDef) else "no `def` of its own"
        refuse("K203", f"`{function.__name__}` is {what}, which kernels cannot be made of",
               called_from or Span(file, line), help="write a plain function with `def`")
    source = Source(file, statement, first, tuple(line.rstrip("\n") for line in lines))
    _known[id(code)] = code, source
    return source
