"""What the image itself says of an entry: the same as the verbose log, and nothing where it is no image."""

from __future__ import annotations

import random

import pytest
from loading import example
from ptxspec.backend.assemble import (
    Cubin,
    Toolchain,
    assemble,
    image_resources,
    parse_resources,
    resources_of,
    toolchains,
)
from ptxspec.backend.emit import emit

NAMES = ("cta_copy", "read_next_row", "strided_load")


def made(name: str, tool: Toolchain) -> Cubin:
    return assemble(emit(getattr(example(name), name).kernel()).ptx, "sm_90", using=tool)


@pytest.mark.parametrize("tool", toolchains(), ids=lambda tool: tool.name)
@pytest.mark.parametrize("name", NAMES)
def test_the_image_says_what_the_log_says(name: str, tool: Toolchain) -> None:
    cubin = made(name, tool)
    (logged,), (read,) = parse_resources(cubin.log), image_resources(cubin.data, "sm_90")
    assert logged.registers > 0
    assert (read.entry, read.target, read.registers, read.stack) == (
        logged.entry, logged.target, logged.registers, logged.stack)
    assert resources_of("", cubin.data, "sm_90") == (read,), "a log that does not say"
    assert resources_of(cubin.log, cubin.data, "sm_90") == (logged,)


def test_what_is_no_image_says_nothing() -> None:
    whole = made("cta_copy", toolchains()[0]).data
    draw = random.Random(1)
    for raw in (b"", b"\x7fELF", b"\x7fELF\x02\x01" + bytes(58), whole[:100], whole[: len(whole) // 2]):
        assert image_resources(raw, "sm_90") == ()
    for _ in range(300):   # damage anywhere is no traceback
        damaged = bytearray(whole)
        for _ in range(8):
            damaged[draw.randrange(len(damaged))] = draw.randrange(256)
        image_resources(bytes(damaged), "sm_90")
