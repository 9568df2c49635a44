"""Refuses a coverage report in which any file of the package is below the floor: ``floor.py coverage.json``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

FLOOR = 85.0


def main(report: Path) -> int:
    """Print every file below the floor; 1 when there is one or when nothing was measured."""
    files = json.loads(report.read_text(encoding="utf-8"))["files"]
    shares = {name: entry["summary"]["percent_covered"] for name, entry in files.items() if entry["summary"]["num_statements"]}
    low = {name: share for name, share in sorted(shares.items()) if share < FLOOR}
    for name, share in low.items():
        sys.stdout.write(f"{name}: {share:.1f} %, the floor is {FLOOR:.0f} %\n")
    mean = sum(shares.values()) / len(shares) if shares else 0.0
    sys.stdout.write(f"{len(shares)} files measured, mean {mean:.1f} %, {len(low)} below the floor\n")
    return 1 if low or not shares else 0


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1])))
