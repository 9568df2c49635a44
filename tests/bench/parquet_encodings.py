"""Parquet by the sink's own choice of encodings against pyarrow's defaults: ``python tests/bench/parquet_encodings.py [rows]``.

Two tables of orders with their locator columns, one row group each, written to a file; the least processor time of five runs, in turn.
The topic comes to the sink's writer as codes, as the pipeline hands it over; to pyarrow's defaults it comes as text.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from figures import head, show

from thalweg.sinks.files import encodings

_RUNS = 5


def orders(rows: int) -> pa.Table:
    """One row an order."""
    dice = np.random.default_rng(1)
    numbers = np.arange(rows)
    return pa.table({
        "order_id": pa.array(10_000_000 + numbers),
        "customer_id": pa.array(dice.integers(0, 1 << 40, rows)),
        "country": pa.array([f"C{i}" for i in range(30)]).take(pa.array(dice.integers(0, 30, rows))),
        "amount": pa.array(np.round(dice.random(rows) * 500, 2)),
        "placed_at": pa.array(1_767_225_600_000_000 + numbers * 1_000 + dice.integers(0, 900, rows), pa.timestamp("us", "UTC")),
        **locator(numbers),
    })


def lines(rows: int) -> pa.Table:
    """One row an item of an order."""
    dice = np.random.default_rng(2)
    numbers = np.arange(rows) // 3
    return pa.table({
        "order_id": pa.array(10_000_000 + numbers),
        "sku": pa.array([f"SKU-{i:06d}" for i in range(20_000)]).take(pa.array(dice.integers(0, 20_000, rows))),
        "qty": pa.array(dice.integers(1, 9, rows), pa.int32()),
        "price": pa.array(np.round(dice.random(rows) * 90, 2)),
        **locator(numbers),
    })


def locator(numbers: np.ndarray[tuple[int], np.dtype[np.int64]]) -> dict[str, pa.Array]:
    """Where each row comes from."""
    rows = len(numbers)
    return {
        "_twg_source_topic": pa.repeat(pa.scalar("orders"), rows),
        "_twg_source_partition": pa.array((numbers % 4).astype(np.int32)),
        "_twg_source_offset": pa.array(numbers // 4),
        "_twg_source_message_id": pa.nulls(rows, pa.binary()),
    }


def coded(table: pa.Table) -> pa.Table:
    """The table with its topic as codes."""
    at = table.schema.get_field_index("_twg_source_topic")
    return table.set_column(at, "_twg_source_topic", table.column(at).dictionary_encode())


def measured(ways: dict[str, tuple[pa.Table, dict[str, Any]]]) -> dict[str, tuple[float, int]]:
    """Seconds and bytes of each way, which take turns."""
    best: dict[str, tuple[float, int]] = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "f.parquet"
        for _ in range(_RUNS):
            for name, (table, settings) in ways.items():
                began = time.process_time()
                pq.write_table(table, path, row_group_size=1_000_000, **settings)
                seconds = time.process_time() - began
                best[name] = (min(seconds, best.get(name, (seconds, 0))[0]), path.stat().st_size)
    return best


def main() -> None:
    """Both tables, and both together."""
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    head(f"Parquet, {rows:,} rows a table")
    total: dict[str, list[float]] = {"default": [0, 0], "chosen": [0, 0]}
    for name, table in (("orders", orders(rows)), ("order_lines", lines(rows))):
        choice = encodings.choose(table.slice(0, 65_536), "auto", "auto")
        settings = {"use_dictionary": list(choice.dictionary), "column_encoding": dict(choice.encoding) or None}
        found = measured({"default": (table, {}), "chosen": (coded(table), settings)})
        for way, (seconds, nbytes) in found.items():
            show(f"{name}, {way}", seconds / rows * 1e6, "us / row")
            show(f"{name}, {way}", nbytes / rows, "bytes / row")
            total[way][0] += seconds
            total[way][1] += nbytes
        print(f"| {name}, chosen | {choice} | |")
    show("both: default / chosen, time", total["default"][0] / total["chosen"][0], "times")
    show("both: chosen / default, bytes", total["chosen"][1] / total["default"][1], "times")


if __name__ == "__main__":
    main()
