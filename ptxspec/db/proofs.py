"""Proofs about the database: the generated code decides exactly what the specs say, and what every user relies on.

The generated Python is parsed with ``ast`` and translated to Z3 node by node; what the translation does not know is an
error, never a success. Each claim is proved for every assignment of words, PTX version and target.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import z3

from ptxspec.db.formula import Space, solve
from ptxspec.db.link import LinkedForm, LinkedInstruction
from ptxspec.db.load import Specs
from ptxspec.db.logic import Logic
from ptxspec.db.tables import Bits
from ptxspec.forms.registry import module_file

Term = z3.BoolRef | z3.ArithRef | int | bool | str | tuple[str, ...]


@dataclass(frozen=True)
class Claim:
    """One proved or refuted claim; ``counterexample`` is a spelling with its machine."""

    mnemonic: str
    form: str
    claim: str
    holds: bool
    counterexample: str = ""


class Untranslatable(Exception):
    """Generated code has a construct that the translation does not know."""


def functions(source: str) -> dict[str, ast.FunctionDef]:
    """The functions of a generated module."""
    return {node.name: node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)}


class Words:
    """Expressions of the selector: comparisons of words, of ``ptx``, ``sm`` and ``target``."""

    def __init__(self, space: Space, form: LinkedForm) -> None:
        self.space, self.form = space, form

    def boolean(self, node: ast.expr) -> z3.BoolRef:
        """A Boolean expression."""
        if isinstance(node, ast.BoolOp):
            parts = [self.boolean(v) for v in node.values]
            return z3.And(*parts) if isinstance(node.op, ast.And) else z3.Or(*parts)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return z3.Not(self.boolean(node.operand))
        if isinstance(node, ast.Constant) and isinstance(node.value, bool):
            return z3.BoolVal(node.value)
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.left, ast.Name):
            return self.compare(node.left.id, node.ops[0], ast.literal_eval(node.comparators[0]))
        raise Untranslatable(ast.unparse(node))

    def compare(self, name: str, op: ast.cmpop, value: object) -> z3.BoolRef:
        """``name op constant``."""
        if name in ("ptx", "sm") and isinstance(value, int):
            number = self.space.ptx if name == "ptx" else self.space.sm
            if isinstance(op, ast.GtE):
                return number >= value
            if isinstance(op, ast.Lt):
                return number < value
        elif isinstance(op, ast.In | ast.Eq):
            return z3.Or(*(self.word(name, v) for v in (value if isinstance(value, tuple) else (value,))))
        elif isinstance(op, ast.NotIn | ast.NotEq):
            return z3.Not(z3.Or(*(self.word(name, v) for v in (value if isinstance(value, tuple) else (value,)))))
        raise Untranslatable(f"{name} {type(op).__name__} {value!r}")

    def word(self, name: str, value: object) -> z3.BoolRef:
        """The variable equals this word; ``""``: no word of the slot is written."""
        if name == "target":
            return self.space.target[str(value)]
        if value == "":
            return z3.Not(z3.Or(*(var for (slot, _), var in self.space.word.items() if slot == name)))
        return self.space.word[name, str(value)]


class Masks:
    """Expressions of the tables: bits of the spelling ``m``."""

    def __init__(self, space: Space) -> None:
        bits = Bits(space.instruction)
        self.variables = [(bit, space.word[key]) for key, bit in bits.bit.items()]

    def boolean(self, node: ast.expr) -> z3.BoolRef:
        """A Boolean expression."""
        if isinstance(node, ast.BoolOp):
            parts = [self.boolean(v) for v in node.values]
            return z3.And(*parts) if isinstance(node.op, ast.And) else z3.Or(*parts)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return z3.Not(self.boolean(node.operand))
        if isinstance(node, ast.Constant) and isinstance(node.value, bool):
            return z3.BoolVal(node.value)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd) and isinstance(node.left, ast.Name):
            mask = ast.literal_eval(node.right)
            return z3.Or(*(var for bit, var in self.variables if bit & mask))
        raise Untranslatable(ast.unparse(node))

    def condition(self, node: ast.expr) -> z3.BoolRef:
        """``None`` (always), or a lambda over ``m``."""
        if isinstance(node, ast.Constant) and node.value is None:
            return z3.BoolVal(True)
        if isinstance(node, ast.Lambda) and [a.arg for a in node.args.args] == ["m"]:
            return self.boolean(node.body)
        raise Untranslatable(ast.unparse(node))

    def broken(self, function: ast.FunctionDef, rules: int) -> list[z3.BoolRef]:
        """``_broken``: one formula for each rule bit."""
        out = [z3.BoolVal(False)] * rules
        first, *ifs, last = function.body
        if ast.unparse(first) != "b = 0" or ast.unparse(last) != "return b":
            raise Untranslatable(function.name)
        for node in ifs:
            if not (
                isinstance(node, ast.If)
                and len(node.body) == 1
                and not node.orelse
                and isinstance(node.body[0], ast.AugAssign)
                and isinstance(node.body[0].op, ast.BitOr)
            ):
                raise Untranslatable(ast.unparse(node))
            bit = ast.literal_eval(node.body[0].value)
            out[bit.bit_length() - 1] = self.boolean(node.test)
        return out

    def floor(self, function: ast.FunctionDef) -> tuple[z3.ArithRef, z3.ArithRef]:
        """``_floor``: the pair (ptx, sm) as terms."""
        first, *ifs, last = function.body
        if not isinstance(first, ast.Assign) or ast.unparse(last) != "return (p, s)":
            raise Untranslatable(function.name)
        p, s = (z3.IntVal(n) for n in ast.literal_eval(first.value))
        values = {"p": p, "s": s}
        for node in ifs:
            if not isinstance(node, ast.If) or node.orelse:
                raise Untranslatable(ast.unparse(node))
            test = self.boolean(node.test)
            for inner in node.body:
                name, bound = _raise(inner)
                values[name] = z3.If(z3.And(test, values[name] < bound), z3.IntVal(bound), values[name])
        return values["p"], values["s"]


def _raise(node: ast.stmt) -> tuple[str, int]:
    """``if p < 88: p = 88`` as ``("p", 88)``."""
    if isinstance(node, ast.If) and len(node.body) == 1 and not node.orelse:
        for name in ("p", "s"):
            assign = node.body[0]
            if isinstance(assign, ast.Assign) and isinstance(node.test, ast.Compare):
                bound = ast.literal_eval(assign.value)
                if ast.unparse(node) == f"if {name} < {bound}:\n    {name} = {bound}":
                    return name, int(bound)
    raise Untranslatable(ast.unparse(node))


def table_forms(source: str) -> list[dict[str, ast.expr]]:
    """The keyword arguments of each ``FormTable(...)`` in ``TABLE``."""
    found = [n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Call) and ast.unparse(n.func) == "FormTable"]
    return [{k.arg: k.value for k in call.keywords if k.arg} for call in found]


def calls(node: ast.expr) -> list[ast.Call]:
    """The elements of a tuple of calls."""
    if not isinstance(node, ast.Tuple) or not all(isinstance(e, ast.Call) for e in node.elts):
        raise Untranslatable(ast.unparse(node)[:80])
    return [e for e in node.elts if isinstance(e, ast.Call)]


def condition_in(call: ast.Call) -> ast.expr:
    """The one argument that is a condition: a lambda, or ``None``."""
    found = [a for a in call.args if isinstance(a, ast.Lambda) or (isinstance(a, ast.Constant) and a.value is None)]
    if len(found) != 1:
        raise Untranslatable(ast.unparse(call)[:80])
    return found[0]


def conditions_of(space: Space, form: LinkedForm) -> dict[str, list[Logic]]:
    """The conditions that the specs give to the parts of a form's table."""
    renderer = space.renderer
    return {
        "floors": [f.when for f in form.floors],
        "findings": [f.when for f in form.findings],
        "operands": renderer.presence(form),
        "steps": renderer.conditions(form, "semantics"),
        "obligations": renderer.conditions(form, "obligations"),
    }


def prove(instruction: LinkedInstruction, specs: Specs, table: str, selector: str) -> list[Claim]:
    """All claims of one mnemonic, about these texts of its table and selector."""
    space = Space(instruction, specs)
    tables, decisions = functions(table), functions(selector)
    masks = Masks(space)
    out: list[Claim] = []

    def claim(form: LinkedForm, text: str, *negation: z3.BoolRef) -> None:
        model = solve(*negation)
        shown = (
            "" if model is None else f"{space.spelling(model)} ptx={model.eval(space.ptx)} sm={model.eval(space.sm)}"
        )
        out.append(Claim(instruction.mnemonic, form.spec.id, text, model is None, shown))

    for i, form in enumerate(instruction.forms):
        words = space.words(form)
        broken = masks.broken(tables[f"_broken_{i}"], len(form.rules))
        for rule, mine, theirs in zip(form.rules, space.violated(form), broken, strict=True):
            claim(form, f"the table applies {rule.spec.id} as written", words, mine != theirs)
        p, s = masks.floor(tables[f"_floor_{i}"])
        reached = z3.And(p <= space.ptx, s <= space.sm)
        claim(
            form, "the table's floor is the maximum of the floors", words, reached != space.floors(form, limits=False)
        )
        later = z3.And(
            space.floors(form, limits=False),
            z3.Not(
                z3.substitute(
                    space.floors(form, limits=False),
                    (space.ptx, space.ptx + z3.Int("more")),
                    (space.sm, space.sm + z3.Int("larger")),
                )
            ),
        )
        claim(
            form,
            "what is legal stays legal on later machines",
            words,
            z3.Int("more") >= 0,
            z3.Int("larger") >= 0,
            later,
        )
        literal = table_forms(table)[i]
        for part, conditions in conditions_of(space, form).items():
            lambdas = [condition_in(call) for call in calls(literal[part])]
            for n, (mine, theirs) in enumerate(zip(conditions, lambdas, strict=True)):
                text = f"{part} {n} of the table has the condition of the specs"
                claim(form, text, words, space.logic(mine, form) != masks.condition(theirs))
        allowed = z3.Not(z3.Or(*(var for bit, var in masks.variables if bit & ~ast.literal_eval(literal["allowed"]))))
        needs = [z3.Or(*(v for b, v in masks.variables if b & need)) for need in ast.literal_eval(literal["required"])]
        single = [z3.PbLe([(space.word[n, v], 1) for v in vs], 1) for n, vs in instruction.values.items()]
        claim(form, "the table's words are the form's", *single, z3.And(allowed, *needs) != words)
        if form.spec.documented:
            claim(form, "the selector decides as the specs say", *_selector(space, form, decisions[f"_decide_{i}"]))
    return out


def _selector(space: Space, form: LinkedForm, function: ast.FunctionDef) -> tuple[z3.BoolRef, ...]:
    """The negation of: the decision equals the formula. Words range over all that the selector can be asked: at most
    one word of each of the form's slots, necessary or not, and no others."""
    statement = function.body[-1]
    assert isinstance(statement, ast.Return) and statement.value is not None
    decided = Words(space, form).boolean(statement.value)
    asked: list[z3.BoolRef] = []
    for name, values in space.instruction.values.items():
        if form.slot(name) is None:
            asked += [z3.Not(space.word[name, v]) for v in values]
        else:
            asked.append(z3.PbLe([(space.word[name, v], 1) for v in values], 1))
    return (*asked, space.machine(), decided != space.legal(form))


def prove_all(
    linked: Mapping[str, LinkedInstruction],
    specs: Specs,
    tables: Mapping[str, str],
    selectors: Mapping[str, str],
    progress: Callable[[str], None] = lambda _: None,
) -> list[Claim]:
    """The claims of every mnemonic."""
    out: list[Claim] = []
    for mnemonic, instruction in linked.items():
        progress(mnemonic)
        out += prove(instruction, specs, tables[module_file(mnemonic)], selectors[module_file(mnemonic)])
    return out
