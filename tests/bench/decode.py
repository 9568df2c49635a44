"""Microseconds a record of every format that can encode its own test data: ``python tests/bench/decode.py [rows]``."""

from __future__ import annotations

import json
import sys
from typing import Any

import pyarrow as pa
from figures import best_seconds, head, show

from thalweg import registry
from thalweg.model import options
from thalweg.ports.codec import DecodeRequest

ORDER = pa.schema([
    ("order_id", pa.int64()),
    ("placed_at", pa.timestamp("us", "UTC")),
    ("country", pa.string()),
    ("amount", pa.float64()),
    ("customer", pa.struct([("id", pa.int64()), ("name", pa.string())])),
    ("lines", pa.list_(pa.struct([("sku", pa.string()), ("qty", pa.int32()), ("price", pa.float64())]))),
])
AVRO = json.dumps({"type": "record", "name": "Order", "fields": [
    {"name": "order_id", "type": "long"},
    {"name": "placed_at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
    {"name": "country", "type": "string"},
    {"name": "amount", "type": "double"},
    {"name": "customer", "type": {"type": "record", "name": "Customer", "fields": [
        {"name": "id", "type": "long"}, {"name": "name", "type": "string"}]}},
    {"name": "lines", "type": {"type": "array", "items": {"type": "record", "name": "Line", "fields": [
        {"name": "sku", "type": "string"}, {"name": "qty", "type": "int"}, {"name": "price", "type": "double"}]}}},
]})  # fmt: skip
OPTIONS: dict[str, dict[str, str]] = {"raw": {}, "json": {}, "avro": {"avro.schema": AVRO}}


def order(n: int) -> dict[str, Any]:
    """A nested order with three lines."""
    lines = [{"sku": f"SKU-{(n + i) % 997}", "qty": i + 1, "price": (n % 900) / 10} for i in range(3)]
    return {
        "order_id": n, "placed_at": 1_767_225_600_000_000 + n, "country": ("de", "fr", "nl")[n % 3], "amount": n % 5000 / 100,
        "customer": {"id": n % 997, "name": f"customer {n % 997}"}, "lines": lines,
    }  # fmt: skip


def bench(name: str, rows: int) -> None:
    """Encode orders with the format's own encoder, then decode them."""
    plugin = next(p for p in (registry.load("codecs", n) for n in registry.names("codecs")) if name in p.formats)
    own, errors = options.read(plugin.options, OPTIONS[name])
    declared = pa.schema([("value", pa.binary())]) if name == "raw" else ORDER
    request = DecodeRequest(name, declared, own, "orders", "_twg_")
    encode = plugin.encode_row(request, None)
    payloads = pa.array([encode({"value": bytes(200)} if name == "raw" else order(n)) for n in range(rows)], pa.binary())
    decoder = plugin.decoder(request, None)
    decoded = decoder.decode(payloads, None)
    assert not errors
    assert decoded.batch.num_rows == rows
    seconds = best_seconds(lambda: decoder.decode(payloads, None), repeat=3)
    show(f"decode {name}, {payloads.nbytes // rows - 4} bytes", seconds / rows * 1e6, "us/record")


def main() -> None:
    """Every format."""
    head("Decoding")
    for name in OPTIONS:
        bench(name, int(sys.argv[1]) if len(sys.argv) > 1 else 20_000)


if __name__ == "__main__":
    main()
