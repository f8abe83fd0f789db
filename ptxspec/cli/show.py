"""``ptxspec show``: a mnemonic's forms and slots, or one opcode's operands, obligations and meaning."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from ptxspec.cli.common import FINE, UNKNOWN, VIOLATED, Json, Ptx, Sm, finish, line, put, put_all

if TYPE_CHECKING:
    from ptxspec.forms.table import Table
    from ptxspec.forms.use import FormUse


def command(
    what: Annotated[str, typer.Argument(metavar="MNEMONIC|OPCODE")],
    sm: Sm = "sm_90", ptx: Ptx = None, json: Json = False,
) -> None:
    """Describe a mnemonic or one opcode."""
    from ptxspec.cli.describe import page
    from ptxspec.forms import registry
    from ptxspec.forms.check import check
    from ptxspec.forms.use import uses
    if "." not in what:
        table = registry.table(what)
        put(line(_table_json(table))) if json else put_all(page(table))
        # A bare mnemonic that is itself an instruction (`ret`) is shown as one too.
        if not check(what, sm=sm, ptx=ptx).legal or json:
            finish(FINE)
    verdict = check(what, sm=sm, ptx=ptx)
    if not verdict.legal:
        put(line(verdict.to_json()) if json else verdict.diagnostic.render() if verdict.diagnostic else "not legal")
        finish(UNKNOWN if verdict.code == "F002" else VIOLATED)
    found = uses(what)
    if json:
        put_all(line(_use_json(u)) for u in found)
    else:
        for use in found:
            put_all(_use_text(use))
    finish(FINE)


def _table_json(table: Table) -> dict[str, object]:
    from ptxspec.cli.describe import values
    return {"mnemonic": table.mnemonic, "spec": table.file, "digest": table.digest, "forms": [
        {"id": form.id, "documented": form.documented, "line": form.line,
         "slots": [{"name": s.name, "values": values(table, s.mask), "absent": s.absent, "required": s.required}
                   for s in form.slots],
         "operands": [{"name": o.name, "role": o.role, "kinds": list(o.kinds)} for o in form.operands],
         "rules": [{"id": r.id, "why": r.why, "line": r.line} for r in form.rules]} for form in table.forms]}


def _use_json(use: FormUse) -> dict[str, object]:
    return {"opcode": use.opcode, "form": use.form, "slots": dict(use.slots), "floor": use.floor.to_json(),
            "spec": str(use.span), "operands": [
                {"name": o.name, "role": o.role, "kinds": list(o.kinds), "type": o.type, "bits": o.bits,
                 "lanes": o.lanes, "space": o.space} for o in use.operands],
            "obligations": [{"id": o.id, "prove": o.prove, "at": o.at, "bytes": o.bytes, "to": o.to, "space": o.space,
                             "access": o.access, "spec": f"{o.span.file}:{o.span.line}"} for o in use.obligations],
            "semantics": [{"do": s.do, **{k: list(v) if isinstance(v, tuple) else v for k, v in s.args.items()}}
                          for s in use.steps]}


def _use_text(use: FormUse) -> Iterator[str]:
    yield f"\n{use.opcode}  (form {use.form}, {use.span.file}:{use.span.line}; needs {use.floor})"
    for operand in use.operands:
        lanes = f" x {operand.lanes}" if operand.lanes > 1 else ""
        kind = "/".join(operand.kinds)
        type_ = f" {operand.type}{lanes}" if operand.type else ""
        space = f" in {operand.space}" if operand.space else ""
        yield f"  operand {operand.name:<7} {operand.role:<5} {kind}{type_}{space}"
    for goal in use.obligations:
        parts = [f"{k} {v}" for k, v in (("bytes", goal.bytes), ("to", goal.to), ("space", goal.space)) if v]
        yield f"  prove {goal.prove} of {goal.at}{'  ' + ', '.join(parts) if parts else ''}  " \
              f"({goal.span.file}:{goal.span.line})"
    for step in use.steps:
        arguments = ", ".join(f"{k}={list(v) if isinstance(v, tuple) else v}" for k, v in step.args.items())
        yield f"  does {step.do}  {arguments}"
