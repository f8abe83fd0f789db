"""What an instruction does, as steps of a closed vocabulary that the simulator interprets.

Every value has a name and is, for each thread, a bit pattern or a list of lanes. Operand names are values too:
reading one gives the register's bits, writing one sets the destination.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ptxspec.spec.base import Name, SpecModel
from ptxspec.spec.condition import Condition
from ptxspec.spec.expression import FlagExpr, IntExpr, TypeExpr, WordExpr

Value = Name | int


class StepModel(SpecModel):
    """``when``: the step happens for these spellings only."""

    when: Condition | None = None


class Read(StepModel):
    """``bytes`` little-endian bytes at address ``at`` become the raw bits ``into``."""

    do: Literal["read"]
    at: Name
    bytes: IntExpr
    space: WordExpr
    into: Name
    order: WordExpr = ""
    scope: WordExpr = ""


class Write(StepModel):
    """The raw bits ``value`` become ``bytes`` bytes at address ``at``."""

    do: Literal["write"]
    at: Name
    value: Value
    bytes: IntExpr
    space: WordExpr
    order: WordExpr = ""
    scope: WordExpr = ""


class Combine(StepModel):
    """Atomic read-modify-write per lane; ``into`` receives the old value. Additions of f32 to global memory take and
    give zeros for subnormal numbers, unless ``subnormals`` says that they stay."""

    do: Literal["combine"]
    at: Name
    op: WordExpr
    type: TypeExpr
    value: Value
    space: WordExpr
    compare: Value | None = None
    into: Name | None = None
    order: WordExpr = ""
    scope: WordExpr = ""
    subnormals: FlagExpr = False


class Split(StepModel):
    """Raw bits become ``count`` equal lanes, lane 0 least significant."""

    do: Literal["split"]
    value: Value
    count: IntExpr
    into: Name


class Join(StepModel):
    """Lanes, each cut to the width of ``type`` when given, become raw bits, lane 0 least significant."""

    do: Literal["join"]
    value: Value
    type: TypeExpr | None = None
    into: Name


class Extend(StepModel):
    """Lanes of type ``from`` are sign- or zero-extended to the destination register's width."""

    do: Literal["extend"]
    value: Value
    from_: TypeExpr = Field(alias="from")
    into: Name


class Copy(StepModel):
    """``into`` becomes ``value``."""

    do: Literal["copy"]
    value: Value
    into: Name


class AddressOf(StepModel):
    """``into`` becomes the address of ``symbol``, its constant offset included."""

    do: Literal["address"]
    symbol: Name
    into: Name


class SpecialRegister(StepModel):
    """``into`` becomes the value of the special register in operand ``name``."""

    do: Literal["special"]
    name: Name
    into: Name


class Compute(StepModel):
    """``into`` becomes ``op`` of ``args`` in ``type``; comparisons give a predicate."""

    do: Literal["compute"]
    op: WordExpr
    type: TypeExpr
    args: tuple[Value, ...]
    into: Name
    round: WordExpr = ""
    ftz: FlagExpr = False
    sat: FlagExpr = False


class Convert(StepModel):
    """``into`` becomes ``value``, converted from one type to another."""

    do: Literal["convert"]
    value: Value
    from_: TypeExpr = Field(alias="from")
    to: TypeExpr
    into: Name
    round: WordExpr = ""
    ftz: FlagExpr = False
    sat: FlagExpr = False


class ConvertAddress(StepModel):
    """Generic address to an address of ``space`` (``to``) or back (``from``)."""

    do: Literal["cvta"]
    value: Value
    space: WordExpr
    direction: Literal["to", "from"]
    into: Name


class Barrier(StepModel):
    """All threads of ``scope`` (or ``count`` of them) meet at barrier ``id``; ``phase``: they arrive, wait, or both;
    ``aligned``: the threads of a warp must be at one instruction."""

    do: Literal["barrier"]
    id: Value
    scope: Literal["cta", "warp", "cluster"]
    count: Value | None = None
    phase: Literal["arrive", "wait", "both"] = "both"
    aligned: FlagExpr = False


class Branch(StepModel):
    """Execution goes on at the label in operand ``target``."""

    do: Literal["branch"]
    target: Name
    uniform: FlagExpr = False


class Leave(StepModel):
    """``return`` from the function or ``exit`` of the thread."""

    do: Literal["return", "exit"]


class Exchange(StepModel):
    """Each lane of a warp takes ``value`` of another lane."""

    do: Literal["exchange"]
    mode: WordExpr
    value: Value
    lane: Value
    clamp: Value
    mask: Value
    into: Name


class Policy(StepModel):
    """``into`` becomes an opaque 64-bit cache policy."""

    do: Literal["policy"]
    into: Name


class Effect(StepModel):
    """``hint``: nothing architectural; ``fence``: orders memory; ``defer``: completes later; ``pad``: zeros."""

    do: Literal["hint", "defer", "pad", "fence"]
    scope: WordExpr = ""


Step = Annotated[
    Read
    | Write
    | Combine
    | Split
    | Join
    | Extend
    | Copy
    | AddressOf
    | SpecialRegister
    | Compute
    | Convert
    | ConvertAddress
    | Barrier
    | Branch
    | Leave
    | Exchange
    | Policy
    | Effect,
    Field(discriminator="do"),
]
