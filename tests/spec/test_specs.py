"""The spec files: they load, their schemas describe them, their examples hold, and mutations are refused."""

from __future__ import annotations

import random
from importlib.resources.abc import Traversable
from pathlib import Path

import pytest
from ptxspec.backend.generate import SCHEMAS, schema
from tests_support import example_opcode, example_operands

from ptxspec import source
from ptxspec.db.link import Linker
from ptxspec.db.load import Entry, packaged, read, validate
from ptxspec.diagnostics import SpecError
from ptxspec.forms import check, registry, use
from ptxspec.forms.operands import check_operands
from ptxspec.ptx.operand import Register, Sink, Vector
from ptxspec.spec.instruction import Instruction

SPECS = read()
EXAMPLES = [(m, t) for m, e in SPECS.instructions.items() for t in e.spec.examples.accept]
REJECTED = [(m, r.text, r.rule) for m, e in SPECS.instructions.items() for r in e.spec.examples.reject]


def _folder() -> Path:
    root: Traversable = packaged()
    return Path(str(root))


def test_every_mnemonic_has_a_file_and_a_table() -> None:
    assert set(SPECS.instructions) == set(registry.mnemonics())
    assert registry.digest() == SPECS.digest, "run `ptxspec generate`"


@pytest.mark.parametrize(("mnemonic", "text"), EXAMPLES)
def test_accepted_examples(mnemonic: str, text: str) -> None:
    """Legal on the newest machine that any target offers."""
    opcode = example_opcode(text)
    verdicts = [check(opcode, sm=sm) for sm in ("sm_90", "sm_100", "sm_120a")]
    assert any(v.legal for v in verdicts), verdicts[0].diagnostic
    operands = example_operands(text)
    if operands is not None:
        sm = next(v for v in verdicts if v.legal)
        assert not check_operands(use(opcode, sm=sm._here.name, operand_kinds=operands), operands)


@pytest.mark.parametrize(("mnemonic", "text", "rule"), REJECTED)
def test_rejected_examples(mnemonic: str, text: str, rule: str) -> None:
    opcode = example_opcode(text)
    verdict = check(opcode, sm="sm_100")
    if rule == "operands":
        operands = example_operands(text)
        assert operands is not None and verdict.legal
        fitting = [u for u in _uses(opcode) if not check_operands(u, operands)]
        assert not fitting
        return
    assert not verdict.legal
    codes = {"order": ("F105",), "slots": ("F101", "F102", "F103", "F104"), "documented": ("F106",)}
    if rule in codes:
        assert verdict.code in codes[rule]
    else:
        assert rule in [r.id for r in verdict.rules]


def _uses(opcode: str) -> tuple[object, ...]:
    from ptxspec.forms.use import uses

    return uses(opcode)


@pytest.mark.parametrize("name", sorted(SCHEMAS))
def test_schema_is_current(name: str) -> None:
    assert (_folder() / "schema" / f"{name}.schema.json").read_text(encoding="utf-8") == schema(name), (
        "run `ptxspec generate`"
    )


@pytest.mark.parametrize(
    ("change", "code", "needle"),
    [
        (("    semantics:", "    sematics:"), "S007", "sematics"),
        (("mnemonic: ldu", ""), "S008", "mnemonic"),
        (("{is: {type: b128}}", "{is: {type: b129}}"), "S027", "b129"),
        (("{is: {type: b128}}", "{is: {typ: b128}}"), "S028", "typ"),
        (("{in: {type: t64}}", "{in: {type: t65}}"), "S025", "t65"),
        (("absent: generic", "absent: anything"), "S022", "anything"),
        (("to: width", "to: widths"), "S040", "widths"),
        (("at: a, to", "at: q, to"), "S040", "q"),
        (("{attr: vec.lanes}, into: lane", "{attr: vek.lanes}, into: lane"), "S040", "vek"),
        (("value: raw, count", "value: raws, count"), "S046", "raws"),
        (("      - {do: extend, value: lane, from: {slot: type}, into: d}\n", ""), "S046", "`d`"),
        (("      - {id: aligned,   prove: aligned,   at: a, to: width}\n", ""), "S047", "aligned"),
        (("access: read}", "access: write}"), "S047", "in-bounds"),
        (('ptx: "8.3", sm: 70', 'ptx: "1.0", sm: 70'), "S045", "below"),
        (('ptx: "8.3", sm: 70', 'ptx: "8.3", sm: 999'), "S045", "above"),
        (('ptx: "8.3"', "ptx: 8.3"), "S006", "8.3"),
        (("accept: [ldu.global.f32, ldu.u64, ldu.global.v4.b32]", "accept: []"), "S048", "example"),
        (("rule: at-most-128}", "rule: nonesuch}"), "S048", "nonesuch"),
        (("require: {not: {in: {type: t64}}}", "require: {lacks: [type]}"), "S041", "v4"),
        (("when: {is: {vec: v4}}", "when: {is: {vec: v4}, lacks: [vec]}"), "S044", "never applies"),
        (("values: [v2, v4], absent", "values: [v2, v4, f32], absent"), "S021", "share"),
    ],
)
def test_broken_specs_are_refused_with_their_place(change: tuple[str, str], code: str, needle: str) -> None:
    problems = _problems((_folder() / "instructions" / "ldu.yaml").read_text(encoding="utf-8").replace(*change))
    assert any(d.code == code and needle in d.render(source=False) for d in problems), [d.render() for d in problems]
    assert all(d.span is not None and d.span.line > 0 for d in problems)


def _problems(text: str) -> list[object]:
    """Everything that loading, linking and linting say about one changed file."""
    from ptxspec.db.lint import lint

    try:
        document = source.load(text, "specs/instructions/ldu.yaml")
        spec = validate(document, Instruction)
        linker = Linker(Entry(spec, document, "0"), SPECS)
        linked = linker.instruction()
        return linker.problems or lint(SPECS, {"ldu": linked})
    except SpecError as error:
        return list(error.diagnostics)


def test_two_forms_with_one_meaning_are_refused() -> None:
    text = (_folder() / "instructions" / "bra.yaml").read_text(encoding="utf-8")
    form = text[text.index("  - id: bra") : text.index("floors:")]
    document = source.load(
        text.replace("floors:", form.replace("id: bra", "id: bra.again") + "floors:"), "specs/instructions/bra.yaml"
    )
    from ptxspec.db.lint import lint

    linked = Linker(Entry(validate(document, Instruction), document, "0"), SPECS).instruction()
    assert [d.code for d in lint(SPECS, {"bra": linked})] == ["S043"]


def test_mutated_specs_give_a_verdict_or_a_diagnostic() -> None:
    """Random cuts, swaps and copies of lines and characters of real specs: never anything but SpecError."""
    rng = random.Random(11)
    texts = [p.read_text(encoding="utf-8") for p in sorted((_folder() / "instructions").glob("*.yaml"))]
    refused = 0
    for _ in range(250):
        lines = rng.choice(texts).splitlines(keepends=True)
        for _ in range(rng.randrange(1, 4)):
            i = rng.randrange(len(lines))
            kind = rng.randrange(5)
            if kind == 0:
                del lines[i]
            elif kind == 1:
                lines.insert(i, rng.choice(lines))
            elif kind == 2 and len(lines[i]) > 2:
                j = rng.randrange(len(lines[i]) - 1)
                lines[i] = lines[i][:j] + rng.choice("{}[]:,'\"x0 &*") + lines[i][j + 1 :]
            elif kind == 3:
                words = lines[i].split(" ")
                rng.shuffle(words)
                lines[i] = " ".join(words)
            else:
                lines[i] = lines[i].replace(rng.choice("abcdeist"), rng.choice("abcdeist"), 1)
            if not lines:
                lines = ["a: b\n"]
        refused += bool(_problems("".join(lines)))
    assert refused > 100


def test_support_reads_operands() -> None:
    assert example_operands("mov.b64 {%b32, _}, %b64") == (
        Vector((Register("%b32", "b32"), Sink())),
        Register("%b64", "b64"),
    )
