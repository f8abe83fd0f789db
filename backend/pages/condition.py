"""Conditions over the slots of a form, in words."""

from __future__ import annotations

from collections.abc import Iterable

from ptxspec.db.link import LinkedForm, LinkedInstruction
from ptxspec.db.logic import FALSE, TRUE, And, In, Logic, Not
from ptxspec.spec.instruction import Slot

from .markdown import dotted


class Speaker:
    """Says conditions over one form. Slots that share words with another slot are named with their words."""

    def __init__(self, instruction: LinkedInstruction, form: LinkedForm) -> None:
        self.slots = {s.name: s for s in form.spec.slots}
        self.shared = frozenset(name for group in instruction.groups for name in group)

    def say(self, part: Logic) -> str:
        """``.v8, or .v4 and .b64 or .u64``; ``always`` and ``never`` for the two constants."""
        if part == TRUE:
            return "always"
        if part == FALSE:
            return "never"
        if isinstance(part, In):
            return self.words(self.slots[part.slot], part.tokens, part.unwritten)
        if isinstance(part, Not):
            inner = part.part
            if isinstance(inner, In):
                slot = self.slots[inner.slot]
                return self.words(slot, frozenset(slot.values) - inner.tokens, not inner.unwritten)
            return f"not ({self.say(inner)})"
        if not isinstance(part, And):
            return ", or ".join(self.say(p) for p in part.parts)
        texts = [self.say(p) for p in self.merged(part)]
        return " and ".join(f"({t})" if len(texts) > 1 and " or " in t else t for t in texts)

    def merged(self, part: And) -> list[Logic]:
        """The parts of a conjunction, those about one slot joined."""
        out: list[Logic] = []
        places: dict[str, int] = {}
        for p in part.parts:
            before = out[places[p.slot]] if isinstance(p, In) and p.slot in places else None
            if isinstance(p, In) and isinstance(before, In):
                both = In(p.slot, before.tokens & p.tokens, before.unwritten and p.unwritten)
                out[places[p.slot]] = both
                continue
            if isinstance(p, In):
                places[p.slot] = len(out)
            out.append(p)
        return out

    def words(self, slot: Slot, tokens: frozenset[str], unwritten: bool) -> str:
        """The words of one slot, or those that it must not be, whichever is shorter."""
        unwritten = unwritten and not slot.required
        inside = [v for v in slot.values if v in tokens]
        outside = [v for v in slot.values if v not in tokens]
        name = f"{slot.name} " if slot.name in self.shared else ""
        absent = slot.absent or ""
        none = f"no `{slot.name}`" + (f" ({absent})" if absent and absent not in slot.values else "")
        if not inside:
            return none if unwritten else "never"
        if not outside:
            if unwritten or slot.required:
                return "always"
            return dotted(inside) if len(inside) == 1 else f"any `{slot.name}`"
        if len(outside) < len(inside) and (unwritten or slot.required):
            return f"{slot.name} {'not' if len(outside) == 1 else 'none of'} {dotted(outside)}"
        return name + either(inside) + (f" or {none}" if unwritten else "")


def either(words: Iterable[str]) -> str:
    """Alternatives as they are written."""
    texts = [dotted([w]) for w in words]
    return " or ".join(texts) if len(texts) < 3 else "one of " + " ".join(texts)
