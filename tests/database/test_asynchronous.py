"""Asynchronous stores: instructions of two words, known to the database, proved and simulated by nobody."""

from __future__ import annotations

from pathlib import Path

import pytest

import ptxspec
from ptxspec import T
from ptxspec.forms import check, registry
from ptxspec.forms.parse import parse
from ptxspec.ptx.lint import lint

COUNTED = "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.b64"


@T.function
def released(A: T.Tensor((64, 1), "uint32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    one = T.alloc_local((1,), "uint32")
    T.cuda.tile.apply(T.ptx["ld.global.b32"], one, A.sub[tid, :])
    T.cuda.tile.apply(T.ptx["st.async.release.gpu.global.b32"], A.sub[tid, :], one)


@pytest.mark.parametrize(("opcode", "mnemonic"), [
    ("st.async.release.gpu.b32", "st.async"), (COUNTED, "st.async"), ("st.bulk", "st.bulk"), ("st.b32", "st"),
    ("st.weak.async.b32", "st"), ("red.async.release.gpu.add.u32", "red.async"), ("red.add.u32", "red"), ("st", "st"),
    ("atom.async.add.u32", "atom"), ("nonesuch.async", "nonesuch"),
])
def test_the_second_word_may_belong_to_the_mnemonic(opcode: str, mnemonic: str) -> None:
    assert registry.words_of(opcode)[0] == mnemonic
    assert ".".join(registry.words_of(opcode)) == opcode
    table = parse(opcode).table
    assert (table.mnemonic if table else "nonesuch") == mnemonic


@pytest.mark.parametrize(("opcode", "sm", "ptx", "code"), [
    (COUNTED, "sm_90", "8.1", ""), (COUNTED, "sm_90", "8.0", "F301"), (COUNTED, "sm_89", "8.1", "F301"),
    ("st.async.mbarrier::complete_tx::bytes.b128", "sm_90", "9.1", "F301"),
    ("st.async.mbarrier::complete_tx::bytes.b128", "sm_90", "9.2", ""),
    ("st.async.mmio.release.sys.global.u8", "sm_100", "8.7", ""), ("st.bulk.weak.shared::cta", "sm_100", "8.6", ""),
    ("st.bulk", "sm_90", "8.6", "F301"), ("red.async.release.sys.add.s64", "sm_100", "8.7", ""),
    ("red.async.relaxed.cluster.mbarrier::complete_tx::bytes.add.s64", "sm_90", "9.0", "F104"),
])
def test_floors_and_words(opcode: str, sm: str, ptx: str, code: str) -> None:
    assert check(opcode, sm=sm, ptx=ptx).code == code


def test_no_kernel_with_one_is_proved() -> None:
    report = ptxspec.prove(released, sm="sm_100")
    assert report.verdict == "unknown"
    assert any("no rule for the obligation `settled`" in obligation.reason for obligation in report.obligations)


def test_lint_judges_their_opcodes_only(tmp_path: Path) -> None:
    text = (
        ".version 9.0\n.target sm_90\n.address_size 64\n.func f() { .reg .b32 %r<4>; .reg .b64 %d<4>;\n"
        f"{COUNTED} [%d0], {{%d1, %d2}}, [%d3];\nst.bulk [%d0], 8, 0;\nst.bulk.weak [%d0], 8;\n"
        "st.async.release.gpu.global.b32 [%d0], %r1;\nret; }\n"
    )
    result = lint(text)
    assert [(f.line, f.code) for f in result.findings] == [(6, "F301"), (7, "F301"), (8, "F301")]
    assert dict(result.unknown_mnemonics) == {"st.async": 1}
