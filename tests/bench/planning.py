"""What a script and a node cost: ``python tests/bench/planning.py``."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from figures import best_seconds, head, show

from thalweg import compose
from thalweg.dialect.script import parse
from thalweg.engine.session import Session

PIPELINE = Path(__file__).parents[2] / "examples" / "quickstart" / "pipeline.sql"
ROWS = 65_536
NODE = "SELECT id, upper(country) AS country FROM orders WHERE amount > 10"


def main() -> None:
    """Parse and plan the quickstart; plan and run a small node over nothing and over a full epoch."""
    head("Planning")
    text = PIPELINE.read_text(encoding="utf-8")
    show("parse the quickstart", best_seconds(lambda: parse(text, str(PIPELINE), {})) * 1e3, "ms")
    plan = best_seconds(lambda: compose.read_plan(str(PIPELINE), settings={}, environ={}, connect=False))
    show("read and plan the quickstart", plan * 1e3, "ms")
    batch = pa.RecordBatch.from_pydict({
        "id": pa.array(range(ROWS), pa.int64()),
        "country": pa.array(["de", "fr", "nl", "dk"] * (ROWS // 4)),
        "amount": pa.array([float(i % 50) for i in range(ROWS)]),
    })
    session = Session()
    session.declare("orders", batch.schema)
    session.put("orders", [batch.slice(0, 1)], batch.schema)
    show("plan a node", best_seconds(lambda: session.schema_of(NODE), repeat=50) * 1e3, "ms")
    show("plan and run a node over 1 row", best_seconds(lambda: session.run(NODE), repeat=50) * 1e3, "ms")
    session.put("orders", [batch], batch.schema)
    full = best_seconds(lambda: session.run(NODE), repeat=20)
    show(f"plan and run a node over {ROWS:,} rows", full * 1e3, "ms")
    show("the same, a row", full / ROWS * 1e6, "us")


if __name__ == "__main__":
    main()
