"""Operand rules of every other instruction, read from the database's description of its operands.

A line is fine if the operands fit one of the forms that its spelling can stand for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ptxspec.forms import OperandUse
from ptxspec.forms.defects import tolerated
from ptxspec.ptx.constant import evaluate
from ptxspec.ptx.element import Element, GroupError, element_of, fits_exactly, fits_memory, group_type, sum_fits
from ptxspec.ptx.module import TYPE_BITS, Instruction
from ptxspec.ptx.operand import (
    Address,
    Component,
    Immediate,
    Label,
    NotPredicate,
    Operand,
    Pair,
    Register,
    Sink,
    Special,
    Symbol,
    Vector,
)
from ptxspec.ptx.problem import Context, Problem, Shape
from ptxspec.ptx.rules_memory import GROUP_MESSAGES, judge_address
from ptxspec.ptx.rules_odd import BRAIN, judge_braces, judge_policy, without_minus, without_stray
from ptxspec.ptx.special import special_info

PACKED = frozenset({"f16x2", "bf16x2", "u16x2", "s16x2"})
_NO_CONSTANT = PACKED | {"f16", "bf16"}
_LETTER = {"p": "p", "b": "b", "u": "u", "s": "s", "f": "f", "t": "f", "e": "b"}
# Operands that take a plain integer register of their width and nothing cleverer.
_STRICT_MNEMONICS = frozenset({"bar", "barrier", "createpolicy"})
_SHIFTS = frozenset({"shl", "shr"})
# Instructions whose .pred form takes .f16x2 registers too (a slip of the assembler), as ``mov.pred`` does.
_LOGIC = frozenset({"and", "or", "xor", "not"})
_CVTA_SPACES = frozenset({"const", "global", "local", "shared", "param"})
_BARRIERS = frozenset({"bar", "barrier"})


def judge_generic(
    instruction: Instruction, forms: Sequence[Sequence[OperandUse]], context: Context
) -> list[Problem] | None:
    """What is wrong under the form that fits best; empty when one fits, None when no form has so many operands."""
    mnemonic, operands, words = instruction.mnemonic, instruction.operands, instruction.modifiers
    guarded = instruction.guard is not None
    odd: list[Problem] = []
    if mnemonic == "cvta" and "u32" in words and context.address_bits == 64:
        message = "'cvta.u32' converts 32-bit addresses, those of this module have 64 bits"
        odd = [Problem("L218", message, -1, context.refuses_narrow)]
        if context.refuses_narrow:
            return odd
    if mnemonic not in _BARRIERS:
        operands, minus = without_minus(operands)
        odd += minus
    if mnemonic == "atom":
        operands, stray = without_stray(operands, words)
        odd += stray
    best: list[Problem] | None = None
    for uses in forms:
        if len(uses) != len(operands):
            continue
        found = list(odd)
        for index, (use, operand) in enumerate(zip(uses, operands, strict=True)):
            found += _Position(mnemonic, use, index, guarded, context, words).judge(operand)
        if mnemonic == "createpolicy":
            found += judge_policy(operands, words)
        errors = sum(p.error for p in found)
        if not errors:
            return found
        if best is None or errors < sum(p.error for p in best):
            best = found
    return best


@dataclass(frozen=True, slots=True)
class _Position:
    """One operand's description, and where it stands."""

    mnemonic: str
    use: OperandUse
    index: int
    guarded: bool
    context: Context
    words: tuple[str, ...]

    @property
    def strict(self) -> bool:
        """A plain integer is wanted."""
        if self.use.name == "policy":
            return True
        if self.mnemonic in _STRICT_MNEMONICS:
            return self.use.type != "pred" and self.use.type[:1] != "f"
        return self.mnemonic in _SHIFTS and self.index == 2

    def problem(self, code: str, message: str, error: bool = True) -> list[Problem]:
        """One complaint about this operand."""
        return [Problem(code, message, self.index, error)]

    def judge(self, operand: Operand) -> list[Problem]:
        """What is wrong with ``operand`` here."""
        use, kinds = self.use, self.use.kinds
        if "address" in kinds and isinstance(operand, Address):
            space = "" if use.space == "generic" else use.space
            shape = Shape("b8", 1, space, False)
            # createpolicy only names a range of addresses; their size is not looked at.
            context = replace(self.context, address_bits=32) if self.mnemonic == "createpolicy" else self.context
            return judge_address(self.mnemonic, shape, operand, self.index, self.guarded, context)
        if isinstance(operand, Label) and ("label" in kinds or "function" in kinds):
            return []
        if isinstance(operand, Symbol):
            return self._symbol(operand)
        if isinstance(operand, Immediate):
            return self._constant(operand)
        if isinstance(operand, Vector):
            return self._vector(operand)
        if isinstance(operand, (Register, Component)):
            return self._register(operand)
        if isinstance(operand, Special) and use.role == "in":
            return self._special(operand)
        if isinstance(operand, NotPredicate) and use.type == "pred" and use.role == "in":
            return []
        if isinstance(operand, Sink) and self.index == 0 and self._discards:
            return []
        if isinstance(operand, Pair) and self.mnemonic == "setp" and self.index == 0:
            return self._pair(operand)
        return self._mismatch(operand)

    @property
    def _discards(self) -> bool:
        """May ``_`` stand for the whole destination?"""
        if self.use.lanes > 1:
            return self.mnemonic == "atom"
        return self.use.sink or self.mnemonic == "setp"

    def _mismatch(self, operand: Operand) -> list[Problem]:
        what = " or ".join(self.use.kinds) or "nothing"
        return self.problem("L219", f"operand '{self.use.name}' of '{self.mnemonic}' is a {what}; '{operand}' is not")

    def _pair(self, pair: Pair) -> list[Problem]:
        compared = next((w for w in self.words if w in TYPE_BITS), "")
        if compared in ("f16", "bf16") and not isinstance(pair.second, Sink):
            return self.problem("L219", f"'setp' with '.{compared}' has a single destination")
        for side in (pair.first, pair.second):
            if not isinstance(side, Sink) and not (isinstance(side, Register) and side.cls == "pred"):
                return self.problem("L201", f"'{side}' is not a predicate")
        return []

    def _symbol(self, symbol: Symbol) -> list[Problem]:
        use, kinds = self.use, self.use.kinds
        function = symbol.kind in ("function", "entry")
        if self.mnemonic == "cvta" and use.role == "in":
            return self._converted(symbol)
        if function and "function" in kinds:
            return []
        if "symbol" in kinds and not function:
            return []
        if use.role == "out" and symbol.kind == "register" and self._lost and sum_fits(symbol, "u", 64):
            return self.problem("L246", f"'{symbol}' is no register; the policy is lost", False)
        data = use.role == "in" and not {"register", "predicate"}.isdisjoint(kinds)
        if data and symbol.kind in ("register", "label") and symbol.form == "plus" and not self._routine:
            return self._sum(symbol)
        if data and function and self._takes_function and not symbol.form:
            return self.problem("L233", f"the address of '{symbol.name}' as a value is not in the manual", False)
        if not data or symbol.form != "plus":
            return self._mismatch(symbol)
        computed = self.mnemonic == "createpolicy" and "cvt" in self.words
        if computed or self._routine:
            return self._mismatch(symbol)
        if "immediate" in kinds and use.type[:1] in ("b", "u", "s") and use.type not in _NO_CONSTANT and not function:
            return self.problem("L234", f"'{symbol}' as a constant is not in the manual", False)
        return self._mismatch(symbol)

    @property
    def _lost(self) -> bool:
        """Does ``createpolicy`` take something that is no register as its destination?"""
        rules = ("constant-destination", *(["constant-destination-of-cvt"] if "cvt" in self.words else ()))
        return self.mnemonic == "createpolicy" and any(self._tolerated(rule) for rule in rules)

    def _sum(self, symbol: Symbol) -> list[Problem]:
        """The odd ``register+4``."""
        use = self.use
        bits = TYPE_BITS.get(use.type, 0)
        if use.type in PACKED or use.type in BRAIN:
            # Before 13.5, which takes a function's name here too, brain floats want their exact width.
            loose = use.type not in BRAIN or self._tolerated("function-as-brain")
            plain = symbol.kind == "register" and symbol.type[:1] == "b" and symbol.type not in BRAIN
            fits = plain and (loose or TYPE_BITS.get(symbol.type) == bits)
            fits = fits or (use.type == "f16x2" and symbol.kind == "register" and symbol.type == "f16x2")
        else:
            fits = sum_fits(symbol, _LETTER[use.type[:1] or "b"], bits if self.strict else 0)
        if self.mnemonic == "createpolicy" and not self.strict:
            fits = fits and TYPE_BITS.get(symbol.type) == bits  # a routine that wants exact widths
        if self.mnemonic == "createpolicy" and "range" in self.words and not self._tolerated("sum-in-range"):
            fits = False
        return self.problem("L234", f"'{symbol}' outside an address is not in the manual", not fits)

    @property
    def _takes_function(self) -> bool:
        """ptxas takes a function's name where a number is computed with, but not where it calls a routine for that."""
        use = self.use
        if self.strict or self.mnemonic in _STRICT_MNEMONICS or (use.type == "pred" and self.mnemonic not in _LOGIC):
            return False
        if use.type in BRAIN and not self._tolerated("function-as-brain"):
            return False
        return not self._routine

    def _tolerated(self, rule: str) -> bool:
        return tolerated(self.mnemonic, rule, self.context.toolkit, self.context.sm) is not None

    @property
    def _routine(self) -> bool:
        """The assembler calls a routine for it, and hands it registers and constants only."""
        if self.mnemonic in ("div", "rem") and self.use.type in ("u64", "s64"):
            return True
        directed = any(w in ("rz", "rm", "rp") for w in self.words)
        return directed and (self.mnemonic == "div" or (self.mnemonic == "sqrt" and self.use.type == "f64"))

    def _converted(self, symbol: Symbol) -> list[Problem]:
        """The source of ``cvta``: a variable of the space named, or (``cvta.to``) what stands for a number."""
        if symbol.kind in ("register", "label"):
            return self._sum(symbol)
        function = symbol.kind in ("function", "entry")
        if "to" in self.words:
            if (function and not symbol.form) or (symbol.form == "plus" and not function):
                return self.problem("L234", f"'{symbol}' as a generic address is not in the manual", False)
            return self._mismatch(symbol)
        space = next((w.partition("::")[0] for w in self.words if w.partition("::")[0] in _CVTA_SPACES), "")
        if function or symbol.space != space:
            return self.problem("L209", f"'{symbol.name}' does not lie in '.{space}'")
        return []

    def _special(self, special: Special) -> list[Problem]:
        info = special_info(special.name)
        if info is None or info.parts > 1:
            return self._mismatch(special)
        if "special" in self.use.kinds:
            return []
        types = [w for w in self.words if w in TYPE_BITS]
        if self.mnemonic == "cvt" and len(types) == 2 and all(t[0] in "us" for t in types):
            if TYPE_BITS[info.cls] >= TYPE_BITS[types[1]]:
                return self.problem("L232", f"'cvt' of the special register '{special}' is not in the manual", False)
        return self._mismatch(special)

    def _constant(self, constant: Immediate) -> list[Problem]:
        use = self.use
        truth = use.type == "pred" and self.mnemonic in ("selp", "setp") and constant.kind != "float"
        if truth and use.role == "in":
            return self.problem("L240", f"a constant such as '{constant}' for a predicate is not in the manual", False)
        if use.role == "out" and constant.kind != "float" and self._lost:
            return self.problem("L246", f"'{constant}' is no register; the policy is lost", False)
        if use.role != "in" or ("immediate" not in use.kinds and self.mnemonic != "cvta"):
            return self.problem("L206", f"operand '{use.name}' of '{self.mnemonic}' cannot be a constant")
        if use.type in _NO_CONSTANT:
            return self.problem("L205", f"'.{use.type}' operands cannot be constants")
        element = element_of(constant)
        bits = TYPE_BITS.get(use.type, 0)
        letter = "u" if self.strict else _LETTER[use.type[:1] or "b"]
        if element is not None and bits and not fits_exactly(letter, bits, element):
            kind = "an integer" if element.literal == "int" else "a floating-point constant"
            return self.problem("L205", f"'{constant}' is {kind}, which '.{use.type}' does not take")
        return self._barrier_number(constant) if self.mnemonic in _BARRIERS else []

    def _barrier_number(self, constant: Immediate) -> list[Problem]:
        if self.use.name not in ("a", "b"):
            return []
        value = int(evaluate(constant.text)) % (1 << 64)
        if self.index == 0 and value > 15:
            return self.problem("L241", f"barriers are numbered 0 to 15, {value} is written")
        if self.index == 1 and value % 32:
            return self.problem("L242", f"a barrier counts whole warps, {value} threads are not a multiple of 32")
        return []

    def _register(self, operand: Register | Component) -> list[Problem]:
        use = self.use
        if not {"register", "predicate"} & set(use.kinds):
            return self._mismatch(operand)
        if isinstance(operand, Component) and operand.register.lanes == 1:
            return self.problem("L219", f"'{operand}' selects a part of a register, as only video instructions do")
        element = element_of(operand)
        if element is None:
            return self.problem("L202", f"operand '{use.name}' is one value, '{operand}' is not")
        if not self._fits(element):
            return self.problem("L201", f"'{operand}' is of class .{element.cls}, which '.{use.type}' does not take")
        return []

    def _fits(self, element: Element) -> bool:
        use = self.use
        wanted = TYPE_BITS.get(use.type, 0)
        if not wanted:
            return True
        if self.strict:
            return element.kind in "bi" and element.bits == wanted
        letter = _LETTER[use.type[0]]
        if use.classes == "wide":
            if self.mnemonic == "cvt" and element.bits == 128 and {"ftz", "sat", "f64", "f32"} <= set(self.words):
                return False  # written as two instructions, one of which does not take it
            return fits_memory(letter, wanted, element, use.lanes)
        if letter == "p":
            return element.kind == "p" or (element.kind == "h" and self.mnemonic in _LOGIC)
        if use.type in PACKED:
            # A register for packed halves is .b32, or .f16x2 where those are meant.
            return element.bits == 32 and (element.kind == "b" or (element.kind == "h" and use.type != "bf16x2"))
        if use.type == "bf16":
            return element.kind == "b" and element.bits == 16
        return fits_exactly(letter, wanted, element, use.lanes)

    def _vector(self, operand: Vector) -> list[Problem]:
        use = self.use
        if use.lanes == 1 and use.type in BRAIN and self._tolerated("brain-in-braces"):
            return judge_braces(use, operand, self.index)
        if use.lanes == 1 and "vector" not in use.kinds:
            return self.problem("L202", f"operand '{use.name}' is one value, '{operand}' is a vector")
        if use.lanes > 1 and len(operand.elements) != use.lanes:
            count = len(operand.elements)
            return self.problem("L202", f"operand '{use.name}' has {use.lanes} elements, the vector has {count}")
        try:
            element = group_type(operand)
        except GroupError as error:
            rule, which = error.args
            return self.problem("L203", f"{GROUP_MESSAGES[rule]}, here '{operand.elements[which]}'")
        if not self._fits(element):
            return self.problem("L201", f"the elements of '{operand}' do not fit '.{use.type}'")
        return []
