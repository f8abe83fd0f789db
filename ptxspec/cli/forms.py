"""``ptxspec forms``: every legal form of a mnemonic, filtered by slots."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer

from ptxspec.cli.common import FINE, VIOLATED, Json, Ptx, Sm, finish, line, put, put_all, usage


def command(
    mnemonic: Annotated[str, typer.Argument(help="A mnemonic, such as ld.")],
    slots: Annotated[list[str] | None, typer.Argument(metavar="[SLOT=VALUE]...", help="Slots to pin; SLOT= for "
                                                      "not written.")] = None,
    sm: Sm = "sm_90", ptx: Ptx = None, json: Json = False,
    count: Annotated[bool, typer.Option("--count", help="Only how many there are.")] = False,
) -> None:
    """List legal forms for a target. Exit status 1 when there are none."""
    from ptxspec.forms import enumerate as walk
    pins = _pins(slots or [])
    if count:
        number = walk.count(mnemonic, sm=sm, ptx=ptx, **pins)
        put(line({"mnemonic": mnemonic, "count": number}) if json else str(number))
        finish(FINE if number else VIOLATED)
    seen = False

    def rows() -> Iterator[str]:
        nonlocal seen
        for form in walk.forms(mnemonic, sm=sm, ptx=ptx, **pins):
            seen = True
            yield line(form.to_json()) if json else form.opcode
    put_all(rows())
    finish(FINE if seen else VIOLATED)


def _pins(slots: list[str]) -> dict[str, str]:
    pins: dict[str, str] = {}
    for slot in slots:
        name, equals, value = slot.partition("=")
        if not equals or not name:
            raise usage("U112", f"`{slot}` is no SLOT=VALUE", "for example space=global vec=v4")
        if name in ("sm", "ptx"):
            raise usage("U112", f"`{name}` is an option, not a slot", f"write --{name} {value}")
        if name in pins:
            raise usage("U112", f"slot `{name}` is given twice")
        pins[name] = value.removeprefix(".")
    return pins
