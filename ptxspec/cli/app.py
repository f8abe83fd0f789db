"""The sub-commands, put together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

from ptxspec.cli import (
    certify,
    check,
    doctor,
    emit,
    explain,
    export,
    forms,
    generate,
    layout,
    lint,
    prove,
    select,
    show,
)


def _version(value: bool) -> None:
    if value:
        from ptxspec import __version__
        print(f"ptxspec {__version__}")
        raise typer.Exit


def _root(version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True,
                                                help="Print the version.")] = False) -> None:
    """PTX instruction forms: query, lint, prove, emit."""


def build() -> Callable[..., object]:
    """The root command, called with arguments and ``standalone_mode=False``."""
    app = typer.Typer(no_args_is_help=True, add_completion=False, rich_markup_mode=None,
                      pretty_exceptions_enable=False, context_settings={"help_option_names": ["-h", "--help"]})
    app.callback()(_root)
    for module in (check, forms, show, select, lint, prove, emit, explain, generate, export, doctor):
        app.command(module.NAME)(module.command)
    app.command(certify.NAME, context_settings={"allow_extra_args": True, "ignore_unknown_options": True,
                                                "help_option_names": []})(certify.command)
    app.add_typer(layout.app, name="layout")
    return typer.main.get_command(app)


def usage_errors() -> tuple[type[Exception], ...]:
    """What the option parser raises for a wrong command line."""
    # typer carries its own copy of click in newer releases: take the base class from what it exports.
    base = typer.BadParameter.__mro__[1]
    return (base, typer.Abort)
