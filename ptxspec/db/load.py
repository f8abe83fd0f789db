"""Reading ``specs/``: strict YAML, then the models; every refusal points at file, line and column."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from ptxspec import source
from ptxspec.diagnostics import Diagnostic, Note, Span, SpecError
from ptxspec.spec.findings import Findings
from ptxspec.spec.instruction import Instruction
from ptxspec.spec.vocabulary import SpecialRegisters, Targets, Toolkits, Types, Words

PARTS = ("types", "words", "targets", "toolkits", "specials")
Model = TypeVar("Model", bound=BaseModel)
_EXPRESSION_BRANCHES = {"Arithmetic", "TypeOf", "WordOf", "Written", "Condition", "int", "str"}


@dataclass(frozen=True)
class Vocabulary:
    """All vocabulary files."""

    types: Types
    words: Words
    targets: Targets
    toolkits: Toolkits
    specials: SpecialRegisters


@dataclass(frozen=True)
class Entry:
    """One instruction file: the model, its text with positions, and the digest of the bytes."""

    spec: Instruction
    document: source.Document
    digest: str


@dataclass(frozen=True)
class Specs:
    """The whole of ``specs/``. ``documents``: the vocabulary's files by the names in ``PARTS``; ``digest`` covers every
    file that generated code depends on."""

    vocabulary: Vocabulary
    documents: Mapping[str, source.Document]
    instructions: Mapping[str, Entry]
    findings: Findings
    findings_document: source.Document
    shared_digest: str
    digest: str


def packaged() -> Traversable:
    """The specs that are installed with ptxspec, or those of the checkout when it is not installed."""
    try:
        return resources.files("ptxspec.specs")
    except ModuleNotFoundError:
        return Path(__file__).resolve().parents[2] / "specs"


def read(root: Traversable | None = None) -> Specs:
    """Read and validate every file. Raises :class:`SpecError` with all problems of all files."""
    root = packaged() if root is None else root
    problems: list[Diagnostic] = []
    texts: dict[str, str] = {}

    def load(path: str, node: Traversable, model: type[Model]) -> tuple[Model, source.Document] | None:
        try:
            texts[path] = node.read_text(encoding="utf-8")
            document = source.load(texts[path], f"specs/{path}")
            return validate(document, model), document
        except SpecError as error:
            problems.extend(error.diagnostics)
        except UnicodeDecodeError:
            problems.append(Diagnostic("S001", "the file is not UTF-8 text", Span(f"specs/{path}", 1)))
        except FileNotFoundError:
            problems.append(Diagnostic("S010", "the file is missing", Span(f"specs/{path}", 1)))
        return None

    vocabulary = root / "vocabulary"
    parts = (
        load("vocabulary/types.yaml", vocabulary / "types.yaml", Types),
        load("vocabulary/words.yaml", vocabulary / "words.yaml", Words),
        load("vocabulary/targets.yaml", vocabulary / "targets.yaml", Targets),
        load("vocabulary/toolkits.yaml", vocabulary / "toolkits.yaml", Toolkits),
        load("vocabulary/special-registers.yaml", vocabulary / "special-registers.yaml", SpecialRegisters),
    )
    shared = _digest(*(texts[name] for name in sorted(texts)))
    findings = load("findings.yaml", root / "findings.yaml", Findings)
    entries: dict[str, Entry] = {}
    folder = root / "instructions"
    files = (
        sorted((f for f in folder.iterdir() if f.name.endswith(".yaml")), key=lambda f: f.name)
        if folder.is_dir()
        else []
    )
    if not files:
        problems.append(Diagnostic("S010", "specs/instructions holds no .yaml file", Span("specs/instructions", 1)))
    for file in files:
        loaded = load(f"instructions/{file.name}", file, Instruction)
        if loaded is None:
            continue
        spec, document = loaded
        if file.name != f"{spec.mnemonic}.yaml":
            problems.append(
                Diagnostic(
                    "S011",
                    f"the file of `{spec.mnemonic}` must be called {spec.mnemonic}.yaml",
                    document.span(("mnemonic",)),
                )
            )
        own = [f.model_dump_json() for f in (findings[0].findings if findings else ()) if spec.mnemonic in f.mnemonics]
        entries[spec.mnemonic] = Entry(spec, document, _digest(document.text, shared, *own))
    if problems or findings is None or any(part is None for part in parts):
        raise SpecError(*problems)
    types, words, targets, toolkits, specials = parts
    assert types and words and targets and toolkits and specials
    return Specs(
        Vocabulary(types[0], words[0], targets[0], toolkits[0], specials[0]),
        {name: part[1] for name, part in zip(PARTS, (types, words, targets, toolkits, specials), strict=True)},
        entries,
        findings[0],
        findings[1],
        shared,
        _digest(*(texts[name] for name in sorted(texts))),
    )


def validate(document: source.Document, model: type[Model]) -> Model:
    """The document as ``model``; every violation becomes a diagnostic at its place in the file."""
    try:
        return model.model_validate(document.data, by_alias=True, by_name=False)
    except ValidationError as error:
        raise SpecError(*_explain(document, error)) from None


def _explain(document: source.Document, error: ValidationError) -> list[Diagnostic]:
    """One diagnostic for each place; the branches of a union are merged into one sentence."""
    out: dict[tuple[str, int, int], Diagnostic] = {}
    for item in error.errors(include_url=False, include_context=False):
        loc = item["loc"]
        if item["type"] == "extra_forbidden":
            span = document.key_span(loc)
            code, message = "S007", f"the key `{loc[-1]}` is not known here"
        elif item["type"] == "missing":
            span = document.key_span(loc[:-1])
            code, message = "S008", f"the key `{loc[-1]}` is missing"
        elif item["type"] == "union_tag_invalid":
            span, code, message = document.span(loc), "S012", _sentence(item["msg"])
        else:
            span, code, message = document.span(loc), "S012", _sentence(item["msg"])
        key = (span.file, span.line, span.column)
        if key not in out:
            out[key] = Diagnostic(code, message, span)
        elif any(part in _EXPRESSION_BRANCHES for part in loc):
            out[key] = out[key].with_notes(Note("note", f"or: {message}"))
    return list(out.values())


def _sentence(text: str) -> str:
    text = text.removeprefix("Value error, ")
    return text[0].lower() + text[1:]


def _digest(*texts: str) -> str:
    h = hashlib.sha256()
    for text in texts:
        h.update(text.encode())
        h.update(b"\0")
    return h.hexdigest()[:16]
