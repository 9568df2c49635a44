"""The JSON kernel, pyarrow.json, DataFusion, orjson on one core, in one run: ``python tests/bench/bench_json_kernel.py [rows]``."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from random import Random
from typing import Any

import datafusion
import orjson
import pyarrow as pa
import pyarrow.json as arrow_json
from figures import best_seconds, head, show

from thalweg.codecs.json.kernel_decoder import compile_json
from thalweg.codecs.json.kernel_encoder import compile_json_encoder

LINE = pa.struct([("sku", pa.string()), ("qty", pa.int32()), ("price", pa.float64())])
ORDER = pa.schema([
    ("order_id", pa.int64()), ("customer", pa.string()), ("country", pa.string()), ("amount", pa.float64()), ("qty", pa.int32()),
    ("paid", pa.bool_()), ("ts", pa.timestamp("us")), ("status", pa.string()), ("lines", pa.list_(LINE)),
])  # fmt: skip


def order(n: int, random: Random) -> dict[str, Any]:
    """About 269 bytes."""
    return {
        "order_id": n, "customer": f"cust{n % 10000:05d}", "country": random.choice([None, "NO", "SE"]), "amount": random.random() * 100,
        "qty": n % 7, "paid": n % 2 == 1, "ts": f"2026-01-01T00:00:00.{n % 1_000_000:06d}", "status": random.choice(["NEW", "PAID", "SHIPPED"]),
        "lines": [{"sku": f"sku{j}", "qty": j, "price": 1.5 * j} for j in range(3)],
    }  # fmt: skip


def datafusion_seconds(lines: bytes) -> float:
    """DataFusion's reader over a file of lines in the page cache, one partition."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "orders.json"
        path.write_bytes(lines)
        context = datafusion.SessionContext(datafusion.SessionConfig().with_target_partitions(1))
        context.register_json("orders", str(path), schema=ORDER)
        return best_seconds(lambda: sum(b.to_pyarrow().num_rows for b in context.sql("SELECT * FROM orders").execute_stream()), repeat=5)


def bench(title: str, documents: list[bytes], *, encode: bool) -> None:
    """Microseconds a record of each, and how many times the kernel's."""
    rows, payloads, lines = len(documents), pa.array(documents, pa.binary()), b"\n".join(documents)
    decoder = compile_json(ORDER, max_depth=24, prefix="_twg_", max_bytes=1 << 20)
    found = decoder.decode(payloads)
    assert found.batch.num_rows == rows
    options = arrow_json.ParseOptions(explicit_schema=ORDER)
    reading = arrow_json.ReadOptions(use_threads=False, block_size=1 << 22)
    figures = {
        "kernel decode": best_seconds(lambda: decoder.decode(payloads), repeat=15),
        "pyarrow.json": best_seconds(lambda: arrow_json.read_json(pa.BufferReader(lines), reading, options), repeat=5),
        "DataFusion": datafusion_seconds(lines),
        "orjson, no columns": best_seconds(lambda: [orjson.loads(d) for d in documents], repeat=5),
    }
    head(f"{title}, {len(lines) // rows} bytes a record")
    if encode:
        encoder = compile_json_encoder(found.batch.schema)
        figures["kernel encode"] = best_seconds(lambda: encoder.encode(found.batch), repeat=15)
    for name, seconds in figures.items():
        show(name, seconds / rows * 1e6, "us/record")
    for name in ("pyarrow.json", "DataFusion"):
        show(f"times {name}", figures[name] / figures["kernel decode"], "x")


def main() -> None:
    """The order as most producers write it, and with blanks and its keys in another order each time."""
    rows, random = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000, Random(1)
    orders = [order(n, random) for n in range(rows)]
    bench("Order, compact", [orjson.dumps(o) for o in orders], encode=True)
    bench("Order, with blanks", [json.dumps(o).encode() for o in orders], encode=False)
    bench("Order, keys shuffled", [orjson.dumps(dict(random.sample(list(o.items()), len(o)))) for o in orders], encode=False)


if __name__ == "__main__":
    main()
