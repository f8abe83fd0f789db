"""The extension is asked for; where it was not built, these tests say how."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from launch_world import World, make_world
from ptxspec.backend.native import calls


@pytest.fixture(scope="session", autouse=True)
def built() -> None:
    """Skip where the environment was made without a C compiler."""
    calls.available.cache_clear()
    if calls.available() is None:
        pytest.skip("the extension is not built (scripts/native builds it)")


@pytest.fixture(params=["native", "python", "plans"])
def world(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """The extension, its counterpart in Python, and plans alone: a test that takes it holds for each."""
    yield from make_world(monkeypatch, request.param)
