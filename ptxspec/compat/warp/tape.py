"""``wp.Tape``: launches recorded, and run backwards by their kernels' adjoints."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING

from ptxspec.compat.warp.arrays import Array, zeros_like
from ptxspec.compat.warp.kernels import Launch, WarpReader, recorders
from ptxspec.diagnostics import Diagnostic, LaunchError
from ptxspec.scalar.expr import is_float
from ptxspec.tiles.adjoint import Reversing
from ptxspec.tiles.tape import Taping

if TYPE_CHECKING:
    from typing import Self


class WarpBackwards(Reversing, WarpReader):
    """Reads a Warp kernel backwards."""

    tracer_type = Taping
    suffix = "_adjoint"


class Tape:
    """``with tape:`` records launches; :meth:`backward` runs their adjoints, the last one first."""

    def __init__(self) -> None:
        self.launches: list[Launch] = []

    def __enter__(self) -> Self:
        recorders.append(self.launches)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        recorders.remove(self.launches)

    def backward(self, loss: Array | None = None, grads: Mapping[Array, Array] | None = None) -> None:
        """Add to every array's ``grad``. ``grads`` gives the gradients of results to begin with; ``loss``, of one
        element, begins with 1. Arrays made without ``requires_grad`` get none."""
        for result, given in (grads or {}).items():
            if result.grad is None:
                result.grad = zeros_like(result)
            result.grad.assign(given)
        if loss is not None:
            if loss.size != 1 or loss.grad is None:
                raise LaunchError(Diagnostic("R333", "the loss is one element of an array with requires_grad=True"))
            loss.grad.fill_(1)
        for launch in reversed(self.launches):
            floats = [a for a in launch.arguments if isinstance(a, Array) and is_float(a.element.scalar)]
            launch.kernel.run(launch.dim, launch.block, launch.tiled, launch.arguments, launch.device, None,
                              [zeros_like(a) if a.grad is None else a.grad for a in floats], WarpBackwards)

    def zero(self) -> None:
        """Clear the gradients of every array that was launched with."""
        for launch in self.launches:
            for argument in launch.arguments:
                if isinstance(argument, Array) and argument.grad is not None:
                    argument.grad.zero_()

    def reset(self) -> None:
        """Forget the launches."""
        self.launches.clear()
