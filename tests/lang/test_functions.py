"""Where kernels may be defined, and what @T.function hands out."""

from __future__ import annotations

import linecache
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from ptxspec.diagnostics import KernelError
from ptxspec.lang import ir
from ptxspec.lang import t as T

COPY = '''
from ptxspec.lang import t as T
size = {size}
@T.function
def copy(A: T.Tensor((size,), "int32"), B: T.Tensor((size,), "int32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=size))
    B[T.cuda.thread_idx()] = A[T.cuda.thread_idx()]
'''


def run(text: str, file: str, *, lines: bool = True) -> dict[str, object]:
    """The names of ``text`` executed as a notebook cell would be."""
    if lines:
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    names: dict[str, object] = {}
    exec(compile(text, file, "exec"), names)
    return names


def test_kernels_in_cells_that_look_alike() -> None:
    first = run(COPY.format(size=4), "<cell 1>")["copy"]
    second = run(COPY.format(size=8), "<cell 2>")["copy"]
    assert isinstance(first, T.KernelFunction)
    assert isinstance(second, T.KernelFunction)
    assert [k.kernel().params[0].shape[0].const for k in (first, second)] == [4, 8]
    assert second.kernel().span.file == "<cell 2>"


def test_source_that_is_not_to_be_had() -> None:
    kernel = run(COPY.format(size=4), "<nowhere>", lines=False)["copy"]
    assert isinstance(kernel, T.KernelFunction)
    with pytest.raises(KernelError) as caught:
        kernel.kernel()
    assert caught.value.code == "K200"
    assert "linecache" in caught.value.diagnostics[0].render()


def test_postponed_and_quoted_annotations_see_closures_and_locals() -> None:
    def make(rows: int) -> T.KernelFunction:
        columns = rows * 2   # only the annotation names it, so it is in no closure

        @T.function
        def fill(A: T.Tensor((rows, columns), 'float32'), value: T.float32):
            T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=rows))
            A[T.cuda.thread_idx(), 0] = value

        return fill

    assert [e.const for e in make(3).kernel().params[0].shape] == [3, 6]
    assert make(4).kernel().launch.block == (4, 1, 1)
    value = make(2).kernel().params[1]
    assert isinstance(value, ir.Var)
    assert (value.role, value.dtype, value.lo) == ("param", "float32", None)


def test_several_kernels_and_a_method_like_class_body() -> None:
    class Kernels:
        @T.function
        def one(A: T.Tensor((4,), "int32")):
            T.device_entry(launch=T.cuda.LaunchConfig())
            A[0] = 1

        @T.function
        def two(A: T.Tensor((4,), "int32")):
            T.device_entry(launch=T.cuda.LaunchConfig())
            A[0] = 2

    stores = [k.kernel().body[0] for k in (Kernels.one, Kernels.two)]
    assert [repr(s.value) for s in stores] == ["1", "2"]
    assert Kernels.one.kernel().name == "one"


def test_a_kernel_is_not_called() -> None:
    @T.function
    def nothing(A: T.Tensor((4,), "int32")):
        T.device_entry(launch=T.cuda.LaunchConfig())

    with pytest.raises(KernelError) as caught:
        nothing(3)
    assert caught.value.code == "K219"
    assert "ptxspec.compile(nothing)" in str(caught.value)
    assert repr(nothing).startswith("<kernel nothing at ")
    assert T.function(nothing) is nothing


@pytest.mark.parametrize("call", [
    lambda: T.cuda.thread_idx("x"), lambda: T.alloc_local((4,)), lambda: T.assume(True),
    lambda: T.cuda.tile.apply(T.ptx["mov.b32"], 1, 2), lambda: T.cuda.cta_sync(), lambda: T.device_entry(launch=None),
])
def test_device_functions_outside_kernels(call) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(KernelError) as caught:
        call()
    assert caught.value.code == "K219"


def test_only_functions_become_kernels() -> None:
    for thing in (3, len, lambda x: x):
        with pytest.raises(KernelError) as caught:
            T.function(thing).kernel()  # type: ignore[arg-type]
        assert caught.value.code in ("K200", "K203", "K213", "K212")


def test_helpers_without_source_are_named(tmp_path: Path) -> None:
    names: dict[str, object] = {"T": T}
    exec("def hidden(x):\n    return x + 1\n", names)
    hidden = names["hidden"]

    @T.function
    def kernel(A: T.Tensor((4,), "int32")):
        T.device_entry(launch=T.cuda.LaunchConfig())
        A[0] = hidden(A[1])

    with pytest.raises(KernelError) as caught:
        kernel.kernel()
    assert caught.value.code == "K200"
    assert caught.value.diagnostics[0].span.line == kernel.line + 3


def test_reading_kernels_loads_nothing_heavy(tmp_path: Path) -> None:
    script = tmp_path / "load.py"
    script.write_text(textwrap.dedent('''
        import sys
        from ptxspec.lang import t as T
        from ptxspec.layout import S, TileLayout
        @T.function
        def kernel(A: T.Tensor((64, 4), "float32")):
            T.device_entry(launch=T.cuda.LaunchConfig(block=64))
            r = T.alloc_local((4,))
            T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], r, A.sub[T.cuda.thread_idx()])
        kernel.kernel()
        heavy = {"z3", "numpy", "pydantic", "yaml", "ptxspec.backend", "typer", "rich"} & set(sys.modules)
        print(sorted(heavy))
    '''))
    result = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_helpers_of_the_public_namespace_are_read() -> None:
    import ptxspec

    public = ptxspec.T

    def row():
        return public.cuda.block_idx() * 32 + public.cuda.thread_idx()

    @public.function
    def kernel(A: public.Tensor((64,), "int32")):
        public.device_entry(launch=public.cuda.LaunchConfig(grid=2, block=32))
        A[row()] = 1

    assert repr(kernel.kernel().body[0].index) == "(blockIdx.x * 32 + threadIdx.x,)"

    @public.function
    def wrong(A: public.Tensor((64,), "int32")):
        public.device_entry(launch=public.cuda.LaunchConfig(grid=2, block=32))
        A[0] = public.cuda.threadidx()

    with pytest.raises(KernelError, match=r"`T\.cuda` has no attribute `threadidx`"):
        wrong.kernel()
