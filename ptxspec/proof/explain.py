"""Failures in words: the user's line, a replayed counterexample in the user's names, the term to blame, the way out."""

from __future__ import annotations

from dataclasses import replace

from ptxspec.diagnostics import Diagnostic, Note, NoteKind, Severity
from ptxspec.lang.locate import element_bytes
from ptxspec.proof import explain_threads, witness
from ptxspec.proof.codes import code_of
from ptxspec.proof.converge import Diverges, text_of
from ptxspec.proof.defined import Unwritten
from ptxspec.proof.goals import Aligned, Bound, Draft, Gap, Item, Owner, Positive, Simple, Wrap
from ptxspec.proof.race import Clash
from ptxspec.proof.registers import Overlap
from ptxspec.proof.report import Counterexample
from ptxspec.proof.shared import NeverWritten
from ptxspec.proof.tree import Access, Registers, Threads
from ptxspec.scalar.evaluate import Unknown, evaluate
from ptxspec.scalar.expr import Expr, Poly, Var, int_range, is_signed, show, variables

Env = dict[Expr, int]

#: Roles that are shown as thread and block rather than as plain names.
_PLACES = ("tid.", "ctaid.")


def counterexample(draft: Draft, item: Item, env: Env, threads: Threads) -> Counterexample:
    """The model in the user's names, with the numbers that fail worked out again in plain Python."""
    env = completed(env, draft, item, threads)
    inside = set(variables(item.claim))
    for part in _exprs(item.about):
        inside.update(variables(part))
    for fact in item.context:
        names = set(variables(fact.condition))
        if names & inside or fact.kind in ("pred", "guard", "loop"):
            inside |= names
    named: dict[str, int] = {}
    for var in sorted(inside, key=lambda v: v.uid):
        if var.role.startswith(_PLACES) or var.role in ("trip", "base") or var not in env:
            continue
        if var.dtype.startswith(("float", "bfloat", "bits")):
            continue
        named[label(var)] = env[var]
    thread = tuple(env.get(v, 0) for v in threads.tid)
    block = tuple(env.get(v, 0) for v in threads.ctaid)
    result = Counterexample(named, thread, block, env=env)  # type: ignore[arg-type]
    if isinstance(item.about, Clash):
        return explain_threads.clash_example(result, item.about, env, threads)
    if isinstance(item.about, Diverges):
        return explain_threads.diverge_example(result, item.about, env, threads)
    return _filled(result, draft, item, env)


def completed(env: Env, draft: Draft, item: Item, threads: Threads) -> Env:
    """The model with a value for everything that messages mention. What no fact mentions may have any value."""
    wanted: set[Var] = {*threads.tid, *threads.ctaid}
    for part in _exprs(item.about):
        wanted.update(variables(part))
    if isinstance(draft.access, Access):
        for word in (*draft.access.words, *draft.access.index):
            wanted.update(variables(word))
    return env | {v: witness.smallest(v) for v in wanted if v not in env}


def _exprs(about: object) -> list[Expr]:
    if isinstance(about, Bound):
        return [about.index, about.extent]
    if isinstance(about, Aligned):
        return [about.byte]
    if isinstance(about, Gap):
        return [about.first, about.byte]
    if isinstance(about, Wrap):
        return [about.value]
    if isinstance(about, Positive):
        return [about.value]
    if isinstance(about, Owner):
        return [about.owner, about.issuer]
    return []


def label(var: Var) -> str:
    """The name a person knows the variable by."""
    return var.name


def _filled(result: Counterexample, draft: Draft, item: Item, env: Env) -> Counterexample:
    about, access = item.about, draft.access
    array = access.buffer.name if access is not None else None
    lines: list[str] = []
    byte: int | None = None
    left: int | None = None
    index: tuple[int, ...] | None = None
    if isinstance(about, Bound):
        at, extent = value(about.index, env), value(about.extent, env)
        lines.append(
            f"{about.check.what}: {show_value(about.index, at)}, but the axis holds {extent} "
            f"({'no index is allowed' if extent <= 0 else f'0 to {extent - 1}'})"
        )
    if isinstance(about, Aligned):
        byte = value(about.byte, env)
        base = value(about.base, env)
        left = (byte + base) % about.to
        unit = element_bytes(access.buffer.dtype) if access is not None else 1
        start = f"base address {base}, " if base else ""
        lines.append(f"{start}{elements(byte, unit)}; {base + byte} leaves {left} modulo {about.to}")
    elif isinstance(access, Access):
        byte = _try(access.words[0], env)
        if byte is not None:
            lines.append(
                f"{elements(byte, element_bytes(access.buffer.dtype))} from the start of {array}, "
                f"{access.size} bytes long"
            )
    if isinstance(access, Access) and access.index:
        found = [_try(i, env) for i in access.index]
        index = tuple(i for i in found if i is not None) if None not in found else None
    if isinstance(about, Gap):
        first, here = value(about.first, env), value(about.byte, env)
        lines.insert(
            0,
            f"word 0 at byte {first}, word {about.number} at byte {here}: "
            f"{here - first} apart instead of {about.number * about.word_bytes}",
        )
    if isinstance(about, Wrap):
        exact = value(about.value, env)
        low, high = int_range(about.node.dtype)
        lines.insert(0, f"{show(about.node)} = {exact}, but {about.node.dtype} holds {low} to {high}")
    if isinstance(about, Positive):
        number = _try(about.value, env)
        if number is not None:
            lines.insert(0, f"{show(about.value)} = {number}")
    if isinstance(about, Owner):
        lines.insert(
            0,
            f"the register belongs to {about.axis} {value(about.owner, env)}, "
            f"the thread is {about.axis} {value(about.issuer, env)}",
        )
    if isinstance(about, Overlap):
        lines.append(
            f"byte {about.slot} of {array} is written by {_word(*about.first)} and by {_word(*about.second)}"
        )
    if isinstance(about, NeverWritten) and about.within is not None and byte is not None:
        byte += about.within
        lines.append(f"nobody has written byte {byte} of {array} (element {byte // element_bytes(about.buffer.dtype)})")
    if isinstance(about, Unwritten) and about.slot < 0:
        lines.append(f"no register of {about.buffer.name} has been written by then")
    elif isinstance(about, Unwritten):
        unit = element_bytes(about.buffer.dtype)
        lines.append(
            f"register {about.slot // unit} of {about.buffer.name} (byte {about.slot}) is read as word "
            f"{about.word}"
            + (f" of repeat {list(about.repeat)}" if about.repeat else "")
            + " without having been written"
        )
    return replace(result, lines=tuple(lines), array=array, byte=byte, remainder=left, index=index)


def diagnostic(
    draft: Draft, item: Item, verdict: str, found: Counterexample | None, reason: str, help: tuple[str, ...] = ()
) -> Diagnostic:
    """The rustc-style message of one obligation that is not proved."""
    notes: list[Note] = []
    severity: Severity = "error"
    if found is not None:
        notes.append(Note("counterexample", "\n".join([_heading(found), *found.lines])))
        cause = blame(draft, item, found.env)
        if cause:
            notes.append(Note("cause", cause))
        near = neighbour(item, found.env) if not isinstance(item.about, (Clash, Diverges)) else ""
        if near:
            notes.append(Note("note", near))
    if isinstance(item.about, Clash):
        notes.extend(explain_threads.clash_notes(item.about))
    elif isinstance(item.about, NeverWritten):
        notes.extend(written_notes(item.about))
    elif item.where is not None and item.where != draft.where and item.where.line != draft.where.line:
        what = "the condition is here" if isinstance(item.about, Diverges) else "the index is written here"
        notes.append(Note("note", what, item.where))
    if verdict == "unknown":
        notes.append(Note("note", f"neither proved nor refuted: {reason}"))
    if draft.rule is not None:
        notes.append(Note("rule", f"{draft.name} of {draft.subject}", draft.rule))
    kind: NoteKind = "help"
    notes.extend(Note(kind, text) for text in help)
    return Diagnostic(code_of(draft.name), headline(draft, item, verdict), draft.where, severity, tuple(notes))


def written_notes(about: NeverWritten) -> list[Note]:
    """What the kernel writes to a shared array instead of the bytes that it reads."""
    name = about.buffer.name
    notes = [Note("note", f"this has written {count} bytes of {name}, " +
                  ("" if count == high - low + 1 else "some of those ") + f"from {low} to {high}", span)
             for span, low, high, count in about.written[:4]]
    if about.after is not None:
        notes.append(Note("note", "the byte is written here, but later", about.after))
    return notes


def headline(draft: Draft, item: Item, verdict: str) -> str:
    """One sentence that says what is wrong, or what could not be decided."""
    about, subject = item.about, draft.subject
    if verdict == "unknown":
        return f"could not decide whether {subject} is {_ADJECTIVE.get(draft.name, draft.name)}"
    if isinstance(about, Clash):
        return explain_threads.clash_headline(about)
    if isinstance(about, Diverges):
        return f"{subject} is not reached by all threads: {text_of(about)} differs among them"
    if isinstance(about, Bound):
        return f"{subject} leaves its bounds: {about.check.what}" + (
            f", `{show(about.index)}`" if about.index.terms else ""
        )
    if isinstance(about, Aligned):
        return f"{subject} is not aligned to {about.to} bytes"
    if isinstance(about, Gap):
        return f"the words of {subject} do not follow each other"
    if isinstance(about, Wrap):
        return f"`{show(about.node)}` does not fit {about.node.dtype}"
    if isinstance(about, Positive):
        return f"{about.what}: `{show(about.value)}`"
    if isinstance(about, Owner):
        return f"{subject} names a register of another thread"
    if isinstance(about, Overlap):
        return f"two words of {subject} are written to one register"
    if isinstance(about, Unwritten):
        return f"{subject} reads {about.buffer.name} before it is written"
    if isinstance(about, NeverWritten):
        name = about.buffer.name
        if about.where:
            return f"{subject} may find nothing: these bytes of {name} are written only where {about.where}"
        if about.elsewhere:
            return f"{subject} finds nothing: no write before it touches these bytes of {name}"
        return f"{subject} finds nothing: {name} is " + ("only written after it" if about.later else "never written")
    if isinstance(about, Simple):
        return about.text
    return f"{subject}: {draft.name} does not hold"


_ADJECTIVE = {
    "in-bounds": "in bounds",
    "in-space": "in the right memory",
    "no-wrap": "free of overflow",
    "race-free": "free of races",
    "defined": "written before it is read",
    "owned": "the thread's own",
    "disjoint": "written once",
    "fits": "small enough",
    "launch": "launchable",
}


def _heading(found: Counterexample) -> str:
    parts: list[str] = []
    if found.thread is not None:
        parts.append(f"thread {_coordinates(found.thread)}, block {_coordinates(found.block or (0, 0, 0))}")
    parts.extend(f"{name} = {number}" for name, number in found.values.items())
    return ", ".join(parts) or "for every thread"


def _coordinates(place: tuple[int, int, int]) -> str:
    return f"{place[0]}" if place[1] == place[2] == 0 else f"({place[0]}, {place[1]}, {place[2]})"


def blame(draft: Draft, item: Item, env: Env) -> str:
    """The one term of the address or index that breaks the claim."""
    about = item.about
    if isinstance(about, Aligned) and draft.access is not None:
        unit = element_bytes(draft.access.buffer.dtype)
        if about.base.terms and value(about.base, env) % about.to:
            known = about.base.terms[0][1]
            return (
                f"the base of {draft.access.buffer.name} is only known to be a multiple of {known} bytes; "
                f"{about.to} are needed"
            )
        return _blamed_term(about.byte, about.to, unit, env)
    if isinstance(about, Bound):
        worst: tuple[int, str] = (abs(about.index.const), f"the offset {about.index.const}")
        for monomial, coefficient in about.index.terms:
            amount = coefficient
            for part in monomial:
                amount *= _try(part, env) or 0
            text = " * ".join(show(p, 10) for p in monomial)
            if abs(amount) > worst[0]:
                times = f" times {coefficient}" if coefficient != 1 else ""
                worst = (abs(amount), f"`{text}`{times} gives {amount}")
        return worst[1] if worst[0] and len(about.index.terms) + bool(about.index.const) > 1 else ""
    return ""


def _blamed_term(byte: Poly, to: int, unit: int, env: Env) -> str:
    for monomial, coefficient in byte.terms:
        amount = coefficient
        for part in monomial:
            amount *= _try(part, env) or 0
        if amount % to:
            name = " * ".join(show(p, 10) for p in monomial)
            stride = (
                f"stride {coefficient // unit} x {unit} B = {coefficient}"
                if coefficient % unit == 0
                else f"stride {coefficient} B"
            )
            return f"{stride} leaves {coefficient % to} modulo {to} (steps of `{name}`)"
    if byte.const % to:
        text = (
            f"offset {byte.const // unit} x {unit} B = {byte.const}"
            if byte.const % unit == 0
            else f"offset {byte.const} B"
        )
        return f"{text} leaves {byte.const % to} modulo {to}"
    return ""


def neighbour(item: Item, env: Env) -> str:
    """The nearest value of one variable for which the claim holds: why a small test may pass."""
    facts = item.context.facts()
    for var in sorted(variables(item.claim), key=lambda v: (v.role != "tid.x", v.uid)):
        if var not in env or var.role in ("word", "base", "trip"):
            continue
        for step in (-1, 1, -2, 2, 3, -3, 4, -4):
            moved = {**env, var: env[var] + step}
            if witness.replay(moved, facts, item.claim) == "the claim is true":
                return f"{label(var)} = {env[var]} fails, {label(var)} = {env[var] + step} passes"
    return ""


def value(expr: Expr, env: Env) -> int:
    """The value of ``expr`` in the model; 0 where it has none (only messages use it)."""
    found = _try(expr, env)
    return 0 if found is None else found


def _try(expr: Expr, env: Env) -> int | None:
    try:
        return evaluate(expr, env, machine=True)
    except Unknown:
        return None


def show_value(expr: Expr, number: int) -> str:
    """``expr = number``, or just the number for a constant."""
    text = show(expr)
    return f"index {number}" if text == str(number) else f"index {text} = {number}"


def elements(byte: int, unit: int) -> str:
    """A byte offset with the element offset beside it."""
    whole, rest = divmod(byte, unit)
    return f"element offset {whole}{f' and {rest} bytes' if rest else ''}, byte offset {byte}"


def wider(dtype: str) -> str | None:
    """The next wider integer type."""
    order = ["int8", "int16", "int32", "int64"] if is_signed(dtype) else ["uint8", "uint16", "uint32", "uint64"]
    at = order.index(dtype) if dtype in order else len(order)
    return order[max(at + 1, 3)] if at + 1 < len(order) else None


def names_registers(draft: Draft) -> bool:
    """True when the obligation is about registers."""
    return isinstance(draft.access, Registers)


def _word(repeat: tuple[int, ...], word: int) -> str:
    """``word 1``, or ``word 1 of repeat [0, 2]`` where there are repeats."""
    return f"word {word} of repeat {list(repeat)}" if repeat else f"word {word}"
