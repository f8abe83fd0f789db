"""Control flow, register tensors and addresses: emitted code does what the statements say."""

from __future__ import annotations

import re

import numpy as np
import pytest
from ptxspec.backend.assemble import assemble
from ptxspec.backend.emit import emit
from run import run

from build import apply, buffer, kernel, row, tid, whole
from ptxspec.diagnostics import EmitError
from ptxspec.lang import ir
from ptxspec.layout import S, TileLayout
from ptxspec.scalar import index as ix
from ptxspec.scalar import typed
from ptxspec.scalar.expr import Const, Expr, Var

SPAN = ir.Span("kernel.py", 1)


def const(value: int) -> Const:
    return Const(value, "int32")


def loop(var: Var, start: Expr | int, stop: Expr | int, *body: ir.Statement, step: Expr | int = 1,
         unroll: bool = False) -> ir.For:
    start, stop, step = (const(e) if isinstance(e, int) else e for e in (start, stop, step))
    return ir.For(var, start, stop, step, body, unroll, SPAN)


def load(view: ir.View, *index: Expr | int, dtype: str = "") -> tuple[ir.Load, Var]:
    result = Var("v", dtype or view.dtype, "value")
    if (dtype or view.dtype).startswith("int"):
        result.lo, result.hi = -(1 << 31), (1 << 31) - 1
    return ir.Load(result, view, tuple(const(i) if isinstance(i, int) else i for i in index), SPAN), result


def store(view: ir.View, index: Expr | int, value: Expr) -> ir.Store:
    return ir.Store(view, (const(index) if isinstance(index, int) else index,), value, SPAN)


def test_exchange_through_shared_memory() -> None:
    a, b = buffer("A", (64, 4)), buffer("B", (64, 4))
    shared, registers = buffer("shared", (64, 4), scope="shared"), buffer("R", (4,), scope="local")
    t = tid(64)
    following = typed.binary("floormod", typed.binary("add", t, 1), 64)
    k = kernel([a, b], [
        apply("ld.global.v4.b32", whole(registers), row(a, t)),
        apply("st.shared.v4.b32", row(shared, t), whole(registers)),
        ir.Barrier("cta", SPAN),
        apply("ld.shared.v4.b32", whole(registers), row(shared, following)),
        apply("st.global.v4.b32", row(b, t), whole(registers)),
    ], block=64, hardware=[t], buffers=[registers, shared])
    data = np.arange(256, dtype=np.float32).reshape(64, 4)
    out = np.zeros_like(data)
    module = run(k, {"A": data, "B": out})
    np.testing.assert_array_equal(out, np.roll(data, -1, axis=0))
    assert module.version == (7, 8)
    assert [p.align for p in module.params] == [16, 16]
    assert module.shared_static == 1024
    assert "div" not in module.ptx
    assert "rem" not in module.ptx
    assert assemble(module.ptx, "sm_90", line_map=module.line_map).registers <= 16


def test_strided_load_binds_slots_directly() -> None:
    memory = TileLayout(S[(15, 2, 7, 2) : (4, 1, 60, 2)])
    registers = TileLayout(S[(15, 2, 7, 2) : (8, 2, 120, 4)])
    a = buffer("A", (15, 2, 7, 2), layout=memory)
    out = buffer("Out", (420,), align=4)
    r = buffer("R", (15, 2, 7, 2), scope="local", layout=registers)

    def view(b: ir.Buffer) -> ir.View:
        # rearrange("i b j d -> j i (d b)")
        shape = tuple(ix.index(e) for e in (7, 15, 2, 2))
        last = tuple(ix.index(e) for e in (7, 15, 4))
        return ir.View(b, (ir.Permute((2, 0, 3, 1), SPAN), ir.Reshape(last, SPAN)), last, "float32", SPAN) \
            if shape else whole(b)

    j, i, d, b = (Var(n, "int32", "loop", 0, e - 1) for n, e in (("j", 7), ("i", 15), ("d", 2), ("b", 2)))
    read, value = load(whole(r), i, b, j, d)
    where = typed.binary("add", typed.binary("add", typed.binary("mul", j, 60), typed.binary("mul", i, 4)),
                         typed.binary("add", typed.binary("mul", d, 2), b))
    body = loop(j, 0, 7, loop(i, 0, 15, loop(d, 0, 2, loop(b, 0, 2, read, store(whole(out), where, value)))))
    k = kernel([a, out], [apply("ld.global.v4.b32", view(r), view(a), repeat=(7, 15)), body], block=1, buffers=[r])
    x = np.arange(420, dtype=np.float32)
    result = np.zeros_like(x)
    module = run(k, {"A": x, "Out": result})
    np.testing.assert_array_equal(result, x)
    assert module.ptx.count("ld.global.v4.b32 {") == 105
    assert module.ptx.count("st.global.b32") == 420
    assert "mov" not in module.ptx
    # every instruction but the two pairs that fetch the bases and the final return moves data
    assert module.instructions == 105 + 420 + 4 + 1


@pytest.mark.parametrize(("start", "stop", "step"), [(0, 5, 1), (2, 11, 3), (3, 3, 1), (5, 2, 1)])
def test_runtime_loop(start: int, stop: int, step: int) -> None:
    """Bounds that only the launch knows: the loop runs as often as Python's range."""
    names = {n: Var(n, "int32", "param", -(1 << 31), (1 << 31) - 1) for n in ("start", "stop")}
    width = Var("step", "int32", "param", 1, 100)
    out = buffer("O", (16,), "int32", align=4)
    i = Var("i", "int32", "loop", -(1 << 31), (1 << 31) - 1)
    k = kernel([out, *names.values(), width], [loop(i, names["start"], names["stop"], store(
        whole(out), i, typed.binary("mul", i, 10)), step=width)], block=1)
    result = np.full(16, -1, np.int32)
    run(k, {"O": result, "start": start, "stop": stop, "step": step})
    want = np.full(16, -1, np.int32)
    for v in range(start, stop, step):
        want[v] = v * 10
    np.testing.assert_array_equal(result, want)


def test_loop_counter_never_wraps() -> None:
    """A stride past the end of int32 ends the loop instead of starting over from below."""
    stop = Var("stop", "int32", "param", 0, (1 << 31) - 1)
    count, i = buffer("C", (1,), "int32", align=4), Var("i", "int32", "loop", 0, (1 << 31) - 1)
    total = buffer("T", (1,), "int32", scope="local")
    read, old = load(whole(total), 0)
    last, value = load(whole(total), 0)
    k = kernel([count, stop], [
        store(whole(total), 0, const(0)),
        loop(i, 0, stop, read, store(whole(total), 0, typed.binary("add", old, 1)), step=1 << 30),
        last, store(whole(count), 0, value)], block=1, buffers=[total])
    result = np.zeros(1, np.int32)
    run(k, {"C": result, "stop": (1 << 31) - 1})
    assert result[0] == 2


def test_branches_and_values_after_them() -> None:
    """A value computed in one branch is not reused outside it."""
    t = tid(64)
    a, out = buffer("A", (64,), "int32", align=4), buffer("O", (128,), "int32", align=4)
    read, x = load(whole(a), t)
    shared_value = typed.binary("mul", x, 7)
    k = kernel([a, out], [
        read,
        ir.If(typed.compare("lt", t, 20), (store(whole(out), t, shared_value),),
              (ir.If(typed.compare("gt", x, 5), (store(whole(out), t, typed.unary("neg", shared_value)),), (), SPAN),),
              SPAN),
        store(whole(out), typed.binary("add", t, 64), typed.binary("add", shared_value, 1)),
    ], block=64, hardware=[t])
    data = (np.arange(64, dtype=np.int32) * 37) % 11
    result = np.zeros(128, np.int32)
    module = run(k, {"A": data, "O": result})
    first = np.where(np.arange(64) < 20, data * 7, np.where(data > 5, -data * 7, 0))
    np.testing.assert_array_equal(result, np.concatenate([first, data * 7 + 1]))
    assemble(module.ptx, "sm_90", line_map=module.line_map)


def test_value_read_before_its_slot_changes_is_kept() -> None:
    """Swapping two registers through element accesses needs a copy of the first."""
    out, r = buffer("O", (2,), align=4), buffer("R", (2,), scope="local")
    first, x = load(whole(r), 0)
    second, y = load(whole(r), 1)
    a, va = load(whole(r), 0)
    b, vb = load(whole(r), 1)
    k = kernel([out], [
        store(whole(r), 0, Const(1.0, "float32")), store(whole(r), 1, Const(2.0, "float32")),
        first, second, store(whole(r), 0, y), store(whole(r), 1, x),
        a, b, store(whole(out), 0, va), store(whole(out), 1, vb)], block=1, buffers=[r])
    result = np.zeros(2, np.float32)
    run(k, {"O": result})
    np.testing.assert_array_equal(result, [2.0, 1.0])


def test_accumulator_updates_its_register_in_place() -> None:
    a, out, total = buffer("A", (8,), align=4), buffer("O", (1,), align=4), buffer("T", (1,), scope="local")
    i = Var("i", "int32", "loop", 0, 7)
    read, x = load(whole(a), i)
    old, t = load(whole(total), 0)
    last, value = load(whole(total), 0)
    k = kernel([a, out], [store(whole(total), 0, Const(0.0, "float32")),
                          loop(i, 0, 8, read, old, store(whole(total), 0, typed.binary("add", t, x))),
                          last, store(whole(out), 0, value)], block=1, buffers=[total])
    data = np.arange(8, dtype=np.float32)
    result = np.zeros(1, np.float32)
    module = run(k, {"A": data, "O": result})
    assert result[0] == 28
    assert re.search(r"add\.rn\.f32 (%r\d+), \1, %r\d+;", module.ptx)


@pytest.mark.parametrize("negated", [False, True])
def test_predicated_load_keeps_its_destination(negated: bool) -> None:
    t = tid(32)
    a, out, r = buffer("A", (32, 4)), buffer("O", (32, 4)), buffer("R", (4,), scope="local")
    condition = typed.compare("lt", t, 10)
    pred = typed.negate(condition) if negated else condition
    view = ir.View(r, (ir.Reshape((ix.index(4), ix.ONE), SPAN),), (ix.index(4), ix.ONE), "float32", SPAN)
    k = kernel([a, out], [
        apply("mov.b32", view, Const(5.0, "float32"), repeat=(4,)),
        apply("ld.global.v4.b32", whole(r), row(a, t), pred=pred, preserve=True),
        apply("st.global.v4.b32", row(out, t), whole(r))], block=32, hardware=[t], buffers=[r])
    data = np.arange(128, dtype=np.float32).reshape(32, 4)
    result = np.zeros_like(data)
    module = run(k, {"A": data, "O": result})
    taken = (np.arange(32) < 10) != negated
    np.testing.assert_array_equal(result, np.where(taken[:, None], data, np.float32(5)))
    assert ("@!%p" if negated else "@%p") in module.ptx


def test_wide_view_of_narrow_registers() -> None:
    """A 64-bit load into pairs of 32-bit registers that scalar code also reads."""
    t = tid(32)
    a, out, r = buffer("A", (32,), "float64", align=8), buffer("O", (64,), "float32", align=4), \
        buffer("R", (2,), "float32", scope="local")
    wide = ir.View(r, (ir.Reinterpret("float64", SPAN),), (ix.ONE,), "float64", SPAN)
    address = ir.View(a, (ir.Sub((ir.SubAxis(t, ix.ONE, 1, True),), SPAN),), (ix.ONE,), "float64", SPAN)
    low, x = load(whole(r), 0)
    high, y = load(whole(r), 1)
    two = typed.binary("mul", t, 2)
    k = kernel([a, out], [apply("ld.global.b64", wide, address), low, high, store(whole(out), two, x),
                          store(whole(out), typed.binary("add", two, 1), y)], block=32, hardware=[t], buffers=[r])
    data = np.random.default_rng(1).standard_normal(32)
    result = np.zeros(64, np.float32)
    run(k, {"A": data, "O": result})
    np.testing.assert_array_equal(result.view(np.uint32), data.view(np.uint32))


def test_loop_invariant_code_stands_before_the_loop() -> None:
    t = tid(32)
    n = Var("n", "int32", "param", 0, 1000)
    out, i = buffer("O", (32, 64), "int32", align=4), Var("i", "int32", "loop", 0, 63)
    far = typed.binary("mul", typed.binary("add", t, 3), n)
    k = kernel([out, n], [loop(i, 0, 64, ir.Store(whole(out), (t, i), typed.binary("add", far, i), SPAN))],
               block=32, hardware=[t])
    module = emit(k)
    before, inside = module.ptx.split("L1_loop:")[:2]
    assert "mul.lo.s32" in before
    assert "mul.lo.s32" not in inside
    result = np.zeros((32, 64), np.int32)
    run(k, {"O": result, "n": 9})
    np.testing.assert_array_equal(result, (np.arange(32)[:, None] + 3) * 9 + np.arange(64)[None, :])


def test_unrolling_needs_constant_bounds() -> None:
    n = Var("n", "int32", "param", 0, 1000)
    out, i = buffer("O", (64,), "int32", align=4), Var("i", "int32", "loop", 0, 63)
    body = loop(i, 0, n, ir.Store(whole(out), (i,), i, SPAN), unroll=True)
    with pytest.raises(EmitError) as caught:
        emit(kernel([out, n], [body]))
    assert caught.value.code == "E106"
    assert caught.value.diagnostics[0].span == SPAN


def test_shared_memory_beyond_48_kib_is_dynamic() -> None:
    t = tid(32)
    big = buffer("big", (20000,), "float32", scope="shared")
    out = buffer("O", (32,), align=4)
    read, x = load(whole(big), typed.binary("add", t, 1000))
    k = kernel([out], [store(whole(big), typed.binary("add", t, 1000), typed.cast(t, "float32")), read,
                       store(whole(out), t, x)], block=32, hardware=[t], buffers=[big])
    result = np.zeros(32, np.float32)
    module = run(k, {"O": result})
    assert module.shared_static == 0
    assert module.shared_dynamic == 80000
    np.testing.assert_array_equal(result, np.arange(32, dtype=np.float32))
    with pytest.raises(EmitError) as caught:
        emit(k, "sm_75")
    assert caught.value.code == "E103"


def test_unknown_target_and_too_old_version() -> None:
    k = kernel([], [], block=1)
    for target, ptx in (("sm_33", None), ("sm_90", (7, 0))):
        with pytest.raises(EmitError) as caught:
            emit(k, target, ptx=ptx)
        assert caught.value.code == "E104"


def test_form_that_the_target_lacks_is_refused_on_the_kernels_line() -> None:
    a, r = buffer("A", (8,), align=32), buffer("R", (8,), scope="local")
    from ptxspec.forms.use import use
    wide = ir.Apply(use("ld.global.v8.b32", sm="sm_100"), "thread", (whole(r), whole(a)), (), (), (), None, False,
                    None, SPAN)
    with pytest.raises(EmitError) as caught:
        emit(kernel([a], [wide], block=1, buffers=[r]), "sm_90")
    assert caught.value.code == "E100"
    assert caught.value.diagnostics[0].span == SPAN
    assert "ld.global.v8.b32" in emit(kernel([a], [wide], block=1, buffers=[r]), "sm_100").ptx


def gather(count: int, *, in_place: bool) -> ir.Kernel:
    """Load ``count`` vectors into registers, then write each element plus one."""
    a = buffer("A", (count, 4))
    out = a if in_place else buffer("O", (count, 4))
    r = buffer("R", (count, 4), scope="local")
    i, j = Var("i", "int32", "loop", 0, count - 1), Var("j", "int32", "loop", 0, 3)
    read, value = load(whole(r), i, j)
    body = loop(i, 0, count, loop(j, 0, 4, read, ir.Store(whole(out), (i, j), typed.binary("add", value, 1.0), SPAN)))
    return kernel([a] if in_place else [a, out],
                  [apply("ld.global.v4.b32", whole(r), whole(a), repeat=(count,)), body], block=1, buffers=[r])


@pytest.mark.parametrize(("count", "in_place", "batches"), [(40, False, 1), (100, False, 100), (100, True, 1)])
def test_loads_beyond_the_register_file_come_in_batches(count: int, in_place: bool, batches: int) -> None:
    """Held back only where a plain load reads an array that the kernel never writes."""
    data = np.random.default_rng(5).standard_normal((count, 4)).astype(np.float32)
    want = data + np.float32(1)
    out = np.zeros_like(data)
    module = run(gather(count, in_place=in_place), {"A": data, "O": out})
    np.testing.assert_array_equal(data if in_place else out, want)
    order = "".join(re.findall(r"(ld|st)\.global", module.ptx)).replace("ld", "L").replace("st", "s")
    assert order.count("L") == count
    assert len(re.findall("L+", order)) == batches
    used = assemble(module.ptx, "sm_90").resources[0]
    assert (used.spill_stores == 0) == (batches > 1 or count < 60)
