"""Python that is not meant for kernels: what is decorated, called, or raises while a kernel is read."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from loading import written

import ptxspec
from ptxspec import T
from ptxspec.diagnostics import KernelError, LaunchError

_numbers = count()


class Odd:
    """An object whose every method fails."""

    def __getattr__(self, name: str) -> object:
        raise RuntimeError(f"no {name}")

    def __repr__(self) -> str:
        raise RuntimeError("no text")

    def __bool__(self) -> bool:
        raise RuntimeError("no truth")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no comparison")

    __hash__ = None  # type: ignore[assignment]


def module_of(text: str, tmp_path: Path) -> ModuleType:
    """``text`` as a module of its own."""
    return written(tmp_path / f"misuse_{next(_numbers)}.py", "from ptxspec import T\n" + text)


@pytest.mark.parametrize("what", [
    "odd.x", "A[1] + odd", "odd + A[1]", "1 if odd else 2", "A[odd]", "odd(A[0])", "A[0] == odd", "T.Select(odd, 1, 2)",
    "T.int32(odd)", "T.min(A[0], odd)", "T.alloc_local(odd)[0]", "T.alloc_local((2,), odd)[0]", "[i for i in odd][0]",
    "T.ptx[odd]", "not odd", "A[0] > 0 and odd", "A[0] in odd", "f'{odd}'", "odd[0]", "-odd", "A.view(odd)[0]",
    "A.sub[odd:][0]", "range(odd)", "len(odd)", "T.cuda.thread_idx(odd)", "T.assume(odd)", "A.rearrange(odd)"])
def test_objects_whose_methods_fail(what: str, tmp_path: Path) -> None:
    """What they raise is told as theirs, at the line that met them; never as a defect of this package."""
    module = module_of("def make(odd):\n    @T.function\n    def kernel(A: T.Tensor((4,), 'int32')):\n"
                     "        T.device_entry(launch=T.cuda.LaunchConfig(block=1))\n"
                     f"        x = {what}\n        A[0] = x\n    return kernel\n", tmp_path)
    with pytest.raises(KernelError) as caught:
        module.make(Odd()).kernel()
    found = caught.value.diagnostics[0]
    assert found.code != "K290"
    assert found.span is not None
    assert found.span.line == 6


def test_an_array_has_no_truth(tmp_path: Path) -> None:
    module = module_of("def make(array):\n    @T.function\n    def kernel(A: T.Tensor((4,), 'int32')):\n"
                     "        T.device_entry(launch=T.cuda.LaunchConfig(block=1))\n"
                     "        if array:\n            A[0] = 1\n    return kernel\n", tmp_path)
    with pytest.raises(KernelError, match="truth of an object of type ndarray raised ValueError") as caught:
        module.make(np.ones(3)).kernel()
    assert caught.value.code == "K208"


def test_where_a_closure_raised(tmp_path: Path) -> None:
    """Both places: the call in the kernel, and the line that raised."""
    helper = module_of("def boom():\n    values = {}\n    return values['missing']\n", tmp_path)
    module = module_of("def make(boom):\n    @T.function\n    def kernel(A: T.Tensor((4,), 'int32')):\n"
                     "        T.device_entry(launch=T.cuda.LaunchConfig(block=1))\n"
                     "        A[0] = boom()\n    return kernel\n", tmp_path)
    with pytest.raises(KernelError) as caught:
        module.make(helper.boom).kernel()
    found = caught.value.diagnostics[0]
    assert found.code == "K208"
    assert found.message == "`boom(...)` raised KeyError: 'missing'"
    assert found.span is not None
    assert found.span.line == 6
    at = found.notes[0].span
    assert at is not None
    assert (at.file, at.line) == (helper.__file__, 4)


def test_what_is_no_function() -> None:
    with pytest.raises(KernelError) as caught:
        @T.function
        class Kernel:
            pass
    found = caught.value.diagnostics[0]
    assert (found.code, found.message) == ("K200", "@T.function decorates a function written with `def`, not the class "
                                                   "`Kernel`")
    assert found.span is not None
    assert Path(found.span.file).name == "test_misuse.py"


def test_a_target_that_nobody_knows() -> None:
    @T.function
    def kernel(A: T.Tensor((4,), "int32")):
        T.device_entry(launch=T.cuda.LaunchConfig())
        A[0] = 1

    assert ptxspec.prove(kernel, sm="100a").sm == "sm_100a"
    for ask in (lambda: ptxspec.prove(kernel, sm="sm_1"), lambda: ptxspec.compile(kernel, target="sm_1")):
        with pytest.raises(ptxspec.PtxspecError, match="sm_1"):
            ask()


@pytest.mark.parametrize("given", [3, None, "kernel", print, dict, Odd])
def test_what_is_no_kernel(given: object) -> None:
    with pytest.raises(KernelError) as caught:
        ptxspec.prove(given)  # type: ignore[arg-type]
    assert caught.value.code == "K200"
    with pytest.raises(LaunchError) as refused:
        ptxspec.compile(given)  # type: ignore[arg-type]
    assert refused.value.code == "R302"
