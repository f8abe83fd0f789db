"""Random small kernels as text: legal moves in random forms, widths, orders of rows, guards, loops and exchanges.

Every kernel takes ``A`` (``rows_in`` rows) and ``B`` (``rows_out`` rows) of one element type. They are made to be
provable; the few that are not (an unlucky combination) count as not proved and are not run.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cache

import ptxspec

HEADER = "from ptxspec import T\nfrom ptxspec.layout import S, TileLayout\n\n\n"

# (element type, NumPy's type of the same size, lanes, the end of the opcode)
ELEMENTS = (
    ("float32", "uint32", 4, "v4.b32"), ("float32", "uint32", 2, "v2.f32"), ("float32", "uint32", 1, "b32"),
    ("int32", "uint32", 4, "v4.s32"), ("uint32", "uint32", 1, "u32"), ("float64", "uint64", 2, "v2.b64"),
    ("float64", "uint64", 1, "f64"), ("int64", "uint64", 2, "v2.s64"), ("float16", "uint16", 4, "v4.b16"),
    ("float16", "uint16", 2, "v2.b16"), ("bfloat16", "uint16", 4, "v4.b16"), ("int16", "uint16", 1, "b16"),
    ("uint8", "uint8", 4, "v4.b8"), ("uint8", "uint8", 2, "v2.b8"), ("int8", "uint8", 1, "b8"),
    ("float8_e4m3", "uint8", 4, "v4.b8"), ("float8_e5m2", "uint8", 2, "v2.b8"), ("bool", "uint8", 4, "v4.b8"),
    ("uint16", "uint16", 4, "v4.u16"), ("uint64", "uint64", 1, "u64"), ("bits16", "uint16", 2, "v2.b16"),
    ("bits32", "uint32", 4, "v4.b32"), ("bits64", "uint64", 2, "v2.b64"), ("bits128", "V16", 1, "b128"),
)
LOADS = ("ld.global", "ld.global.nc", "ld.global.ca", "ld.global.cg", "ld.global.cs",
         "ld.weak.global", "ld.relaxed.gpu.global", "ld.acquire.sys.global", "ld.volatile.global",
         "ld.global.L1::no_allocate", "ld.global.L2::128B", "ld.global.nc.L1::evict_last.L2::256B")
STORES = ("st.global", "st.global.wb", "st.global.cg", "st.global.cs", "st.global.wt", "st.weak.global",
          "st.relaxed.gpu.global", "st.release.sys.global", "st.volatile.global", "st.global.L1::no_allocate")


@dataclass(frozen=True)
class RandomKernel:
    """``source`` defines ``kernel``; shapes in rows and lanes; ``bits`` is NumPy's name of the raw element."""

    source: str
    bits: str
    lanes: int
    rows_in: int
    rows_out: int


@cache
def _legal(opcode: str) -> bool:
    return ptxspec.database().check(opcode, sm="sm_90").legal


def make(seed: int) -> RandomKernel:
    """The kernel of a seed."""
    r = random.Random(seed)
    dtype, bits, lanes, tail = r.choice(ELEMENTS)
    size = {"uint8": 1, "uint16": 2, "uint32": 4, "uint64": 8, "V16": 16}[bits] * lanes
    threads = r.choice((1, 7, 32, 33, 64, 96, 128, 200, 256))
    blocks = r.choice((1, 2, 3, 5, 16))
    trips = r.choice((1, 1, 2, 5))
    rows_out = threads * blocks * trips
    body, row = [], "i"
    body.append("tid = T.cuda.thread_idx(\"x\")")
    body.append("block = T.cuda.block_idx(\"x\")")
    loop = trips > 1
    inner = []
    inner.append(f"i = (k * {blocks} + block) * {threads} + tid" if loop else f"i = block * {threads} + tid")
    where = r.choice(("same", "reverse", "scale", "shift", "xor", "div"))
    rows_in = rows_out
    if where == "reverse":
        row = f"{rows_out - 1} - i"
    elif where == "scale":
        step, add = r.choice((2, 3, 5)), r.choice((0, 1, 7))
        rows_in, row = rows_out * step + add, f"i * {step} + {add}"
    elif where == "shift":
        row = f"(i + {r.randrange(1, rows_out + 1)}) % {rows_out}"
    elif where == "xor" and rows_out % 4 == 0:
        row = f"i ^ {r.choice((1, 2, 3))}"
    elif where == "div":
        row = f"i // {r.choice((2, 3, 4))}"
    load, store = (f"{r.choice([p for p in known if _legal(f'{p}.{tail}')])}.{tail}" for known in (LOADS, STORES))
    declared = [f"registers = T.alloc_local(({lanes},), \"{dtype}\", layout=\"default\")"]
    inner.append(f"T.cuda.tile.apply(T.ptx[\"{load}\"], registers, A.sub[{row}, :])")
    if r.random() < 0.4 and threads >= 32:
        declared.append(f"shared = T.alloc_shared(({threads}, {lanes}), \"{dtype}\", align={max(size, 4)})")
        other = r.choice((f"(tid + {r.randrange(1, threads)}) % {threads}", f"{threads - 1} - tid",
                          "tid ^ 1" if threads % 2 == 0 else "tid"))
        inner += [
            f"T.cuda.tile.apply(T.ptx[\"st.shared.{tail}\"], shared.sub[tid, :], registers)",
            "T.cuda.cta_sync()",
            f"T.cuda.tile.apply(T.ptx[\"ld.shared.{tail}\"], registers, shared.sub[{other}, :])",
        ]
        if loop:
            inner.append("T.cuda.cta_sync()")
    if r.random() < 0.3:
        word = tail.split(".")[-1].replace("s", "b").replace("u", "b").replace("f", "b")
        if word != "b8":
            declared.append(f"saved = T.alloc_local(({lanes}, 1), \"{dtype}\", layout=\"default\")")
            inner += [f"T.cuda.tile.apply(T.ptx[\"mov.{word}\"], saved, registers.view({lanes}, 1))",
                      f"T.cuda.tile.apply(T.ptx[\"mov.{word}\"], registers.view({lanes}, 1), saved)"]
    out = f"T.cuda.tile.apply(T.ptx[\"{store}\"], B.sub[i, :], registers"
    guard = r.choice(("none", "none", "if", "pred"))
    limit = r.randrange(1, threads + 1)
    if guard == "if":
        inner += [f"if tid < {limit}:", f"    {out})"]
    elif guard == "pred":
        inner.append(f"{out}, pred=tid < {limit})")
    else:
        inner.append(f"{out})")
    body += declared
    if loop:
        body.append(f"for k in T.serial(0, {trips}):")
        body += ["    " + line for line in inner]
    else:
        body += inner
    align = max(size, 4)
    lines = [
        "@T.function", "def kernel(",
        f"    A: T.Tensor(({rows_in}, {lanes}), \"{dtype}\", align={align}),",
        f"    B: T.Tensor(({rows_out}, {lanes}), \"{dtype}\", align={align}),",
        "):",
        f"    T.device_entry(launch=T.cuda.LaunchConfig(grid={blocks}, block={threads}))",
        *("    " + line for line in body),
    ]
    return RandomKernel(HEADER + "\n".join(lines) + "\n", bits, lanes, rows_in, rows_out)
