"""The documents' programs, end to end: traced, proved, emitted, assembled, run; host code as written there."""

from __future__ import annotations

import re

import numpy as np
import pytest
from loading import example

import ptxspec
from ptxspec import T
from ptxspec.compat import tvm

cta_copy = example("cta_copy").cta_copy
read_next_row = example("read_next_row").read_next_row
strided_load = example("strided_load").strided_load


def test_strided_load_with_the_documents_host_code() -> None:
    compiled = tvm.tirx.compile(strided_load, target="cuda", pipeline="tirx")
    x = np.arange(420, dtype="float32")
    a = tvm.runtime.tensor(x.reshape(15, 2, 7, 2), tvm.cuda())
    out = tvm.runtime.tensor(np.zeros_like(x), tvm.cuda())
    compiled(a, out)
    np.testing.assert_array_equal(out.numpy(), x)
    assert compiled.report is not None
    assert compiled.report.verdict == "proved"
    four = r"\{(%r\d+), (%r\d+), (%r\d+), (%r\d+)\}"
    loads = re.findall(rf"ld\.global\.v4\.b32 {four}, \[%rd\d+(?:\+\d+)?\];", compiled.ptx)
    assert len(loads) == 105
    assert len({register for load in loads for register in load}) == 420
    assert not re.search(r"^\s+mov\.b32 %r\d+, %r\d+;", compiled.ptx, re.M)


def test_the_guides_exchange_with_its_host_code() -> None:
    """``import tvm_tirx`` under another name; what the guide inserts is in ``read_next_row_saved``."""
    from ptxspec.compat import tvm as tvm_tirx
    from ptxspec.compat.tvm.script import tirx as language
    assert language.tile_load is T.tile_load
    compiled = tvm_tirx.compile(read_next_row, target="cuda")
    a = np.arange(256, dtype=np.float32).reshape(64, 4)
    b = np.empty_like(a)
    compiled(a, b)
    np.testing.assert_array_equal(b, np.roll(a, -1, axis=0))


def test_exchange() -> None:
    exe = ptxspec.compile(read_next_row, target="sm_90")
    a = np.arange(256, dtype=np.float32).reshape(64, 4)
    b = np.empty_like(a)
    exe(a, b)
    np.testing.assert_array_equal(b, np.roll(a, -1, axis=0))
    assert exe.module.shared_static == 1024
    assert exe.registers <= 24
    assert exe.cubin.startswith(b"\x7fELF")
    assert exe.last_run is not None
    assert exe.last_run.ok


def test_cta_copy_is_three_vectors_each_way() -> None:
    exe = ptxspec.compile(cta_copy, target="sm_90")
    a = np.random.default_rng(0).standard_normal((4, 32, 3, 4)).astype(np.float32)
    b = np.zeros_like(a)
    exe(a, b)
    np.testing.assert_array_equal(a, b)
    assert exe.ptx.count("ld.global.v4.b32") == 3
    assert exe.ptx.count("st.global.v4.b32") == 3
    assert "mov.b32" not in exe.ptx


def test_compiled_once_for_a_target() -> None:
    assert ptxspec.compile(read_next_row, target="sm_90") is ptxspec.compile(read_next_row, target="sm_90")
    other = ptxspec.compile(read_next_row, target="sm_100")
    assert other is not ptxspec.compile(read_next_row, target="sm_90")
    assert ".target sm_100" in other.ptx
    assert ".version 8.6" in other.ptx


@pytest.mark.parametrize("target", ["sm_80", "sm_90", "sm_100", "sm_120"])
def test_targets_assemble(target: str) -> None:
    for kernel in (strided_load, read_next_row, cta_copy):
        assert ptxspec.compile(kernel, target=target).cubin.startswith(b"\x7fELF")


def test_lines_of_the_module_name_the_kernels_lines() -> None:
    module = ptxspec.compile(read_next_row, target="sm_90").module
    lines = module.ptx.splitlines()
    barrier = next(n for n, text in enumerate(lines, 1) if "bar.sync" in text)
    from pathlib import Path
    source = Path(read_next_row.file).read_text().splitlines()
    assert "cta_sync" in source[module.line_map[barrier].line - 1]


def test_module_passes_the_linter() -> None:
    for kernel in (strided_load, read_next_row, cta_copy):
        result = ptxspec.lint(ptxspec.compile(kernel, target="sm_90").ptx, "module.ptx")
        assert not result.findings
        assert result.checked == result.instructions > 0
