"""The goals of every statement: what must hold, under which facts, and what a failure would be about."""

from __future__ import annotations

from dataclasses import dataclass, field

from ptxspec.diagnostics import Span
from ptxspec.lang import ir
from ptxspec.lang.locate import storage
from ptxspec.proof import formula
from ptxspec.proof.facts import Context
from ptxspec.proof.tree import Access, Registers, Step, Threads
from ptxspec.scalar import index as ix
from ptxspec.scalar.expr import BITS, INDEX, Const, Expr, Op, Poly, Var

#: Spaces an opcode may spell, and the storage each of them reaches. The generic space reaches all three.
SPACES = {
    "global": ("global",),
    "shared": ("shared",),
    "shared::cta": ("shared",),
    "shared::cluster": ("shared",),
    "local": ("local",),
    "generic": ("global", "shared", "local"),
}

#: Copies of an element on one hardware axis that are told apart.
MAX_COPIES = 64


@dataclass(frozen=True, eq=False, slots=True)
class Item:
    """One claim of an obligation. ``about`` carries what messages need; ``unknown`` is a reason not to decide it, and
    ``doubt`` a reason why a counterexample may not be real."""

    claim: Expr
    context: Context
    about: object = None
    unknown: str = ""
    where: Span | None = None
    doubt: str = ""


@dataclass(eq=False, slots=True)
class Draft:
    """One obligation before it is decided. ``subject`` names the operand or statement in words."""

    name: str
    where: Span
    subject: str
    items: list[Item] = field(default_factory=list)
    rule: Span | None = None
    statement: ir.Statement | None = None
    access: Access | Registers | None = None
    context: Context | None = None


@dataclass(frozen=True, slots=True)
class Bound:
    """An index that must lie in [0, extent)."""

    index: Poly
    extent: Poly
    check: ir.BoundCheck


@dataclass(frozen=True, slots=True)
class Aligned:
    """A byte offset that must be a multiple of ``to``; ``base`` is the unknown address where it matters."""

    byte: Poly
    to: int
    base: Poly


@dataclass(frozen=True, slots=True)
class Gap:
    """Word ``number`` of an atom, which must lie ``number`` words after word zero."""

    number: int
    first: Poly
    byte: Poly
    word_bytes: int


@dataclass(frozen=True, slots=True)
class Wrap:
    """A typed operation that must stay inside its type."""

    node: Op
    value: Poly


@dataclass(frozen=True, slots=True)
class Positive:
    """A divisor that must not be zero, a shift amount in range, or a loop step that must be positive."""

    value: Expr
    what: str
    node: Expr


@dataclass(frozen=True, slots=True)
class Owner:
    """The thread that owns a register against the one that names it, on one hardware axis."""

    axis: str
    owner: Poly
    issuer: Poly


@dataclass(frozen=True, slots=True)
class Simple:
    """A claim that needs no more than its own words."""

    text: str
    help: str = ""


def memory_drafts(access: Access, bases: dict[ir.Buffer, Var]) -> list[Draft]:
    """in-space, in-bounds, aligned and consecutive of one memory operand."""
    rules = access.rules
    apply = access.statement if isinstance(access.statement, ir.Apply) else None
    subject = access.what
    drafts: list[Draft] = []

    def draft(name: str) -> Draft:
        made = Draft(
            name,
            access.span,
            subject,
            rule=rules.get(name),
            statement=access.statement,
            access=access,
            context=access.context,
        )
        drafts.append(made)
        return made

    if apply is not None:
        operand = [o for o in apply.use.operands if o.name != "policy"][access.operand]
        wanted = SPACES.get(operand.space, ())
        draft("in-space").items.append(
            Item(
                formula.truth(access.buffer.scope in wanted),
                access.context,
                Simple(
                    f"{access.buffer.name} lies in {access.buffer.scope} memory, but {apply.use.opcode} "
                    f"addresses {operand.space} memory"
                ),
            )
        )
    bounds = draft("in-bounds")
    bounds.items.extend(bound_items(access.checks, access.context, access))
    bounds.items.extend(storage_items(access))
    if access.moved and access.moved != access.size:
        reason = f"the instruction moves {access.moved} bytes, but the operand's atom has {access.size}"
        bounds.items.append(Item(formula.FALSE, access.context, Simple(reason), unknown=reason))
    aligned = draft("aligned")
    aligned.items.append(align_item(access, access.need_align, bases))
    if len(access.words) > 1:
        consecutive = draft("consecutive")
        first = access.words[0]
        for number, byte in enumerate(access.words):
            claim = formula.eq(byte, ix.add(first, number * access.word_bytes))
            consecutive.items.append(Item(claim, access.context, Gap(number, first, byte, access.word_bytes)))
    return drafts


def bound_items(checks: tuple[ir.BoundCheck, ...], context: Context, access: Access | Registers) -> list[Item]:
    """One claim for each end of each axis of each view step."""
    items: list[Item] = []
    seen: set[tuple[Poly, Poly]] = set()
    for check in checks:
        index = ix.index(check.index)
        if (index, check.extent) in seen:
            continue
        seen.add((index, check.extent))
        about = Bound(index, check.extent, check)
        for claim in (formula.le(0, index), formula.lt(index, check.extent)):
            if not (isinstance(claim, Const) and claim.value):
                items.append(Item(claim, context, about, where=check.span))
    return items


def storage_items(access: Access) -> list[Item]:
    """The bytes of wide words against the storage itself, where a view changed the element size."""
    if not any(isinstance(s, (ir.Reinterpret, ir.Relayout)) for s in access.view.steps):
        return []
    unit = BITS[access.buffer.dtype] // 8
    low, high = storage(access.buffer)
    items: list[Item] = []
    words = {access.words[0], access.words[-1]}
    for byte in sorted(words, key=lambda p: p._hash):
        what = f"last byte in the storage of {access.buffer.name}"
        check = ir.BoundCheck(byte, ix.scale(high, unit), 0, access.span, what)
        about = Bound(ix.add(byte, access.word_bytes - 1), ix.scale(high, unit), check)
        for claim in (
            formula.le(ix.scale(low, unit), byte),
            formula.le(ix.add(byte, access.word_bytes), ix.scale(high, unit)),
        ):
            if not (isinstance(claim, Const) and claim.value):
                items.append(Item(claim, access.context, about, where=access.span))
    return items


def align_item(access: Access, to: int, bases: dict[ir.Buffer, Var]) -> Item:
    """word zero's address is a multiple of ``to``, the base being a multiple of the alignment its buffer surely has."""
    buffer, byte = access.buffer, access.words[0]
    if buffer.align % to == 0:
        return Item(formula.divides(to, byte), access.context, Aligned(byte, to, ix.ZERO))
    if buffer not in bases:
        bases[buffer] = Var(f"address of {buffer.name} / {buffer.align}", INDEX, "base", 0, None)
    base = ix.scale(bases[buffer], buffer.align)
    return Item(formula.divides(to, ix.add(base, byte)), access.context, Aligned(byte, to, base))


def register_drafts(registers: Registers, threads: Threads) -> list[Draft]:
    """in-bounds and owned of one register operand."""

    def draft(name: str) -> Draft:
        return Draft(
            name,
            registers.span,
            registers.what,
            statement=registers.statement,
            access=registers,
            context=registers.context,
        )

    drafts: list[Draft] = []
    bounds = draft("in-bounds")
    bounds.items.extend(bound_items(registers.checks, registers.context, registers))
    drafts.append(bounds)
    owned = draft("owned")
    owners = dict(registers.axes)
    for replica in registers.replicas:      # an axis that only copies lie on pins the register to those places
        if replica.axis != "m":
            owners.setdefault(replica.axis, ix.ZERO)
    for axis, owner in owners.items():
        issuer = threads.coordinate(axis)
        if issuer is None:
            owned.items.append(
                Item(
                    formula.FALSE,
                    registers.context,
                    Simple(f"axis {axis} names no thread"),
                    unknown=f"the prover does not know the hardware axis `{axis}`",
                )
            )
        else:
            claim = formula.disj([formula.eq(copy, issuer) for copy in copies(axis, owner, registers.replicas)])
            owned.items.append(Item(claim, registers.context, Owner(axis, owner, issuer)))
    drafts.append(owned)
    return drafts


def copies(axis: str, owner: Poly, replicas: tuple[ir.Replica, ...]) -> list[Poly]:
    """The places on a hardware axis that hold a copy of an element; only the first where their number is not known."""
    places = [owner]
    for replica in replicas:
        if replica.axis == axis and replica.extent.is_const and replica.extent.const * len(places) <= MAX_COPIES:
            places = [ix.add(p, ix.scale(replica.stride, k)) for p in places for k in range(replica.extent.const)]
    return places


def other_drafts(apply: ir.Apply, step: Step) -> list[Draft]:
    """Obligations of the specs that are not about memory: immediates, divisors, and whatever has no rule here."""
    drafts: list[Draft] = []
    names = [o.name for o in apply.use.operands if o.name != "policy"]
    for obligation in apply.use.obligations:
        if obligation.prove in (
            "aligned",
            "consecutive",
            "in-bounds",
            "in-space",
            "race-free",
            "owned",
            "disjoint",
            "defined",
        ):
            continue
        given = apply.operands[names.index(obligation.at)] if obligation.at in names else None
        draft = Draft(
            _NAME.get(obligation.prove, "fits"),
            apply.span,
            f"{obligation.at} of {apply.use.opcode}",
            rule=obligation.span,
            statement=apply,
            context=step.context,
        )
        if obligation.prove == "nonzero" and isinstance(given, Expr) and not isinstance(given.dtype, float):
            claim = Op("ne", (given, Const(0, given.dtype)), "bool")
            draft.items.append(Item(claim, step.context, Positive(given, "the divisor must not be zero", given)))
        else:
            draft.items.append(
                Item(
                    formula.FALSE,
                    step.context,
                    Simple(f"`{obligation.prove}` of {apply.use.opcode}"),
                    unknown=f"the prover has no rule for the obligation `{obligation.prove}` on "
                    f"{'registers' if isinstance(given, ir.View) else 'this operand'}",
                )
            )
        drafts.append(draft)
    return drafts


_NAME = {"nonzero": "no-wrap", "convergent": "convergent", "fits": "fits"}
