"""The target that a kernel is read for. Reading asks for it only where the choice of an instruction depends on it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

DEFAULT = "sm_90"

_aimed: ContextVar[str] = ContextVar("ptxspec_target", default=DEFAULT)
_questions: ContextVar[list[str] | None] = ContextVar("ptxspec_target_questions", default=None)


@contextmanager
def aiming(sm: str) -> Iterator[None]:
    """Kernels read inside are read for ``sm``."""
    token = _aimed.set(sm)
    try:
        yield
    finally:
        _aimed.reset(token)


def aimed() -> str:
    """The target, without being noticed."""
    return _aimed.get()


def target() -> str:
    """The target: what is being read now depends on it."""
    noted = _questions.get()
    if noted is not None:
        noted.append(_aimed.get())
    return _aimed.get()


@contextmanager
def noticing() -> Iterator[list[str]]:
    """A list that is not empty afterwards when what was read inside depends on the target."""
    noted: list[str] = []
    token = _questions.set(noted)
    try:
        yield noted
    finally:
        _questions.reset(token)
