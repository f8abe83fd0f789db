"""Lint of the whole database: what the shape of a single file cannot show. Each refusal has its place in the specs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import z3

from ptxspec.db.formula import Space, solve
from ptxspec.db.link import LinkedForm, LinkedInstruction
from ptxspec.db.load import Specs
from ptxspec.db.logic import TRUE
from ptxspec.db.tables import version
from ptxspec.db.values import check_values
from ptxspec.db.words import check_vocabulary
from ptxspec.diagnostics import Diagnostic, Note


def lint(specs: Specs, linked: Mapping[str, LinkedInstruction]) -> list[Diagnostic]:
    """All problems of the database; empty when it is fine."""
    out: list[Diagnostic] = list(check_vocabulary(specs))
    if out:
        return out
    for instruction in linked.values():
        for form in instruction.forms:
            out += check_values(instruction, form, specs)
        out += _floors(instruction, specs)
        out += _examples(instruction)
        if not out:  # the solver's questions presuppose that all names resolve
            out += _logic(instruction, specs)
            out += _overlaps(instruction, specs)
    return out


def _floors(instruction: LinkedInstruction, specs: Specs) -> Iterator[Diagnostic]:
    """S045: a floor below the base or above every known machine; a floor that raises nothing."""
    newest = version(specs.vocabulary.targets.versions[-1])
    largest = max(int(t[3:].rstrip("af")) for t in specs.vocabulary.targets.targets)
    base = next((f for f in instruction.entry.spec.floors if f.when is None and f.forms is None), None)
    known = set(specs.vocabulary.targets.versions)
    for form in instruction.forms:
        if not any(f.when == TRUE for f in form.floors):
            yield Diagnostic("S045", f"the form `{form.spec.id}` has no floor that always holds", form.span)
        for floor in form.floors:
            spec = floor.spec
            if spec.ptx not in known or (spec.until is not None and spec.until not in known):
                yield Diagnostic("S045", f"PTX {spec.ptx} is not in vocabulary/targets.yaml", floor.span)
            elif version(spec.ptx) > newest or spec.sm > largest:
                yield Diagnostic("S045", "the floor is above every known machine", floor.span)
            elif base is not None and (version(spec.ptx) < version(base.ptx) or spec.sm < base.sm):
                yield Diagnostic(
                    "S045", f"the floor is below the instruction's own (PTX {base.ptx}, sm_{base.sm})", floor.span
                )
            for target in spec.only:
                if target not in specs.vocabulary.targets.targets:
                    yield Diagnostic("S045", f"the target {target} is not in vocabulary/targets.yaml", floor.span)


def _examples(instruction: LinkedInstruction) -> Iterator[Diagnostic]:
    """S048: at least one accepted and one rejected example, with a rule that exists."""
    spec, document = instruction.entry.spec, instruction.entry.document
    if not spec.examples.accept or not spec.examples.reject:
        yield Diagnostic(
            "S048", "an instruction needs an accepted and a rejected example", document.span(("examples",))
        )
    known = {"slots", "order", "documented", "operands", "floor", *(r.id for r in spec.rules)}
    for i, example in enumerate(spec.examples.reject):
        if example.rule not in known:
            yield Diagnostic(
                "S048", f"there is no rule `{example.rule}`", document.span(("examples", "reject", i, "rule"))
            )


def _logic(instruction: LinkedInstruction, specs: Specs) -> Iterator[Diagnostic]:
    """S041 unused words, S042 rules that reject nothing alone, S044 rules that can never apply."""
    space = Space(instruction, specs)
    document = instruction.entry.document
    spelled = {form.spec.id: space.spelled(form) for form in instruction.forms}
    for (slot, value), var in space.word.items():
        if all(solve(spelled[f.spec.id], var) is None for f in instruction.forms if value in _values(f, slot)):
            first = next(i for i, f in enumerate(instruction.forms) if value in _values(f, slot))
            at = [s.name for s in instruction.forms[first].spec.slots].index(slot)
            yield Diagnostic(
                "S041", f"no legal form has the word `{value}`", document.span(("forms", first, "slots", at))
            )
    for n, rule in enumerate(instruction.entry.spec.rules):
        alone = applies = False
        for form in instruction.forms:
            own = [i for i, r in enumerate(form.rules) if r.spec is rule]
            if not own:
                continue
            violated = space.violated(form)
            others = [z3.Not(v) for i, v in enumerate(violated) if i != own[0]]
            words = space.words(form)
            applies = applies or solve(words, space.logic(form.rules[own[0]].when, form)) is not None
            alone = alone or solve(words, violated[own[0]], *others) is not None
        if not applies:
            yield Diagnostic(
                "S044", f"the rule `{rule.id}` never applies: its `when` cannot hold", document.span(("rules", n))
            )
        elif not alone:
            yield Diagnostic(
                "S042", f"the rule `{rule.id}` rejects nothing that other rules allow", document.span(("rules", n))
            )
    for form in instruction.forms:
        if form.spec.documented and solve(spelled[form.spec.id]) is None:
            yield Diagnostic("S044", f"the rules of the form `{form.spec.id}` contradict each other", form.span)
        for floor in form.floors:
            concerned = [f for f in instruction.forms if any(x.spec is floor.spec for x in f.floors)]
            if form is concerned[0] and all(
                solve(spelled[f.spec.id], space.logic(x.when, f)) is None
                for f in concerned
                for x in f.floors
                if x.spec is floor.spec
            ):
                yield Diagnostic("S044", "no legal form meets the condition of this floor", floor.span)


def _values(form: LinkedForm, slot: str) -> tuple[str, ...]:
    found = form.slot(slot)
    return found.values if found is not None else ()


def _overlaps(instruction: LinkedInstruction, specs: Specs) -> Iterator[Diagnostic]:
    """S043: two forms take the same spelling and the same operands."""
    space = Space(instruction, specs)
    forms = [f for f in instruction.forms if f.spec.documented]
    for i, a in enumerate(forms):
        for b in forms[i + 1 :]:
            if not _operands_overlap(a, b):
                continue
            model = solve(space.spelled(a), space.spelled(b))
            if model is not None:
                note = Note("note", f"for instance `{space.spelling(model)}`")
                yield Diagnostic(
                    "S043",
                    f"the forms `{a.spec.id}` and `{b.spec.id}` take the same spelling and operands",
                    b.span,
                    notes=(note,),
                )


def _operands_overlap(a: LinkedForm, b: LinkedForm) -> bool:
    """Whether one list of operands could be meant for both: equal number and a common kind at every place."""
    pairs = list(zip(a.spec.operands, b.spec.operands, strict=False))
    longer = max(a.spec.operands, b.spec.operands, key=len)
    if any(o.present is None for o in longer[len(pairs) :]):
        return False
    return all(x.present is not None or y.present is not None or set(x.kinds) & set(y.kinds) for x, y in pairs)
