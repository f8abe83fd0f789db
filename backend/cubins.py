"""Assembled modules in memory and on disk, under a key of all that decides them: the text, the target, the assembler.

``PTXSPEC_CACHE=off`` turns both off; a fault of the disk, or a damaged file, means that the module is assembled again.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from ptxspec.diagnostics import Span

from .assemble import Cubin, Toolchain, assemble, default_toolchain, resources_of

#: Raised when the form of the files changes.
_FORM = b"ptxspec cubin 2\n"


def off() -> bool:
    """True where the user wants every module assembled anew."""
    return os.environ.get("PTXSPEC_CACHE", "").lower() in ("off", "0", "no", "false")


def folder() -> Path | None:
    """Where cubins are kept on disk, None where there is no place."""
    base = os.environ.get("PTXSPEC_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME")
    try:
        return (Path(base) if base else Path.home() / ".cache") / "ptxspec" / "cubins"
    except RuntimeError:   # no home
        return None


def assembled(ptx: str, target: str, line_map: Mapping[int, Span]) -> Cubin:
    """The module assembled with the machine's default assembler, from disk where that was done before."""
    tool = default_toolchain()
    if off():
        return assemble(ptx, target, using=tool, line_map=line_map)
    key, place = _key(ptx, target, tool), folder()
    path = None if place is None else place / f"{key}.cubin"
    made = _kept.get(key) or (None if path is None else _read(path, target, tool))
    if made is None:
        made = assemble(ptx, target, using=tool, line_map=line_map)
        if path is not None:
            _write(path, made)
    if len(_kept) >= _MOST:   # a program that makes ever new kernels must not fill the memory
        _kept.clear()
    _kept[key] = made
    return made


_MOST = 256
_kept: dict[str, Cubin] = {}


def _key(ptx: str, target: str, tool: Toolchain) -> str:
    return hashlib.sha256(f"{tool.name}\n{target}\n{ptx}".encode()).hexdigest()


def _digest(path: Path, rest: bytes) -> bytes:
    return hashlib.sha256(path.stem.encode() + rest).digest()


def _read(path: Path, target: str, tool: Toolchain) -> Cubin | None:
    try:
        raw = path.read_bytes()
    except OSError:
        return None
    if not raw.startswith(_FORM):
        return None
    digest, rest = raw[len(_FORM):len(_FORM) + 32], raw[len(_FORM) + 32:]
    if _digest(path, rest) != digest:   # cut short, damaged, or the file of another kernel
        return None
    length = int.from_bytes(rest[:8], "little")
    log = rest[8:8 + length].decode("utf-8", "replace")
    data = rest[8 + length:]
    return Cubin(data, log, target, tool, resources_of(log, data, target))


def _write(path: Path, cubin: Cubin) -> None:
    log = cubin.log.encode()
    rest = len(log).to_bytes(8, "little") + log + cubin.data
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Written beside and moved into place: a reader never sees half a file.
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".new-")
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(_FORM + _digest(path, rest) + rest)
            os.replace(name, path)
        except BaseException:   # a full disk, or the user's interrupt: nothing half-written stays behind
            with contextlib.suppress(OSError):
                os.unlink(name)
            raise
    except OSError:
        return
