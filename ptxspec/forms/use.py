"""An opcode as a form in use: operands, steps of its semantics and obligations, every expression evaluated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from ptxspec.diagnostics import Diagnostic, FormError, Note, Span
from ptxspec.forms import registry
from ptxspec.forms.check import floor_of, judge
from ptxspec.forms.evaluate import Evaluator
from ptxspec.forms.kinds import accepts, describe, kinds_of
from ptxspec.forms.parse import fits, parse, spell, words_of
from ptxspec.forms.table import FormTable, Table
from ptxspec.forms.target import Machine, machine
from ptxspec.forms.verdict import Floor

if TYPE_CHECKING:
    from ptxspec.ptx.operand import Operand


@dataclass(frozen=True, slots=True)
class OperandUse:
    """One operand: ``bits`` of one lane, ``lanes`` in the brace group (1: no group), ``space`` of an address
    (``"generic"`` when the opcode names none, ``""`` for other operands), ``classes``: the register rule."""

    name: str
    role: str
    kinds: tuple[str, ...]
    type: str
    bits: int
    lanes: int
    space: str
    classes: str = "exact"
    sink: bool = False


@dataclass(frozen=True, slots=True)
class ObligationUse:
    """One proof goal of the use; ``span`` is its place in the specs."""

    id: str
    prove: str
    at: str
    bytes: int
    to: int
    space: str
    access: str
    span: Span


@dataclass(frozen=True, slots=True)
class Step:
    """One step of the semantics; arguments are integers, words, flags, or lists of value names."""

    do: str
    args: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class FormUse:
    """A legal form for one spelling. ``slots`` holds written words only."""

    mnemonic: str
    form: str
    opcode: str
    slots: Mapping[str, str]
    operands: tuple[OperandUse, ...]
    obligations: tuple[ObligationUse, ...]
    steps: tuple[Step, ...]
    floor: Floor
    span: Span

    def operand(self, name: str) -> OperandUse:
        """The operand of that name."""
        return next(o for o in self.operands if o.name == name)


Kinds = Sequence["Operand | str"]


def use(
    opcode: str, *, sm: str = "sm_90", ptx: str | tuple[int, int] | None = None, operand_kinds: Kinds | None = None
) -> FormUse:
    """The form that ``opcode`` is on this target.

    ``operand_kinds`` (operands, or words such as ``"register"``, ``"vector4"``) decides between forms with one spelling
    and between lane counts. Raises :class:`FormError` with the whole explanation when nothing fits.
    """
    here = machine(sm, ptx)
    return _use(opcode, here, None if operand_kinds is None else tuple(kinds_of(o) for o in operand_kinds))


@lru_cache(maxsize=8192)
def _use(opcode: str, here: Machine, kinds: tuple[str, ...] | None) -> FormUse:
    verdict = judge(opcode, here)
    if not verdict.legal:
        assert verdict.diagnostic is not None
        raise FormError(verdict.diagnostic)
    candidates = [u for u in uses(opcode, here) if kinds is None or matches(u, kinds)]
    if not candidates:
        assert kinds is not None
        wanted = "; ".join(f"{u.form}: {describe(u.operands)}" for u in uses(opcode, here))
        raise FormError(
            Diagnostic(
                "F402", f"no form of `{opcode}` takes the operands ({', '.join(kinds)})", notes=(Note("help", wanted),)
            )
        )
    return candidates[0]


def matches(u: FormUse, kinds: tuple[str, ...]) -> bool:
    """Whether operands of these kinds, in this number, fit the use."""
    if len(kinds) != len(u.operands):
        return False
    return all(accepts(o, kind) for o, kind in zip(u.operands, kinds, strict=True))


@lru_cache(maxsize=8192)
def uses(opcode: str, here: Machine | None = None) -> tuple[FormUse, ...]:
    """All forms that take this spelling, one for each choice of lanes; with ``here``, those that the machine has."""
    parsed = parse(opcode)
    if parsed.table is None or parsed.problem is not None:
        raise FormError(parsed.problem or registry.unknown_mnemonic(opcode))
    out: list[FormUse] = []
    for form in parsed.table.forms:
        if form.documented and fits(form, parsed.mask) and not form.broken(parsed.mask):
            floor = floor_of(form, parsed.mask)
            if here is not None:
                high = floor.ptx > (here.ptx // 10, here.ptx % 10) or floor.sm > here.sm
                if high or (floor.only and here.name not in floor.only):
                    continue
            out.extend(evaluate(parsed.table, form, parsed.mask, floor))
    return tuple(out)


def evaluate(table: Table, form: FormTable, mask: int, floor: Floor) -> list[FormUse]:
    """The uses of one form: one, or one for each lane count where the operands decide it (``mov`` packing)."""
    counts: list[int] = []
    for o in form.operands:
        if isinstance(o.lanes, tuple) and o.lanes and o.lanes[0] == "one-of":
            counts = [n for n in o.lanes[1:] if isinstance(n, int)]
    out = []
    for count in counts or [0]:
        u = _one(table, form, mask, floor, count)
        if u is not None:
            out.append(u)
    return out


def _one(table: Table, form: FormTable, mask: int, floor: Floor, count: int) -> FormUse | None:
    vocabulary = registry.vocabulary()
    written = dict(words_of(table, mask))
    values = {s.name: written.get(s.name, s.absent) for s in form.slots}
    lanes: dict[str, int] = {}
    evaluator = Evaluator(vocabulary, values, written, lanes)
    operands: list[OperandUse] = []
    part = 1
    for o in form.operands:
        if o.present is not None and not o.present(mask):
            continue
        choice = isinstance(o.lanes, tuple) and o.lanes[0] == "one-of"
        n = count if choice else evaluator.integer(o.lanes)
        part = n if choice else part
        lanes[o.name] = n
        type_ = evaluator.type(o.type, n)
        if type_ not in vocabulary.types and type_ != "":
            return None  # a lane of four bits, say: this lane count does not exist for the type
        kinds = o.kinds if n == 1 else ("vector",)
        operands.append(
            OperandUse(
                o.name,
                o.role,
                kinds,
                type_,
                vocabulary.types[type_][0] if type_ else 0,
                n,
                (evaluator.word(o.space) or "generic") if "address" in kinds else "",
                o.classes,
                o.sink,
            )
        )
    steps = tuple(
        Step(s.do, MappingProxyType({k: evaluator.argument(e, part) for k, e in s.args}))
        for s in form.steps
        if s.when is None or s.when(mask)
    )
    goals = tuple(
        ObligationUse(
            g.id,
            g.prove,
            g.at,
            evaluator.integer(g.bytes),
            evaluator.integer(g.to),
            evaluator.word(g.space),
            g.access,
            Span(table.file, g.line),
        )
        for g in form.obligations
        if g.when is None or g.when(mask)
    )
    return FormUse(
        table.mnemonic,
        form.id,
        spell(table, mask),
        MappingProxyType(written),
        tuple(operands),
        goals,
        steps,
        floor,
        Span(table.file, form.line),
    )
