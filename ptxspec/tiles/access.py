"""Which instruction moves a run of neighbouring elements, and how wide it can be: the database says, for the target."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from ptxspec.forms import check
from ptxspec.forms.select import select_widest
from ptxspec.lang.errors import refuse
from ptxspec.lang.target import target
from ptxspec.lang.tensor import TensorView
from ptxspec.lang.trace import Tracer

#: Widest access of one thread in bytes that every target has.
WIDEST = 16

#: Element types that memory can be added to atomically, with the type word of ``red.add``.
ATOMIC = {"int32": "s32", "uint32": "u32", "int64": "u64", "uint64": "u64", "float32": "f32", "float64": "f64",
          "float16": "f16", "bfloat16": "bf16"}


@dataclass(frozen=True)
class Verb:
    """What an access does: ``ld``, ``st``, ``red`` (add) or ``atom`` (add, and give the old values back).

    ``vectors``: several elements may be added by one instruction where the target has one.
    """

    name: str
    vectors: bool = True

    @property
    def reads(self) -> bool:
        """True when registers are written."""
        return self.name in ("ld", "atom")

    @property
    def adds(self) -> bool:
        """True for atomic additions."""
        return self.name in ("red", "atom")

    def limit(self, array: TensorView) -> int:
        """Most elements of one access, whatever the alignment."""
        if not self.adds:
            return 2 * WIDEST
        if not self.vectors or array.scope() != "global":
            return 1
        return added_together(self.name, ATOMIC[array.dtype], target())


LD, ST, RED, ATOM = Verb("ld"), Verb("st"), Verb("red"), Verb("atom")


def widest(array: TensorView) -> int:
    """Bytes of the widest access to ``array`` on the target; asked for only where its base allows more than 16."""
    if array.scope() != "global" or array.data_alignment % (2 * WIDEST):
        return WIDEST
    return _widest(target())


@cache
def _widest(sm: str) -> int:
    """Bytes of the widest legal load and store of global memory."""
    return min(select_widest(op, "global", 2 * WIDEST, sm=sm).forms[0].bytes for op in ("load", "store"))


@cache
def added_together(name: str, kind: str, sm: str) -> int:
    """Elements of the widest legal atomic addition of ``kind`` in global memory."""
    return next((n for n in (8, 4, 2) if check(_adding(name, "global", kind, n), sm=sm).legal), 1)


def unit(size: int, words: int) -> int:
    """Bits of one lane for ``words`` elements of ``size`` bytes: small elements travel four bytes at a time."""
    if size > 8 or (size < 4 <= size * words):
        return 32
    return 8 * size


def opcode(verb: Verb, array: TensorView, size: int, words: int) -> tuple[str, str | None]:
    """The opcode of one access, and the element type that its operands are viewed as (None: their own)."""
    if verb.adds:
        return _adding(verb.name, array.scope(), ATOMIC[array.dtype], words), None
    bits = unit(size, words)
    return (f"{verb.name}.{array.scope()}{_vector(8 * size * words // bits)}.b{bits}",
            None if bits == 8 * size else f"bits{bits}")


def _adding(name: str, space: str, kind: str, words: int) -> str:
    plain = ".noftz" if kind in ("f16", "bf16") else ""
    return f"{name}.{space}.add{plain}{_vector(words)}.{kind}"


def _vector(lanes: int) -> str:
    return f".v{lanes}" if lanes > 1 else ""


def atomic(array: TensorView, what: str, tracer: Tracer) -> None:
    """Refuse element types that no instruction adds atomically (K235)."""
    if array.dtype not in ATOMIC:
        refuse("K235", f"{what}: memory of {array.dtype} has no atomic addition", tracer.place(),
               help=f"types that have one: {', '.join(ATOMIC)}")
