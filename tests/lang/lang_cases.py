"""What a kernel for an item of the language consists of, and all of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from ptxspec import T


@dataclass(frozen=True)
class Case:
    """A kernel, what it is called with, and the arguments afterwards by position."""

    kernel: T.KernelFunction
    arguments: list[object]
    expected: dict[int, np.ndarray]
    targets: tuple[str, ...] = field(default=("sm_90", "sm_80", "sm_120"))


Maker = Callable[[np.random.Generator], Case]
ITEMS: dict[str, Maker] = {}


def item(maker: Maker) -> Maker:
    """Register ``maker`` under its name."""
    ITEMS[maker.__name__] = maker
    return maker


def f32(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Random binary32 numbers."""
    return rng.standard_normal(shape).astype(np.float32)


def items() -> dict[str, Maker]:
    """All of them."""
    from importlib import import_module
    for name in ("lang_items", "lang_more_items"):
        import_module(name)
    return ITEMS
