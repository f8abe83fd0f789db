"""Obligations about sizes: the launch, and the shared memory of a block."""

from __future__ import annotations

from ptxspec.diagnostics import Span
from ptxspec.lang import ir
from ptxspec.lang.locate import element_bytes, storage_elements
from ptxspec.proof import formula
from ptxspec.proof.goals import Draft, Item, Simple
from ptxspec.proof.premises import GRID_LIMITS
from ptxspec.proof.walk import Walker
from ptxspec.scalar import index as ix

#: Shared memory a block may have, in KiB, by compute capability (CUDA C++ Programming Guide, technical specifications).
SHARED_MAX = {
    50: 48,
    52: 48,
    53: 48,
    60: 48,
    61: 48,
    62: 48,
    70: 96,
    72: 96,
    75: 64,
    80: 163,
    86: 99,
    87: 163,
    88: 99,
    89: 99,
    90: 227,
    100: 227,
    101: 227,
    103: 227,
    110: 227,
    120: 99,
    121: 99,
}
BLOCK_LIMITS = (1024, 1024, 64)
MAX_THREADS = 1024


def limit_drafts(kernel: ir.Kernel, walker: Walker, sm: str) -> list[Draft]:
    """Launch limits, and shared memory where the kernel has any."""
    launch = kernel.launch
    where = launch.span or kernel.span
    draft = Draft("launch", where, "launch configuration")
    block = launch.block
    count = block[0] * block[1] * block[2]

    def claim(holds: bool, text: str) -> None:
        draft.items.append(Item(formula.truth(holds), walker.base, Simple(text)))

    for k, size in enumerate(block):
        claim(1 <= size <= BLOCK_LIMITS[k], f"block size {size} along {'xyz'[k]} is outside 1 to {BLOCK_LIMITS[k]}")
    claim(count <= MAX_THREADS, f"a block of {count} threads is larger than {MAX_THREADS}")
    for k, extent in enumerate(launch.grid):
        blocks = ix.index(extent)
        if blocks.is_const:
            claim(
                blocks.const <= GRID_LIMITS[k], f"grid size {blocks.const} along {'xyz'[k]} is above {GRID_LIMITS[k]}"
            )
    draft.context = walker.base
    return [draft, *_shared(kernel, walker, sm)]


def _shared(kernel: ir.Kernel, walker: Walker, sm: str) -> list[Draft]:
    shared = [b for b in kernel.buffers if b.scope == "shared"]
    if not shared and not kernel.launch.dynamic_smem_bytes:
        return []
    total = shared_bytes(shared)
    where: Span = shared[-1].span if shared else kernel.launch.span or kernel.span
    draft = Draft("fits", where, "shared memory", context=walker.base)
    if total is None:
        draft.items.append(
            Item(
                formula.FALSE,
                walker.base,
                Simple("shared memory of a size that is not known"),
                unknown="the size of a shared array is not a constant",
            )
        )
        return [draft]
    total += kernel.launch.dynamic_smem_bytes
    limit = shared_limit(sm)
    draft.items.append(
        Item(
            formula.truth(total <= limit),
            walker.base,
            Simple(f"{total} bytes of shared memory are more than the {limit} a block can have on {sm}"),
        )
    )
    return [draft]


def shared_bytes(buffers: list[ir.Buffer]) -> int | None:
    """Bytes that the shared arrays take when laid out one after the other, each at its alignment."""
    at = 0
    for buffer in buffers:
        size = storage_elements(buffer)
        if not size.is_const:
            return None
        at = -(-at // buffer.align) * buffer.align + size.const * element_bytes(buffer.dtype)
    return at


def shared_limit(sm: str) -> int:
    """The largest shared memory of a block on ``sm``, in bytes; the smallest known one for a chip not in the table."""
    digits = "".join(c for c in sm.removeprefix("sm_") if c.isdigit())
    return SHARED_MAX.get(int(digits) if digits else 0, 48) * 1024
