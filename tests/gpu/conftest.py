"""Shared by the GPU tests: the scripts' packages, and arrays of the libraries that are installed."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))


def load(path: Path) -> ModuleType:
    """A Python file as a module of its own."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def example() -> Callable[[str], ModuleType]:
    """``example("strided_load")``: the example as a module."""
    return lambda name: load(ROOT / "examples" / f"{name}.py")


@pytest.fixture(params=["torch", "cupy"])
def library(request: pytest.FixtureRequest) -> ModuleType:
    """An array library with a device, or a skip that says which is missing."""
    return pytest.importorskip(request.param)
