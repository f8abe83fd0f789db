"""Kernels of a Python file: loaded without running its main part, errors told at the user's own line."""

from __future__ import annotations

import contextlib
import importlib.util
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from ptxspec.cli.common import usage
from ptxspec.diagnostics import Diagnostic, Note, PtxspecError, Span, UsageError

if TYPE_CHECKING:
    from ptxspec.lang.function import KernelFunction


def kernels(place: str, *, one: bool = False) -> list[KernelFunction]:
    """The kernels that ``FILE.py`` or ``FILE.py:KERNEL`` names, in the file's order.

    The file is imported under a name of its own, so its ``if __name__ == "__main__"`` part does not run; what it prints
    goes to standard error. ``one`` insists on exactly one kernel. Raises UsageError U120 to U123.
    """
    file, _, wanted = place.rpartition(":") if place.rpartition(":")[0].endswith(".py") else (place, "", "")
    path = Path(file)
    if path.is_dir():
        raise usage("U120", f"{file} is a directory", "name its files: write DIR/*.py, or FILE.py:KERNEL")
    if not path.is_file():
        raise usage("U120", f"no such file: {file}", "write FILE.py or FILE.py:KERNEL")
    found = list(_of(load(path)))
    names = ", ".join(k.__name__ for k in found)
    if wanted:
        found = [k for k in found if k.__name__ == wanted]
        if not found:
            raise usage("U121", f"{file} has no kernel `{wanted}`", f"its kernels: {names}" if names else
                        "a kernel is a function under @T.function")
    elif not found:
        raise usage("U121", f"{file} has no kernel", "a kernel is a function under @T.function")
    if one and len(found) > 1:
        raise usage("U122", f"{file} has {len(found)} kernels: say which one",
                    f"for example {file}:{found[0].__name__}")
    return found


def _of(module: ModuleType) -> Iterator[KernelFunction]:
    from ptxspec.lang.function import KernelFunction
    seen: set[int] = set()
    own = [v for v in vars(module).values() if isinstance(v, KernelFunction) and v.__module__ == module.__name__]
    for value in sorted(own, key=lambda k: k.line):
        if id(value) not in seen:
            seen.add(id(value))
            yield value


def load(path: Path) -> ModuleType:
    """Import the file at ``path`` as a module of its own."""
    name = f"ptxspec_user_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path.resolve())
    if spec is None or spec.loader is None:
        raise usage("U120", f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    folder = str(path.resolve().parent)
    before = list(sys.path)
    sys.path.insert(0, folder)
    sys.modules[name] = module   # dataclasses and pickling look a class's module up here
    written = sys.dont_write_bytecode
    sys.dont_write_bytecode = True
    try:
        with contextlib.redirect_stdout(sys.stderr):
            spec.loader.exec_module(module)
    except PtxspecError:
        raise
    except (Exception, SystemExit) as error:
        raise _failed(path, error) from None
    finally:
        sys.path[:] = before
        sys.dont_write_bytecode = written
    return module


def _failed(path: Path, error: BaseException) -> UsageError:
    """U123 at the last line of the user's file that was running."""
    where = str(path.resolve())
    span: Span | None = None
    if isinstance(error, SyntaxError):
        span = Span(str(error.filename or path), error.lineno or 1, error.offset or 1)
    for frame in traceback.extract_tb(error.__traceback__):
        if frame.filename == where and frame.lineno is not None:
            span = Span(str(path), frame.lineno, (frame.colno or 0) + 1, (frame.end_colno or 0) + 1)
    kind = type(error).__name__
    text = str(error).splitlines()[0] if str(error) else ""
    return UsageError(Diagnostic("U123", f"{path} cannot be loaded: {kind}{': ' + text if text else ''}", span, notes=(
        Note("help", "ptxspec imports the file; keep launches under `if __name__ == \"__main__\":`"),)))
