"""``ptxspec show MNEMONIC``: a page of text with true examples."""

from __future__ import annotations

import pytest

from ptxspec.cli.describe import illegal, legal, page
from ptxspec.forms import check, count, registry


@pytest.mark.parametrize("name", registry.mnemonics())
def test_the_page_of_a_mnemonic(name: str) -> None:
    table = registry.table(name)
    text = "\n".join(page(table))
    for form in table.forms:
        assert f"form {form.id} " in text
        assert all(f"rule {rule.id}: {rule.why}" in text for rule in form.rules)
        assert all(f"operand {o.name}" in text for o in form.operands)
    assert all(r.id in text and r.advice in text for r in table.remarks)
    assert text.count("  since PTX ") >= len([f for f in table.forms if f.floors])
    good, bad = legal(table), illegal(table)
    assert len(good) == min(3, count(name, sm=None))
    for opcode, needs in good:
        assert needs == f"needs {check(opcode).floor}"
        assert check(opcode).code in ("", "F301", "F302")
    assert len(bad) == 3
    for opcode, why in bad:
        verdict = check(opcode, sm="sm_100a")
        assert not verdict.legal
        assert why.endswith(f"[{verdict.code}]") or verdict.code == "F302"
