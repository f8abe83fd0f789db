"""Every refusal of the kernel language: its code, the text under the caret, and a sentence that helps."""

from __future__ import annotations

import itertools
import linecache
from pathlib import Path

import pytest
from loading import written

from ptxspec.diagnostics import Diagnostic, KernelError, Span

HEADER = '''
from ptxspec.lang import t as T
from ptxspec.layout import ComposeLayout, R, S, TileLayout, Value, bx, laneid, warpid
import math
M = T.dim("M")
LOOKUP = [1, 2, 3]
rows = TileLayout(S[(32, 4) : (1 @ laneid, 1)])
def helper(x):
    y = x + missing
    return y
def endless(x):
    return endless(x)
def native():
    raise ValueError("no luck")
class Thing:
    pass
thing = Thing()

@T.function
def other(A: T.Tensor((4,), "float32")):
    pass
'''
_numbers = itertools.count()


def refusal(tmp_path: Path, text: str) -> Diagnostic:
    """The diagnostic of the kernel ``k`` in ``text``."""
    module = written(tmp_path / f"refused_{next(_numbers)}.py", HEADER + text)
    with pytest.raises(KernelError) as caught:
        module.k.kernel()
    diagnostic = caught.value.diagnostics[0]
    rendered = diagnostic.render()
    assert "Traceback" not in rendered
    assert "ptxspec.lang" not in rendered
    return diagnostic


def under(span: Span | None) -> str:
    """The user's text that the caret is under."""
    assert span is not None
    line = linecache.getline(span.file, span.line).rstrip("\n")
    return line[span.column - 1:span.end_column - 1] if span.end_column else line[span.column - 1:]


def kernel(body: str, parameters: str = 'A: T.Tensor((64, 4), "float32"), n: T.int32', launch: str = "grid=1, block=64",
           before: str = "") -> str:
    lines = [f"{before}\n@T.function", f"def k({parameters}):"]
    if launch:
        lines.append(f"    T.device_entry(launch=T.cuda.LaunchConfig({launch}))")
        lines.append('    tid = T.cuda.thread_idx("x")')
    return "\n".join([*lines, *("    " + line for line in body.splitlines())]) + "\n"


LANGUAGE = [
    ("K201", "x = 1\nfor i in range(4):\n    x = 2", "x"),
    ("K201", "x = 1\nif tid < 3:\n    x += 1", "x"),
    ("K201", "for tid in range(4):\n    pass", "tid"),
    ("K202", "while n > 0:\n    pass", "while n > 0:"),
    ("K202", "with n:\n    pass", "with n:"),
    ("K202", "try:\n    pass\nexcept ValueError:\n    pass", "try:"),
    ("K202", "import math", "import math"),
    ("K202", "for i in range(4):\n    break", "break"),
    ("K202", "for i in range(n):\n    continue", "continue"),
    ("K202", "class C: pass", "class C: pass"),
    ("K202", "for i in range(n):\n    pass\nelse:\n    pass", "pass"),
    ("K203", "f = lambda x: x", "lambda x: x"),
    ("K204", "A[0, 0] = undefined", "undefined"),
    ("K204", "for i in range(3):\n    y = i\nA[0, 0] = y", "y"),
    ("K204", "A[0, 0] = helper(n)", "missing"),
    ("K205", "for i in range(3):\n    if i == n:\n        return", "return"),
    ("K205", "return n", "return n"),
    ("K206", "other(A)", "other(A)"),
    ("K206", "print(n)", "print(n)"),
    ("K206", "math.sqrt(n)", "math.sqrt(n)"),
    ("K207", "helper(n, 2)", "helper(n, 2)"),
    ("K207", "T.Select(n)", "T.Select(n)"),
    ("K207", "T.float32(n, n)", "T.float32(n, n)"),
    ("K110", "T.int32(float('nan'))", "T.int32(float('nan'))"),
    ("K110", "T.float16(70000)", "T.float16(70000)"),
    ("K110", "T.float32(10 ** 400)", "T.float32(10 ** 400)"),
    ("K110", "T.float32(n) * 1e300", "T.float32(n) * 1e300"),
    ("K222", "n @ n", "n @ n"),
    ("K222", "if A == 0:\n    A[0, 0] = 1.0", "A == 0"),
    ("K222", "x = A > 0", "A > 0"),
    ("K222", "if T.cuda.thread_idx == 0:\n    A[0, 0] = 1.0", "T.cuda.thread_idx == 0"),
    ("K222", "if T.cuda.lane_id:\n    A[0, 0] = 1.0", "T.cuda.lane_id"),
    ("K222", "if A.scope == 'global':\n    A[0, 0] = 1.0", "A.scope == 'global'"),
    ("K222", "x = T.cuda.lane_id + 1", "T.cuda.lane_id + 1"),
    ("K222", "x = 1 if A.scope else 2", "A.scope"),
    ("K207", "T.cuda.LaunchConfig(blocks=2)", "T.cuda.LaunchConfig(blocks=2)"),
    ("K208", "native()", "native()"),
    ("K208", "x = LOOKUP[9]", "LOOKUP[9]"),
    ("K208", "x = 1 + 'a'", "1 + 'a'"),
    ("K208", "x = 1 // 0", "1 // 0"),
    ("K206", "thing()", "thing()"),
    ("K209", "endless(n)", "endless(x)"),
    ("K210", "for i in range(0, 4, 0):\n    pass", "range(0, 4, 0)"),
    ("K210", "for i in range(0, n, 0):\n    pass", "range(0, n, 0)"),
    ("K210", "for i in T.serial(1.5):\n    pass", "T.serial(1.5)"),
    ("K210", "for i in T.unroll(n):\n    pass", "T.unroll(n)"),
    ("K210", "for i in T.serial(0, 1, 2, 3):\n    pass", "T.serial(0, 1, 2, 3)"),
    ("K210", "for i in T.grid():\n    pass", "T.grid()"),
    ("K211", "x = LOOKUP[n]", "LOOKUP[n]"),
    ("K211", "x = n in LOOKUP", "n in LOOKUP"),
    ("K211", "x = int(n)", "int(n)"),
    ("K211", "x = [i for i in LOOKUP if n > i]", "n > i"),
    ("K214", "x = n.astype", "n.astype"),
    ("K214", "x = A.reshap", "A.reshap"),
    ("K214", "x = T.cuda.threadidx", "T.cuda.threadidx"),
    ("K214", "x = T.sqrt", "T.sqrt"),
    ("K215", "a, b = (1, 2, 3)", "a, b"),
    ("K215", "a, *b, c = (1,)", "a, *b, c"),
    ("K215", "for i, j in T.grid(2, 3, 4):\n    pass", "i, j"),
    ("K215", "for i, j in range(3):\n    pass", "i, j"),
    ("K216", "for x in A:\n    pass", "A"),
    ("K216", "for x in n:\n    pass", "n"),
    ("K216", "a, b = n", "a, b"),
    ("K216", "x = list(T.grid(2))", "list(T.grid(2))"),
    ("K216", "x = {**n}", "n"),
    ("K217", "T.device_entry(launch=T.cuda.LaunchConfig())", "T.device_entry(launch=T.cuda.LaunchConfig())"),
    ("K220", "A.x = 1", "A.x"),
    ("K220", "A[0:2, 0] = 1.0", "A[0:2, 0]"),
    ("K220", "x: T.int32", "x: T.int32"),
    ("K220", "x = [1]\nif n > 0:\n    x[0] = 2", "x[0]"),
    ("K220", "x = [1]\nif n > 0:\n    x.append(2)", "x.append(2)"),
    ("K220", "n[0] = 2", "n[0]"),
    ("K221", "assert 1 == 2, 'sums'", "assert 1 == 2, 'sums'"),
    ("K221", "assert n > 2", "assert n > 2"),
    ("K221", "raise ValueError('x')", "raise ValueError('x')"),
    ("K221", "T.assume(1 > 2)", "T.assume(1 > 2)"),
    ("K222", "x = n ** 2", "n ** 2"),
    ("K222", "x = A + 1", "A + 1"),
    ("K222", "x = -A", "-A"),
    ("K222", "x = n[0]", "n[0]"),
    ("K222", "x = T.int32('a')", "T.int32('a')"),
    ("K222", "x = T.float8_e4m3(1)", "T.float8_e4m3(1)"),
    ("K222", "T.assume(n)", "T.assume(n)"),
    ("K222", "x = n < 'a'", "n < 'a'"),
    ("K223", "A[0, 0] = T.float32(M)", "A[0, 0]"),
    ("K110", "x = n + 3000000000", "n + 3000000000"),
    ("K111", "x = n + 1.5", "n + 1.5"),
    ("K112", "x = n / 2", "n / 2"),
    ("K113", "x = n // 0", "n // 0"),
    ("K114", "x = A[0, 0] // 2.0", "A[0, 0] // 2.0"),
]

TENSORS = [
    ("K140", "x = A[0, 0, 0]", "A[0, 0, 0]"),
    ("K140", "x = A.sub[..., 0, ...]", "A.sub[..., 0, ...]"),
    ("K141", "x = A[0, 1.0]", "A[0, 1.0]"),
    ("K141", "x = A[tid < 3, 0]", "A[tid < 3, 0]"),
    ("K141", 'x = T.cuda.thread_idx("w")', 'T.cuda.thread_idx("w")'),
    ("K142", "x = A.sub[::n, 0]", "A.sub[::n, 0]"),
    ("K142", "x = A.sub[::-1, 0]", "A.sub[::-1, 0]"),
    ("K143", "x = A.sub[0:tid, 0]", "A.sub[0:tid, 0]"),
    ("K143", "x = A.sub[:-1, 0]", "A.sub[:-1, 0]"),
    ("K144", "x = A.view(4, 4)", "A.view(4, 4)"),
    ("K145", "x = A.view(-1, -1)", "A.view(-1, -1)"),
    ("K145", "x = A.view(7, -1)", "A.view(7, -1)"),
    ("K146", 'x = A.sub[:, :3].view("float64")', 'A.sub[:, :3].view("float64")'),
    ("K146", 'x = A.permute(1, 0).view("float64")', 'A.permute(1, 0).view("float64")'),
    ("K147", "x = A.permute(0, 0)", "A.permute(0, 0)"),
    ("K147", "x = A.permute(0)", "A.permute(0)"),
    ("K148", 'x = A.rearrange("a b")', 'A.rearrange("a b")'),
    ("K148", 'x = A.rearrange("a b -> a")', 'A.rearrange("a b -> a")'),
    ("K148", 'x = A.rearrange("a a -> a a")', 'A.rearrange("a a -> a a")'),
    ("K148", 'x = A.rearrange("a b c -> c b a")', 'A.rearrange("a b c -> c b a")'),
    ("K148", 'x = A.rearrange("a (b c) -> a b c")', 'A.rearrange("a (b c) -> a b c")'),
    ("K148", 'x = A.rearrange("a (b c) -> a b c", b=3)', 'A.rearrange("a (b c) -> a b c", b=3)'),
    ("K148", 'x = A.rearrange("a (b -> a b", b=3)', 'A.rearrange("a (b -> a b", b=3)'),
    ("K148", 'x = A.rearrange("a b -> a b", c=3)', 'A.rearrange("a b -> a b", c=3)'),
    ("K149", "x = A.view()", "A.view()"),
    ("K149", 'x = A.view("float16", layout=rows)', 'A.view("float16", layout=rows)'),
    ("K149", "x = T.alloc_local((32, 4), layout=rows).sub[tid]\ny = x.view(4, layout=TileLayout(S[4 : 1]))",
     "x.view(4, layout=TileLayout(S[4 : 1]))"),
    ("K149", "x = A.view(32, 4, layout=3)", "A.view(32, 4, layout=3)"),
    ("K149", "x = T.alloc_tensor(ty_args=[3])", "T.alloc_tensor(ty_args=[3])"),
    ("K150", 'x = A.view("flaot64")', 'A.view("flaot64")'),
    ("K150", 'x = T.alloc_local((4,), 32)', "T.alloc_local((4,), 32)"),
    ("K151", "x = T.alloc_local((-4,))", "T.alloc_local((-4,))"),
    ("K151", "x = T.alloc_local((n,))", "T.alloc_local((n,))"),
    ("K151", "x = T.alloc_shared((M,))", "T.alloc_shared((M,))"),
    ("K151", "x = A.view(tid, 4)", "A.view(tid, 4)"),
    ("K152", "x = T.alloc_local((8,), layout=rows)", "T.alloc_local((8,), layout=rows)"),
    ("K152", "x = T.alloc_local((8,), layout=4)", "T.alloc_local((8,), layout=4)"),
    ("K152", "x = A.view(8, 8, layout=rows)", "A.view(8, 8, layout=rows)"),
    ("K153", "x = T.alloc_shared((8,), align=12)", "T.alloc_shared((8,), align=12)"),
    ("K154", 'x = T.alloc_tensor(ty_args=[T.Tensor((4,), scope="globl")])',
     'T.alloc_tensor(ty_args=[T.Tensor((4,), scope="globl")])'),
    ("K154", 'x = T.alloc_tensor(ty_args=[T.Tensor((4,))])', "T.alloc_tensor(ty_args=[T.Tensor((4,))])"),
    ("K155", "x = T.alloc_shared((32, 4), layout=rows)", "T.alloc_shared((32, 4), layout=rows)"),
    ("K156", "A[0, 0] = n", "A[0, 0]"),
    ("K156", "A[0, 0] = True", "A[0, 0]"),
    ("K156", 'x = T.alloc_local((4,), "int8")\nx[0] = n', "x[0]"),
    ("K156", 'x = T.alloc_local((4,), "float8_e4m3")\nx[0] = 1', "x[0]"),
    ("K157", "x = T.alloc_local((4,), layout=TileLayout(S[4:1] + R[2:2]))\nx[0] = 1.0", "x[0]"),
    ("K157", "x = T.alloc_local((4,), layout=TileLayout(S[4:1] + R[65:4]))\nx[0] = 1.0", "x[0]"),
]

LD4 = 'T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], '
REGS = "r = T.alloc_local((4,))\n"
APPLY = [
    ("K170", REGS + 'T.cuda.tile.apply(T.ptx["ld.globl.v4.b32"], r, A.sub[0])', None),
    ("K170", REGS + 'T.cuda.tile.apply(T.ptx["lod.global.b32"], r, A.sub[0])', None),
    ("K170", REGS + 'T.cuda.tile.apply(T.ptx["ld.global.v8.b64"], r, A.sub[0])', None),
    ("K170", "T.cuda.tile.apply(3)", "T.cuda.tile.apply(3)"),
    ("K170", "T.ptx[3]", "T.ptx[3]"),
    ("K171", REGS + LD4 + "r)", None),
    ("K172", REGS + LD4 + "A.sub[0], r)", "A.sub[0]"),
    ("K172", REGS + LD4 + "r, 3)", "3"),
    ("K172", REGS + LD4 + "r, A.ptr_to([0, 0]))", "A.ptr_to([0, 0])"),
    ("K173", 'r = T.alloc_local((4,), "float64")\n' + LD4 + "r, A.sub[0])", "r"),
    ("K173", REGS + LD4 + 'r, A.sub[0].view("float16"))', 'A.sub[0].view("float16")'),
    ("K174", "r = T.alloc_local((2,))\n" + LD4 + "r, A.sub[0])", "r"),
    ("K174", REGS + LD4 + "r, A[0, 0])", "A[0, 0]"),
    ("K175", REGS + LD4 + 'r, A.sub[0], scope="warp")', "r"),
    ("K175", "r = T.alloc_local((32, 4), layout=rows)\n" + LD4 + 'r, A.view(64, 4), scope="warp")', "A.view(64, 4)"),
    ("K176", "r = T.alloc_local((2, 4))\n" + LD4 + "r, A)", "A"),
    ("K177", REGS + LD4 + "r, A.sub[0], volatile=True)", None),
    ("K178", REGS + LD4 + "r, A.sub[0], preserve_dst=True)", None),
    ("K178", REGS + LD4 + "r, A.sub[0], pred=tid < 3, preserve_dst=tid < 3)", None),
    ("K178", REGS + 'T.cuda.tile.apply(T.ptx["st.global.v4.b32"], A.sub[0], r, pred=tid < 3, preserve_dst=True)', None),
    ("K179", REGS + LD4 + "r, A.sub[0], cache_policy=3)", None),
    ("K179", REGS + 'T.cuda.tile.apply(T.ptx["ld.global.L2::cache_hint.v4.b32"], r, A.sub[0])', None),
    ("K179", REGS + 'T.cuda.tile.apply(T.ptx["ld.global.L2::cache_hint.v4.b32"], r, A.sub[0], cache_policy=n)', None),
    ("K180", REGS + LD4 + 'r, A.sub[0], scope="warps")', None),
    ("K180", REGS + LD4 + 'r, A.sub[0], scope="cluster")', None),
    ("K180", "T.cuda.cluster_sync()", "T.cuda.cluster_sync()"),
    ("K181", 'r = T.alloc_local((1,))\nT.cuda.tile.apply(T.ptx["mov.b32"], r, T.float64(0))', "T.float64(0)"),
    ("K181", 'r = T.alloc_local((1,))\nT.cuda.tile.apply(T.ptx["mov.b32"], r, "a")', '"a"'),
    ("K110", 'r = T.alloc_local((1,))\nT.cuda.tile.apply(T.ptx["mov.b32"], r, 1 << 40)', "1 << 40"),
    ("K182", REGS + LD4 + "r, A.sub[0], pred=n)", None),
    ("K184", "r = T.alloc_local((32, 4), layout=rows)\nif tid < 3:\n    " + LD4 + 'r, A.sub[0:32], scope="warp")',
     None),
    ("K184", "r = T.alloc_local((32, 4), layout=rows)\nfor i in range(tid):\n    " + LD4
     + 'r, A.sub[0:32], scope="warp")', None),
    ("K157", "r = T.alloc_local((4,), layout=TileLayout(S[4:1] + R[2:3]))\n" + LD4 + "r, A.sub[0])", "r"),
    ("K157", "r = T.alloc_local((4,), \"uint8\", layout=TileLayout(S[4:1] + R[2:4]))\n"
     "T.cuda.tile.apply(T.ptx[\"ld.global.v4.b8\"], r, A.view(\"uint8\").sub[0, 0:4])", "r"),
    ("K157", "s = T.alloc_shared((4,), \"int32\", layout=TileLayout(S[4:1] + R[2:4]))\n"
     "T.cuda.tile.apply(T.ptx[\"atom.shared.add.s32\"], T.alloc_local((1,), \"int32\"), s.sub[0:1], 1)", "s.sub[0:1]"),
]


@pytest.mark.parametrize(("code", "body", "text"), LANGUAGE + TENSORS + APPLY)
def test_refused_in_the_body(code: str, body: str, text: str | None, tmp_path: Path) -> None:
    found = refusal(tmp_path, kernel(body))
    assert found.code == code, found.render()
    if text is None:
        text = body.splitlines()[-1].strip()
    assert under(found.span) == text, found.render()


DECLARATIONS = [
    ("K212", kernel("pass", "n"), "n"),
    ("K212", kernel("pass", "n: int"), "int"),
    ("K212", kernel("pass", "n: T.bits32"), "T.bits32"),
    ("K212", kernel("pass", "n: 'T.nothing'"), "'T.nothing'"),
    ("K212", kernel("pass", "n: T.Tensor"), "T.Tensor"),
    ("K213", kernel("pass", "*args"), "args"),
    ("K213", kernel("pass", "n: T.int32 = 3"), "3"),
    ("K150", kernel("pass", 'A: T.Tensor((4,), "float31")'), 'A: T.Tensor((4,), "float31")'),
    ("K151", kernel("pass", 'A: T.Tensor((-4,), "float32")'), 'A: T.Tensor((-4,), "float32")'),
    ("K153", kernel("pass", "A: T.Tensor((4,), align=3)"), "A: T.Tensor((4,), align=3)"),
    ("K154", kernel("pass", 'A: T.Tensor((4,), scope="shared")'), 'A: T.Tensor((4,), scope="shared")'),
    ("K155", kernel("pass", "A: T.Tensor((32, 4), layout=rows)"), "A: T.Tensor((32, 4), layout=rows)"),
    ("K155", kernel("pass", "A: T.Tensor((4,), layout=TileLayout(S[4] + 3))"),
     "A: T.Tensor((4,), layout=TileLayout(S[4] + 3))"),
    ("K155", kernel("pass", "A: T.Tensor((6,), layout=ComposeLayout(1, 1, 1, TileLayout(S[6])))"),
     "A: T.Tensor((6,), layout=ComposeLayout(1, 1, 1, TileLayout(S[6])))"),
    ("K217", kernel("A[0, 0] = 1.0", launch=""), "A[0, 0]"),
    ("K217", kernel("tid = T.cuda.thread_idx()", launch=""), "T.cuda.thread_idx()"),
    ("K217", kernel("if n > 0:\n    T.device_entry(launch=T.cuda.LaunchConfig())", launch=""),
     "T.device_entry(launch=T.cuda.LaunchConfig())"),
    ("K217", kernel("pass", launch=""), None),
    ("K223", kernel("pass", "A: T.Tensor((M * M,))"), None),
    ("K223", kernel("pass", "A: T.Tensor((4,))", launch="grid=M"), "T.cuda.LaunchConfig(grid=M)"),
] + [("K218", kernel("pass", launch=sizes), f"T.cuda.LaunchConfig({sizes})") for sizes in (
    "grid=1, block=2048", "block=(32, 64)", "block=(1, 1, 128)", "block=n", "grid=(1, 2, 3, 4)", "grid=-1",
    "grid=(1, 70000)", "grid=3, cluster=2", "grid=1.5", "dynamic_smem_bytes=-1", "grid=8, cluster=(4, 4, 4)", "block=0",
    "grid=T.float32(1)", "cooperative='yes'", "grid=2, cluster='2'", "grid=True", "dynamic_smem_bytes=True",
)] + [("K218", kernel("pass", launch="") + "    T.device_entry(launch=3)\n", "T.device_entry(launch=3)")]


@pytest.mark.parametrize(("code", "text", "at"), DECLARATIONS)
def test_refused_declaration(code: str, text: str, at: str | None, tmp_path: Path) -> None:
    found = refusal(tmp_path, text)
    assert found.code == code, found.render()
    assert found.span is not None
    if at is not None:
        assert under(found.span) == at, found.render()


def test_helpers_say_where_they_were_called(tmp_path: Path) -> None:
    found = refusal(tmp_path, kernel("A[0, 0] = helper(n)"))
    call = next(n for n in found.notes if "called from here" in n.text)
    assert under(call.span) == "helper(n)"


def test_remedies_name_the_way_out(tmp_path: Path) -> None:
    found = refusal(tmp_path, kernel("total = 0.0\nfor i in range(4):\n    total = total + A[i, 0]"))
    text = found.render()
    assert "total = T.alloc_local((1,), dtype)" in text
    assert "`total` was bound here" in text
    assert "did you mean `view`?" in refusal(tmp_path, kernel("A.vew(4)")).render()
    assert "did you mean `float64`?" in refusal(tmp_path, kernel('A.view("flaot64")')).render()


@pytest.mark.parametrize(("body", "words"), [
    ("x = T.cuda.thread_idx + 1", "call it: thread_idx()"),
    ("A[T.cuda.thread_idx, 0] = 1.0", "call it: thread_idx()"),
    ("x = A.sub(3)", "write square brackets"),
    ('x = T.ptx("ld.global.b32")', "write square brackets"),
    ("x = A(3, 4)", "write square brackets"),
])
def test_common_slips_have_their_remedy(body: str, words: str, tmp_path: Path) -> None:
    assert words in refusal(tmp_path, kernel(body)).render()


def test_helpers_do_not_change_python_objects_in_device_loops(tmp_path: Path) -> None:
    before = "def push(items, x):\n    items.append(x)\n"
    found = refusal(tmp_path, kernel("seen = []\nfor i in range(4):\n    push(seen, i)", before=before))
    assert found.code == "K220"
    assert under(found.span) == "items.append(x)"


def test_a_rebound_name_is_told_what_to_do_in_branches(tmp_path: Path) -> None:
    found = refusal(tmp_path, kernel("x = n\nif n > 3:\n    x = 3")).render()
    assert "outside this branch" in found
    assert "`x = new if condition else x`" in found
