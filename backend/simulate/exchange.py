"""The ``exchange`` step: each thread of a warp takes the value of another lane (PTX manual, "shfl.sync")."""

from __future__ import annotations

import numpy as np

from .state import Active, Batch
from .values import Bits, Lane


def exchange(batch: Batch, active: Active, mode: str, value: Lane, lane: Bits, clamp: Bits, mask: Bits) -> Lane:
    """``value`` of lane ``lane`` (``up`` and ``down``: a distance, ``bfly``: a mask) within the segment that ``clamp``
    describes; a thread whose source is out of range keeps its own. A source lane that does not take part, because it
    is not in ``mask`` or not here, gives an undefined value.
    """
    threads = active.threads()
    own = (batch.linear[threads] % 32).astype(np.int64)
    step = np.broadcast_to(lane, threads.shape).astype(np.int64) & 31
    control = np.broadcast_to(clamp, threads.shape).astype(np.int64)
    segment, bound = control >> 8 & 31, control & 31
    low = own & segment
    high = low | (bound & ~segment & 31)
    if mode == "up":
        source = own - step
        inside = source >= high
    else:
        table = {"down": own + step, "bfly": own ^ step, "idx": low | (step & ~segment & 31)}
        if mode not in table:
            raise ValueError(f"no exchange is called {mode!r}")
        source = table[mode]
        inside = source <= high
    source = np.where(inside, source, own)
    bits = np.broadcast_to(value.bits, (active.count, *value.bits.shape[1:]))
    shared = np.zeros((batch.threads, *bits.shape[1:]), bits.dtype)
    shared[threads] = bits
    missing = np.ones(batch.threads, bool)
    missing[threads] = False if value.undef is None else value.undef
    base = threads - own
    chosen = np.minimum(base + source, batch.threads - 1)
    named = (np.broadcast_to(mask, threads.shape).astype(np.int64) >> source & 1) != 0
    beyond = batch.linear[threads] - own + source >= batch.shape.block_threads
    undef = missing[chosen] | ~named | beyond
    return Lane(shared[chosen], undef if undef.any() else None, "a value taken from a lane that does not take part")
