"""JSON values to columns."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from thalweg.arrow.columns import JSON_TEXT, UUID
from thalweg.codecs.json.values import Unsupported, converter
from thalweg.testing.codecs import CodecBench

UTC = pa.timestamp("us", "UTC")


def one(field: pa.Field | pa.DataType, text: str) -> tuple[Any, list[str]]:
    """The array of a column ``v`` for one document, as integers where it is a time; and the messages."""
    found = field if isinstance(field, pa.Field) else pa.field("v", field)
    out = CodecBench("json", pa.schema([found])).decode([f'{{"v":{text}}}'.encode()])
    assert set(out.bad.codes) <= {"decode.type"}
    assert set(out.bad.paths) <= {"v"} or out.bad.paths[0].startswith("v")
    column = out.batch.column(0)
    if pa.types.is_temporal(found.type):
        column = column.view(pa.int32() if found.type.bit_width == 32 else pa.int64())
    return (column.to_pylist() or [None])[0], out.bad.messages


@pytest.mark.parametrize(("kind", "text", "value"), [
    (pa.int8(), "-128", -128), (pa.uint64(), "18446744073709551615", 2**64 - 1), (pa.int64(), "1.0", 1), (pa.int64(), "1e3", 1000),
    (pa.float64(), "5", 5.0), (pa.float32(), "0.1", 0.10000000149011612), (pa.bool_(), "false", False), (pa.string(), '"\\u0000"', "\0"),
    (pa.decimal128(20, 10), "0.1", Decimal("0.1000000000")), (pa.decimal128(20, 10), '"0.1"', Decimal("0.1000000000")),
    (pa.decimal256(76, 2), "1" * 74, Decimal("1" * 74)), (pa.binary(), '"AP8="', b"\x00\xff"), (pa.binary(2), '"AP8="', b"\x00\xff"),
    (pa.date32(), '"9999-12-31"', 2932896), (pa.date32(), "-1", -1), (pa.time32("s"), '"00:00:01"', 1), (pa.time64("us"), "86399999999", 86399999999),
    (UTC, '"2024-01-01T00:00:00+02:00"', 1704060000000000), (UTC, "63072000000000000", 63072000000000000),
    (pa.timestamp("ns", "UTC"), "63072000000000000", 63072000000000000), (pa.timestamp("ms"), "253402300799000", 253402300799000),
    (pa.timestamp("us"), '"9999-12-31"', 253402214400000000), (pa.duration("ms"), "5", 5),
    (pa.list_(pa.int32()), "[1,null,2.0]", [1, None, 2]), (pa.large_list(pa.string()), "[]", []), (pa.list_(pa.int8(), 2), "[1,2]", [1, 2]),
    (pa.map_(pa.string(), pa.int32()), '{"b":1,"a":null,"b":2}', [("b", 2), ("a", None)]),
    (pa.map_(pa.int64(), pa.string()), '{"1":"x"}', [(1, "x")]), (pa.map_(pa.bool_(), pa.int8()), '{"true":1}', [(True, 1)]),
    (pa.struct([("a", pa.int32()), ("b", pa.string())]), '{"b":"x","c":[1e999999]}', {"a": None, "b": "x"}),
    (pa.null(), "null", None),
    (pa.field("v", pa.string(), metadata=JSON_TEXT), '{ "k" :1 }', '{ "k" :1 }'),
    (pa.field("v", pa.binary(16), metadata=UUID), '"550E8400-e29b-41d4-a716-446655440000"', bytes.fromhex("550e8400e29b41d4a716446655440000")),
])  # fmt: skip
def test_values_that_fit(kind: pa.Field | pa.DataType, text: str, value: object) -> None:
    """Each type from each spelling that it takes; the unit of a number comes from the column (JS-02, JS-03, JS-12, JS-13)."""
    assert one(kind, text) == (value, [])


@pytest.mark.parametrize(("kind", "text", "reason"), [
    (pa.int64(), '"5"', "expected a number (int64), found the string '5'"), (pa.int64(), "true", "found a boolean"),
    (pa.int64(), '""', "found the string ''"), (pa.int64(), "1.5", "more decimal places"), (pa.int64(), "{}", "found an object"),
    (pa.int8(), "128", "128 is out of range int8"), (pa.uint8(), "-1", "out of range uint8"), (pa.float64(), "1e400", "out of range double"),
    (pa.float64(), '"1"', "expected a number"), (pa.bool_(), "1", "expected true or false, found the number 1"),
    (pa.bool_(), '"true"', "expected true or false"), (pa.string(), "1", "expected a string, found the number 1"),
    (pa.string(), "{}", "expected a string, found an object"), (pa.decimal128(4, 2), "100", "out of range decimal(4, 2)"),
    (pa.decimal128(4, 2), '"1,5"', "expected a number"), (pa.decimal128(4, 2), '" 1"', "expected a number"), (pa.decimal128(4, 2), '"NaN"', "expected"),
    (pa.binary(), '"a"', "expected base64 text"), (pa.binary(), '"a_=="', "expected base64 text"), (pa.binary(2), '"AA=="', "expected 2 bytes, found 1"),
    (pa.date32(), '"2024-02-30"', "there is no date"), (pa.date32(), "2147483648", "out of range date"), (pa.time32("s"), "86400", "out of range time32"),
    (UTC, '"2024-01-01 00:00:00"', "needs 'Z' or an offset"), (UTC, '"2016-12-31T23:59:60Z"', "leap seconds"), (UTC, "1.5", "more decimal places"),
    (pa.timestamp("ns", "UTC"), '"9999-12-31T00:00:00Z"', "out of range timestamp[ns"), (pa.list_(pa.int32()), "{}", "expected an array"),
    (pa.list_(pa.int8(), 2), "[1]", "expected an array of 2 items"), (pa.map_(pa.string(), pa.int32()), "[]", "expected an object (map)"),
    (pa.map_(pa.int64(), pa.string()), '{"x":"x"}', "expected a number"), (pa.struct([("a", pa.int32())]), "[]", "expected an object"),
    (pa.field("v", pa.binary(16), metadata=UUID), '"not-a-uuid"', "expected a UUID"), (pa.null(), "1", "expected null"),
    (pa.field("v", pa.binary(16), metadata=UUID), '"{550e8400-e29b-41d4-a716-446655440000}"', "expected a UUID"),
])  # fmt: skip
def test_values_that_do_not_fit(kind: pa.Field | pa.DataType, text: str, reason: str) -> None:
    """No value becomes NULL because it does not fit: the record is bad, and the message names field and value (JS-03)."""
    value, messages = one(kind, text)

    assert value is None
    assert messages[0].startswith("v")
    assert reason in messages[0]


def test_paths_lead_to_the_fault() -> None:
    """Items by number, members and map entries by name."""
    schema = pa.schema([("o", pa.struct([("l", pa.list_(pa.map_(pa.string(), pa.int8())))]))])
    out = CodecBench("json", schema).decode([b'{"o":{"l":[null,{"k":1,"z":300}]}}'])

    assert out.bad.paths == ["o.l[1].z"]


def test_types_without_json() -> None:
    """An interval or a union cannot be declared for JSON."""
    for kind in (pa.month_day_nano_interval(), pa.dense_union([pa.field("a", pa.int8())]), pa.float16()):
        with pytest.raises(Unsupported):
            converter(pa.field("v", kind))
