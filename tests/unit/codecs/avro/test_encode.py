"""Rows to Avro data."""

from __future__ import annotations

import datetime as dt
import json
import uuid
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from thalweg.errors import UserError
from thalweg.ports.schemas import RegisteredSchema
from thalweg.registries.confluent.client import ConfluentRegistry
from thalweg.registries.confluent.options import read_options
from thalweg.testing.codecs import CodecBench
from thalweg.testing.registry import TestRegistry

UTC = dt.UTC


def there_and_back(kind: object, value: Any) -> Any:  # noqa: ANN401 - whatever Arrow gives
    """What a value is after it was written and read."""
    schema = {"type": "record", "name": "R", "fields": [{"name": "v", "type": kind}]}
    bench = CodecBench("avro", options={"avro.schema": json.dumps(schema)}, rows=[{"v": value}])
    out = bench.decode(bench.encoded())
    assert out.bad.messages == []
    return out.batch.to_pylist()[0]["v"]


@pytest.mark.parametrize(("kind", "value"), [
    ("null", None), ("boolean", True), ("int", -(2**31)), ("long", 2**63 - 1), ("float", 0.5), ("double", 0.1), ("bytes", b"\xff"), ("string", "ü"),
    ({"type": "fixed", "name": "F", "size": 2}, b"\x00\xff"), ({"type": "enum", "name": "E", "symbols": ["A", "B"]}, "B"),
    ({"type": "array", "items": ["null", "int"]}, [1, None]), ({"type": "map", "values": "int"}, [("k", 1)]), (["null", "string"], None), (["null", "string"], "a"),
    ({"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}, Decimal("-1.28")), ({"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}, Decimal("1.28")),
    ({"type": "fixed", "name": "D", "size": 4, "logicalType": "decimal", "precision": 9, "scale": 2}, Decimal("-9999999.99")),
    ({"type": "long", "logicalType": "timestamp-millis"}, dt.datetime(1969, 1, 1, tzinfo=UTC)), ({"type": "long", "logicalType": "timestamp-micros"}, dt.datetime(9999, 1, 1, tzinfo=UTC)),
    ({"type": "long", "logicalType": "local-timestamp-micros"}, dt.datetime(2024, 1, 1, 1, 1, 1, 1)),  # noqa: DTZ001 - a column without zone
    ({"type": "int", "logicalType": "date"}, dt.date(1, 1, 1)), ({"type": "int", "logicalType": "time-millis"}, dt.time(23, 59, 59, 999000)),
    ({"type": "long", "logicalType": "time-micros"}, dt.time(0, 0, 0, 1)), ({"type": "string", "logicalType": "uuid"}, uuid.UUID(int=2**127 + 7).bytes),
    ({"type": "fixed", "name": "U", "size": 16, "logicalType": "uuid"}, uuid.UUID(int=2**127 + 7).bytes),
    ({"type": "fixed", "name": "P", "size": 12, "logicalType": "duration"}, pa.MonthDayNano((1, 2, 3 * 10**6))),
    ({"type": "record", "name": "S", "fields": [{"name": "a", "type": "int"}]}, {"a": 1}), (["int", "string"], "a"),
])  # fmt: skip
def test_values_come_back(kind: object, value: object) -> None:
    """Every type as Arrow gives it to Python."""
    assert there_and_back(kind, value) == value


def test_fields_that_a_row_lacks() -> None:
    """They take their default, else null."""
    schema = {"type": "record", "name": "R", "fields": [{"name": "a", "type": "int", "default": 7}, {"name": "b", "type": ["null", "int"]}]}

    assert CodecBench("avro", options={"avro.schema": json.dumps(schema)}, rows=[{}]).encoded() == [b"\x0e\x00"]
    assert CodecBench("avro", options={"avro.schema": '"int"'}, rows=[{"value": 7}]).encoded() == [b"\x0e"]


@pytest.mark.parametrize(("kind", "value", "reason"), [
    ("int", 2**31, "column 'v': 2147483648 does not fit type int"), ("string", None, "column 'v': NULL does not fit type string"), (["null", "int"], "x", "does not fit"), (["int", "string"], 1.5, "fits no branch"),
    ({"type": "bytes", "logicalType": "decimal", "precision": 3, "scale": 2}, Decimal("10.00"), "does not fit decimal"),
    ({"type": "bytes", "logicalType": "decimal", "precision": 3, "scale": 1}, Decimal("0.01"), "more decimal places"),
    ({"type": "long", "logicalType": "timestamp-millis"}, dt.datetime(2024, 1, 1, 0, 0, 0, 1, UTC), "more decimal places than ms"),
    ({"type": "fixed", "name": "F", "size": 2}, b"x", "1 bytes do not fit"),
])  # fmt: skip
def test_rows_that_do_not_fit(kind: object, value: object, reason: str) -> None:
    """The field is named; nothing is rounded."""
    with pytest.raises(UserError, match=reason):
        there_and_back(kind, value)


def test_a_column_inside_another_is_named_with_it() -> None:
    """From the row on, dotted."""
    inner = {"type": "record", "name": "S", "fields": [{"name": "a", "type": "long"}]}

    with pytest.raises(UserError, match=r"column 'v\.a': 'NOPE' does not fit type long"):
        there_and_back(inner, {"a": "NOPE"})
    with pytest.raises(UserError, match="there is no column 'value'"):
        CodecBench("avro", options={"avro.schema": '"int"'}, rows=[{"x": 7}]).encoded()


def test_framed_rows() -> None:
    """The id of the subject's newest schema stands before the datum."""
    with TestRegistry() as server:
        stored = server.add("t-value", '"long"', schema_id=258)
        client = ConfluentRegistry(server.url, read_options({}))
        bench = CodecBench("avro-confluent", options={"avro-confluent.url": server.url}, registry=client, rows=[{"value": 42}])
        assert stored.id == 258
        assert bench.encoded() == [b"\x00\x00\x00\x01\x02\x54"]
        assert client.register("t-value", RegisteredSchema("", "AVRO", '"long"')) == 258
        client.close()
    with pytest.raises(UserError, match="needs its schema to write data"):
        CodecBench("avro-confluent", options={"avro-confluent.url": "http://h"}, rows=[{}]).encoded()
    with pytest.raises(UserError, match="the Avro schema cannot be read"):
        CodecBench("avro", options={"avro.schema": "{"}, rows=[{}]).encoded()
