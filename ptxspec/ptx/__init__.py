"""PTX text: operands, parsing and linting of modules."""

from ptxspec.ptx.lexer import PtxError
from ptxspec.ptx.module import (
    Directive,
    Function,
    Instruction,
    LabelDef,
    Module,
    RegisterDecl,
    ScopeBegin,
    ScopeEnd,
    VariableDecl,
)
from ptxspec.ptx.parser import parse, parse_recovering

__all__ = [
    "Directive",
    "Function",
    "Instruction",
    "LabelDef",
    "Module",
    "PtxError",
    "RegisterDecl",
    "ScopeBegin",
    "ScopeEnd",
    "VariableDecl",
    "parse",
    "parse_recovering",
]
