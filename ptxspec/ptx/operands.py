"""Operand text to operand values, with a cache for each scope.

PTX manual, sections "Operands" and "Instruction Statements". What is well-formed but unknown becomes a
:class:`~ptxspec.ptx.operand.Label`; what is not well-formed raises :class:`PtxSyntaxError` with an offset into the
operand text.
"""

from __future__ import annotations

import re
from dataclasses import replace

from ptxspec.ptx.constant import expression, whole
from ptxspec.ptx.lexer import IDENTIFIER, Cursor, PtxSyntaxError
from ptxspec.ptx.operand import (
    Address,
    Component,
    Group,
    Immediate,
    Label,
    Negated,
    NotPredicate,
    Operand,
    Pair,
    Register,
    Sink,
    Special,
    Symbol,
    Vector,
)
from ptxspec.ptx.scope import Scope, special_register

_NAME = re.compile(IDENTIFIER + r"\Z")
_FLOAT = re.compile(r"(?:0[fF][0-9a-fA-F]{8}|0[dD][0-9a-fA-F]{16}|-?\d{1,30}\.\d{0,30})\Z")
_INTEGER = re.compile(r"-?(?:0[xX][0-9a-fA-F]+|[1-9]\d*|0)U?\Z")
_ADDRESS = re.compile(rf"\[\s*({IDENTIFIER})\s*(?:\+\s*(-?)\s*(0[xX][0-9a-fA-F]+|[1-9]\d*|0))?\s*\]\Z")
_DEPTH = re.compile(r"[\[\](){},|]")
_SINK = Sink()
_CLOSER = {"[": "]", "(": ")", "{": "}"}


def split_operands(text: str) -> list[tuple[str, int]]:
    """``text`` cut at its outermost commas: (piece, offset of the piece); raises on unbalanced brackets."""
    pieces: list[tuple[str, int]] = []
    stack: list[str] = []
    start = 0
    for match in _DEPTH.finditer(text):
        mark = match.group()
        if mark in _CLOSER:
            stack.append(_CLOSER[mark])
            if len(stack) > 8:
                raise PtxSyntaxError("L002", "brackets are nested too deeply", match.start())
        elif mark in "])}":
            if not stack or stack.pop() != mark:
                raise PtxSyntaxError("L002", f"unbalanced '{mark}'", match.start())
        elif mark == "," and not stack:
            pieces.append((text[start : match.start()], start))
            start = match.end()
    if stack:
        raise PtxSyntaxError("L002", f"expected '{stack[-1]}' before ';'", len(text))
    pieces.append((text[start:], start))
    return pieces


def parse_operands(text: str, scope: Scope, call: bool = False) -> tuple[Operand, ...]:
    """The operands in ``text`` (between opcode and semicolon); in a ``call`` a parenthesis opens a list."""
    cache = scope.cache
    if "{" not in text and "(" not in text:
        found: list[Operand] = []
        for piece in text.split(","):
            key = piece.strip()
            operand = cache.get(key)
            if operand is None:
                if not key or key.count("[") != key.count("]"):
                    break
                try:
                    operand = parse_operand(key, scope)
                except PtxSyntaxError:
                    break
                if not _mentions_unknown(operand):
                    cache[key] = operand
            found.append(operand)
        else:
            return tuple(found)
        # Something is wrong, or a comma stands in brackets: once more, with the places kept.
        scope.unknown.clear()
    operands: list[Operand] = []
    if not text.strip():
        return ()
    for piece, offset in split_operands(text):
        key = piece.strip()
        operand = cache.get(key)
        if operand is None:
            lead = offset + len(piece) - len(piece.lstrip())
            if not key:
                raise PtxSyntaxError("L002", "expected an operand", lead)
            try:
                if call and key[0] == "(":
                    operands.append(_whole_list(key, scope))
                    continue
                operand = parse_operand(key, scope)
            except PtxSyntaxError as error:
                error.offset += lead
                raise
            if not _mentions_unknown(operand):
                cache[key] = operand
        operands.append(operand)
    return tuple(operands)


def _mentions_unknown(operand: Operand) -> bool:
    if isinstance(operand, Label):
        return True
    if isinstance(operand, Address):
        return isinstance(operand.base, Label)
    if isinstance(operand, (Vector, Group)):
        return any(_mentions_unknown(e) for e in operand.elements)
    if isinstance(operand, Pair):
        return isinstance(operand.first, Label) or isinstance(operand.second, Label)
    return False


def parse_operand(text: str, scope: Scope) -> Operand:
    """One operand; ``text`` has no blanks around it."""
    if _NAME.match(text):
        return _named(text, scope)
    if _INTEGER.match(text):
        return Immediate(text)
    if _FLOAT.match(text):
        return Immediate(text, "float")
    match = _ADDRESS.match(text)
    if match is not None:
        name, sign, number = match.groups()
        offset = int(number, 0) if number else 0
        return Address(_base(name, scope), -offset if sign else offset)
    cursor = Cursor(text, 0)
    operand = _general(cursor, scope)
    if cursor.value == "|":
        cursor.take()
        second = _general(cursor, scope)
        if not isinstance(operand, (Register, Sink, Label, Vector)) or not isinstance(second, (Register, Sink, Label)):
            raise PtxSyntaxError("L002", "both sides of '|' must be registers or '_'", 0, len(text))
        operand = Pair(operand, second)
    if cursor.kind != "end":
        raise cursor.error(f"unexpected {cursor.found} in an operand")
    return operand


def _named(name: str, scope: Scope) -> Register | Symbol | Immediate | Special | Sink | Label:
    if name == "_":
        return _SINK
    found = scope.find(name)
    if found is not None:
        return found
    if name[0] == "%":
        special = special_register(name)
        if special is not None:
            return special
    if name == "WARP_SZ":
        return Immediate(name, "name")
    scope.unknown.append(name)
    return Label(name)


def _base(name: str, scope: Scope) -> Register | Symbol | Immediate | Label | Special:
    base = _named(name, scope)
    if isinstance(base, Sink):
        raise PtxSyntaxError("L002", "'_' is not an address", 0, 1)
    return base


def _general(cursor: Cursor, scope: Scope) -> Operand:
    if cursor.value == "{":
        return _vector(cursor, scope)
    if cursor.value == "[":
        return _bracket(cursor, scope)
    return _scalar(cursor, scope)


def _vector(cursor: Cursor, scope: Scope) -> Vector:
    cursor.take()
    elements = []
    while True:
        element = _scalar(cursor, scope)
        if isinstance(element, NotPredicate):
            raise cursor.error("'!' is not possible inside a vector")
        elements.append(element)
        if cursor.accept("}"):
            return Vector(tuple(elements))
        cursor.expect(",", "or '}' in a vector")


_Scalar = Register | Immediate | Sink | Symbol | Special | Label | NotPredicate | Component | Negated


def _scalar(cursor: Cursor, scope: Scope) -> _Scalar:
    start = cursor.at
    if cursor.value == "!" and cursor.kind == "punct":
        ahead = Cursor(cursor.text, cursor.after)
        if ahead.kind == "name" and ahead.value != "WARP_SZ":
            cursor.take()
            found = _named(cursor.take(), scope)
            register = found if isinstance(found, Register) else Register(str(found), "")
            return NotPredicate(register)
    if cursor.value == "-" and cursor.kind == "punct":
        ahead = Cursor(cursor.text, cursor.after)
        if ahead.kind == "name" and ahead.value != "WARP_SZ":
            cursor.take()
            inner = _reference(cursor, scope)
            if not isinstance(inner, (Register, Component, Special)):
                raise PtxSyntaxError("L002", "only a register can be negated", start)
            return Negated(inner)
    if cursor.kind == "name" and cursor.value != "WARP_SZ":
        return _reference(cursor, scope)
    value = expression(cursor)
    text = cursor.text[start : cursor.consumed].strip()
    kind = "float" if isinstance(value, float) else ("name" if text == "WARP_SZ" else "int")
    return Immediate(text, kind)


def _reference(cursor: Cursor, scope: Scope) -> _Scalar:
    at = cursor.at
    name = cursor.take()
    if cursor.kind == "dot" and cursor.value != ".unified":
        selector = cursor.take()[1:]
        special = special_register(f"{name}.{selector}")
        found = scope.find(name)
        if found is None and special is not None:
            return special
        if isinstance(found, Register):
            return Component(found, selector)
        if found is None:
            scope.unknown.append(f"{name}.{selector}")
            return Label(f"{name}.{selector}")
        raise PtxSyntaxError("L002", f"'{name}' has no component '.{selector}'", at, len(name))
    found2 = _named(name, scope)
    if isinstance(found2, (Register, Special)) and cursor.value == "+" and cursor.kind == "punct":
        # The assembler takes "register + constant" like "symbol + constant"; the manual knows only the latter.
        found2 = Symbol(name, "", 0, "register", getattr(found2, "cls", "b64"))
    if not isinstance(found2, (Symbol, Label)):
        return found2
    symbol = found2 if isinstance(found2, Symbol) else None
    if cursor.value == "[" and cursor.kind == "punct":
        if symbol is not None and not symbol.array:
            raise cursor.error(f"'{name}' is not an array")
        cursor.take()
        index = expression(cursor)
        if isinstance(index, float):
            raise cursor.error("an index must be an integer")
        cursor.expect("]", "after the index")
        return replace(symbol, offset=whole(index, at), form="element") if symbol else found2
    if cursor.value == "+" and cursor.kind == "punct":
        cursor.take()
        offset = expression(cursor)
        if isinstance(offset, float):
            raise cursor.error("an offset must be an integer")
        if symbol is None:
            return Symbol(name, "", whole(offset, at), "label", "", "plus")
        return replace(symbol, offset=whole(offset, at), form="plus")
    return found2


def _bracket(cursor: Cursor, scope: Scope) -> Address | Group:
    cursor.take()
    start = cursor.at
    if cursor.kind == "number" or (cursor.kind == "punct" and cursor.value not in "{["):
        value = expression(cursor)
        base: Register | Symbol | Immediate | Label | Special = Immediate(
            cursor.text[start : cursor.consumed].strip(), "float" if isinstance(value, float) else "int"
        )
        address = Address(base)
    elif cursor.kind == "name":
        name = cursor.take()
        base = _base(name, scope)
        if cursor.kind == "dot":
            raise cursor.error("an address takes no component such as '.x'")
        offset: int | float = 0
        if cursor.accept("+"):
            offset = expression(cursor)
            if isinstance(offset, float):
                raise PtxSyntaxError("L002", "an address offset must be an integer", start)
        elif cursor.value == "-":
            raise cursor.error("an address has no '-'; write '+-' and the constant")
        address = Address(base, int(offset))
    else:
        first = _general(cursor, scope)
        return _rest(cursor, (first,), scope)
    if cursor.value == ",":
        return _rest(cursor, (address.base if address.offset == 0 else address,), scope)
    cursor.expect("]", "at the end of an address")
    if cursor.value == ".unified":
        cursor.take()
        return replace(address, unified=True)
    return address


def _rest(cursor: Cursor, first: tuple[Operand, ...], scope: Scope) -> Group:
    elements = list(first)
    while cursor.accept(","):
        elements.append(_general(cursor, scope))
    cursor.expect("]", "at the end of a bracketed list")
    return Group(tuple(elements), "[")


def _whole_list(text: str, scope: Scope) -> Group:
    cursor = Cursor(text, 0)
    group = _list(cursor, scope)
    if cursor.kind != "end":
        raise cursor.error(f"unexpected {cursor.found} after a list")
    return group


def _list(cursor: Cursor, scope: Scope) -> Group:
    cursor.take()
    elements: list[Operand] = []
    if cursor.accept(")"):
        return Group(())
    while True:
        elements.append(_general(cursor, scope))
        if cursor.accept(")"):
            return Group(tuple(elements))
        cursor.expect(",", "or ')' in a list")
