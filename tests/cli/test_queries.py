"""check, forms, show, lint, layout, export, doctor: output, JSON shapes and exit statuses."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Cli = Callable[..., Any]


def rows(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_check_legal(cli: Cli) -> None:
    result = cli("check", "ld.global.v4.b32", "st.shared.b32")
    assert result.status == 0
    assert result.out.splitlines() == ["ld.global.v4.b32: legal", "st.shared.b32: legal"]


def test_check_json_has_the_documented_keys(cli: Cli) -> None:
    result = cli("check", "ld.global.v8.b32", "--sm", "sm_90", "--ptx", "9.0", "--json")
    assert result.status == 1
    row, = rows(result.out)
    assert set(row) == {"opcode", "legal", "ptxas", "canonical", "code", "rules", "floor", "nearest"}
    assert row["legal"] is False
    assert row["code"] == "F301"
    assert row["floor"]["ptx"] == "8.8"
    assert row["floor"]["sm"] in (100, "sm_100")
    assert "ld.global.v4.b32" in row["nearest"]


def test_check_reads_standard_input(cli: Cli) -> None:
    result = cli("check", "-", "--json", stdin="ld.global.b32\n\n# a comment\nld.relaxed.global.u32\n")
    assert result.status == 1
    assert [(r["opcode"], r["legal"]) for r in rows(result.out)] == [
        ("ld.global.b32", True), ("ld.relaxed.global.u32", False)]


def test_check_names_the_rule_and_its_place(cli: Cli) -> None:
    result = cli("check", "ld.relaxed.global.u32")
    assert "error[F201]" in result.out
    assert "specs/instructions/ld.yaml:" in result.out


def test_check_why_names_the_conflict(cli: Cli) -> None:
    result = cli("check", "ld.mmio.global.v4.b32", "--why")
    assert "`.mmio` and `.v4` cannot stand together" in result.out


def test_list_from_standard_input_has_one_line_each(cli: Cli) -> None:
    result = cli("check", "-", stdin="ld.global.b32\nld.global.v8.b32\n")
    assert result.out.splitlines() == [
        "ld.global.b32: legal", "ld.global.v8.b32: not legal [F301] needs PTX 8.8 and sm_100"]


def test_select_says_why_not_wider(cli: Cli) -> None:
    result = cli("select", "--op", "load", "--space", "global", "--bytes", "32", "--json")
    assert result.status == 0
    data, = rows(result.out)
    assert data["forms"][0]["bytes"] == 16
    assert {r["code"] for r in data["refused"]} == {"F301"}
    assert cli("select", "--op", "load", "--space", "global", "--bytes", "16", "--align", "12").status == 2


def test_unknown_mnemonic_is_unknown_not_wrong(cli: Cli) -> None:
    assert cli("check", "frobnicate.b32").status == 3
    assert cli("check", "frobnicate.b32", "ld.relaxed.global.u32").status == 1


@pytest.mark.parametrize(("arguments", "code"), [
    (("check", "ld.global.b32", "--sm", "sm_33"), "U101"),
    (("check", "ld.global.b32", "--ptx", "99.9"), "U102"),
    (("check", "ld.global.b32", "--toolkit", "3.0"), "U103"),
    (("check", "--bogus"), "U001"),
    (("check",), "U001"),
    (("nonsense",), "U001"),
    (("forms", "ld", "colour=red"), "U110"),
    (("forms", "ld", "space=moon"), "U111"),
    (("forms", "ld", "space"), "U112"),
    (("forms", "ld", "space=global", "space=shared"), "U112"),
    (("lint", "no-such-file.ptx"), "U130"),
    (("emit", "no-such-file.py:k"), "U120"),
    (("explain", "Z999"), "U140"),
    (("layout", "show", "S["), "U150"),
    (("layout", "show", "__import__('os').system('true')"), "U150"),
    (("layout", "show", "3"), "U150"),
    (("layout", "show", "S[(0, 4) : (4, 1)]"), "U151"),
    (("export", "--format", "xml"), "U134"),
    (("generate", "--check", "--specs", "/no/such/folder"), "U133"),
])
def test_wrong_use_has_a_code_and_status_2(cli: Cli, arguments: tuple[str, ...], code: str) -> None:
    result = cli(*arguments)
    assert result.status == 2
    assert f"error[{code}]" in result.err
    assert result.out == ""


def test_forms_with_slots(cli: Cli) -> None:
    result = cli("forms", "ld", "space=global", "vec=v4", "type=b32", "cop=", "--json")
    assert result.status == 0
    found = rows(result.out)
    assert {"opcode", "form", "slots", "floor"} == set(found[0])
    assert all(r["slots"]["vec"] == "v4" and "cop" not in r["slots"] for r in found)
    assert int(cli("forms", "ld", "space=global", "vec=v4", "type=b32", "cop=", "--count").out) == len(found)


def test_forms_without_any(cli: Cli) -> None:
    assert cli("forms", "ld", "space=shared", "vec=v8", "type=b32").status == 1
    assert cli("forms", "frobnicate").status == 3


def test_show_mnemonic_and_opcode(cli: Cli) -> None:
    assert "form ld" in cli("show", "ld").out
    data, = rows(cli("show", "ld.global.v4.b32", "--json").out)
    assert data["slots"] == {"space": "global", "vec": "v4", "type": "b32"}
    assert {o["prove"] for o in data["obligations"]} >= {"aligned", "in-bounds"}
    assert data["semantics"][0]["do"] == "read"
    wrong = cli("show", "ld.relaxed.global.u32")
    assert wrong.status == 1
    assert "F201" in wrong.out


def test_lint_counts_and_places(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "m.ptx"
    file.write_text(""".version 8.0
.target sm_90
.address_size 64
.visible .entry k()
{
    .reg .b32 %r<3>;
    .reg .b64 %rd<2>;
    ld.relaxed.global.b32 %r1, [%rd1];
    add.s32 %r2, %r1, %r1;
    ret;
}
""")
    result = cli("lint", str(file), "--json")
    assert result.status == 1
    *findings, summary = rows(result.out)
    assert findings[0]["line"] == 8
    assert set(findings[0]) >= {"file", "line", "code", "severity", "message", "instruction"}
    assert set(summary["summary"]) >= {"instructions", "checked", "unknown_mnemonics", "errors"}
    assert summary["summary"]["instructions"] == 3
    text = cli("lint", str(file))
    assert f"{file}:8" in text.out


def test_layout_show(cli: Cli) -> None:
    result = cli("layout", "show", "TileLayout(S[(4, 2) : (1 @ laneid, 1)])", "--json")
    data, = rows(result.out)
    assert data["axes"] == ["m", "laneid"]
    assert data["elements"][3] == {"index": [1, 1], "m": 1, "laneid": 1}
    plain = cli("layout", "show", "S[(2, 4) : (1, 2)]")
    assert plain.status == 0
    assert plain.out.splitlines()[-1].split() == ["[1]", "1", "3", "5", "7"]


def test_export_is_one_document_with_everything(cli: Cli) -> None:
    document = json.loads(cli("export", "--format", "json").out)
    assert set(document) == {"format", "version", "digest", "vocabulary", "instructions", "findings"}
    assert {"ld", "st", "mov", "add", "bar"} <= set(document["instructions"])
    assert document["instructions"]["ld"]["mnemonic"] == "ld"


def test_doctor_is_honest(cli: Cli) -> None:
    result = cli("doctor", "--json")
    states = {r["check"]: r["state"] for r in rows(result.out)}
    assert states["database"] == states["solver"] == states["selector"] == "ok"
    assert result.status == 0


def test_generate_check_is_clean(cli: Cli) -> None:
    assert cli("generate", "--check").status == 0


def test_closed_pipe_is_no_error() -> None:
    command = f"{sys.executable} -m ptxspec forms ld | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, env=os.environ, check=False)
    assert done.stdout.startswith("ld.")
    assert "Traceback" not in done.stderr
    assert "Error" not in done.stderr


def test_version_and_help(cli: Cli) -> None:
    from ptxspec import __version__
    assert cli("--version").out.strip() == f"ptxspec {__version__}"
    text = cli("--help").out
    for name in ("check", "forms", "show", "select", "lint", "prove", "emit", "layout", "explain", "certify",
                 "generate", "export", "doctor"):
        assert name in text


def test_an_instruction_where_an_opcode_is_wanted(cli: Cli) -> None:
    for given in ("ld.global.b32;", "@%p1 ld.global.b32 %r1, [%rd1];"):
        result = cli("check", given)
        assert result.status == 1
        assert "without operands: `ld.global.b32`" in result.out
    assert "lower case: `ld.global.L1::no_allocate.b32`" in cli("check", "LD.GLOBAL.L1::NO_ALLOCATE.B32").out
    assert "lower case" not in cli("check", "ld.shared.L1::evict_last.b32").out


def test_an_unknown_mnemonic_is_unknown_everywhere(cli: Cli) -> None:
    for words in (("check", "foo.b32"), ("forms", "foo"), ("show", "foo"), ("show", "foo.b32")):
        assert cli(*words).status == 3, words


def test_what_ends_a_command_is_json_too(cli: Cli) -> None:
    for words, code in ((("check", "--json"), "U001"), (("check", "x", "--sm", "q", "--json"), "U101"),
                        (("forms", "foo", "--json"), "F002"), (("lint", "missing.ptx", "--json"), "U130"),
                        (("layout", "show", "S[", "--json"), "U150")):
        result = cli(*words)
        assert json.loads(result.out)["diagnostic"]["code"] == code
        assert f"error[{code}]" in result.err
    assert json.loads(cli("explain", "P103", "--json").out)["title"]


def test_no_command_is_help(cli: Cli) -> None:
    for words in ((), ("layout",)):
        result = cli(*words)
        assert result.status == 2
        assert result.err.startswith("Usage:")


def test_a_pipe_that_is_closed_says_nothing_of_the_rest() -> None:
    """As for any program that writes into one: the status is that of SIGPIPE, and nothing is complained of."""
    command = [sys.executable, "-m", "ptxspec.cli", "forms", "ld"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


def test_lint_names_the_files_and_reads_on(cli: Cli, tmp_path: Path) -> None:
    module = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n ret;\n}\n"
    (tmp_path / "a.ptx").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "b.ptx").write_text(module)
    (tmp_path / "c.ptx").write_text(module.replace("ret;", "ret.never;"))
    result = cli("lint", str(tmp_path / "a.ptx"), str(tmp_path / "b.ptx"), "--json")
    assert result.status == 2
    first, second = (json.loads(line) for line in result.out.splitlines())
    assert first["diagnostic"]["code"] == "U130"
    assert second["file"] == str(tmp_path / "b.ptx")
    assert cli("lint", str(tmp_path)).status == 1


def test_a_floor_is_the_whole_reason(cli: Cli) -> None:
    out = cli("check", "ld.global.v8.b32", "--sm", "sm_90").out
    assert "since PTX 8.8 and sm_100" in out
    assert "cannot stand together" not in out


def test_a_verdict_of_the_library_is_true_where_the_form_is_legal() -> None:
    import ptxspec
    assert ptxspec.database().check("ld.global.v4.b32")
    assert not ptxspec.database().check("ld.global.v9.b32")
    assert [bool(v) for v in ptxspec.database().check_many(["ld.b32", "ld.b33"])] == [True, False]


def test_bank_conflicts_along_each_axis(cli: Cli) -> None:
    """A column of plain rows lies in one bank; swizzled or padded it does not."""
    for layout, passes in (("S[32, 32]", [32, 1]), ("ComposeLayout(0, 5, 5, TileLayout(S[32, 32]))", [1, 1]),
                           ("S[(32, 32) : (33, 1)]", [1, 1]), ("S[(32, 32) : (34, 1)]", [2, 1])):
        data = json.loads(cli("layout", "show", layout, "--banks", "4", "--json").out)
        assert [b["passes"] for b in data["banks"]] == passes, layout
    assert "axis 0: 32-way bank conflict: 32 passes" in cli("layout", "show", "S[32, 32]", "--banks", "4").out
    assert "banks" not in cli("layout", "show", "S[(32, 4) : (1 @ laneid, 1)]", "--banks", "4").out
    assert cli("layout", "show", "S[4]", "--banks", "0").status == 2
