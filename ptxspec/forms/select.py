"""The widest loads and stores for so many bytes, and why the wider ones are out."""

from __future__ import annotations

from dataclasses import dataclass

from ptxspec.diagnostics import Diagnostic, Note, UsageError
from ptxspec.forms import registry
from ptxspec.forms.check import judge
from ptxspec.forms.target import machine

_OPERATIONS = {"load": "ld", "ld": "ld", "store": "st", "st": "st"}


@dataclass(frozen=True, slots=True)
class Candidate:
    """One access: ``bytes`` at a time (its alignment too), ``count`` of them for the whole."""

    opcode: str
    bytes: int
    lanes: int
    count: int

    def to_json(self) -> dict[str, object]:
        """Plain values."""
        return {"opcode": self.opcode, "bytes": self.bytes, "lanes": self.lanes, "count": self.count}


@dataclass(frozen=True, slots=True)
class Selection:
    """``forms``: legal accesses, widest first, fewest lanes first among equals. ``refused``: every wider access with
    the reason that it is out."""

    forms: tuple[Candidate, ...]
    refused: tuple[tuple[str, Diagnostic], ...]

    def render(self) -> str:
        """Text: the legal forms, then the wider ones with their reasons."""
        lines = [f"{f.opcode}  {f.bytes} bytes in {f.lanes} lanes, {f.count} of them" for f in self.forms]
        lines = lines or ["no form moves these bytes"]
        lines += [f"not {opcode}: {reason.message} [{reason.code}]" for opcode, reason in self.refused]
        return "\n".join(lines)

    def to_json(self) -> dict[str, object]:
        """Plain values."""
        return {
            "forms": [f.to_json() for f in self.forms],
            "refused": [{"opcode": opcode, **reason.to_json()} for opcode, reason in self.refused],
        }


def select_widest(
    op: str,
    space: str,
    nbytes: int,
    align: int | None = None,
    sm: str = "sm_90",
    ptx: str | tuple[int, int] | None = None,
    toolkit: str | None = None,
) -> Selection:
    """The widest forms that move ``nbytes`` bytes at an address that is a multiple of ``align`` (default: the largest
    power of two in ``nbytes``).
    Raises :class:`UsageError` U112 for an unknown operation or space, U113 for bad numbers."""
    if op not in _OPERATIONS:
        raise UsageError(Diagnostic("U112", f"the operation is load or store, not {op!r}"))
    mnemonic = _OPERATIONS[op]
    spaces = [w for s, w in registry.table(mnemonic).names.values() if s == "space"]
    if space not in (*spaces, "generic", ""):
        known = Note("help", "spaces: generic " + " ".join(spaces))
        raise UsageError(Diagnostic("U112", f"`{mnemonic}` has no space {space!r}", notes=(known,)))
    if nbytes < 1 or (align is not None and (align < 1 or align & (align - 1))):
        raise UsageError(Diagnostic("U113", "bytes must be positive and the alignment a power of two"))
    align = nbytes & -nbytes if align is None else align
    here = machine(sm, ptx, toolkit)
    best = machine("sm_100")
    prefix = mnemonic if space in ("generic", "") else f"{mnemonic}.{space}"
    forms: list[Candidate] = []
    refused: list[tuple[str, Diagnostic]] = []
    for width, lanes, words in _accesses(mnemonic):
        if not judge(f"{mnemonic}.global.{words}", best).legal:
            continue  # no machine has it for any memory
        opcode = f"{prefix}.{words}"
        reason = judge(opcode, here).diagnostic or _size(width, nbytes, align)
        if reason is None:
            forms.append(Candidate(opcode, width, lanes, nbytes // width))
        elif not forms:
            refused.append((opcode, reason))
    return Selection(tuple(forms), tuple(refused))


def legal_widths(
    op: str, space: str, sm: str = "sm_90", ptx: str | tuple[int, int] | None = None
) -> tuple[tuple[int, int, str], ...]:
    """(bytes, lanes, opcode) of every access that ``op`` has for a named ``space`` here, widest first, fewest lanes
    first among equals: :func:`select_widest` without the reasons for the others, which take their time."""
    mnemonic, here = _OPERATIONS[op], machine(sm, ptx)
    found = [(width, lanes, f"{mnemonic}.{space}.{words}") for width, lanes, words in _accesses(mnemonic)]
    return tuple(access for access in found if judge(access[2], here).legal)


def _accesses(mnemonic: str) -> list[tuple[int, int, str]]:
    """(bytes, lanes, words) of every spelling with an untyped-bits type, widest first, then fewest lanes."""
    vocabulary = registry.vocabulary()
    words = {w for s, w in registry.table(mnemonic).names.values() if s in ("vec", "type")}
    out = []
    for type_, (bits, kind, _) in vocabulary.types.items():
        if kind == "bits" and type_ in words:
            for vec, lanes in vocabulary.vectors.items():
                if lanes == 1 or vec in words:
                    out.append((bits // 8 * lanes, lanes, type_ if lanes == 1 else f"{vec}.{type_}"))
    return sorted(out, key=lambda a: (-a[0], a[1]))


def _size(width: int, total: int, align: int) -> Diagnostic | None:
    """Why an access of ``width`` bytes does not suit the data."""
    if width > total:
        return Diagnostic("F501", f"one access moves {width} bytes, there are {total}")
    if total % width:
        return Diagnostic("F502", f"{total} bytes are not a multiple of {width}")
    if align % width:
        return Diagnostic(
            "F503", f"one access needs an address that is a multiple of {width}; here it is one of {align}"
        )
    return None


select_forms = select_widest
