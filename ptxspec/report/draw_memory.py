"""Accesses as drawings: rows of memory with the bytes of every thread's atom, and the banks of shared memory."""

from __future__ import annotations

from ptxspec.report.accesses import Atom, Drawn
from ptxspec.report.banks import BANK_BYTES, BANKS, Passes, passes
from ptxspec.report.draw_layout import Picture
from ptxspec.report.palette import lane_class
from ptxspec.report.svg import CHARACTER, Drawing

ROW_BYTES = 128
MOST_ROWS = 20
_BYTE = 6.0
_HIGH = 22.0


def memory_picture(drawn: Drawn) -> Picture:
    """Memory in rows of 128 bytes: a box for each word, labelled by thread; the failing thread in red."""
    drawing = Drawing(f"bytes of {drawn.buffer} that {drawn.what} touches")
    notes: list[str] = []
    rows = _rows(drawn)
    shown = rows[:MOST_ROWS]
    failing = {b // ROW_BYTES for a in drawn.atoms if a.failing for b in a.words}
    if len(rows) > MOST_ROWS:
        keep = sorted(failing & set(rows))[:4]
        shown = sorted({*rows[:MOST_ROWS - len(keep)], *keep})
        notes.append(f"{len(shown)} of the {len(rows)} rows of {ROW_BYTES} bytes that the warp touches are shown")
    left = max(len(str(r * ROW_BYTES)) for r in shown) * CHARACTER + 10 if shown else 0
    place = {row: k for k, row in enumerate(shown)}
    gaps = _background(drawing, drawn, shown, left)
    for atom in sorted(drawn.atoms, key=lambda a: (a.failing, -a.thread, -(a.repeat or 0))):
        _atom(drawing, drawn, atom, place, left)
    if gaps:
        notes.append("a dotted line stands for rows that nothing touches")
    if any(_marks_end(drawn, row) is not None for row in shown):
        notes.append(f"the red line is the end of {drawn.buffer}: what lies behind it does not exist")
    if any(not a.active for a in drawn.atoms):
        notes.append("dashed outlines: threads that a guard or predicate leaves out")
    if _overlaps(drawn):
        notes.append("several threads touch the same bytes: the lowest one is drawn on top")
    return Picture(drawing, tuple(notes))


def _rows(drawn: Drawn) -> list[int]:
    return sorted({(b + k) // ROW_BYTES for a in drawn.atoms for b in a.words for k in (0, drawn.word_bytes - 1)})


def _overlaps(drawn: Drawn) -> bool:
    words = [b for a in drawn.atoms if a.active for b in set(a.words)]
    return len(words) != len(set(words))


def _background(drawing: Drawing, drawn: Drawn, shown: list[int], left: float) -> bool:
    """Rows with byte numbers; what lies outside the storage is hatched."""
    gaps = False
    for column in range(0, ROW_BYTES, 16):
        drawing.text(left + column * _BYTE, 7, f"+{column}", "px-dim px-small px-l")
    for k, row in enumerate(shown):
        y = 16 + k * (_HIGH + 5)
        first = row * ROW_BYTES
        if k and row != shown[k - 1] + 1:
            drawing.line(left, y - 3, left + ROW_BYTES * _BYTE, y - 3, "px-off")
            gaps = True
        drawing.text(left - 6, y + _HIGH / 2, str(first), "px-dim px-r")
        inside = drawn.extent or (first, first + ROW_BYTES)
        low, high = max(first, inside[0]), min(first + ROW_BYTES, inside[1])
        drawing.rectangle(left, y, ROW_BYTES * _BYTE, _HIGH, "px-hole",
                          "" if drawn.extent is None else f"outside {drawn.buffer}")
        if low < high:
            drawing.rectangle(left + (low - first) * _BYTE, y, (high - low) * _BYTE, _HIGH, "px-plain")
        end = _marks_end(drawn, row)
        if end is not None:
            x = left + end * _BYTE
            drawing.line(x, y - 2, x, y + _HIGH + 2, "px-badline")
    return gaps


def _marks_end(drawn: Drawn, row: int) -> int | None:
    """Where in a row the storage ends, if it does and there is something to see of it."""
    if drawn.extent is None:
        return None
    at = drawn.extent[1] - row * ROW_BYTES
    beyond = any(b + drawn.word_bytes > drawn.extent[1] for a in drawn.atoms for b in a.words)
    return at if beyond and 0 <= at < ROW_BYTES else None


def _atom(drawing: Drawing, drawn: Drawn, atom: Atom, place: dict[int, int], left: float) -> None:
    size = drawn.word_bytes
    runs: list[tuple[int, int]] = []
    for byte in sorted(set(atom.words)):
        for start in range(byte, byte + size):
            row_end = start % ROW_BYTES == 0
            if runs and runs[-1][1] == start and not row_end:
                runs[-1] = (runs[-1][0], start + 1)
            else:
                runs.append((start, start + 1))
    colour = lane_class(atom.thread if atom.repeat is None else atom.repeat)
    outline = "px-bad" if atom.failing else f"{colour} px-atom2" if atom.active else "px-off"
    for number, (low, high) in enumerate(runs):
        k = place.get(low // ROW_BYTES)
        if k is None:
            continue
        x, y = left + low % ROW_BYTES * _BYTE, 16 + k * (_HIGH + 5)
        width = (high - low) * _BYTE
        who = f"thread {atom.thread}" if atom.repeat is None else f"repeat {atom.repeat}"
        tip = f"{who}: bytes {low} to {high - 1} of {drawn.buffer} (element {low // drawn.unit})"
        drawing.rectangle(x + 0.5, y + 1, width - 1, _HIGH - 2, outline, tip, 2)
        for byte in sorted(set(atom.words)):
            if low < byte < high and len(atom.words) > 1:
                drawing.line(left + byte % ROW_BYTES * _BYTE, y + _HIGH - 6, left + byte % ROW_BYTES * _BYTE,
                             y + _HIGH - 1, "px-edge")
        label = atom.label if number == 0 else ""
        if label and len(label) * CHARACTER <= width + 3 and (atom.active or atom.failing):
            drawing.text(x + width / 2, y + _HIGH / 2 - (2 if len(atom.words) > 1 else 0), label,
                         "px-badtext" if atom.failing else "px-small" if width < 26 else "")


def bank_picture(drawn: Drawn) -> tuple[Picture, Passes]:
    """The 32 banks as columns: the words of each phase stacked on their bank, deeper where they conflict."""
    found = passes(drawn)
    drawing = Drawing(f"banks that {drawn.what} uses")
    width, height, left = 30.0, 16.0, 70.0
    for bank in range(BANKS):
        drawing.text(left + (bank + 0.5) * width, 7, str(bank), "px-dim px-small")
    y = 16.0
    owners = _owners(drawn)
    for number, phase in enumerate(found.use):
        depth = max(len(words) for words in phase.values())
        name = f"phase {number}" if len(found.use) > 1 else "warp"
        drawing.text(left - 8, y + height / 2, name, "px-dim px-r")
        shade = "px-c1" if depth == 1 else "px-c2" if depth == 2 else "px-c4" if depth <= 4 else "px-c8"
        for bank in range(BANKS):
            words = phase.get(bank, ())
            x = left + bank * width
            if not words:
                drawing.rectangle(x, y, width - 1, height - 1, "px-hole", f"bank {bank}: unused")
            for k, word in enumerate(words[:8]):
                threads = owners.get(word, [])
                tip = f"bank {bank}, byte {word * BANK_BYTES}: threads {', '.join(map(str, threads[:8]))}"
                style = shade if len(words) > 1 else "px-c1"
                drawing.rectangle(x, y + k * height, width - 1, height - 1, style, tip)
                if threads:
                    drawing.text(x + width / 2, y + k * height + height / 2, f"t{threads[0]}", "px-small")
            if len(words) > 8:
                drawing.text(x + width / 2, y + 8.5 * height, f"+{len(words) - 8}", "px-dim px-small")
        y += min(depth, 9) * height + 8
    notes = ["each column is a bank of four bytes; words stacked on one bank are served one after the other"]
    if any(len(words) > 8 for phase in found.use for words in phase.values()):
        notes.append("at most eight words of a bank are drawn")
    return Picture(drawing, tuple(notes)), found


def _owners(drawn: Drawn) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for atom in drawn.atoms:
        if not atom.active:
            continue
        for byte in atom.words:
            for word in range(byte // BANK_BYTES, (byte + drawn.word_bytes - 1) // BANK_BYTES + 1):
                threads = found.setdefault(word, [])
                if atom.thread not in threads:
                    threads.append(atom.thread)
    return found
