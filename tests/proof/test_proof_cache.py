"""The memory of proved queries: across processes, against damage, shared and read-only folders."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from ptxspec import T
from ptxspec.proof import cache as proof_cache
from ptxspec.proof import formula, prove
from ptxspec.proof.cache import Cache, open_cache
from ptxspec.scalar.expr import Var

HARD = """
from ptxspec import T, prove

@T.function
def hard(A: T.Tensor((64,), "float32"), B: T.Tensor((4096,), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    B[tid * tid] = A[tid]
"""


@T.function
def hard(A: T.Tensor((64,), "float32"), B: T.Tensor((4096,), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    B[tid * tid] = A[tid]


@T.function
def other(A: T.Tensor((64,), "float32"), B: T.Tensor((4096,), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    B[tid * (63 - tid)] = A[tid]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache that is on, in a folder of its own."""
    monkeypatch.setenv("PTXSPEC_CACHE", "on")
    monkeypatch.setenv("PTXSPEC_CACHE_DIR", str(tmp_path))
    return tmp_path


def entries(folder: Path) -> list[Path]:
    return [p for p in folder.rglob("*") if p.is_file()]


def asked() -> tuple[int, int]:
    """(queries put to Z3, queries answered from the disk) of one proof."""
    report = prove(hard)
    assert report.verdict == "proved"
    return report.statistics["z3"], report.statistics["cache"]


def test_the_cache_answers_again_and_only_for_the_same_query(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    count, found = asked()
    assert count > 0 and found == 0
    assert len(entries(folder)) == count
    assert asked() == (0, count)
    for _ in range(2):  # nothing but `proved` is kept
        assert prove(other).verdict == "refuted"
    monkeypatch.setenv("PTXSPEC_CACHE", "off")
    assert asked() == (count, 0)


def test_another_process_finds_it_and_loads_no_solver(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "kernel_file.py"
    path.write_text(HARD)
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); from kernel_file import hard, prove; r = prove(hard); "
        "assert r.verdict == 'proved'; print(r.statistics['z3'], r.statistics['cache'], 'z3' in sys.modules)"
    )

    def run() -> list[str]:
        done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True, capture_output=True, text=True)
        return done.stdout.split()

    first, second = run(), run()
    assert int(first[0]) > 0 and first[2] == "True"
    assert second == ["0", first[0], "False"]


@pytest.mark.parametrize("damage", [b"", b"proved", b"\xff" * 70, b"proved " + b"0" * 64 + b"\n"])
def test_a_damaged_entry_is_none_and_is_mended(folder: Path, damage: bytes) -> None:
    count, _ = asked()
    for path in entries(folder):
        path.write_bytes(damage)
    assert asked() == (count, 0)
    assert asked() == (0, count)


def test_a_folder_where_an_entry_should_be(folder: Path) -> None:
    count, _ = asked()
    for path in entries(folder):
        path.unlink()
        path.mkdir()
    assert asked() == (count, 0)
    assert asked() == (count, 0)
    assert not [p for p in entries(folder) if p.name.startswith("tmp")], "nothing is left behind"


def test_a_file_where_the_folder_should_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = tmp_path / "taken"
    blocked.write_text("not a folder")
    monkeypatch.setenv("PTXSPEC_CACHE", "on")
    monkeypatch.setenv("PTXSPEC_CACHE_DIR", str(blocked))
    assert asked()[0] > 0
    assert asked()[1] == 0


@pytest.mark.parametrize("failing", ["mkstemp", "replace"])
def test_a_disk_that_takes_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch, failing: str) -> None:
    """A read-only or full disk: proofs go on, nothing is kept."""

    def refuse(*args: object, **more: object) -> object:
        raise OSError("no")

    monkeypatch.setattr(proof_cache.tempfile if failing == "mkstemp" else proof_cache.os, failing, refuse)
    count, _ = asked()
    assert count > 0 and not entries(folder)
    assert asked() == (count, 0)


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes anywhere")
def test_a_read_only_folder(folder: Path) -> None:
    count, _ = asked()
    folder.chmod(0o500)
    try:
        assert asked() == (0, count)
    finally:
        folder.chmod(0o700)


def test_no_home(monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("PTXSPEC_CACHE", raising=False)
    monkeypatch.delenv("PTXSPEC_CACHE_DIR", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(proof_cache.Path, "home", homeless)
    assert open_cache("digest") is None


def test_many_writers_at_once(tmp_path: Path) -> None:
    """Readers see an entry whole or not at all, whatever others write beside them."""
    cache = Cache(tmp_path, "salt")
    keys = [cache.key(formula.lt(Var("x", "int32", "param", 0, k), k + 1), (), 1) for k in range(20)]
    wrong: list[str] = []

    def work() -> None:
        for key in keys * 3:
            cache.remember(key)
            if not cache.proved(key):
                wrong.append(key)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong
    assert len(entries(tmp_path)) == len(keys)


def test_keys_tell_bounds_types_and_settings_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = Cache(tmp_path, "salt")
    small, large = Var("x", "int32", "param", 0, 7), Var("x", "int32", "param", 0, 8)
    same, wide = Var("y", "int32", "param", 0, 7), Var("x", "int64", "param", 0, 7)
    key = cache.key(formula.lt(small, 8), (), 1)
    assert key == cache.key(formula.lt(same, 8), (), 1)
    assert key != cache.key(formula.lt(large, 8), (), 1)
    assert key != cache.key(formula.lt(wide, 8), (), 1)
    assert key != cache.key(formula.lt(small, 9), (), 1)
    assert key != cache.key(formula.lt(small, 8), (), 2)
    assert key != Cache(tmp_path, "other").key(formula.lt(small, 8), (), 1)
    assert cache.key(formula.lt(small, large), (), 1) != cache.key(formula.lt(large, small), (), 1)
    monkeypatch.setattr(proof_cache, "encoding", lambda: "another text of the encoder")
    assert key != cache.key(formula.lt(small, 8), (), 1)


def test_the_salt_names_solver_and_database(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PTXSPEC_CACHE", "on")
    monkeypatch.setenv("PTXSPEC_CACHE_DIR", str(tmp_path))
    one, two = open_cache("digest one"), open_cache("digest two")
    assert one is not None and two is not None
    assert one.salt != two.salt
    monkeypatch.setattr(proof_cache, "_z3_version", lambda: "0.0")
    older = open_cache("digest one")
    assert older is not None and older.salt != one.salt
