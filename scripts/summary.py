"""Say in plain words what pytest's report holds, and what this machine did not let it try."""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path


def main(report: Path) -> None:
    """Print counts, each reason for skipping with its count, and whether a device was there."""
    if not report.exists():
        print("  the tests left no report")
        return
    counts: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        skipped = case.find("skipped")
        if skipped is not None:
            counts["skipped"] += 1
            reasons[skipped.get("message", "no reason given")] += 1
        elif case.find("failure") is not None or case.find("error") is not None:
            counts["failed"] += 1
        else:
            counts["passed"] += 1
    print(f"  tests: {counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    for reason, count in reasons.most_common():
        print(f"    skipped {count}: {reason}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
