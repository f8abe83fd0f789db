"""An on-disk memory of proved queries, so that an unchanged kernel is not proved twice.

Only ``proved`` answers are kept, under a key that fixes everything the answer depends on: the claim and every fact
with structure, types and bounds of variables (names do not matter, identity does), the release of Z3, the resource
limit, the database and the text of the modules that encode and ask. An entry is a file that holds its own key, put in
place whole, so that processes may share a folder and a damaged entry is none. ``PTXSPEC_CACHE=off`` turns it off; any
fault of the disk is ignored.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from ptxspec.proof.facts import Fact
from ptxspec.scalar.expr import Const, Expr, Op, Poly, Var

#: What an answer depends on beside the query: a change of these files makes older answers unknown.
ENCODING = ("cache.py", "encode.py", "formula.py", "interval.py", "solver.py", "../scalar/expr.py",
            "../scalar/interval.py")


class Cache:
    """Proved query keys in a folder: one small file for each key."""

    def __init__(self, folder: Path, salt: str) -> None:
        self.folder = folder
        self.salt = salt

    def key(self, claim: Expr, facts: Sequence[Fact], rlimit: int) -> str:
        """The hash of everything that decides the query's answer."""
        writer = _Writer()
        parts = [writer.write(claim)]
        parts.extend(writer.write(fact.condition) for fact in facts)
        text = "\n".join([self.salt, encoding(), str(rlimit), *writer.lines, *map(str, parts)])
        return hashlib.sha256(text.encode()).hexdigest()

    def proved(self, key: str) -> bool:
        """True when the query with this key was proved before."""
        try:
            return (self.folder / key[:2] / key[2:]).read_bytes() == _entry(key)
        except OSError:
            return False

    def remember(self, key: str) -> None:
        """Note that the query with this key is proved."""
        try:
            path = self.folder / key[:2]
            path.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=path)
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(_entry(key))
                os.replace(name, path / key[2:])
            except OSError:
                os.unlink(name)
        except OSError:
            return


def _entry(key: str) -> bytes:
    return f"proved {key}\n".encode()


@lru_cache(maxsize=1)
def encoding() -> str:
    """A digest of the modules that give a query its meaning."""
    found = hashlib.sha256()
    for name in ENCODING:
        found.update((Path(__file__).parent / name).read_bytes())
    return found.hexdigest()


class _Writer:
    """Numbers nodes in the order they are met, so that equal structure gives equal text whatever the names."""

    def __init__(self) -> None:
        self.numbers: dict[Expr, int] = {}
        self.lines: list[str] = []

    def write(self, expr: Expr) -> int:
        found = self.numbers.get(expr)
        if found is not None:
            return found
        if isinstance(expr, Const):
            line = f"const {expr.value!r} {expr.dtype}"
        elif isinstance(expr, Var):
            line = f"var {len(self.numbers)} {expr.dtype} {expr.lo} {expr.hi}"
        elif isinstance(expr, Poly):
            terms = [f"{c}*{'*'.join(str(self.write(a)) for a in m)}" for m, c in expr.terms]
            line = f"poly {expr.const} {' '.join(terms)}"
        else:
            assert isinstance(expr, Op)
            line = f"op {expr.name} {expr.dtype} {' '.join(str(self.write(a)) for a in expr.args)}"
        number = len(self.numbers)
        self.numbers[expr] = number
        self.lines.append(line)
        return number


def open_cache(digest: str) -> Cache | None:
    """The user's cache, or None when it is off. ``digest`` is that of the instruction database."""
    if os.environ.get("PTXSPEC_CACHE", "").lower() in ("off", "0", "no", "false"):
        return None
    base = os.environ.get("PTXSPEC_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME")
    try:
        folder = Path(base) if base else Path.home() / ".cache"
        encoding()
    except (OSError, RuntimeError):  # no home, or no source to tell versions apart by
        return None
    return Cache(folder / "ptxspec" / "proofs", f"z3 {_z3_version()} database {digest}")


def _z3_version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("z3-solver")
    except PackageNotFoundError:
        return "unknown"
