"""The specs as formulas over Z3: which words are written, on which target, at which version.

One Boolean for each (slot, word) of the mnemonic, integers for the PTX version (88 for 8.8) and the SM number, one
Boolean for each target. A form's formula is built from the linked specs, never from generated code.
"""

from __future__ import annotations

from collections.abc import Iterable

import z3

from ptxspec.db.link import LinkedForm, LinkedInstruction
from ptxspec.db.load import Specs
from ptxspec.db.logic import And, In, Logic, Not, both, negate
from ptxspec.db.tables import Renderer, version

# Work limit of one question; the questions here take a fraction of it, and the answer never depends on the clock.
RESOURCES = 20_000_000


class Space:
    """Variables of one mnemonic on one (symbolic) machine."""

    def __init__(self, instruction: LinkedInstruction, specs: Specs, tag: str = "") -> None:
        self.instruction, self.specs = instruction, specs
        self.word = {
            (slot, value): z3.Bool(f"{slot}={value}")
            for slot in instruction.order
            for value in instruction.values[slot]
        }
        self.ptx, self.sm = z3.Int(f"ptx{tag}"), z3.Int(f"sm{tag}")
        self.target = {name: z3.Bool(f"{name}{tag}") for name in specs.vocabulary.targets.targets}
        self.renderer = Renderer(instruction, specs)

    @staticmethod
    def version(text: str) -> int:
        """``"8.8"`` as 88."""
        return version(text)

    def machine(self) -> z3.BoolRef:
        """Exactly one known target, with its number, at a known version."""
        targets = list(self.target.values())
        number = [z3.Implies(var, self.sm == int(name[3:].rstrip("af"))) for name, var in self.target.items()]
        versions = [self.ptx == version(v) for v in self.specs.vocabulary.targets.versions]
        return z3.And(z3.PbEq([(t, 1) for t in targets], 1), *number, z3.Or(*versions))

    def logic(self, part: Logic, form: LinkedForm) -> z3.BoolRef:
        """A linked condition."""
        if isinstance(part, In):
            slot = form.slot(part.slot)
            assert slot is not None
            if part.unwritten:
                rest = [self.word[part.slot, v] for v in slot.values if v not in part.tokens]
                return z3.Not(z3.Or(*rest)) if rest else z3.BoolVal(True)
            return z3.Or(*(self.word[part.slot, v] for v in slot.values if v in part.tokens))
        if isinstance(part, Not):
            return z3.Not(self.logic(part.part, form))
        parts = [self.logic(p, form) for p in part.parts]
        return z3.And(*parts) if isinstance(part, And) else z3.Or(*parts)

    def words(self, form: LinkedForm) -> z3.BoolRef:
        """The words spell this form: at most one for a slot, one for a necessary slot, none of other slots."""
        parts: list[z3.BoolRef] = []
        for name, values in self.instruction.values.items():
            slot = form.slot(name)
            own = slot.values if slot is not None else ()
            parts += [z3.Not(self.word[name, v]) for v in values if v not in own]
            here = [(self.word[name, v], 1) for v in own]
            if slot is not None:
                parts.append(z3.PbEq(here, 1) if slot.required else z3.PbLe(here, 1))
        return z3.And(*parts)

    def violated(self, form: LinkedForm) -> list[z3.BoolRef]:
        """One formula for each rule of the form: it is broken."""
        return [self.logic(both([r.when, negate(r.require)]), form) for r in form.rules]

    def floors(self, form: LinkedForm, limits: bool = True) -> z3.BoolRef:
        """Every floor whose condition holds is reached; ``limits=False`` leaves out ``only`` and ``until``."""
        parts: list[z3.BoolRef] = []
        for floor in form.floors:
            needs = [self.ptx >= version(floor.spec.ptx), self.sm >= floor.spec.sm]
            if limits and floor.spec.only:
                needs.append(z3.Or(*(self.target[t] for t in self.renderer.targets(floor.spec.only))))
            if limits and floor.spec.until:
                needs.append(self.ptx < version(floor.spec.until))
            parts.append(z3.Implies(self.logic(floor.when, form), z3.And(*needs)))
        return z3.And(*parts)

    def spelled(self, form: LinkedForm) -> z3.BoolRef:
        """The words are legal for the form, on some machine."""
        return z3.And(self.words(form), *(z3.Not(v) for v in self.violated(form)))

    def legal(self, form: LinkedForm) -> z3.BoolRef:
        """The words are legal for the form on this machine."""
        return z3.And(self.spelled(form), self.floors(form))

    def spelling(self, model: z3.ModelRef) -> str:
        """The opcode of a model."""
        words = [v for (_, v), var in self.word.items() if z3.is_true(model.eval(var))]
        return ".".join([self.instruction.mnemonic, *words])


def solve(*parts: z3.BoolRef) -> z3.ModelRef | None:
    """A model, or ``None`` when there is none. Raises :class:`RuntimeError` when the work limit is reached."""
    solver = z3.Solver()
    solver.set("rlimit", RESOURCES)
    solver.set("random_seed", 0)
    solver.add(*parts)
    result = solver.check()
    if result == z3.unknown:
        raise RuntimeError(f"the solver gave up: {solver.reason_unknown()}")
    return solver.model() if result == z3.sat else None


def conjunction(parts: Iterable[z3.BoolRef]) -> z3.BoolRef:
    """All of them."""
    return z3.And(*parts)
