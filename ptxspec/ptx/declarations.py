"""Declarations: registers, variables, parameters (PTX manual, "State Spaces, Types, and Variables")."""

from __future__ import annotations

from ptxspec.ptx.constant import expression
from ptxspec.ptx.lexer import Cursor, PtxSyntaxError, Source
from ptxspec.ptx.module import TYPE_BITS, RegisterDecl, VariableDecl

LINKAGE = frozenset({".extern", ".visible", ".weak", ".common"})
SPACES = frozenset({".global", ".const", ".shared", ".local", ".param", ".tex", ".reg"})
_SUBSPACES = frozenset({".shared::cta", ".shared::cluster", ".param::entry", ".param::func"})
_MAX_RANGE = 1 << 24
_LANES = {".v2": 2, ".v4": 4}
# Types that a declaration may have; the others (.bf16, .tf32, .u16x2 ...) are types of instructions only.
_DECLARED = frozenset({
    "pred", "b8", "b16", "b32", "b64", "b128", "u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64", "f16", "f16x2",
    "f32", "f64",
})
_OPAQUE = frozenset({"texref", "samplerref", "surfref"})


def _type(cursor: Cursor) -> str:
    name = cursor.value[1:]
    if cursor.kind != "dot" or (name not in _DECLARED and name not in _OPAQUE):
        if name in TYPE_BITS:
            raise cursor.error(f"'.{name}' is a type of instructions; nothing is declared with it")
        raise cursor.error(f"expected a type, found {cursor.found}")
    cursor.take()
    return name


def integer(cursor: Cursor, what: str) -> int:
    """A constant integer expression; a syntax error names ``what``."""
    at = cursor.at
    if cursor.kind not in ("number", "name") and cursor.value not in ("(", "-", "~", "!"):
        raise cursor.error(f"expected {what}, found {cursor.found}")
    value = expression(cursor)
    if isinstance(value, float):
        raise PtxSyntaxError("L002", f"{what} must be an integer", at, max(1, cursor.consumed - at))
    return value


def _fresh_name(cursor: Cursor, what: str) -> str:
    if cursor.value in ("_", "WARP_SZ"):
        raise cursor.error(f"expected {what}, found {cursor.found}")
    return cursor.name(what)


def register_declaration(cursor: Cursor, source: Source) -> list[RegisterDecl]:
    """``.reg [.v2|.v4] .type name[<count>], ...;`` with the cursor after ``.reg``."""
    lanes = 1
    cls = ""
    while cursor.kind == "dot":
        if cursor.value in _LANES:
            lanes = _LANES[cursor.take()]
        elif cls:
            raise cursor.error(f"unexpected {cursor.found} in a register declaration")
        else:
            cls = _type(cursor)
    if not cls or cls in _OPAQUE:
        raise cursor.error(f"expected a register type, found {cursor.found}")
    found: list[RegisterDecl] = []
    while True:
        line, column = source.place(cursor.at)
        name = _fresh_name(cursor, "a register name")
        count: int | None = None
        if cursor.accept("<"):
            at = cursor.at
            # The bracket of the range would read as a comparison, so only a plain constant is taken here.
            bound = Cursor(cursor.text, at, cursor.text.find(">", at))
            count = integer(bound, "the number of registers")
            if bound.kind != "end":
                raise bound.error(f"expected '>' after the number of registers, found {bound.found}")
            if not 0 < count <= _MAX_RANGE:
                raise PtxSyntaxError("L002", f"{count} is not a possible number of registers", at)
            cursor.restart(bound.limit)
            cursor.expect(">", "after the number of registers")
        found.append(RegisterDecl(name, cls, count, lanes, line, column))
        if cursor.accept(";"):
            return found
        cursor.expect(",", "or ';' in a register declaration")


def variable_declaration(
    cursor: Cursor, source: Source, space: str, linkage: str, attributes: tuple[str, ...]
) -> list[VariableDecl]:
    """``[.align n] [.v4] .type name[dims] [= init], ...;`` with the cursor after the state space."""
    align, lanes, kind, pointer, more = _prefix(cursor)
    found: list[VariableDecl] = []
    while True:
        found.append(_declarator(cursor, source, space, linkage, attributes + more, align, lanes, kind, pointer))
        if cursor.accept(";"):
            return found
        cursor.expect(",", "or ';' in a variable declaration")


def _prefix(cursor: Cursor) -> tuple[int, int, str, str | None, tuple[str, ...]]:
    align, lanes, kind = 0, 1, ""
    pointer: str | None = None
    attributes: list[str] = []
    while cursor.kind == "dot":
        value = cursor.value
        if value == ".align":
            cursor.take()
            align = _alignment(cursor)
        elif value == ".attribute":
            cursor.take()
            attributes.append(attribute(cursor))
        elif value in _LANES:
            lanes = _LANES[cursor.take()]
        elif value == ".ptr":
            cursor.take()
            pointer = _pointer(cursor)
        elif kind:
            raise cursor.error(f"unexpected {cursor.found} in a declaration")
        else:
            kind = _type(cursor)
    if not kind:
        raise cursor.error(f"expected a type, found {cursor.found}")
    return align, lanes, kind, pointer, tuple(attributes)


def _alignment(cursor: Cursor) -> int:
    at = cursor.at
    align = integer(cursor, "an alignment")
    if align <= 0 or align & (align - 1):
        raise PtxSyntaxError("L002", f"alignment {align} is not a power of two", at, max(1, cursor.consumed - at))
    return align


def _pointer(cursor: Cursor) -> str:
    words: list[str] = []
    while cursor.kind == "dot":
        if cursor.value in SPACES or cursor.value in _SUBSPACES:
            words.append(cursor.take()[1:])
        elif cursor.value == ".align":
            cursor.take()
            words.append(f"align{_alignment(cursor)}")
        else:
            break
    return ".".join(words)


def attribute(cursor: Cursor) -> str:
    """The text in the parentheses of ``.attribute(...)``."""
    cursor.expect("(", "after '.attribute'")
    depth, words = 1, []
    while depth:
        if cursor.kind == "end":
            raise cursor.error("expected ')' after '.attribute('")
        word = cursor.take()
        depth += {"(": 1, ")": -1}.get(word, 0)
        words.append(word)
    return "".join(words[:-1])


def _declarator(
    cursor: Cursor, source: Source, space: str, linkage: str, attributes: tuple[str, ...], align: int, lanes: int,
    kind: str, pointer: str | None,
) -> VariableDecl:
    start = cursor.at
    line, column = source.place(start)
    name = _fresh_name(cursor, "a name") if space != "param" or cursor.value != "_" else cursor.take()
    if kind == "pred" and space != "reg":
        raise PtxSyntaxError("L002", f"'{name}' is a predicate; only registers can be", start, len(name))
    dims: list[int] = []
    while cursor.accept("["):
        at = cursor.at
        extent = 0 if cursor.value == "]" else integer(cursor, "an array extent")
        if extent < 0 or (extent == 0 and dims):
            raise PtxSyntaxError("L002", "an array extent must be positive", at)
        dims.append(extent)
        cursor.expect("]", "after an array extent")
    count: int | None = None
    if cursor.accept("<"):
        bound = Cursor(cursor.text, cursor.at, cursor.text.find(">", cursor.at))
        count = integer(bound, "the number of names")
        if not 0 < count <= 4096:
            raise PtxSyntaxError("L002", f"{count} is not a possible number of names", cursor.at)
        cursor.restart(bound.limit)
        cursor.expect(">", "after the number of names")
    initializer = ""
    if cursor.accept("="):
        initializer = _initializer(cursor)
    if 0 in dims and linkage != "extern" and not initializer and space != "param":
        raise PtxSyntaxError("L002", f"'{name}' has no size and is not '.extern'", start, len(name))
    natural = max(1, TYPE_BITS[kind] // 8) * lanes
    # A parameterised variable name keeps its range in the name; nothing else of PTX can clash with "<".
    full = name if count is None else f"{name}<{count}>"
    return VariableDecl(full, space, kind, lanes, tuple(dims), align or natural, linkage, initializer, pointer,
                        attributes, line, column)


def _initializer(cursor: Cursor) -> str:
    start, depth = cursor.at, 0
    while True:
        value = cursor.value
        if cursor.kind == "end" or (value == ";" and cursor.kind == "punct"):
            if depth or cursor.at == start:
                raise cursor.error(f"expected an initial value, found {cursor.found}")
            break
        if cursor.kind == "punct":
            if value == "," and depth == 0:
                break
            depth += {"{": 1, "(": 1, "}": -1, ")": -1}.get(value, 0)
            if depth < 0:
                raise cursor.error(f"unexpected {cursor.found} in an initial value")
        cursor.take()
    return cursor.text[start : cursor.at].strip()


def parameters(cursor: Cursor, source: Source) -> tuple[VariableDecl, ...]:
    """``( .param .u64 .ptr .global .align 16 a, .reg .b32 r, ... )`` with the cursor at the parenthesis."""
    cursor.expect("(", "before parameters")
    found: list[VariableDecl] = []
    if cursor.accept(")"):
        return ()
    while True:
        if cursor.value not in (".param", ".reg"):
            raise cursor.error(f"expected '.param' or '.reg', found {cursor.found}")
        space = cursor.take()[1:]
        align, lanes, kind, pointer, attributes = _prefix(cursor)
        found.append(_declarator(cursor, source, space, "", attributes, align, lanes, kind, pointer))
        if cursor.accept(")"):
            return tuple(found)
        cursor.expect(",", "or ')' in a parameter list")


def line_directive(cursor: Cursor, name: str) -> None:
    """``.file 1 "a.cu" [, time, size]`` or ``.loc 1 5 3 [, function_name label [+ n], inlined_at 1 5 3]``: they have no
    semicolon, so they are read to their last word. The cursor is after the directive's name."""
    integer(cursor, "a file number")
    if name == ".file":
        if cursor.kind != "string":
            raise cursor.error(f"expected a file name, found {cursor.found}")
        cursor.take()
        while cursor.accept(","):
            integer(cursor, "a time or size")
        return
    for _ in range(2):
        if cursor.kind == "number":
            cursor.take()
    while cursor.accept(","):
        word = cursor.name("'function_name' or 'inlined_at'")
        if word == "function_name":
            cursor.name("a label")
            if cursor.accept("+"):
                integer(cursor, "an offset")
        elif word == "inlined_at":
            for _ in range(3):
                if cursor.kind == "number":
                    cursor.take()
        else:
            raise cursor.error(f"expected 'function_name' or 'inlined_at', found '{word}'")
