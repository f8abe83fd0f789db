"""The step engine: the ``semantics`` of a form, compiled once for an instruction into closures over arrays.

Every step is one of the closed vocabulary and knows no mnemonic: an instruction added to the specs with these steps
runs with no change here. Inputs are read before the first step and outputs are written after the last one, so an
instruction that traps has changed no register.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ptxspec.ptx.module import Instruction
from ptxspec.ptx.operand import Label, Operand, Symbol

from ..memory import WINDOW_SHIFT, WINDOWS, MemoryTrap, window_of
from . import access, compute
from .convert import convert
from .exchange import exchange
from .faults import unsupported
from .operands import Destination, Names, OperandLike, Reader, address, destination, read, sources
from .state import Active, Batch, demand, uniform
from .values import Bits, Lane, Type, Value, extend, join, parse_type, resize, split

Environment = dict[str, Value]
StepFunction = Callable[[Batch, Active, Environment], None]
CONTROL = frozenset({"branch", "return", "exit", "barrier"})


class StepLike(Protocol):
    """One step with every expression evaluated (:class:`ptxspec.forms.use.Step`)."""

    @property
    def do(self) -> str: ...
    @property
    def args(self) -> Mapping[str, object]: ...


class FormLike(Protocol):
    """A form as one opcode uses it (:class:`ptxspec.forms.use.FormUse`)."""

    @property
    def form(self) -> str: ...
    @property
    def operands(self) -> Sequence[OperandLike]: ...
    @property
    def steps(self) -> Sequence[StepLike]: ...


@dataclass(frozen=True, slots=True)
class Control:
    """The control effect of an instruction: ``kind`` is branch, exit or barrier."""

    kind: str
    target: str = ""
    scope: str = ""
    id: Reader | None = None
    count: Reader | None = None


class InstructionCompiler:
    """Compiles one parsed instruction with its form."""

    def __init__(self, names: Names, instruction: Instruction, form: FormLike) -> None:
        self._names = names
        self._uses = {use.name: use for use in form.operands}
        self._operands: dict[str, Operand] = {use.name: op for use, op in zip(form.operands, instruction.operands)}
        self._outputs: dict[str, Destination] = {}
        self._inputs: dict[str, Reader] = {}
        self._temporaries: set[str] = set()
        self._form = form
        self.control: Control | None = None

    def compile(self) -> Callable[[Batch, Active], None] | None:
        """The function that runs the steps; None when the instruction has no effect but control."""
        for name, use in self._uses.items():
            if use.role in ("out", "inout"):
                self._outputs[name] = destination(self._names, self._operands[name])
        functions: list[StepFunction] = []
        for step in self._form.steps:
            if self.control is not None:
                raise unsupported(f"a step follows the control step of form {self._form.form}")
            if step.do in CONTROL:
                self.control = self._control(step)
                continue
            builder = _BUILDERS.get(step.do)
            if builder is None:
                raise unsupported(f"no meaning for the step '{step.do}' of form {self._form.form}")
            try:
                function = builder(self, step.args)
            except ValueError as error:
                raise unsupported(f"form {self._form.form}: {error}") from error
            if function is not None:
                functions.append(function)
        return self._assemble(functions) if functions else None

    def _assemble(self, functions: list[StepFunction]) -> Callable[[Batch, Active], None]:
        inputs = list(self._inputs.items())
        outputs = [(name, out) for name, out in self._outputs.items() if name in self._temporaries]
        written = [slot for _, out in outputs for slot in out.slots if slot is not None]
        looked_at = {slot for name in self._inputs if name in self._operands
                     for slot in sources(self._names, self._operands[name])}
        # Values may be views of registers: keep them when writing one register would change what another gets.
        keep = len(written) > 1 and bool(looked_at.intersection(written[:-1]))

        def run(batch: Batch, active: Active) -> None:
            env: Environment = {name: reader(batch, active) for name, reader in inputs}
            for function in functions:
                function(batch, active, env)
            for name, out in outputs:
                value = env[name]
                if keep:
                    value = [Lane(lane.bits.copy(), lane.undef, lane.origin) for lane in value]
                out.write(batch, active, value)

        return run

    def value(self, ref: object) -> Callable[[Environment], Value]:
        """How a step gets the value that ``ref`` names (or the integer that it is)."""
        if isinstance(ref, int) and not isinstance(ref, bool):
            constant = [uniform(ref, 64)]
            return lambda env: constant
        name = str(ref)
        if name not in self._temporaries and name not in self._inputs:
            if name not in self._operands:
                raise ValueError(f"a step uses {name}, which no step before it sets")
            if self._uses[name].role == "out":
                raise ValueError(f"a step reads the output {name} before it is set")
            self._inputs[name] = read(self._names, self._operands[name], self._uses[name].type)
        return lambda env: env[name]

    def into(self, args: Mapping[str, object]) -> str:
        """The name that a step sets."""
        name = str(args["into"])
        if name in self._operands and name not in self._outputs:
            raise ValueError(f"a step writes {name}, which is no output")
        self._temporaries.add(name)
        return name

    def widths(self, name: str) -> tuple[int, ...]:
        """Widths of the registers behind an output; empty for an intermediate value."""
        out = self._outputs.get(name)
        return out.widths if out is not None else ()

    def operand(self, args: Mapping[str, object], key: str) -> Operand:
        """The parsed operand that a step's argument names."""
        name = str(args[key])
        if name not in self._operands:
            raise ValueError(f"{name} is no operand")
        return self._operands[name]

    def address(self, args: Mapping[str, object]) -> tuple[Callable[[Environment], Value], str]:
        """Reader and space of the address operand of a memory step."""
        space = access.base_space(str(args.get("space") or ""))
        name = str(args["at"])
        key = f"{name}@{space}"
        self._inputs[key] = address(self._names, self.operand(args, "at"), space)
        return (lambda env: env[key]), space

    @property
    def names(self) -> Names:
        """Registers and variables of the entry."""
        return self._names

    def _control(self, step: StepLike) -> Control:
        if step.do in ("return", "exit"):
            return Control("exit")
        if step.do == "branch":
            target = self.operand(step.args, "target")
            if not isinstance(target, Label):
                raise unsupported(f"{target} is no branch target")
            return Control("branch", target=target.name)
        scope = str(step.args.get("scope") or "cta")
        if scope not in ("cta", "warp"):
            raise unsupported(f"barriers of scope {scope} have no meaning here")
        count = step.args.get("count")
        return Control("barrier", scope=scope, id=self._scalar(step.args["id"]),
                       count=None if count is None else self._scalar(count))

    def _scalar(self, ref: object) -> Reader:
        if isinstance(ref, int):
            constant = [uniform(ref, 32)]
            return lambda batch, active: constant
        name = str(ref)
        if name not in self._operands:
            raise unsupported(f"a barrier uses {name}, which is no operand")
        return read(self._names, self._operands[name], self._uses[name].type or "u32")


def _read(c: InstructionCompiler, args: Mapping[str, object]) -> StepFunction:
    where, space = c.address(args)
    width, into = _integer(args, "bytes"), c.into(args)
    strong = access.is_strong(str(args.get("order") or ""))

    def step(batch: Batch, active: Active, env: Environment) -> None:
        env[into] = [access.load(batch, active, where(env)[0], space, width, strong=strong)]

    return step


def _write(c: InstructionCompiler, args: Mapping[str, object]) -> StepFunction:
    where, space = c.address(args)
    width, value = _integer(args, "bytes"), c.value(args["value"])
    strong = access.is_strong(str(args.get("order") or ""))

    def step(batch: Batch, active: Active, env: Environment) -> None:
        raw = join(value(env))
        access.store(batch, active, where(env)[0], space, width, demand(raw, active), strong=strong)

    return step


def _combine(c: InstructionCompiler, args: Mapping[str, object]) -> StepFunction:
    where, space = c.address(args)
    type_ = parse_type(str(args["type"]))
    value = c.value(args["value"])
    other = args.get("compare")
    compare = value if other is None else c.value(other)
    into = c.into(args) if args.get("into") else ""
    update = _update(str(args["op"]), type_)
    width = type_.total // 8

    def step(batch: Batch, active: Active, env: Environment) -> None:
        base = where(env)[0]
        old: Value = []
        for k, (new, test) in enumerate(zip(value(env), compare(env))):
            at = Lane(base.bits + np.uint64(k * width), base.undef, base.origin)
            old.append(access.combine(batch, active, at, space, width, resize(demand(new, active), type_.total),
                                      resize(demand(test, active), type_.total), update))
        if into:
            env[into] = old

    return step


def _update(op: str, type_: Type) -> access.Update:
    if op == "exch":
        return lambda old, value, test: value
    if op == "cas":
        return lambda old, value, test: np.where(_all_equal(old, test), value, old)
    if op == "inc":
        return lambda old, value, test: np.where(old >= value, old.dtype.type(0), old + old.dtype.type(1))
    if op == "dec":
        return lambda old, value, test: np.where((old == 0) | (old > value), value, old - old.dtype.type(1))
    function = compute.build(op, type_)
    return lambda old, value, test: function((old, np.ascontiguousarray(value)))[0]


def _all_equal(a: Bits, b: Bits) -> Bits:
    return (a == b).all(axis=1)[:, None] if a.ndim == 2 else np.equal(a, b)


def _split(c: InstructionCompiler, args: Mapping[str, object]) -> StepFunction:
    value, count = c.value(args["value"]), _integer(args, "count")
    into = c.into(args)

    def step(batch: Batch, active: Active, env: Environment) -> None:
        env[into] = split(join(value(env)), count)

    return step


def _join(c: InstructionCompiler, args: Mapping[str, object]) -> StepFunction:
    value = c.value(args["value"] if "value" in args else args["values"])
    type_name = args.get("type")
    width = parse_type(str(type_name)).total if type_name else None
    into = c.into(args)

    def step(batch: Batch, active: Active, env: Environment) -> None:
        env[into] = [join(value(env), width)]

    return step


def _extend(c: InstructionCompiler, args: Mapping[str, object]) -> StepFunction:
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


def _copy(c: InstructionCompiler, args: Mapping[str, object]) -> StepFunction:
    value, into = c.value(args["value"]), c.into(args)

    def step(batch: Batch, active: Active, env: Environment) -> None:
        env[into] = value(env)

    return step


def _address(c: InstructionCompiler, args: Mapping[str, object]) -> StepFunction:
    symbol = c.operand(args, "symbol")
    if not isinstance(symbol, Symbol):
        raise ValueError(f"{symbol} is no variable")
    lane, into = uniform(c.names.symbol(symbol)[1], 64), c.into(args)

    def step(batch: Batch, active: Active, env: Environment) -> None:
        env[into] = [lane]

    return step


def _special(c: InstructionCompiler, args: Mapping[str, object]) -> StepFunction:
    return _copy(c, {"value": args["name"], "into": args["into"]})


def _compute(c: InstructionCompiler, args: Mapping[str, object]) -> StepFunction:
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


def _convert(c: InstructionCompiler, args: Mapping[str, object]) -> StepFunction:
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


def _cvta(c: InstructionCompiler, args: Mapping[str, object]) -> StepFunction:
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


def _exchange(c: InstructionCompiler, args: Mapping[str, object]) -> StepFunction:
    values = [c.value(args[key]) for key in ("value", "lane", "clamp", "mask")]
    into, mode = c.into(args), str(args["mode"])

    def step(batch: Batch, active: Active, env: Environment) -> None:
        value, lane, clamp, mask = (get(env)[0] for get in values)
        env[into] = [exchange(batch, active, mode, value, demand(lane, active), demand(clamp, active),
                              demand(mask, active))]

    return step


def _policy(c: InstructionCompiler, args: Mapping[str, object]) -> StepFunction:
    into, lane = c.into(args), uniform(0, 64)

    def step(batch: Batch, active: Active, env: Environment) -> None:
        env[into] = [lane]

    return step


def _nothing(c: InstructionCompiler, args: Mapping[str, object]) -> None:
    return None


def _integer(args: Mapping[str, object], key: str) -> int:
    value = args[key]
    if not isinstance(value, int):
        raise ValueError(f"{key} is {value!r} where a number is needed")
    return value


_BUILDERS: dict[str, Callable[[InstructionCompiler, Mapping[str, object]], StepFunction | None]] = {
    "read": _read, "write": _write, "combine": _combine, "split": _split, "join": _join, "extend": _extend,
    "copy": _copy, "address": _address, "special": _special, "compute": _compute, "convert": _convert, "cvta": _cvta,
    "exchange": _exchange, "policy": _policy, "hint": _nothing, "fence": _nothing,
}
VOCABULARY = frozenset(_BUILDERS) | CONTROL

__all__ = ["CONTROL", "Control", "FormLike", "InstructionCompiler", "StepLike", "VOCABULARY"]
