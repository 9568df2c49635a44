"""Avro data to columns: the hard inputs, byte by byte."""

from __future__ import annotations

import json
import os
import time
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from thalweg.testing.codecs import CodecBench

if TYPE_CHECKING:
    from thalweg.arrow.batch import Decoded

ARRAY_AND_TEXT = {
    "type": "record", "name": "R", "fields": [{"name": "a", "type": {"type": "array", "items": "int"}}, {"name": "t", "type": "string"}],
}  # fmt: skip


def table(schema: object, declared: pa.Schema | None = None, **options: str) -> CodecBench:
    """A table of plain Avro."""
    keys = {"union": "avro.union", "max_depth": "decode.max_depth"}
    return CodecBench("avro", declared, {"avro.schema": json.dumps(schema), **{keys[k]: v for k, v in options.items()}})


def field(kind: object) -> dict[str, Any]:
    """A record with the one field ``s``."""
    return {"type": "record", "name": "R", "fields": [{"name": "s", "type": kind}]}


def decode(schema: object, *payloads: str, **options: str) -> Decoded:
    """Decode payloads that are written in hex."""
    return table(schema, **options).decode([bytes.fromhex(p) for p in payloads])


def rows(schema: object, *payloads: str, **options: str) -> list[dict[str, Any]]:
    """The rows of payloads that are all good."""
    out = decode(schema, *payloads, **options)
    assert out.bad.messages == []
    return list(out.batch.to_pylist())


def integers(schema: object, *payloads: str) -> tuple[pa.DataType, list[int | None]]:
    """The type and the integers underneath of the column ``s``."""
    out = decode(schema, *payloads)
    assert out.bad.messages == []
    column = out.batch.column(0)
    return column.type, column.view(pa.int32() if column.type.bit_width == 32 else pa.int64()).to_pylist()


def test_blocks_with_sizes_and_several_blocks() -> None:
    """A negative count is followed by the block's size; more than one block is legal (AV-01)."""
    expected = {"a": [1, 2, 3], "t": "xy"}

    assert rows(ARRAY_AND_TEXT, "05 06 02 04 06 00 04 78 79", "04 02 04 02 06 00 04 78 79") == [expected, expected]


def test_block_sizes_must_be_true() -> None:
    """A block that is longer or shorter than it says is a bad record."""
    out = decode(ARRAY_AND_TEXT, "05 08 02 04 06 00 04 78 79", "05 04 02 04 06 00 04 78 79", "05 01 02 04 06 00 00", "05 7e 02 04 06 00 00")

    assert out.bad.rows == [0, 1, 2, 3]
    assert set(out.bad.codes) == {"decode.malformed"}


def test_hostile_counts_and_lengths() -> None:
    """A claim of 2^63 items, of 2^40 items of no bytes, of 2 GiB of text: bad records at once, in little memory (AV-03)."""
    begin = time.monotonic()
    hostile = decode(ARRAY_AND_TEXT, "ff ff ff ff ff ff ff ff ff 01 00", "00 80 80 80 80 10 78 79 7a", "80 80 80 80 80 40 02")
    nulls = decode(field({"type": "array", "items": "null"}), "80 80 80 80 80 40 00", "ff ff ff ff ff ff ff ff ff 01 00", "06 00")

    assert (hostile.bad.rows, hostile.bad.codes) == ([0, 1, 2], ["decode.malformed"] * 3)
    assert "2147483648 bytes are claimed, 3 are left" in hostile.bad.messages[1]
    assert (nulls.bad.rows, nulls.bad.codes) == ([0, 1], ["decode.limit"] * 2)
    assert nulls.batch.to_pylist() == [{"s": [None, None, None]}]
    assert time.monotonic() - begin < 5


def test_items_of_no_bytes_are_capped_over_all_arrays() -> None:
    """Arrays in arrays cannot claim a thousand items of nothing each."""
    nested = field({"type": "array", "items": {"type": "array", "items": {"type": "fixed", "name": "F", "size": 0}}})
    out = decode(nested, "04" + "d00f00" * 2 + "00", "02" + "d00f00" + "00", "02" + "d20f00" + "00")

    assert (out.bad.rows, out.bad.codes) == ([0, 2], ["decode.limit"] * 2)
    assert len(out.batch.to_pylist()[0]["s"][0]) == 1000


def test_branch_index_out_of_range() -> None:
    """Branches 2 and -1 of two: the field and the index are named (AV-06)."""
    out = decode(field(["null", "string"]), "04", "01", "00", "02 02 61")

    assert (out.bad.rows, out.bad.codes, out.bad.paths) == ([0, 1], ["decode.malformed"] * 2, ["s", "s"])
    assert out.bad.messages[0] == "s: branch 2 is out of range 0 to 1"
    assert "branch -1" in out.bad.messages[1]
    assert out.batch.to_pylist() == [{"s": None}, {"s": "a"}]


def test_decimals_of_any_length() -> None:
    """Two's complement is extended by its sign; no bytes are zero; more digits than declared are refused, not rounded (AV-09, AV-10, AVR-05)."""
    kind = {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}
    out = decode(field(kind), "02 ff", "04 00 ff", "02 9c", "02 00", "00", "10 ff ff ff ff ff ff ff ff", "0c 7f ff ff ff ff ff")

    assert [r["s"] for r in out.batch.to_pylist()] == [Decimal(d) for d in ("-0.01", "2.55", "-1.00", "0.00", "0.00", "-0.01")]
    assert (out.bad.rows, out.bad.codes) == ([6], ["decode.type"])
    fixed = {"type": "fixed", "name": "F", "size": 2, "logicalType": "decimal", "precision": 4, "scale": 1}
    limits = decode(field(fixed), "27 0f", "d8 f1", "27 10", "7f ff")
    assert [str(r["s"]) for r in limits.batch.to_pylist()] == ["999.9", "-999.9"]
    assert limits.bad.rows == [2, 3]


def test_wide_and_invalid_decimals() -> None:
    """50 digits are decimal256; declarations that cannot be, and unknown logical types, are the type underneath (AV-11)."""
    wide = {"type": "bytes", "logicalType": "decimal", "precision": 50, "scale": 10}
    number = int("1" * 48)
    data = number.to_bytes(20, "big", signed=True)
    out = rows(field(wide), "28" + data.hex())

    assert out == [{"s": Decimal(f"{'1' * 38}.{'1' * 10}")}]
    assert table(field(wide)).schema.field("s").type == pa.decimal256(50, 10)
    assert rows(field({"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 6}), "02 ff") == [{"s": b"\xff"}]
    assert rows(field({"type": "bytes", "logicalType": "decimal"}), "02 ff") == [{"s": b"\xff"}]
    assert rows(field({"type": "string", "logicalType": "foo"}), "02 61") == [{"s": "a"}]


@pytest.mark.parametrize(("name", "kind"), [
    ("timestamp-millis", pa.timestamp("ms", "UTC")), ("timestamp-micros", pa.timestamp("us", "UTC")), ("timestamp-nanos", pa.timestamp("ns", "UTC")),
    ("local-timestamp-millis", pa.timestamp("ms")), ("local-timestamp-micros", pa.timestamp("us")), ("local-timestamp-nanos", pa.timestamp("ns")),
])  # fmt: skip
def test_timestamps_are_integers(name: str, kind: pa.DataType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any 64 bits, before 1970 and beyond the year 9999, in any zone of the machine (AV-13, AV-14, AVR-04)."""
    monkeypatch.setitem(os.environ, "TZ", "America/New_York")
    time.tzset()
    values = [-1, -62135596800001, 253402300800000, 1700000000123456789, -(2**63), 2**63 - 1]
    encoded = [zigzag(v) for v in values]
    found = integers(field({"type": "long", "logicalType": name}), *encoded)
    monkeypatch.undo()
    time.tzset()

    assert found == (kind, values)


def zigzag(value: int) -> str:
    """A long, in hex."""
    left, out = (value << 1) ^ (value >> 63), ""
    while left > 0x7F:
        out += f"{left & 0x7F | 0x80:02x}"
        left >>= 7
    return out + f"{left:02x}"


def test_dates_and_times_of_day() -> None:
    """Dates before 1970; times of day within the day, others refused."""
    assert integers(field({"type": "int", "logicalType": "date"}), "01", zigzag(2932896)) == (pa.date32(), [-1, 2932896])
    assert integers(field({"type": "int", "logicalType": "time-millis"}), zigzag(86399999)) == (pa.time32("ms"), [86399999])
    assert integers(field({"type": "long", "logicalType": "time-micros"}), "00") == (pa.time64("us"), [0])
    out = decode(field({"type": "int", "logicalType": "time-millis"}), zigzag(86400000), "01")
    assert (out.bad.rows, out.bad.codes) == ([0, 1], ["decode.type"] * 2)


def test_durations() -> None:
    """Months, days and milliseconds stay apart; months beyond 31 bits are refused (AV-15)."""
    kind = field({"type": "fixed", "size": 12, "name": "D", "logicalType": "duration"})
    out = decode(kind, "01 00 00 00 0f 00 00 00 e8 03 00 00", "ff ff ff ff 00 00 00 00 00 00 00 00", "00 00 00 00 00 00 00 00 ff ff ff ff")

    assert out.batch.to_pylist() == [{"s": pa.MonthDayNano((1, 15, 10**9))}, {"s": pa.MonthDayNano((0, 0, (2**32 - 1) * 10**6))}]
    assert (out.bad.rows, out.bad.codes) == ([1], ["decode.type"])


def test_recursive_records_end_in_text() -> None:
    """Records inside themselves become columns down to the limit; the rest is JSON text, named and counted (AV-21, DEC-07, DEC-09, DEC-11)."""
    node = {"type": "record", "name": "Node", "fields": [{"name": "v", "type": "long"}, {"name": "next", "type": ["null", "Node"], "default": None}]}
    assert rows(node, "02 02 04 00", max_depth="2") == [{"v": 1, "next": {"v": 2, "next": None}}]
    bench = table(node, max_depth="2")
    decoder = bench.decoder()
    out = decoder.decode(pa.array([bytes.fromhex("02 02 04 02 06 02 08 00")], pa.binary()), None)

    assert out.batch.to_pylist() == [{"v": 1, "next": {"v": 2, "next": '{"v":3,"next":{"v":4,"next":null}}'}}]
    assert decoder.notices == ("'next.next': record Node lies deeper than 'decode.max_depth' (2) and becomes JSON text",)
    assert decoder.fallbacks == {"Node": 1}
    endless = decoder.decode(pa.array([bytes.fromhex("02 02") * 100_000], pa.binary()), None)
    assert endless.bad.codes == ["decode.limit"]


def test_recursion_through_maps_and_arrays() -> None:
    """A → B → A through a map and an array is cut the same way (AV-21)."""
    inner = {"type": "record", "name": "B", "fields": [{"name": "a", "type": {"type": "array", "items": "A"}}]}
    outer = {"type": "record", "name": "A", "fields": [{"name": "m", "type": {"type": "map", "values": inner}}]}
    assert rows(outer, "02 02 6b 02 00 00 00", max_depth="2") == [{"m": [("k", {"a": ['{"m":{}}']})]}]


def test_empty_records() -> None:
    """Records without fields keep their rows and their structs (AV-23)."""
    out = decode({"type": "record", "name": "E", "fields": []}, "", "", "")
    inner = field({"type": "record", "name": "H", "fields": []})
    inner["fields"].append({"name": "n", "type": "int"})

    assert (out.batch.num_rows, out.batch.num_columns) == (3, 0)
    assert rows(inner, "02", "04") == [{"s": {}, "n": 1}, {"s": {}, "n": 2}]


def test_uuids_are_16_bytes() -> None:
    """From text in either case and from 16 bytes; other text is a bad record (AV-30)."""
    text = "550E8400-e29b-41d4-a716-446655440000"
    expected = bytes.fromhex(text.replace("-", ""))
    out = decode(field({"type": "string", "logicalType": "uuid"}), "48" + text.encode().hex(), "14" + b"not-a-uuid".hex())

    assert out.batch.to_pylist() == [{"s": expected}]
    assert (out.bad.codes, out.bad.messages) == (["decode.type"], ["s: 'not-a-uuid' is no UUID"])
    assert rows(field({"type": "fixed", "size": 16, "name": "U", "logicalType": "uuid"}), expected.hex()) == [{"s": expected}]
    assert rows(field({"type": "bytes", "logicalType": "uuid"}), "02 ff") == [{"s": b"\xff"}]


def test_unions_of_several_types() -> None:
    """Dense unions by default, structs with one field a branch on request; one type beside null is that type, in either order (AVR-02, AVR-03)."""
    union = field(["null", "string", "long"])

    assert [r["s"] for r in rows(union, "00", "02 02 61", "04 54")] == [None, "a", 42]
    assert table(union).schema.field("s").type == pa.dense_union([pa.field("null", pa.null()), pa.field("string", pa.string()), pa.field("long", pa.int64())])
    structs = rows(union, "00", "02 02 61", "04 54", union="struct")
    assert [r["s"] for r in structs] == [None, {"string": "a", "long": None}, {"string": None, "long": 42}]
    assert rows(field(["string", "null"]), "02", "00 02 61") == [{"s": None}, {"s": "a"}]
    assert rows(field(["string"]), "00 02 61") == [{"s": "a"}]
    assert rows(field(["null"]), "00") == [{"s": None}]
    twins = [{"type": "record", "name": f"{n}.T", "fields": [{"name": "a", "type": "int"}]} for n in "xy"]
    assert rows(field(twins), "02 02", union="struct") == [{"s": {"x.T": None, "y.T": {"a": 1}}}]


def test_numbers_that_are_none() -> None:
    """Varints of more than ten bytes or 64 bits, ints of more than 32, booleans that are neither, and text that is no UTF-8."""
    for kind, payload in (
        ("long", "ff" * 10 + "01"), ("long", "ff" * 9 + "02"), ("int", zigzag(2**31)), ("int", zigzag(-(2**31) - 1)),
        ("boolean", "02"), ("string", "04 ff fe"), ("bytes", "01"), ({"type": "enum", "name": "E", "symbols": ["A"]}, "02"),
    ):  # fmt: skip
        out = decode(field(kind), payload)
        assert (out.bad.codes, out.bad.paths) == (["decode.malformed"], ["s"]), kind
    assert rows(field("long"), "ff" * 9 + "01", "80 00") == [{"s": -(2**63)}, {"s": 0}]


def test_payloads_must_end_with_the_datum() -> None:
    """Cut payloads, empty ones and bytes that are left over are bad records, whatever the type (KF-01)."""
    for kind, payload in (("float", "00 00 80 3f"), ("double", "00" * 8), ("string", "02 61"), ("boolean", "01"), (["null", "int"], "02 02")):
        whole = bytes.fromhex(payload)
        out = table(field(kind)).decode([whole, whole[:-1], b"", whole + b"\0"])
        assert out.rows.to_pylist() == [0]
        assert (out.bad.rows, out.bad.codes) == ([1, 2, 3], ["decode.malformed"] * 3)
        assert out.bad.messages[-1].startswith("1 byte is left after the datum")


def test_payloads_that_are_not_plain() -> None:
    """Framed data in a table of plain data is said to look like what it is (AV-28)."""
    spec = {"type": "record", "name": "R", "fields": [{"name": n, "type": "string"} for n in "ab"]}
    out = decode(spec, "c3 01" + "11" * 8 + "02 61", "00 00 00 00 07 02 61", b'{"a":1}'.hex(), "02 61 02")

    assert [m.partition("looks like ")[2] for m in out.bad.messages] == [
        "Avro single-object encoding (c3 01), format 'avro-single-object')", "Confluent framing (format 'avro-confluent'))", "JSON)", "",
    ]  # fmt: skip


def test_roots_that_are_no_record() -> None:
    """A primitive is the column ``value``; a nullable record is its fields, and null a row of NULLs, no delete (RG-08)."""
    record = {"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}]}

    assert rows("long", "54") == [{"value": 42}]
    assert rows({"type": "enum", "name": "E", "symbols": ["A", "B"]}, "02") == [{"value": "B"}]
    assert rows(["null", record], "00", "02 02") == [{"a": None}, {"a": 1}]
    assert [r["value"] for r in rows(["int", "string"], "00 02", "02 02 61")] == [1, "a"]


def test_enums_carry_all_symbols() -> None:
    """Dictionary columns whose dictionary is the schema's symbols, also where a batch uses none of them."""
    kind = {"type": "enum", "name": "E", "symbols": ["A", "B", "C"]}

    assert decode(field(kind), "04").batch.column(0).dictionary.to_pylist() == ["A", "B", "C"]
    nested = decode(field({"type": "map", "values": ["null", kind]}), "02 02 6b 02 02 00", "00")
    assert nested.batch.column(0).items.dictionary.to_pylist() == ["A", "B", "C"]
    assert nested.batch.to_pylist() == [{"s": [("k", "B")]}, {"s": []}]


def test_maps_and_paths() -> None:
    """The last of several equal keys wins; a fault is found by its path."""
    kind = field({"type": "map", "values": {"type": "array", "items": ["null", "boolean"]}})
    out = decode(kind, "04 02 6b 00 02 6b 02 02 01 00 00", "02 02 6b 04 00 02 05 00 00")

    assert out.batch.to_pylist() == [{"s": [("k", [True])]}]
    assert (out.bad.paths, out.bad.messages) == (["s.k[1]"], ["s.k[1]: byte 5 is no boolean"])
