"""Why a spelling is refused, by the solver: the smallest set of words and rules that cannot stand together.

The words that are written are kept; words that are not written are free. Either something can be added to make the
spelling legal (``completions``), or some of the words exclude each other: an unsat core over words, rules and floors
with as few rules as possible.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import z3

from ptxspec.db.formula import RESOURCES, Space
from ptxspec.db.link import LinkedForm, LinkedInstruction, link
from ptxspec.db.load import Specs, read
from ptxspec.diagnostics import Diagnostic, Note, Span
from ptxspec.forms.parse import parse, words_of
from ptxspec.forms.target import machine, text

MOST_COMPLETIONS = 3


@dataclass(frozen=True, slots=True)
class Reason:
    """One member of a conflict: its sentence and its place in the specs."""

    id: str
    sentence: str
    span: Span


@dataclass(frozen=True, slots=True)
class Conflict:
    """For one form: the words that exclude each other and the reasons; or the spellings that keep all words."""

    form: str
    words: tuple[str, ...]
    reasons: tuple[Reason, ...]
    completions: tuple[str, ...]

    def render(self) -> str:
        """One or more lines."""
        if self.completions:
            return f"{self.form}: with more words it is legal: {', '.join(self.completions)}"
        written = " and ".join(f"`.{w}`" for w in self.words) or "the form"
        lines = [
            f"{self.form}: {written} cannot stand together"
            if len(self.words) > 1
            else f"{self.form}: not with {written}"
        ]
        lines += [f"  {r.id}: {r.sentence}  ({r.span.file}:{r.span.line})" for r in self.reasons]
        return "\n".join(lines)


@lru_cache(maxsize=1)
def _linked() -> tuple[Specs, dict[str, LinkedInstruction]]:
    specs = read()
    return specs, dict(link(specs))


def explain(opcode: str, sm: str = "sm_90", ptx: str | None = None) -> tuple[Conflict, ...]:
    """One conflict for each form that knows all the words; empty for a legal opcode, and for one whose words are not
    all known (the checker's message says it then)."""
    parsed = parse(opcode)
    if parsed.table is None or parsed.code:
        return ()
    specs, linked = _linked()
    instruction = linked.get(parsed.table.mnemonic)
    if instruction is None:  # from PTXSPEC_TABLES: its specs are not here
        return ()
    words = words_of(parsed.table, parsed.mask)
    out: list[Conflict] = []
    for form in instruction.forms:
        own = {(slot.name, value) for slot in form.spec.slots for value in slot.values}
        known = own.issuperset(words)
        if form.spec.documented and known:
            conflict = _Question(instruction, specs, form, words, sm, ptx).answer()
            if conflict is None:
                return ()
            out.append(conflict)
    # The form with the fewest reasons is the one that was most likely meant.
    return tuple(sorted(out, key=lambda c: (not c.completions, len(c.reasons), len(c.words))))


class _Question:
    """The assumptions of one form: a Boolean for each word of the user, each rule and each floor."""

    def __init__(
        self,
        instruction: LinkedInstruction,
        specs: Specs,
        form: LinkedForm,
        words: list[tuple[str, str]],
        sm: str,
        ptx: str | None,
    ) -> None:
        self.space, self.form, self.words = Space(instruction, specs), form, words
        here = machine(sm, ptx)
        space = self.space
        self.solver = z3.Solver()
        self.solver.set("rlimit", RESOURCES)
        self.solver.set("random_seed", 0)
        self.solver.add(space.words(form), space.ptx == here.ptx, space.sm == here.sm)
        self.solver.add(*(var if name == here.name else z3.Not(var) for name, var in space.target.items()))
        self.reasons: dict[str, Reason] = {}
        self.assumptions: list[z3.BoolRef] = []
        for rule, violated in zip(form.rules, space.violated(form), strict=True):
            self.assume(f"rule {rule.spec.id}", z3.Not(violated), Reason(rule.spec.id, rule.spec.why, rule.span))
        for i, floor in enumerate(form.floors):
            spec = floor.spec
            needs = [space.ptx >= space.version(spec.ptx), space.sm >= spec.sm]
            if spec.only:
                needs.append(z3.Or(*(space.target[t] for t in space.renderer.targets(spec.only))))
            if spec.until:
                needs.append(space.ptx < space.version(spec.until))
            only = f", on {' '.join(spec.only)} only" if spec.only else ""
            sentence = f"needs PTX {spec.ptx} and sm_{spec.sm}{only}; here it is PTX {text(here.ptx)} and {here.name}"
            self.assume(
                f"floor {i}",
                z3.Implies(space.logic(floor.when, form), z3.And(*needs)),
                Reason("floor", sentence, floor.span),
            )
        for slot, value in words:
            self.assume(f"word {value}", space.word[slot, value], None)

    def assume(self, name: str, formula: z3.BoolRef, reason: Reason | None) -> None:
        """Track ``formula`` under ``name``."""
        flag = z3.Bool(name)
        self.solver.add(z3.Implies(flag, formula))
        self.assumptions.append(flag)
        if reason is not None:
            self.reasons[name] = reason

    def answer(self) -> Conflict | None:
        """``None`` when the spelling is legal as it stands."""
        result = self.solver.check(*self.assumptions)
        if result == z3.sat:
            return self.completions()
        names = {str(flag) for flag in self.minimal()}
        words = tuple(value for _, value in self.words if f"word {value}" in names)
        return Conflict(self.form.spec.id, words, tuple(r for n, r in self.reasons.items() if n in names), ())

    def minimal(self) -> list[z3.BoolRef]:
        """The fewest rules that all the words together violate, then only those words that they need."""
        words = [f for f in self.assumptions if str(f).startswith("word ")]
        rules = [f for f in self.assumptions if not str(f).startswith("word ")]
        alone = [f for f in rules if self.solver.check(*words, f) == z3.unsat]
        core = [*words, *(alone[:1] or self.reduced(words, rules))]
        for word in words:
            rest = [f for f in core if f is not word]
            if self.solver.check(*rest) == z3.unsat:
                core = rest
        return core

    def reduced(self, words: list[z3.BoolRef], rules: list[z3.BoolRef]) -> list[z3.BoolRef]:
        """A set of rules of which none can be left out."""
        for rule in rules:
            rest = [f for f in rules if f is not rule]
            if self.solver.check(*words, *rest) == z3.unsat:
                rules = rest
        return rules

    def completions(self) -> Conflict | None:
        """The spellings with the fewest added words."""
        written = {self.space.word[key].get_id() for key in self.words}
        others = [var for var in self.space.word.values() if var.get_id() not in written]
        found: list[str] = []
        self.solver.push()
        self.solver.add(*self.assumptions)
        for added in range(len(self.form.spec.slots) + 1):
            self.solver.push()
            self.solver.add(z3.PbEq([(var, 1) for var in others], added))
            while len(found) < MOST_COMPLETIONS and self.solver.check() == z3.sat:
                model = self.solver.model()
                found.append(self.space.spelling(model))
                self.solver.add(z3.Or(*(var != z3.is_true(model.eval(var)) for var in others)))
            self.solver.pop()
            if found:
                break
        self.solver.pop()
        if added == 0:
            return None
        return Conflict(self.form.spec.id, (), (), tuple(sorted(found)))


def notes(opcode: str, sm: str = "sm_90", ptx: str | None = None) -> tuple[Note, ...]:
    """The explanation as notes of a diagnostic."""
    return tuple(Note("cause", c.render()) for c in explain(opcode, sm, ptx)[:2])


def diagnostic(opcode: str, sm: str = "sm_90", ptx: str | None = None) -> Diagnostic | None:
    """The checker's diagnostic with the conflict as its cause, ``None`` for a legal opcode."""
    from ptxspec.forms.check import check

    base = check(opcode, sm, ptx).diagnostic
    return None if base is None else base.with_notes(*notes(opcode, sm, ptx))


__all__ = ["Conflict", "Reason", "diagnostic", "explain", "notes"]
