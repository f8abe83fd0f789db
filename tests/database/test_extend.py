"""A new instruction by YAML alone: generated elsewhere, then queried, used, selected, enumerated and proved."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from ptxspec.backend.generate import generate, render

from ptxspec.db.link import link
from ptxspec.db.load import packaged, read
from ptxspec.db.proofs import prove
from ptxspec.diagnostics import SpecError

PREFETCH = """
format: instruction/1
mnemonic: prefetch
summary: "Bring the line of an address into a cache."
doc: {isa: "9.0", section: data-movement-and-conversion-instructions-prefetch-prefetchu}
sets: {kept: ["L2::evict_last", "L2::evict_normal"]}
forms:
  - id: prefetch
    slots:
      - {name: space, values: [global, local], absent: generic}
      - {name: level, values: [L1, L2, "L2::evict_last", "L2::evict_normal"]}
    operands: [{name: a, role: in, kind: address, space: {slot: space}}]
    semantics: [{do: hint}]
    obligations: [{id: in-bounds, prove: in-bounds, at: a, bytes: 1, access: read}]
rules:
  - {id: kept-global, when: {in: {level: kept}}, require: {is: {space: global}},
     why: "an eviction priority needs global memory"}
floors:
  - {ptx: "2.0", sm: 20}
  - {when: {in: {level: kept}}, ptx: "7.4", sm: 80}
examples:
  accept: [prefetch.global.L2, prefetch.L1]
  reject: [{text: prefetch.L2::evict_last, rule: kept-global}]
"""

USE = """
from ptxspec.backend.select import Target, select
from ptxspec.forms import check, count, use
from ptxspec.ptx.operand import Address, Register
assert check("prefetch.global.L2::evict_last").legal
assert [r.id for r in check("prefetch.local.L2::evict_last").rules] == ["kept-global"]
assert check("prefetch.global.L2::evict_last", sm="sm_75").code == "F301"
assert check("prefetch.L2::evict_normal").nearest[0] == "prefetch.global.L2::evict_normal"
assert count("prefetch") == 8
assert use("prefetch.global.L1").obligations[0].prove == "in-bounds"
slots = {"space": "global", "level": "L2"}
line = select(Target("sm_90", (9, 0)), "prefetch", slots, [Address(Register("%rd1", "b64"), 8)])
assert line.text == "prefetch.global.L2 [%rd1+8];", line
assert check("ld.global.v4.f32").legal
print("done")
"""


@pytest.fixture
def specs(tmp_path: Path) -> Path:
    folder = tmp_path / "specs"
    shutil.copytree(Path(str(packaged())), folder)
    (folder / "instructions" / "prefetch.yaml").write_text(PREFETCH, encoding="utf-8")
    return folder


def test_an_instruction_is_added_by_yaml_alone(specs: Path, tmp_path: Path) -> None:
    out = tmp_path / "generated"
    written = generate(specs=specs, out=out)
    assert str(out / "tables" / "prefetch.py") in written
    assert generate(check=True, specs=specs, out=out) == []
    done = subprocess.run(
        [sys.executable, "-c", USE],
        env={**os.environ, "PTXSPEC_TABLES": str(out)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "done\n", done.stderr


def test_the_new_instruction_is_proved(specs: Path) -> None:
    loaded = read(specs)
    tables, selectors, _ = render(specs)
    claims = prove(link(loaded)["prefetch"], loaded, tables["prefetch.py"], selectors["prefetch.py"])
    assert len(claims) > 5
    assert all(c.holds for c in claims)


def test_a_file_under_a_wrong_name_is_refused(specs: Path) -> None:
    (specs / "instructions" / "prefetch.yaml").rename(specs / "instructions" / "prefetched.yaml")
    with pytest.raises(SpecError) as caught:
        read(specs)
    assert caught.value.code == "S011"


def test_problems_of_several_files_come_together(specs: Path) -> None:
    (specs / "instructions" / "bra.yaml").write_text("format: yes\n", encoding="utf-8")
    (specs / "vocabulary" / "types.yaml").unlink()
    (specs / "instructions" / "ret.yaml").write_bytes(b"\xff\xfe")
    with pytest.raises(SpecError) as caught:
        read(specs)
    assert {d.code for d in caught.value.diagnostics} == {"S006", "S010", "S001"}
