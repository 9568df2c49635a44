"""The encode kernel: what it writes is what fastavro writes, and what a schema cannot take costs one row."""

from __future__ import annotations

import io
from decimal import Decimal
from typing import Any

import fastavro
import pyarrow as pa
import pytest

from thalweg.codecs.avro.kernel_decoder import compile_decoder
from thalweg.codecs.avro.kernel_encoder import compile_encoder
from thalweg.codecs.avro.match import Incompatible
from thalweg.kernels import program as p


def one_field(kind: Any, **more: Any) -> dict[str, Any]:  # noqa: ANN401 - any schema
    """A record with the field ``x``."""
    return {"type": "record", "name": "R", "fields": [{"name": "x", "type": kind, **more}]}


def column(array: pa.Array) -> pa.RecordBatch:
    """A batch of the one column ``x``."""
    return pa.RecordBatch.from_arrays([array], ["x"])


def written(kind: Any, array: pa.Array) -> tuple[list[bytes | None], list[int]]:  # noqa: ANN401 - any schema
    """Payloads and codes of a column."""
    batch = column(array)
    found = compile_encoder(one_field(kind), batch.schema).encode(batch)
    found.payloads.validate(full=True)
    return found.payloads.to_pylist(), found.codes.tolist()


def test_bytes_are_those_of_fastavro() -> None:
    """Every type, nested and nullable, is written byte for byte as another library writes it."""
    schema: dict[str, Any] = {"type": "record", "name": "R", "fields": [
        {"name": "i", "type": "int"}, {"name": "l", "type": ["null", "long"]}, {"name": "f", "type": "float"}, {"name": "d", "type": ["double", "null"]},
        {"name": "b", "type": "boolean"}, {"name": "s", "type": "string"}, {"name": "y", "type": "bytes"},
        {"name": "e", "type": {"type": "enum", "name": "E", "symbols": ["A", "B"]}}, {"name": "x", "type": {"type": "fixed", "name": "X", "size": 5}},
        {"name": "a", "type": {"type": "array", "items": {"type": "record", "name": "I", "fields": [{"name": "k", "type": "int"}]}}},
        {"name": "m", "type": {"type": "map", "values": ["null", "string"]}},
    ]}  # fmt: skip
    made = fastavro.parse_schema(schema)
    expected = []
    for i in range(40):
        out = io.BytesIO()
        fastavro.schemaless_writer(out, made, {
            "i": i * 1000 - 7, "l": None if i % 3 else 2**60 + i, "f": i / 4, "d": None if i % 2 else i / 3, "b": i % 2 == 0, "s": "é" * i, "y": b"\xff" * i,
            "e": "AB"[i % 2], "x": b"12345", "a": [{"k": k} for k in range(i % 5)], "m": {str(k): None if k % 2 else "v" for k in range(i % 4)},
        })  # fmt: skip
        expected.append(out.getvalue())
    batch = compile_decoder(schema).decode(pa.array(expected, pa.binary())).batch

    encoder = compile_encoder(schema)

    assert encoder.encode(batch).payloads.to_pylist() == expected
    assert encoder.encode(batch.slice(7, 9)).payloads.to_pylist() == expected[7:16]
    assert encoder.encode(batch.slice(3), b"\0\0\0\0\x09").payloads.to_pylist() == [b"\0\0\0\0\x09" + e for e in expected[3:]]
    assert encoder.encode(batch.slice(40)).payloads.to_pylist() == []


@pytest.mark.parametrize(
    ("kind", "array", "payloads"),
    [
        ("int", pa.array([1, -1], pa.int8()), ["02", "01"]),
        ("long", pa.array([2**32 - 1], pa.uint32()), ["fe ff ff ff 1f"]),
        ("double", pa.array([1.5], pa.float32()), ["00 00 00 00 00 00 f8 3f"]),
        ("double", pa.array([1], pa.int32()), ["00 00 00 00 00 00 f0 3f"]),
        ("string", pa.array(["x", "yz"], pa.large_string()), ["02 78", "04 79 7a"]),
        ("string", pa.array(["x", "x"], pa.dictionary(pa.int8(), pa.string())), ["02 78", "02 78"]),
        ("bytes", pa.array([b"ab"], pa.binary(2)), ["04 61 62"]),
        ("bytes", pa.array(["é"]), ["04 c3 a9"]),
        ({"type": "int", "logicalType": "date"}, pa.array([-1], pa.date32()), ["01"]),
        ({"type": "int", "logicalType": "time-millis"}, pa.array([1], pa.time32("s")), ["d0 0f"]),
        ({"type": "long", "logicalType": "time-micros"}, pa.array([1], pa.time32("ms")), ["d0 0f"]),
        ({"type": "long", "logicalType": "timestamp-micros"}, pa.array([1], pa.timestamp("ms", "UTC")), ["d0 0f"]),
        ({"type": "long", "logicalType": "local-timestamp-nanos"}, pa.array([1], pa.timestamp("ns")), ["02"]),
        ({"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}, pa.array([Decimal("2.5"), Decimal("-0.5"), Decimal(0)], pa.decimal128(5, 1)), ["04 00 fa", "02 ce", "02 00"]),
        ({"type": "fixed", "name": "F", "size": 3, "logicalType": "decimal", "precision": 5}, pa.array([-2, 99999], pa.decimal128(5, 0)), ["ff ff fe", "01 86 9f"]),
        ({"type": "string", "logicalType": "uuid"}, pa.array([bytes(range(16))], pa.binary(16)), ["48" + b"00010203-0405-0607-0809-0a0b0c0d0e0f".hex()]),
        ({"type": "fixed", "name": "F", "size": 16, "logicalType": "uuid"}, pa.array([bytes(16)], pa.binary(16)), ["00" * 16]),
        ({"type": "fixed", "name": "F", "size": 12, "logicalType": "duration"}, pa.array([pa.MonthDayNano([1, 15, 10**9])]), ["01 00 00 00 0f 00 00 00 e8 03 00 00"]),
        ({"type": "enum", "name": "E", "symbols": ["A", "B"]}, pa.array([1, 0], pa.int32()), ["02", "00"]),
        ({"type": "enum", "name": "E", "symbols": ["A", "B"]}, pa.array(["B", "A"]), ["02", "00"]),
        ({"type": "array", "items": "int"}, pa.array([[1], []], pa.large_list(pa.int32())), ["02 02 00", "00"]),
        (["null", "int", "string"], pa.array(["x", None]), ["04 02 78", "00"]),
        (["string"], pa.array(["x"]), ["00 02 78"]),
        ("null", pa.nulls(2), ["", ""]),
    ],
)  # fmt: skip
def test_columns_become_fields(kind: Any, array: pa.Array, payloads: list[str]) -> None:  # noqa: ANN401 - any schema
    """Every Arrow type that fits without loss is written."""
    assert written(kind, array) == ([bytes.fromhex(x) for x in payloads], [p.OK] * len(payloads))


@pytest.mark.parametrize(
    ("kind", "array", "codes"),
    [
        ("int", pa.array([1, 2**31, None], pa.int64()), [p.OK, p.RANGE, p.TYPE]),
        ("long", pa.array([1, 2**63], pa.uint64()), [p.OK, p.RANGE]),
        ("string", pa.array(["x", None]), [p.OK, p.TYPE]),
        ({"type": "long", "logicalType": "timestamp-nanos"}, pa.array([1, 2**62], pa.timestamp("ms", "UTC")), [p.OK, p.RANGE]),
        ({"type": "bytes", "logicalType": "decimal", "precision": 3}, pa.array([999, 1000, -1000], pa.decimal128(5, 0)), [p.OK, p.RANGE, p.RANGE]),
        ({"type": "fixed", "name": "F", "size": 3}, pa.array([b"abc", b"ab"], pa.binary()), [p.OK, p.RANGE]),
        ({"type": "fixed", "name": "F", "size": 12, "logicalType": "duration"}, pa.array([pa.MonthDayNano([1, 1, 1]), pa.MonthDayNano([-1, 1, 0]), pa.MonthDayNano([0, 0, 0])]), [p.RANGE, p.RANGE, p.OK]),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, pa.array(["A", "Z", None]), [p.OK, p.SYMBOL, p.TYPE]),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, pa.array([0, 1, -1], pa.int32()), [p.OK, p.SYMBOL, p.SYMBOL]),
        ({"type": "array", "items": "int"}, pa.array([[1], [None], None]), [p.OK, p.TYPE, p.TYPE]),
    ],
)  # fmt: skip
def test_values_that_do_not_fit_cost_their_row(kind: Any, array: pa.Array, codes: list[int]) -> None:  # noqa: ANN401 - any schema
    """A row with a code has no payload; its neighbours are written."""
    payloads, found = written(kind, array)

    assert found == codes
    assert [x is None for x in payloads] == [c != p.OK for c in codes]


@pytest.mark.parametrize(
    ("kind", "column_type"),
    [
        ("int", pa.uint64()), ("float", pa.float64()), ("double", pa.int64()), ("string", pa.binary()), ("boolean", pa.int8()), ("null", pa.int8()),
        ({"type": "long", "logicalType": "timestamp-millis"}, pa.timestamp("us", "UTC")), ({"type": "long", "logicalType": "timestamp-millis"}, pa.timestamp("ms")),
        ({"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 1}, pa.decimal128(5, 2)), ({"type": "fixed", "name": "F", "size": 3}, pa.binary(4)),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, pa.int64()), ({"type": "array", "items": "int"}, pa.int32()), (one_field("int") | {"name": "I"}, pa.int32()),
        ({"type": "map", "values": "int"}, pa.list_(pa.int32())), (["null", "int", "string"], pa.float64()),
    ],
)  # fmt: skip
def test_columns_that_lose_something_are_refused(kind: Any, column_type: pa.DataType) -> None:  # noqa: ANN401 - any schema
    """What cannot be written without loss is told before any data, with the field's name."""
    with pytest.raises(Incompatible) as found:
        compile_encoder(one_field(kind), pa.schema([("x", column_type)]))

    assert found.value.where == "x"


def test_fields_without_column_take_their_default() -> None:
    """A default is written, null where there is none and null is allowed; anything else is refused, and so are unknown columns."""
    schema = {"type": "record", "name": "R", "fields": [
        {"name": "a", "type": "string", "default": "xy"}, {"name": "x", "type": "int"}, {"name": "b", "type": ["int", "null"]},
    ]}  # fmt: skip
    batch = column(pa.array([7], pa.int32()))

    assert compile_encoder(schema, batch.schema).encode(batch).payloads.to_pylist() == [bytes.fromhex("04 78 79 0e 02")]
    with pytest.raises(Incompatible, match="no default"):
        compile_encoder(schema, pa.schema([]))
    with pytest.raises(Incompatible, match="no such field"):
        compile_encoder(one_field("int"), pa.schema([("x", pa.int32()), ("y", pa.int32())]))


def test_unions_by_child_and_by_field() -> None:
    """Dense unions are written by their child's name, structs of branches by the one field that is there."""
    kind = ["null", "int", "string"]
    payloads = [bytes.fromhex(x) for x in ("00", "02 08", "04 02 78")]
    for union in ("dense", "struct"):
        batch = compile_decoder(one_field(kind), union=union).decode(pa.array(payloads, pa.binary())).batch

        assert compile_encoder(one_field(kind), batch.schema).encode(batch).payloads.to_pylist() == payloads
        assert compile_encoder(one_field(kind), batch.schema).encode(batch.slice(1)).payloads.to_pylist() == payloads[1:]
    both = pa.array([{"int": 1, "string": "x"}, {"int": None, "string": None}], pa.struct([("int", pa.int32()), ("string", pa.string())]))
    assert written(kind, both)[1] == [p.BRANCH, p.BRANCH]


def test_roots_that_are_no_records() -> None:
    """The one column ``value`` is the datum; a nullable record is written as its record."""
    value = pa.RecordBatch.from_arrays([pa.array([42], pa.int64())], ["value"])
    record = column(pa.array([3], pa.int32()))

    assert compile_encoder("long", value.schema).encode(value).payloads.to_pylist() == [b"\x54"]
    assert compile_encoder(["null", one_field("int")], record.schema).encode(record).payloads.to_pylist() == [b"\x02\x06"]


def test_faults_name_their_field_and_output_grows() -> None:
    """A bad row names the field; payloads far larger than the first guess are written whole."""
    batch = pa.RecordBatch.from_arrays([pa.array([[{"k": "x" * 100_000}], [{"k": None}], [{"k": "y"}] * 1000])], ["x"])
    schema = one_field({"type": "array", "items": {"type": "record", "name": "I", "fields": [{"name": "k", "type": "string"}]}})
    found = compile_encoder(schema, batch.schema).encode(batch)

    assert found.codes.tolist() == [p.OK, p.TYPE, p.OK]
    assert found.paths == {1: "x.k"}
    assert [None if x is None else len(x) for x in found.payloads.to_pylist()] == [100_005, None, 2003]


def test_cut_recursion_cannot_be_written() -> None:
    """Text that stands for a record too deep is no record any more: NULL is written, text costs its row."""
    node = {"type": "record", "name": "N", "fields": [{"name": "n", "type": ["null", "N"]}]}
    batch = compile_decoder(node, max_depth=1).decode(pa.array([b"\0", b"\2\0"], pa.binary())).batch

    assert compile_encoder(node, batch.schema).encode(batch).codes.tolist() == [p.OK, p.TYPE]
