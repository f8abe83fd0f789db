"""Keeping the generated pages of a checkout fresh."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ptxspec.db.link import link
from ptxspec.db.load import packaged, read

from .render import render

FOLDER = "instructions"


def refresh(root: Path | None, tables: Mapping[str, str], check: bool) -> list[str]:
    """Write the pages that are out of date, and return their names; with ``check`` only return them.

    ``root``: the spec folder (``None``: the one in use), beside which ``docs/`` lies; an installed package has no such
    folder and no pages. ``tables``: the generated modules by file name. Raises :class:`SpecError` for bad specs.
    """
    root = Path(str(packaged())) if root is None else root
    docs = root.resolve().parent / "docs"
    if not docs.is_dir():
        return []
    specs = read(root)
    pages = render(specs, link(specs), tables)
    changed: list[str] = []
    for name, text in pages.items():
        path = docs / name
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            changed.append(str(path))
            if not check:
                path.parent.mkdir(exist_ok=True)
                path.write_text(text, encoding="utf-8")
    for old in sorted((docs / FOLDER).glob("*.md")):
        if f"{FOLDER}/{old.name}" not in pages:
            changed.append(str(old))
            if not check:
                old.unlink()
    return changed
