"""The steps of the closed vocabulary, each as a builder of one closure. No step knows a mnemonic."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import numpy as np

from ptxspec.ptx.operand import Operand, Symbol

from ..memory import WINDOW_SHIFT, WINDOWS, MemoryTrap, window_of
from . import access, compute
from .convert import convert
from .exchange import exchange
from .operands import Names
from .state import Active, Batch, demand, uniform
from .values import Bits, Lane, Type, Value, extend, join, parse_type, resize, split

Environment = dict[str, Value]
StepFunction = Callable[[Batch, Active, Environment], None]
Arguments = Mapping[str, object]


class Context(Protocol):
    """What a step may ask about the instruction it belongs to."""

    @property
    def names(self) -> Names:
        """Registers and variables of the entry."""

    def value(self, ref: object) -> Callable[[Environment], Value]:
        """How a step gets the value that ``ref`` names (or the integer that it is)."""

    def into(self, args: Arguments) -> str:
        """The name that a step sets."""

    def widths(self, name: str) -> tuple[int, ...]:
        """Widths of the registers behind an output; empty for an intermediate value."""

    def operand(self, args: Arguments, key: str) -> Operand:
        """The parsed operand that a step's argument names."""

    def address(self, args: Arguments) -> tuple[Callable[[Environment], Value], str]:
        """Reader and space of the address operand of a memory step."""


def _read(c: Context, args: Arguments) -> StepFunction:
    where, space = c.address(args)
    width, into = _integer(args, "bytes"), c.into(args)
    strong = access.is_strong(str(args.get("order") or ""))

    def step(batch: Batch, active: Active, env: Environment) -> None:
        env[into] = [access.load(batch, active, where(env)[0], space, width, strong=strong)]

    return step


def _write(c: Context, args: Arguments) -> StepFunction:
    where, space = c.address(args)
    width, value = _integer(args, "bytes"), c.value(args["value"])
    strong = access.is_strong(str(args.get("order") or ""))

    def step(batch: Batch, active: Active, env: Environment) -> None:
        raw = join(value(env))
        access.store(batch, active, where(env)[0], space, width, demand(raw, active), strong=strong)

    return step


def _combine(c: Context, args: Arguments) -> StepFunction:
    where, space = c.address(args)
    type_ = parse_type(str(args["type"]))
    value = c.value(args["value"])
    other = args.get("compare")
    compare = value if other is None else c.value(other)
    into = c.into(args) if args.get("into") else ""
    op = str(args["op"])
    update = _update(op, type_)
    # PTX manual, "atom": f32 addition to global memory flushes subnormal numbers, to shared memory it does not.
    flushes = op == "add" and args["type"] == "f32" and not args.get("subnormals")
    in_global = _update(op, type_, ftz=True) if flushes else update
    width = type_.total // 8

    def step(batch: Batch, active: Active, env: Environment) -> None:
        base = where(env)[0]
        old: Value = []
        for k, (new, test) in enumerate(zip(value(env), compare(env))):
            at = Lane(base.bits + np.uint64(k * width), base.undef, base.origin)
            old.append(access.combine(batch, active, at, space, width, resize(demand(new, active), type_.total),
                                      resize(demand(test, active), type_.total), update, in_global))
        if into:
            env[into] = old

    return step


def _update(op: str, type_: Type, *, ftz: bool = False) -> access.Update:
    if op == "exch":
        return lambda old, value, test: value
    if op == "cas":
        return lambda old, value, test: np.where(_all_equal(old, test), value, old)
    if op == "inc":
        return lambda old, value, test: np.where(old >= value, old.dtype.type(0), old + old.dtype.type(1))
    if op == "dec":
        return lambda old, value, test: np.where((old == 0) | (old > value), value, old - old.dtype.type(1))
    function = compute.build(op, type_, ftz=ftz)
    return lambda old, value, test: function((old, np.ascontiguousarray(value)))[0]


def _all_equal(a: Bits, b: Bits) -> Bits:
    return (a == b).all(axis=1)[:, None] if a.ndim == 2 else np.equal(a, b)


def _split(c: Context, args: Arguments) -> StepFunction:
    value, count = c.value(args["value"]), _integer(args, "count")
    into = c.into(args)

    def step(batch: Batch, active: Active, env: Environment) -> None:
        env[into] = split(join(value(env)), count)

    return step


def _join(c: Context, args: Arguments) -> StepFunction:
    value = c.value(args["value"] if "value" in args else args["values"])
    type_name = args.get("type")
    width = parse_type(str(type_name)).total if type_name else None
    into = c.into(args)

    def step(batch: Batch, active: Active, env: Environment) -> None:
        env[into] = [join(value(env), width)]

    return step


def _extend(c: Context, args: Arguments) -> StepFunction:
    value, source = c.value(args["value"]), parse_type(str(args["from"]))
    into = c.into(args)
    widths = c.widths(into)

    def step(batch: Batch, active: Active, env: Environment) -> None:
        out = []
        for k, lane in enumerate(value(env)):
            width = widths[k] if k < len(widths) and widths[k] else source.total
            out.append(Lane(extend(lane.bits, source, width), lane.undef, lane.origin))
        env[into] = out

    return step


def _copy(c: Context, args: Arguments) -> StepFunction:
    value, into = c.value(args["value"]), c.into(args)

    def step(batch: Batch, active: Active, env: Environment) -> None:
        env[into] = value(env)

    return step


def _address(c: Context, args: Arguments) -> StepFunction:
    symbol = c.operand(args, "symbol")
    if not isinstance(symbol, Symbol):
        raise ValueError(f"{symbol} is no variable")
    lane, into = uniform(c.names.symbol(symbol)[1], 64), c.into(args)

    def step(batch: Batch, active: Active, env: Environment) -> None:
        env[into] = [lane]

    return step


def _special(c: Context, args: Arguments) -> StepFunction:
    return _copy(c, {"value": args["name"], "into": args["into"]})


def _compute(c: Context, args: Arguments) -> StepFunction:
    op, type_ = str(args["op"]), parse_type(str(args["type"]))
    refs = args["args"]
    if not isinstance(refs, (tuple, list)):
        raise ValueError("the arguments of a compute step are a list")
    values = [c.value(ref) for ref in refs]
    into = c.into(args)
    mode = str(args.get("round") or "")
    function = compute.build(op, type_, mode=mode, ftz=bool(args.get("ftz")), sat=bool(args.get("sat")))
    widths = compute.argument_widths(op, type_, len(values))
    choose = op == "select"

    def step(batch: Batch, active: Active, env: Environment) -> None:
        lanes = [value(env) for value in values]
        count = max(len(lane) for lane in lanes)
        out = []
        for k in range(count):
            chosen = [lane[k if len(lane) > 1 else 0] for lane in lanes]
            if choose:
                out.append(_select(chosen, widths, active))
                continue
            bits = [compute.fit(demand(lane, active), width) for lane, width in zip(chosen, widths)]
            result, undef = function(bits)
            out.append(Lane(result, undef, "" if undef is None else "the result of a division by zero"))
        env[into] = out
        if mode in compute.APPROXIMATE:
            batch.notes.add("an approximate operation was computed correctly rounded; the machine may differ")

    return step


def _select(lanes: Sequence[Lane], widths: Sequence[int], active: Active) -> Lane:
    a, b, p = lanes
    test = demand(p, active)
    bits = compute.build("select", parse_type("b32"))([resize(a.bits, widths[0]), resize(b.bits, widths[1]), test])[0]
    if a.undef is None and b.undef is None:
        return Lane(bits)
    no = np.zeros(1, bool)
    undef = np.where(test, no if a.undef is None else a.undef, no if b.undef is None else b.undef)
    return Lane(bits, undef, a.origin if a.undef is not None else b.origin)


def _convert(c: Context, args: Arguments) -> StepFunction:
    value, into = c.value(args["value"]), c.into(args)
    source, target = parse_type(str(args["from"])), parse_type(str(args["to"]))
    mode, ftz, sat = str(args.get("round") or ""), bool(args.get("ftz")), bool(args.get("sat"))
    if source.count > 1 or target.count > 1 or "pred" in (source.kind, target.kind):
        raise ValueError(f"no conversion from {source.name} to {target.name}")
    widths = c.widths(into)

    def step(batch: Batch, active: Active, env: Environment) -> None:
        out = []
        for k, lane in enumerate(value(env)):
            bits = convert(compute.fit(demand(lane, active), source.bits), source, target, mode, ftz=ftz, sat=sat)
            if k < len(widths) and widths[k] > target.bits and not target.floating:
                bits = extend(bits, target, widths[k])
            out.append(Lane(bits))
        env[into] = out

    return step


def _cvta(c: Context, args: Arguments) -> StepFunction:
    value, into = c.value(args["value"]), c.into(args)
    space = access.base_space(str(args["space"]))
    window = np.uint64(WINDOWS.get(space, 0))
    to_space = str(args["direction"]) == "to"

    def step(batch: Batch, active: Active, env: Environment) -> None:
        bits = resize(demand(value(env)[0], active), 64)
        if to_space:
            wrong = window_of(bits) != (window >> np.uint64(WINDOW_SHIFT))
            if wrong.any():
                positions = np.flatnonzero(np.broadcast_to(wrong, (active.count,)))
                raise MemoryTrap("trap", positions, int(bits[int(np.flatnonzero(wrong)[0])]), 0,
                                 detail=f"a generic address that is not in {space} memory is converted to {space}")
            env[into] = [Lane(bits - window)]
        else:
            env[into] = [Lane(bits + window)]

    return step


def _exchange(c: Context, args: Arguments) -> StepFunction:
    values = [c.value(args[key]) for key in ("value", "lane", "clamp", "mask")]
    into, mode = c.into(args), str(args["mode"])

    def step(batch: Batch, active: Active, env: Environment) -> None:
        value, lane, clamp, mask = (get(env)[0] for get in values)
        env[into] = [exchange(batch, active, mode, value, demand(lane, active), demand(clamp, active),
                              demand(mask, active))]

    return step


def _policy(c: Context, args: Arguments) -> StepFunction:
    into, lane = c.into(args), uniform(0, 64)

    def step(batch: Batch, active: Active, env: Environment) -> None:
        env[into] = [lane]

    return step


def _nothing(c: Context, args: Arguments) -> None:
    return None


def _integer(args: Arguments, key: str) -> int:
    value = args[key]
    if not isinstance(value, int):
        raise ValueError(f"{key} is {value!r} where a number is needed")
    return value


BUILDERS: dict[str, Callable[[Context, Arguments], StepFunction | None]] = {
    "read": _read, "write": _write, "combine": _combine, "split": _split, "join": _join, "extend": _extend,
    "copy": _copy, "address": _address, "special": _special, "compute": _compute, "convert": _convert, "cvta": _cvta,
    "exchange": _exchange, "policy": _policy, "hint": _nothing, "fence": _nothing,
}
