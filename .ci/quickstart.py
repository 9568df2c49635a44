"""Refuses a quickstart that left less than it promises: ``quickstart.py out`` counts the rows of its three tables."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pyarrow.dataset as ds

EXPECTED = Path(__file__).parents[1] / "examples" / "quickstart" / "expected.json"


def main(out: Path) -> int:
    """Compare each table's row count with the example's expected file."""
    wrong = 0
    for table, expected in json.loads(EXPECTED.read_text(encoding="utf-8"))["tables"].items():
        found = ds.dataset(out / table, format="parquet", exclude_invalid_files=False).count_rows()
        sys.stdout.write(f"{table}: {found} rows, expected {expected['rows']}\n")
        wrong += found != expected["rows"]
    return min(wrong, 1)


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1])))
