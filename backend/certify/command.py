"""The command ``ptxspec certify``; also ``python -m ptxspec.backend.certify``."""

from __future__ import annotations

import argparse
import datetime
import sys
from collections.abc import Sequence
from pathlib import Path

from ptxspec.diagnostics import PtxspecError, UsageError, fail
from ptxspec.forms import registry

from .campaign import Plan, run
from .host import Setting
from .report import summary, write
from .settings import toolkits


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a campaign and print its summary.

    Exit status 0: no difference; 1: differences; 2: wrong usage, or no ptxas to ask.
    """
    options = _parser().parse_args(arguments)
    try:
        plan = _plan(options)
        if not toolkits(plan.toolkits):
            raise fail(UsageError, "U160", "no ptxas of a known toolkit is on this machine: run scripts/toolchains")
        state = Path(options.state) if options.state else None
        result = run(plan, state, None if options.quiet else sys.stderr)
    except PtxspecError as error:
        print(error, file=sys.stderr)
        return 2
    print(summary(result))
    if options.report:
        date = options.date or datetime.datetime.now(datetime.UTC).date().isoformat()
        for path in write(result, Path(options.report), date):
            print(f"wrote {path}")
    return 1 if result.disagreements else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="ptxspec certify", description=__doc__)
    kinds = ["sample", "grid", "exhaustive", "operands", "entry", "product"]
    parser.add_argument("kind", choices=kinds, help="how instructions are drawn")
    parser.add_argument("--mnemonic", action="append", default=[], help="only these mnemonics (default: all)")
    parser.add_argument("--toolkit", action="append", default=[], help="only these toolkits, as 13.0")
    parser.add_argument("--setting", action="append", default=[], metavar="PTX:TARGET", help="only these, as 9.0:sm_90")
    parser.add_argument("--lines", type=int, default=500, help="lines of each mnemonic and setting (sample, grid)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--state", default="", help="folder in which a stopped run is found again, as .certify")
    parser.add_argument("--report", default="", help="folder for KIND.json and KIND.md")
    parser.add_argument("--date", default="", help="date to write into the report (default: today)")
    parser.add_argument("--quiet", action="store_true", help="no progress")
    return parser


def _plan(options: argparse.Namespace) -> Plan:
    known = registry.mnemonics()
    for name in options.mnemonic:
        if name not in known:
            raise fail(UsageError, "U161", f"the database has no mnemonic '{name}'")
    for name in options.toolkit:
        if name not in registry.vocabulary().toolkits:
            raise fail(UsageError, "U162", f"the database has no toolkit '{name}'")
    if options.lines < 1:
        raise fail(UsageError, "U163", f"--lines is {options.lines}")
    return Plan(
        options.kind, tuple(options.mnemonic) or known, options.lines, options.seed, tuple(options.toolkit),
        tuple(_setting(text) for text in options.setting),
    )


def _setting(text: str) -> Setting:
    version, _, target = text.partition(":")
    major, _, minor = version.partition(".")
    if not (major.isdigit() and minor.isdigit() and target.startswith("sm_")):
        raise fail(UsageError, "U164", f"'{text}' is no setting; write it as 9.0:sm_90")
    return Setting((int(major), int(minor)), target)
