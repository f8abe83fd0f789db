"""Cubins in memory and on disk: the same bytes without an assembler run, and never a damaged or foreign one."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from loading import example
from ptxspec.backend import cubins
from ptxspec.backend.assemble import Cubin
from ptxspec.backend.emit import Module, emit

cta_copy = example("cta_copy").cta_copy


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("PTXSPEC_CACHE", raising=False)
    monkeypatch.setenv("PTXSPEC_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(cubins, "_kept", {})
    return tmp_path


@pytest.fixture
def module() -> Module:
    return emit(cta_copy.kernel())


def again(module: Module, target: str = "sm_90") -> Cubin:
    """What a new process would get."""
    cubins._kept.clear()
    return cubins.assembled(module.ptx, target, module.line_map)


def never(*_: object, **__: object) -> Cubin:
    raise AssertionError("assembled again")


def test_second_time_comes_from_disk(cache: Path, module: Module, monkeypatch: pytest.MonkeyPatch) -> None:
    first = again(module)
    monkeypatch.setattr(cubins, "assemble", never)
    second = again(module)
    assert (second.data, second.registers, second.log) == (first.data, first.registers, first.log)
    with pytest.raises(AssertionError):
        again(replace(module, ptx=module.ptx + "// other\n"))
    with pytest.raises(AssertionError):
        again(module, "sm_100")


def test_memory_serves_without_a_disk(cache: Path, module: Module, monkeypatch: pytest.MonkeyPatch) -> None:
    first = again(module)
    for file in cache.rglob("*.cubin"):
        file.unlink()
    monkeypatch.setattr(cubins, "assemble", never)
    assert cubins.assembled(module.ptx, "sm_90", module.line_map) is first
    monkeypatch.setenv("PTXSPEC_CACHE", "off")
    with pytest.raises(AssertionError, match="again"):
        cubins.assembled(module.ptx, "sm_90", module.line_map)


def test_damaged_files_are_made_again(cache: Path, module: Module) -> None:
    first = again(module)
    file, = cache.rglob("*.cubin")
    whole = file.read_bytes()
    for damage in (b"", whole[:100], whole[:-1] + bytes([whole[-1] ^ 1]), b"other" + whole):
        file.write_bytes(damage)
        assert again(module).data == first.data
        assert first.data in file.read_bytes()   # written anew (the log has times in it)


def test_the_file_of_another_kernel_is_not_taken(cache: Path, module: Module, monkeypatch: pytest.MonkeyPatch) -> None:
    first, other = again(module), replace(module, ptx=module.ptx + "// other\n")
    mine, = cache.rglob("*.cubin")
    again(other)
    theirs, = set(cache.rglob("*.cubin")) - {mine}
    theirs.write_bytes(mine.read_bytes())
    made: list[str] = []

    def noted(ptx: str, *_: object, **__: object) -> Cubin:
        made.append(ptx)
        return first

    monkeypatch.setattr(cubins, "assemble", noted)
    again(other)
    assert made == [other.ptx]
    mine.unlink()
    mine.mkdir()   # nothing can be read or put there
    assert again(module).data == first.data


def test_off_leaves_no_file(cache: Path, module: Module, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PTXSPEC_CACHE", "off")
    again(module)
    assert not list(cache.rglob("*.cubin"))


def test_unwritable_folder_is_no_error(cache: Path, module: Module, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = cache / "file"
    blocked.write_text("in the way")
    monkeypatch.setenv("PTXSPEC_CACHE_DIR", str(blocked))
    assert again(module).data.startswith(b"\x7fELF")


def test_a_folder_that_may_only_be_read(cache: Path, module: Module, monkeypatch: pytest.MonkeyPatch) -> None:
    first = again(module)

    def refuse(*_: object, **__: object) -> tuple[int, str]:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(cubins.tempfile, "mkstemp", refuse)
    assert again(replace(module, ptx=module.ptx + "// other\n")).data.startswith(b"\x7fELF")
    monkeypatch.setattr(cubins, "assemble", never)
    assert again(module).data == first.data   # what is there is read


@pytest.mark.parametrize("fault", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_write_that_ends_midway_leaves_nothing(cache: Path, module: Module, monkeypatch: pytest.MonkeyPatch,
                                                 fault: BaseException) -> None:
    whole = os.fdopen

    class Full:
        def __init__(self, descriptor: int, mode: str) -> None:
            self.file = whole(descriptor, mode)

        def __enter__(self) -> Full:
            return self

        def __exit__(self, *_: object) -> None:
            self.file.close()

        def write(self, data: bytes) -> None:
            self.file.write(data[:100])
            self.file.flush()
            raise fault

    with monkeypatch.context() as patch:
        patch.setattr(cubins.os, "fdopen", Full)
        if isinstance(fault, OSError):
            assert again(module).data.startswith(b"\x7fELF")
        else:
            with pytest.raises(KeyboardInterrupt):
                again(module)
    assert [path for path in cache.rglob("*") if path.is_file()] == []
    again(module)
    assert [path.suffix for path in cache.rglob("*") if path.is_file()] == [".cubin"]


def test_no_home_is_no_error(cache: Path, module: Module, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PTXSPEC_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)

    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(cubins.Path, "home", homeless)
    assert cubins.folder() is None
    assert again(module).data.startswith(b"\x7fELF")


PROGRAM = """
import hashlib, sys
sys.path[:0] = sys.argv[1:]
from loading import example
from ptxspec.backend import cubins
from ptxspec.backend.emit import emit
module = emit(example("cta_copy").cta_copy.kernel())
for _ in range(3):
    cubins._kept.clear()
    print(hashlib.sha256(cubins.assembled(module.ptx, "sm_90", module.line_map).data).hexdigest())
"""


def test_many_processes_at_once(cache: Path) -> None:
    """Each assembles or reads; all get the same code, and one whole file is left."""
    here = [entry for entry in sys.path if entry]
    running = [subprocess.Popen([sys.executable, "-P", "-c", PROGRAM, *here], stdout=subprocess.PIPE, text=True)
               for _ in range(4)]
    said = [process.communicate()[0].split() for process in running]
    assert [process.returncode for process in running] == [0] * 4
    assert [len(lines) for lines in said] == [3] * 4
    assert len({line for lines in said for line in lines}) == 1
    assert [path.suffix for path in cache.rglob("*") if path.is_file()] == [".cubin"]
