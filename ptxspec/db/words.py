"""Lint of the vocabulary itself (S031): types, targets, versions, toolkits and special registers fit together."""

from __future__ import annotations

from collections.abc import Iterator

from ptxspec.db.load import Specs
from ptxspec.db.tables import version
from ptxspec.diagnostics import Diagnostic

CODE = "S031"


def check_vocabulary(specs: Specs) -> Iterator[Diagnostic]:
    """All problems of the vocabulary; instructions are looked at only when there are none."""
    v, documents = specs.vocabulary, specs.documents

    def at(part: str, message: str, *path: str | int) -> Diagnostic:
        return Diagnostic(CODE, message, documents[part].span(path))

    for name, entry in v.types.types.items():
        if entry.bits not in (1, 8, 16, 32, 64, 128):
            yield at("types", f"`{name}` has {entry.bits} bits; a type has 1, 8, 16, 32, 64 or 128", "types", name)
    for name, lanes in v.words.vectors.items():
        if not 1 <= lanes <= 64:
            yield at("words", f"`{name}` has {lanes} lanes", "vectors", name)
    versions = v.targets.versions
    if not versions or list(versions) != sorted(set(versions), key=version):
        yield at("targets", "the versions must be in order, each of them once", "versions")
    if not v.targets.targets:
        yield at("targets", "there must be a target", "targets")
    for target, since in v.targets.targets.items():
        if since not in versions:
            yield at("targets", f"PTX {since} is not in `versions`", "targets", target)
    if not v.toolkits.toolkits:
        yield at("toolkits", "there must be a toolkit", "toolkits")
    for name, kit in v.toolkits.toolkits.items():
        if not all(part.isdigit() for part in name.split(".")):
            yield at("toolkits", f"`{name}` is no release, such as 13.0", "toolkits", name)
        if kit.ptx not in versions:
            yield at("toolkits", f"PTX {kit.ptx} is not in vocabulary/targets.yaml", "toolkits", name, "ptx")
        for i, target in enumerate(kit.targets):
            if target not in v.targets.targets:
                yield at("toolkits", f"{target} is not in vocabulary/targets.yaml", "toolkits", name, "targets", i)
        for target, since in kit.from_.items():
            if target not in kit.targets or since not in versions:
                yield at(
                    "toolkits",
                    f"`from` names a target or a version that is not known: {target}",
                    "toolkits",
                    name,
                    "from",
                    target,
                )
    for name, special in v.specials.registers.items():
        if special.type not in v.types.types:
            yield at("specials", f"there is no type `{special.type}`", "registers", name, "type")
        if special.ptx not in versions:
            yield at("specials", f"PTX {special.ptx} is not in vocabulary/targets.yaml", "registers", name)
        if not name.startswith("%") or not 0 <= special.count <= 256:
            yield at("specials", "a special register begins with % and has at most 256 numbers", "registers", name)
