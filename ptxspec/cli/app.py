"""The sub-commands, put together; only the one that is asked for is loaded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Annotated

import typer

COMMANDS = ("check", "forms", "show", "select", "lint", "prove", "emit", "layout", "explain", "certify", "generate",
            "export", "doctor")


def _version(value: bool) -> None:
    if value:
        from ptxspec import __version__
        print(f"ptxspec {__version__}")
        raise typer.Exit


def _root(version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True,
                                                help="Print the version.")] = False) -> None:
    """PTX instruction forms: query, lint, prove, emit."""


def build(arguments: Sequence[str]) -> Callable[..., object]:
    """The root command for ``arguments``, called with them and ``standalone_mode=False``."""
    app = typer.Typer(no_args_is_help=True, add_completion=False, rich_markup_mode=None,
                      pretty_exceptions_enable=False, context_settings={"help_option_names": ["-h", "--help"]})
    app.callback()(_root)
    named = arguments[0] if arguments and arguments[0] in COMMANDS else None
    for name in COMMANDS if named is None else (named,):
        module = import_module(f"ptxspec.cli.{name}")
        if name == "layout":
            app.add_typer(module.app, name=name)
        elif name == "certify":   # it reads its own arguments
            app.command(name, context_settings={"allow_extra_args": True, "ignore_unknown_options": True,
                                                "help_option_names": []})(module.command)
        else:
            app.command(name)(module.command)
    return typer.main.get_command(app)


def usage_errors() -> tuple[type[Exception], ...]:
    """What the option parser raises for a wrong command line."""
    # typer carries its own copy of click in newer releases: take the base class from what it exports.
    base = typer.BadParameter.__mro__[1]
    return (base, typer.Abort)
