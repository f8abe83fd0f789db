"""Arithmetic as an H200 does it: one PTX entry for each operation, run there once, remembered as digests of results.

    python tests/simulate/measured.py prepare DIR     here: modules and inputs
    python tests/simulate/measured.py run DIR OUT     on a machine with a GPU and CuPy: results
    python tests/simulate/measured.py record OUT      here: compare with the simulator, write measured_sm_90.json

``tests/simulate/test_sim_measured.py`` holds the simulator against that file.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np

RECORD = Path(__file__).with_name("measured_sm_90.json")
BITS = {"u8": 8, "s8": 8, "u16": 16, "s16": 16, "f16": 16, "bf16": 16, "u32": 32, "s32": 32, "f32": 32, "f16x2": 32,
        "bf16x2": 32, "u64": 64, "s64": 64, "f64": 64, "b16": 16, "b32": 32, "b64": 64, "u16x2": 32, "s16x2": 32}
MANTISSA = {"f16": 10, "bf16": 7, "f32": 23, "f64": 52}
WORDS = {16: np.uint16, 32: np.uint32, 64: np.uint64}
REGISTER = {16: "%h", 32: "%r", 64: "%d"}


@dataclass(frozen=True)
class Case:
    """``opcode`` on inputs of the types ``sources``, giving a value of type ``target`` (``pred``: 0 or 1)."""

    opcode: str
    target: str
    sources: tuple[str, ...]


def width(type_: str) -> int:
    """Register bits for a type: bytes live in 32-bit registers."""
    return max(BITS[type_], 16) if BITS[type_] != 8 else 32


def values(type_: str, seed: int) -> np.ndarray:
    """Edge patterns of the type and random ones, as register words."""
    rng = np.random.default_rng(seed)
    bits = BITS[type_]
    base = type_.removesuffix("x2")
    if base in MANTISSA:
        m = MANTISSA[base]
        n = BITS[base]
        inf = ((1 << (n - 1 - m)) - 1) << m
        one = ((1 << (n - 2 - m)) - 1) << m
        edge = [0, 1, 2, (1 << m) - 1, 1 << m, (1 << m) + 1, one - 1, one, one + 1, one + (1 << m), one + (3 << m - 1),
                inf - 1, inf, inf + 1, inf + (1 << m - 1), (1 << n - 1) - 1, one + (1 << m) * 7, one - (1 << m)]
        edge += [v | 1 << n - 1 for v in edge]
        near = [int(v) for v in one + rng.integers(-(4 << m), 4 << m, 14)]
        edge += near + [v ^ (1 << n - 1) for v in near[::2]]
        if base in ("f32", "f64"):  # what lies at the edges of the narrower formats
            borders = [2.0**-126 * (1 - 2.0**-26), 2.0**-126 * (1 - 2.0**-24), 2.0**-150, 2.0**-150 * 1.001, 2.0**-134,
                       2.0**-14 * (1 - 2.0**-13), 2.0**-25, 2.0**-25 * 1.001, 65519.99, 65520.0,
                       3.4028235677973366e38, 3.3961775292304e38]
            kind = np.float32 if base == "f32" else np.float64
            with np.errstate(all="ignore"):
                edge += [int(v) for v in np.array([*borders, *(-b for b in borders)]).astype(kind).view(WORDS[n])]
        if type_ != base:
            edge = [a << n | b for a, b in zip(edge, edge[7:] + edge[:7])]
    else:
        edge = [0, 1, 2, 3, 5, 7, 31, 32, 33, 63, 64, 65, 100, (1 << bits - 1) - 1, 1 << bits - 1, (1 << bits - 1) + 1,
                (1 << bits) - 1, (1 << bits) - 2, (1 << bits) - 7, 1 << bits // 2, (1 << bits // 2) - 1]
    edge += [int(v) for v in rng.integers(0, 1 << min(bits, 63), 12)]
    if bits == 8:  # the upper bits of the register must not matter
        edge = [(v & 0xFF) | int(u) << 8 for v, u in zip(edge, rng.integers(0, 1 << 24, len(edge)))]
    return np.array([v & (1 << max(bits, width(type_))) - 1 for v in edge], np.uint64).astype(WORDS[width(type_)])


def inputs(case: Case) -> list[np.ndarray]:
    """All combinations of edge values; of three operands, many random ones."""
    columns = [values(t, 10 + k) for k, t in enumerate(case.sources)]
    if len(columns) == 3:
        rng = np.random.default_rng(9)
        picks = [rng.integers(0, c.size, 20000) for c in columns]
        return [np.concatenate([c[p], np.roll(c, -3 * k)[:30], c[:30]]) for k, (c, p) in enumerate(zip(columns, picks))]
    grid = np.meshgrid(*[np.arange(len(c)) for c in columns], indexing="ij")
    out = [c[g.reshape(-1)] for c, g in zip(columns, grid)]
    if case.opcode.startswith(("div", "rem")) and case.target not in MANTISSA:
        out[1] = np.where(out[1] == 0, out[1].dtype.type(3), out[1])  # division by zero has no specified result
    return out


def candidates() -> Iterator[Case]:
    """Spellings to measure; those that the database does not take are left out by :func:`cases`."""
    modes = ("rn", "rz", "rm", "rp")
    floats = ("f32", "f64", "f16", "bf16", "f16x2", "bf16x2")
    for op, mode, ftz, sat, t in product(("add", "sub", "mul"), modes, ("", ".ftz"), ("", ".sat"), floats):
        yield Case(f"{op}.{mode}{ftz}{sat}.{t}", t, (t, t))
    for mode, ftz, sat, t in product(modes, ("", ".ftz"), ("", ".sat"), floats):
        yield Case(f"fma.{mode}{ftz}{sat}.{t}", t, (t, t, t))
        yield Case(f"sqrt.{mode}{ftz}.{t}", t, (t,))
        yield Case(f"div.{mode}{ftz}.{t}", t, (t, t))
    for t in floats:
        yield Case(f"fma.rn.relu.{t}", t, (t, t, t))
        for ftz, nan, op in product(("", ".ftz"), ("", ".NaN"), ("min", "max")):
            yield Case(f"{op}{ftz}{nan}.{t}", t, (t, t))
        for ftz, op in product(("", ".ftz"), ("neg", "abs")):
            yield Case(f"{op}{ftz}.{t}", t, (t,))
    ordered = ("eq", "ne", "lt", "le", "gt", "ge")
    for cmp, ftz, t in product((*ordered, *(o + "u" for o in ordered), "num", "nan"), ("", ".ftz"), floats[:4]):
        yield Case(f"setp.{cmp}{ftz}.{t}", "pred", (t, t))
    whole = ("u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64")
    for d, a in product((*whole, *floats[:4]), repeat=2):
        for mode, ftz, sat in product(("", *(f".{m}" for m in modes), ".rni", ".rzi", ".rmi", ".rpi"), ("", ".ftz"),
                                      ("", ".sat")):
            yield Case(f"cvt{mode}{ftz}{sat}.{d}.{a}", d, (a,))
    for t in (*whole[2:], "u16x2", "s16x2"):
        for op in ("add", "sub", "mul.lo", "mul.hi", "div", "rem", "min", "max", "add.sat", "sub.sat"):
            yield Case(f"{op}.{t}", t, (t, t))
        for op in ("mad.lo", "mad.hi"):
            yield Case(f"{op}.{t}", t, (t, t, t))
        for op in ("neg", "abs"):
            yield Case(f"{op}.{t}", t, (t,))
    for t, wide in (("u16", "u32"), ("s16", "s32"), ("u32", "u64"), ("s32", "s64")):
        yield Case(f"mul.wide.{t}", wide, (t, t))
        yield Case(f"mad.wide.{t}", wide, (t, t, wide))
    for t in ("b16", "b32", "b64", "u16", "u32", "u64", "s16", "s32", "s64"):
        yield Case(f"shl.{t}", t, (t, "u32"))
        yield Case(f"shr.{t}", t, (t, "u32"))


def cases() -> list[Case]:
    """The measured spellings: those that are legal at PTX 9.0 for sm_90."""
    from ptxspec.forms import check

    found = [c for c in candidates() if check(c.opcode, sm="sm_90", ptx="9.0").legal]
    # No assembler takes conversions between bf16 and bytes with the registers used here.
    return [c for c in found if not {"bf16"} < {c.target, *c.sources} & {"bf16", "u8", "s8"}]


def entry(case: Case, name: str) -> str:
    """One entry: element ``i`` of the inputs A, B, C to element ``i`` of the output O."""
    out = 32 if case.target == "pred" else width(case.target)
    lines = [f".visible .entry {name}(.param .u64 A, .param .u64 B, .param .u64 C, .param .u64 O, .param .u32 n)", "{",
             "  .reg .pred %p<3>; .reg .b16 %h<8>; .reg .b32 %r<16>; .reg .b64 %d<16>;",
             "  mov.u32 %r10, %tid.x; mov.u32 %r11, %ctaid.x; mad.lo.u32 %r12, %r11, 128, %r10;",
             "  ld.param.u32 %r13, [n]; setp.ge.u32 %p1, %r12, %r13; @%p1 exit;"]
    names = []
    for k, type_ in enumerate(case.sources):
        bits = width(type_)
        lines.append(f"  ld.param.u64 %d10, [{'ABC'[k]}]; mad.wide.u32 %d11, %r12, {bits // 8}, %d10;"
                     f" ld.global.b{bits} {REGISTER[bits]}{k + 1}, [%d11];")
        names.append(f"{REGISTER[bits]}{k + 1}")
    result = "%p2" if case.target == "pred" else f"{REGISTER[out]}5"
    lines.append(f"  {case.opcode} {', '.join([result, *names])};")
    if case.target == "pred":
        lines.append("  selp.b32 %r5, 1, 0, %p2;")
    lines.append(f"  ld.param.u64 %d10, [O]; mad.wide.u32 %d11, %r12, {out // 8}, %d10;"
                 f" st.global.b{out} [%d11], {REGISTER[out]}5;")
    return "\n".join([*lines, "  ret;", "}"])


def module(chosen: list[Case]) -> str:
    """A module with an entry ``k0``, ``k1``... for each case."""
    return "\n".join([".version 9.0", ".target sm_90", ".address_size 64",
                      *(entry(case, f"k{k}") for k, case in enumerate(chosen))]) + "\n"


def output(case: Case, count: int) -> np.ndarray:
    """Room for the results."""
    return np.zeros(count, WORDS[32 if case.target == "pred" else width(case.target)])


def simulated(case: Case) -> np.ndarray:
    """What the simulator computes."""
    from ptxspec.backend.simulate import PointerArgument, ScalarArgument, simulate

    given = inputs(case)
    out = output(case, given[0].size)
    arrays = [*given, *[given[0]] * (3 - len(given)), out]
    ptx = ".version 9.0\n.target sm_90\n.address_size 64\n" + entry(case, "k0")
    simulate(ptx, "k0", (-(-out.size // 128), 1, 1), (128, 1, 1),
             [*(PointerArgument(a, name) for a, name in zip(arrays, "ABCO")), ScalarArgument(out.size, "u32")],
             check_races=False)
    return out


def digest(array: np.ndarray) -> str:
    """A short name for the contents."""
    return hashlib.sha256(array.tobytes()).hexdigest()[:16]


def prepare(folder: Path) -> None:
    """Write module and cases for :func:`measure`."""
    folder.mkdir(parents=True, exist_ok=True)
    chosen = cases()
    (folder / "module.ptx").write_text(module(chosen))
    (folder / "cases.json").write_text(json.dumps([[c.opcode, c.target, list(c.sources)] for c in chosen]))
    print(len(chosen), "cases")


def measure(folder: Path, out: Path) -> None:
    """Run all cases with CuPy and write one file of results."""
    import cupy  # type: ignore[import-not-found]

    chosen = [Case(o, t, tuple(s)) for o, t, s in json.loads((folder / "cases.json").read_text())]
    binary = folder / "module.cubin"
    loaded = cupy.RawModule(path=str(binary if binary.exists() else folder / "module.ptx"))
    results = {}
    for k, case in enumerate(chosen):
        given = [cupy.asarray(a) for a in inputs(case)]
        result = cupy.asarray(output(case, given[0].size))
        arrays = [*given, *[given[0]] * (3 - len(given)), result]
        loaded.get_function(f"k{k}")((-(-result.size // 128),), (128,), (*arrays, np.uint32(result.size)))
        results[f"k{k}"] = result.get()
    np.savez_compressed(out / "results.npz", **results)
    (out / "cases.json").write_text((folder / "cases.json").read_text())
    print("measured", len(results), "cases on", cupy.cuda.runtime.getDeviceProperties(0)["name"].decode())


def record(out: Path) -> None:
    """Compare the results with the simulator's and write the digests."""
    results = np.load(out / "results.npz")
    chosen = [Case(o, t, tuple(s)) for o, t, s in json.loads((out / "cases.json").read_text())]
    table = {}
    wrong = 0
    for k, case in enumerate(chosen):
        table[case.opcode] = digest(results[f"k{k}"])
        mine, theirs = simulated(case), results[f"k{k}"]
        differ = np.flatnonzero(mine != theirs)
        if differ.size:
            wrong += 1
            print(f"{case.opcode}: {differ.size} of {mine.size} differ")
            for i in differ[:: max(1, differ.size // 4)][:4]:
                row = [hex(int(a[i])) for a in inputs(case)]
                print("   ", row, "simulator", hex(int(mine[i])), "GPU", hex(int(theirs[i])))
    RECORD.write_text(json.dumps({"device": "H200 (sm_90)", "digests": table}, indent=0, sort_keys=True) + "\n")
    print(len(chosen), "cases,", wrong, "differ")


if __name__ == "__main__":
    command, *paths = sys.argv[1:]
    {"prepare": prepare, "run": measure, "record": record}[command](*map(Path, paths))
