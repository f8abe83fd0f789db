"""The ``ptxspec`` command: one file a sub-command, nothing heavy loaded before it is needed."""

from __future__ import annotations

import sys
from collections.abc import Sequence

FINE, VIOLATED, USAGE, UNKNOWN = 0, 1, 2, 3


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status: 0 fine, 1 violated, 2 usage, 3 unknown. Never a traceback."""
    from ptxspec.cli.app import build, usage_errors
    from ptxspec.diagnostics import PtxspecError, UsageError
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        status = build(words)(words, standalone_mode=False, prog_name="ptxspec")
        return status if isinstance(status, int) else FINE
    except usage_errors() as error:
        command = getattr(getattr(error, "ctx", None), "command_path", "ptxspec")
        _complain("U001", str(getattr(error, "message", "") or error), f"see {command} --help")
        return USAGE
    except UsageError as error:
        print(error, file=sys.stderr)
        return USAGE
    except PtxspecError as error:
        print(error, file=sys.stderr)
        return VIOLATED
    except BrokenPipeError:
        # The reader closed the pipe; what it read was what it wanted.
        sys.stderr.close()
        return FINE
    except KeyboardInterrupt:
        _complain("U002", "interrupted", "")
        return UNKNOWN
    except Exception as error:
        _complain("U003", f"internal error: {type(error).__name__}: {error}",
                  "this is a defect of ptxspec; set PTXSPEC_TRACEBACK=1 to see where it comes from")
        import os
        if os.environ.get("PTXSPEC_TRACEBACK"):
            raise
        return UNKNOWN


def _complain(code: str, message: str, help_: str) -> None:
    from ptxspec.diagnostics import Diagnostic, Note
    notes = (Note("help", help_),) if help_ else ()
    print(Diagnostic(code, message.rstrip("."), notes=notes).render(), file=sys.stderr)


def main() -> None:
    """Entry point of the installed command."""
    status = run()
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        sys.stderr.close()
    sys.exit(status)
