"""Every format of every codec below ``thalweg/codecs`` against the suite of ``thalweg.testing.codecs``."""

from __future__ import annotations

import datetime as dt
import json
import uuid
from decimal import Decimal
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from thalweg import registry
from thalweg.errors import SchemaUnknown
from thalweg.ports.schemas import RegisteredSchema, SchemaRegistry
from thalweg.testing.codecs import CodecBench, CodecSuite

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


FORMATS = sorted(f for name in registry.names("codecs") for f in registry.load("codecs", name).formats if f != "avro-container")
"""What files hold is never a topic's format: ``test_containers.py`` has its suite."""
ORDER = {
    "type": "record", "name": "Order", "fields": [
        {"name": "id", "type": "long"},
        {"name": "note", "type": ["null", "string"], "default": None},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 2}},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "state", "type": {"type": "enum", "name": "State", "symbols": ["NEW", "PAID"]}},
        {"name": "lines", "type": {"type": "array", "items": {"type": "record", "name": "Line", "fields": [
            {"name": "sku", "type": "string"}, {"name": "qty", "type": "int"}]}}},
        {"name": "tags", "type": {"type": "map", "values": "double"}},
    ],
}  # fmt: skip
DECLARED = pa.schema([
    pa.field("id", pa.int64()), pa.field("note", pa.string()), pa.field("price", pa.decimal128(12, 2)), pa.field("at", pa.timestamp("us", "UTC")),
    pa.field("state", pa.string()), pa.field("lines", pa.list_(pa.struct([("sku", pa.string()), ("qty", pa.int32())]))),
    pa.field("tags", pa.map_(pa.string(), pa.float64())),
])
ROWS = [
    {
        "id": 2**62, "note": 'Grüße, "x"\n', "price": Decimal("12.30"), "at": dt.datetime(2024, 2, 29, 12, 0, 0, 1, dt.UTC), "state": "PAID",
        "lines": [{"sku": "a", "qty": 1}, {"sku": "", "qty": -1}], "tags": [("k", 0.1), ("", -0.0)],
    },
    {
        "id": -1, "note": None, "price": Decimal("-0.01"), "at": dt.datetime(1969, 12, 31, 23, 59, 59, 999999, dt.UTC), "state": "NEW",
        "lines": [], "tags": [],
    },
]  # fmt: skip
ORDER_PROTO = """
syntax = "proto3";
package shop;
import "google/protobuf/timestamp.proto";
message Line { string sku = 1; int32 qty = 2; }
message Order {
  enum State { NEW = 0; PAID = 1; }
  int64 id = 1;
  optional string note = 2;
  google.protobuf.Timestamp at = 4;
  State state = 5;
  repeated Line lines = 6;
  map<string, double> tags = 7;
  oneof pay { string card = 8; Line voucher = 9; }
}
"""
PROTO_ROWS = [
    {**{n: v for n, v in row.items() if n != "price"}, "card": card, "voucher": voucher}
    for row, card, voucher in zip(ROWS, (None, "x"), ({"sku": "v", "qty": 0}, None), strict=True)
]


def raw_bench(_folder: Path) -> CodecBench:
    """Any bytes."""
    return CodecBench("raw", rows=[{"value": b"\x00\xff"}, {"value": b""}, {"value": b"text"}])


def json_bench(_folder: Path) -> CodecBench:
    """Declared columns."""
    return CodecBench("json", DECLARED, rows=ROWS)


def avro_bench(_folder: Path) -> CodecBench:
    """Columns from the schema."""
    return CodecBench("avro", options={"avro.schema": json.dumps(ORDER)}, rows=ROWS)


def avro_confluent_bench(folder: Path) -> CodecBench:
    """The schemas in a folder."""
    for name in ("7.avsc", "t-value.avsc"):
        (folder / name).write_text(json.dumps(ORDER))
    known = registry.load("registries", "static").make(str(folder), {})
    return CodecBench("avro-confluent", options={"avro-confluent.url": str(folder)}, registry=known, rows=ROWS)


def avro_single_object_bench(_folder: Path) -> CodecBench:
    """The schema by its fingerprint."""
    return CodecBench("avro-single-object", options={"avro.schema": json.dumps(ORDER)}, rows=ROWS)


def protobuf_bench(folder: Path) -> CodecBench:
    """Columns from a ``.proto`` file."""
    (folder / "order.proto").write_text(ORDER_PROTO)
    known = registry.load("registries", "descriptors").make(str(folder / "order.proto"), {})
    return CodecBench("protobuf", options={"protobuf.descriptor": "order.proto", "protobuf.message": "Order"}, registry=known, rows=PROTO_ROWS)


def protobuf_confluent_bench(folder: Path) -> CodecBench:
    """The schemas in a folder; the message is not the first one."""
    for name in ("7.proto", "t-value.proto"):
        (folder / name).write_text(ORDER_PROTO)
    known = registry.load("registries", "static").make(str(folder), {})
    options = {"protobuf-confluent.url": str(folder), "protobuf.message": "Order"}
    return CodecBench("protobuf-confluent", options=options, registry=known, rows=PROTO_ROWS)


JSON_SCHEMA = {
    "$defs": {"line": {"type": "object", "properties": {"sku": {"type": "string"}, "qty": {"type": "integer", "connect.type": "int32"}}}},
    "type": "object", "properties": {
        "id": {"type": "integer"}, "note": {"oneOf": [{"type": "null"}, {"type": "string"}]},
        "price": {"type": "number", "title": "org.apache.kafka.connect.data.Decimal",
                  "connect.parameters": {"scale": "2", "connect.decimal.precision": "12"}},
        "at": {"type": "string", "format": "date-time"}, "state": {"enum": ["NEW", "PAID"]},
        "lines": {"type": "array", "items": {"$ref": "#/$defs/line"}}, "tags": {"type": "object", "additionalProperties": {"type": "number"}},
    },
}  # fmt: skip


class One(SchemaRegistry):
    """A registry of one schema, whatever is asked for."""

    def __init__(self, found: RegisteredSchema) -> None:
        """The schema."""
        self.found = found

    def by_id(self, schema_id: int | str) -> RegisteredSchema:
        """The schema under its id."""
        if schema_id != self.found.id:
            raise SchemaUnknown(f"no schema {schema_id}")
        return self.found

    def latest(self, subject: str) -> RegisteredSchema:
        """The schema."""
        return self.found

    def register(self, subject: str, schema: RegisteredSchema) -> int:
        """Not asked for."""
        raise SchemaUnknown(f"{subject} is not registered")

    def close(self) -> None:
        """Nothing is open."""


def json_confluent_bench(_folder: Path) -> CodecBench:
    """Columns from the registry's JSON Schema."""
    known = One(RegisteredSchema(7, "JSON", json.dumps(JSON_SCHEMA)))
    return CodecBench("json-confluent", options={"json-confluent.url": "http://localhost:1"}, registry=known, rows=ROWS)


def enveloped(format_name: str) -> Callable[[Path], CodecBench]:
    """Glue's and Apicurio's envelopes."""

    def bench(_folder: Path) -> CodecBench:
        inner, _, kind = format_name.partition("-")
        number: int | str = str(uuid.UUID(int=7 << 64 | 1)) if kind == "glue" else 7
        text = {"avro": json.dumps(ORDER), "json": json.dumps(JSON_SCHEMA), "protobuf": ORDER_PROTO}[inner]
        known = One(RegisteredSchema(number, inner.upper(), text))
        options = {"apicurio.url": "http://localhost:1", "protobuf.message": "Order"}
        return CodecBench(format_name, options=options, registry=known, rows=PROTO_ROWS if inner == "protobuf" else ROWS)

    return bench


BENCHES: dict[str, Callable[[Path], CodecBench]] = {
    "raw": raw_bench, "json": json_bench, "avro": avro_bench, "avro-confluent": avro_confluent_bench,
    "avro-single-object": avro_single_object_bench,
    "protobuf": protobuf_bench, "protobuf-confluent": protobuf_confluent_bench,
    "json-confluent": json_confluent_bench,
    **{name: enveloped(name) for name in (f"{inner}-{kind}" for inner in ("avro", "json", "protobuf") for kind in ("glue", "apicurio"))},
}


def test_every_format_has_a_bench() -> None:
    """A new format is tested the moment it exists."""
    assert sorted(BENCHES) == FORMATS


class TestEveryFormat(CodecSuite):
    """The suite, over each format."""

    @pytest.fixture(params=FORMATS)
    def bench(self, request: pytest.FixtureRequest, tmp_path: Path) -> CodecBench:
        """One format."""
        return BENCHES[request.param](tmp_path)


class TestDeclaredAvro(CodecSuite):
    """The suite, over declared columns that leave a field out and widen another."""

    @pytest.fixture
    def bench(self) -> CodecBench:
        """The reader's columns differ from the schema's."""
        declared = pa.schema([pa.field("state", pa.string()), pa.field("price", pa.decimal256(50, 4)), pa.field("id", pa.int64())])
        rows = [{**{n: row[n] for n in declared.names}, "price": row["price"].quantize(Decimal("0.0001"))} for row in ROWS]
        return _Declared("avro", declared, {"avro.schema": json.dumps(ORDER)}, rows=rows)


class _Declared(CodecBench):
    """Writes whole rows, reads the declared columns."""

    def encoded(self) -> list[bytes]:
        """All fields, by the schema."""
        return avro_bench_rows()


def avro_bench_rows() -> list[bytes]:
    """The rows as plain Avro."""
    return CodecBench("avro", options={"avro.schema": json.dumps(ORDER)}, rows=ROWS).encoded()
