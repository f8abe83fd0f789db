"""Shared by the GPU tests: the scripts' packages, and arrays of the libraries that are installed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(Path(__file__).parent), str(ROOT / "tests" / "lang")]

from loading import example as load_example  # noqa: E402


@pytest.fixture(scope="session")
def example() -> Callable[[str], ModuleType]:
    """``example("strided_load")``: the example as a module."""
    return load_example


@pytest.fixture(params=["torch", "cupy"])
def library(request: pytest.FixtureRequest) -> ModuleType:
    """An array library with a device, or a skip that says which is missing."""
    return pytest.importorskip(request.param)
