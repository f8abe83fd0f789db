"""A counterexample run in the simulator: the same thread, the same values, and whether the same fault shows.

The prover and the simulator share no code below the kernel: one reasons about views, the other runs the emitted text.
A refuted obligation that promises a run-time fault must therefore show just that fault, at its thread and byte.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Literal

from ptxspec.diagnostics import PtxspecError
from ptxspec.lang.ir import Apply, Kernel, Load
from ptxspec.lang.locate import element_bytes, storage
from ptxspec.proof.report import promise_of
from ptxspec.proof.tree import Access, steps
from ptxspec.proof.walk import Walker
from ptxspec.scalar.evaluate import Unknown, evaluate

from .emit import emit
from .facts import grid_of
from .restage import NotStaged, Stage, launch_values, stage

if TYPE_CHECKING:
    from ptxspec.proof import Counterexample, Obligation

    from .simulate import Fault

Status = Literal["same", "differs", "hidden", "terms", "not run"]

#: The fault that a broken obligation shows when the kernel runs. The others change values only, or stop the launch.
EXPECTED: dict[str, str] = {
    "aligned": "misaligned", "in-bounds": "out-of-bounds", "in-space": "out-of-bounds", "defined": "undefined",
    "race-free": "race", "convergent": "divergent-barrier",
}
_SILENT: dict[str, str] = {
    "consecutive": "no machine notices: the instruction moves the bytes behind word 0 instead",
    "owned": "no machine notices: the thread uses its own register of that number",
    "disjoint": "no machine notices: one of the words is lost",
    "no-wrap": "no machine notices: the arithmetic goes on with the wrapped value",
    "fits": "nothing runs: the target refuses the launch",
    "launch": "nothing runs: the target refuses the launch",
}


@dataclass(frozen=True, slots=True)
class Replay:
    """One replayed obligation.

    ``status``: ``same`` (the ``expected`` fault at the counterexample's thread and byte), ``differs`` (the simulator
    shows something else: one of the two is wrong), ``hidden`` (another mistake of the same kernel comes first),
    ``terms`` (no fault is to be expected; ``terms`` are the evaluated numbers) or ``not run`` (``reason`` says why).
    ``fault`` is the matching fault, ``faults`` all of the counterexample's threads.
    """

    code: str
    name: str
    where: str
    status: Status
    expected: str = ""
    said: str = ""
    reason: str = ""
    fault: Fault | None = None
    faults: tuple[Fault, ...] = ()
    terms: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """False when prover and simulator disagree."""
        return self.status != "differs"

    def text(self) -> str:
        """The counterexample and the fault, one below the other."""
        lines = [f"replay of {self.code} {self.name} at {self.where}"]
        if self.status == "terms":
            lines.append(f"  no run-time fault: {self.reason}")
            return "\n".join([*lines, *(f"    {t}" for t in self.terms)])
        if self.status == "not run":
            lines.append(f"  not run: {self.reason}")
            return "\n".join([*lines, *(f"    {t}" for t in self.terms)])
        lines.append(f"  counterexample:           {self.said}")
        shown = self.fault or (self.faults[0] if self.faults else None)
        if shown is None:
            lines.append("  replay in the simulator:  no fault of these threads")
        else:
            lines.append(f"  replay in the simulator:  {shown.kind} [{shown.code}]: {shown.message()}")
            lines.append(f"                            PTX line {shown.line}: {shown.instruction}")
            if shown.span is not None:
                lines.append(f"                            from {shown.span}")
        if self.status == "same":
            lines.append(f"  same fault{', ' + self.reason if self.reason else ''}")
        elif self.status == "hidden":
            lines.append(f"  hidden: {self.reason}")
        else:
            lines.append(f"  DIFFERS: {self.reason}")
            lines.append("  prover and simulator disagree: please report this kernel as a defect of ptxspec")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        from html import escape
        return f"<pre>{escape(self.text())}</pre>"

    def to_json(self) -> dict[str, object]:
        """Plain values."""
        return {"code": self.code, "name": self.name, "where": self.where, "status": self.status,
                "expected": self.expected, "counterexample": self.said, "reason": self.reason,
                "fault": self.fault.to_json() if self.fault else None, "faults": [f.to_json() for f in self.faults],
                "terms": list(self.terms)}


def replay(kernel: Kernel, obligation: Obligation, sm: str = "sm_90") -> Replay:
    """Run the counterexample of a refuted obligation, unproved kernel and all. Never raises for what a kernel does."""
    example = obligation.counterexample
    head = (obligation.explain, obligation.code, str(obligation.where))
    if example is None:
        return Replay(*head, "not run", reason=f"the obligation is {obligation.verdict}: there is no counterexample")
    if obligation.code in _SILENT:
        return Replay(*head, "terms", reason=_SILENT[obligation.code], terms=_terms(obligation, kernel, sm))
    if example.unseen:
        return Replay(*head, "terms", reason=example.unseen, terms=example.lines)
    access = access_of(kernel, obligation)
    inside = _stays_inside(kernel, access, example) if obligation.code == "in-bounds" else ""
    if inside:
        return Replay(*head, "terms", reason=inside, terms=example.lines)
    expected = EXPECTED.get(obligation.code, "")
    said = _said(obligation, example)
    try:
        module = emit(kernel, sm)
        staged = stage(kernel, module, example)
        grid = grid_of(kernel, staged.env)
        if 0 in grid:
            return Replay(*head, "not run", expected, said, f"the grid {grid} has no block")
        places = [((p.thread or (0, 0, 0)), (p.block or (0, 0, 0))) for p in (example, example.second) if p is not None]
        from .simulate.watch import watch
        faults = watch(_without_promises(module.ptx), module.entry, grid, kernel.launch.block, staged.arguments, places,
                       races=expected == "race", undefined=expected == "undefined", cluster=kernel.launch.cluster,
                       dynamic_shared=module.shared_dynamic, line_map=module.line_map)
    except (NotStaged, Unknown) as problem:
        return Replay(*head, "not run", expected, said, str(problem))
    except PtxspecError as error:
        return Replay(*head, "not run", expected, said, error.diagnostics[0].message)
    lines = _lines_of(kernel, obligation, access, example)
    fault, reason = _match(obligation, example, expected, faults, lines, staged, access)
    unseen = ""
    # These threads live on behind other faults: one that waits in vain would have been told.
    waited = expected == "divergent-barrier" and not any(f.kind == expected for f in faults)
    if fault is None and (waited or not faults):
        unseen = _unseen(kernel, obligation) if expected == "undefined" else _not_waiting(obligation)
    if unseen:
        return Replay(*head, "terms", expected, said, unseen, terms=_terms(obligation, kernel, sm))
    if fault is not None:
        return Replay(*head, "same", expected, said, reason, fault, faults)
    hiding = _hiding(expected, faults, lines)
    if hiding is not None:
        where = f" on line {hiding.span.line}" if hiding.span is not None else ""
        reason = f"another mistake of this kernel ({hiding.kind}{where}) comes first; mend it and prove again"
        return Replay(*head, "hidden", expected, said, reason, None, (hiding, *(f for f in faults if f is not hiding)))
    if expected == "race" and _diverges(kernel, sm):
        reason = "threads do not agree about the barriers of this kernel (P110), so other accesses meet than it says"
        return Replay(*head, "hidden", expected, said, f"{reason}; mend that and prove again", None, faults)
    return Replay(*head, "differs", expected, said, reason, None, faults)


def _without_promises(ptx: str) -> str:
    """The text without the alignments that pointer parameters promise: a counterexample may be about just these."""
    return re.sub(r"(\.param [^,\n]*\.ptr [^,\n]*\.align )\d+", r"\g<1>1", ptx)


def _not_waiting(obligation: Obligation) -> str:
    """Why threads that do not arrive may show no fault; empty where they have to."""
    if obligation.code != "convergent":
        return ""
    if obligation.subject.startswith("cluster"):
        return "threads that have ended count as arrived at the barrier of a cluster, so nobody waits for ever"
    if not obligation.subject.endswith("barrier"):
        return "the instruction itself waits for nobody: the threads that are missing just do not do their part"
    return ""


def _diverges(kernel: Kernel, sm: str) -> bool:
    """Races are told for barriers that all threads meet, which is an obligation of its own."""
    from ptxspec.proof import prove
    return any(o.code == "convergent" and o.verdict == "refuted" for o in prove(kernel, sm).obligations)


def _unseen(kernel: Kernel, obligation: Obligation) -> str:
    """Why reading an undefined register may show no fault; empty where it has to."""
    example = obligation.counterexample
    buffer = example.array if example is not None else None
    writes = 0
    forgets = False
    for step in steps(Walker(kernel).nodes):
        statement = step.statement
        for registers in step.registers:
            if registers.span == obligation.where and registers.what == obligation.subject:
                if registers.kind == "write" or isinstance(statement, Load) or not step.memory:
                    return "the undefined value stays in registers: nothing stores it or branches on it"
            if registers.kind == "write" and registers.buffer.name == buffer:
                writes += 1 + any(f.kind == "loop" for f in step.context)  # in a loop, the older value may be its own
                forgets |= isinstance(statement, Apply) and statement.pred is not None and not statement.preserve_dst
    if forgets and writes > 1:
        return ("a false predicate leaves the older value in the register, so the machine has one; the kernel says "
                "(without preserve_dst) that there is none")
    return ""


def access_of(kernel: Kernel, obligation: Obligation) -> Access | None:
    """The memory operand that ``obligation`` is about; None for registers, barriers and launches."""
    for step in steps(Walker(kernel).nodes):
        for access in step.memory:
            if access.span == obligation.where and access.what == obligation.subject:
                return access
    return None


def _lines_of(kernel: Kernel, obligation: Obligation, access: Access | None, example: Counterexample) -> set[int]:
    """Kernel lines on which the fault may be told: the operand's, and the first line of its statement."""
    lines = {obligation.where.line}
    for step in steps(Walker(kernel).nodes):
        spans = [*(a.span for a in step.memory), *(r.span for r in step.registers)]
        if obligation.where in spans:
            lines.add(step.statement.span.line)
    if obligation.code == "race-free":   # a race shows at whichever access comes second
        for step in steps(Walker(kernel).nodes):
            if any(a.buffer.name == example.array for a in step.memory):
                lines.add(step.statement.span.line)
    return lines


def _match(obligation: Obligation, example: Counterexample, expected: str, faults: tuple[Fault, ...], lines: set[int],
           staged: Stage, access: Access | None) -> tuple[Fault | None, str]:
    """The fault that is the counterexample's, and what is worth saying about it."""
    first = (example.thread or (0, 0, 0), example.block or (0, 0, 0))
    second = (example.second.thread, example.second.block) if example.second is not None else None
    near: list[str] = []
    for fault in faults:
        here = (fault.thread, fault.block)
        who = here == first or (expected == "race" and here == second)
        if not who or fault.kind != expected:
            # Alignment is checked before bounds: an access that is both shows as misaligned.
            if not (who and expected == "out-of-bounds" and fault.kind == "misaligned" and _outside(fault)):
                continue
        if fault.span is not None and fault.span.line not in lines:
            if not (expected == "undefined" and fault.address is None):
                near.append(f"the same kind of fault is on line {fault.span.line}")
                continue
        if expected == "race":
            other = (fault.other_thread, fault.other_block)
            if {here, other} != {first, second}:
                near.append("the race is with another thread")
                continue
        byte = _relative(fault, staged)
        wanted = example.byte
        if obligation.code != "in-space" and wanted is not None and byte is not None:
            size = access.size if access is not None else 1
            one = expected in ("race", "undefined")     # these name the one byte that matters
            overlap = byte < wanted + (1 if one else size) and wanted < byte + max(fault.size, 1)
            if byte != wanted and not (expected in ("race", "undefined") and overlap):
                near.append(f"the same kind of fault is at byte {byte}, not {wanted}")
                continue
        return fault, _remark(expected, fault, byte, wanted, lines)
    if near:
        return None, "; ".join(dict.fromkeys(near))
    if not faults:
        return None, f"no fault where {expected} is expected"
    kinds = ", ".join(dict.fromkeys(f.kind for f in faults))
    return None, f"{expected} is expected, the simulator finds {kinds}"


def _hiding(expected: str, faults: tuple[Fault, ...], lines: set[int]) -> Fault | None:
    """The fault of the same threads that keeps the expected one from showing, if one does."""
    for fault in faults:
        if fault.kind in ("divergent-barrier", "step-limit", "trap"):
            return fault   # the block goes no further
        if fault.offset is not None and fault.offset >= 1 << 32:
            return fault   # an address of another space
        here = fault.span is None or fault.span.line in lines
        if here and expected == "race" and fault.kind in ("misaligned", "out-of-bounds", "read-only"):
            return fault   # the access that would race does not happen
        if expected == "undefined" and fault.kind != "race":
            return fault   # a value that was not loaded or stored, for another reason
    return None


def _remark(expected: str, fault: Fault, byte: int | None, wanted: int | None, lines: set[int]) -> str:
    if expected == "race":
        return "threads and byte"
    if fault.buffer in ("shared", "local") and wanted is not None and byte != wanted:
        return "thread and instruction: the address lies nowhere in the space that the opcode addresses"
    if expected == "divergent-barrier":
        return "thread and barrier"
    if fault.kind != expected:
        return f"thread and byte: the access is misaligned too, which is checked before bounds (byte {byte})"
    if wanted is None or byte is None:
        late = fault.span is not None and fault.span.line not in lines
        return "thread and instruction" if not late else "thread; it shows where the value is used"
    return "thread and byte"


def _outside(fault: Fault) -> bool:
    return fault.offset is not None and fault.extent is not None and (
        fault.offset < 0 or fault.offset + fault.size > fault.extent)


def _relative(fault: Fault, staged: Stage) -> int | None:
    """The fault's byte offset from where the kernel's pointer (or the shared variable) starts."""
    if fault.offset is None:
        return None
    array = next((a for b, a in staged.arrays.items() if b.name == fault.buffer), None)
    return fault.offset - (array.start if array is not None else 0)


def _stays_inside(kernel: Kernel, access: Access | None, example: Counterexample) -> str:
    """Why an index out of its axis makes no fault: it names a register, or another byte of the same storage."""
    if access is None:
        return "registers have no addresses: the index names a register that the tensor does not have"
    if example.byte is None:
        return ""
    env = launch_values(kernel, example)
    unit = element_bytes(access.buffer.dtype)
    try:
        low, high = (evaluate(e, env) * unit for e in storage(access.buffer))
    except Unknown:
        return ""
    if low <= example.byte and example.byte + access.size <= high:
        return (f"bytes {example.byte} to {example.byte + access.size - 1} still lie in {access.buffer.name} "
                f"({high - low} bytes), in the place of other elements")
    return ""


def _said(obligation: Obligation, example: Counterexample) -> str:
    """The counterexample in one line, in the words of a fault."""
    who = f"thread {_at(example.thread)} of block {_at(example.block)}"
    expected = EXPECTED.get(obligation.code, obligation.code)
    if example.second is not None:
        who += f" and thread {_at(example.second.thread)} of block {_at(example.second.block)}"
    where = f" at byte {example.byte} of {example.array}" if example.byte is not None else \
        f" of {example.array}" if example.array else ""
    values = "".join(f", {name} = {value}" for name, value in example.values.items())
    return f"{expected}: {who}{where}{values}"


def _terms(obligation: Obligation, kernel: Kernel, sm: str) -> tuple[str, ...]:
    """The numbers behind an obligation that shows no fault."""
    example = obligation.counterexample
    assert example is not None
    if example.lines:
        head = f"thread {_at(example.thread)} of block {_at(example.block)}"
        values = "".join(f", {name} = {value}" for name, value in example.values.items())
        return (head + values, *example.lines, *_wrapped(example.lines))
    found = [f"promised: {promise_of(obligation.explain)}"]
    if obligation.code in ("fits", "launch"):
        try:
            emit(kernel, sm)
        except PtxspecError as error:
            found.append(f"emission says: {error.diagnostics[0].message}")
        else:
            found.append(obligation.message)
            found.append(f"a block has {prod(kernel.launch.block)} threads")
    return tuple(found)


def _wrapped(lines: tuple[str, ...]) -> tuple[str, ...]:
    """What the machine makes of a value that does not fit its type."""
    for text in lines:
        found = re.search(r"= (-?\d+), but (u?int)(\d+) holds", text)
        if found is not None:
            bits = int(found[3])
            kept = int(found[1]) % (1 << bits)
            if found[2] == "int" and kept >> (bits - 1):
                kept -= 1 << bits
            return (f"the machine goes on with {kept}",)
    return ()


def _at(place: tuple[int, int, int] | None) -> str:
    x, y, z = place or (0, 0, 0)
    return f"({x},{y},{z})"
