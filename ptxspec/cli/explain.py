"""``ptxspec explain``: what a diagnostic code means, with a failing and a fixed example."""

from __future__ import annotations

import sys
from importlib import resources
from typing import Annotated

import typer

from ptxspec.cli.common import FINE, Json, finish, line, put, usage


def command(
    code: Annotated[str | None, typer.Argument(metavar="CODE", help="A code, such as P102; none: list all.")] = None,
    plain: Annotated[bool, typer.Option("--plain", help="Print the text as it is written.")] = False,
    json: Json = False,
) -> None:
    """Explain a diagnostic code."""
    known = codes()
    if code is None:
        for each in known:
            put(line({"code": each, "title": title(each)}) if json else f"{each}  {title(each)}")
        finish(FINE)
    name = code.strip("[]").upper()
    if name not in known:
        near = [c for c in known if c[:2] == name[:2]] or [c for c in known if c[:1] == name[:1]]
        raise usage("U140", f"there is no explanation of `{code}`",
                    f"close: {' '.join(near[:12])}" if near else "ptxspec explain lists all codes")
    text = read(name)
    if json:
        put(line({"code": name, "title": title(name), "text": text}))
    elif plain or not sys.stdout.isatty():
        put(text.rstrip("\n"))
    else:
        from rich.console import Console
        from rich.markdown import Markdown
        Console().print(Markdown(text))
    finish(FINE)


def codes() -> tuple[str, ...]:
    """All codes with an explanation, sorted."""
    folder = resources.files("ptxspec") / "explanations"
    return tuple(sorted(f.name.removesuffix(".md") for f in folder.iterdir() if f.name.endswith(".md")))


def read(code: str) -> str:
    """The explanation of ``code`` as Markdown."""
    return (resources.files("ptxspec") / "explanations" / f"{code}.md").read_text(encoding="utf-8")


def title(code: str) -> str:
    """The heading of an explanation, without its code."""
    head = read(code).splitlines()[0]
    return head.lstrip("# ").removeprefix(f"{code}:").strip()
