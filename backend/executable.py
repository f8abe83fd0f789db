"""``ptxspec.compile`` and what it returns: proved, emitted, assembled when needed, run on a GPU or simulated."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal
from weakref import WeakKeyDictionary

from ptxspec.diagnostics import Diagnostic, LaunchError, Note, UsageError
from ptxspec.lang.deep import with_room
from ptxspec.lang.ir import Buffer, Kernel
from ptxspec.lang.target import aiming

from .arrays import ArrayView
from .checks import Bound, HostChecks
from .device import on_device, stream_handle, wait_for
from .emit import Module, Parameter, emit
from .fastpath import FastPath, current_stream
from .merging import merged
from .prepared import PreparedCall

if TYPE_CHECKING:
    import numpy

    from ptxspec.lang.function import KernelFunction
    from ptxspec.proof import ProofReport

    from .assemble import Cubin
    from .device import DeviceKernel, PreparedLaunch
    from .simulate import RunResult

DEFAULT_TARGET = "sm_90"


class Executable:
    """A compiled kernel. Call it with the kernel's arguments in order; outputs are arguments.

    ``ptx`` is the emitted text, ``report`` the proofs, ``module`` the text with its line map and parameters; ``cubin``
    and ``registers`` assemble on first use. ``last_run`` is the simulator's account of the latest simulated call.
    ``unmerged`` makes the executable without merged element accesses: it serves arrays that start at an address which
    only the merged ones do not allow.
    """

    def __init__(self, module: Module, report: ProofReport | None, *, simulated: bool = False) -> None:
        self.module = module
        self.report = report
        self.kernel: Kernel = module.kernel
        self.target = module.target
        self.simulated = simulated
        self.last_run: RunResult | None = None
        self._checks = HostChecks(module, None if report is None else report.premises)
        premises = None if report is None else report.premises
        align = {p.source: max(p.align, premises.alignments.get(p.source.name, 1) if premises else 1)
                 for p in module.params if isinstance(p.source, Buffer)}
        self._fast = FastPath(module.kernel, self._checks.written, align,
                              [condition for _, condition in premises.launch] if premises else [])
        self._stream = module.kernel.launch.stream
        self.unmerged: Callable[[], Executable] | None = None
        self._narrow: Executable | None = None
        self._cubin: Cubin | None = None
        self._loaded: dict[int, DeviceKernel] = {}
        self._prepared: dict[tuple[int, tuple[int, int, int]], PreparedLaunch] = {}

    def __repr__(self) -> str:
        return f"<ptxspec executable {self.kernel.name} for {self.target}>"

    # -- artefacts -----------------------------------------------------------------------------------------------

    @property
    def ptx(self) -> str:
        """The PTX text."""
        return self.module.ptx

    @property
    def assembled(self) -> Cubin:
        """The assembler's whole answer. Raises :class:`AssembleError`, on kernel lines."""
        if self._cubin is None:
            from .cubins import assembled
            self._cubin = assembled(self.module.ptx, self.target, self.module.line_map)
        return self._cubin

    @property
    def cubin(self) -> bytes:
        """The ELF image for :attr:`target`."""
        return self.assembled.data

    @property
    def registers(self) -> int:
        """Hardware registers a thread, by the assembler."""
        return self.assembled.registers

    @property
    def sass(self) -> str:
        """The machine code as text. Raises :class:`AssembleError` without a disassembler."""
        from .assemble import disassemble
        return disassemble(self.cubin)

    # -- running -------------------------------------------------------------------------------------------------

    def __call__(self, *arguments: object, stream: object = None, device: Literal["cuda", "sim"] | None = None,
                 **named: object) -> None:
        """Check every premise, then run. Arguments go by place or by the parameters' names.

        Device arrays launch on their GPU and return before the kernel ends, without ``stream`` on the stream that their
        library (torch, cupy) works on now; host arrays run in the simulator.
        ``device="cuda"`` copies host arrays to the GPU and back, ``device="sim"`` insists on the simulator. Raises
        :class:`LaunchError`: R3xx for a premise that does not hold, R2xx for a fault in the simulator.
        """
        if named:
            arguments = self._checks.placed(arguments, named)
        if stream is None:
            stream = self._stream
        given = None if stream is None else stream_handle(stream)
        # The quickest first: the extension, if it was built and knows this call; then the same in Python.
        if device is None and (((known := self._fast.first) is not None and known(arguments, given))
                               or self._repeat(arguments, given)):
            return
        if device not in (None, "cuda", "sim"):
            raise LaunchError(Diagnostic("R312", f"device is \"cuda\" or \"sim\", not {device!r}", self.kernel.span))
        handle = current_stream(arguments) if given is None else given
        try:
            bound = self._checks.bind(arguments, stream=handle)
        except LaunchError as error:
            narrow = self._unmerged(error)
            if narrow is None:
                raise
            narrow(*arguments, stream=stream, device=device)
            self.last_run = narrow.last_run
            return
        if bound.device != "cpu":
            if device == "sim":
                raise self._not_simulated(bound)
            self._launch(arguments, bound, handle)
        elif device == "cuda":
            self._copy_and_launch(bound, handle)
        else:
            self._simulate(bound)

    def bind(self, *arguments: object, stream: object = None, **named: object) -> PreparedCall:
        """Check a call without running it, load the kernel, and return what launches it: ``prepared = exe.bind(a, b)``.

        ``prepared()`` is ``exe(a, b)`` at the least cost; it holds the arrays. Raises as the call itself does.
        """
        if named:
            arguments = self._checks.placed(arguments, named)
        if stream is None:
            stream = self._stream
        given = None if stream is None else stream_handle(stream)
        handle = current_stream(arguments) if given is None else given
        try:
            bound = self._checks.bind(arguments, stream=handle)
        except LaunchError as error:
            narrow = self._unmerged(error)
            if narrow is None:
                raise
            return narrow.bind(*arguments, stream=stream)
        prepared = PreparedCall(self, arguments, given)
        if bound.device != "cpu":
            launch, numbers = self._ready(arguments, bound, handle)
            prepared.ready(bound, numbers, launch, self._fast.first)
        return prepared

    def _repeat(self, arguments: tuple[object, ...], given: int | None) -> bool:
        """Launch a call that was checked before; False asks for the full way."""
        if self._fast.run(arguments, given):
            return True
        narrow = self._narrow
        if narrow is None:
            return False
        known = narrow._fast.first
        return (known is not None and known(arguments, given)) or narrow._repeat(arguments, given)

    def _unmerged(self, error: LaunchError) -> Executable | None:
        """The executable for arrays that are aligned for single elements only, where that is all that ``error`` is."""
        if self.unmerged is None or any(d.code != "R307" for d in error.diagnostics):
            return None
        if self._narrow is None:
            self._narrow = self.unmerged()
        return self._narrow

    def _simulate(self, bound: Bound) -> None:
        from .simulate import PointerArgument, ScalarArgument, simulate
        if 0 in bound.grid:
            return
        arguments: list[PointerArgument | ScalarArgument] = []
        for parameter, value in zip(self.module.params, bound.values):
            name = parameter.source.name
            if isinstance(value, ArrayView):
                arguments.append(PointerArgument(_host_array(value), name))
            else:
                arguments.append(ScalarArgument(_simulated(parameter, value), parameter.type, name))
        launch = self.kernel.launch
        self.last_run = simulate(self.module.ptx, self.module.entry, bound.grid, launch.block, arguments,
                                 cluster=launch.cluster, dynamic_shared=self.module.shared_dynamic,
                                 line_map=self.module.line_map)

    def _launch(self, arguments: tuple[object, ...], bound: Bound, stream: int) -> None:
        launch, numbers = self._ready(arguments, bound, stream)
        launch.launch(numbers, stream)

    def _ready(self, arguments: tuple[object, ...], bound: Bound,
               stream: int) -> tuple[PreparedLaunch, list[int | float | bool]]:
        """Everything but the launch of a checked call on device arrays; it is remembered for the next time."""
        if self.simulated:
            raise self._not_simulated(bound)
        numbers = [v.pointer if isinstance(v, ArrayView) else _bits(p, v)
                   for p, v in zip(self.module.params, bound.values)]
        ordinal = int(bound.device.partition(":")[2] or 0)
        producers = {v.producer_stream for v in bound.values if isinstance(v, ArrayView)
                     and v.producer_stream is not None}
        if producers:
            with on_device(ordinal):   # an event belongs to the device that is current
                for producer in producers:
                    wait_for(stream, producer)
        launch = self._prepare(ordinal, bound.grid)
        self._fast.learn(arguments, bound, self.module.params, launch)
        return launch, numbers

    def _not_simulated(self, bound: Bound) -> LaunchError:
        return LaunchError(Diagnostic("R312", f"the simulator runs on host arrays, these lie on {bound.device}",
                                      self.kernel.span))

    def _copy_and_launch(self, bound: Bound, stream: int) -> None:
        """Host arrays to the GPU, run, and back: whole byte ranges, so strides stay as they are."""
        import ctypes

        import numpy as np

        from .device import DeviceBuffer, require_device, synchronize
        require_device()
        held: list[tuple[DeviceBuffer, numpy.ndarray, bool]] = []
        numbers: list[int | float | bool] = []
        try:
            for parameter, value in zip(self.module.params, bound.values):
                if not isinstance(value, ArrayView):
                    numbers.append(_bits(parameter, value))
                    continue
                low, high = value.byte_range
                size = max(high - low, 1)
                memory = np.ctypeslib.as_array((ctypes.c_uint8 * (high - low)).from_address(low)) \
                    if high > low else np.zeros(0, np.uint8)
                buffer = DeviceBuffer(size)
                held.append((buffer, memory, parameter.source in self._checks.written))
                buffer.copy_in(memory, stream)
                numbers.append(buffer.pointer + (value.pointer - low))
            self._prepare(0, bound.grid).launch(numbers, stream)
            for buffer, memory, written in held:
                if written:
                    buffer.copy_out(memory, stream)
            synchronize(stream)
        finally:
            for buffer, _, _ in held:
                buffer.close()

    def _prepare(self, ordinal: int, grid: tuple[int, int, int]) -> PreparedLaunch:
        """The launch of this grid on that device, made once."""
        found = self._prepared.get((ordinal, grid))
        if found is None:
            from .device import LaunchShape, PreparedLaunch, load_module
            kernel = self._loaded.get(ordinal)
            if kernel is None:
                kernel = self._loaded[ordinal] = load_module(self.cubin, ordinal).kernel(self.module.entry)
            launch = self.kernel.launch
            shape = LaunchShape.of(grid, launch.block, launch.cluster, self.module.shared_dynamic,
                                   launch.cooperative)
            if len(self._prepared) >= 256:   # a program with ever new sizes must not fill the memory
                self._prepared.clear()
            found = PreparedLaunch(kernel, shape, [_passed_as(p) for p in self.module.params])
            self._prepared[(ordinal, grid)] = found
        return found


def compile(source: KernelFunction | Kernel, target: str = "cuda", *, ptx: tuple[int, int] | None = None) -> Executable:
    """Trace, prove and emit a kernel.

    ``target``: ``"cuda"`` (the GPU present, else sm_90), a name such as ``"sm_90"``, or ``"sim"``. ``ptx`` asks for a
    PTX version. Raises :class:`ProofError` unless every obligation is proved, with all failures in it, and
    :class:`EmitError` where the target lacks something. The same kernel for the same target is compiled once.
    """
    sm = resolve_target(target)
    if ptx is not None and not (isinstance(ptx, tuple) and [type(part) for part in ptx] == [int, int]):
        raise UsageError(Diagnostic("U102", f"the PTX version {ptx!r} is not known", notes=(
            Note("help", "two numbers, for example (9, 0)"),)))
    if not isinstance(source, Kernel) and not hasattr(source, "kernel"):
        trace(source)   # refuses it, before it is looked up
    kept = _compiled.setdefault(source, {})
    key = (sm, target == "sim", ptx)
    found = kept.get(key)
    if found is None:
        with aiming(sm):
            kernel = trace(source)
        from ptxspec.proof import ProofError, prove
        report = prove(kernel, sm=sm)
        if report.verdict != "proved":
            raise ProofError(report)
        merging = with_room(lambda: merged(kernel, sm, ptx), kernel.span)
        module = with_room(lambda: emit(merging.kernel, sm, ptx=ptx), kernel.span)
        found = Executable(module, merging.reported(report), simulated=target == "sim")
        if merging.kernel is not kernel:
            found.unmerged = lambda: Executable(emit(kernel, sm, ptx=ptx), report, simulated=target == "sim")
        kept[key] = found
    return found


_compiled: WeakKeyDictionary[object, dict[tuple[object, ...], Executable]] = WeakKeyDictionary()


def trace(source: KernelFunction | Kernel) -> Kernel:
    """The IR of a kernel function (or the IR itself). Raises :class:`LaunchError` R302 for anything else."""
    if isinstance(source, Kernel):
        return source
    read: object = getattr(source, "kernel", None)
    traced = read() if callable(read) else None
    if not isinstance(traced, Kernel):
        raise LaunchError(Diagnostic("R302", f"{type(source).__name__} is not a kernel", notes=(
            Note("help", "decorate the function with @T.function"),)))
    return traced


def resolve_target(target: str) -> str:
    """``cuda`` and ``sim`` as an architecture name."""
    if target == "sim":
        return DEFAULT_TARGET
    if target == "cuda":
        from .device import device_info, device_present
        return device_info(0).target if device_present() else DEFAULT_TARGET
    return target


def _host_array(view: ArrayView) -> numpy.ndarray:
    import numpy as np
    if isinstance(view.owner, np.ndarray):
        return view.owner
    from .arrays import to_numpy
    return to_numpy(view)


def _passed_as(parameter: Parameter) -> str:
    """How a parameter travels in the launch block."""
    if isinstance(parameter.source, Buffer):
        return "pointer"
    dtype = parameter.source.dtype
    if dtype == "index":
        return "int64"
    return {"bfloat16": "uint16", "float8_e4m3": "uint8", "float8_e5m2": "uint8"}.get(
        dtype, f"uint{dtype[4:]}" if dtype.startswith("bits") else dtype)


def _bits(parameter: Parameter, value: int | float | bool) -> int | float | bool:
    """A scalar as a launch takes it: a type without a struct format travels as its bits."""
    source = parameter.source
    return _float_bits(source.dtype, value) if not isinstance(source, Buffer) and source.dtype == "bfloat16" else value


def _simulated(parameter: Parameter, value: int | float | bool) -> int | float | bool:
    """A scalar as the simulator takes it: floats of bit-typed parameters travel as their bits."""
    source = parameter.source
    half = not isinstance(source, Buffer) and source.dtype in ("float16", "bfloat16")
    return _float_bits(source.dtype, value) if half else value


def _float_bits(dtype: str, value: int | float | bool) -> int:
    from .emit.types import float_bits
    return float_bits(float(value), dtype)
