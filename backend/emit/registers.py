"""Virtual registers: numbered by class, and the slots of register tensors."""

from __future__ import annotations

from ptxspec.ptx.operand import Register

PREFIX: dict[str, str] = {"pred": "%p", "b16": "%h", "b32": "%r", "b64": "%rd", "b128": "%rq"}


class Registers:
    """Hands out virtual registers; :meth:`declarations` lists how many of each class were used."""

    __slots__ = ("counts",)

    def __init__(self) -> None:
        self.counts: dict[str, int] = dict.fromkeys(PREFIX, 0)

    def fresh(self, cls: str) -> Register:
        """A register of ``cls`` that nothing else uses."""
        number = self.counts[cls] + 1
        self.counts[cls] = number
        return Register(f"{PREFIX[cls]}{number}", cls)

    def declarations(self) -> list[tuple[str, str, int]]:
        """(class, name prefix, count) of every class in use."""
        return [(cls, PREFIX[cls], count) for cls, count in self.counts.items() if count]
