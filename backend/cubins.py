"""Assembled modules on disk, under a key of everything that decides them: the text, the target and the assembler.

``PTXSPEC_CACHE=off`` turns it off; any fault of the disk, or a damaged file, means that the module is assembled again.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from ptxspec.diagnostics import Span

from .assemble import Cubin, Toolchain, assemble, default_toolchain, parse_resources

#: Raised when the form of the files changes.
_FORM = b"ptxspec cubin 1\n"


def folder() -> Path | None:
    """Where cubins are kept, None when caches are off."""
    if os.environ.get("PTXSPEC_CACHE", "").lower() in ("off", "0", "no", "false"):
        return None
    base = os.environ.get("PTXSPEC_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "ptxspec" / "cubins"


def assembled(ptx: str, target: str, line_map: Mapping[int, Span]) -> Cubin:
    """The module assembled with the machine's default assembler, from disk where that was done before."""
    tool = default_toolchain()
    place = folder()
    path = None if place is None else place / f"{_key(ptx, target, tool)}.cubin"
    found = None if path is None else _read(path, target, tool)
    if found is not None:
        return found
    made = assemble(ptx, target, using=tool, line_map=line_map)
    if path is not None:
        _write(path, made)
    return made


def _key(ptx: str, target: str, tool: Toolchain) -> str:
    return hashlib.sha256(f"{tool.name}\n{target}\n{ptx}".encode()).hexdigest()


def _read(path: Path, target: str, tool: Toolchain) -> Cubin | None:
    try:
        raw = path.read_bytes()
    except OSError:
        return None
    if not raw.startswith(_FORM):
        return None
    digest, rest = raw[len(_FORM):len(_FORM) + 32], raw[len(_FORM) + 32:]
    if hashlib.sha256(rest).digest() != digest:   # cut short or damaged
        return None
    length = int.from_bytes(rest[:8], "little")
    log = rest[8:8 + length].decode("utf-8", "replace")
    return Cubin(rest[8 + length:], log, target, tool, parse_resources(log))


def _write(path: Path, cubin: Cubin) -> None:
    log = cubin.log.encode()
    rest = len(log).to_bytes(8, "little") + log + cubin.data
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Written beside and moved into place: a reader never sees half a file.
        descriptor, name = tempfile.mkstemp(dir=path.parent)
        with os.fdopen(descriptor, "wb") as file:
            file.write(_FORM + hashlib.sha256(rest).digest() + rest)
        os.replace(name, path)
    except OSError:
        return
