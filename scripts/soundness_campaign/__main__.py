"""The command behind ``scripts/soundness``."""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

from soundness_campaign import families, folder, judge, page, simulation, solvers, work
from soundness_campaign.campaign import FIRST_SEED, Campaign

ROOT = Path(__file__).resolve().parents[2]


def show(seed: int, alone: str) -> int:
    """One random kernel in full, of a family ``alone`` or of all; 1 where the verdict is wrong."""
    family, made = (alone, families.alone(alone, seed)) if alone else work.made(seed)
    print(made.text)
    record, kernel, report = judge.judged(made.text, made.values)
    print(f"# seed {seed}, {family}, scalars {made.values}")
    for key, value in record.items():
        print(f"# {key}: {value}")
    if kernel is not None and report is not None:
        print(f"# simulator: {simulation.opinion(kernel, made.values, report)}")
        print(report.text())
    return int(record["outcome"] in judge.WRONG)


def main() -> int:
    """1 if any verdict is wrong or contradicted, 2 if nothing was done."""
    parser = argparse.ArgumentParser(prog="scripts/soundness", description="Judge the prover by independent means.")
    parser.add_argument("--kernels", type=int, default=1000, help="random kernels that are to be judged")
    parser.add_argument("--first", type=int, default=FIRST_SEED, metavar="SEED", help="the seed to begin with")
    parser.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 2) - 1))
    parser.add_argument("--seconds", type=float, default=3600, help="stop after about so long; the next run goes on")
    parser.add_argument("--patience", type=float, default=40, help="seconds before one kernel counts as stuck")
    parser.add_argument("--out", type=Path, default=Path("soundness"), help="folder of the results")
    parser.add_argument("--restart", action="store_true", help="drop the results that the folder has")
    parser.add_argument("--family", default="", choices=sorted(families.ALL), help="random kernels of this one alone")
    parser.add_argument("--mutants", action="store_true", help="every mutant of the examples and of right kernels")
    parser.add_argument("--legal", type=int, default=200, help="right random kernels to mutate")
    parser.add_argument("--solvers", action="store_true", help="give every goal to Z3 alone and to cvc5")
    parser.add_argument("--every", type=int, default=10, help="the share of random kernels for --solvers")
    parser.add_argument("--show", type=int, metavar="SEED", help="one random kernel")
    given = parser.parse_args()
    if given.show is not None:
        return show(given.show, given.family)
    if given.solvers and not solvers.available():
        parser.error("--solvers needs the package cvc5")
    begun = time.monotonic()
    if given.restart:
        folder.restart(given.out)
    try:
        campaign = Campaign(given.out, given.jobs, begun + given.seconds, given.patience, given.first, given.family)
    except folder.Mixed as refusal:
        parser.exit(2, f"{parser.prog}: {refusal}\n")
    said = len(campaign.kernels.records) + len(campaign.mutants.records) + len(campaign.solvers.records)
    if said:
        print(f"{given.out} has {said:,} records of the same sources ({campaign.versions[0]}): going on there")
    campaign.random(given.kernels)
    if given.mutants:
        campaign.mutate(given.legal)
    if given.solvers:
        campaign.second(given.every)
    result = page.summary(campaign, given)
    text = page.save(result, given.out)
    print(text)
    return int(bool(result["wrong"]))


if __name__ == "__main__":
    sys.exit(main())
