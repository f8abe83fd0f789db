"""Promotion and refusals of the user's typed arithmetic."""

from __future__ import annotations

import pytest

from ptxspec.diagnostics import KernelError
from ptxspec.scalar import Const, Var
from ptxspec.scalar import typed as ty

I32 = Var("i", "int32", "param")
U32 = Var("u", "uint32", "param")
I64 = Var("l", "int64", "param")
F32 = Var("f", "float32", "param")


def test_numbers_take_the_other_sides_type() -> None:
    assert ty.binary("add", I64, 1).dtype == "int64"
    assert ty.binary("add", 1, F32).dtype == "float32"
    assert ty.binary("add", I32, I64).dtype == "int64"


@pytest.mark.parametrize(("code", "make"), [
    ("K110", lambda: ty.binary("add", I32, 1 << 40)),
    ("K111", lambda: ty.binary("add", I32, U32)),
    ("K111", lambda: ty.binary("add", I32, 0.5)),
    ("K112", lambda: ty.binary("div", I32, I32)),
    ("K113", lambda: ty.binary("floordiv", I32, 0)),
    ("K114", lambda: ty.binary("xor", F32, F32)),
])
def test_refusals_have_their_code(code: str, make: object) -> None:
    with pytest.raises(KernelError) as caught:
        make()  # type: ignore[operator]
    assert caught.value.code == code


def test_constants_fold_but_an_overflow_is_left_to_the_proof() -> None:
    folded = ty.binary("mul", Const(6, "int32"), 7)
    assert isinstance(folded, Const)
    assert folded.value == 42
    assert not isinstance(ty.binary("mul", Const(1 << 20, "int32"), 1 << 20), Const)


def test_a_kernel_value_has_no_python_truth() -> None:
    with pytest.raises(TypeError):
        bool(I32)
