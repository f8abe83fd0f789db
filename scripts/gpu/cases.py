"""Micro-kernels from the specs: for every legal executable form of ``ld``, ``st`` and ``mov``, lines of PTX.

A case is a few lines in their own register scope. They find a thread's input at ``[%in]`` (``SPAN`` random bytes),
shared, local, constant and parameter memory holding random bytes too, and leave what can be observed in the ``SLOT``
bytes at ``[%out + $O]``, which begin poisoned. ``$I`` is a multiple of 32 that differs from case to case.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ptxspec.forms import FormUse, OperandUse, check, use
from ptxspec.forms.classes import register_fits
from ptxspec.forms.enumerate import forms

SM, PTX, TOOLKIT = "sm_90", "9.0", "13.0"
SLOT = 64          # bytes of output a case and a thread
SPAN = 64          # bytes of input that a case may read, from a multiple of 32
GUARDED = 3        # one case in so many is predicated, true in odd threads

WIDTHS = (16, 32, 64, 128)
SHARED = ("shared", "shared::cta", "shared::cluster")


@dataclass(frozen=True)
class Case:
    """``lines`` with ``$O`` and ``$I`` open; ``what`` tells cases of one opcode apart."""

    opcode: str
    what: str
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Left:
    """A legal form that is not run, and why."""

    opcode: str
    why: str


def legal(mnemonic: str) -> Iterator[str]:
    """Every legal spelling on the target that the assembler is predicted to take."""
    for form in forms(mnemonic, sm=SM, ptx=PTX):
        yield form.opcode


def register(width: int, number: int) -> str:
    """Name of a register of that width in the case's scope."""
    return f"%x{width}_{number}"


def declare(width: int, count: int) -> str:
    """Declaration of ``count`` such registers."""
    return ".reg .b{} {};".format(width, ", ".join(register(width, k) for k in range(count)))


def keep(width: int, number: int, offset: int) -> list[str]:
    """Write one register to the case's slot."""
    name = register(width, number)
    if width == 128:
        return ["mov.b128 {%lo, %hi}, " + name + ";", f"st.global.b64 [%out+$O+{offset}], %lo;",
                f"st.global.b64 [%out+$O+{offset + 8}], %hi;"]
    return [f"st.global.b{width} [%out+$O+{offset}], {name};"]


def fill(width: int, number: int, offset: int) -> list[str]:
    """Load one register with input bytes."""
    name = register(width, number)
    if width == 128:
        return [f"ld.global.v2.b64 {{%lo, %hi}}, [%in+$I+{offset // 16 * 16}];", f"mov.b128 {name}, {{%lo, %hi}};"]
    return [f"ld.global.b{width} {name}, [%in+$I+{offset}];"]


def group(width: int, lanes: int) -> str:
    """The operand: one register, or a brace group."""
    if lanes == 1:
        return register(width, 0)
    return "{" + ", ".join(register(width, k) for k in range(lanes)) + "}"


def crashes(operand: OperandUse) -> bool:
    """Floats stored from .b128 registers: the assembler takes the line and then dies (13.0: killed; 13.5: C7907)."""
    return operand.type[0] == "f"


def fitting(operand: OperandUse, number: int) -> list[int]:
    """The narrowest bit register that the operand takes, and one of the wider ones, in turn from form to form."""
    taken = [w for w in WIDTHS if register_fits(operand.classes, operand.type, f"b{w}", operand.lanes > 1)
             and w * operand.lanes <= 8 * SLOT and not (w == 128 and operand.role == "in" and crashes(operand))]
    wider = taken[1:]
    return taken[:1] + ([wider[number % len(wider)]] if wider else [])


def _policy(found: FormUse) -> tuple[list[str], str]:
    if any(o.name == "policy" for o in found.operands):
        return ["createpolicy.fractional.L2::evict_first.b64 %pol;"], ", %pol"
    return [], ""


def _spaces(found: FormUse, space: str) -> list[tuple[str, str, str]]:
    """(words, address operand, area to copy out afterwards) for the ways to reach a space; empty: not from a kernel."""
    mnemonic = found.mnemonic
    if space == "global":
        return [("", "[%out+$O]" if mnemonic == "st" else "[%in+$I]", "")]
    if space == "generic":
        global_ = "[%out+$O]" if mnemonic == "st" else "[%in+$I]"
        ways = [("global, ", global_, ""), ("shared, ", "[%gsh+16]", "shared"), ("local, ", "[%glo+16]", "local")]
        return ways[:1] if any(o.prove == "in-space" and o.space == "global" for o in found.obligations) else ways
    if space in SHARED:
        return [("", "[%sh+16]", "shared")]
    if space == "local":
        return [("", "[%lo_at+16]", "local"), ("named, ", "[lo_var+32]", "local")]
    if space == "const" and mnemonic == "ld":
        return [("", "[co_var+32]", ""), ("by register, ", "[%co+-32]", "")]
    if space in ("param", "param::entry") and mnemonic == "ld":
        return [("", "[blob+32]", "")]
    return []


def _area(area: str) -> tuple[list[str], list[str]]:
    """Lines that refresh a 64-byte area with input, and lines that copy it to the slot."""
    if not area:
        return [], []
    base = "%sh" if area == "shared" else "%lo_at"
    before, after = [], []
    for k in range(0, SLOT, 8):
        before += [f"ld.global.b64 %lo, [%in+$I+{k % SPAN}];", f"st.{area}.b64 [{base}+{k}], %lo;"]
        after += [f"ld.{area}.b64 %lo, [{base}+{k}];", f"st.global.b64 [%out+$O+{k}], %lo;"]
    return before, after


def load_cases(opcode: str, number: int) -> list[Case] | Left:
    """Loads, by every way to the space, into a register of the width and into a wider one."""
    found = use(opcode, sm=SM, ptx=PTX)
    guarded = number % GUARDED == 1
    data, address = found.operand("d"), found.operand("a")
    ways = _spaces(found, address.space)
    if not ways:
        return Left(opcode, f"{address.space} memory exists inside a called function only")
    before, policy = _policy(found)
    cases = []
    for words, place, area in ways:
        restored, _ = _area(area)
        for width in fitting(data, number):
            lines = [declare(width, data.lanes), *before, *restored]
            for k in range(data.lanes):
                lines += fill(width, k, (8 * k) % SPAN)
            guard = "@%odd " if guarded else ""
            lines.append(f"{guard}{opcode} {group(width, data.lanes)}, {place}{policy};")
            for k in range(data.lanes):
                lines += keep(width, k, k * width // 8)
            what = f"{words}into .b{width}{', predicated' if guarded else ''}"
            cases.append(Case(opcode, what, tuple(lines)))
    return cases


def store_cases(opcode: str, number: int) -> list[Case] | Left:
    """Stores, by every way to the space, from a register of the width, from a wider one, and of an immediate."""
    found = use(opcode, sm=SM, ptx=PTX)
    guarded = number % GUARDED == 1
    data, address = found.operand("b"), found.operand("a")
    ways = _spaces(found, address.space)
    if not ways:
        return Left(opcode, f"{address.space} memory exists around a call only")
    before, policy = _policy(found)
    guard = "@%odd " if guarded else ""
    cases = []
    for words, place, area in ways:
        restored, kept = _area(area)
        for width in fitting(data, number):
            lines = [declare(width, data.lanes), *before, *restored]
            for k in range(data.lanes):
                lines += fill(width, k, (8 * k) % SPAN)
            lines.append(f"{guard}{opcode} {place}, {group(width, data.lanes)}{policy};")
            what = f"{words}from .b{width}{', predicated' if guarded else ''}"
            cases.append(Case(opcode, what, (*lines, *kept)))
        if data.lanes == 1 and data.type[0] in "us" and data.bits <= 64:
            value = 0x5A if data.bits == 8 else (1 << (data.bits - 1)) - 3
            lines = [*before, *restored, f"{guard}{opcode} {place}, {value}{policy};", *kept]
            cases.append(Case(opcode, f"{words}of an immediate", tuple(lines)))
    return cases


SPECIAL = (
    *(f"%{name}.{axis}" for name in ("tid", "ntid", "ctaid", "nctaid") for axis in "xyz"),
    "%laneid", "%lanemask_eq", "%lanemask_le", "%lanemask_lt", "%lanemask_ge", "%lanemask_gt",
    *(f"%{name}.{axis}" for name in ("clusterid", "nclusterid", "cluster_ctaid", "cluster_nctaid") for axis in "xyz"),
    "%cluster_ctarank", "%cluster_nctarank", "%dynamic_smem_size",
)


def move_cases(opcode: str, number: int) -> list[Case] | Left:
    """Copies, immediates, special registers, packing and unpacking; every operand kind that the spelling takes."""
    guard = "@%odd " if number % GUARDED == 1 else ""
    kind = opcode.split(".")[-1]
    if kind == "pred":
        flags = ["setp.lt.u32 %p, %laneid_value, 13;", f"{guard}{opcode} %q, %p;", "selp.b32 %w, 305419896, 0, %q;",
                 "st.global.b32 [%out+$O], %w;"]
        start = ["setp.lt.u32 %q, %laneid_value, 20;"]
        return [Case(opcode, "copy", (*start, *flags))]
    width = int(kind[1:])
    cases = []
    lines = [declare(width, 2), *fill(width, 0, 0), *fill(width, 1, 16)]
    copied = f"{guard}{opcode} {register(width, 1)}, {register(width, 0)};"
    cases.append(Case(opcode, "copy", (*lines, copied, *keep(width, 1, 0))))
    if width <= 64:
        value = ("0f3FC01234" if width == 32 else "0d3FF8012345678901") if kind[0] == "f" else str(2 ** (width - 1) - 5)
        given = f"{guard}{opcode} {register(width, 1)}, {value};"
        cases.append(Case(opcode, "immediate", (*lines, given, *keep(width, 1, 0))))
    if kind in ("b32", "u32", "s32"):
        for name in SPECIAL:
            asked = f"{guard}{opcode} {register(width, 1)}, {name};"
            cases.append(Case(opcode, f"special register {name}", (*lines, asked, *keep(width, 1, 0))))
        # Where a variable lies is the machine's affair; how far two places in it are apart is not.
        far = [f"{opcode} {register(width, 0)}, sh_var;", f"{opcode} {register(width, 1)}, sh_var+20;",
               f"sub.u32 {register(width, 1)}, {register(width, 1)}, {register(width, 0)};"]
        cases.append(Case(opcode, "address of a variable", (declare(width, 2), *far, *keep(width, 1, 0))))
    if kind[0] == "b":
        cases += _packing(opcode, width, guard)
    return cases


def _packing(opcode: str, width: int, guard: str) -> list[Case]:
    """``{lanes}`` to one register and back, with a sink in the last."""
    cases = []
    for lanes in (2, 4):
        part = width // lanes
        if part not in WIDTHS:
            continue
        start = [declare(part, lanes), declare(width, 1)]
        loaded = [line for k in range(lanes) for line in fill(part, k, 8 * k)]
        pack = f"{guard}{opcode} {register(width, 0)}, {group(part, lanes)};"
        packed = (*start, *loaded, *fill(width, 0, 16), pack, *keep(width, 0, 0))
        cases.append(Case(opcode, f"pack {lanes} x {part}", packed))
        names = [register(part, k) for k in range(lanes)]
        for what, shown in (("unpack", names), ("unpack past a sink", ["_", *names[1:]])):
            open_ = f"{guard}{opcode} {{{', '.join(shown)}}}, {register(width, 0)};"
            kept = [line for k in range(lanes) for line in keep(part, k, k * part // 8)]
            unpacked = (*start, *loaded, *fill(width, 0, 16), open_, *kept)
            cases.append(Case(opcode, f"{what} {lanes} x {part}", unpacked))
    return cases


MAKERS = {"ld": load_cases, "st": store_cases, "mov": move_cases}


def plan(mnemonics: tuple[str, ...] = ("ld", "st", "mov")) -> tuple[list[Case], list[Left], dict[str, int]]:
    """All cases, what is left out, and the number of legal forms of each mnemonic."""
    cases: list[Case] = []
    left: list[Left] = []
    counts: dict[str, int] = {}
    for mnemonic in mnemonics:
        for number, opcode in enumerate(legal(mnemonic)):
            counts[mnemonic] = number + 1
            verdict = check(opcode, sm=SM, ptx=PTX, toolkit=TOOLKIT, entry=True)
            if not verdict.ptxas:
                left.append(Left(opcode, f"the assembler does not take it ({verdict.ptxas})"))
                continue
            made = MAKERS[mnemonic](opcode, number)
            if isinstance(made, Left):
                left.append(made)
            else:
                cases += made
    return cases, left, counts
