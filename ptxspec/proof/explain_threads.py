"""Races and divergence in words: two threads, the byte they share, the two lines."""

from __future__ import annotations

from dataclasses import replace

from ptxspec.diagnostics import Note
from ptxspec.lang import ir
from ptxspec.lang.locate import element_bytes
from ptxspec.proof.converge import Diverges, text_of
from ptxspec.proof.race import Clash
from ptxspec.proof.report import Counterexample
from ptxspec.proof.tree import Threads
from ptxspec.proof.twin import Twin
from ptxspec.scalar.evaluate import Unknown, evaluate
from ptxspec.scalar.expr import Expr, Var, variables

Env = dict[Expr, int]


def second_thread(twin: Twin, env: Env, threads: Threads, exprs: list[Expr]) -> Counterexample:
    """The other thread's view of the model, under the user's own names."""

    def at(var: Var) -> int:
        mapped = twin.mapping.get(var, var)
        return env.get(mapped, 0) if isinstance(mapped, Expr) else int(mapped)

    names = sorted({v for e in exprs for v in variables(e)}, key=lambda v: v.uid)
    values = {
        v.name: at(v)
        for v in names
        if not v.role.startswith(("tid.", "ctaid."))
        and v.role not in ("trip", "base")
        and not v.dtype.startswith(("float", "bfloat", "bits"))
    }
    x, y, z = (at(v) for v in threads.tid)
    bx, by, bz = (at(v) for v in threads.ctaid)
    return Counterexample(values, (x, y, z), (bx, by, bz))


def clash_example(found: Counterexample, about: Clash, env: Env, threads: Threads) -> Counterexample:
    """Both threads of a race, and the byte."""
    one, two = about.one, about.two
    conditions = [f.condition for f in two.context if f.kind in ("guard", "pred", "loop")]
    second = second_thread(about.twin, env, threads, [two.words[0], *conditions])
    conditions = [f.condition for f in one.context if f.kind in ("guard", "pred", "loop")]
    mine = {
        v.name: env.get(v, 0)
        for e in [one.words[0], *conditions]
        for v in variables(e)
        if not v.role.startswith(("tid.", "ctaid."))
        and v.role not in ("trip", "base")
        and not v.dtype.startswith(("float", "bfloat", "bits"))
    }
    first_byte, second_byte = _value(about.first, env), _value(about.second, env)
    byte = max(first_byte, second_byte)
    unit = element_bytes(one.buffer.dtype)
    lines = (
        f"first thread: {_does(one.kind)} bytes {first_byte} to {first_byte + one.size - 1} of {one.buffer.name} "
        f"(line {one.span.line})",
        f"second thread, {_who(second)}: {_does(two.kind)} bytes {second_byte} to {second_byte + two.size - 1} "
        f"(line {two.span.line})",
        f"both touch byte {byte} (element {byte // unit})"
        + _unordered(about),
    )
    return replace(found, values=mine, lines=lines, second=second, array=one.buffer.name, byte=byte, unseen=about.odds)


def _unordered(about: Clash) -> str:
    """Why nothing keeps the two apart in time."""
    if about.odds:
        return f"; {about.odds}"
    if not about.across:
        return ", with no barrier between"
    if about.cluster is None:
        return " and blocks never wait for each other"
    if about.cluster:
        return ", and only T.cuda.cluster_sync() makes blocks of one cluster wait: there is none between"
    return " and blocks of different clusters never wait for each other"


def clash_headline(about: Clash) -> str:
    """What races."""
    one, two = about.one, about.two
    if about.stale:
        return f"a read that is not coherent may find bytes of {one.buffer.name} that the kernel writes"
    who = "two blocks" if about.across else "two threads"
    if one.kind == two.kind == "combine":
        return f"{who} combine into one byte of {one.buffer.name}"
    kinds = {one.kind, two.kind}
    if "read" in kinds:
        return f"one {who.split()[1][:-1]} reads a byte of {one.buffer.name} that another one writes"
    return f"{who} write to one byte of {one.buffer.name}"


def clash_notes(about: Clash) -> list[Note]:
    """The other line, and the loop that carries the race."""
    notes: list[Note] = []
    if about.one.span != about.two.span:
        first, second = about.one, about.two
        notes.append(Note("note", f"{first.what} is here", first.span))
        notes.append(Note("note", f"{second.what} is here", second.span))
    if about.pair.after is not None:
        var = about.pair.after.statement.var.name
        notes.append(
            Note(
                "cause",
                f"one thread is still in one iteration of the loop over {var} while the other is in "
                f"{'a later one' if about.pair.later else 'the next'}: no barrier closes the iteration",
            )
        )
    return notes


def diverge_example(found: Counterexample, about: Diverges, env: Env, threads: Threads) -> Counterexample:
    """Two threads that see a condition differently."""
    second = second_thread(about.twin, env, threads, [about.condition])
    values = {
        v.name: env.get(v, 0)
        for v in variables(about.condition)
        if not v.role.startswith(("tid.", "ctaid."))
        and v.role != "trip"
        and not v.dtype.startswith(("float", "bfloat", "bits"))
    }
    place = (
        f"takes the way to it at {text_of(about)}"
        if isinstance(about.guard, ir.If)
        else f"is still in {text_of(about)}"
    )
    gone = "does not" if isinstance(about.guard, ir.If) else "has left it"
    lines = (f"first thread: {place}", f"second thread, {_who(second)}: {gone}")
    return replace(found, values=values, lines=lines, second=second)


def _who(found: Counterexample) -> str:
    x, y, z = found.thread or (0, 0, 0)
    thread = f"thread {x}" if y == z == 0 else f"thread ({x}, {y}, {z})"
    block = found.block or (0, 0, 0)
    where = f"block {block[0]}" if block[1] == block[2] == 0 else f"block {block}"
    extra = "".join(f", {name} = {value}" for name, value in found.values.items())
    return f"{thread}, {where}{extra}"


def _does(kind: str) -> str:
    return {"read": "reads", "write": "writes", "combine": "combines into"}[kind]


def _value(expr: Expr, env: Env) -> int:
    try:
        return evaluate(expr, env, machine=True)
    except Unknown:
        return 0
