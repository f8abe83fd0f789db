"""PTX text to a :class:`~ptxspec.ptx.module.Module` (PTX manual, "Syntax" and "Directives").

:func:`parse` raises on any error, with every error it could find; :func:`parse_recovering` hands out what it could
read together with the diagnostics, which is what the linter needs.
"""

from __future__ import annotations

import re

from ptxspec.diagnostics import Diagnostic, Span
from ptxspec.ptx.body import MAX_DIAGNOSTICS, BodyParser, variable_symbols
from ptxspec.ptx.declarations import (
    LINKAGE,
    SPACES,
    attribute,
    integer,
    line_directive,
    parameters,
    variable_declaration,
)
from ptxspec.ptx.lexer import Cursor, PtxError, PtxSyntaxError, Source
from ptxspec.ptx.module import Directive, Function, Module, RegisterDecl, VariableDecl
from ptxspec.ptx.operand import Symbol
from ptxspec.ptx.scope import Scope

_VERSION = re.compile(r"(\d+)\.(\d+)\Z")
_FUNCTION_DIRECTIVES = frozenset({
    ".maxnreg", ".maxntid", ".reqntid", ".minnctapersm", ".maxnctapersm", ".noreturn", ".pragma",
    ".reqnctapercluster", ".explicitcluster", ".maxclusterrank", ".blocksareclusters", ".abi_preserve",
    ".abi_preserve_control", ".local_maxnreg",
})


def parse(text: str, file: str = "<ptx>") -> Module:
    """Parse a module. Raises :class:`~ptxspec.ptx.lexer.PtxError` with all L-diagnostics found (line and column)."""
    module, diagnostics = parse_recovering(text, file)
    if diagnostics:
        raise PtxError(*diagnostics)
    return module


def parse_recovering(text: str, file: str = "<ptx>") -> tuple[Module, tuple[Diagnostic, ...]]:
    """Parse a module as far as possible: what was read, and the diagnostics of what was not."""
    # NVRTC hands out its PTX as a C string, and people write the NUL at its end into the file.
    reader = _ModuleParser(Source(text.rstrip("\0"), file))
    module = reader.parse()
    order = sorted(reader.diagnostics, key=lambda d: (d.span.line, d.span.column) if d.span else (0, 0))
    return module, tuple(order)


class _ModuleParser:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.diagnostics: list[Diagnostic] = []
        self._root = Scope(None)
        self._version = (0, 0)
        self._targets: list[str] = []
        self._address_size = 0
        self._variables: list[VariableDecl] = []
        self._functions: list[Function] = []
        self._directives: list[Directive] = []
        self._offset = 0
        self._extern: set[str] = set()
        self._defined: set[str] = set()

    def parse(self) -> Module:
        text = self.source.text
        if self.source.unterminated >= 0:
            self._report(PtxSyntaxError("L001", "comment is not terminated", self.source.unterminated, 2))
        if "\0" in text:
            self._report(PtxSyntaxError("L001", "NUL character in PTX text", text.index("\0")))
        while len(self.diagnostics) < MAX_DIAGNOSTICS:
            cursor = Cursor(text, self._offset)
            if cursor.kind == "end":
                break
            try:
                self._item(cursor)
            except PtxSyntaxError as error:
                self._report(error)
                self._offset = self._recover(max(error.offset, self._offset))
        if self._version == (0, 0) and not self.diagnostics:
            self._report(PtxSyntaxError("L006", "the module has no '.version' directive", 0))
        if not self._targets and not self.diagnostics:
            self._report(PtxSyntaxError("L006", "the module has no '.target' directive", 0))
        target = next((t for t in self._targets if t.startswith(("sm_", "compute_"))), "")
        return Module(
            self.source.file, self._version, target, tuple(t for t in self._targets if t != target),
            self._address_size or 32, tuple(self._variables), tuple(self._functions), tuple(self._directives),
        )

    def _report(self, error: PtxSyntaxError) -> None:
        self.diagnostics.append(self.source.diagnostic(error))

    def _recover(self, offset: int) -> int:
        """After an error between functions: go on at the next directive that starts a line."""
        match = re.compile(r"\n\s*(?=\.[A-Za-z])").search(self.source.text, offset)
        return match.end() if match else len(self.source.text)

    def _item(self, cursor: Cursor) -> None:
        start = cursor.at
        if cursor.value == "@" and self.source.text.startswith("@@DWARF", start):
            end = self.source.text.find("\n", start)
            self._offset = len(self.source.text) if end < 0 else end
            return
        if cursor.kind != "dot":
            raise cursor.error(f"expected a directive, found {cursor.found}")
        linkage = ""
        while cursor.value in LINKAGE:
            linkage = cursor.take()[1:]
        name = cursor.value
        if name in (".entry", ".func"):
            self._function(cursor, linkage)
        elif name in SPACES:
            cursor.take()
            self._variable(cursor, name[1:], linkage)
        elif name == ".version":
            self._version_directive(cursor)
        elif name == ".target":
            self._target_directive(cursor)
        elif name == ".address_size":
            cursor.take()
            at = cursor.at
            size = integer(cursor, "32 or 64")
            if size not in (32, 64):
                raise PtxSyntaxError("L002", f"address size {size} is neither 32 nor 64", at)
            self._address_size = size
        elif name == ".section":
            self._section(cursor)
            return
        elif name in (".file", ".loc"):
            line, column = self.source.place(cursor.at)
            cursor.take()
            begin = cursor.at
            line_directive(cursor, name)
            text = self.source.text[begin : cursor.consumed].strip()
            self._directives.append(Directive(name[1:], text, line, column))
        elif name in (".alias", ".pragma"):
            self._semicolon_directive(cursor)
        else:
            raise PtxSyntaxError("L005", f"unknown directive '{name}'", cursor.at, len(name))
        if name not in (".entry", ".func"):
            self._offset = cursor.consumed

    def _version_directive(self, cursor: Cursor) -> None:
        cursor.take()
        match = _VERSION.match(cursor.value) if cursor.kind == "number" else None
        if match is None:
            raise cursor.error(f"expected a version such as 9.0, found {cursor.found}", "L007")
        cursor.take()
        if self._version != (0, 0):
            raise cursor.error("a module has one '.version'", "L005")
        self._version = (int(match[1]), int(match[2]))

    def _target_directive(self, cursor: Cursor) -> None:
        cursor.take()
        while True:
            self._targets.append(cursor.name("a target such as sm_90"))
            if not cursor.accept(","):
                return

    def _variable(self, cursor: Cursor, space: str, linkage: str) -> None:
        if space == "reg":
            raise cursor.error("registers are declared inside a function body")
        for decl in variable_declaration(cursor, self.source, space, linkage, ()):
            self._variables.append(decl)
            if linkage == "extern":
                self._extern.add(decl.name)
            for symbol in variable_symbols(decl, "variable"):
                self._declare(symbol, decl.line, decl.column, linkage)

    def _declare(self, symbol: Symbol, line: int, column: int, linkage: str = "") -> None:
        before = self._root.names.get(symbol.name)
        self._root.declare_symbol(symbol)
        if before is not None and linkage != "extern" and symbol.name not in self._extern:
            span = Span(self.source.file, line, column, column + len(symbol.name))
            self.diagnostics.append(Diagnostic("L004", f"'{symbol.name}' is already declared", span))

    def _section(self, cursor: Cursor) -> None:
        line, column = self.source.place(cursor.at)
        cursor.take()
        begin = cursor.at
        brace = self.source.text.find("{", begin)
        end = self.source.text.find("}", brace)
        if brace < 0 or end < 0:
            raise cursor.error("expected '{' and '}' around the data of a section")
        name = self.source.text[begin:brace].strip()
        self._directives.append(Directive("section", name, line, column))
        self._offset = end + 1

    def _semicolon_directive(self, cursor: Cursor) -> None:
        line, column = self.source.place(cursor.at)
        name = cursor.take()[1:]
        begin = cursor.at
        while not cursor.accept(";"):
            if cursor.kind == "end":
                raise cursor.error(f"expected ';' after '.{name}'")
            cursor.take()
        text = self.source.text[begin : cursor.consumed - 1].strip()
        self._directives.append(Directive(name, text, line, column))
        if name == "alias":
            alias = text.split(",")[0].strip()
            self._root.declare_symbol(Symbol(alias, "", 0, "function"))

    def _function(self, cursor: Cursor, linkage: str) -> None:
        kind = cursor.take()[1:]
        attributes: list[str] = []
        while cursor.accept(".attribute"):
            attributes.append(attribute(cursor))
        returns: tuple[VariableDecl, ...] = ()
        if kind == "func" and cursor.value == "(":
            returns = parameters(cursor, self.source)
        line, column = self.source.place(cursor.at)
        name = cursor.name("a function name")
        params = parameters(cursor, self.source) if cursor.value == "(" else ()
        directives = self._function_directives(cursor)
        before = self._root.names.get(name)
        symbol = Symbol(name, "", 0, "entry" if kind == "entry" else "function")
        if before is None or (before == symbol and name not in self._defined):
            self._root.declare_symbol(symbol)
        else:
            self._declare(symbol, line, column)
        if cursor.value == "{":
            self._defined.add(name)
        body = None
        if cursor.value == ";":
            cursor.take()
            self._offset = cursor.consumed
        elif cursor.value == "{":
            scope = self._function_scope(returns, params)
            reader = BodyParser(self.source, scope, self.diagnostics)
            reader.parse(cursor.after)
            self._offset = reader.offset
            body = tuple(reader.statements)
        else:
            raise cursor.error(f"expected '{{' or ';' after a function head, found {cursor.found}")
        self._functions.append(
            Function(name, kind, linkage, returns, params, directives, body, line, column, tuple(attributes))
        )

    def _function_scope(self, returns: tuple[VariableDecl, ...], params: tuple[VariableDecl, ...]) -> Scope:
        scope = Scope(self._root)
        for kind, decls in (("result", returns), ("parameter", params)):
            for decl in decls:
                if decl.name == "_":
                    continue
                if decl.space == "reg":
                    fresh = scope.declare_register(
                        RegisterDecl(decl.name, decl.type, None, decl.lanes, decl.line, decl.column)
                    )
                else:
                    fresh = all(scope.declare_symbol(s) for s in variable_symbols(decl, kind))
                if not fresh:
                    span = Span(self.source.file, decl.line, decl.column, decl.column + len(decl.name))
                    self.diagnostics.append(Diagnostic("L004", f"'{decl.name}' is already declared", span))
        # Parameters and locals share one block for ptxas too: a register of a parameter's name is a duplicate.
        return scope

    def _function_directives(self, cursor: Cursor) -> tuple[Directive, ...]:
        found: list[Directive] = []
        while cursor.kind == "dot":
            name = cursor.value
            if name == ".attribute":
                cursor.take()
                attribute(cursor)
                continue
            if name not in _FUNCTION_DIRECTIVES:
                raise PtxSyntaxError("L005", f"unknown directive '{name}' before a function body", cursor.at, len(name))
            line, column = self.source.place(cursor.at)
            cursor.take()
            begin = cursor.at
            while cursor.kind in ("number", "string") or cursor.value in (",", "(", ")", "+", "-", "*"):
                cursor.take()
            text = self.source.text[begin : max(begin, cursor.consumed)].strip()
            if name == ".pragma":
                cursor.expect(";", "after '.pragma'")
            found.append(Directive(name[1:], text, line, column))
        return tuple(found)


__all__ = ["parse", "parse_recovering"]
