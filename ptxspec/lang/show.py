"""A kernel as indented text, one statement a line: for tests, for debugging and for reports."""

from __future__ import annotations

from ptxspec.lang import ir
from ptxspec.layout import show_shape
from ptxspec.scalar.expr import Expr, show


def text(kernel: ir.Kernel) -> str:
    """All of ``kernel``."""
    lines = [f"kernel {kernel.name}"]
    for param in kernel.params:
        lines.append(f"  param {buffer_text(param)}" if isinstance(param, ir.Buffer) else
                     f"  param {param.name}: {param.dtype}")
    grid, block = (", ".join(str(e) for e in part) for part in (kernel.launch.grid, kernel.launch.block))
    lines.append(f"  launch grid ({grid}) block ({block})")
    lines += [f"  {b.scope} {buffer_text(b)}" for b in kernel.buffers if not b.is_param]
    _body(kernel.body, 1, lines)
    return "\n".join(lines) + "\n"


def buffer_text(buffer: ir.Buffer) -> str:
    """Name, type and shape."""
    return f"{buffer.name}: {buffer.dtype}{show_shape(buffer.shape)} align {buffer.align}"


def view_text(view: ir.View) -> str:
    """A view with its steps, as method calls."""
    return view.buffer.name + "".join(_step(s) for s in view.steps)


def _step(step: ir.Step) -> str:
    if isinstance(step, ir.Sub):
        return f".sub[{', '.join(_axis(a) for a in step.axes)}]"
    if isinstance(step, ir.Reshape):
        return f".view{show_shape(step.shape)}"
    if isinstance(step, ir.Permute):
        return f".permute{step.order}"
    if isinstance(step, ir.Reinterpret):
        return f".view({step.dtype!r})"
    return f".view{show_shape(step.shape)[:-1]}, layout={step.layout!r})"


def _axis(axis: ir.SubAxis) -> str:
    if not axis.keep:
        return show(axis.start)
    step = f" step {axis.step}" if axis.step != 1 else ""
    return f"{show(axis.start)} +: {show(axis.extent)}{step}"


def _operand(operand: ir.View | Expr) -> str:
    return view_text(operand) if isinstance(operand, ir.View) else show(operand)


def _body(body: tuple[ir.Statement, ...], depth: int, lines: list[str]) -> None:
    pad = "  " * depth
    for s in body:
        if isinstance(s, ir.Apply):
            extra = "".join([f" scope={s.scope} group={s.group}" if s.group else "", f" repeat={s.repeat}",
                             f" pred={show(s.pred)}" if s.pred is not None else "",
                             " preserve_dst" if s.preserve_dst else "",
                             f" policy={show(s.cache_policy)}" if s.cache_policy is not None else ""])
            lines.append(f"{pad}{s.use.opcode} {', '.join(_operand(o) for o in s.operands)}{extra}")
        elif isinstance(s, ir.Load):
            index = ", ".join(show(i) for i in s.index)
            lines.append(f"{pad}{s.result.name}: {s.result.dtype} = {view_text(s.view)}[{index}]")
        elif isinstance(s, ir.Store):
            index = ", ".join(show(i) for i in s.index)
            lines.append(f"{pad}{view_text(s.view)}[{index}] = {show(s.value)}")
        elif isinstance(s, ir.For):
            unroll = " unrolled" if s.unroll else ""
            lines.append(f"{pad}for {s.var.name} in {show(s.start)} .. {show(s.stop)} by {show(s.step)}{unroll}")
            _body(s.body, depth + 1, lines)
        elif isinstance(s, ir.If):
            lines.append(f"{pad}if {show(s.condition)}")
            _body(s.then, depth + 1, lines)
            if s.orelse:
                lines.append(f"{pad}else")
                _body(s.orelse, depth + 1, lines)
        elif isinstance(s, ir.Barrier):
            lines.append(f"{pad}{s.kind}_sync")
        else:
            lines.append(f"{pad}assume {s.text}")
