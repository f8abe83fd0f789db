"""Brute-force truth for small kernels: run every thread of every block of the typed kernel, one step at a time, and
check each rule by its plain meaning. Shares no code with the prover: views, layouts and expressions are evaluated in
``places``.

Kernels must have constant sizes and no condition or index that depends on memory, but for integer arrays that are never
written and whose elements are given like scalars, by names such as ``F[2]``.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from proof_support.places import Env, Place, Undefined, Wraps, calculate, find, find_from, starts
from ptxspec.lang import ir
from ptxspec.proof import ProofReport
from ptxspec.scalar.expr import BITS, Expr, Var, is_integer

#: How many barriers a thread has met: of its block or cluster, of any kind, of its cluster.
Phase = tuple[int, int, int]


class Run:
    """All threads of a launch with fixed scalar parameters; ``bad`` collects the names of broken obligations."""

    def __init__(self, kernel: ir.Kernel, scalars: Env, memory: dict[str, int] | None = None) -> None:
        self.kernel, self.scalars, self.memory = kernel, scalars, memory or {}
        self.bad: set[str] = set()
        self.executed: set[int] = set()
        self.assumed = True
        self.soft: set[str] = set()  # broken in some order of the threads, which races leave open
        self.unfilled = False  # bytes of shared memory are read that nobody can have written, in any order
        self.touched: dict[tuple[object, ...], list[tuple[tuple[int, ...], Phase, bool]]] = {}

    def run(self) -> None:
        """Run everything."""
        launch = self.kernel.launch
        roles = {v.role: v for v in self.kernel.hardware}
        grid = [calculate(g, self.scalars, False) for g in launch.grid]
        met: dict[tuple[object, ...], list[list[int]]] = {}
        for block in product(*(range(g) for g in grid)):
            logs = []
            for z, y, x in product(*(range(b) for b in reversed(launch.block))):
                env = dict(self.scalars)
                for kind, values in (("tid", (x, y, z)), ("ctaid", block)):
                    for axis, value in zip("xyz", values):
                        if f"{kind}.{axis}" in roles:
                            env[roles[f"{kind}.{axis}"]] = value
                linear = x + launch.block[0] * (y + launch.block[1] * z)
                one = OneThread(self, env, linear, block)
                one.block_of(self.kernel.body)
                logs.append(one)
            if any(one.barriers != logs[0].barriers for one in logs):
                self.bad.add("convergent")
            if any(one.warp_barriers != logs[k // 32 * 32].warp_barriers for k, one in enumerate(logs)):
                self.bad.add("convergent")
            cluster = tuple(b // s for b, s in zip(block, launch.cluster))
            for one in logs:
                for scope, unit in (("warp", (block, one.linear // 32)), ("warpgroup", (block, one.linear // 128)),
                                    ("cta", (block,)), ("cluster", cluster)):
                    met.setdefault((scope, unit), []).append(one.met.get(scope, []))
        if any(log != logs[0] for logs in met.values() for log in logs):
            self.bad.add("convergent")
        self._races()

    def touch(self, thread: OneThread, buffer: ir.Buffer, byte: int, size: int, writes: bool) -> None:
        """Remember an access for the race check."""
        place = thread.block if buffer.scope == "shared" else ()
        for b in range(byte, byte + size):
            self.touched.setdefault((id(buffer), place, b), []).append(
                ((*thread.block, thread.linear),
                 (len(thread.barriers), len(thread.warp_barriers), len(thread.met.get("cluster sync", ()))), writes)
            )

    def _races(self) -> None:
        for (_, place, _), accesses in self.touched.items():
            if place and any(
                not writes
                and not any(
                    w and ((two == one and j < k) or (two != one and self.ordered(one, phase, two, other)
                                                      and other < phase))
                    for j, (two, other, w) in enumerate(accesses)
                )
                for k, (one, phase, writes) in enumerate(accesses)
            ):
                self.soft.add("defined")  # bytes of shared memory that nobody has surely written so far
                self.unfilled = self.unfilled or any(
                    not writes
                    and not any(
                        w and ((two == one and j < k) or (two != one and not (
                            self.ordered(one, phase, two, other) and other > phase)))
                        for j, (two, other, w) in enumerate(accesses)
                    )
                    for k, (one, phase, writes) in enumerate(accesses)
                )
            if any(w for _, _, w in accesses) and "race-free" not in self.bad and any(
                one != two and (writes or also) and not self.ordered(one, phase, two, other)
                for k, (one, phase, writes) in enumerate(accesses)
                for two, other, also in accesses[k + 1 :]
            ):
                self.bad.add("race-free")

    def ordered(self, one: tuple[int, ...], phase: Phase, two: tuple[int, ...], other: Phase) -> bool:
        """A barrier lies between: threads of a warp meet at every barrier, others of a block at its own and those of
        the cluster, blocks of a cluster at the latter, other blocks nowhere."""
        if one[:-1] == two[:-1]:
            which = int(one[-1] // 32 == two[-1] // 32)
        elif all(a // s == b // s for a, b, s in zip(one[:-1], two[:-1], self.kernel.launch.cluster)):
            which = 2
        else:
            return False
        return phase[which] != other[which]


class OneThread:
    """One thread's way through the kernel."""

    def __init__(self, run: Run, env: Env, linear: int, block: tuple[int, ...]) -> None:
        self.run, self.env, self.linear, self.block = run, env, linear, block
        self.barriers: list[int] = []        # met by the whole block
        self.warp_barriers: list[int] = []   # those, and the ones of the warp
        self.met: dict[str, list[int]] = {}  # collective instructions by scope
        size = run.kernel.launch.cluster
        self.coordinates = {
            "laneid": linear % 32,
            "warpid": linear // 32,
            "wid_in_wg": linear // 32 % 4,
            "wgid": linear // 128,
            "tx": linear,
            **{f"cb{axis}": b % s for axis, b, s in zip("xyz", block, size)},
        }
        self.registers: dict[tuple[int, int], bool] = {}
        self.values: dict[tuple[int, int], int] = {}

    def block_of(self, body: tuple[ir.Statement, ...]) -> None:
        """Run statements in order."""
        for statement in body:
            self.one(statement)

    def one(self, statement: ir.Statement) -> None:
        """Run one statement."""
        self.run.executed.add(id(statement))
        if isinstance(statement, ir.If):
            try:
                taken = calculate(statement.condition, self.env, False)
            except Undefined:   # it divides by zero: anything may come of it, so either side may run
                self.run.soft.add("no-wrap")
                self.block_of(statement.then)
                self.block_of(statement.orelse)
                return
            self.block_of(statement.then if taken else statement.orelse)
        elif isinstance(statement, ir.For):
            start, stop, step = (
                calculate(e, self.env, False) for e in (statement.start, statement.stop, statement.step)
            )
            if step <= 0:
                self.run.bad.add("no-wrap")
                return
            for value in range(start, stop, step):
                self.env[statement.var] = value
                self.run.executed.add(-id(statement))
                self.block_of(statement.body)
        elif isinstance(statement, ir.Barrier):
            self.warp_barriers.append(id(statement))
            if statement.kind != "warp":
                self.barriers.append(id(statement))
            if statement.kind == "cluster":
                self.met.setdefault("cluster", []).append(id(statement))
                self.met.setdefault("cluster sync", []).append(id(statement))
        elif isinstance(statement, ir.Assume):
            if not calculate(statement.condition, self.env, False):
                self.run.assumed = False
        elif isinstance(statement, (ir.Load, ir.Store)):
            self.element(statement)
        else:
            assert isinstance(statement, ir.Apply)
            self.apply(statement)

    def element(self, statement: ir.Load | ir.Store) -> None:
        """A scalar element access."""
        try:
            place = find(statement.view, [calculate(i, self.env, True) for i in statement.index], self.env)
        except (Wraps, Undefined):
            self.run.bad.add("no-wrap")
            return
        size = BITS[statement.view.dtype] // 8
        writes = isinstance(statement, ir.Store)
        if statement.view.buffer.scope == "local":
            self.register(statement.view.buffer, place, size, writes)
            self.cell(statement, place)
        else:
            self.memory(statement.view.buffer, place, size, writes, size)
            if isinstance(statement, ir.Load) and f"{statement.view.buffer.name}[0]" in self.run.memory:
                # Outside of the array, which is told, anything will do.
                name = f"{statement.view.buffer.name}[{place.byte // size}]"
                self.env[statement.result] = self.run.memory.get(name, 0)

    def cell(self, statement: ir.Load | ir.Store, place: Place) -> None:
        """Integer registers keep their values."""
        key = (id(statement.view.buffer), place.byte)
        if not is_integer(statement.view.dtype):
            return
        if isinstance(statement, ir.Store):
            self.values[key] = calculate(statement.value, self.env, False)
        elif key in self.values:
            self.env[statement.result] = self.values[key]

    def register(self, buffer: ir.Buffer, place: Place, size: int, writes: bool) -> None:
        """Use a register."""
        if not place.inside:
            self.run.bad.add("in-bounds")
        self.owner(buffer, place)
        for b in range(place.byte, place.byte + size):
            if writes:
                self.registers[(id(buffer), b)] = True
            elif not self.registers.get((id(buffer), b)):
                self.run.bad.add("defined")

    def owner(self, buffer: ir.Buffer, place: Place) -> None:
        """The register, or one of its copies, must be the thread's own."""
        copies = [r for r in getattr(buffer.layout, "replica", ()) if r.axis != "m"]
        for chosen in product(*(range(r.extent.const) for r in copies)):
            axes = dict(place.axes)
            for r, k in zip(copies, chosen):
                axes[r.axis] = axes.get(r.axis, 0) + k * r.stride.const
            if all(self.coordinates[axis] == value for axis, value in axes.items()):
                return
        self.run.bad.add("owned")

    def memory(self, buffer: ir.Buffer, place: Place, size: int, writes: bool, align: int) -> None:
        """Use memory."""
        if not place.inside:
            self.run.bad.add("in-bounds")
        if place.byte % align or buffer.align % align:
            self.run.bad.add("aligned")
        self.run.touch(self, buffer, place.byte, size, writes)

    def apply(self, statement: ir.Apply) -> None:
        """An instruction, once for each repeat."""
        if statement.scope != "thread":
            self.met.setdefault(statement.scope, []).append(id(statement))
        active = statement.pred is None or bool(calculate(statement.pred, self.env, False))
        if active:
            self.run.executed.add(-id(statement))
        group = [self.coordinates[a] for a in statement.group_axes]
        operands = [o for o in statement.use.operands if o.name != "policy"]
        written: list[tuple[int, int]] = []
        plans: list[tuple[object, ir.View, list[Place], int]] = []
        try:
            begin = [starts(given, self.env) if isinstance(given, ir.View) else () for given in statement.operands]
        except (Wraps, Undefined):
            self.run.bad.add("no-wrap")
            return
        for repeat in product(*(range(e) for e in statement.repeat)):
            for operand, given, here in zip(operands, statement.operands, begin, strict=True):
                if isinstance(given, Expr):
                    continue
                words = given.shape[-1].const
                places = [find_from(given, here, [*group, *repeat, w]) for w in range(words)]
                plans.append((operand, given, places, BITS[given.dtype] // 8))
        for operand, given, places, size in plans:
            if "address" in operand.kinds:  # type: ignore[attr-defined]
                if not active:
                    continue
                if operand.space not in (given.buffer.scope, "generic"):  # type: ignore[attr-defined]
                    self.run.bad.add("in-space")
                if any(p.byte != places[0].byte + k * size for k, p in enumerate(places)):
                    self.run.bad.add("consecutive")
                total = size * len(places)
                writes = statement.use.mnemonic in ("st", "red")
                first = Place(places[0].byte, {}, all(p.inside for p in places))
                self.memory(given.buffer, first, total, writes, total)
            elif operand.role == "in" and active:  # type: ignore[attr-defined]
                for p in places:
                    self.register(given.buffer, p, size, False)
        for operand, given, places, size in plans:
            if "address" in operand.kinds or operand.role == "in":  # type: ignore[attr-defined]
                continue
            for p in places:
                if active and not p.inside:
                    self.run.bad.add("in-bounds")
                if active:
                    self.owner(given.buffer, p)
                for b in range(p.byte, p.byte + size):
                    key = (id(given.buffer), b)
                    if active and key in written:
                        self.run.bad.add("disjoint")
                    written.append(key)
                    if active:
                        self.registers[key] = True
                    elif statement.preserve_dst:
                        if not self.registers.get(key):
                            self.run.bad.add("defined")
                    else:
                        self.registers[key] = False


def statements(body: tuple[ir.Statement, ...]) -> Iterator[ir.Statement]:
    """Every statement that can be dead: accesses, instructions and barriers."""
    for s in body:
        if isinstance(s, ir.If):
            yield from statements(s.then)
            yield from statements(s.orelse)
        elif isinstance(s, ir.For):
            yield from statements(s.body)
        elif not isinstance(s, ir.Assume):
            yield s


def never_written(body: tuple[ir.Statement, ...]) -> list[ir.Statement]:
    """The statements that read a shared array where no write to it can have come before."""
    events: list[tuple[ir.Statement, ir.Buffer, bool, tuple[int, ...]]] = []

    def visit(block: tuple[ir.Statement, ...], loops: tuple[int, ...]) -> None:
        for s in block:
            if isinstance(s, ir.If):
                visit(s.then, loops)
                visit(s.orelse, loops)
            elif isinstance(s, ir.For):
                visit(s.body, (*loops, id(s)))
            elif isinstance(s, (ir.Load, ir.Store)):
                events.append((s, s.view.buffer, isinstance(s, ir.Store), loops))
            elif isinstance(s, ir.Apply):
                for operand, given in zip(s.use.operands, s.operands):
                    if isinstance(given, ir.View) and "address" in operand.kinds:
                        events.append((s, given.buffer, s.use.mnemonic == "st", loops))

    visit(body, ())
    return [
        s
        for at, (s, buffer, writes, loops) in enumerate(events)
        if not writes
        and buffer.scope == "shared"
        and not any(
            b is buffer and w and (k < at or set(around) & set(loops)) for k, (_, b, w, around) in enumerate(events)
        )
    ]


class Truth:
    """What brute force knows: the broken obligations over all scalar values, and the statements that never run."""

    def __init__(self, kernel: ir.Kernel, values: dict[str, range]) -> None:
        scalars = [p for p in kernel.params if isinstance(p, Var)]
        self.bad: set[str] = set()
        self.soft: set[str] = set()
        self.unfilled = False
        executed: set[int] = set()
        self.any = False
        cells = [name for name in values if "[" in name]
        for chosen in product(*(values[p.name] for p in scalars), *(values[c] for c in cells)):
            run = Run(kernel, dict(zip(scalars, chosen)), dict(zip(cells, chosen[len(scalars):])))
            run.run()
            if run.assumed:
                self.any = True
                self.bad |= run.bad
                self.soft |= run.soft
                self.unfilled = self.unfilled or run.unfilled
                executed |= run.executed
        for s in never_written(kernel.body):
            if (-id(s) if isinstance(s, ir.Apply) else id(s)) in executed:
                self.bad.add("defined")
        self.dead = [
            s
            for s in statements(kernel.body)
            if (-id(s) if isinstance(s, ir.Apply) and s.pred is not None else id(s)) not in executed
        ]

    def broken(self, report: ProofReport) -> set[str]:
        """The rules that ``report`` has to find broken: bytes of shared memory that nobody wrote are among them unless
        it says that it did not judge them."""
        return self.bad | ({"defined"} if self.unfilled and not report.not_judged else set())
