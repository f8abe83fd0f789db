"""Random lines of the instructions that the database has beside loads, stores and ``mov``."""

from __future__ import annotations

import random

from ptxspec.forms import registry
from ptxspec.forms.parse import spell
from ptxspec.forms.table import FormTable, Table
from ptxspec.forms.use import OperandUse, uses

from .lines import Lines

CORE = frozenset({"ld", "ldu", "st", "mov"})
# Lines that need more than a line: labels of their own, calls, barriers that end a path, prototypes.
LEFT_OUT = frozenset({"call", "brx"})


def mnemonics() -> list[str]:
    """The database's other instructions."""
    return [m for m in registry.mnemonics() if m not in CORE and m not in LEFT_OUT]


class OtherLines(Lines):
    """A seeded source of such lines for one version and target."""

    def opcode(self, table: Table) -> str:
        """A spelling of one of the forms: each optional word with an even chance."""
        pick: random.Random = self.random
        form: FormTable = pick.choice(table.forms)
        mask = 0
        for slot in form.slots:
            if slot.required or self.maybe(0.3):
                bits = [bit for bit in table.names if bit & slot.mask]
                mask |= pick.choice(bits)
        return spell(table, mask)

    def operand(self, use: OperandUse) -> str:
        """An operand that suits the description, mostly."""
        pick = self.random
        kinds = use.kinds
        if self.maybe(0.05):
            return self.value(pick.choice(self.classes))
        if "address" in kinds:
            return self.address("" if use.space == "generic" else use.space)
        if "label" in kinds:
            return "lab"
        if "predicate" in kinds or use.type == "pred":
            return ("!" if use.role == "in" and self.maybe(0.2) else "") + self.register("pred")
        if "function" in kinds:
            return "bar"
        kind = use.type or "b32"
        if use.lanes > 1:
            return self.vector(kind, use.lanes, use.role != "in")
        if "immediate" in kinds and (kinds == ("immediate",) or self.maybe(0.25)):
            return pick.choice(("0", "1", "-3", "5", "1.0", "0f3F800000", "0d3FF0000000000000", "WARP_SZ", "4+4"))
        if kind in self.classes:
            return self.register(self.near(kind))
        return self.register(pick.choice(("b32", "f16x2", "b16", "u32", "f32", "b64")))

    def other(self) -> str:
        """One line."""
        pick = self.random
        table = registry.table(pick.choice(mnemonics()))
        opcode = self.opcode(table)
        forms = list(uses(opcode))
        operands = [self.operand(use) for use in pick.choice(forms).operands] if forms else []
        if self.maybe(0.01) and operands:
            pick.shuffle(operands)
        return f"{self.guard()}{opcode} {', '.join(operands)};"
