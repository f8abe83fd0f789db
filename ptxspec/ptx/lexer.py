"""Tokens of PTX text: comments out, positions kept.

Bodies are mostly instructions, and those are cut by two regular expressions in :mod:`ptxspec.ptx.parser`; the
:class:`Cursor` here is for declarations and directives, which are few.
"""

from __future__ import annotations

import re
from bisect import bisect_right

from ptxspec.diagnostics import Diagnostic, PtxspecError, Span

IDENTIFIER = r"(?:[A-Za-z][\w$]*|[_$%][\w$]+|_)"
NUMBER = (
    r"(?:0[fF][0-9a-fA-F]{8}(?![0-9a-fA-F])|0[dD][0-9a-fA-F]{16}(?![0-9a-fA-F])|0[xX][0-9a-fA-F]+U?|0[bB][01]+U?"
    r"|\d+\.\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\d+U?)"
)
_COMMENT = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/|/\*', re.S)
_BLANK = re.compile(r"[^\n\t]")
_TOKEN = re.compile(
    rf'\s*(?:(?P<string>"(?:[^"\\\n]|\\.)*")|(?P<dot>\.[A-Za-z_]\w*(?:::\w+)*)|(?P<number>{NUMBER})'
    rf"|(?P<name>{IDENTIFIER})|(?P<punct><<|>>|<=|>=|==|!=|&&|\|\||::|[^\s\w]))"
)


class PtxSyntaxError(Exception):
    """Internal: a syntax error at ``offset``; the parser turns it into a diagnostic and goes on."""

    def __init__(self, code: str, message: str, offset: int, length: int = 1) -> None:
        super().__init__(message)
        self.code, self.message, self.offset, self.length = code, message, offset, length
        self.resume = offset      # from where the parser looks for a place to go on


class PtxError(PtxspecError):
    """PTX text that does not parse (codes L0xx)."""


def strip_comments(text: str) -> tuple[str, int]:
    """``text`` with comments blanked (same length, same lines), and the offset of an unterminated one or -1."""
    if "//" not in text and "/*" not in text:
        return text, -1
    unterminated = -1

    def blank(match: re.Match[str]) -> str:
        nonlocal unterminated
        found = match.group()
        if found[0] == '"':
            return found
        if found == "/*":
            unterminated = match.start() if unterminated < 0 else unterminated
            return "  "
        return _BLANK.sub(" ", found) if "\n" in found or "\t" in found else " " * len(found)

    return _COMMENT.sub(blank, text), unterminated


class Source:
    """Text with comments blanked, and the map from offsets to lines and columns."""

    def __init__(self, text: str, file: str) -> None:
        self.original = text
        self.file = file
        self.text, self.unterminated = strip_comments(text)
        self._starts = [0, *(m.end() for m in re.finditer("\n", text))]

    def line(self, offset: int) -> int:
        """1-based line of ``offset``."""
        return bisect_right(self._starts, offset)

    def place(self, offset: int) -> tuple[int, int]:
        """1-based line and column of ``offset``."""
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def span(self, offset: int, length: int = 1) -> Span:
        """The span of ``length`` characters at ``offset``."""
        line, column = self.place(min(offset, len(self.text)))
        return Span(self.file, line, column, column + max(1, length))

    def diagnostic(self, error: PtxSyntaxError) -> Diagnostic:
        """The diagnostic of a syntax error."""
        return Diagnostic(error.code, error.message, self.span(error.offset, error.length))


class Cursor:
    """A reader of tokens with one token of look-ahead: ``kind`` and ``value`` are the next token's, ``at`` its offset.

    ``kind`` is ``string``, ``dot`` (``.reg``), ``number``, ``name``, ``punct`` or ``end``.
    """

    def __init__(self, text: str, offset: int, end: int | None = None) -> None:
        self.text = text
        self.limit = len(text) if end is None or end < 0 else end
        self.kind, self.value, self.at, self.after, self.consumed = "", "", offset, offset, offset
        self._read(offset)

    def _read(self, offset: int) -> None:
        match = _TOKEN.match(self.text, offset, self.limit)
        if match is None:
            self.kind, self.value, self.at, self.after = "end", "", self.limit, self.limit
            return
        self.kind = match.lastgroup or "end"
        self.value = match.group(self.kind)
        self.at = match.start(self.kind)
        self.after = match.end()

    def take(self) -> str:
        """The next token's text; moves on."""
        value = self.value
        self.consumed = self.after
        self._read(self.after)
        return value

    def restart(self, offset: int) -> None:
        """Go on at ``offset``."""
        self.consumed = offset
        self._read(offset)

    def accept(self, value: str) -> bool:
        """Take the next token if it is ``value``."""
        if self.value == value and self.kind != "string":
            self.take()
            return True
        return False

    def expect(self, value: str, where: str) -> None:
        """Take ``value`` or raise a syntax error naming ``where``."""
        if not self.accept(value):
            raise self.error(f"expected '{value}' {where}, found {self.found}")

    def name(self, what: str) -> str:
        """Take an identifier or raise a syntax error naming ``what``."""
        if self.kind != "name":
            raise self.error(f"expected {what}, found {self.found}")
        return self.take()

    @property
    def found(self) -> str:
        """The next token, for messages."""
        return "the end of the file" if self.kind == "end" else f"'{self.value}'"

    def error(self, message: str, code: str = "L002") -> PtxSyntaxError:
        """A syntax error at the next token."""
        return PtxSyntaxError(code, message, self.at, len(self.value))
