"""Bodies of functions: instructions, labels, blocks and the directives inside them.

PTX manual, sections "Statements" and "Directives". Instructions are cut by one regular expression and a search for
the semicolon; everything else goes through a :class:`~ptxspec.ptx.lexer.Cursor`.
"""

from __future__ import annotations

import re

from ptxspec.diagnostics import Diagnostic
from ptxspec.ptx.declarations import (
    LINKAGE,
    SPACES,
    line_directive,
    register_declaration,
    variable_declaration,
)
from ptxspec.ptx.lexer import IDENTIFIER, Cursor, PtxSyntaxError, Source
from ptxspec.ptx.module import (
    Directive,
    Instruction,
    LabelDef,
    RegisterDecl,
    ScopeBegin,
    ScopeEnd,
    Statement,
    VariableDecl,
)
from ptxspec.ptx.operand import Guard, Register, Symbol
from ptxspec.ptx.operands import parse_operands
from ptxspec.ptx.scope import Scope, special_register

MAX_DIAGNOSTICS = 200
_STATEMENT = re.compile(
    rf"""\s*(?:
      (?P<close>\}}) | (?P<open>\{{)
    | (?P<label>{IDENTIFIER})\s*:(?!:)
    | (?P<dir>\.[A-Za-z_]\w*)
    | (?:@\s*(?P<neg>!?)\s*(?P<pred>{IDENTIFIER})(?![\w$])\s*)?
      (?P<op>[A-Za-z_]\w*(?:\s*\.\s*\w+(?:::\w+)*)*)
    )""",
    re.X,
)
_SPACE = re.compile(r"\s+")
_MAX_BLOCKS = 200
_LINE_END = re.compile(r"[;\n]")


def variable_symbols(decl: VariableDecl, kind: str) -> list[Symbol]:
    """The names that ``decl`` puts in scope (several for a parameterised name ``v<4>``)."""
    name, bracket, rest = decl.name.partition("<")
    names = [f"{name}{i}" for i in range(int(rest[:-1]))] if bracket else [name]
    unified = any(".unified" in a for a in decl.attributes)
    return [Symbol(n, decl.space, 0, kind, decl.type, "", unified, bool(decl.dims)) for n in names]


class BodyParser:
    """Reads one body: ``statements`` is the result, ``offset`` where reading stopped, ``closed`` if ``}`` was met."""

    def __init__(self, source: Source, scope: Scope, diagnostics: list[Diagnostic]) -> None:
        self._source = source
        self._text = source.text
        self._scope = scope
        self._diagnostics = diagnostics
        self._opcodes: dict[str, tuple[str, str, tuple[str, ...]]] = {}
        self._last_label = ""
        self.statements: list[Statement] = []
        self.offset = 0
        self.closed = False

    def parse(self, offset: int) -> None:
        """Read statements from ``offset`` (just after ``{``) to the matching ``}``."""
        text = self._text
        match_statement = _STATEMENT.match
        scopes: list[Scope] = []
        while len(self._diagnostics) < MAX_DIAGNOSTICS:
            match = match_statement(text, offset)
            if match is None:
                rest = Cursor(text, offset)
                if rest.kind == "end":
                    self._report(rest.error("expected '}' at the end of a function body"))
                    offset = len(text)
                    break
                self._report(self._unexpected(rest))
                offset = self._resume(rest.at)
                continue
            kind = match.lastgroup
            try:
                if kind == "op":
                    offset = self._instruction(match)
                elif kind == "label":
                    offset = self._label(match)
                elif kind == "dir":
                    offset = self._directive(match.start("dir"))
                elif kind == "open":
                    if len(scopes) >= _MAX_BLOCKS:
                        raise PtxSyntaxError("L002", "blocks are nested too deeply", match.start("open"))
                    scopes.append(self._scope)
                    self._scope = Scope(self._scope)
                    self.statements.append(ScopeBegin(self._source.line(match.start("open"))))
                    offset = match.end()
                elif kind == "close":
                    offset = match.end()
                    if not scopes:
                        self.closed = True
                        break
                    self._close_block()
                    self._scope = scopes.pop()
                    self.statements.append(ScopeEnd(self._source.line(match.start("close"))))
            except PtxSyntaxError as error:
                self._report(error)
                offset = self._resume(max(error.resume, match.end()))
        self.offset = offset
        while scopes:
            self._close_block()
            self._scope = scopes.pop()
        self._close_block()
        self._undeclared()

    @staticmethod
    def _unexpected(rest: Cursor) -> PtxSyntaxError:
        if not rest.accept("@"):
            return rest.error(f"unexpected {rest.found}")
        rest.accept("!")
        if rest.kind != "name":
            return rest.error(f"expected a predicate after '@', found {rest.found}")
        rest.take()
        return rest.error(f"expected an instruction after the guard, found {rest.found}")

    def _report(self, error: PtxSyntaxError) -> None:
        self._diagnostics.append(self._source.diagnostic(error))

    def _resume(self, offset: int) -> int:
        """Where to go on after an error: the ``}`` it stopped at, else after the semicolon or line."""
        if self._text[offset : offset + 1] == "}":
            return offset
        match = _LINE_END.search(self._text, offset)
        return match.end() if match else len(self._text)

    def _instruction(self, match: re.Match[str]) -> int:
        text, scope = self._text, self._scope
        start, stop = match.span("op")
        spelled = match.group("op")
        known = self._opcodes.get(spelled)
        if known is None:
            opcode = _SPACE.sub("", spelled)
            mnemonic, *modifiers = opcode.split(".")
            known = self._opcodes[spelled] = (mnemonic, opcode, tuple(modifiers))
        mnemonic, opcode, modifiers_ = known
        end = text.find(";", stop)
        if end < 0:
            brace = text.find("}", stop)
            raise PtxSyntaxError("L002", "expected ';' after an instruction", brace if brace >= 0 else len(text))
        try:
            operands = parse_operands(text[stop:end], scope, mnemonic == "call")
        except PtxSyntaxError as error:
            error.offset += stop
            error.resume = error.offset
            before = text[stop : error.offset]
            if text[error.offset : error.offset + 1] == "}" and before.count("{") > before.count("}"):
                error.resume += 1      # it closes a vector, not the block
            scope.unknown.clear()
            raise
        predicate = match.group("pred")
        guard = None
        if predicate is not None:
            found = scope.find(predicate)
            if found is None and special_register(predicate) is None:
                scope.pending.append((predicate, match.start("pred")))
            cls = "pred" if predicate == "%is_explicit_cluster" and found is None else ""
            register = found if isinstance(found, Register) else Register(predicate, cls)
            guard = Guard(register, match.group("neg") == "!")
        if scope.unknown:
            scope.pending.extend((name, start) for name in scope.unknown)
            scope.unknown.clear()
        line, column = self._source.place(start)
        begin = match.start("pred") if predicate is not None else start
        if predicate is not None:
            begin = text.rfind("@", 0, begin)
        body = self._source.original[begin : end + 1]
        last = line if "\n" not in body else self._source.line(end)
        self.statements.append(
            Instruction(line, column, guard, mnemonic, opcode, modifiers_, operands, body, last)
        )
        self._last_label = ""
        return end + 1

    def _label(self, match: re.Match[str]) -> int:
        name = match.group("label")
        line, column = self._source.place(match.start("label"))
        if not self._scope.declare_label(name):
            self._duplicate(name, line, column)
        self._last_label = name
        self.statements.append(LabelDef(name, line, column))
        return match.end()

    def _directive(self, offset: int) -> int:
        cursor = Cursor(self._text, offset)
        line, column = self._source.place(offset)
        name = cursor.take()
        linkage = ""
        if name in LINKAGE:
            linkage = name[1:]
            name = cursor.take()
        label, self._last_label = self._last_label, ""
        if name == ".reg":
            for decl in register_declaration(cursor, self._source):
                self._declare(decl)
        elif name in SPACES:
            for variable in variable_declaration(cursor, self._source, name[1:], linkage, ()):
                self.statements.append(variable)
                for symbol in variable_symbols(variable, "argument" if name == ".param" else "variable"):
                    if not self._scope.declare_symbol(symbol):
                        self._duplicate(symbol.name, variable.line, variable.column)
        elif name in (".pragma", ".branchtargets", ".calltargets", ".callprototype"):
            end = self._end_of(cursor)
            self.statements.append(
                Directive(name[1:], self._text[cursor.at : end].strip(), line, column, label)
            )
            return end + 1
        elif name in (".loc", ".file"):
            begin = cursor.at
            line_directive(cursor, name)
            self.statements.append(Directive(name[1:], self._text[begin : cursor.consumed].strip(), line, column))
        else:
            raise PtxSyntaxError("L005", f"unknown directive '{name}' in a function body", offset, len(name))
        return cursor.consumed

    def _end_of(self, cursor: Cursor) -> int:
        while cursor.value != ";" or cursor.kind != "punct":
            if cursor.kind == "end" or (cursor.value == "}" and cursor.kind == "punct"):
                raise cursor.error(f"expected ';' at the end of a directive, found {cursor.found}")
            cursor.take()
        return cursor.at

    def _declare(self, decl: RegisterDecl) -> None:
        self.statements.append(decl)
        if not self._scope.declare_register(decl):
            self._duplicate(decl.name, decl.line, decl.column)

    def _duplicate(self, name: str, line: int, column: int) -> None:
        span = self._source.span(0)
        span = type(span)(span.file, line, column, column + len(name))
        self._diagnostics.append(Diagnostic("L004", f"'{name}' is already declared in this block", span))

    def _close_block(self) -> None:
        """Names that are labels of the block are settled; the others may be labels of the one around it."""
        scope, parent = self._scope, self._scope.parent
        if parent is not None and scope.pending:
            parent.pending.extend(p for p in scope.pending if p[0] not in scope.labels)
            scope.pending.clear()

    def _undeclared(self) -> None:
        root = self._scope.parent
        assert root is not None
        pending = sorted(root.pending, key=lambda p: p[1])
        root.pending.clear()
        for name, offset in pending:
            span = self._source.span(offset)
            text = self._text
            at = text.find(name, offset)
            if 0 <= at < text.find(";", offset):
                span = self._source.span(at, len(name))
            self._diagnostics.append(Diagnostic("L003", f"nothing declares '{name}'", span))
