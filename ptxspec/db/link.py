"""Linking: every name in a spec (slots, sets, conditions, forms, rules) is resolved, or refused with its place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ptxspec.db.load import Entry, Specs
from ptxspec.db.logic import FALSE, TRUE, And, In, Logic, both, either, negate
from ptxspec.diagnostics import Diagnostic, Span, SpecError
from ptxspec.source import Path
from ptxspec.spec.condition import Condition
from ptxspec.spec.findings import Finding
from ptxspec.spec.instruction import Floor, Form, Rule, Slot


@dataclass(frozen=True)
class LinkedRule:
    """A rule as it applies to one form: violated where ``when`` holds and ``require`` does not."""

    spec: Rule
    when: Logic
    require: Logic
    span: Span


@dataclass(frozen=True)
class LinkedFloor:
    """A floor as it applies to one form."""

    spec: Floor
    when: Logic
    span: Span


@dataclass(frozen=True)
class LinkedFinding:
    """A finding as it applies to one form; ``waives`` and ``floors`` are indices into the form's rules and floors."""

    spec: Finding
    when: Logic
    waives: tuple[int, ...]
    floors: tuple[int, ...]
    admits: bool
    span: Span


@dataclass(frozen=True)
class LinkedForm:
    """One form with everything that applies to it."""

    spec: Form
    span: Span
    rules: tuple[LinkedRule, ...]
    floors: tuple[LinkedFloor, ...]
    findings: tuple[LinkedFinding, ...]
    path: Path

    def slot(self, name: str) -> Slot | None:
        """The slot of that name."""
        return next((s for s in self.spec.slots if s.name == name), None)


@dataclass(frozen=True)
class LinkedInstruction:
    """One mnemonic. ``order``: all slot names in one order that every form's spelling follows; ``values``: the union
    of each slot's words over the forms; ``groups``: slots that share words and are told apart by position."""

    entry: Entry
    forms: tuple[LinkedForm, ...]
    order: tuple[str, ...]
    values: Mapping[str, tuple[str, ...]]
    groups: tuple[tuple[str, ...], ...]

    @property
    def mnemonic(self) -> str:
        """The opcode's first word."""
        return self.entry.spec.mnemonic


class Linker:
    """Resolves one instruction; problems are collected, not raised one by one."""

    def __init__(self, entry: Entry, specs: Specs) -> None:
        self.entry, self.specs, self.spec = entry, specs, entry.spec
        self.problems: list[Diagnostic] = []

    def complain(self, code: str, message: str, path: Iterable[str | int]) -> None:
        """Note a problem at ``path`` of this file."""
        self.problems.append(Diagnostic(code, message, self.entry.document.span(tuple(path))))

    def instruction(self) -> LinkedInstruction:
        """The linked instruction; look at ``problems`` before use."""
        forms = tuple(self.form(i, form) for i, form in enumerate(self.spec.forms))
        values: dict[str, list[str]] = {}
        for form in self.spec.forms:
            for slot in form.slots:
                known = values.setdefault(slot.name, [])
                known.extend(v for v in slot.values if v not in known)
        order = self.order()
        groups = self.groups(values, order)
        return LinkedInstruction(self.entry, forms, order, {n: tuple(values[n]) for n in order}, groups)

    def order(self) -> tuple[str, ...]:
        """One order of all slots that every form agrees with (first come, first served, as far as that goes)."""
        chains = [[s.name for s in form.slots] for form in self.spec.forms]
        out: list[str] = []
        while any(chains):
            for chain in chains:
                if chain and not any(chain[0] in other[1:] for other in chains):
                    head = chain[0]
                    break
            else:
                self.complain("S020", "two forms spell the same slots in different orders", ("forms",))
                return tuple(dict.fromkeys([*out, *(n for c in chains for n in c)]))
            out.append(head)
            chains = [c[1:] if c and c[0] == head else c for c in chains]
        return tuple(out)

    def groups(self, values: Mapping[str, list[str]], order: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
        """Slots that share words. They must share all of them and be written always, so that position decides."""
        sharing: list[set[str]] = []
        for i, a in enumerate(order):
            for b in order[i + 1 :]:
                if set(values[a]) & set(values[b]):
                    for group in sharing:
                        if a in group or b in group:
                            group |= {a, b}
                            break
                    else:
                        sharing.append({a, b})
        out: list[tuple[str, ...]] = []
        for group in sharing:
            names = tuple(n for n in order if n in group)
            for form in self.spec.forms:
                present = [s for s in form.slots if s.name in group]
                if any(not s.required for s in present[:-1]) or (
                    present and [s.name for s in present] != list(names[: len(present)])
                ):
                    self.complain(
                        "S021",
                        f"the slots {', '.join(names)} share words, so only the last of them may be left out",
                        ("forms", self.spec.forms.index(form)),
                    )
            out.append(names)
        return tuple(out)

    def form(self, index: int, form: Form) -> LinkedForm:
        """One form with its rules, floors and findings."""
        path: Path = ("forms", index)
        vectors, words = self.specs.vocabulary.words.vectors, self.specs.vocabulary.words
        known = {*vectors, *words.spaces, *words.scopes, *words.orders}
        for i, slot in enumerate(form.slots):
            if slot.absent is not None and slot.absent not in known:
                self.complain("S022", f"`{slot.absent}` is not a word of the vocabulary", (*path, "slots", i, "absent"))
            if len(set(slot.values)) != len(slot.values):
                self.complain("S023", "a value is written twice", (*path, "slots", i, "values"))
        rules: list[LinkedRule] = []
        for i, rule in enumerate(self.spec.rules):
            if self.applies(rule.forms, form, ("rules", i)):
                at: Path = ("rules", i)
                when = self.condition(rule.when, form, rule.forms, (*at, "when"))
                require = self.condition(rule.require, form, rule.forms, (*at, "require"))
                rules.append(LinkedRule(rule, when, require, self.entry.document.span(at)))
        floors: list[LinkedFloor] = []
        for i, floor in enumerate(self.spec.floors):
            if self.applies(floor.forms, form, ("floors", i)):
                when = self.condition(floor.when, form, floor.forms, ("floors", i, "when"))
                floors.append(LinkedFloor(floor, when, self.entry.document.span(("floors", i))))
        findings: list[LinkedFinding] = []
        for i, finding in enumerate(self.specs.findings.findings):
            if self.spec.mnemonic in finding.mnemonics:
                span = self.specs.findings_document.span(("findings", i))
                before = len(self.problems)
                when = self.condition(finding.when, form, None, ("findings", i), quiet=True)
                del self.problems[before:]
                waives = tuple(n for n, rule in enumerate(rules) if rule.spec.id in finding.waives)
                lowered = tuple(
                    n for n, floor in enumerate(floors) if floor.spec.id and floor.spec.id in finding.waives
                )
                spelling = finding.outcome != "accept" and not finding.operands
                if waives or lowered or form.id in finding.admits or spelling:
                    findings.append(LinkedFinding(finding, when, waives, lowered, form.id in finding.admits, span))
        return LinkedForm(form, self.entry.document.span(path), tuple(rules), tuple(floors), tuple(findings), path)

    def applies(self, names: tuple[str, ...] | None, form: Form, path: Path) -> bool:
        """Whether a rule or floor for the forms ``names`` concerns ``form``."""
        if names is None:
            return True
        for i, name in enumerate(names):
            if name not in {f.id for f in self.spec.forms} and form is self.spec.forms[0]:
                self.complain("S024", f"there is no form `{name}`", (*path, "forms", i))
        return form.id in names

    def condition(
        self, condition: Condition | None, form: Form, scope: tuple[str, ...] | None, path: Path, quiet: bool = False
    ) -> Logic:
        """A condition over the slots of ``form``; a slot that only other forms of ``scope`` have is not written."""
        if condition is None:
            return TRUE
        parts: list[Logic] = []
        for name, wanted in condition.is_.items():
            tokens = (wanted,) if isinstance(wanted, str) else wanted
            parts.append(self.atom(name, tokens, form, scope, (*path, "is", name)))
        for name, group in condition.in_.items():
            if group not in self.spec.sets:
                self.complain("S025", f"there is no set `{group}`", (*path, "in", name))
            parts.append(self.atom(name, self.spec.sets.get(group, ()), form, scope, (*path, "in", name), strict=False))
        for i, name in enumerate(condition.has):
            slot = self.slot(name, form, scope, (*path, "has", i))
            parts.append(In(name, frozenset(slot.values), False) if slot else FALSE)
        for i, name in enumerate(condition.lacks):
            slot = self.slot(name, form, scope, (*path, "lacks", i))
            parts.append(In(name, frozenset(), True) if slot else TRUE)
        if condition.holds is not None:
            named = self.spec.conditions.get(condition.holds)
            if named is None or named.holds is not None:
                self.complain("S026", f"there is no plain condition `{condition.holds}`", (*path, "holds"))
            else:
                parts.append(self.condition(named, form, None, ("conditions", condition.holds)))
        parts += [self.condition(c, form, scope, (*path, "all", i)) for i, c in enumerate(condition.all)]
        if condition.any:
            parts.append(either(self.condition(c, form, scope, (*path, "any", i)) for i, c in enumerate(condition.any)))
        if condition.not_ is not None:
            parts.append(negate(self.condition(condition.not_, form, scope, (*path, "not"))))
        return both(parts)

    def atom(
        self,
        name: str,
        tokens: tuple[str, ...],
        form: Form,
        scope: tuple[str, ...] | None,
        path: Path,
        strict: bool = True,
    ) -> Logic:
        """``slot`` is one of ``tokens``; the absent word stands for leaving the slot out."""
        slot = self.slot(name, form, scope, path)
        if strict:
            concerned = [f for f in self.spec.forms if scope is None or f.id in scope]
            possible = {v for f in concerned for s in f.slots if s.name == name for v in (*s.values, s.absent)}
            for token in tokens:
                if token not in possible:
                    self.complain("S027", f"the slot `{name}` is never `{token}`", path)
        if slot is None:
            return FALSE
        inside, unwritten = frozenset(t for t in tokens if t in slot.values), slot.absent in tokens
        return In(name, inside, unwritten) if inside or unwritten else FALSE

    def slot(self, name: str, form: Form, scope: tuple[str, ...] | None, path: Path) -> Slot | None:
        """The slot ``name`` of the form, after checking that one of the forms concerned has it."""
        found = next((s for s in form.slots if s.name == name), None)
        if found is None:
            concerned = [f for f in self.spec.forms if scope is None or f.id in scope]
            if not any(s.name == name for f in concerned for s in f.slots):
                self.complain("S028", f"there is no slot `{name}` in the forms concerned", path)
        return found


def link(specs: Specs) -> Mapping[str, LinkedInstruction]:
    """Link every instruction. Raises :class:`SpecError` with all problems."""
    out: dict[str, LinkedInstruction] = {}
    problems: list[Diagnostic] = []
    for mnemonic, entry in specs.instructions.items():
        linker = Linker(entry, specs)
        out[mnemonic] = linker.instruction()
        problems += linker.problems
    problems += _findings(specs)
    if problems:
        raise SpecError(*dict.fromkeys(problems))
    return out


def _findings(specs: Specs) -> list[Diagnostic]:
    """Names in the findings must exist: mnemonics, rules, forms, toolkits, slots and values."""
    out: list[Diagnostic] = []
    for i, finding in enumerate(specs.findings.findings):
        path: Path = ("findings", i)

        def complain(message: str, *more: str | int, at: Path = path) -> None:
            out.append(Diagnostic("S029", message, specs.findings_document.span((*at, *more))))

        for n, mnemonic in enumerate(finding.mnemonics):
            entry = specs.instructions.get(mnemonic)
            if entry is None:
                complain(f"there is no instruction `{mnemonic}`", "mnemonics", n)
                continue
            for rule in finding.waives:
                if rule not in {*(r.id for r in entry.spec.rules), *(f.id for f in entry.spec.floors)}:
                    complain(f"`{mnemonic}` has no rule or floor `{rule}`", "waives")
            for name in finding.admits:
                if not any(f.id == name and not f.documented for f in entry.spec.forms):
                    complain(f"`{mnemonic}` has no undocumented form `{name}`", "admits")
        for toolkit in finding.toolkits:
            if toolkit not in specs.vocabulary.toolkits.toolkits:
                complain(f"there is no toolkit `{toolkit}`", "toolkits")
    admitted = {name for f in specs.findings.findings for name in f.admits}
    for entry in specs.instructions.values():
        for n, form in enumerate(entry.spec.forms):
            if not form.documented and form.id not in admitted:
                out.append(
                    Diagnostic(
                        "S030",
                        f"the form `{form.id}` is not documented and no finding admits it",
                        entry.document.span(("forms", n)),
                    )
                )
    return out


__all__ = [
    "And",
    "In",
    "LinkedFinding",
    "LinkedFloor",
    "LinkedForm",
    "LinkedInstruction",
    "LinkedRule",
    "Linker",
    "link",
]
