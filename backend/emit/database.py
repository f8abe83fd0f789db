"""The default sources of instruction text: the generated selector and the generated form tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .context import Resolve, Select, Slots

if TYPE_CHECKING:
    from ..select import Target


@dataclass(frozen=True, slots=True)
class Sources:
    """Selector, opcode reader and digest that one emission uses."""

    target: Target
    select: Select
    resolve: Resolve
    digest: Callable[[], str]


def newest() -> tuple[int, int]:
    """The newest PTX version of the database."""
    from ptxspec.forms import registry
    return divmod(registry.vocabulary().versions[-1], 10)


def defaults(sm: str, ptx: tuple[int, int] | None, select: Select | None, resolve: Resolve | None) -> Sources:
    """The generated selector for ``sm``; forms may be as new as ``ptx``, by default the newest version known."""
    from ..select import Target
    from ..select import select as generated
    version = ptx or newest()

    def read(opcode: str) -> tuple[str, Slots]:
        from ptxspec.forms.use import use
        form = use(opcode, sm=sm, ptx=version)
        return form.mnemonic, form.slots

    from ptxspec.forms import registry
    return Sources(Target(sm, version), select or generated, resolve or read, registry.digest)

