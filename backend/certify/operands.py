"""Instructions whose opcode is (mostly) right and whose operands may not be: classes, counts, kinds, addresses, guards.

The prediction for these comes from ``ptxspec lint``, which judges operands too.
"""

from __future__ import annotations

import random

from ptxspec.forms import check, registry
from ptxspec.forms.table import FormTable, Table, bits_of

from .draw import Case, case, choices, random_cases
from .host import PREFIXES, UNDECLARABLE, Setting, register

_CLASSES = [kind for kind in PREFIXES if kind not in UNDECLARABLE]
_ADDRESSES = (
    "[%rd0+16]", "[%rd0+-16]", "[%urd3]", "[%srd3]", "[gvar]", "[gvar+4]", "[svar]", "[svar+8]", "[cvar]", "[lvar]",
    "[pvar]", "[%r3]", "[%ur3+4]",
    "[%fd0]", "[%p0]", "[%f0]", "[64]", "%rd0", "gvar", "[%rd0-16]", "[%rd0+%rd1]", "[nothing]", "[%q0]",
)
_VALUES = (
    "1", "-1", "0", "255", "0x7fffffff", "4294967296", "1.5", "-0.25", "0f3F800000", "0d3FF0000000000000", "_",
    "WARP_SZ", "%tid.x", "%clock64", "%laneid", "gvar", "svar", "host", "LAST", "nothing", "%p1", "!%p1",
    "-%r1", "(1+2)", "{%r1}", "%tid", "%nothing", "%r1+4", "%rd1+4", "%f1+4", "%h1+4", "%p1+4", "LAST+4",
)
_GUARDS = ("@%p0 ", "@!%p0 ", "@%r0 ", "@p ")


def operand_cases(mnemonic: str, setting: Setting, count: int, source: random.Random) -> list[Case]:
    """``count`` instructions of a mnemonic: opcodes that the target has, with zero to two operands changed."""
    table = registry.table(mnemonic)
    fine = _right_ones(table, setting, source)
    out: list[Case] = []
    while len(out) < count:
        drawn = source.choice(fine) if fine and source.random() < 0.9 else random_cases(mnemonic, 1, source)[0]
        line = drawn.line
        for _ in range(source.choice((0, 1, 1, 1, 2))):
            line = _change(line, source)
        if source.random() < 0.1:
            line = source.choice(_GUARDS) + line
        out.append(Case(drawn.opcode, line))
    return out


def _right_ones(table: Table, setting: Setting, source: random.Random, wanted: int = 60) -> list[Case]:
    out: list[Case] = []
    for _ in range(40 * wanted):
        form = source.choice(table.forms)
        drawn = case(table, form, _sparse(form, source))
        if drawn is not None and check(drawn.opcode, sm=setting.target, ptx=setting.ptx).legal:
            out.append(drawn)
            if len(out) == wanted:
                break
    return out


def _sparse(form: FormTable, source: random.Random) -> int:
    rate = source.choice((0.0, 0.15, 0.3))
    mask = 0
    for slot in form.slots:
        if slot.required or source.random() < rate:
            mask |= source.choice(bits_of(slot.mask) if slot.required else choices(slot))
    return mask


def _change(line: str, source: random.Random) -> str:
    opcode, _, rest = line.rstrip(";").partition(" ")
    operands = _split(rest)
    if not operands:
        return f"{opcode} {source.choice(_VALUES)};"
    place = source.randrange(len(operands))
    old = operands[place]
    what = source.random()
    if what < 0.06:
        del operands[place]
    elif what < 0.12:
        operands.insert(place, source.choice([register("b64", 5), register("b32", 5), "1", "[%rd5]"]))
    elif old.startswith("["):
        operands[place] = source.choice(_ADDRESSES)
    elif old.startswith("{"):
        operands[place] = _vector(old, source)
    elif what < 0.7:
        operands[place] = _register(source)
    else:
        operands[place] = source.choice(_VALUES)
    return f"{opcode} {', '.join(operands)};" if operands else f"{opcode};"


def _vector(text: str, source: random.Random) -> str:
    elements = _split(text[1:-1])
    what = source.randrange(6)
    if what == 0:
        elements.pop()
    elif what == 1:
        elements.append(elements[-1])
    elif what == 2:
        elements[source.randrange(len(elements))] = source.choice(("_", _register(source), source.choice(_VALUES)))
    elif what == 3:
        prefix = PREFIXES[source.choice(_CLASSES)]
        elements = [f"%{prefix}{number}" for number in range(len(elements))]
    elif what == 4:
        elements = ["_"] * len(elements)
    else:
        return elements[0]
    return "{" + ", ".join(elements) + "}" if elements else "_"


def _register(source: random.Random) -> str:
    return register(source.choice(_CLASSES), source.randrange(8))


def _split(text: str) -> list[str]:
    """Operands at the top level of ``text``."""
    out: list[str] = []
    depth, current = 0, ""
    for letter in text:
        if letter == "," and depth == 0:
            out.append(current.strip())
            current = ""
            continue
        depth += (letter in "{[(") - (letter in "}])")
        current += letter
    return [*out, current.strip()] if current.strip() else out
