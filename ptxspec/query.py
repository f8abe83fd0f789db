"""``ptxspec.database()``: the questions about instruction forms, in one object."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from ptxspec.forms.check import check as _check
from ptxspec.forms.check import check_many as _check_many

if TYPE_CHECKING:
    from ptxspec.forms.enumerate import Form
    from ptxspec.forms.use import FormUse


class Database:
    """The database of instruction forms. It works on generated tables: no YAML, no pydantic, no solver is loaded.

    ``sm`` is a target name (``"sm_90"``), ``ptx`` a version (``"9.0"``, by default the newest), ``toolkit`` the release
    of the assembler whose behaviour ``ptxas`` predicts (by default the newest known).
    """

    __slots__ = ()

    check = staticmethod(_check)
    check_many = staticmethod(_check_many)

    def forms(self, mnemonic: str, *, sm: str | None = "sm_90", ptx: str | None = None, **slots: str) -> Iterator[Form]:
        """Legal forms of ``mnemonic`` with these slot values; ``sm=None`` leaves floors out. Raises FormError F002,
        UsageError U110 and U111."""
        from ptxspec.forms.enumerate import forms
        return forms(mnemonic, sm=sm, ptx=ptx, **slots)

    def count(self, mnemonic: str, *, sm: str | None = "sm_90", ptx: str | None = None, **slots: str) -> int:
        """How many :meth:`forms` there are."""
        from ptxspec.forms.enumerate import count
        return count(mnemonic, sm=sm, ptx=ptx, **slots)

    def use(self, opcode: str, *, sm: str = "sm_90", ptx: str | None = None) -> FormUse:
        """Operands, obligations and semantics of a legal opcode. Raises FormError with the whole explanation."""
        from ptxspec.forms.use import use
        return use(opcode, sm=sm, ptx=ptx)

    @property
    def mnemonics(self) -> tuple[str, ...]:
        """All mnemonics, sorted."""
        from ptxspec.forms.registry import mnemonics
        return mnemonics()

    @property
    def targets(self) -> tuple[str, ...]:
        """All targets."""
        from ptxspec.forms.registry import vocabulary
        return tuple(vocabulary().targets)

    @property
    def toolkits(self) -> tuple[str, ...]:
        """Assembler releases whose behaviour was measured."""
        from ptxspec.forms.registry import vocabulary
        return tuple(vocabulary().toolkits)

    def legal(self, opcodes: Iterable[str], *, sm: str = "sm_90", ptx: str | None = None) -> list[bool]:
        """For each opcode whether it is legal."""
        return [v.legal for v in _check_many(opcodes, sm=sm, ptx=ptx)]

    def __repr__(self) -> str:
        return f"<ptxspec database: {len(self.mnemonics)} mnemonics, {len(self.targets)} targets>"


@lru_cache(maxsize=1)
def database() -> Database:
    """The database that ships with the package."""
    return Database()


__all__ = ["Database", "database"]
