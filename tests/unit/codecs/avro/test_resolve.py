"""Writer's schema, reader's schema, columns."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from thalweg.arrow.columns import JSON_TEXT, UUID
from thalweg.arrow.rows import BadValue
from thalweg.codecs.avro.match import Incompatible
from thalweg.codecs.avro.resolve import Resolver
from thalweg.codecs.avro.schema import SchemaError, parse
from thalweg.codecs.avro.types import Unfolding
from thalweg.codecs.avro.wire import Cursor


def record(*fields: dict[str, Any], **more: object) -> dict[str, Any]:
    """A record R."""
    return {"type": "record", "name": "R", "fields": list(fields), **more}


def f(name: str, kind: object, **more: object) -> dict[str, Any]:
    """A field."""
    return {"name": name, "type": kind, **more}


def resolved(writer: object, reader: object, payload: str, column: pa.Field | None = None, union: str = "dense") -> Any:  # noqa: ANN401 - any value
    """What a payload written by ``writer`` is to ``reader``."""
    written, wanted = parse(json.dumps(writer)), parse(json.dumps(reader))
    found = column if column is not None else Unfolding(24, union).arrow_field("", wanted)
    c = Cursor(bytes.fromhex(payload))
    value = Resolver(declared=column is not None).read(written, wanted, found)(c)
    assert c.left == 0
    return value


def refusal(writer: object, reader: object, column: pa.DataType | pa.Field | None = None) -> str:
    """Why a writer's schema cannot be read."""
    written, wanted = parse(json.dumps(writer)), parse(json.dumps(reader))
    found = column if isinstance(column, pa.Field) else pa.field("", column or Unfolding(24, "dense").arrow_field("", wanted).type)
    with pytest.raises(Incompatible) as caught:
        Resolver(strict=True, declared=column is not None).read(written, wanted, found)
    return f"{caught.value.where}: {caught.value.message}"


@pytest.mark.parametrize(("writer", "reader", "payload", "value"), [
    ("int", "long", "54", 42), ("int", "float", "54", 42.0), ("int", "double", "54", 42.0), ("long", "double", "54", 42.0), ("float", "double", "00002842", 42.0),
    ("long", "float", "8280808002", 16777216.0 * 16 + 0.0), ("string", "bytes", "02ff", b"\xff"), ("bytes", "string", "0261", "a"),
])  # fmt: skip
def test_promotions(writer: str, reader: str, payload: str, value: object) -> None:
    """Every promotion of the specification; the value has the reader's type (AV-18)."""
    found = resolved(writer, reader, payload)

    assert found == pytest.approx(value) if isinstance(value, float) else found == value
    assert type(found) is type(value)


def test_promoted_numbers_are_rounded_once() -> None:
    """A long just above the middle of two floats goes up."""
    number = 2**60 + 2**36 + 1
    left, data = number << 1, bytearray()
    while left > 0x7F:
        data.append(left & 0x7F | 0x80)
        left >>= 7
    data.append(left)

    assert resolved("long", "float", data.hex()) == float(2**60 + 2**37)


def test_bytes_read_as_text_are_checked() -> None:
    """Bytes that are no UTF-8 are a bad record, not a broken array (AV-18)."""
    writer, reader = record(f("x", "int"), f("b", "bytes")), record(f("x", "double"), f("b", "string"))

    assert resolved(writer, reader, "54 04 78 79") == (42.0, "xy")
    with pytest.raises(BadValue, match="invalid UTF-8"):
        resolved(writer, reader, "54 02 ff")


def test_a_record_becomes_nullable_and_gains_a_field() -> None:
    """Resolution goes on below the union, in items and values too (AV-19)."""
    old = {"type": "record", "name": "N", "fields": [f("a", "int")]}
    new = {"type": "record", "name": "N", "fields": [f("a", "int"), f("b", "string", default="dflt")]}
    writer, reader = record(f("n", old), f("z", "int")), record(f("n", ["null", new], default=None), f("z", "int"))

    assert resolved(writer, reader, "0e 12") == ((7, "dflt"), 9)
    assert resolved({"type": "array", "items": old}, {"type": "array", "items": ["null", new]}, "02 0e 00") == [(7, "dflt")]
    assert resolved({"type": "map", "values": old}, {"type": "map", "values": ["null", new]}, "02 02 6b 0e 00") == [("k", (7, "dflt"))]
    small, large = ({"type": "enum", "name": "E", "symbols": s} for s in (["B"], ["A", "B"]))
    assert resolved(record(f("n", small)), record(f("n", ["null", large])), "00") == (1,)


def test_defaults() -> None:
    """Bytes are code points, null may be any branch, dates count days, records and containers nest (AV-20)."""
    inner = {"type": "record", "name": "I", "fields": [f("x", "long"), f("y", "string", default="yy")]}
    reader = record(
        f("b", "bytes", default="\u00ff\u0000"), f("o", ["int", "null"], default=None), f("d", {"type": "int", "logicalType": "date"}, default=19000),
        f("i", inner, default={"x": -1}), f("l", {"type": "array", "items": ["null", "double"]}, default=[None, 1]),
        f("m", {"type": "map", "values": "boolean"}, default={"k": True}), f("e", {"type": "enum", "name": "E", "symbols": ["A", "B"]}, default="B"),
        f("x", {"type": "fixed", "name": "F", "size": 2}, default="\u0000\u00ff"), f("u", ["string", "int"], default=7), f("empty", {"type": "array", "items": "int"}, default=[]),
    )  # fmt: skip

    assert resolved(record(), reader, "") == (
        b"\xff\x00", None, 19000, (-1, "yy"), [None, 1.0], [("k", True)], 1, b"\x00\xff", (1, 7), [],
    )  # fmt: skip


@pytest.mark.parametrize(("kind", "default"), [
    ("int", 2**31), ("int", "1"), ("int", True), ("int", 1.5), ("string", 1), ("bytes", "\u0100"), ({"type": "fixed", "name": "F", "size": 1}, "ab"),
    (["null", "int"], "x"), ({"type": "enum", "name": "E", "symbols": ["A"]}, "B"), ("null", 0), ("boolean", 0), ("double", "NaN"),
    (record(f("z", "int")) | {"name": "Z"}, {}), ({"type": "array", "items": "int"}, [None]), ({"type": "string", "logicalType": "uuid"}, "x"),
])  # fmt: skip
def test_defaults_that_do_not_fit(kind: object, default: object) -> None:
    """Found when the table is made, not when a record needs them."""
    with pytest.raises(SchemaError, match="field 'n'"):
        resolved(record(), record(f("n", kind, default=default)), "")


def test_fields_move_and_go_and_are_renamed() -> None:
    """By name, in any order; a reader's alias finds the old name; what nobody reads is passed over."""
    tree = {"type": "record", "name": "T", "fields": [f("kids", {"type": "array", "items": "T"}), f("e", ["null", "float"])]}
    gone = [
        f("g1", tree), f("g2", {"type": "map", "values": ["string", "boolean"]}), f("g3", {"type": "fixed", "name": "X", "size": 2}),
        f("g4", {"type": "enum", "name": "G", "symbols": ["A"]}), f("g5", "double"), f("g6", "string"),
    ]  # fmt: skip
    writer = record(f("b", "int"), *gone, f("old", "string"))
    reader = record(f("new", "string", aliases=["older", "old"]), f("b", "long"))
    passed = "02 00 00 00 00" + "02 02 6b 02 01 00" + "ffff" + "00" + "00" * 8 + "02 ff"

    assert resolved(writer, reader, "0e" + passed + "02 61") == ("a", 7)
    with pytest.raises(BadValue, match="symbol 1 is out of range"):
        resolved(writer, reader, "0e" + passed.replace("ffff00", "ffff02") + "02 61")


def test_what_is_passed_over_is_bounded() -> None:
    """Depth and counts of skipped values are checked like those of read ones (AV-03)."""
    tree = {"type": "record", "name": "T", "fields": [f("kids", {"type": "array", "items": "T"})]}
    for payload in ("02" * 100_000, "ffffffffffffffffff01 00", "80808080808040"):
        with pytest.raises((BadValue, IndexError)):
            resolved(record(f("g", tree)), record(), payload)


def test_enums() -> None:
    """Symbols by name; one that the reader does not know is its default, else a bad record."""
    old = {"type": "enum", "name": "E", "symbols": ["A", "B"]}
    new = {"type": "enum", "name": "E", "symbols": ["B", "C"]}

    assert resolved(old, new, "02") == 0
    with pytest.raises(BadValue, match="symbol 'A' is not among"):
        resolved(old, new, "00")
    assert resolved(old, {**new, "default": "C"}, "00") == 1
    assert resolved(old, new, "02", pa.field("", pa.string())) == "B"


def test_unions_between_writer_and_reader() -> None:
    """A writer's branch goes to the reader's branch of its type, else by promotion; what nobody reads fails when it comes."""
    assert resolved(["int", "string"], ["double", "long", "null"], "00 54") == (0, 42.0)
    assert resolved("int", ["double", "int"], "54") == (1, 42)
    assert resolved(["null", "int"], "int", "02 54") == 42
    with pytest.raises(BadValue, match="written as null, which cannot be read as int"):
        resolved(["null", "int"], "int", "00")
    with pytest.raises(BadValue, match="no branch of the union reads"):
        resolved(["int", "string"], ["null", "long"], "02 02 61")
    assert resolved(["int", "string", "null"], ["null", "long"], "04") is None
    named = [{"type": "record", "name": n, "fields": [f("a", "int")]} for n in ("N", "M")]
    assert resolved(named[1], named, "54") == (1, (42,))


@pytest.mark.parametrize(("writer", "reader"), [
    ("string", "int"), ("long", "int"), ("double", "float"), ("int", "boolean"), ("null", "int"),
    ({"type": "fixed", "name": "F", "size": 2}, {"type": "fixed", "name": "F", "size": 3}), ({"type": "fixed", "name": "F", "size": 2}, {"type": "fixed", "name": "G", "size": 2}),
    (record(), {"type": "record", "name": "Other", "fields": []}), ({"type": "array", "items": "int"}, {"type": "map", "values": "int"}),
])  # fmt: skip
def test_types_that_do_not_go_together(writer: object, reader: object) -> None:
    """No promotion, another size or another name."""
    assert "cannot be read as" in refusal(writer, reader)


def test_names_go_together_by_alias() -> None:
    """A record may be renamed where the reader says what it was called; namespaces do not count."""
    assert resolved({**record(f("a", "int")), "namespace": "x"}, record(f("a", "int"), namespace="y"), "54") == (42,)
    assert resolved({**record(f("a", "int")), "name": "x.Old"}, {**record(f("a", "int"), namespace="x"), "aliases": ["Old"]}, "54") == (42,)


def test_missing_fields_without_default() -> None:
    """An error that names the field."""
    assert refusal(record(), record(f("a", "int"))) == "a: the writer does not have it and it has no default"


def logical(kind: str, name: str, **more: object) -> dict[str, Any]:
    """A logical type."""
    return {"type": kind, "logicalType": name, **more}


def test_logical_types_keep_their_meaning() -> None:
    """Units are converted where that loses nothing; a plain number takes the reader's meaning; other changes are refused."""
    millis, micros = logical("long", "timestamp-millis"), logical("long", "timestamp-micros")
    narrow, wide = logical("bytes", "decimal", precision=4, scale=2), logical("bytes", "decimal", precision=9, scale=2)

    assert resolved(millis, micros, "02") == 1000
    assert resolved("long", micros, "02") == 1
    assert resolved(micros, "long", "02") == 1
    assert resolved(narrow, wide, "02ff") == -1
    assert refusal(micros, millis) == ": written as timestamp-micros, read as timestamp-millis"
    assert refusal(wide, narrow) == ": written as decimal(9, 2), read as decimal(4, 2)"
    assert refusal(millis, logical("long", "local-timestamp-millis")) == ": written as timestamp-millis, read as local-timestamp-millis"
    assert refusal(logical("int", "date"), logical("int", "time-millis")) == ": written as date, read as time-millis"
    with pytest.raises(BadValue, match="out of range"):
        resolved(millis, logical("long", "timestamp-nanos"), "ffffffffffffffffff01")


DECIMAL = logical("bytes", "decimal", precision=4, scale=2)
DECLARED: list[tuple[object, pa.DataType | pa.Field, str, Any]] = [
    ("int", pa.int64(), "54", 42), ("int", pa.float64(), "54", 42.0), ("int", pa.decimal128(12, 2), "54", 4200), ("long", pa.decimal128(19, 0), "54", 42),
    ("float", pa.float64(), "00002842", 42.0), ("string", pa.large_string(), "0261", "a"), ("bytes", pa.large_binary(), "02ff", b"\xff"),
    ({"type": "fixed", "name": "F", "size": 1}, pa.binary(), "ff", b"\xff"), (DECIMAL, pa.decimal256(50, 4), "02ff", -100),
    (logical("long", "timestamp-millis"), pa.timestamp("ns", "UTC"), "02", 10**6), (logical("int", "time-millis"), pa.time64("us"), "02", 1000),
    (logical("string", "uuid"), pa.string(), "0261", "a"), ({"type": "enum", "name": "E", "symbols": ["A"]}, pa.large_string(), "00", "A"),
    (logical("int", "date"), pa.date32(), "02", 1), ("null", pa.int8(), "", None), (["null", "int"], pa.int64(), "0254", 42),
    ({"type": "array", "items": "int"}, pa.large_list(pa.int64()), "025400", [42]),
    (["int", "string"], pa.struct([("string", pa.string()), ("int", pa.int64())]), "0054", (None, 42)),
    (["null", "int", "string"], pa.struct([("string", pa.string()), ("int", pa.int64())]), "00", None),
]


@pytest.mark.parametrize(("wire", "column", "payload", "value"), DECLARED)
def test_declared_columns_widen(wire: object, column: pa.DataType, payload: str, value: object) -> None:
    """A declared type that holds every value of the wire's type."""
    found = resolved(wire, wire, payload, pa.field("", column))

    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(("wire", "column"), [
    ("int", pa.int16()), ("int", pa.float32()), ("int", pa.string()), ("int", pa.uint32()), ("int", pa.decimal128(9, 0)), ("long", pa.int32()), ("long", pa.float64()),
    ("double", pa.float32()), ("string", pa.binary()), ("bytes", pa.string()), ("boolean", pa.int8()), ({"type": "fixed", "name": "F", "size": 2}, pa.binary(3)),
    (DECIMAL, pa.decimal128(4, 3)), (DECIMAL, pa.float64()), (logical("long", "timestamp-micros"), pa.timestamp("ms", "UTC")),
    (logical("long", "timestamp-micros"), pa.timestamp("us")), (logical("long", "timestamp-micros"), pa.int64()), ("long", pa.timestamp("us", "UTC")),
    (logical("int", "date"), pa.timestamp("us")), (logical("long", "time-micros"), pa.time32("ms")), (logical("string", "uuid"), pa.binary()),
    ({"type": "fixed", "name": "F", "size": 12, "logicalType": "duration"}, pa.duration("ms")), ("string", pa.field("", pa.binary(16), metadata=UUID)),
    (record(f("a", "int")), pa.string()), ({"type": "array", "items": "int"}, pa.list_(pa.int16())), ({"type": "map", "values": "int"}, pa.map_(pa.int32(), pa.int32())),
    ({"type": "map", "values": "int"}, pa.list_(pa.int32())), ({"type": "array", "items": "int"}, pa.int32()), ({"type": "enum", "name": "E", "symbols": ["A"]}, pa.int32()),
    (["int", "string"], pa.int32()), (["int", "string"], pa.struct([("int", pa.int32())])), ("int", pa.field("", pa.int32(), metadata=JSON_TEXT)),
])  # fmt: skip
def test_declared_columns_never_narrow(wire: object, column: pa.DataType | pa.Field) -> None:
    """A declared type that would lose something is refused when the table is made."""
    assert refusal(wire, wire, column)


def test_declared_records_leave_fields_out() -> None:
    """A ROW may hold some of the fields, in any order; one that does not exist is refused, with the nearest name."""
    wire = record(f("a", "int"), f("orderId", "string"), f("c", "boolean"))

    assert resolved(wire, wire, "54 02 61 01", pa.field("", pa.struct([("c", pa.bool_()), ("a", pa.int64())]))) == (True, 42)
    assert refusal(wire, wire, pa.struct([("orderid", pa.string())])) == "orderid: the schema has no such field; did you mean 'orderId'?"


def test_json_columns() -> None:
    """Any value as JSON text; text that is JSON already is checked and kept; NULL stays NULL."""
    column = pa.field("", pa.string(), metadata=JSON_TEXT)
    rich = record(
        f("d", DECIMAL), f("b", "bytes"), f("u", {"type": "fixed", "name": "U", "size": 16, "logicalType": "uuid"}), f("f", "double"), f("m", {"type": "map", "values": ["null", "long"]}),
        f("e", {"type": "enum", "name": "E", "symbols": ['"']}), f("l", {"type": "array", "items": "boolean"}), f("x", {"type": "fixed", "name": "X", "size": 1}),
    )  # fmt: skip
    payload = "02ff" + "02ff" + "00" * 16 + "000000000000f07f" + "02 02 22 02 02 00" + "00" + "04 00 01 00" + "ff"
    text = resolved(rich, rich, payload, column)

    assert json.loads(text, parse_float=Decimal) == {
        "d": Decimal("-0.01"), "b": "/w==", "u": "00000000-0000-0000-0000-000000000000", "f": "inf", "m": {'"': 1}, "e": '"', "l": [False, True], "x": "/w==",
    }  # fmt: skip
    assert resolved("string", "string", "12" + b'{ "a":1 }'.hex(), column) == '{ "a":1 }'
    assert resolved(["null", "string", "int"], ["null", "string", "int"], "00", column) is None
    for wrong in ("0261", "064e614e", "00"):
        with pytest.raises(BadValue, match="no JSON"):
            resolved("string", "string", wrong, column)
