"""Shared by all tests: what this machine has, and honest skipping of what it lacks."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# Caches of earlier runs must not decide a test.
os.environ.setdefault("PTXSPEC_CACHE", "off")


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return ROOT


def _device_present() -> bool:
    try:
        from ptxspec.backend.device import device_present
    except ImportError:
        return False
    return device_present()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip ``gpu`` tests where no CUDA device answers; pytest's closing line counts them."""
    marked = [item for item in items if item.get_closest_marker("gpu")]
    if not marked or _device_present():
        return
    skip = pytest.mark.skip(reason="no CUDA device on this machine")
    for item in marked:
        item.add_marker(skip)
