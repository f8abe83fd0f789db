"""What the sub-commands share: options, output, statuses."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from ptxspec.cli import FINE, UNKNOWN, USAGE, VIOLATED
from ptxspec.diagnostics import Diagnostic, Note, Span, UsageError

Sm = Annotated[str, typer.Option("--sm", metavar="SM", help="Target, such as sm_90.")]
Ptx = Annotated[str | None, typer.Option("--ptx", metavar="VERSION", help="PTX version, such as 9.0; default: newest.")]
Toolkit = Annotated[str | None, typer.Option("--toolkit", metavar="RELEASE",
                                             help="Assembler release whose behaviour is predicted; default: newest.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON object a line.")]


def usage(code: str, message: str, help_: str = "", span: Span | None = None) -> UsageError:
    """A usage error (exit status 2) with an optional remedy."""
    return UsageError(Diagnostic(code, message, span, notes=(Note("help", help_),) if help_ else ()))


def finish(status: int) -> NoReturn:
    """End the command with ``status``."""
    raise typer.Exit(status)


def line(value: object) -> str:
    """One JSON object as one line."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


def put(text: str) -> None:
    """A line on standard output."""
    sys.stdout.write(text + "\n")


def put_all(lines: Iterable[str], chunk: int = 2048) -> None:
    """Many lines, written in large pieces."""
    pending: list[str] = []
    for text in lines:
        pending.append(text)
        if len(pending) >= chunk:
            sys.stdout.write("\n".join(pending) + "\n")
            pending.clear()
    if pending:
        sys.stdout.write("\n".join(pending) + "\n")


def tell(diagnostics: Sequence[Diagnostic], *, json: bool) -> None:
    """What ended a command, or a part of it: on standard error, and as JSON on standard output."""
    if json:
        sys.stdout.write("".join(line({"diagnostic": d.to_json()}) + "\n" for d in diagnostics))
    print("\n\n".join(d.render() for d in diagnostics), file=sys.stderr)


def read_text(name: str) -> str:
    """A text file, ``-`` for standard input. Raises UsageError U130."""
    if name == "-":
        return sys.stdin.read()
    try:
        return Path(name).read_text(encoding="utf-8")
    except OSError as error:
        raise usage("U130", f"cannot read {name}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise usage("U130", f"cannot read {name}: it is not UTF-8 text") from None


def write_bytes(name: str, data: bytes) -> None:
    """Write a file. Raises UsageError U131."""
    try:
        Path(name).write_bytes(data)
    except OSError as error:
        raise usage("U131", f"cannot write {name}: {error.strerror}") from None


__all__ = ["FINE", "UNKNOWN", "USAGE", "VIOLATED", "Json", "Ptx", "Sm", "Toolkit", "finish", "line", "put", "put_all",
           "read_text", "tell", "usage", "write_bytes"]
