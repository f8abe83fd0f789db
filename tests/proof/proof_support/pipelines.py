"""Random pipelines through shared memory: stages written ahead, read behind, with guards and trips that depend on n."""

from __future__ import annotations

import random

from proof_support.maker import Made

HEAD = """\
import ptxspec.lang.t as T


@T.function
def kernel(B: T.Tensor((48,), "float32"), n: T.int32):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=8))
    tid = T.cuda.thread_idx("x")
    T.assume(n >= {low})
    T.assume(n <= 5)
    s = T.alloc_shared(({stages}, 8), "float32")
"""


def make(seed: int) -> Made:
    """The pipeline with this number."""
    r = random.Random(seed)
    lines: list[str] = []

    def emit(depth: int, guard: str, text: str) -> None:
        if guard:
            lines.append("    " * depth + guard)
            depth += 1
        lines.append("    " * depth + text)

    stages, ahead, low = r.choice((1, 2, 2, 3, 3, 4)), r.choice((0, 1, 1, 2, 3)), r.choice((0, 0, 1, 2))
    for k in range(min(stages, r.choice((0, 1, 1, 2, 2, 3)))):
        emit(1, r.choice(("", "", f"if n > {k}:", "if tid < 6:")), f"s[{k}, {r.choice(('tid', '7 - tid'))}] = 1.0")
    emit(1, "", "T.cuda.cta_sync()")
    emit(1, "", f"for i in T.serial({r.choice(('n', 'n', 'n', '1, n', '0, n, 2', 'n, 5', 'tid, n, 3'))}):")
    if r.random() < 0.85:
        often = f"if i + {ahead} < n:"
        guard = r.choice(("", often, often, "if i > 0:", "if i % 2 == 0:", "if tid < n:"))
        emit(2, guard, f"s[(i + {r.choice((ahead, ahead, ahead, 0, 1))}) % {stages}, tid] = 1.0")
    if r.random() < 0.5:
        emit(2, "", "T.cuda.cta_sync()")
    guard = r.choice(("", "", "", "if i > 0:", "if i > 1:", "if tid < n:", "if i + 1 < n:"))
    emit(2, guard, f"B[i * 8 + tid] = s[(i + {r.choice((0, 0, 0, 1, 2))}) % {stages}, {r.choice(('tid', '7 - tid'))}]")
    emit(2, "", "T.cuda.cta_sync()")
    if r.random() < 0.4:
        emit(1, r.choice(("if n > 1:", "if n > 2:", "if n > 0:")), f"B[tid] = s[{r.randrange(stages)}, 7 - tid]")
    return Made(HEAD.format(low=low, stages=stages) + "\n".join(lines) + "\n", {"n": range(low, 6)})
