"""The Avro kernel on the hard inputs: right values, codes that cost one row, bounded time and memory."""

from __future__ import annotations

import datetime as dt
import sys
import time
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

from thalweg.codecs.avro.kernel_decoder import AvroProgram, compile_decoder
from thalweg.codecs.avro.schema import SchemaError
from thalweg.kernels import program as p

if TYPE_CHECKING:
    from thalweg.arrow.kernel_rows import KernelRows

ITEMS = {"type": "record", "name": "R", "fields": [{"name": "a", "type": {"type": "array", "items": "int"}}, {"name": "t", "type": "string"}]}
NODE = {"type": "record", "name": "Node", "fields": [{"name": "v", "type": "long"}, {"name": "next", "type": ["null", "Node"], "default": None}]}
EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def hexed(*payloads: str | None) -> pa.BinaryArray:
    """Payloads written as hex."""
    return pa.array([None if x is None else bytes.fromhex(x) for x in payloads], pa.binary())


def one_field(kind: Any) -> dict[str, Any]:  # noqa: ANN401 - any schema
    """A record with the field ``x``."""
    return {"type": "record", "name": "R", "fields": [{"name": "x", "type": kind}]}


def decoded(schema: Any, *payloads: str | None, **options: Any) -> tuple[AvroProgram, KernelRows]:  # noqa: ANN401 - any schema
    """The program and what it made of the payloads."""
    program = compile_decoder(schema, **options)
    found = program.decode(hexed(*payloads))
    found.batch.validate(full=True)
    return program, found


def values(kind: Any, *payloads: str, **options: Any) -> list[Any]:  # noqa: ANN401 - any schema
    """The values of the field ``x``; every payload must be good."""
    _, found = decoded(one_field(kind), *payloads, **options)
    assert not found.codes.any()
    return list(found.batch.column("x").to_pylist())


def test_blocks_with_sizes_and_several_blocks() -> None:
    """A negative count carries a size, and several blocks are one array (AV-01)."""
    _, found = decoded(ITEMS, "05 06 02 04 06 00 04 78 79", "04 02 04 02 06 00 04 78 79")

    assert found.batch.to_pylist() == [{"a": [1, 2, 3], "t": "xy"}] * 2


@pytest.mark.parametrize("payload", ["05 08 02 04 06 00 04 78 79", "05 04 02 04 06 00 04 78 79", "05 7f 02 04 06 00 04 78 79"])
def test_sizes_that_lie_are_refused(payload: str) -> None:
    """A block is as long as it says, or the row is bad (AV-01)."""
    _, found = decoded(ITEMS, payload)

    assert found.codes.tolist() == [p.MALFORMED]


def test_hostile_counts_and_lengths() -> None:
    """INT64_MIN, 2**40 items without bytes and lengths beyond the payload end at once, one row each (AV-03)."""
    program = compile_decoder(ITEMS)
    empty = compile_decoder(one_field({"type": "array", "items": "null"}))
    nested = compile_decoder(one_field({"type": "array", "items": {"type": "array", "items": "null"}}))
    began = time.perf_counter()

    found = program.decode(hexed("ff ff ff ff ff ff ff ff ff 01 00", "00 80 80 80 80 10 61 62 63", "06 02 04 06 00 04 78 79", "01 00 00 00", "00 01"))
    claimed = empty.decode(hexed("80 80 80 80 80 40 00", "06 00", "ff ff ff ff ff ff ff ff ff 01 00", "d0 0f d0 0f 00"))
    many = nested.decode(pa.array([b"\xd0\x0f" + b"\x80\x08\x00" * 1000 + b"\x00"], pa.binary()))

    assert time.perf_counter() - began < 30  # most of it compilation
    assert found.codes.tolist() == [p.MALFORMED, p.MALFORMED, p.OK, p.MALFORMED, p.MALFORMED]
    assert found.rows.tolist() == [2]
    assert claimed.codes.tolist() == [p.LIMIT, p.OK, p.LIMIT, p.LIMIT]
    assert claimed.batch.to_pylist() == [{"x": [None] * 3}]
    assert many.codes.tolist() == [p.LIMIT]


def test_branches_out_of_range_are_named() -> None:
    """A branch that does not exist is a fault that names field and branch (AV-06)."""
    schema = {"type": "record", "name": "R", "fields": [{"name": "s", "type": ["null", "string"]}]}
    program, found = decoded(schema, "04", "01", "00", "02 02 78")

    assert found.codes.tolist() == [p.BRANCH, p.BRANCH, p.OK, p.OK]
    assert [program.reason(found, row) for row in (0, 1)] == [
        ("decode.malformed", "s: branch 2 is out of range (byte 0)", "s"),
        ("decode.malformed", "s: branch -1 is out of range (byte 0)", "s"),
    ]
    assert found.batch.to_pylist() == [{"s": None}, {"s": "x"}]


def test_short_decimals_are_sign_extended() -> None:
    """Two's complement of any length; no bytes are zero; too many digits are a fault (AV-09)."""
    kind = {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}
    found = values(kind, "02 ff", "04 00 ff", "02 9c", "02 00", "00", "26 " + "ff" * 18 + "9c")
    _, bad = decoded(one_field(kind), "0a 02 54 0b e4 00", "22 01" + "00" * 16, "28 80" + "00" * 19, "0a 02 54 0b e3 ff")

    assert found == [Decimal(x) for x in ("-0.01", "2.55", "-1.00", "0.00", "0.00", "-1.00")]
    assert bad.codes.tolist() == [p.RANGE, p.RANGE, p.RANGE, p.OK]
    assert bad.batch.column("x").to_pylist() == [Decimal("99999999.99")]


def test_wide_decimals() -> None:
    """More than 38 digits are decimal256, more than 76 are refused; declarations that cannot be are ignored (AV-11)."""
    wide = {"type": "bytes", "logicalType": "decimal", "precision": 50, "scale": 10}
    number = 12345678901234567890123456789012345678901234567890
    data = number.to_bytes(21, "big")

    assert values(wide, (bytes([2 * len(data)]) + data).hex()) == [Decimal("1234567890123456789012345678901234567890.1234567890")]
    assert compile_decoder(one_field(wide)).schema.field("x").type == pa.decimal256(50, 10)
    assert values({"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 6}, "02 ff") == [b"\xff"]
    assert values({"type": "bytes", "logicalType": "decimal"}, "02 ff") == [b"\xff"]
    assert values({"type": "string", "logicalType": "foo"}, "02 78") == ["x"]
    with pytest.raises(SchemaError, match="77 digits"):
        compile_decoder(one_field({"type": "bytes", "logicalType": "decimal", "precision": 77}))


def test_fixed_decimals() -> None:
    """A decimal in a fixed is sign-extended as well (AV-09)."""
    kind = {"type": "fixed", "name": "D", "size": 3, "logicalType": "decimal", "precision": 6, "scale": 1}

    assert values(kind, "ff ff fe", "01 86 a0") == [Decimal("-0.2"), Decimal("10000.0")]


@pytest.mark.parametrize(
    ("logical", "kind"),
    [
        ("timestamp-millis", pa.timestamp("ms", "UTC")), ("timestamp-micros", pa.timestamp("us", "UTC")), ("timestamp-nanos", pa.timestamp("ns", "UTC")),
        ("local-timestamp-millis", pa.timestamp("ms")), ("local-timestamp-micros", pa.timestamp("us")), ("local-timestamp-nanos", pa.timestamp("ns")),
    ],
)  # fmt: skip
def test_timestamps_are_exact_counts(logical: str, kind: pa.DataType) -> None:
    """Any 64 bits are kept, before 1970 and beyond year 9999; local ones have no zone (AV-13, AV-14)."""
    numbers = [-1, -62135596800001, 253402300800000, 1700000000123456789, 2**63 - 1, -(2**63)]
    payloads = [long_of(n).hex() for n in numbers]
    _, found = decoded(one_field({"type": "long", "logicalType": logical}), *payloads)

    assert found.batch.schema.field("x").type == kind
    assert found.batch.column("x").view(pa.int64()).to_pylist() == numbers


def long_of(value: int) -> bytes:
    """A zigzag varint."""
    left, out = (value << 1) ^ (value >> 63), bytearray()
    while left > 127:
        out.append(left & 127 | 128)
        left >>= 7
    return bytes([*out, left])


def test_dates_and_times() -> None:
    """Dates are days; a time of day lies within a day (AV-14)."""
    assert values({"type": "int", "logicalType": "date"}, "01", "00") == [dt.date(1969, 12, 31), dt.date(1970, 1, 1)]
    _, millis = decoded(one_field({"type": "int", "logicalType": "time-millis"}), long_of(86_399_999).hex(), long_of(86_400_000).hex(), "01")
    _, micros = decoded(one_field({"type": "long", "logicalType": "time-micros"}), long_of(86_399_999_999).hex(), long_of(86_400_000_000).hex())

    assert millis.codes.tolist() == [p.OK, p.RANGE, p.RANGE]
    assert micros.codes.tolist() == [p.OK, p.RANGE]
    assert micros.batch.column("x").to_pylist() == [dt.time(23, 59, 59, 999_999)]


def test_durations_are_calendar_intervals() -> None:
    """Months, days and milliseconds are unsigned and little endian; what the interval cannot hold is a fault (AV-15)."""
    kind = {"type": "fixed", "size": 12, "name": "D", "logicalType": "duration"}
    _, found = decoded(one_field(kind), "01 00 00 00 0f 00 00 00 e8 03 00 00", "ff ff ff ff 0f 00 00 00 e8 03 00 00", "00 00 00 00 ff ff ff ff 00 00 00 00")

    assert found.codes.tolist() == [p.OK, p.RANGE, p.RANGE]
    assert found.batch.column("x").to_pylist() == [pa.MonthDayNano([1, 15, 1_000_000_000])]


def test_recursion_unrolls_and_the_rest_is_text() -> None:
    """A recursive record becomes columns as deep as asked, JSON text below, and the text is counted (AV-21)."""
    told: list[str] = []
    program = compile_decoder(NODE, max_depth=2, on_text=told.append)
    found = program.decode(hexed("02 02 04 00", "02 02 04 02 06 02 08 00", "02 00", "02 02 04 02 06"))
    found.batch.validate(full=True)

    assert found.codes.tolist() == [p.OK, p.OK, p.OK, p.MALFORMED]
    assert found.batch.to_pylist() == [
        {"v": 1, "next": {"v": 2, "next": None}}, {"v": 1, "next": {"v": 2, "next": '{"v":3,"next":{"v":4,"next":null}}'}}, {"v": 1, "next": None},
    ]  # fmt: skip
    assert told == ["Node"]


@pytest.mark.parametrize("wrap", [lambda t: ["null", t], lambda t: {"type": "array", "items": t}, lambda t: {"type": "map", "values": t}])
def test_recursion_never_overflows(wrap: Any) -> None:  # noqa: ANN401 - a function
    """A payload that nests without end is a limit, not a crash, whether the column is kept or not (AV-21)."""
    schema = {"type": "record", "name": "N", "fields": [{"name": "v", "type": "int"}, {"name": "n", "type": wrap("N")}]}
    step = {list: b"\2\2", dict: b"\2\2"}[type(wrap("N"))] + (b"\2k" if not isinstance(wrap("N"), list) and wrap("N")["type"] == "map" else b"")
    deep, fine = step * 100_000, step * 20 + b"\2\0" + b"\0" * 20
    fine = step * 20 + b"\2\0" + (b"" if isinstance(wrap("N"), list) else b"\0" * 20)
    for wanted in (None, {"v"}):
        found = compile_decoder(schema, max_depth=2, wanted=wanted).decode(pa.array([fine, deep, fine], pa.binary()))

        assert found.codes.tolist() == [p.OK, p.LIMIT, p.OK]


def test_text_that_python_cannot_write_is_left_to_the_reference() -> None:
    """Text nested deeper than the interpreter's stack costs its row the fast path, not the batch (AV-21)."""
    schema = {"type": "record", "name": "N", "fields": [{"name": "n", "type": {"type": "array", "items": {"type": "map", "values": ["null", "N"]}}}]}
    step = b"\2\2\2k\2"
    deep, fine = step * 90 + b"\0" + b"\0\0" * 90, step * 2 + b"\0" + b"\0\0" * 2
    program = compile_decoder(schema, max_depth=1)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(300)
    try:
        found = program.decode(pa.array([fine, deep, b"\0"], pa.binary()))
    finally:
        sys.setrecursionlimit(limit)

    assert found.codes.tolist() == [p.SLOW, p.SLOW, p.OK]
    assert program.decode(pa.array([fine, b"\0"], pa.binary())).codes.tolist() == [p.OK, p.OK]


def test_recursion_without_end_is_refused() -> None:
    """A record that must contain itself is no schema (AV-22)."""
    with pytest.raises(SchemaError, match="without end"):
        compile_decoder({"type": "record", "name": "X", "fields": [{"name": "x", "type": "X"}]})


def test_empty_records() -> None:
    """No fields are no reason to lose rows (AV-23)."""
    _, nothing = decoded({"type": "record", "name": "R", "fields": []}, "", "", "00")
    schema = {"type": "record", "name": "R", "fields": [{"name": "h", "type": {"type": "record", "name": "H", "fields": []}}, {"name": "n", "type": "int"}]}
    _, nested = decoded(schema, "02", "04")
    _, unwanted = decoded(schema, "02", "04", "", wanted=())

    assert (nothing.batch.num_rows, nothing.codes.tolist()) == (2, [p.OK, p.OK, p.TRAILING])
    assert nested.batch.to_pylist() == [{"h": {}, "n": 1}, {"h": {}, "n": 2}]
    assert (unwanted.batch.num_rows, unwanted.batch.num_columns) == (2, 0)


def test_uuids() -> None:
    """Text in either case and 16 bytes become the same 16 bytes; other text is a fault (AV-30)."""
    text = "550e8400-e29b-41d4-a716-446655440000"
    payloads = [f"48 {t.encode().hex()}" for t in (text, text.upper(), text.replace("4", "g"), text.replace("-", "0"))]
    _, found = decoded(one_field({"type": "string", "logicalType": "uuid"}), *payloads, f"14 {b'not-a-uuid'.hex()}", "04 ff ff")
    raw = values({"type": "fixed", "size": 16, "name": "U", "logicalType": "uuid"}, text.replace("-", ""))

    assert found.codes.tolist() == [p.OK, p.OK, p.TEXT, p.TEXT, p.TEXT, p.UTF8]
    assert found.batch.column("x").to_pylist() == [bytes.fromhex(text.replace("-", ""))] * 2
    assert raw == [bytes.fromhex(text.replace("-", ""))]


def test_unions() -> None:
    """Unions of several types are dense unions, or structs with one field a branch."""
    schema = one_field(["null", "int", "string", {"type": "record", "name": "a.I", "fields": [{"name": "k", "type": "int"}]}])
    payloads = ("00", "02 08", "04 02 78", "06 0a", "08")
    _, dense = decoded(schema, *payloads)
    _, struct = decoded(schema, *payloads, union="struct")
    empty = {"int": None, "string": None, "I": None}

    assert dense.codes.tolist() == struct.codes.tolist() == [p.OK] * 4 + [p.BRANCH]
    assert dense.batch.column("x").to_pylist() == [None, 4, "x", {"k": 5}]
    assert struct.batch.column("x").to_pylist() == [None, empty | {"int": 4}, empty | {"string": "x"}, empty | {"I": {"k": 5}}]


def test_null_structs_have_null_children() -> None:
    """Whatever lies below a NULL record is NULL, unions included (AV-25)."""
    inner = {"type": "record", "name": "I", "fields": [
        {"name": "n", "type": "int"}, {"name": "s", "type": "string"}, {"name": "u", "type": ["int", "string"]}, {"name": "l", "type": {"type": "array", "items": "int"}},
    ]}  # fmt: skip
    _, found = decoded(one_field(["null", inner]), "00", "02 02 02 78 02 02 79 02 08 00", "00")
    column = found.batch.column("x")

    assert column.to_pylist() == [None, {"n": 1, "s": "x", "u": "y", "l": [4]}, None]
    assert [column.field(i).to_pylist() for i in range(4)] == [[None, 1, None], [None, "x", None], [None, "y", None], [None, [4], None]]


def test_maps_keep_order_and_repeated_keys_are_left_to_the_reference() -> None:
    """The last of equal keys wins there; maps with many keys are checked as well."""
    kind = {"type": "map", "values": "int"}
    many = b"".join(b"\4" + f"{i:02}".encode() + b"\2" for i in range(60))
    twice = many[:-4] + b"\x04\x30\x30\x02"
    payloads = [b"\4\2a\2\2b\4\0", b"\4\2a\2\2a\4\0", b"\x78" + many + b"\0", b"\x78" + twice + b"\0", b"\0"]
    found = compile_decoder(one_field(kind)).decode(pa.array(payloads, pa.binary()))

    assert found.codes.tolist() == [p.OK, p.SLOW, p.OK, p.SLOW, p.OK]
    assert found.slow.tolist() == [1, 3]
    assert found.bad.tolist() == []
    assert found.batch.column("x").to_pylist() == [[("a", 1), ("b", 2)], [(f"{i:02}", 1) for i in range(60)], []]


def test_framing_is_skipped() -> None:
    """One number of bytes before every datum, or one a row; a payload that is shorter is bad."""
    program = compile_decoder(one_field("int"))
    same = program.decode(hexed("00 00 00 00 01 02", "00 00 00 00 01 04", "00 00"), 5)
    each = program.decode(hexed("02", "ff ff 04"), np.array([0, 2], np.int32))

    assert same.codes.tolist() == [p.OK, p.OK, p.MALFORMED]
    assert same.batch.to_pylist() == [{"x": 1}, {"x": 2}]
    assert each.batch.to_pylist() == [{"x": 1}, {"x": 2}]


def test_missing_payloads_and_slices() -> None:
    """A row without payload has a code of its own, and slices are read from where they begin."""
    program = compile_decoder(one_field("int"))
    payloads = hexed("02", None, "04", "06")

    assert program.decode(payloads).codes.tolist() == [p.OK, p.NULL_ROW, p.OK, p.OK]
    assert program.decode(payloads.slice(1, 2)).rows.tolist() == [1]
    assert program.decode(payloads.slice(2)).batch.to_pylist() == [{"x": 2}, {"x": 3}]
    assert program.decode(payloads.slice(4)).batch.num_rows == 0
    assert program.decode(pa.array([], pa.binary())).batch.schema == program.schema


@pytest.mark.parametrize(("schema", "payloads", "rows"), [
    ("long", ("54",), [{"value": 42}]),
    (["null", one_field("int")], ("00", "02 04"), [{"x": None}, {"x": 2}]),
    (["int", "string"], ("00 04", "02 02 78"), [{"value": 2}, {"value": "x"}]),
    ({"type": "enum", "name": "E", "symbols": ["A"]}, ("00",), [{"value": "A"}]),
])  # fmt: skip
def test_any_schema_may_be_the_root(schema: Any, payloads: tuple[str, ...], rows: list[Any]) -> None:  # noqa: ANN401 - any schema
    """A root that is no record is the one column ``value``; a NULL record is a row of NULLs (RG-08)."""
    _, found = decoded(schema, *payloads)

    assert found.batch.to_pylist() == rows


def test_bad_rows_leave_no_trace() -> None:
    """Rows that fail late, in the middle of lists, unions and strings, do not touch the rows around them."""
    schema = {"type": "record", "name": "R", "fields": [
        {"name": "s", "type": "string"}, {"name": "a", "type": {"type": "array", "items": ["int", "string"]}}, {"name": "z", "type": "boolean"},
    ]}  # fmt: skip
    good, bad = "04 78 79 04 00 08 02 02 71 00 01", "06 61 62 63 06 00 06 02 04 72 72 02 02 73 00 02"
    _, mixed = decoded(schema, bad, good, bad, bad, good)
    _, alone = decoded(schema, good, good)

    assert mixed.codes.tolist() == [p.MALFORMED, p.OK, p.MALFORMED, p.MALFORMED, p.OK]
    assert mixed.batch.equals(alone.batch)
    assert mixed.positions[0] == 15


