"""Opcode strings: noise, pieces of the vocabulary in any order, and legal opcodes with a change."""

from __future__ import annotations

import json
import random
import string
from collections import Counter
from collections.abc import Iterator
from itertools import islice

from ptxspec.forms import check, registry
from ptxspec.forms.bulk import Bulk
from ptxspec.forms.enumerate import forms
from ptxspec.forms.target import machine

_NOISE = string.printable + "\u00e9\u2028\x00\ud800\U0001f600"


def opcodes(count: int, rng: random.Random) -> Iterator[str]:
    """``count`` strings, a third of each kind."""
    legal = [f.opcode for m in registry.mnemonics() for f in islice(forms(m, sm="sm_100a"), 300)]
    words = sorted({w for m in registry.mnemonics() for w in registry.table(m).tokens})
    for _ in range(count):
        kind = rng.randrange(3)
        if kind == 0:
            yield "".join(rng.choice(_NOISE) for _ in range(rng.choice((0, 1, 3, 9, 40, 900))))
        elif kind == 1:
            mnemonic = rng.choice(registry.mnemonics())
            own = [*registry.table(mnemonic).names.values()] if rng.random() < 0.9 else [("", w) for w in words]
            rng.shuffle(own)
            if rng.random() < 0.7:
                own = list(dict(own).items())  # one word a qualifier
            yield ".".join([mnemonic, *(word for _, word in own[: rng.randrange(12)])])
        else:
            text = list(rng.choice(legal))
            for _ in range(rng.randrange(4)):
                at = rng.randrange(len(text) + 1)
                text[at : at + rng.randrange(3)] = rng.choice(("", ".", rng.choice(_NOISE), "." + rng.choice(words)))
            yield "".join(text)


def problem(opcode: str, toolkit: str, rng: random.Random, seen: Counter[str]) -> str:
    """What is wrong with the answer for ``opcode``; ``""`` when it is a verdict with its reason."""
    sm, ptx = rng.choice((("sm_60", "6.0"), ("sm_90", "9.0"), ("sm_100a", "9.5")))
    verdict = check(opcode, sm=sm, ptx=ptx, toolkit=toolkit, entry=rng.random() < 0.3)
    seen[verdict.code or "legal"] += 1
    here = machine(sm, ptx, toolkit)
    line = Bulk(here).lines([opcode])[0]
    no = f"not {'judged' if verdict.ptxas.value == 'unknown' else 'legal'} [{verdict.code}] "
    if not line.startswith(f"{opcode}: {'legal' if verdict.legal else no}"):
        return f"bulk says {line!r}, check says {verdict!r}"
    answer = json.loads(Bulk(here, json=True).lines([opcode])[0])
    if (answer["opcode"], answer["legal"], answer["code"]) != (opcode, verdict.legal, verdict.code):
        return f"bulk says {answer}, check says {verdict!r}"
    diagnostic = verdict.judgement.diagnostic() if not verdict.legal else None
    if diagnostic is not None and (diagnostic.code != verdict.code or not diagnostic.message):
        return f"{verdict.code} is explained as {diagnostic}"
    if not verdict.legal and rng.random() < 0.01:
        if any(not check(near, sm=sm, ptx=ptx, toolkit=toolkit).legal for near in verdict.nearest):
            return "a nearest form is not legal"
    return ""


__all__ = ["opcodes", "problem"]
