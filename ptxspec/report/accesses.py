"""Memory accesses of a kernel, worked out for the threads of one warp: which bytes each atom touches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ptxspec.diagnostics import Span
from ptxspec.lang import ir
from ptxspec.lang.locate import element_bytes, storage
from ptxspec.proof.report import Counterexample, Obligation, ProofReport
from ptxspec.proof.tree import Access, Threads, steps
from ptxspec.proof.walk import Walker
from ptxspec.report.places import first_indices
from ptxspec.scalar.evaluate import Unknown, evaluate
from ptxspec.scalar.expr import Expr, Var, is_float

Env = dict[Expr, int]
Triple = tuple[int, int, int]
WARP = 32
#: Values tried for dimensions and scalars of a kernel without a counterexample, the first that suits every assumption.
_TRIES = (256, 128, 64, 1024, 32, 16, 8, 4, 2, 1, 0)


@dataclass(frozen=True, slots=True)
class Atom:
    """One thread's share: byte offsets of its words (``word_bytes`` each). ``active`` is False where a guard or a
    predicate leaves the thread out; ``failing`` marks the thread of the counterexample. ``repeat`` counts the repeats
    of a kernel of a single thread, which are drawn in place of a warp (None: the first, or the failing one)."""

    thread: int
    coordinates: Triple
    words: tuple[int, ...]
    active: bool
    failing: bool = False
    repeat: int | None = None

    @property
    def label(self) -> str:
        """What the drawing calls it."""
        return f"t{self.thread}" if self.repeat is None else f"#{self.repeat}"

    @property
    def low(self) -> int:
        """The first byte."""
        return min(self.words)


@dataclass(frozen=True, slots=True)
class Drawn:
    """One access with the atoms of one warp. ``values`` are the numbers it was worked out for; ``extent`` is the range
    of bytes that exist (None when not known); ``problem`` says why there are no atoms; ``bad`` is what failed.
    """

    what: str
    where: Span
    kind: str
    buffer: str
    scope: str
    dtype: str
    unit: int
    word_bytes: int
    atoms: tuple[Atom, ...]
    block: Triple
    values: dict[str, int]
    extent: tuple[int, int] | None
    problem: str = ""
    bad: Obligation | None = None


def accesses(kernel: ir.Kernel, report: ProofReport | None, most: int | None = None) -> Iterator[Drawn]:
    """The memory operands, refuted ones first (at their counterexample's values), else in program order.

    ``most`` stops after as many; :func:`count` says how many there are.
    """
    walker = Walker(kernel)
    failed, seconds = _failed(report), _seconds(report)
    found: list[tuple[Access, Obligation | None, Counterexample | None]] = []
    for step in steps(walker.nodes):
        for access in step.memory:
            bad, example = failed.get((access.span, access.what)), None
            if bad is not None:
                example = bad.counterexample
            elif access.span in seconds:
                bad, example = seconds[access.span]
            found.append((access, bad, example))
    found.sort(key=lambda entry: entry[1] is None)
    for access, bad, example in found[:most]:
        yield drawn(kernel, walker, access, bad, example)


def count(kernel: ir.Kernel) -> int:
    """How many memory operands the kernel has."""
    return sum(len(step.memory) for step in steps(Walker(kernel).nodes))


def _failed(report: ProofReport | None) -> dict[tuple[Span, str], Obligation]:
    found: dict[tuple[Span, str], Obligation] = {}
    for obligation in report.failures() if report is not None else ():
        if obligation.counterexample is not None:
            found.setdefault((obligation.where, obligation.subject), obligation)
    return found


def _seconds(report: ProofReport | None) -> dict[Span, tuple[Obligation, Counterexample]]:
    """The other access of each race, with the values of the thread that makes it."""
    found: dict[Span, tuple[Obligation, Counterexample]] = {}
    for obligation in report.failures() if report is not None else ():
        example = obligation.counterexample
        if obligation.code != "race-free" or example is None or example.second is None or not obligation.diagnostic:
            continue
        # The first thread's access is told before the second one's.
        places = [n.span for n in obligation.diagnostic.notes if n.span is not None and n.kind == "note"][:2]
        if len(places) != 2:
            continue
        second = example.second
        primed = {(v.role, v.name[:-1]): n for v, n in example.env.items() if isinstance(v, Var)
                  and v.name.endswith("'")}
        env: Env = {v: primed.get((v.role, v.name), n) for v, n in example.env.items() if isinstance(v, Var)}
        theirs = replace(second, env={**example.env, **env}, lines=example.lines)
        for place, mine in zip(places, (example, theirs)):
            found.setdefault(place, (obligation, mine))
    return found


def drawn(kernel: ir.Kernel, walker: Walker, access: Access, bad: Obligation | None,
          example: Counterexample | None) -> Drawn:
    """The atoms of one warp: that of the thread of ``example``, else the first one."""
    unit = element_bytes(access.buffer.dtype)
    block = (example.block if example is not None else None) or (0, 0, 0)
    atoms: list[Atom] = []
    problem = ""
    env: Env = {}
    try:
        env = _values(kernel, walker, access, example)
        failing = _linear(example.thread, kernel.launch.block) if example is not None and example.thread else None
        also = example.second if example is not None else None
        second = _linear(also.thread, kernel.launch.block) if also is not None and also.thread and also.block == block \
            and bad is not None and bad.code == "race-free" else None
        for linear in _warp(failing, kernel.launch.block):
            atoms.append(_atom(access, walker.threads, env, linear, block, linear in (failing, second)))
        if walker.threads.count == 1 and access.free and example is None:
            atoms = list(_repeats(access, walker.threads, env, block))
    except Unknown as reason:
        problem = str(reason)
    extent = None
    try:
        low, high = (evaluate(e, env) * unit for e in storage(access.buffer))
        extent = (low, high)
    except Unknown:
        pass
    named = {v.name: n for v, n in env.items() if isinstance(v, Var) and v.role in ("dim", "param", "loop", "repeat")
             and not v.name.endswith("'") and _matters(access, v)}
    return Drawn(access.what, access.span, access.kind, access.buffer.name, access.buffer.scope, access.buffer.dtype,
                 unit, access.word_bytes, tuple(atoms), block, named, extent, problem, bad)


def _matters(access: Access, var: Var) -> bool:
    from ptxspec.scalar.expr import variables
    return any(var in variables(w) for w in access.words[:1]) or any(
        var in variables(f.condition) for f in access.context.facts() if f.kind in ("guard", "pred", "loop"))


def _warp(failing: int | None, block: Sequence[int]) -> range:
    threads = block[0] * block[1] * block[2]
    first = 0 if failing is None else failing // WARP * WARP
    return range(first, min(first + WARP, threads))


def _linear(thread: Sequence[int] | None, block: Sequence[int]) -> int:
    x, y, z = thread or (0, 0, 0)
    return x + block[0] * (y + block[1] * z)


def _repeats(access: Access, threads: Threads, env: Env, block: Triple) -> Iterator[Atom]:
    """The repeats of the only thread."""
    extents = tuple((v.hi or 0) + 1 for v in access.free)
    for number, index in enumerate(first_indices(extents, WARP)):
        here: Env = dict(env)
        here.update(zip(access.free, index))
        yield replace(_atom(access, threads, here, 0, block, False), repeat=number)


def _atom(access: Access, threads: Threads, env: Env, linear: int, block: Triple, failing: bool) -> Atom:
    x, y, z = linear % threads.block[0], linear // threads.block[0] % threads.block[1], \
        linear // (threads.block[0] * threads.block[1])
    here: Env = dict(env)
    here.update(zip(threads.tid, (x, y, z)))
    here.update(zip(threads.ctaid, block))
    words = tuple(evaluate(w, here) for w in access.words)
    active = True
    for fact in access.context.facts():
        if fact.kind in ("guard", "pred", "loop"):
            try:
                active = active and bool(evaluate(fact.condition, here, machine=True))
            except Unknown:   # a value read from memory: drawn as active, since it may be
                continue
    return Atom(linear, (x, y, z), words, active, failing)


def _values(kernel: ir.Kernel, walker: Walker, access: Access, example: Counterexample | None) -> Env:
    """Values for everything but thread and block. Raises :class:`Unknown` where nothing suits."""
    env: Env = {}
    if example is not None:
        env = dict(example.env)
        primed = [v for v in env if isinstance(v, Var) and v.name.endswith("'")]
        for var in primed:
            del env[var]
    free = [v for v in (*kernel.dims, *(p for p in kernel.params if isinstance(p, Var)))
            if v not in env and not is_float(v.dtype)]
    facts = [f for f in access.context.facts() if f.kind == "assume"]
    start: Env = {}
    start.update((v, 0) for v in (*walker.threads.tid, *walker.threads.ctaid))
    for tried in _TRIES if free else (0,):
        offered: Env = {v: max(min(tried, v.hi if v.hi is not None else tried), v.lo if v.lo is not None else tried)
                        for v in free}
        try:
            if all(evaluate(f.condition, {**start, **env, **offered}) for f in facts):
                env |= offered
                break
        except Unknown:
            continue
    else:
        env.update((v, max(1, v.lo or 0)) for v in free)
    for fact in access.context.facts():
        if fact.binds is not None and fact.start is not None and fact.binds not in env:
            env[fact.binds] = evaluate(fact.start, {**start, **env})
    for repeat in access.free:
        env.setdefault(repeat, 0)
    return env
