"""Spec files with lines cut, doubled or mixed up, characters changed, or whole parts of another file put in."""

from __future__ import annotations

import random
from pathlib import Path

from ptxspec import source
from ptxspec.db.link import Linker
from ptxspec.db.lint import lint
from ptxspec.db.load import Entry, Specs, validate
from ptxspec.diagnostics import Diagnostic, SpecError
from ptxspec.spec.instruction import Instruction

_WORDS = ["v4", "b32", "space", "type", "vec", "global", "register", "in", "out", "aligned", "read", "9", "absent"]
FOLDER = Path(__file__).resolve().parents[2] / "specs" / "instructions"


def texts() -> list[str]:
    """The real files."""
    return [path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.yaml"))]


def mutated(originals: list[str], rng: random.Random) -> str:
    """One of them with a few changes."""
    lines = rng.choice(originals).splitlines(keepends=True)
    for _ in range(rng.choice((1, 1, 2, 4))):
        i = rng.randrange(len(lines))
        kind = rng.randrange(8)
        if kind == 0:
            del lines[i]
        elif kind == 1:
            lines.insert(i, rng.choice(lines))
        elif kind == 2:
            j = rng.randrange(len(lines[i]))
            lines[i] = lines[i][:j] + rng.choice("{}[]:,'\"x0 &*!|>%@`\t\x00\u00e9-?#") + lines[i][j + 1 :]
        elif kind == 3:
            words = lines[i].split(" ")
            rng.shuffle(words)
            lines[i] = " ".join(words)
        elif kind == 4:
            other = rng.choice(originals).splitlines(keepends=True)
            start = rng.randrange(len(other))
            lines[i:i] = other[start : start + rng.randrange(1, 9)]
        elif kind == 5:
            del lines[i : i + rng.randrange(1, 12)]
        elif kind == 7:
            names = [w for w in lines[i].replace(",", " ").replace("]", " ").split() if w.isalnum()]
            old, new = (rng.choice(names), rng.choice(names + _WORDS)) if names else ("", "")
            lines[i] = lines[i].replace(old, new, 1) if old else lines[i]
        else:
            value = rng.choice(("null", "-1", "1e999", "[[]]", "{a: {b: {}}}", "yes", "2020-01-01", "~", "9" * 400))
            lines[i] = f"{lines[i].split(':')[0]}: {value}\n"
        lines = lines or ["a: b\n"]
    return "".join(lines)


def problems(text: str, specs: Specs) -> list[Diagnostic]:
    """What the database has to say of the file; nothing means that it is a sound instruction."""
    try:
        document = source.load(text, "specs/instructions/changed.yaml")
        spec = validate(document, Instruction)
        linker = Linker(Entry(spec, document, "0"), specs)
        linked = linker.instruction()
        return list(linker.problems or lint(specs, {spec.mnemonic: linked}))
    except SpecError as error:
        return list(error.diagnostics)


__all__ = ["mutated", "problems", "texts"]
