"""Run the command line in this process, as a shell would."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from ptxspec.cli import run

KERNELS = Path(__file__).resolve().parent.parent / "run" / "kernels.py"


@dataclass(frozen=True)
class Outcome:
    status: int
    out: str
    err: str


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Outcome]:
    """``cli("check", "ld.global.b32", stdin="")``."""

    def call(*arguments: str, stdin: str = "") -> Outcome:
        monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        capsys.readouterr()
        status = run(arguments)
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        return Outcome(status, captured.out, captured.err)

    return call


@pytest.fixture
def kernels() -> str:
    """A file of proved kernels."""
    return str(KERNELS)
