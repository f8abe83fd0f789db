"""Which assemblers this machine has: nvJitLink in this process, and ``ptxas`` executables.

Looked at, in this order: nvJitLink (a wheel or a CUDA toolkit), ``ptxas`` inside installed wheels, every folder named
in ``PTXSPEC_TOOLCHAINS`` (separated like ``PATH``), ``.toolchains/`` of a checkout (filled by ``scripts/toolchains``),
``CUDA_HOME`` / ``CUDA_PATH``, and ``PATH``. A file that does not answer ``--version`` is no assembler and is left
out.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Kind = Literal["nvjitlink", "ptxas"]
_VERSION = re.compile(r"\bV(\d+)\.(\d+)\.(\d+)")


@dataclass(frozen=True, slots=True)
class Toolchain:
    """One assembler. ``path`` is the executable; for nvJitLink, which is a library, it is empty."""

    kind: Kind
    version: tuple[int, ...]
    path: str = ""

    @property
    def name(self) -> str:
        """For a person: ``ptxas 13.0.88``."""
        return f"{self.kind} {'.'.join(map(str, self.version))}"

    def __str__(self) -> str:
        return self.kind


def toolchains(kind: Kind | None = None) -> tuple[Toolchain, ...]:
    """Every assembler found, nvJitLink first, then ``ptxas`` from the newest to the oldest, each version once."""
    found: list[Toolchain] = []
    if kind in (None, "nvjitlink"):
        version = nvjitlink_version()
        if version:
            found.append(Toolchain("nvjitlink", version))
    if kind in (None, "ptxas"):
        by_version: dict[tuple[int, ...], Toolchain] = {}
        for path in _candidates():
            version = _ptxas_version(str(path))
            if version:
                by_version.setdefault(version, Toolchain("ptxas", version, str(path)))
        found.extend(by_version[version] for version in sorted(by_version, reverse=True))
    return tuple(found)


def find(version: str, kind: Kind = "ptxas") -> Toolchain | None:
    """The newest toolchain whose version starts with ``version`` (``"13.0"``), or nothing."""
    wanted = tuple(int(part) for part in version.split("."))
    return next((t for t in toolchains(kind) if t.version[: len(wanted)] == wanted), None)


@functools.cache
def nvjitlink_version() -> tuple[int, ...]:
    """Version of the nvJitLink library, empty where there is none."""
    try:
        from cuda.bindings import nvjitlink

        major, minor = nvjitlink.version()
    except Exception:  # absent binding, absent library, too old a library: all mean "none", each says it its own way
        return ()
    return (int(major), int(minor))


def wheel_files(*names: str) -> Iterator[Path]:
    """Files of these names in the ``bin`` folders of installed NVIDIA wheels."""
    spec = importlib.util.find_spec("nvidia")
    for root in (spec.submodule_search_locations or ()) if spec else ():
        for folder in sorted(Path(root).glob("*/bin"), reverse=True):
            for name in names:
                if (folder / name).is_file():
                    yield folder / name


def checkout_folder() -> Path:
    """``.toolchains`` beside the package's folder: the cache of a checkout (need not exist)."""
    return Path(__file__).resolve().parents[2] / ".toolchains"


def toolkit_files(*names: str) -> Iterator[Path]:
    """Files of these names in folders named by the environment, then on ``PATH``."""
    for name in names:
        folders = [*os.environ.get("PTXSPEC_TOOLCHAINS", "").split(os.pathsep), str(checkout_folder())]
        for folder in filter(None, folders):
            yield from sorted(Path(folder).glob(f"**/bin/{name}"))
            if (Path(folder) / name).is_file():
                yield Path(folder) / name
        for variable in ("CUDA_HOME", "CUDA_PATH"):
            home = os.environ.get(variable)
            if home and (Path(home) / "bin" / name).is_file():
                yield Path(home) / "bin" / name
        on_path = shutil.which(name)
        if on_path:
            yield Path(on_path)


def _candidates() -> Iterator[Path]:
    yield from wheel_files("ptxas")
    yield from toolkit_files("ptxas")


@functools.cache
def _ptxas_version(path: str) -> tuple[int, ...]:
    try:
        answer = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.SubprocessError):
        return ()
    found = _VERSION.search(answer.stdout)
    return tuple(int(part) for part in found.groups()) if found and answer.returncode == 0 else ()
