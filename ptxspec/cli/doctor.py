"""``ptxspec doctor``: what this installation and this machine can do."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from ptxspec.cli.common import FINE, VIOLATED, Json, finish, line, put


def command(json: Json = False) -> None:
    """Check the installation. Exit status 1 when something that should work does not; a missing GPU is only said."""
    broken = False
    for name, state, detail in _findings():
        broken = broken or state == "broken"
        put(line({"check": name, "state": state, "detail": detail}) if json else f"{state:<8}{name:<14}{detail}")
    finish(VIOLATED if broken else FINE)


def _findings() -> Iterator[tuple[str, str, str]]:
    import platform
    from importlib.metadata import PackageNotFoundError, version

    from ptxspec import __version__
    yield "ptxspec", "ok", __version__
    yield "python", "ok", f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    for package in ("z3-solver", "numpy", "pydantic", "PyYAML", "cuda-python"):
        try:
            yield package, "ok", version(package)
        except PackageNotFoundError:
            yield package, "broken", "not installed"
    for name, check in (("database", _database), ("solver", _solver), ("selector", _selector),
                        ("assembler", _assembler), ("gpu", _gpu), ("cache", _cache)):
        yield _guarded(name, check)


def _guarded(name: str, check: Callable[[], tuple[str, str]]) -> tuple[str, str, str]:
    try:
        state, detail = check()
    except Exception as error:
        return name, "broken", f"{type(error).__name__}: {error}".splitlines()[0]
    return name, state, detail


def _database() -> tuple[str, str]:
    from ptxspec.query import database
    db = database()
    good = db.check("ld.global.v4.b32").legal and not db.check("ld.global.v8.b32", sm="sm_90").legal
    text = f"{len(db.mnemonics)} mnemonics, {len(db.targets)} targets, toolkits {', '.join(db.toolkits)}"
    return ("ok" if good else "broken"), text


def _solver() -> tuple[str, str]:
    import z3
    solver = z3.Solver()
    x = z3.Int("x")
    solver.add(x % 4 == 0, x % 4 == 1)
    return ("ok" if solver.check() == z3.unsat else "broken"), f"Z3 {z3.get_version_string()}"


def _selector() -> tuple[str, str]:
    from ptxspec.backend.select import Target, select
    from ptxspec.ptx.operand import Register
    text = select(Target("sm_90", (8, 0)), "add", {"type": "s32"}, [Register(f"%r{k}", "b32") for k in (1, 2, 3)]).text
    return ("ok" if text == "add.s32 %r1, %r2, %r3;" else "broken"), text


def _assembler() -> tuple[str, str]:
    from ptxspec.backend.assemble import toolchains
    found = toolchains()
    if not found:
        return "missing", "none: pip install 'ptxspec[assemble]' (query, prove, emit and simulate work without)"
    return "ok", ", ".join(dict.fromkeys(t.name for t in found))


def _gpu() -> tuple[str, str]:
    from ptxspec.backend.device import device_count, device_info, device_present
    if not device_present():
        return "missing", "none: kernels run in the simulator"
    return "ok", ", ".join(device_info(k).target for k in range(device_count()))


def _cache() -> tuple[str, str]:
    return "ok", "off (PTXSPEC_CACHE=off)" if os.environ.get("PTXSPEC_CACHE") == "off" else "on"
