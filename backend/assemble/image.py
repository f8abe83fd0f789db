"""What each entry needs, read from the cubin itself: some assemblers say nothing in their log.

A cubin is an ELF file; its section ``.nv.info`` is a list of attributes, each with a format, a number and for the
formats used here a size. Measured to equal the verbose logs of ptxas 12.0 to 13.5 for the two attributes below.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from .resources import Resources

_SIZED = 4           # format: a two-byte size and that many bytes follow
_FRAME, _REGISTERS = 0x11, 0x2F
_SYMBOLS = 2         # section type


def image_resources(cubin: bytes, target: str) -> tuple[Resources, ...]:
    """One record for each entry of the image, in the order of its symbols; empty where it is none that is known."""
    try:
        return tuple(_read(cubin, target))
    except (struct.error, IndexError, ValueError, KeyError):   # not the layout that this reads
        return ()


def _read(cubin: bytes, target: str) -> Iterator[Resources]:
    if not cubin.startswith(b"\x7fELF\x02\x01"):
        return
    start, = struct.unpack_from("<Q", cubin, 40)
    size, count, names_at = struct.unpack_from("<HHH", cubin, 58)
    headers = [struct.unpack_from("<IIQQQQIIQQ", cubin, start + size * k) for k in range(count)]
    sections = {_text(cubin, headers[names_at][4] + header[0]): header for header in headers}
    symbols = {header[1]: header for header in headers}[_SYMBOLS]
    texts = headers[symbols[6]][4]
    info = sections[".nv.info"]
    found: dict[str, dict[int, int]] = {}
    for attribute, symbol, value in _attributes(cubin[info[4]:info[4] + info[5]]):
        name = _text(cubin, texts + struct.unpack_from("<I", cubin, symbols[4] + 24 * symbol)[0])
        found.setdefault(name, {})[attribute] = value
    for name, values in found.items():
        if f".text.{name}" in sections and _REGISTERS in values:
            # Not the shared memory: its section holds what the driver reserves as well.
            yield Resources(name, target, registers=values[_REGISTERS], stack=values.get(_FRAME, 0))


def _attributes(info: bytes) -> Iterator[tuple[int, int, int]]:
    """(attribute, symbol, value) of those that have a symbol and one value."""
    place = 0
    while place + 4 <= len(info):
        kind, attribute, size = struct.unpack_from("<BBH", info, place)
        place += 4
        if kind == _SIZED:
            if attribute in (_FRAME, _REGISTERS) and size == 8:
                yield attribute, *struct.unpack_from("<II", info, place)
            place += size


def _text(data: bytes, place: int) -> str:
    return data[place:data.index(b"\0", place)].decode()
