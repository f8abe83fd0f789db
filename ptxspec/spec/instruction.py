"""One file of ``specs/instructions``: forms, rules, floors and examples of a mnemonic."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from ptxspec.spec.base import Name, Sentence, SpecModel, TargetName, Token, Version
from ptxspec.spec.condition import Condition
from ptxspec.spec.expression import IntExpr, TypeExpr, WordExpr
from ptxspec.spec.obligation import Obligation
from ptxspec.spec.semantics import Step

Kind = Literal["register", "address", "immediate", "symbol", "special", "label", "vector", "predicate", "function"]
Classes = Literal["wide", "exact", "pack", "count"]


class Manual(SpecModel):
    """Where the vendor's manual describes the instruction."""

    isa: Version
    section: str


class Slot(SpecModel):
    """One dotted qualifier. ``optional`` may be left out; ``absent`` names what leaving it out means.

    ``placed``: words that the assembler, which is otherwise free about order, wants before the words that follow them.
    """

    name: Name
    values: tuple[Token, ...] = Field(min_length=1)
    optional: bool = False
    absent: Token | None = None
    placed: tuple[Token, ...] = ()

    @property
    def required(self) -> bool:
        """True when the qualifier must be written."""
        return not self.optional and self.absent is None


class Operand(SpecModel):
    """One operand in spelling order.

    ``lanes`` above one makes it a brace group. ``classes`` says which registers fit: ``wide`` (the type's width or
    more, memory instructions), ``exact`` (the type's width, everything else), ``pack`` (any class of
    the width), ``count`` (an integer of the width, no packed halves).
    ``sink``: ``_`` may stand for an element. ``present``: the operand exists for these spellings only.
    """

    name: Name
    role: Literal["in", "out", "inout"]
    kind: Kind | tuple[Kind, ...]
    type: TypeExpr | None = None
    lanes: IntExpr | tuple[int, ...] = 1
    space: WordExpr = ""
    classes: Classes = "exact"
    sink: bool = False
    present: Condition | None = None

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds as a tuple."""
        return (self.kind,) if isinstance(self.kind, str) else self.kind


class Form(SpecModel):
    """A spelling (slots), what stands behind it (operands), what it does and what must be proved.

    ``documented: false`` is a form that only the assembler knows; it is never legal, and a finding admits it.
    """

    id: Name
    slots: tuple[Slot, ...] = ()
    operands: tuple[Operand, ...] = ()
    semantics: tuple[Step, ...]
    obligations: tuple[Obligation, ...] = ()
    documented: bool = True


class Rule(SpecModel):
    """Where ``when`` holds, ``require`` must hold; ``why`` is the sentence that a person reads."""

    id: Name
    why: Sentence
    require: Condition
    when: Condition | None = None
    forms: tuple[Name, ...] | None = None


class Floor(SpecModel):
    """Where ``when`` holds: the first PTX version and SM; ``only`` these targets; withdrawn at version ``until``.
    ``id`` is for findings that waive the floor."""

    id: Name | None = None
    when: Condition | None = None
    ptx: Version = "1.0"
    sm: int = 10
    only: tuple[TargetName, ...] = ()
    until: Version | None = None
    forms: tuple[Name, ...] | None = None


class Rejected(SpecModel):
    """A spelling that must be refused, and the rule that does it (``slots`` when no form has these words)."""

    text: str
    rule: Name


class Examples(SpecModel):
    """Spellings that the tests run; registers are named by their class (``%b32``)."""

    accept: tuple[str, ...] = ()
    reject: tuple[Rejected, ...] = ()


class Instruction(SpecModel):
    """A mnemonic. ``complete``: every form of the manual is here, so an unknown word is an error. ``separate``: words
    that, right behind the mnemonic, make another instruction of it (``st.async``), with a file of its own or none."""

    format: Literal["instruction/1"]
    mnemonic: Name
    summary: Sentence
    doc: Manual
    complete: bool = False
    separate: tuple[Token, ...] = ()
    sets: dict[Name, tuple[Token, ...]] = Field(default_factory=dict)
    conditions: dict[Name, Condition] = Field(default_factory=dict)
    let: dict[Name, IntExpr] = Field(default_factory=dict)
    forms: tuple[Form, ...] = Field(min_length=1)
    rules: tuple[Rule, ...] = ()
    floors: tuple[Floor, ...] = Field(min_length=1)
    examples: Examples = Examples()

    @model_validator(mode="after")
    def _unique(self) -> Self:
        for what, names in (("form", [f.id for f in self.forms]), ("rule", [r.id for r in self.rules])):
            twice = {n for n in names if names.count(n) > 1}
            if twice:
                raise ValueError(f"two {what}s are called {sorted(twice)[0]}")
        for form in self.forms:
            for part in ([s.name for s in form.slots], [o.name for o in form.operands]):
                if len(set(part)) != len(part):
                    raise ValueError(f"form {form.id} uses a name twice: {', '.join(part)}")
        return self
