"""Shared by all tests: what this machine has, and honest skipping of what it lacks."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# Caches of earlier runs must not decide a test.
os.environ.setdefault("PTXSPEC_CACHE", "off")


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return ROOT


UPDATE_GOLDEN = "PTXSPEC_UPDATE_GOLDEN"


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """``golden(name, text)``: ``text`` must equal the file ``golden/name`` beside the test.

    One switch accepts new text, and refuses to run in CI, so that golden files change only where a person reads them.
    """
    folder = Path(request.path).parent / "golden"

    def check(name: str, text: str) -> None:
        path, actual = folder / name, text.replace(f"{ROOT}/", "")
        if os.environ.get(UPDATE_GOLDEN):
            assert not os.environ.get("CI"), f"{UPDATE_GOLDEN} does not run in CI"
            folder.mkdir(exist_ok=True)
            path.write_text(actual)
            return
        hint = f"to accept the new text: {UPDATE_GOLDEN}=1 pytest {request.path.parent.relative_to(ROOT)}"
        assert path.exists(), f"there is no {path.name} yet; {hint}"
        assert actual == path.read_text(), f"{path.name} says something else; {hint}"

    return check


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
