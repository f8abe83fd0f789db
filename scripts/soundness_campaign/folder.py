"""The folder of a campaign: results of one version of the sources, and of no other."""

from __future__ import annotations

import hashlib
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

#: Files of records, and those that are made of them.
RECORDS = ("kernels.jsonl", "mutants.jsonl", "solvers.jsonl")
MADE = ("soundness.json", "soundness.md")
#: Holds the digest of the sources and, behind it, the family that all random kernels are of.
MARK = "sources"


class Mixed(Exception):  # noqa: N818 - a refusal, not a fault
    """The folder has results of other sources or of other kernels; the text says what can be done."""


def digest() -> str:
    """A short hash of everything that a verdict depends on: prover, language, forms and their database, the solver's
    release, and the judges themselves."""
    found = hashlib.blake2b(digest_size=6)
    for name, endings in (
        ("ptxspec/scalar", ".py"), ("ptxspec/layout", ".py"), ("ptxspec/lang", ".py"), ("ptxspec/proof", ".py"),
        ("ptxspec/forms", ".py"), ("specs", ""), ("tests/proof/proof_support", ".py"),
        ("scripts/soundness_campaign", ".py"),
    ):
        for path in sorted((ROOT / name).rglob("*")):
            if path.is_file() and path.name.endswith(endings) and "__pycache__" not in path.parts \
                    and path.name not in ("page.py", "__main__.py"):
                found.update(f"{path.relative_to(ROOT)}\0".encode() + path.read_bytes())
    found.update(metadata.version("z3-solver").encode())
    return found.hexdigest()


def claim(out: Path, sources: str, family: str = "") -> None:
    """Make ``out`` the folder of these sources, or refuse it: figures of two versions must not be added up."""
    mark = f"{sources} family={family}" if family else sources
    before = (out / MARK).read_text().split() if (out / MARK).exists() else []
    begun = any((out / name).exists() and (out / name).stat().st_size for name in RECORDS)
    if begun and " ".join(before) != mark:
        was = _said(before) if before else "a version that left no digest"
        raise Mixed(f"{out} has results of {was}; this is {_said(mark.split())}.\n"
                    "They are not mixed: give another folder (--out FRESH), or drop those results with --restart.")
    out.mkdir(parents=True, exist_ok=True)
    (out / MARK).write_text(mark + "\n")


def _said(mark: list[str]) -> str:
    digests = [m for m in mark if not m.startswith("family=")]
    families = [m.partition("=")[2] for m in mark if m.startswith("family=")]
    return f"sources {', '.join(digests)}" + "".join(f" (family {f} alone)" for f in families)


def restart(out: Path) -> None:
    """Drop what an earlier campaign left in ``out``; files of others stay."""
    for name in (*RECORDS, *MADE, MARK):
        (out / name).unlink(missing_ok=True)
