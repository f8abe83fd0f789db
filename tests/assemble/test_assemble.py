"""The assembler: real ones where the machine has them, stand-in executables for crashes and silence."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
from ptxspec.backend.assemble import (
    Toolchain,
    assemble,
    disassemble,
    disassembler,
    first_by_line,
    parse_messages,
    parse_resources,
    resource_usage,
    run_tool,
    toolchains,
)
from ptxspec.backend.assemble import toolchain as discovery

from ptxspec.diagnostics import AssembleError, Span

GOOD = """\
.version 7.8
.target sm_90
.address_size 64
.visible .entry copy(.param .u64 a, .param .u64 b)
{
    .reg .b64 %rd<3>;
    .reg .b32 %r<5>;
    ld.param.u64 %rd1, [a];
    ld.param.u64 %rd2, [b];
    ld.global.v4.b32 {%r1, %r2, %r3, %r4}, [%rd1];
    st.global.v4.b32 [%rd2], {%r1, %r2, %r3, %r4};
    ret;
}
"""
BAD_LINE = 10
BAD = GOOD.replace("ld.global.v4.b32", "ld.globbal.v4.b32")

FOUND = toolchains()
needs_assembler = pytest.mark.skipif(not FOUND, reason="no assembler on this machine")
each_tool = pytest.mark.parametrize("tool", FOUND, ids=lambda tool: tool.name)


def executable(folder: Path, body: str) -> Toolchain:
    path = folder / "ptxas"
    path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    path.chmod(0o755)
    return Toolchain("ptxas", (1, 2, 3), str(path))


@each_tool
def test_assembles_with_resources_and_the_same_bytes_each_time(tool: Toolchain) -> None:
    first = assemble(GOOD, "sm_90", using=tool)
    assert first.bytes.startswith(b"\x7fELF")
    assert first.bytes == assemble(GOOD, "sm_90", using=tool).bytes
    (entry,) = first.resources
    assert (entry.entry, entry.target, entry.spill_loads, entry.stack) == ("copy", "sm_90", 0, 0)
    assert 4 <= first.registers <= 32
    assert first.version == ".".join(map(str, tool.version))


@each_tool
def test_a_refused_line_is_put_on_the_kernels_line(tool: Toolchain) -> None:
    where = Span("kernel.py", 41, 9)
    with pytest.raises(AssembleError) as caught:
        assemble(BAD, "sm_90", using=tool, line_map={BAD_LINE: where})
    first = caught.value.diagnostics[0]
    assert first.code == "A101"
    assert "globbal" in first.message
    assert first.span == where
    assert any("ld.globbal.v4.b32" in note.text for note in first.notes)


@each_tool
def test_a_target_or_version_that_the_tool_does_not_know_is_said_so(tool: Toolchain) -> None:
    for text, target in ((GOOD.replace("7.8", "99.0"), "sm_90"), (GOOD, "sm_11")):
        with pytest.raises(AssembleError) as caught:
            assemble(text, target, using=tool)
        assert caught.value.code in ("A103", "A102" if tool.version < (12, 8) else "A103")


@each_tool
@pytest.mark.parametrize("text", ["", "}}", ".version 7.8\n", "\x00", "é"])
def test_nonsense_is_an_error_with_a_code(tool: Toolchain, text: str) -> None:
    with pytest.raises(AssembleError) as caught:
        assemble(text, "sm_90", using=tool)
    # The oldest releases crash on text without a header.
    assert caught.value.code in ({"A101", "A106"} if tool.version >= (12, 8) else {"A101", "A102", "A106"})


@needs_assembler
def test_resource_usage_sees_shared_memory() -> None:
    text = GOOD.replace("    ld.param.u64 %rd1", "    .shared .align 16 .b8 buffer[512];\n    ld.param.u64 %rd1", 1)
    text = text.replace("    ret;", "    st.shared.b32 [buffer], %r1;\n    ret;")
    (entry,) = resource_usage(text, "sm_90")
    assert entry.shared >= 512


@pytest.mark.skipif(not disassembler() or not FOUND, reason="no disassembler on this machine")
def test_disassembly_shows_the_access_width() -> None:
    text = disassemble(assemble(GOOD, "sm_90"))
    assert "LDG.E.128" in text
    assert "STG.E.128" in text
    with pytest.raises(AssembleError) as caught:
        disassemble(b"not a cubin")
    assert caught.value.code == "A111"


def test_no_disassembler_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ptxspec.backend.assemble.sass.disassembler", lambda: "")
    with pytest.raises(AssembleError) as caught:
        disassemble(b"")
    assert caught.value.code == "A110"


@pytest.mark.parametrize("target", ["sm90", "SM_90", "sm_90b", "sm_", "", "compute_90", "sm_90 -v"])
def test_a_wrong_target_name_is_refused_before_any_tool_runs(target: str) -> None:
    with pytest.raises(AssembleError) as caught:
        assemble(GOOD, target, using=Toolchain("ptxas", (0,), "no-such-file"))
    assert caught.value.code == "A105"


def test_no_assembler_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ptxspec.backend.assemble.module.toolchains", lambda kind=None: ())
    with pytest.raises(AssembleError) as caught:
        assemble(GOOD, "sm_90")
    assert caught.value.code == "A100"
    assert "ptxspec[assemble]" in str(caught.value)


def test_a_crash_is_an_outcome_of_its_own(tmp_path: Path) -> None:
    tool = executable(tmp_path, "kill -SEGV $$")
    outcome = run_tool(tool, GOOD, "sm_90")
    assert (outcome.status, outcome.signal) == ("crashed", "SIGSEGV")
    with pytest.raises(AssembleError) as caught:
        assemble(GOOD, "sm_90", using=tool)
    assert caught.value.code == "A102"


def test_a_crash_inside_a_wrapper_script_is_seen_too(tmp_path: Path) -> None:
    assert run_tool(executable(tmp_path, "exit 139"), GOOD, "sm_90").signal == "SIGSEGV"
    assert run_tool(executable(tmp_path, "exit 255"), GOOD, "sm_90").status == "refused"


def test_a_silent_refusal_and_a_tool_that_never_ends(tmp_path: Path) -> None:
    with pytest.raises(AssembleError) as caught:
        assemble(GOOD, "sm_90", using=executable(tmp_path, "exit 1"))
    assert caught.value.code == "A106"
    with pytest.raises(AssembleError) as caught:
        assemble(GOOD, "sm_90", using=executable(tmp_path, "exec sleep 30"), timeout=0.2)
    assert caught.value.code == "A104"


def test_many_complaints_are_cut_and_counted(tmp_path: Path) -> None:
    body = "for i in $(seq 1 50); do echo \"ptxas module.ptx, line $i; error   : no\" >&2; done; exit 255"
    with pytest.raises(AssembleError) as caught:
        assemble(GOOD, "sm_90", using=executable(tmp_path, body))
    assert len(caught.value.diagnostics) == 21
    assert "30 more" in caught.value.diagnostics[-1].message


@each_tool
def test_nothing_is_left_behind(tool: Toolchain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    assemble(GOOD, "sm_90", using=tool)
    with pytest.raises(AssembleError):
        assemble(BAD, "sm_90", using=tool)
    assert os.listdir(tmp_path) == []


def test_a_file_that_is_no_assembler_is_not_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a" / "bin").mkdir(parents=True)
    executable(tmp_path / "a" / "bin", "echo hello")
    (tmp_path / "b" / "bin").mkdir(parents=True)
    good = executable(tmp_path / "b" / "bin", 'echo "Cuda compilation tools, release 77.1, V77.1.2"')
    monkeypatch.setenv("PTXSPEC_TOOLCHAINS", str(tmp_path))
    newest = discovery.toolchains("ptxas")[0]
    assert (newest.version, newest.path) == ((77, 1, 2), good.path)
    assert all("/a/bin/" not in tool.path for tool in discovery.toolchains("ptxas"))
    assert discovery.find("77.1") == newest
    assert discovery.find("66") is None


def test_messages() -> None:
    log = (
        "ptxas application ptx input, line 8; error   : Unknown modifier '.foo'\n"
        "ptxas k.ptx, line 8; error   : second\n"
        "ptxas k.ptx, line 9; warning : odd\n"
        "ptxas k.ptx, line 12; fatal   : Parsing error near ';'\n"
        "ptxas fatal   : Ptx assembly aborted due to errors\n"
        "ERROR NVJITLINK_ERROR_PTX_COMPILE: JIT the PTX (k.ptx)\n"
        "something new\n"
    )
    found = parse_messages(log)
    assert [(m.severity, m.line) for m in found] == [
        ("error", 8), ("error", 8), ("warning", 9), ("fatal", 12), ("fatal", 0), ("error", 0), ("note", 0),
    ]
    assert {line: m.text for line, m in first_by_line(found).items()} == {
        8: "Unknown modifier '.foo'",
        12: "Parsing error near ';'",
    }


def test_resources_of_an_older_log() -> None:
    log = (
        "ptxas info    : 0 bytes gmem, 8 bytes cmem[4]\n"
        "ptxas info    : Compiling entry function 'k' for 'sm_80'\n"
        "ptxas info    : Function properties for k\n"
        "    16 bytes stack frame, 8 bytes spill stores, 4 bytes spill loads\n"
        "ptxas info    : Used 255 registers, used 1 barriers, 4096+0 bytes smem, 360 bytes cmem[0], 8 bytes cmem[2]\n"
    )
    (entry,) = parse_resources(log)
    assert (entry.registers, entry.barriers, entry.shared, entry.constant) == (255, 1, 4096, 368)
    assert (entry.stack, entry.spill_stores, entry.spill_loads) == (16, 8, 4)
    assert parse_resources("") == ()


@pytest.mark.skipif(not os.environ.get("PTXSPEC_REQUIRE_ASSEMBLERS"), reason="asked for by CI only")
def test_ci_has_both_generations_of_assemblers() -> None:
    assert {tool.kind for tool in FOUND} == {"nvjitlink", "ptxas"}
    majors = {tool.version[0] for tool in FOUND if tool.kind == "ptxas"}
    assert {12, 13} <= majors, "scripts/toolchains fetches them"
