"""Every item of the language: proved, emitted, assembled for several chips, simulated, and equal to NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from lang_cases import items

import ptxspec

ITEMS = items()


@pytest.mark.parametrize("name", ITEMS)
def test_item(name: str) -> None:
    case = ITEMS[name](np.random.default_rng(11))
    executable = ptxspec.compile(case.kernel, target="sm_90")
    before = [a.copy() if isinstance(a, np.ndarray) else a for a in case.arguments]
    executable(*case.arguments)
    for k, (old, new) in enumerate(zip(before, case.arguments, strict=True)):
        if isinstance(new, np.ndarray):
            np.testing.assert_array_equal(new, case.expected.get(k, old), err_msg=f"argument {k}")
    for target in case.targets:
        assert ptxspec.compile(case.kernel, target=target).cubin.startswith(b"\x7fELF"), target
