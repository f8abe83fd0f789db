"""One run of an assembler, whatever came of it: assembled, refused, crashed or timed out. No exceptions here.

:func:`run_tool` is the layer for programs that expect refusals (the certification of the database); a person's compile
goes through :func:`ptxspec.backend.assemble.assemble`, which turns everything but "ok" into an error.
"""

from __future__ import annotations

import signal
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from .messages import Message, parse_messages
from .toolchain import Toolchain

Status = Literal["ok", "refused", "crashed", "timeout"]

# Fixed, so that nothing of this machine or run reaches the log or the cubin.
_INPUT = "module.ptx"
_OUTPUT = "module.cubin"


@dataclass(frozen=True, slots=True)
class Outcome:
    """``cubin`` is empty unless ``status`` is ``ok`` and an output was wanted; ``signal`` names a crash."""

    status: Status
    cubin: bytes
    log: str
    signal: str = ""

    @property
    def messages(self) -> tuple[Message, ...]:
        """The log as data."""
        return parse_messages(self.log)


def run_tool(
    tool: Toolchain,
    ptx: str,
    target: str,
    *,
    options: Sequence[str] = (),
    timeout: float = 600.0,
    keep: bool = True,
) -> Outcome:
    """Assemble ``ptx`` for ``target`` (``sm_90a``); ``keep=False`` throws the cubin away. ``timeout`` is in seconds.

    nvJitLink runs inside this process: there a crash of the assembler is a crash of this process, and ``timeout`` has
    no effect. Give text that nobody has checked to a ``ptxas`` executable.
    """
    if tool.kind == "nvjitlink":
        return _jitlink(ptx, target, options, keep)
    with tempfile.TemporaryDirectory(prefix="ptxspec-") as folder:
        (Path(folder) / _INPUT).write_text(ptx, encoding="utf-8")
        command = [tool.path, f"-arch={target}", *options, _INPUT, "-o", _OUTPUT]
        try:
            done = subprocess.run(
                command, cwd=folder, capture_output=True, text=True, errors="replace", timeout=timeout, check=False
            )
        except subprocess.TimeoutExpired as late:
            return Outcome("timeout", b"", _text(late.stderr))
        log = done.stdout + done.stderr
        if done.returncode == 0:
            made = Path(folder) / _OUTPUT
            return Outcome("ok", made.read_bytes() if keep and made.exists() else b"", log)
        if _crashed(done.returncode):
            return Outcome("crashed", b"", log, _signal_name(done.returncode))
        return Outcome("refused", b"", log)


def _crashed(code: int) -> bool:
    # A shell wrapper around the executable reports a signal as 128 + its number; ptxas itself refuses with 255.
    return code < 0 or 128 < code <= 128 + 64


def _signal_name(code: int) -> str:
    number = -code if code < 0 else code - 128
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _text(raw: bytes | str | None) -> str:
    if raw is None:
        return ""
    return raw if isinstance(raw, str) else raw.decode("utf-8", "replace")


def _jitlink(ptx: str, target: str, options: Sequence[str], keep: bool) -> Outcome:
    from cuda.bindings import nvjitlink

    flags = [f"-arch={target}", *("-verbose" if option == "-v" else option for option in options)]
    try:
        handle = nvjitlink.create(len(flags), flags)
    except nvjitlink.nvJitLinkError as error:
        why = f"nvJitLink takes no target {target} with these options ({error})"
        return Outcome("refused", b"", f"ptxas fatal   : {why}")
    try:
        data = ptx.encode("utf-8")
        try:
            nvjitlink.add_data(handle, nvjitlink.InputType.PTX, data, len(data), _INPUT)
            nvjitlink.complete(handle)
        except nvjitlink.nvJitLinkError as error:
            log = _jitlink_log(handle)
            if not any(message.refuses for message in parse_messages(log)):
                log += f"\nptxas fatal   : {error}"
            return Outcome("refused", b"", log)
        cubin = bytearray(nvjitlink.get_linked_cubin_size(handle) if keep else 0)
        if keep:
            nvjitlink.get_linked_cubin(handle, cubin)
        return Outcome("ok", bytes(cubin), _jitlink_log(handle))
    finally:
        nvjitlink.destroy(handle)


def _jitlink_log(handle: int) -> str:
    from cuda.bindings import nvjitlink

    parts: list[str] = []
    for size, read in (
        (nvjitlink.get_info_log_size, nvjitlink.get_info_log),
        (nvjitlink.get_error_log_size, nvjitlink.get_error_log),
    ):
        buffer = bytearray(size(handle))
        if buffer:
            read(handle, buffer)
            parts.append(bytes(buffer).rstrip(b"\0").decode("utf-8", "replace"))
    return "".join(parts)
