"""The step engine: the ``semantics`` of a form, compiled once for an instruction into closures over arrays.

Every step is one of the closed vocabulary and knows no mnemonic: an instruction added to the specs with these steps
runs with no change here. Inputs are read before the first step and outputs are written after the last one, so an
instruction that traps has changed no register.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from ptxspec.ptx.module import Instruction
from ptxspec.ptx.operand import Label, Operand

from .access import base_space
from .faults import unsupported
from .operands import Destination, Names, OperandLike, Reader, address, destination, read, sources
from .state import Active, Batch, uniform
from .values import Lane, Value
from .vocabulary import BUILDERS, Environment, StepFunction

CONTROL = frozenset({"branch", "return", "exit", "barrier"})
VOCABULARY = frozenset(BUILDERS) | CONTROL


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
    """The control effect of an instruction: ``kind`` is branch, exit or barrier; ``phase`` of a barrier of a cluster is
    ``arrive``, ``wait`` or both (``""``); at an ``aligned`` one the threads of a warp are at the same instruction."""

    kind: str
    target: str = ""
    scope: str = ""
    phase: str = ""
    aligned: bool = True
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
            builder = BUILDERS.get(step.do)
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
        space = base_space(str(args.get("space") or ""))
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
        phase = str(step.args.get("phase") or "")
        if scope not in ("cta", "warp", "cluster") or (phase and scope != "cluster"):
            raise unsupported(f"barriers of scope {scope} {phase} have no meaning here")
        count = step.args.get("count")
        return Control("barrier", scope=scope, phase=phase, aligned=bool(step.args.get("aligned", True)),
                       id=self._scalar(step.args["id"]), count=None if count is None else self._scalar(count))

    def _scalar(self, ref: object) -> Reader:
        if isinstance(ref, int):
            constant = [uniform(ref, 32)]
            return lambda batch, active: constant
        name = str(ref)
        if name not in self._operands:
            raise unsupported(f"a barrier uses {name}, which is no operand")
        return read(self._names, self._operands[name], self._uses[name].type or "u32")


__all__ = ["CONTROL", "VOCABULARY", "Control", "FormLike", "InstructionCompiler", "StepLike"]
