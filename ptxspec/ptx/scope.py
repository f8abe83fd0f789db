"""Names in scope while a module is read: registers, ranges of registers, variables, functions."""

from __future__ import annotations

from ptxspec.ptx.module import RegisterDecl
from ptxspec.ptx.operand import Operand, Register, Special, Symbol
from ptxspec.ptx.special import special_info


def special_register(name: str) -> Special | None:
    """The special register spelled ``name`` (``%tid.x``, ``%tid``, ``%laneid``), or None."""
    return Special(name) if special_info(name) is not None else None


class Scope:
    """One block's names; looks in its ``parent`` for what it does not hold.

    ``labels`` are the block's own, ``pending`` the names (with offsets) that may yet turn out to be labels of it.
    ``cache`` holds parsed operands by their text; ``unknown``, shared by all blocks of a module, collects the names
    that the last instruction mentions and nothing declares.
    """

    __slots__ = ("cache", "labels", "names", "parent", "pending", "ranges", "unknown")

    def __init__(self, parent: Scope | None) -> None:
        self.parent = parent
        self.names: dict[str, Register | Symbol] = {}
        self.ranges: dict[str, RegisterDecl] = {}
        self.cache: dict[str, Operand] = {}
        self.labels: set[str] = set()
        self.pending: list[tuple[str, int]] = []
        self.unknown: list[str] = [] if parent is None else parent.unknown

    def declare_register(self, decl: RegisterDecl) -> bool:
        """Add a register or range; False when the name is taken in this block."""
        self.cache.clear()
        if decl.count is None:
            fresh = decl.name not in self.names and self._ranged(decl.name) is None
            self.names[decl.name] = Register(decl.name, decl.cls, decl.lanes)
            return fresh
        fresh = decl.name not in self.ranges and not any(self._in_range(decl, name) for name in self.names)
        self.ranges[decl.name] = decl
        return fresh

    @staticmethod
    def _in_range(decl: RegisterDecl, name: str) -> bool:
        rest = name[len(decl.name) :] if name.startswith(decl.name) else ""
        return rest.isdigit() and len(rest) < 12 and int(rest) < (decl.count or 0)

    def declare_label(self, name: str) -> bool:
        """True when a label of that name is new in this block; labels share the block's names."""
        if name in self.labels or name in self.names or self._ranged(name) is not None:
            return False
        self.labels.add(name)
        return True

    def declare_symbol(self, symbol: Symbol) -> bool:
        """Add a variable or function; False when the name is taken in this block."""
        self.cache.clear()
        fresh = symbol.name not in self.names and self._ranged(symbol.name) is None
        self.names[symbol.name] = symbol
        return fresh

    def _ranged(self, name: str) -> Register | None:
        if not self.ranges or not name[-1:].isdigit():
            return None
        split, end = len(name.rstrip("0123456789")), len(name)
        for at in range(split, end):
            decl = self.ranges.get(name[:at])
            if decl is not None and end - at < 12 and int(name[at:]) < (decl.count or 0):
                return Register(name, decl.cls, decl.lanes)
        return None

    def find(self, name: str) -> Register | Symbol | None:
        """What ``name`` denotes here, or None."""
        scope: Scope | None = self
        while scope is not None:
            found = scope.names.get(name)
            if found is None:
                found = scope._ranged(name)
            if found is not None:
                return found
            scope = scope.parent
        return None
