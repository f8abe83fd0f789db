"""The goals of every statement: what must hold, under which facts, and what a failure would be about."""

from __future__ import annotations

from dataclasses import dataclass, field

from ptxspec.diagnostics import Span
from ptxspec.lang import ir
from ptxspec.lang.locate import storage
from ptxspec.proof import formula
from ptxspec.proof.facts import Context, divisions, typed_nodes
from ptxspec.proof.interval import interval
from ptxspec.proof.tree import Access, Branch, Loop, Node, Registers, Step, Threads
from ptxspec.scalar import index as ix
from ptxspec.scalar.expr import BITS, INDEX, Const, Expr, Op, Poly, Var, int_range

#: Spaces an opcode may spell, and the storage each of them reaches. The generic space reaches all three.
SPACES = {
    "global": ("global",),
    "shared": ("shared",),
    "shared::cta": ("shared",),
    "shared::cluster": ("shared",),
    "local": ("local",),
    "generic": ("global", "shared", "local"),
}


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


def local_drafts(nodes: tuple[Node, ...], threads: Threads, bases: dict[ir.Buffer, Var]) -> list[Draft]:
    """The obligations of each statement by itself, in program order."""
    drafts: list[Draft] = []
    for node in nodes:
        if isinstance(node, Step):
            drafts.extend(step_drafts(node, threads, bases))
        elif isinstance(node, Branch):
            drafts.extend(local_drafts(node.then, threads, bases))
            drafts.extend(local_drafts(node.orelse, threads, bases))
        elif isinstance(node, Loop):
            drafts.extend(loop_drafts(node))
            drafts.extend(local_drafts(node.body, threads, bases))
    return drafts


def step_drafts(step: Step, threads: Threads, bases: dict[ir.Buffer, Var]) -> list[Draft]:
    """The obligations of one statement."""
    drafts: list[Draft] = []
    wrap = wrap_draft(step)
    if wrap is not None:
        drafts.append(wrap)
    for access in step.memory:
        drafts.extend(memory_drafts(access, bases))
    for registers in step.registers:
        drafts.extend(register_drafts(registers, threads))
    if isinstance(step.statement, ir.Apply):
        drafts.extend(other_drafts(step.statement, step))
    return drafts


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
    for axis, owner in registers.axes:
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
            owned.items.append(Item(formula.eq(owner, issuer), registers.context, Owner(axis, owner, issuer)))
    drafts.append(owned)
    return drafts


def wrap_draft(step: Step) -> Draft | None:
    """no-wrap of the user's arithmetic that feeds an index, and divisors and shift amounts in range."""
    items: list[Item] = []
    seen: set[Expr] = set()
    for expr in step.typed:
        items.extend(wrap_items(expr, step.outside, seen))
        items.extend(division_items(expr, step.outside))
    if not items and not any(typed_nodes(e) for e in step.typed):
        return None
    return Draft(
        "no-wrap", step.statement.span, "index arithmetic", items, statement=step.statement, context=step.outside
    )


def wrap_items(expr: Expr, context: Context, seen: set[Expr]) -> list[Item]:
    """Every typed operation whose exact value is used stays in its type."""
    items: list[Item] = []
    for node in typed_nodes(expr):
        if node in seen:
            continue
        seen.add(node)
        low, high = int_range(node.dtype)
        value = ix.index(node)
        lo, hi = ix.bounds(value)
        if lo is not None and hi is not None and low <= lo and hi <= high:
            continue
        for claim in (formula.le(low, value), formula.le(value, high)):
            if not (isinstance(claim, Const) and claim.value):
                items.append(Item(claim, context, Wrap(node, value), where=node.span))
    return items


def division_items(expr: Expr, context: Context) -> list[Item]:
    """Divisors that are not plain constants differ from zero; shift amounts are inside the width."""
    items: list[Item] = []
    for node in divisions(expr):
        right = node.args[1]
        if node.name in ("shl", "shr"):
            width = BITS.get(node.dtype, 64)
            claim = formula.within(right, 0, width - 1)
            items.append(
                Item(
                    claim,
                    context,
                    Positive(right, f"the shift amount must lie in 0 to {width - 1}", node),
                    where=node.span,
                )
            )
        else:
            claim = formula.negate(formula.eq(right, 0))
            items.append(Item(claim, context, Positive(right, "the divisor must not be zero", node), where=node.span))
    return items


def loop_drafts(loop: Loop) -> list[Draft]:
    """A runtime step must move forward, and bounds that the loop variable's declared range rests on must not wrap."""
    statement = loop.statement
    var, step = statement.var, statement.step
    draft = Draft("no-wrap", statement.span, f"loop over {var.name}", statement=statement, context=loop.context)
    if not isinstance(step, Const):
        claim = Op("gt", (step, Const(0, step.dtype)), "bool")
        draft.items.append(Item(claim, loop.context, Positive(step, "the step of a loop must be positive", step)))
    low, high = interval(statement.start, {}, {})[0], interval(statement.stop, {}, {})[1]
    relied: list[Expr] = []
    if var.lo is not None and (low is None or low < var.lo):
        relied.append(statement.start)
    if var.hi is not None and (high is None or high - 1 > var.hi):
        relied.append(statement.stop)
    for expr in relied:
        draft.items.extend(wrap_items(expr, loop.context, set()))
    return [draft] if draft.items else []


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
