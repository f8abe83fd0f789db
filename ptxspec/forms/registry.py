"""Where the generated tables are found: in the package, and before it in the folders of ``PTXSPEC_TABLES``.

``ptxspec generate --specs DIR --out DIR`` fills such a folder.
"""

from __future__ import annotations

import importlib
import os
from functools import cache, lru_cache
from types import ModuleType
from typing import cast

from ptxspec.diagnostics import Diagnostic, FormError, Note
from ptxspec.forms.table import Table, VocabularyTable

PACKAGE = "ptxspec.forms.tables"


def extra_folders() -> tuple[str, ...]:
    """Folders with more generated code; they come before the package."""
    return tuple(p for p in os.environ.get("PTXSPEC_TABLES", "").split(os.pathsep) if p)


def load_file(path: str, name: str) -> ModuleType:
    """A generated module from a file outside the package."""
    import importlib.util

    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _module(name: str) -> ModuleType:
    for folder in extra_folders():
        path = os.path.join(folder, "tables", f"{name}.py")
        if os.path.isfile(path):
            return load_file(path, f"ptxspec_extra_tables.{name}")
    return importlib.import_module(f"{PACKAGE}.{name}")


def module_name(mnemonic: str) -> str:
    """The name of the generated modules of a mnemonic: ``st_async`` for ``st.async``."""
    return mnemonic.replace(".", "_")


def module_file(mnemonic: str) -> str:
    """The file of that module: ``st_async.py``."""
    return f"{module_name(mnemonic)}.py"


@lru_cache(maxsize=1)
def vocabulary() -> VocabularyTable:
    """Types, targets, toolkits, special registers."""
    return cast(VocabularyTable, _module("_vocabulary").VOCABULARY)


@lru_cache(maxsize=1)
def mnemonics() -> tuple[str, ...]:
    """All mnemonics of the database, sorted."""
    return cast("tuple[str, ...]", _module("_vocabulary").MNEMONICS)


@cache
def find(mnemonic: str) -> Table | None:
    """The table of a mnemonic, ``None`` when the database does not have it."""
    return cast(Table, _module(module_name(mnemonic)).TABLE) if mnemonic in mnemonics() else None


def words_of(opcode: str) -> list[str]:
    """The mnemonic of an opcode and its other words; ``st.async`` is a mnemonic of two words."""
    words = opcode.split(".")
    if len(words) > 1:
        table = find(words[0])
        if table is not None and words[1] in table.separate:
            words[:2] = [f"{words[0]}.{words[1]}"]
    return words


@lru_cache(maxsize=1)
def digest() -> str:
    """Digest of all specs: vocabulary, findings and instructions."""
    return cast(str, _module("_vocabulary").DIGEST)


def complete(mnemonic: str) -> bool:
    """Whether the database has every form that the manual gives to the mnemonic."""
    found = find(mnemonic)
    return found is not None and found.complete


def table(mnemonic: str) -> Table:
    """The table of a mnemonic. Raises :class:`FormError` F002."""
    found = find(mnemonic)
    if found is None:
        raise FormError(unknown_mnemonic(mnemonic))
    return found


def unknown_mnemonic(mnemonic: str) -> Diagnostic:
    """The refusal of a mnemonic, with close ones."""
    import difflib

    close = difflib.get_close_matches(mnemonic, mnemonics(), 3, 0.5)
    notes = (Note("help", "close: " + ", ".join(close)),) if close else ()
    return Diagnostic("F002", f"the database has no instruction `{mnemonic}`", notes=notes)


def reset() -> None:
    """Forget loaded tables (tests that change ``PTXSPEC_TABLES``)."""
    from ptxspec.forms.target import machine

    for cached in (vocabulary, mnemonics, find, digest, machine):
        cached.cache_clear()
