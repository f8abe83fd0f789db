"""Strict YAML: plain data with the file, line and column of every key and value.

The specs are a language of their own, so YAML's surprises are refused instead of interpreted: duplicate keys,
implicit types (``yes``, ``1.0``, ``2024-01-01``, ``null``), tags, anchors and aliases, and documents that are too
large or too deep. Each refusal is a :class:`~ptxspec.diagnostics.SpecError` that points at the character.

Plain scalars become ``bool`` (``true``/``false`` only), ``int`` (decimal only) or ``str``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import yaml

from ptxspec.diagnostics import Diagnostic, Note, Span, SpecError

Data = str | int | bool | list["Data"] | dict[str, "Data"]
Path = tuple[str | int, ...]

MAX_BYTES = 1_000_000
MAX_DEPTH = 40
MAX_NODES = 100_000

_INT = re.compile(r"-?(0|[1-9][0-9]*)\Z")
# What YAML 1.1 or 1.2 would silently turn into something other than text.
_SURPRISE = re.compile(
    r"""(?ix)\A(?:
      y|yes|no|n|on|off|true|false            # booleans, in any case but exact true/false
    | null|~|                                 # nothing
    | [-+]?(\.\d+|\d+(\.\d*)?)(e[-+]?\d+)?    # numbers with point or exponent
    | [-+]?\.(inf|nan) | \.nan
    | [-+]?0[xbo]?[0-9a-f_]+ | [-+]?\d[\d_]*  # other integers
    | [-+]?\d+(:[0-5]?\d)+(\.\d*)?            # sexagesimal
    | \d{4}-\d{1,2}-\d{1,2}([Tt\ ].*)?        # dates
    | = | <<
    )\Z"""
)


@dataclass(frozen=True)
class Document:
    """One YAML file: its plain ``data``, and where each path of it was written."""

    file: str
    text: str
    data: dict[str, Data]
    values: Mapping[Path, Span] = field(repr=False)
    keys: Mapping[Path, Span] = field(repr=False)

    def span(self, path: Sequence[str | int]) -> Span:
        """Where the value at ``path`` stands; parts of ``path`` that are not in the document are skipped.

        Skipping lets a validator's location (which names union branches too) be passed as it is.
        """
        at: Path = ()
        for part in path:
            if (*at, part) in self.values:
                at = (*at, part)
        return self.values[at]

    def key_span(self, path: Sequence[str | int]) -> Span:
        """Where the key at ``path`` stands; the value's place when ``path`` ends in a list index."""
        at: Path = ()
        for part in path:
            if (*at, part) in self.values:
                at = (*at, part)
        return self.keys.get(at, self.values[at])


def load(text: str, file: str) -> Document:
    """Read one YAML document. Raises :class:`SpecError` with every problem that can be told in one pass."""
    if len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        raise SpecError(Diagnostic("S009", f"the file is larger than {MAX_BYTES} bytes", Span(file, 1)))
    try:
        _check_events(text, file)
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = Span(file, mark.line + 1, mark.column + 1) if mark else Span(file, 1)
        raise SpecError(Diagnostic("S001", f"not YAML: {error.problem or error.context}", where)) from None
    except yaml.YAMLError as error:
        raise SpecError(Diagnostic("S001", f"not YAML: {str(error).splitlines()[0]}", Span(file, 1))) from None
    except (ValueError, RecursionError) as error:
        raise SpecError(Diagnostic("S001", f"not YAML: {error}", Span(file, 1))) from None
    if not isinstance(node, yaml.MappingNode):
        raise SpecError(Diagnostic("S002", "the file must be one mapping of keys to values", Span(file, 1)))
    reader = _Reader(file)
    data = reader.value(node, ())
    if reader.problems:
        raise SpecError(*reader.problems)
    assert isinstance(data, dict)
    return Document(file, text, data, reader.values, reader.keys)


def _check_events(text: str, file: str) -> None:
    """Refuse anchors, aliases, tags, depth and size on the event stream, before anything is built from it."""
    depth = nodes = documents = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        mark = event.start_mark
        where = Span(file, mark.line + 1, mark.column + 1) if mark else Span(file, 1)
        if isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            if documents > 1:
                raise SpecError(Diagnostic("S002", "a second document begins here; a spec file holds one", where))
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            note = Note("help", "write the value out, or give it a name under `sets:`, `let:` or `conditions:`")
            raise SpecError(
                Diagnostic("S004", "anchors and aliases are not part of the spec language", where, notes=(note,))
            )
        tag = getattr(event, "tag", None)
        if tag:
            raise SpecError(Diagnostic("S005", f"the tag {tag!r} is not allowed; specs hold plain data only", where))
        if isinstance(event, yaml.NodeEvent):
            nodes += 1
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > MAX_DEPTH or nodes > MAX_NODES:
            raise SpecError(Diagnostic("S009", "the document is too deep or has too many values", where))


class _Reader:
    """Turns YAML nodes into plain data and remembers where each part was written."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.values: dict[Path, Span] = {}
        self.keys: dict[Path, Span] = {}
        self.problems: list[Diagnostic] = []

    def place(self, node: yaml.Node) -> Span:
        start, end = node.start_mark, node.end_mark
        end_column = end.column + 1 if end.line == start.line else 0
        return Span(self.file, start.line + 1, start.column + 1, end_column)

    def value(self, node: yaml.Node, path: Path) -> Data:
        self.values[path] = self.place(node)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(child, (*path, i)) for i, child in enumerate(node.value)]
        if isinstance(node, yaml.MappingNode):
            return self.mapping(node, path)
        assert isinstance(node, yaml.ScalarNode)
        return self.scalar(node)

    def mapping(self, node: yaml.MappingNode, path: Path) -> Data:
        out: dict[str, Data] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                self.problems.append(Diagnostic("S002", "a key must be a word", self.place(key_node)))
                continue
            key = key_node.value
            if not key_node.style and _SURPRISE.match(key) and not _INT.match(key):
                self.problems.append(self.surprise(key, key_node))
            if key in out:
                note = Note("note", "first written here", self.keys[(*path, key)])
                self.problems.append(
                    Diagnostic("S003", f"the key `{key}` is written twice", self.place(key_node), notes=(note,))
                )
                continue
            self.keys[(*path, key)] = self.place(key_node)
            out[key] = self.value(value_node, (*path, key))
        return out

    def scalar(self, node: yaml.ScalarNode) -> Data:
        text: str = node.value
        if node.style:
            return text
        if text == "true" or text == "false":
            return text == "true"
        if _INT.match(text):
            return int(text) if len(text) <= 18 else text
        if _SURPRISE.match(text):
            self.problems.append(self.surprise(text, node))
        return text

    def surprise(self, text: str, node: yaml.Node) -> Diagnostic:
        shown = text or "nothing"
        note = Note("help", f'write "{text}" in quotes' if text else "write a value, or leave the key out")
        return Diagnostic("S006", f"`{shown}` without quotes is not text in YAML", self.place(node), notes=(note,))
