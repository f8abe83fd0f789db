"""Shared memory seen by its banks: which words one warp touches, and how many passes that takes.

The rule is the usual one for 32 banks of four bytes: a warp's access is served in passes, each of which delivers at
most one word of every bank; threads that want the same word share it. An access of 8 bytes a thread is served for half
a warp at a time and one of 16 bytes for a quarter (CUDA C++ Programming Guide, shared memory; Nsight Compute counts the
same wavefronts). It is about speed alone: no proof rests on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ptxspec.layout import Layout
from ptxspec.report.accesses import Atom, Drawn

BANKS = 32
BANK_BYTES = 4


@dataclass(frozen=True, slots=True)
class Passes:
    """``taken`` passes where ``ideal`` would do; ``use`` lists, for each phase, the distinct words of every bank."""

    taken: int
    ideal: int
    use: tuple[dict[int, tuple[int, ...]], ...]

    @property
    def conflicts(self) -> int:
        """Passes more than needed."""
        return self.taken - self.ideal

    def summary(self) -> str:
        """One sentence."""
        if self.conflicts == 0:
            return f"no bank conflicts: {self.taken} pass{'es' if self.taken != 1 else ''} for the warp"
        worst = max((len(words) for phase in self.use for words in phase.values()), default=1)
        return (f"{worst}-way bank conflict: {self.taken} passes for the warp where {self.ideal} would do "
                f"({self.conflicts} more)")


def passes(drawn: Drawn) -> Passes:
    """Count the passes of one warp's access."""
    return counted([a for a in drawn.atoms if a.active], drawn.word_bytes)


def along(layout: Layout, word_bytes: int) -> tuple[Passes, ...]:
    """For each axis: the passes where neighbouring lanes take neighbouring elements along it, from the first one on.

    A layout on hardware axes has no banks, and gives nothing. Later places can differ where a layout is swizzled by
    more than the elements looked at: this is a first look, a kernel's page has the accesses themselves.
    """
    if layout.axes():
        return ()
    shape = [e.const for e in layout.extents()]
    result = []
    for axis, extent in enumerate(shape):
        atoms = []
        for lane in range(min(32, extent)):
            index = [lane if k == axis else 0 for k in range(len(shape))]
            byte = layout.apply(*index)["m"].const * word_bytes
            atoms.append(Atom(lane, (lane, 0, 0), (byte,), True))
        result.append(counted(atoms, word_bytes))
    return tuple(result)


def counted(atoms: Sequence[Atom], word_bytes: int) -> Passes:
    """The passes of these atoms of one warp."""
    width = len(atoms[0].words) * word_bytes if atoms else BANK_BYTES
    lanes = 32 if width <= 4 else 16 if width <= 8 else 8
    use: list[dict[int, tuple[int, ...]]] = []
    taken = ideal = 0
    for first in range(0, 32, lanes):
        phase = [a for a in atoms if first <= a.thread % 32 < first + lanes]
        if not phase:
            continue
        words = _words(phase, word_bytes)
        use.append(words)
        taken += max(len(w) for w in words.values())
        ideal += max(1, -(-sum(len(w) for w in words.values()) // BANKS))
    return Passes(taken, ideal, tuple(use))


def _words(atoms: Sequence[Atom], word_bytes: int) -> dict[int, tuple[int, ...]]:
    found: dict[int, dict[int, None]] = {}
    for atom in atoms:
        for byte in atom.words:
            for word in range(byte // BANK_BYTES, (byte + word_bytes - 1) // BANK_BYTES + 1):
                found.setdefault(word % BANKS, {})[word] = None
    return {bank: tuple(words) for bank, words in found.items()}
