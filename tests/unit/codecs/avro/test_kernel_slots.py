"""Resolution as the kernel's columns show it: promotions, defaults, aliases, unions, enums, declared columns."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pyarrow as pa
import pytest

from thalweg.codecs.avro.kernel_decoder import Unsupported, compile_decoder
from thalweg.codecs.avro.match import Incompatible
from thalweg.kernels import program as p

EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def hexed(*payloads: str) -> pa.BinaryArray:
    """Payloads written as hex."""
    return pa.array([bytes.fromhex(x) for x in payloads], pa.binary())


def one_field(kind: Any) -> dict[str, Any]:  # noqa: ANN401 - any schema
    """A record with the field ``x``."""
    return {"type": "record", "name": "R", "fields": [{"name": "x", "type": kind}]}


def test_promotions() -> None:
    """Whole numbers widen, bytes become text only when they are UTF-8 (AV-18)."""
    writer = {"type": "record", "name": "R", "fields": [{"name": "x", "type": "int"}, {"name": "b", "type": "bytes"}]}
    reader = {"type": "record", "name": "R", "fields": [{"name": "x", "type": "double"}, {"name": "b", "type": "string"}]}
    program = compile_decoder(writer, reader)
    found = program.decode(hexed("54 04 78 79", "54 02 ff", "54 04 c3 a9"))

    assert found.codes.tolist() == [p.OK, p.UTF8, p.OK]
    assert found.batch.to_pylist() == [{"x": 42.0, "b": "xy"}, {"x": 42.0, "b": "é"}]


@pytest.mark.parametrize(
    ("writer", "reader", "payload", "value"),
    [
        ("int", "long", "03", -2), ("int", "float", "54", 42.0), ("long", "float", "54", 42.0), ("long", "double", "53", -42.0),
        ("float", "double", "00 00 c0 3f", 1.5), ("string", "bytes", "02 78", b"x"), ("int", {"type": "long", "logicalType": "timestamp-millis"}, "02", EPOCH + dt.timedelta(milliseconds=1)),
    ],
)  # fmt: skip
def test_each_promotion(writer: Any, reader: Any, payload: str, value: Any) -> None:  # noqa: ANN401 - any schema and value
    """Every promotion of the specification (AV-18)."""
    found = compile_decoder(one_field(writer), one_field(reader)).decode(hexed(payload))

    assert found.batch.to_pylist() == [{"x": value}]


def test_field_becomes_nullable_and_gains_a_field() -> None:
    """Resolution goes through the nullable, in arrays and maps too (AV-19)."""
    old = {"type": "record", "name": "N", "fields": [{"name": "a", "type": "int"}]}
    new = {"type": "record", "name": "N", "fields": [{"name": "a", "type": "int"}, {"name": "b", "type": "string", "default": "dflt"}]}
    for wrap, payload, value in (
        (lambda t: t, "0e 12", {"a": 7, "b": "dflt"}),
        (lambda t: {"type": "array", "items": t}, "02 0e 00 12", [{"a": 7, "b": "dflt"}]),
        (lambda t: {"type": "map", "values": t}, "02 02 6b 0e 00 12", [("k", {"a": 7, "b": "dflt"})]),
    ):
        writer = {"type": "record", "name": "R", "fields": [{"name": "n", "type": wrap(old)}, {"name": "z", "type": "int"}]}
        target = ["null", new] if value == {"a": 7, "b": "dflt"} else wrap(["null", new])
        reader = {"type": "record", "name": "R", "fields": [{"name": "n", "type": target}, {"name": "z", "type": "int"}]}
        found = compile_decoder(writer, reader).decode(hexed(payload))

        assert found.batch.to_pylist() == [{"n": value, "z": 9}]


def test_defaults() -> None:
    """Bytes are Latin-1, any branch may be the default, logical types hold, and a default is NULL where its record is (AV-20)."""
    reader = {"type": "record", "name": "R", "fields": [
        {"name": "x", "type": "int"}, {"name": "b", "type": "bytes", "default": "\u00ff\u0000"}, {"name": "o", "type": ["int", "null"], "default": None},
        {"name": "d", "type": {"type": "int", "logicalType": "date"}, "default": 19000},
        {"name": "u", "type": ["int", "string"], "default": "two"},
    ]}  # fmt: skip
    found = compile_decoder(one_field("int"), reader).decode(hexed("02", "04"))
    found.batch.validate(full=True)

    assert found.batch.to_pylist() == [{"x": n, "b": b"\xff\0", "o": None, "d": dt.date(2022, 1, 8), "u": "two"} for n in (1, 2)]


def test_unions_resolve_branch_by_branch() -> None:
    """A writer's union into a plain type fails only for the rows that take an unreadable branch."""
    found = compile_decoder(one_field(["int", "string", "null"]), one_field("long")).decode(hexed("00 0e", "02 02 78", "04"))
    wider = compile_decoder(one_field(["int", "string"]), one_field(["null", "string", "double"])).decode(hexed("00 0e", "02 02 78"))

    assert found.codes.tolist() == [p.OK, p.TYPE, p.TYPE]
    assert found.batch.to_pylist() == [{"x": 7}]
    assert wider.batch.to_pylist() == [{"x": 7.0}, {"x": "x"}]


def test_enums() -> None:
    """Symbols come as a dictionary, as numbers, or through the reader's own list."""
    writer = {"type": "enum", "name": "E", "symbols": ["A", "B", "C"]}
    found = compile_decoder(one_field(writer)).decode(hexed("02", "06", "01"))
    resolved = compile_decoder(one_field(writer), one_field(writer | {"symbols": ["C", "A"]})).decode(hexed("00", "02", "04"))
    defaulted = compile_decoder(one_field(writer), one_field(writer | {"symbols": ["C", "A"], "default": "A"})).decode(hexed("00", "02", "04"))

    assert found.codes.tolist() == [p.OK, p.SYMBOL, p.SYMBOL]
    assert found.batch.column("x").to_pylist() == ["B"]
    assert resolved.codes.tolist() == [p.OK, p.TYPE, p.OK]
    assert defaulted.batch.column("x").to_pylist() == ["A", "A", "C"]
    numbers = compile_decoder(one_field({"type": "array", "items": ["null", writer]}), enum="number").decode(hexed("02 02 04 00"))
    assert numbers.batch.to_pylist() == [{"x": [2]}]


def test_declared_columns() -> None:
    """A column list may leave fields out and declare wider types; what it cannot hold is refused, unknown fields are NULL on request."""
    schema = {"type": "record", "name": "R", "fields": [
        {"name": "i", "type": "int"}, {"name": "s", "type": "string"}, {"name": "e", "type": {"type": "enum", "name": "E", "symbols": ["A"]}},
        {"name": "t", "type": {"type": "long", "logicalType": "timestamp-millis"}}, {"name": "a", "type": {"type": "array", "items": "int"}},
    ]}  # fmt: skip
    columns = pa.schema([
        ("t", pa.timestamp("us", "UTC")), ("i", pa.int64()), ("e", pa.string()), ("s", pa.large_string()), ("a", pa.large_list(pa.int32())), ("n", pa.int8()),
    ])  # fmt: skip
    found = compile_decoder(schema, declared=columns, missing_is_null=True).decode(hexed("02 02 78 00 04 02 06 00", "02 02 78 00 ff ff ff ff ff ff ff ff ff 01 00"))
    found.batch.validate(full=True)

    assert found.batch.schema == columns
    assert found.batch.to_pylist() == [{"t": EPOCH + dt.timedelta(milliseconds=2), "i": 1, "e": "A", "s": "x", "a": [3], "n": None}]
    assert found.codes.tolist() == [p.OK, p.RANGE]
    with pytest.raises(Incompatible, match="without loss"):
        compile_decoder(schema, declared=pa.schema([("i", pa.int16())]))
    with pytest.raises(Incompatible, match="no such field"):
        compile_decoder(schema, declared=pa.schema([("q", pa.int32())]))


def test_schemas_that_do_not_resolve_are_refused() -> None:
    """A reader's field without default that nobody wrote, or a type that cannot be read, is told before any data."""
    with pytest.raises(Incompatible, match="no default"):
        compile_decoder(one_field("int"), {"type": "record", "name": "R", "fields": [{"name": "y", "type": "int"}]})
    with pytest.raises(Incompatible, match="cannot be read as"):
        compile_decoder(one_field("string"), one_field("int"))
    assert issubclass(Unsupported, Exception)
