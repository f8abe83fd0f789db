"""prove and emit: loading a user's file, JSON, statuses, outputs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from loading import EXAMPLES

Cli = Callable[..., Any]
COPY = EXAMPLES / "cta_copy.py"

BROKEN = '''
from ptxspec import T

@T.function
def past_the_end(A: T.Tensor((64, 4), "float32", align=16), B: T.Tensor((64, 4), "float32", align=16)):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    R = T.alloc_local((4,), "float32")
    T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], R, A.sub[tid + 1, :])
    T.cuda.tile.apply(T.ptx["st.global.v4.b32"], B.sub[tid, :], R)

print("loading")
if __name__ == "__main__":
    raise SystemExit("the main part must not run")
'''


@pytest.fixture
def broken(tmp_path: Path) -> str:
    file = tmp_path / "broken.py"
    file.write_text(BROKEN)
    return str(file)


def test_prove_every_kernel_of_a_file(cli: Cli, kernels: str) -> None:
    result = cli("prove", kernels, "--json")
    assert result.status == 0, result.out
    rows = [json.loads(line) for line in result.out.splitlines()]
    assert [r["kernel"] for r in rows] == ["scale_rows", "transposed_in"]
    for row in rows:
        assert row["verdict"] == "proved"
        assert set(row) >= {"kernel", "verdict", "ms", "obligations"}
        for obligation in row["obligations"]:
            assert set(obligation) >= {"code", "verdict", "where", "ms", "message", "counterexample"}


def test_refuted_kernel_has_status_1_and_a_counterexample(cli: Cli, broken: str) -> None:
    result = cli("prove", broken, "--json")
    assert result.status == 1
    assert "loading" not in result.out   # what the user's file prints does not disturb the JSON
    row, = [json.loads(line) for line in result.out.splitlines()]
    bad = [o for o in row["obligations"] if o["verdict"] == "refuted"]
    assert [(o["code"], o["explain"]) for o in bad] == [("in-bounds", "P103")]
    assert bad[0]["counterexample"]["thread"] == [63, 0, 0]
    assert f"{broken}:9" in bad[0]["where"]


def test_prove_text_shows_the_line(cli: Cli, broken: str) -> None:
    result = cli("prove", broken)
    assert "error[P103]" in result.out
    assert "A.sub[tid + 1, :]" in result.out
    assert "^" in result.out


def test_replay_reproduces_the_fault(cli: Cli, broken: str) -> None:
    result = cli("prove", broken, "--replay")
    assert "replay of P103" in result.out
    assert "R202" in result.out or "out-of-bounds" in result.out


def test_html_page_is_self_contained(cli: Cli, broken: str, tmp_path: Path) -> None:
    page = tmp_path / "proofs.html"
    cli("prove", broken, "--html", str(page))
    text = page.read_text()
    assert "past_the_end" in text
    assert "refuted" in text
    assert "<script" not in text
    assert "http" not in text


def test_emit_to_standard_output_and_files(cli: Cli, kernels: str, tmp_path: Path) -> None:
    result = cli("emit", f"{COPY}:cta_copy")
    assert result.status == 0
    assert result.out.count("ld.global.v4.b32") == 3
    ptx, cubin = tmp_path / "k.ptx", tmp_path / "k.cubin"
    assert cli("emit", f"{COPY}:cta_copy", "-o", str(ptx)).status == 0
    assert ptx.read_text() == result.out
    assert cli("emit", f"{COPY}:cta_copy", "-o", str(cubin)).status == 0
    assert cubin.read_bytes().startswith(b"\x7fELF")


def test_emit_for_a_version(cli: Cli, kernels: str) -> None:
    assert ".version 8.4" in cli("emit", f"{COPY}:cta_copy", "--ptx", "8.4").out
    assert cli("emit", f"{COPY}:cta_copy", "--ptx", "new").status == 2


def test_unproved_kernel_is_not_emitted(cli: Cli, broken: str, tmp_path: Path) -> None:
    out = tmp_path / "never.ptx"
    result = cli("emit", broken, "-o", str(out))
    assert result.status == 1
    assert "P103" in result.err
    assert not out.exists()


@pytest.mark.parametrize(("text", "code"), [
    ("x = 1\n", "U121"),
    ("import nothing_of_that_name\n", "U123"),
    ("def f(:\n", "U123"),
    ("raise SystemExit(3)\n", "U123"),
])
def test_files_without_a_kernel(cli: Cli, tmp_path: Path, text: str, code: str) -> None:
    file = tmp_path / "user.py"
    file.write_text(text)
    result = cli("prove", str(file))
    assert result.status == 2
    assert f"error[{code}]" in result.err


def test_kernel_names(cli: Cli, kernels: str) -> None:
    assert "U121" in cli("emit", f"{kernels}:nothing").err
    assert "U122" in cli("emit", kernels).err
    assert cli("emit", f"{COPY}:cta_copy", "-o", "k.exe").status == 2


def test_wrong_kernel_language_is_told_on_the_users_line(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "user.py"
    file.write_text("from ptxspec import T\n\n@T.function\ndef k(A: T.Tensor((4,), 'float32')):\n    A[0] = 1.0\n")
    result = cli("prove", str(file))
    assert result.status == 1
    assert "error[K217]" in result.err
    assert f"{file}:5" in result.err


def test_several_files_and_one_that_cannot_be_read(cli: Cli, kernels: str, tmp_path: Path) -> None:
    """A kernel that cannot be read does not hide the verdicts of the others."""
    file = tmp_path / "user.py"
    file.write_text("from ptxspec import T\n\n@T.function\ndef k(A: T.Tensor((4,), 'float32')):\n    A[0] = unknown\n")
    result = cli("prove", str(file), f"{COPY}:cta_copy", "--json")
    assert result.status == 1
    first, second = (json.loads(line) for line in result.out.splitlines())
    assert (first["kernel"], first["verdict"]) == ("k", "unreadable")
    assert first["diagnostics"][0]["code"] == "K204"
    assert "__name__" not in result.err
    assert (second["kernel"], second["verdict"], second["file"]) == ("cta_copy", "proved", str(COPY))
    shown = cli("prove", str(file), str(COPY)).out
    assert f"{COPY.name}:" in shown.splitlines()[0]


def test_targets_are_known_ones(cli: Cli, kernels: str) -> None:
    assert "error[U101]" in cli("prove", kernels, "--sm", "sm_1000").err
    assert json.loads(cli("prove", f"{COPY}:cta_copy", "--sm", "100", "--json").out)["sm"] == "sm_100"
    assert cli("prove", f"{COPY}:cta_copy", "--sm", "cuda").status == 0


def test_emit_as_json(cli: Cli, kernels: str, broken: str) -> None:
    row = json.loads(cli("emit", f"{COPY}:cta_copy", "--json").out)
    assert (row["kernel"], row["verdict"], row["target"]) == ("cta_copy", "proved", "sm_90")
    assert [p["name"] for p in row["parameters"]] == ["A", "B"]
    assert row["ptx"] == cli("emit", f"{COPY}:cta_copy").out
    refuted = cli("emit", broken, "--json")
    assert refuted.status == 1
    assert json.loads(refuted.out)["diagnostics"][0]["code"] == "P103"


@pytest.mark.parametrize(("name", "data", "code"), [
    ("directory", None, "U120"), ("missing.py", b"", "U120"), ("nul.py", b"\xff\xfe\x00", "U123"),
    ("latin.py", b"x = '\xe9'\n", "U123"), ("empty.py", b"", "U121"), ("text.txt", b"hello", "U120"),
])
def test_what_is_no_python_file(cli: Cli, tmp_path: Path, name: str, data: bytes | None, code: str) -> None:
    file = tmp_path / name
    if data is None:
        file.mkdir()
    elif name != "missing.py":
        file.write_bytes(data)
    result = cli("prove", str(file), "--json")
    assert result.status == 2
    assert f"error[{code}]" in result.err
    assert json.loads(result.out)["diagnostic"]["code"] == code


@pytest.mark.parametrize(("head", "tail"), [(b"\xef\xbb\xbf", b""), (b"# -*- coding: latin-1 -*-\n", b"  # \xe9\n")])
def test_encodings_and_line_ends(cli: Cli, tmp_path: Path, head: bytes, tail: bytes) -> None:
    """A byte order mark, Latin-1 and Windows line ends: the message still shows the right characters."""
    text = (b"from ptxspec import T\n@T.function\ndef k(A: T.Tensor((64,), 'int32')):\n"
            b"    T.device_entry(launch=T.cuda.LaunchConfig(block=64))\n    A[T.cuda.thread_idx() + 1] = 3")
    file = tmp_path / "user.py"
    file.write_bytes((head + text + tail).replace(b"\n", b"\r\n"))
    result = cli("prove", str(file))
    assert result.status == 1
    assert "^" * len("A[T.cuda.thread_idx() + 1]") in result.out
    assert "\r" not in result.out
