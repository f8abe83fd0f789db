"""Legality checks: one call, warm; and many on standard input; the real assembler beside it."""

from __future__ import annotations

import itertools
import os
import random
import subprocess
import sys
import tempfile
import time

import ptxspec
from benchmarks.record import Result
from benchmarks.timing import median_seconds

TITLE = "Legality checks"
METHOD = (
    "A shuffled mix of legal spellings of `ld`, `st` and `mov` for sm_90 and of the same with one modifier replaced, "
    "dropped or doubled (most of those are illegal). `check` calls go through the public API with every spelling "
    "different from the one before; the bulk figure is the whole process `ptxspec check -`, start included, with its "
    "answers thrown away. The assembler is nvJitLink or ptxas on one module holding legal `ld.global` spellings."
)


def spellings(count: int, seed: int) -> list[str]:
    """Half of them legal, half mutated."""
    db = ptxspec.database()
    legal = [
        form.opcode for mnemonic in ("ld", "st", "mov")
        for form in itertools.islice(db.forms(mnemonic, sm="sm_90"), max(2000, count))
    ]
    random_ = random.Random(seed)
    parts = sorted({part for opcode in legal for part in opcode.split(".")[1:]})
    mixed = []
    for _ in range(count):
        opcode = random_.choice(legal)
        if random_.random() < 0.5:
            pieces = opcode.split(".")
            at = random_.randrange(1, len(pieces))
            pieces[at : at + 1] = random_.choice(([], [random_.choice(parts)], [pieces[at]] * 2))
            opcode = ".".join(pieces)
        mixed.append(opcode)
    return mixed


def _calls(opcodes: list[str]) -> float:
    check = ptxspec.database().check
    times = iter(itertools.cycle(opcodes))

    def some() -> None:
        for opcode in itertools.islice(times, len(opcodes)):
            check(opcode, sm="sm_90", ptx="9.0")

    some()
    return median_seconds(some, rounds=5) / len(opcodes)


def _bulk(opcodes: list[str]) -> float:
    """Seconds of one ``ptxspec check -`` over all of them."""
    with tempfile.TemporaryFile("w+") as given:
        given.write("\n".join(opcodes) + "\n")
        given.seek(0)
        command = [sys.executable, "-P", "-c", "from ptxspec.cli import main; main()", "check", "-", "--sm", "sm_90"]
        begun = time.perf_counter()
        done = subprocess.run(command, stdin=given, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
        taken = time.perf_counter() - begun
    if done.returncode not in (0, 1):
        raise RuntimeError(done.stderr.decode()[-500:])
    return taken


def assembler_rate(count: int) -> tuple[float, str] | None:
    """Legal ``ld.global`` spellings a second that an assembler takes, and which assembler; None where there is none."""
    from ptxspec.backend.assemble import assemble

    from ptxspec.diagnostics import AssembleError

    db = ptxspec.database()
    plain = [
        form.opcode for form in itertools.islice(db.forms("ld", space="global", vec="v2", type="b32", sm="sm_90"), 400)
        if "cache_hint" not in form.opcode
    ]
    lines = [f"    {opcode} {{%r1, %r2}}, [%rd1];" for opcode in itertools.islice(itertools.cycle(plain), count)]
    head = [".version 9.0", ".target sm_90", ".address_size 64", ".visible .entry k(.param .u64 p)", "{",
            "    .reg .b32 %r<4>;", "    .reg .b64 %rd<4>;", "    ld.param.u64 %rd1, [p];"]
    text = "\n".join([*head, *lines, "    ret;", "}", ""])
    try:
        assemble("\n".join([*head, lines[0], "    ret;", "}", ""]), "sm_90")
        begun = time.perf_counter()
        cubin = assemble(text, "sm_90")
        return count / (time.perf_counter() - begun), f"{cubin.tool.kind} {cubin.version}"
    except AssembleError:
        return None


def run(result: Result, quick: bool) -> None:
    """Fill ``result``."""
    seed = int.from_bytes(os.urandom(4), "little")
    few, many = (2_000, 20_000) if quick else (20_000, 400_000)
    opcodes = spellings(few, seed)
    db = ptxspec.database()
    legal = sum(db.check(opcode, sm="sm_90", ptx="9.0").legal for opcode in opcodes)
    one = "ld.global.v4.b32"
    again = median_seconds(lambda: db.check(one, sm="sm_90", ptx="9.0"), rounds=9, number=2000)
    result.add("check of one spelling, again and again", again * 1e6, "us", budget=5.0)
    result.add(f"check of {few:,} spellings, each once a round", _calls(opcodes) * 1e6, "us each", budget=5.0,
               note=f"{legal / few:.0%} legal; verdicts may be remembered from the round before")
    bulk = spellings(many, seed + 1)
    right = [opcode for opcode in bulk if db.check(opcode, sm="sm_90").legal]
    assembler = assembler_rate(2_000 if quick else 20_000)
    rate = many / _bulk(bulk)
    result.add(f"check - of {many:,} lines ({len(set(bulk)):,} different)", rate, "opcodes/s", lower=False,
               budget=None if quick else 200_000.0,
               against=assembler[1] if assembler else "an assembler", other=assembler[0] if assembler else None)
    result.add(f"check - of the {len(right):,} legal ones among them", len(right) / _bulk(right), "opcodes/s",
               against=assembler[1] if assembler else "an assembler", other=assembler[0] if assembler else None,
               lower=False)
    legal_forms = list(itertools.islice(db.forms("ld", sm="sm_90"), few * 5))
    different = list(dict.fromkeys(form.opcode for form in legal_forms))
    first = _bulk(different)
    result.add(f"check - of {len(different):,} lines, all different", len(different) / first, "opcodes/s", lower=False)
    result.remark(f"seed {seed}; whole process start included in both bulk figures")


