"""A kernel to a PTX module: parameters, shared memory, body, header, and the map from PTX lines to kernel lines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ptxspec.diagnostics import Diagnostic, EmitError, Note, Span
from ptxspec.lang.ir import Apply, Assume, Buffer, Kernel, Load, Store, View
from ptxspec.lang.locate import locate
from ptxspec.ptx.operand import Address, Symbol
from ptxspec.scalar import index as ix
from ptxspec.scalar.expr import BITS, BOOL, INDEX, Poly, Var

from ..facts import written_parameters
from . import header
from .analysis import (
    Analysis,
    Facts,
    alignments,
    bound,
    every,
    mark_copies,
    mark_unrolled,
    slot_widths,
    view_expressions,
    weigh,
)
from .applies import Placement
from .chosen import spill
from .code import Line
from .context import Context, Resolve, Select
from .forwarding import forward
from .groups import Coordinates
from .header import Parameter, Variable
from .statements import Statements
from .statics import free

#: PTX parameter type of each scalar parameter type.
_PARAMETER: dict[str, tuple[str, int]] = {
    BOOL: ("u8", 1), "int8": ("s8", 1), "uint8": ("u8", 1), "int16": ("s16", 2), "uint16": ("u16", 2),
    "int32": ("s32", 4), "uint32": ("u32", 4), "int64": ("s64", 8), "uint64": ("u64", 8), INDEX: ("s64", 8),
    "float16": ("b16", 2), "bfloat16": ("b16", 2), "float32": ("f32", 4), "float64": ("f64", 8),
    "bits8": ("b8", 1), "bits16": ("b16", 2), "bits32": ("b32", 4), "bits64": ("b64", 8),
}


@dataclass(frozen=True, slots=True)
class Module:
    """Emitted PTX. ``line_map`` gives the kernel's place of a 1-based PTX line; ``shared_static`` and
    ``shared_dynamic`` are bytes (the latter is asked for at launch); ``params`` are in launch order: the user's
    parameters, then symbolic dimensions, then runtime strides. An array parameter's ``align`` is what its accesses rest
    on: the host checks it before a launch."""

    ptx: str
    line_map: Mapping[int, Span]
    entry: str
    params: tuple[Parameter, ...]
    shared_static: int
    shared_dynamic: int
    version: tuple[int, int]
    target: str
    digest: str
    instructions: int
    kernel: Kernel

    @property
    def shared_bytes(self) -> int:
        """All shared memory of one CTA."""
        return self.shared_static + self.shared_dynamic


def emit(kernel: Kernel, target: str = "sm_90", *, ptx: tuple[int, int] | None = None, digest: str = "",
         select: Select | None = None, resolve: Resolve | None = None) -> Module:
    """Emit ``kernel`` for ``target``. ``ptx`` asks for a PTX version; by default the smallest that serves is named.

    Proofs are not made here: callers prove first. Raises :class:`EmitError` (codes E1xx).
    """
    least = header.target_version(target)
    if least is None:
        raise EmitError(Diagnostic("E104", f"`{target}` is not a known target", kernel.span,
                                   notes=(Note("help", f"known: {', '.join(header.targets())}"),)))
    if ptx is not None and ptx < least:
        raise EmitError(Diagnostic("E104", f"PTX {ptx[0]}.{ptx[1]} does not know {target}; it came with "
                                   f"{least[0]}.{least[1]}", kernel.span))
    from .database import defaults
    chosen = defaults(target, ptx, select, resolve)
    context = Context(chosen.target, chosen.select, chosen.resolve)
    work = _Emission(kernel, context)
    work.run()
    version = ptx or max(least, context.floor_ptx)
    return work.module(version, target, digest or chosen.digest())


class _Emission:
    """One run of :func:`emit`."""

    def __init__(self, kernel: Kernel, context: Context) -> None:
        self.kernel = kernel
        self.context = context
        self.entry = header.identifier(kernel.name)
        self.coordinates = Coordinates(kernel)
        analysis = Analysis()
        slot_widths(kernel, analysis)
        alignments(kernel, analysis)
        weigh(kernel.body, analysis)
        analysis.written = written_parameters(kernel)
        self.analysis = analysis
        placements = self._placements()
        self._unroll(placements)
        spill((p for places in placements.values() for p in places.values()), analysis,
              {loop.var for loop in analysis.unrolled})
        self._unroll(placements)   # what lies in memory now needs no loop written out
        memo: dict[int, Facts] = {}
        forward(kernel, analysis, {key: places[0].located for key, places in placements.items() if 0 in places}, memo)
        mark_copies(kernel.body, analysis, memo)
        self.statements = Statements(context, analysis, placements)
        self.params = self._parameters()
        self.variables = self._variables()

    def run(self) -> None:
        """Write the whole body."""
        self._bind_parameters()
        self._bind_memory()
        self.statements.run(self.kernel.body)
        self.statements.pending.flush()
        self.context.span = None
        self.context.instr("ret", ())

    def _unroll(self, placements: dict[int, dict[int, Placement]]) -> None:
        mark_unrolled(self.kernel, self.analysis, {
            key: tuple(p.located for p in places.values() if self._register_tensor(p.view.buffer))
            for key, places in placements.items()})

    def _register_tensor(self, buffer: Buffer) -> bool:
        return buffer.scope == "local" and buffer not in self.analysis.addressable

    # -- where operands lie --------------------------------------------------------------------------------------

    def _placements(self) -> dict[int, dict[int, Placement]]:
        """Every view operand located once, symbolically in loops, repeats and words."""
        found: dict[int, dict[int, Placement]] = {}
        for statement in every(self.kernel.body):
            self.context.span = statement.span
            if isinstance(statement, Apply):
                group = [self._group(name) for name in statement.group_axes]
                repeats = tuple(Var(f"r{k}", INDEX, "repeat", 0, extent - 1)
                                for k, extent in enumerate(statement.repeat))
                places: dict[int, Placement] = {}
                for position, operand, use in bound(statement):
                    if isinstance(operand, View):
                        words = _words(operand)
                        word = Var("w", INDEX, "word", 0, max(words - 1, 1))
                        index = [*group, *map(ix.index, repeats), ix.index(word) if words > 1 else ix.ZERO]
                        places[position] = Placement(operand, use, locate(operand, index), repeats, word, words,
                                                     tuple(view_expressions(operand)))
                found[id(statement)] = places
            elif isinstance(statement, (Load, Store)):
                located = locate(statement.view, list(statement.index))
                leads = (*statement.index, *view_expressions(statement.view))
                found[id(statement)] = {0: Placement.element(statement.view, located, leads)}
        return found

    def _group(self, name: str) -> Poly:
        try:
            return self.coordinates.axis(name)
        except KeyError:
            raise self.context.error("E114", f"group axis `{name}` has no hardware id") from None

    # -- the kernel's interface ----------------------------------------------------------------------------------

    def _parameters(self) -> tuple[Parameter, ...]:
        params: list[Parameter] = []

        def add(kind: str, type_: str, size: int, source: Buffer | Var, align: int = 0) -> None:
            params.append(Parameter(f"{self.entry}_param_{len(params)}", kind, type_, size, source, align))

        for param in self.kernel.params:
            if isinstance(param, Buffer):
                add("array", "u64", 8, param, self.analysis.alignment.get(param, 1))
            else:
                add("scalar", *_PARAMETER[param.dtype], param)
        for dim in self.kernel.dims:
            add("dim", *_PARAMETER[dim.dtype], dim)
        for stride in _strides(self.kernel):
            add("stride", *_PARAMETER[stride.dtype], stride)
        return tuple(params)

    def _bind_parameters(self) -> None:
        """Arrays are read where first used; scalars at their first use too, all in the prologue."""
        for param in self.params:
            symbol = Symbol(param.name, "param", 0, "parameter", param.type)
            if isinstance(param.source, Buffer):
                self.statements.addresses.parameters[param.source] = symbol
            else:
                self.statements.scalars.parameters[param.source] = Address(symbol)

    def _variables(self) -> tuple[Variable, ...]:
        """Shared arrays (static while they fit 48 KiB, else dynamic) and addressable local arrays."""
        shared: list[tuple[Buffer, int]] = []
        local: list[Variable] = []
        for number, buffer in enumerate(self.kernel.buffers):
            name = f"{buffer.scope}_{header.identifier(buffer.name)}_{number}"
            if buffer.scope == "shared":
                shared.append((buffer, _bytes(buffer)))
            elif buffer.scope == "local" and buffer in self.analysis.addressable:
                local.append(Variable(name, "local", max(1, _bytes(buffer)), _align(buffer), buffer))
        total = 0
        for buffer, size in shared:
            total = -(-total // _align(buffer)) * _align(buffer) + size
        limit = header.shared_limit(self.context.target.sm)
        dynamic = self.kernel.launch.dynamic_smem_bytes > 0 or total > header.STATIC_SHARED
        if max(total, self.kernel.launch.dynamic_smem_bytes) > limit:
            raise EmitError(Diagnostic("E103", f"the kernel needs {total:,} bytes of shared memory; "
                                       f"{self.context.target.sm} has {limit:,} for one block", self.kernel.span))
        out: list[Variable] = []
        place = 0
        for number, (buffer, size) in enumerate(shared):
            align = _align(buffer)
            place = -(-place // align) * align
            name = header.DYNAMIC if dynamic else f"shared_{header.identifier(buffer.name)}_{number}"
            out.append(Variable(name, "shared", max(1, size), align, buffer, place if dynamic else None))
            place += size
        return (*out, *local)

    def _bind_memory(self) -> None:
        for variable in self.variables:
            self.statements.addresses.symbols[variable.buffer] = Symbol(
                variable.name, variable.space, variable.offset or 0, "variable", "b8")

    # -- text ----------------------------------------------------------------------------------------------------

    def module(self, version: tuple[int, int], target: str, digest: str) -> Module:
        """Header, declarations and body as text."""
        kernel, context = self.kernel, self.context
        dynamic = [v for v in self.variables if v.offset is not None]
        static = sum(v.bytes for v in self.variables if v.space == "shared" and v.offset is None)
        dynamic_bytes = max([v.offset + v.bytes for v in dynamic if v.offset is not None],
                            default=0)
        dynamic_bytes = max(dynamic_bytes, kernel.launch.dynamic_smem_bytes)
        lines: list[Line] = [(text, None) for text in header.module_head(
            version, target, self._comments(digest), dynamic_align=max((v.align for v in dynamic), default=0))]
        lines += [(text, None) for text in header.entry_head(self.entry, self.params, kernel.launch.block,
                                                             kernel.launch.cluster)]
        lines.append(("{", None))
        lines += [(text, None) for text in header.declarations(
            context.registers.declarations(), [v for v in self.variables if v.offset is None])]
        lines.append(("", None))
        for block in (context.prologue, context.body):
            lines += [(text if text.endswith(":") else f"    {text}", span) for text, span in block.lines()]
        lines.append(("}", None))
        line_map = {number: span for number, (_, span) in enumerate(lines, 1) if span is not None}
        return Module("\n".join(text for text, _ in lines) + "\n", line_map, self.entry, self.params, static,
                      dynamic_bytes, version, target, digest, context.instructions, kernel)

    def _comments(self, digest: str) -> list[str]:
        comments = [f"kernel {self.kernel.name}, database {digest[:16]}"]
        comments += [f"parameter {k}: {_describe(p)}" for k, p in enumerate(self.params)]
        comments += [f"{buffer.name} lies in local memory: its elements are chosen at run time"
                     for buffer in self.analysis.spilled]
        comments += [f"assumes {s.text}" for s in every(self.kernel.body) if isinstance(s, Assume)]
        return [" ".join(line.split()) for line in comments]


def _describe(parameter: Parameter) -> str:
    source = parameter.source
    if isinstance(source, Buffer):
        return f"{source.name}, array of {source.dtype} [{', '.join(map(repr, source.shape))}]"
    return f"{source.name}, {parameter.kind} {source.dtype}"


def _words(view: View) -> int:
    last = view.shape[-1]
    assert last.is_const, "the atom extent is static"
    return last.const


def _range(buffer: Buffer) -> tuple[int, int]:
    """Lowest element and one past the highest that the layout names."""
    low, high = buffer.layout.memory_range()
    if not (low.is_const and high.is_const):
        raise EmitError(Diagnostic("E115", f"the size of `{buffer.name}` is not known when the kernel is compiled",
                                   buffer.span, notes=(Note("help", "shared and local tensors need constant shapes"),)))
    return low.const, high.const


def _bytes(buffer: Buffer) -> int:
    low, high = _range(buffer)
    return max(0, high - low) * BITS[buffer.dtype] // 8


def _align(buffer: Buffer) -> int:
    return max(buffer.align, BITS[buffer.dtype] // 8, 1)


def _strides(kernel: Kernel) -> tuple[Var, ...]:
    """Runtime strides of array parameters, in order of appearance."""
    found: dict[Var, None] = {}
    for param in kernel.params:
        if isinstance(param, Buffer):
            low, high = param.layout.memory_range()
            for variable in sorted(free(low) | free(high), key=lambda v: v.uid):
                if variable.role == "stride":
                    found[variable] = None
    return tuple(found)


__all__ = ["Module", "Parameter", "emit"]
