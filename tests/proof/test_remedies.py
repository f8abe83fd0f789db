"""Every remedy that a report offers is taken, in the kernel's own text: what was refuted is proved then."""

from __future__ import annotations

import re
from itertools import count
from pathlib import Path

import pytest
from loading import written

from ptxspec.proof import ProofReport, prove

_numbers = count()
HEAD = "from ptxspec import T\n\nM, N = T.dim(\"M\"), T.dim(\"N\")\n\n\n@T.function\ndef kernel("
ENTRY = "    T.device_entry(launch=T.cuda.LaunchConfig(grid=4, block=64))\n"

#: Parameters, then statements, the last of which fails.
KERNELS = [
    ('A: T.Tensor((64, 4), "float32"), n: T.int32', ["A[n, T.cuda.lane_id() // 32] = 1.0"]),
    ('A: T.Tensor((64, 4), "float32"), n: T.uint16', ["if T.cuda.block_idx() == 0 and T.cuda.thread_idx() == 0:",
                                                       "    A[T.int32(n), 0] = 1.0"]),
    ('A: T.Tensor((M,), "float32")', ["i = T.cuda.block_idx() * 64 + T.cuda.thread_idx()", "A[i] = 1.0"]),
    ('A: T.Tensor((M,), "float32"), n: T.int32', ["i = T.cuda.block_idx() * 64 + T.cuda.thread_idx() - n",
                                                  "A[i] = 1.0"]),
    ('A: T.Tensor((256, 5), "float32", align=16), B: T.Tensor((256, 4), "float32")',
     ["i = T.cuda.block_idx() * 64 + T.cuda.thread_idx()", "r = T.alloc_local((4,))",
      'T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], r, A.sub[i, 0:4])']),
    ('A: T.Tensor((256, 4), "float32", align=4)',
     ["i = T.cuda.block_idx() * 64 + T.cuda.thread_idx()", "r = T.alloc_local((4,))",
      'T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], r, A.sub[i, :])']),
    ('A: T.Tensor((256, N), "float32")',
     ["T.assume(N >= 4)", "i = T.cuda.block_idx() * 64 + T.cuda.thread_idx()", "r = T.alloc_local((4,))",
      'T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], r, A.sub[i, 0:4])']),
    ('A: T.Tensor((300,), "float32")', ["i = T.cuda.block_idx() * 64 + T.cuda.thread_idx()", "A[i * 2] = 1.0"]),
    ('A: T.Tensor((300,), "float32"), n: T.int32',
     ["i = T.cuda.block_idx() * 64 + T.cuda.thread_idx()", "r = T.alloc_local((1,))",
      'T.cuda.tile.apply(T.ptx["ld.global.b32"], r, A.sub[i + n : i + n + 1])']),
    ('A: T.Tensor((M, 8), "float32")', ["A[T.cuda.block_idx() * 64 + T.cuda.thread_idx(), 7] = 1.0"]),
]


def report(parameters: str, lines: list[str], tmp_path: Path) -> ProofReport:
    text = f"{HEAD}{parameters}):\n{ENTRY}" + "".join(f"    {line}\n" for line in lines)
    module = written(tmp_path / f"remedy_{next(_numbers)}.py", text)
    return prove(module.kernel, use_cache=False)


def taken(help_: str, parameters: str, lines: list[str]) -> list[tuple[str, list[str]]]:
    """The kernels with the change that ``help_`` speaks of; none where it is of another kind."""
    *before, last = lines
    if found := re.match(r"`(T\.assume\(.*?\)(?:; T\.assume\(.*?\))*)` is enough", help_):
        return [(parameters, [*before[:0], *found[1].split("; "), *before, last])]
    if found := re.match(r"guard it with `if (.*?):`", help_):
        pad = " " * (len(last) - len(last.lstrip()))
        # Ids go by names of their own in messages.
        condition = found[1].replace("threadIdx.x", "T.cuda.thread_idx()").replace("blockIdx.x", "T.cuda.block_idx()")
        result = [(parameters, [*before, f"{pad}if {condition}:", f"    {last}"])]
        if found := re.search(r"or give `pred=(.*?)`", help_):
            condition = found[1].replace("threadIdx.x", "T.cuda.thread_idx()") \
                .replace("blockIdx.x", "T.cuda.block_idx()")
            result.append((parameters, [*before, f"{last[:-1]}, pred={condition})"]))
        return result
    if found := re.match(r"declare `align=(\d+)` for A", help_):
        return [(re.sub(r"align=\d+", f"align={found[1]}", parameters), lines)]
    if found := re.match(r"pad stride (\d+) to (\d+) elements", help_):
        return [(parameters.replace(f", {found[1]})", f", {found[2]})"), lines)]
    return []


def test_a_negative_index_is_told_what_it_is_not(tmp_path: Path) -> None:
    for index, instead in (("[-1, 0]", "index 7"), ("[0, -2]", "index M - 2")):
        found = report('A: T.Tensor((8, M), "int32")', [f"A{index} = 1"], tmp_path)
        text = found.text() + "".join(d.render() for d in found.diagnostics)
        assert f"do not count from the end; from there it would be {instead}" in text


@pytest.mark.parametrize("case", range(len(KERNELS)))
def test_what_is_offered_helps(case: int, tmp_path: Path) -> None:
    parameters, lines = KERNELS[case]
    before = report(parameters, lines, tmp_path)
    failed = [o for o in before.obligations if o.verdict == "refuted" and o.code in ("aligned", "in-bounds")]
    assert failed
    tried = 0
    for obligation in failed:
        assert obligation.diagnostic is not None
        for note in obligation.diagnostic.notes:
            if note.kind != "help":
                continue
            for changed in taken(note.text, parameters, lines):
                after = report(*changed, tmp_path)
                bad = [o for o in after.obligations if o.code == obligation.code and o.verdict == "refuted"]
                assert not bad, (note.text, after.text())
                tried += 1
    assert tried
