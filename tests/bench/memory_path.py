"""Epochs, queries, lanes and Parquet without decoding: ``python tests/bench/memory_path.py [rows]``.

A memory topic is read; the decoder hands out columns that were made before, so what is measured is everything around it.
"""

from __future__ import annotations

import dataclasses
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
from figures import head, peak_mib, show

from thalweg import compose
from thalweg.arrow.batch import BadRows, Decoded
from thalweg.model.clock import SystemClock
from thalweg.model.events import Fanout
from thalweg.ports.codec import Decoder
from thalweg.ports.source import SourceContext

SCRIPT = """
CREATE EXTERNAL TABLE orders (
  order_id BIGINT, country STRING, amount DOUBLE, status STRING, lines ARRAY<ROW<sku STRING, qty INT>>
) STORED AS MEMORY LOCATION 'memory://bench'
OPTIONS ('format' 'json', 'partitions' '4', 'scan.bounded.mode' 'latest-offset');
CREATE VIEW clean AS SELECT order_id, upper(country) AS country, amount, lines FROM orders WHERE status <> 'TEST';
CREATE VIEW order_lines AS
SELECT order_id, l['sku'] AS sku, l['qty'] AS qty FROM (SELECT order_id, unnest(lines) AS l FROM clean);
COPY (SELECT order_id, country, amount FROM clean) TO '{out}/orders/' STORED AS PARQUET;
COPY order_lines TO '{out}/lines/' STORED AS PARQUET;
"""
EPOCH = 65_536


class Prepared(Decoder):
    """Answers every payload with a row that was made before."""

    def __init__(self, columns: pa.RecordBatch) -> None:
        """``columns`` has at least as many rows as any batch."""
        self._columns = columns

    @property
    def schema(self) -> pa.Schema:
        """Schema of the prepared rows."""
        return self._columns.schema

    def decode(self, payloads: pa.BinaryArray, headers: pa.ListArray | None) -> Decoded:
        """As many rows as payloads."""
        rows = len(payloads)
        return Decoded(self._columns.slice(0, rows), pa.array(np.arange(rows, dtype=np.int32)), BadRows())


def orders(schema: pa.Schema) -> pa.RecordBatch:
    """One epoch of orders with two lines each."""
    numbers = np.arange(EPOCH)
    offsets = pa.array(np.arange(0, 2 * EPOCH + 2, 2, dtype=np.int32))
    line = schema.field("lines").type.value_type
    sku = pa.array([f"SKU-{n % 997}" for n in range(2 * EPOCH)])
    lines = pa.StructArray.from_arrays([sku, pa.array(np.arange(2 * EPOCH) % 7, pa.int32())], fields=list(line))
    columns = {
        "order_id": pa.array(numbers, pa.int64()),
        "country": pa.array(["de", "fr", "nl", "dk"] * (EPOCH // 4)),
        "amount": pa.array(numbers % 5000 / 100.0),
        "status": pa.array((["PAID"] * 9 + ["TEST"]) * (EPOCH // 10) + ["PAID"] * (EPOCH % 10)),
        "lines": pa.ListArray.from_arrays(offsets, lines).cast(schema.field("lines").type),
    }
    return pa.RecordBatch.from_pydict(columns, schema=schema)


def main() -> None:
    """Run the pipeline once over ``rows`` records."""
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 4_000_000
    head("Epochs, queries, lanes, two Parquet tables; decoded batches from memory")
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "bench.sql"
        script.write_text(SCRIPT.replace("{out}", folder), encoding="utf-8")
        plan = compose.read_plan(str(script), settings={}, environ={}, connect=False)
        table = plan.sources[0]
        prepared = Prepared(orders(table.schema))
        codec = dataclasses.replace(table.value.codec, decoder=lambda _request, _registry: prepared)
        table = dataclasses.replace(table, value=dataclasses.replace(table.value, codec=codec))
        plan = dataclasses.replace(plan, sources=(table,))
        topic = table.plugin.make(table.location, table.options, SourceContext("bench", "orders", SystemClock(), Fanout())).topic
        records = pa.RecordBatch.from_pydict({"payload": pa.array([bytes(100)] * EPOCH, pa.binary())})
        for i in range(rows // EPOCH):
            topic.append_batch(i % topic.partitions, records)
        pipeline = compose.build(plan)
        began = time.perf_counter()
        pipeline.run()
        seconds = time.perf_counter() - began
    total = rows // EPOCH * EPOCH
    show("records", total, "")
    show("rate", total / seconds, "records/s")
    show("a record", seconds / total * 1e6, "us")
    show("peak memory, the topic included", peak_mib(), "MiB")


if __name__ == "__main__":
    main()
