"""Which instruction moves a run of neighbouring elements, and how wide it can be."""

from __future__ import annotations

from dataclasses import dataclass

from ptxspec.lang.errors import refuse
from ptxspec.lang.tensor import TensorView
from ptxspec.lang.trace import Tracer
from ptxspec.tiles.region import WIDEST

#: Element types that memory can be added to atomically, with the type word of ``red.add``.
ATOMIC = {"int32": "s32", "uint32": "u32", "int64": "u64", "uint64": "u64", "float32": "f32", "float64": "f64",
          "float16": "f16", "bfloat16": "bf16"}
#: Types of vector reductions: sm_90 and global memory only.
VECTOR_ATOMIC = ("float32", "float16", "bfloat16")


@dataclass(frozen=True)
class Verb:
    """What an access does: ``ld``, ``st`` or ``red`` (add). ``vectors``: vector reductions may be used."""

    name: str
    vectors: bool = True

    @property
    def reads(self) -> bool:
        """True when registers are the destination."""
        return self.name == "ld"

    def limit(self, array: TensorView) -> int:
        """Most elements of one access, whatever the alignment."""
        if self.name != "red":
            return WIDEST
        return 8 if self.vectors and array.dtype in VECTOR_ATOMIC and array.scope() == "global" else 1


LD, ST, RED = Verb("ld"), Verb("st"), Verb("red")


def unit(size: int, words: int) -> int:
    """Bits of one lane for ``words`` elements of ``size`` bytes: small elements travel four bytes at a time."""
    if size > 8 or (size < 4 <= size * words):
        return 32
    return 8 * size


def opcode(verb: Verb, array: TensorView, size: int, words: int) -> tuple[str, str | None]:
    """The opcode of one access, and the element type that its operands are viewed as (None: their own)."""
    if verb.name == "red":
        kind = ATOMIC[array.dtype]
        plain = ".noftz" if kind in ("f16", "bf16") else ""
        return f"red.{array.scope()}.add{plain}{_vector(words)}.{kind}", None
    bits = unit(size, words)
    return (f"{verb.name}.{array.scope()}{_vector(8 * size * words // bits)}.b{bits}",
            None if bits == 8 * size else f"bits{bits}")


def _vector(lanes: int) -> str:
    return f".v{lanes}" if lanes > 1 else ""


def atomic(array: TensorView, what: str, tracer: Tracer) -> None:
    """Refuse element types that no instruction adds atomically (K235)."""
    if array.dtype not in ATOMIC:
        refuse("K235", f"{what}: memory of {array.dtype} has no atomic addition", tracer.place(),
               help=f"types that have one: {', '.join(ATOMIC)}")
