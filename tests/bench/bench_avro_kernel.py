"""The Avro kernel, pyruhvro and fastavro on one core, in one run: ``python tests/bench/bench_avro_kernel.py [rows]``."""

from __future__ import annotations

import io
import json
import sys
from typing import TYPE_CHECKING, Any

import fastavro
import pyarrow as pa
import pyruhvro
from figures import best_seconds, head, show

from thalweg.codecs.avro.kernel_decoder import compile_decoder
from thalweg.codecs.avro.kernel_encoder import compile_encoder
from thalweg.kernels import straight
from thalweg.kernels.avro_straight import machine_code

if TYPE_CHECKING:
    from collections.abc import Callable

ORDER: dict[str, Any] = {"type": "record", "name": "Order", "fields": [
    {"name": "order_id", "type": "long"}, {"name": "customer", "type": "string"}, {"name": "country", "type": ["null", "string"], "default": None},
    {"name": "amount", "type": "double"}, {"name": "qty", "type": "int"}, {"name": "paid", "type": "boolean"},
    {"name": "ts", "type": {"type": "long", "logicalType": "timestamp-micros"}},
    {"name": "status", "type": {"type": "enum", "name": "Status", "symbols": ["NEW", "PAID", "SHIPPED"]}},
    {"name": "lines", "type": {"type": "array", "items": {"type": "record", "name": "Line", "fields": [
        {"name": "sku", "type": "string"}, {"name": "qty", "type": "int"}, {"name": "price", "type": "double"}]}}},
    {"name": "tags", "type": {"type": "map", "values": "string"}},
]}  # fmt: skip
WIDE_TYPES: tuple[Any, ...] = ("long", "double", "string", "int", ["null", "string"], "long", "boolean", ["null", "double"])
WIDE: dict[str, Any] = {
    "type": "record", "name": "Wide", "fields": [{"name": f"f{i}", "type": WIDE_TYPES[i % len(WIDE_TYPES)]} for i in range(128)],
}  # fmt: skip


def order(n: int) -> dict[str, Any]:
    """85 bytes, 17 columns."""
    return {
        "order_id": n, "customer": f"cust{n % 10000:05d}", "country": (None, "NO", "SE")[n * 7 % 3], "amount": n % 9973 / 7, "qty": n % 7,
        "paid": n % 2 == 1, "ts": 1_700_000_000_000_000 + n, "status": ("NEW", "PAID", "SHIPPED")[n % 3],
        "lines": [{"sku": f"sku{j}", "qty": j, "price": 1.5 * j} for j in range(3)], "tags": {"a": "b"},
    }  # fmt: skip


def wide(n: int) -> dict[str, Any]:
    """128 columns."""
    made = {
        0: lambda i: n * i, 1: lambda i: n / (i + 1), 2: lambda i: f"value {n * i % 1000}", 3: lambda i: n % 1000 - i, 5: lambda i: -n << 20,
        4: lambda i: None if (n + i) % 3 == 0 else f"v{n % 50}", 6: lambda i: (n + i) % 2 == 0, 7: lambda i: None if (n + i) % 5 == 0 else n * 0.5,
    }  # fmt: skip
    return {f"f{i}": made[i % len(WIDE_TYPES)](i) for i in range(128)}


def bench(title: str, schema: dict[str, Any], row: Callable[[int], dict[str, Any]], rows: int) -> None:
    """One shape: microseconds a record of each, and how many times the kernel's."""
    made = fastavro.parse_schema(schema)
    data = []
    for n in range(rows):
        out = io.BytesIO()
        fastavro.schemaless_writer(out, made, row(n))
        data.append(out.getvalue())
    payloads, text = pa.array(data, pa.binary()), json.dumps(schema)
    decoder, machine, encoder = compile_decoder(schema), compile_decoder(schema), compile_encoder(schema)
    decoder.written.use(straight.Loaded(machine_code(decoder.steps)))  # as after a million records, and from the first one on in the next run
    machine.written.use(None)
    batch = decoder.decode(payloads).batch
    assert batch.equals(machine.decode(payloads).batch)
    assert encoder.encode(batch).payloads.equals(payloads)
    few = data[: rows // 10]
    figures = {
        "kernel decode": best_seconds(lambda: decoder.decode(payloads), repeat=15) / rows,
        "kernel decode, common machine": best_seconds(lambda: machine.decode(payloads), repeat=15) / rows,
        "pyruhvro decode": best_seconds(lambda: pyruhvro.deserialize_array(data, text), repeat=5) / rows,
        "fastavro and from_pylist": best_seconds(lambda: pa.Table.from_pylist([fastavro.schemaless_reader(io.BytesIO(d), made) for d in few]), repeat=3)
        / len(few),
        "kernel encode": best_seconds(lambda: encoder.encode(batch), repeat=15) / rows,
    }
    head(f"{title}, {payloads.nbytes // rows - 4} bytes a record")
    for name, seconds in figures.items():
        show(name, seconds * 1e6, "us/record")
    show("times pyruhvro", figures["pyruhvro decode"] / figures["kernel decode"], "x")
    show("times pyruhvro, common machine", figures["pyruhvro decode"] / figures["kernel decode, common machine"], "x")
    show("times fastavro", figures["fastavro and from_pylist"] / figures["kernel decode"], "x")


def main() -> None:
    """Both shapes."""
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    bench("Order of 17 columns", ORDER, order, rows)
    bench("Record of 128 fields", WIDE, wide, max(rows // 5, 1000))


if __name__ == "__main__":
    main()
