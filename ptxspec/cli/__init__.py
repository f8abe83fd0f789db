"""The ``ptxspec`` command: one file a sub-command, nothing heavy loaded before it is needed."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ptxspec.diagnostics import Diagnostic

FINE, VIOLATED, USAGE, UNKNOWN = 0, 1, 2, 3
#: The reader of a pipe went away, as the shell has it: what was judged until then says nothing of the rest.
CUT_OFF = 141


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status: 0 fine, 1 violated, 2 usage, 3 unknown. Never a traceback.

    What ends a command is told on standard error, with ``--json`` on standard output as well, an object a line.
    """
    from ptxspec.cli.app import build, usage_errors
    from ptxspec.diagnostics import PtxspecError, UsageError
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        status = build(words)(words, standalone_mode=False, prog_name="ptxspec")
        return status if isinstance(status, int) else FINE
    except usage_errors() as error:
        command = getattr(getattr(error, "ctx", None), "command_path", "ptxspec")
        message = str(getattr(error, "message", "") or error)
        if message.startswith("Usage:"):   # no command is named: the help is the answer
            print(message, file=sys.stderr)
        else:
            _complain("U001", message, f"see {command} --help", words)
        return USAGE
    except PtxspecError as error:
        _tell(error.diagnostics, words)
        if isinstance(error, UsageError):
            return USAGE
        return UNKNOWN if all(d.code == "F002" for d in error.diagnostics) else VIOLATED
    except BrokenPipeError:
        return _cut_off()
    except SystemExit as error:
        # The option parser ends like this where the pipe is closed.
        return _cut_off() if type(sys.stdout).__name__ == "PacifyFlushWrapper" else _status(error.code)
    except KeyboardInterrupt:
        _complain("U002", "interrupted", "", words)
        return UNKNOWN
    except Exception as error:
        _complain("U003", f"internal error: {type(error).__name__}: {error}",
                  "this is a defect of ptxspec; set PTXSPEC_TRACEBACK=1 to see where it comes from", words)
        if os.environ.get("PTXSPEC_TRACEBACK"):
            raise
        return UNKNOWN


def _complain(code: str, message: str, help_: str, words: Sequence[str]) -> None:
    from ptxspec.diagnostics import Diagnostic, Note
    notes = (Note("help", help_),) if help_ else ()
    _tell([Diagnostic(code, message.rstrip("."), notes=notes)], words)


def _tell(diagnostics: Sequence[Diagnostic], words: Sequence[str]) -> None:
    from ptxspec.cli.common import tell
    tell(diagnostics, json="--json" in words)


def _cut_off() -> int:
    sys.stderr.close()
    return CUT_OFF


def _status(code: object) -> int:
    return code if isinstance(code, int) else FINE if code is None else VIOLATED


def main() -> None:
    """Entry point of the installed command."""
    status = run()
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        status = _cut_off()
    if status == CUT_OFF:
        # Not sys.exit: what is still in the buffer would be written once more, and complained of.
        os._exit(status)
    sys.exit(status)
