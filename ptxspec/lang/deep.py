"""Room for expressions that are nested deeper than Python's stack, such as the sum of a thousand elements."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from contextvars import ContextVar, copy_context
from typing import TypeVar

from ptxspec.diagnostics import Diagnostic, KernelError, Note, Span

Result = TypeVar("Result")

STACK_BYTES = 256 << 20
LEVELS = 100_000
_one_at_a_time = threading.Lock()
_roomy: ContextVar[bool] = ContextVar("ptxspec_roomy", default=False)


def with_room(call: Callable[[], Result], span: Span | None) -> Result:
    """``call()``; where it runs out of stack, once more on a stack that is large. KernelError K209 where that ends too.

    The first try costs nothing, and few kernels need the second.
    """
    if _roomy.get():
        return call()
    try:
        return call()
    except RecursionError:
        pass
    outcome: list[Result] = []
    failure: list[BaseException] = []
    context = copy_context()
    context.run(_roomy.set, True)

    def run() -> None:
        try:
            outcome.append(context.run(call))
        except BaseException as error:
            failure.append(error)

    with _one_at_a_time:
        levels, size = sys.getrecursionlimit(), threading.stack_size(STACK_BYTES)
        try:
            thread = threading.Thread(target=run, name="ptxspec-deep")
            sys.setrecursionlimit(LEVELS)
            thread.start()
            thread.join()
        except RuntimeError as error:   # there is no memory for such a stack
            failure.append(RecursionError(str(error)))
        finally:
            sys.setrecursionlimit(levels)
            threading.stack_size(size)
    if failure and not isinstance(failure[0], RecursionError):
        raise failure[0]
    if failure:
        raise KernelError(Diagnostic("K209", "an expression of the kernel is nested too deeply", span, notes=(
            Note("help", "keep partial results in a T.alloc_local tensor: total[0] += x"),)))
    return outcome[0]
