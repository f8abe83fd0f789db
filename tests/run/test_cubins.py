"""Cubins on disk: the same bytes without an assembler run, and never a damaged or foreign one."""

from __future__ import annotations

from pathlib import Path

import pytest
from loading import example
from ptxspec.backend import cubins
from ptxspec.backend.emit import emit

cta_copy = example("cta_copy").cta_copy


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("PTXSPEC_CACHE", raising=False)
    monkeypatch.setenv("PTXSPEC_CACHE_DIR", str(tmp_path))
    return tmp_path


def test_second_time_comes_from_disk(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = emit(cta_copy.kernel())
    first = cubins.assembled(module.ptx, "sm_90", module.line_map)

    def never(*_: object, **__: object) -> None:
        raise AssertionError("assembled again")

    monkeypatch.setattr(cubins, "assemble", never)
    second = cubins.assembled(module.ptx, "sm_90", module.line_map)
    assert (second.data, second.registers, second.log) == (first.data, first.registers, first.log)
    with pytest.raises(AssertionError):
        cubins.assembled(module.ptx + "// other\n", "sm_90", module.line_map)
    with pytest.raises(AssertionError):
        cubins.assembled(module.ptx, "sm_100", module.line_map)


def test_damaged_files_are_made_again(cache: Path) -> None:
    module = emit(cta_copy.kernel())
    first = cubins.assembled(module.ptx, "sm_90", module.line_map)
    file, = cache.rglob("*.cubin")
    whole = file.read_bytes()
    for damage in (b"", whole[:100], whole[:-1] + bytes([whole[-1] ^ 1]), b"other" + whole):
        file.write_bytes(damage)
        assert cubins.assembled(module.ptx, "sm_90", module.line_map).data == first.data
        assert first.data in file.read_bytes()   # written anew (the log has times in it)


def test_off_leaves_no_file(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PTXSPEC_CACHE", "off")
    module = emit(cta_copy.kernel())
    cubins.assembled(module.ptx, "sm_90", module.line_map)
    assert not list(cache.rglob("*.cubin"))


def test_unwritable_folder_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    monkeypatch.delenv("PTXSPEC_CACHE", raising=False)
    monkeypatch.setenv("PTXSPEC_CACHE_DIR", str(blocked))
    module = emit(cta_copy.kernel())
    assert cubins.assembled(module.ptx, "sm_90", module.line_map).data.startswith(b"\x7fELF")
