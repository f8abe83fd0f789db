"""The module in which single instructions are put before an assembler, with registers of every class and variables.

Every line stands in a function that nobody calls. The assembler then judges each line by itself and says all that is
wrong, at the speed of a parser (tens of thousands of lines a second), but generates no code for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

#: register class -> prefix of its registers, of which there are ``COUNT`` each
PREFIXES: dict[str, str] = {
    "pred": "p", "b8": "b", "u8": "ub", "s8": "sb", "b16": "h", "u16": "uh", "s16": "sh", "f16": "fh", "b32": "r",
    "u32": "ur", "s32": "sr", "f32": "f", "f16x2": "hh", "b64": "rd", "u64": "urd", "s64": "srd", "f64": "fd",
    "bf16": "h", "bf16x2": "r", "tf32": "r", "u16x2": "r", "s16x2": "r", "b128": "q",
}
COUNT = 40
#: types that no register can be declared with; their values live in plain registers of the same width
UNDECLARABLE = ("bf16", "bf16x2", "tf32", "u16x2", "s16x2")
_DECLARED = [kind for kind in PREFIXES if kind not in UNDECLARABLE]
Context = Literal["function", "entry"]


@dataclass(frozen=True, slots=True)
class Setting:
    """What a line is judged under: PTX version as (major, minor), target, and where it stands."""

    ptx: tuple[int, int]
    target: str
    context: Context = "function"

    @property
    def sm(self) -> int:
        """The number in the target's name."""
        return int("".join(filter(str.isdigit, self.target)))

    @property
    def version(self) -> str:
        """``8.6``."""
        return f"{self.ptx[0]}.{self.ptx[1]}"

    def __str__(self) -> str:
        return f"PTX {self.version}, {self.target}" + (", in an entry" if self.context == "entry" else "")


def register(kind: str, number: int) -> str:
    """Name of register ``number`` (below ``COUNT``) of class ``kind``."""
    return f"%{PREFIXES[kind]}{number}"


def variable(space: str) -> str:
    """Name of a variable of 256 bytes in ``space`` (``generic`` and ``global`` share one)."""
    return {"const": "cvar", "local": "lvar", "shared": "svar"}.get(space.partition("::")[0], "gvar")


def first_line(setting: Setting) -> int:
    """Line of the module on which the first instruction stands."""
    return len(_head(setting)) + 1


def module(setting: Setting, lines: Sequence[str]) -> str:
    """PTX text with instruction ``i`` on line ``first_line(setting) + i``; an empty one leaves its line empty."""
    return "\n".join([*_head(setting), *lines, "LAST:", "ret;", "}", ""])


def _head(setting: Setting) -> list[str]:
    # Kinds newer than the module's version or target are left out; what names them is refused, as it should be.
    since = {"b128": ((8, 3), 70), "f16x2": ((4, 2), 53)}
    kinds = [k for k in _DECLARED if k not in since or (setting.ptx >= since[k][0] and setting.sm >= since[k][1])]
    declare = "".join(f".reg .{kind} %{PREFIXES[kind]}<{COUNT}>; " for kind in kinds)
    start = ".visible .entry host(.param .b64 pvar)" if setting.context == "entry" else ".func host(.param .b64 pvar)"
    return [
        f".version {setting.version}",
        f".target {setting.target}",
        ".address_size 64",
        ".global .align 32 .b8 gvar[256]; .const .align 32 .b8 cvar[256]; .shared .align 32 .b8 svar[256];",
        f"{start} {{ {declare}.local .align 32 .b8 lvar[256];",
    ]
