"""Names and data flow inside one form: what semantics and obligations read, set and cover (S040, S046, S047)."""

from __future__ import annotations

from collections.abc import Iterator

from ptxspec.db.link import LinkedForm, LinkedInstruction
from ptxspec.db.load import Specs
from ptxspec.db.terms import step_fields
from ptxspec.diagnostics import Diagnostic
from ptxspec.forms.table import Expression
from ptxspec.source import Path
from ptxspec.spec.condition import Condition
from ptxspec.spec.expression import Arithmetic, IntExpr, TypeOf

_VALUE_FIELDS = ("value", "compare", "lane", "clamp", "mask", "symbol", "name", "id", "count", "at", "target")
_ACCESS = {"read": "read", "write": "write", "combine": "combine"}


def check_values(instruction: LinkedInstruction, form: LinkedForm, specs: Specs) -> Iterator[Diagnostic]:
    """All problems of one form's operands, semantics and obligations."""
    yield from _Checker(instruction, form, specs).problems()


class _Checker:
    def __init__(self, instruction: LinkedInstruction, form: LinkedForm, specs: Specs) -> None:
        self.instruction, self.form, self.specs = instruction, form, specs
        self.spec, self.document = instruction.entry.spec, instruction.entry.document
        self.slots = {s.name for s in form.spec.slots}
        self.operands = {o.name for o in form.spec.operands}

    def at(self, code: str, message: str, *path: str | int) -> Diagnostic:
        return Diagnostic(code, message, self.document.span((*self.form.path, *path)))

    def problems(self) -> Iterator[Diagnostic]:
        yield from self.names()
        yield from self.flow()
        yield from self.cover()

    def names(self) -> Iterator[Diagnostic]:
        """S040: slots, attributes, lets, types that do not resolve."""
        for i, operand in enumerate(self.form.spec.operands):
            path: Path = ("operands", i)
            yield from self.slot_of(operand.type, *path, "type")
            yield from self.slot_of(operand.space, *path, "space")
            if isinstance(operand.type, str) and operand.type and operand.type not in self.specs.vocabulary.types.types:
                yield self.at("S040", f"there is no type `{operand.type}`", *path, "type")
            if not isinstance(operand.lanes, tuple):
                yield from self.integer(operand.lanes, *path, "lanes")
            yield from self.condition(operand.present, *path, "present")
        for i, step in enumerate(self.form.spec.semantics):
            yield from self.condition(step.when, "semantics", i, "when")
            for name in type(step).model_fields:
                value = getattr(step, name)
                yield from self.slot_of(value, "semantics", i, name)
                if isinstance(value, Arithmetic) or (name in ("bytes",) and isinstance(value, str)):
                    yield from self.integer(value, "semantics", i, name)
        for i, goal in enumerate(self.form.spec.obligations):
            yield from self.condition(goal.when, "obligations", i, "when")
            yield from self.integer(goal.bytes, "obligations", i, "bytes")
            yield from self.integer(goal.to, "obligations", i, "to")
            yield from self.slot_of(goal.space, "obligations", i, "space")
            if goal.at is not None and goal.at not in self.operands:
                yield self.at("S040", f"there is no operand `{goal.at}`", "obligations", i, "at")

    def slot_of(self, value: object, *path: str | int) -> Iterator[Diagnostic]:
        """A term that follows a slot must name one of the form."""
        for field in ("slot", "wide", "part", "has"):
            name = getattr(value, field, None)
            if isinstance(name, str) and name not in self.slots:
                yield self.at("S040", f"the form has no slot `{name}`", *path)
            elif isinstance(name, str) and isinstance(value, TypeOf):
                yield from self.types_of(field, name, *path)

    def types_of(self, field: str, name: str, *path: str | int) -> Iterator[Diagnostic]:
        """Every word of a slot that stands for a type must be one (and have a type of twice the width)."""
        types = self.specs.vocabulary.types.types
        for value in self.words_of(name):
            if value not in types or (field == "wide" and f"{value[0]}{types[value].bits * 2}" not in types):
                yield self.at("S040", f"`{value}` is no type, or has none of twice its width", *path)

    def words_of(self, name: str) -> tuple[str, ...]:
        """All words of a slot, the absent one included."""
        slot = self.form.slot(name)
        assert slot is not None
        return (*slot.values, *((slot.absent,) if slot.absent is not None else ("",) if slot.optional else ()))

    def condition(self, condition: Condition | None, *path: str | int) -> Iterator[Diagnostic]:
        """Names in a condition."""
        from ptxspec.db.link import Linker

        linker = Linker(self.instruction.entry, self.specs)
        linker.condition(condition, self.form.spec, (self.form.spec.id,), (*self.form.path, *path))
        yield from linker.problems

    def integer(self, expression: IntExpr, *path: str | int, seen: tuple[str, ...] = ()) -> Iterator[Diagnostic]:
        """Names in an integer expression; ``let`` must not go in circles."""
        if isinstance(expression, str):
            if expression not in self.spec.let or expression in seen:
                yield self.at("S040", f"there is no `let` called `{expression}`", *path)
            else:
                yield from self.integer(self.spec.let[expression], *path, seen=(*seen, expression))
        elif isinstance(expression, Arithmetic):
            if expression.attr is not None:
                name, attribute = expression.attr.split(".")
                if name not in self.slots and not (name in self.operands and attribute == "lanes"):
                    yield self.at("S040", f"`{expression.attr}`: there is no slot or operand `{name}`", *path)
                elif name in self.slots and name not in self.operands:
                    known = (
                        self.specs.vocabulary.words.vectors
                        if attribute == "lanes"
                        else self.specs.vocabulary.types.types
                    )
                    for value in self.words_of(name):
                        if value not in known:
                            yield self.at("S040", f"`{expression.attr}`: `{value}` has no {attribute}", *path)
            for operator in ("mul", "add", "sub", "div", "mod", "min"):
                for part in getattr(expression, operator) or ():
                    yield from self.integer(part, *path, seen=seen)

    def flow(self) -> Iterator[Diagnostic]:
        """S046: a value that is read before it is set, an output that no step sets, an input that is overwritten."""
        defined = {o.name for o in self.form.spec.operands if o.role != "out"}
        results = {o.name for o in self.form.spec.operands if o.role != "in"}
        written: set[str] = set()
        for i, step in enumerate(self.form.spec.semantics):
            fields = dict(step_fields(step, self.spec.let))
            for name, value in fields.items():
                for used in _used(name, value):
                    if used not in defined:
                        yield self.at("S046", f"`{used}` is read before any step has set it", "semantics", i)
            into = fields.get("into")
            if isinstance(into, str):
                if into in self.operands and into not in results:
                    yield self.at("S046", f"the operand `{into}` is an input and cannot be set", "semantics", i)
                defined.add(into)
                written.add(into)
        for name in sorted(results - written):
            yield self.at("S046", f"no step sets the output `{name}`", "semantics")

    def cover(self) -> Iterator[Diagnostic]:
        """S047: each read, write and combine needs an `aligned` and an `in-bounds` goal at the same operand, for at
        least as many bytes and always. This is what makes "proved" mean something."""
        for i, step in enumerate(self.form.spec.semantics):
            if step.do not in _ACCESS:
                continue
            fields = dict(step_fields(step, self.spec.let))
            goals = [
                g
                for g in self.form.spec.obligations
                if g.at == fields["at"] and (g.when is None or g.when == step.when)
            ]
            bounds = [g for g in goals if g.prove == "in-bounds" and g.access == _ACCESS[step.do]]
            if not any(g.bytes == getattr(step, "bytes", g.bytes) for g in bounds):
                yield self.at("S047", f"no `in-bounds` goal covers this {step.do} of `{fields['at']}`", "semantics", i)
            if not any(g.prove == "aligned" for g in goals):
                yield self.at("S047", f"no `aligned` goal covers this {step.do} of `{fields['at']}`", "semantics", i)


def _used(name: str, value: Expression) -> Iterator[str]:
    """Names of values that an argument reads."""
    if name == "args" and isinstance(value, tuple):
        yield from (v for v in value[1:] if isinstance(v, str))
    elif name in _VALUE_FIELDS and isinstance(value, str):
        yield value
