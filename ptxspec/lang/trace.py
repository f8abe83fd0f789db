"""The kernel under construction: statements, buffers, hardware ids and the launch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol, TypeVar

from ptxspec.diagnostics import Span
from ptxspec.lang import ir
from ptxspec.lang.errors import refuse
from ptxspec.scalar import typed
from ptxspec.scalar.expr import Const, Expr, Var

#: Largest grid extents the hardware launches (PTX ISA, %nctaid).
GRID_LIMITS = ((1 << 31) - 1, 65535, 65535)
AXIS_NAMES = ("x", "y", "z")


class Pending(Protocol):
    """Work whose form depends on what the kernel does next: a tile load that may become part of a store."""

    def cells(self) -> object:
        """Do it now."""


class Tracer:
    """Collects one kernel. ``place`` says where in the user's source the reader is."""

    def __init__(self, name: str, file: str, span: Span, place: Callable[[], Span],
                 excerpt: Callable[[], str]) -> None:
        self.name = name
        self.file = file
        self.span = span
        self.place = place
        self.excerpt = excerpt   # the user's text there
        self.launch: ir.Launch | None = None
        self.hardware: dict[str, Var] = {}
        self.buffers: list[ir.Buffer] = []
        self.dims: dict[Var, str] = {}
        self.params: list[ir.Buffer | Var] = []
        self.blocks: list[list[ir.Statement]] = [[]]
        self.guards: list[Expr] = []   # conditions and loop bounds around the statement being read
        self.name_hint = ""
        self.argument_spans: tuple[Span, ...] = ()   # of the call being made, for messages about one operand
        self.argument_text = ""
        # Most neighbours along an axis that one thread owns of tiles of a shape: as the reading before this one wished.
        self.narrow: Mapping[tuple[tuple[int, ...], int], int] = {}
        self.wished: dict[tuple[tuple[int, ...], int], int] = {}
        self._names: set[str] = set()
        self._pending: list[Pending] = []
        self.notes: list[str] = []   # what a reader of the report wants to know of choices made here
        self.advice: list[tuple[str, str, str]] = []   # code, array or place, remedy: for refusals there
        self.finishers: list[Callable[[ir.Kernel], ir.Kernel]] = []   # last changes to the finished kernel

    # --- work that waits for the next statement

    def put_off(self, work: Pending) -> None:
        """``work.cells()`` emits statements; it is called before anything else is emitted, or taken back before."""
        self.settle()
        self._pending.append(work)

    def take_back(self, work: Pending) -> bool:
        """True when ``work`` was still waiting: it is then the caller's to do, here."""
        if work in self._pending:
            self._pending.remove(work)
            return True
        return False

    def settle(self) -> None:
        """Do what was put off."""
        while self._pending:
            self._pending.pop().cells()

    # --- statements

    def emit(self, statement: ir.Statement) -> None:
        """Append to the innermost block; nothing runs before device_entry (K217)."""
        if self.launch is None:
            refuse("K217", "this runs on the device, but T.device_entry(...) has not been called yet", statement.span,
                   help="make T.device_entry(launch=T.cuda.LaunchConfig(grid=..., block=...)) the first statement")
        self.settle()
        self.blocks[-1].append(statement)

    @contextmanager
    def block(self, guards: Sequence[Expr] = ()) -> Iterator[list[ir.Statement]]:
        """Statements emitted inside go into the list that is handed out; ``guards`` decide whether and how often."""
        self.settle()
        body: list[ir.Statement] = []
        self.blocks.append(body)
        self.guards.extend(guards)
        try:
            yield body
            self.settle()
        finally:
            self.blocks.pop()
            del self.guards[len(self.guards) - len(guards):]

    def operand_spans(self, count: int, span: Span) -> tuple[Span, ...]:
        """Places of the operands of the apply being read (its first argument is the opcode)."""
        found = self.argument_spans[1:1 + count]
        return found if len(found) == count else (span,) * count

    # --- names and buffers

    def fresh(self, name: str) -> str:
        """``name``, numbered if taken."""
        unique, k = name, 1
        while unique in self._names:
            unique, k = f"{name}_{k}", k + 1
        self._names.add(unique)
        return unique

    def add_buffer(self, buffer: ir.Buffer) -> ir.Buffer:
        """Register storage."""
        self.buffers.append(buffer)
        return buffer

    # --- launch and hardware

    def entry(self, launch: ir.Launch, span: Span) -> None:
        """Set the launch; exactly once, outside any branch or loop (K217)."""
        if self.launch is not None:
            refuse("K217", "T.device_entry is called twice", span, note="first called here", where=self.launch.span)
        if len(self.blocks) > 1:
            refuse("K217", "T.device_entry is called inside a branch or a loop", span,
                   help="call it once, as the first statement of the kernel")
        self.launch = launch

    def require_launch(self, what: str) -> ir.Launch:
        """The launch, or a refusal that ``what`` needs it (K217)."""
        if self.launch is None:
            refuse("K217", f"{what} needs the launch, but T.device_entry(...) has not been called yet", self.place(),
                   help="make T.device_entry(launch=T.cuda.LaunchConfig(grid=..., block=...)) the first statement")
        return self.launch

    def hardware_id(self, kind: str, axis: str) -> Var:
        """The variable of ``tid`` or ``ctaid`` along x, y or z, bounded by the launch."""
        launch = self.require_launch(f"`{kind}`")
        if axis not in AXIS_NAMES:
            refuse("K141", f"an axis is \"x\", \"y\" or \"z\", not {axis!r}", self.place())
        role, k = f"{kind}.{axis}", AXIS_NAMES.index(axis)
        if role not in self.hardware:
            names = {"tid": "threadIdx", "ctaid": "blockIdx"}
            grid = launch.grid[k]
            if kind == "tid":
                high, bound = launch.block[k] - 1, None
            elif isinstance(grid, Const):
                high, bound = int(grid.value) - 1, None
            else:
                high, bound = GRID_LIMITS[k] - 1, grid
            self.hardware[role] = Var(f"{names[kind]}.{axis}", "int32", role, 0, high, self.place(), hi_expr=bound)
        return self.hardware[role]

    def linear_thread(self) -> Expr:
        """x + width * (y + height * z) of the thread in its CTA, int32."""
        block = self.require_launch("a thread index").block
        total: Expr = self.hardware_id("tid", "x")
        if block[1] > 1:
            total = typed.binary("add", total, typed.binary("mul", self.hardware_id("tid", "y"), block[0]))
        if block[2] > 1:
            total = typed.binary("add", total,
                                 typed.binary("mul", self.hardware_id("tid", "z"), block[0] * block[1]))
        return total

    def call(self, value: object, name: str) -> None:
        """The user's first name for a hardware id becomes its name in messages."""
        if isinstance(value, Var) and self.hardware.get(value.role) is value and "." in value.name:
            value.name = name

    @property
    def threads(self) -> int:
        """Threads of a CTA."""
        block = self.require_launch("the block size").block
        return block[0] * block[1] * block[2]

    def finish(self) -> ir.Kernel:
        """The finished kernel."""
        self.settle()
        if self.launch is None:
            refuse("K217", f"kernel {self.name} never calls T.device_entry(...)", self.span,
                   help="make T.device_entry(launch=T.cuda.LaunchConfig(grid=..., block=...)) the first statement")
        kernel = ir.Kernel(self.name, tuple(self.params), tuple(self.dims), tuple(self.hardware.values()), self.launch,
                           tuple(self.buffers), tuple(self.blocks[0]), self.span, self.file, tuple(self.notes),
                           tuple(self.advice))
        for change in self.finishers:
            kernel = change(kernel)
        return kernel


F = TypeVar("F", bound=Callable[..., object])


def intrinsic(function: F) -> F:
    """Mark ``function`` as one that kernels call directly, with kernel values as arguments."""
    function.ptxspec_intrinsic = True  # type: ignore[attr-defined]
    return function


_current: ContextVar[Tracer | None] = ContextVar("ptxspec_tracer", default=None)


@contextmanager
def tracing(tracer: Tracer) -> Iterator[None]:
    """Make ``tracer`` the one that T's functions talk to."""
    token = _current.set(tracer)
    try:
        yield
    finally:
        _current.reset(token)


def current(what: str) -> Tracer:
    """The kernel being read; outside of one, ``what`` is refused (K219)."""
    tracer = _current.get()
    if tracer is None:
        refuse("K219", f"{what} is used outside a kernel",
               help="it belongs into the body of a function under @T.function, which ptxspec reads and does not run")
    return tracer


def where() -> Span | None:
    """The user's place, None outside kernels."""
    tracer = _current.get()
    return None if tracer is None else tracer.place()
