"""``ptxspec emit``: the PTX or the cubin of a kernel, once it is proved."""

from __future__ import annotations

from typing import Annotated

import typer

from ptxspec.cli.common import FINE, UNKNOWN, VIOLATED, Json, Ptx, finish, line, put, usage, write_bytes


def command(
    place: Annotated[str, typer.Argument(metavar="FILE.py:KERNEL")],
    sm: Annotated[str, typer.Option("--sm", metavar="SM", help="Target, cuda for the GPU present.")] = "sm_90",
    ptx: Ptx = None,
    output: Annotated[str | None, typer.Option("-o", "--output", metavar="OUT.ptx|OUT.cubin")] = None,
    json: Json = False,
) -> None:
    """Prove a kernel and write its PTX (standard output by default) or its cubin.

    --json prints an object with the PTX, its target and version, the parameters and the verdict.
    """
    from ptxspec.backend.executable import compile
    from ptxspec.cli.kernels import kernels
    from ptxspec.proof import ProofError
    if output is not None and not output.endswith((".ptx", ".cubin")):
        raise usage("U132", f"{output} is neither .ptx nor .cubin")
    kernel, = kernels(place, one=True)
    try:
        exe = compile(kernel, sm, ptx=version(ptx))
    except ProofError as error:
        if json:
            put(line({"kernel": kernel.__name__, "verdict": error.report.verdict,
                      "diagnostics": [d.to_json() for d in error.diagnostics]}))
        typer.echo(str(error), err=True)
        finish(VIOLATED if error.report.verdict == "refuted" else UNKNOWN)
    if json:
        module = exe.module
        parameters = [{"name": p.source.name, "kind": p.kind, "type": p.type, "bytes": p.bytes, "align": p.align}
                      for p in module.params]
        put(line({"kernel": kernel.__name__, "verdict": "proved", "target": module.target,
                  "version": "{}.{}".format(*module.version), "entry": module.entry,
                  "instructions": module.instructions, "parameters": parameters,
                  "shared": {"static": module.shared_static, "dynamic": module.shared_dynamic}, "ptx": module.ptx}))
    elif output is None:
        put(exe.ptx.rstrip("\n"))
    if output is None:
        finish(FINE)
    if output.endswith(".cubin"):
        write_bytes(output, exe.cubin)
    else:
        write_bytes(output, exe.ptx.encode())
    finish(FINE)


def version(text: str | None) -> tuple[int, int] | None:
    """``"9.0"`` as a pair. Raises UsageError U102."""
    if text is None:
        return None
    major, dot, minor = text.partition(".")
    if not (dot and major.isdigit() and minor.isdigit()):
        raise usage("U102", f"the PTX version {text!r} is not known", "for example 9.0")
    return int(major), int(minor)
