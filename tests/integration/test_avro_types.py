"""Every Avro type through a whole pipeline: planned, read, queried, left out, refused where a target cannot hold it."""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING, Any

import pytest

from tests.oracle.containers import block, header, long, text, write
from thalweg.errors import ScriptErrors

if TYPE_CHECKING:
    from tests.integration.conftest import Lab

INT, LONG, BYTES = "int", "long", "bytes"
_double = struct.pack("<d", 0.5)
TYPES: dict[str, tuple[Any, bytes, object]] = {
    "nothing": ("null", b"", None),
    "flag": ("boolean", b"\x01", True),
    "i": (INT, long(-3), -3),
    "l": (LONG, long(1 << 62), 1 << 62),
    "f": ("float", struct.pack("<f", 0.5), 0.5),
    "d": ("double", _double, 0.5),
    "b": (BYTES, text(b"\x00\xff"), b"\x00\xff"),
    "s": ("string", text("Grüße"), "Grüße"),
    "fix": ({"type": "fixed", "name": "F", "size": 3}, b"abc", b"abc"),
    "e": ({"type": "enum", "name": "E", "symbols": ["A", "B"]}, long(1), "B"),
    "arr": ({"type": "array", "items": {"type": "array", "items": INT}}, long(1) + long(2) + long(1) + long(2) + b"\0\0", [[1, 2]]),
    "map": ({"type": "map", "values": ["null", "double"]}, long(2) + text("k") + long(1) + _double + text("n") + long(0) + b"\0", [("k", 0.5), ("n", None)]),
    "rec": ({"type": "record", "name": "In", "fields": [{"name": "x", "type": INT}]}, long(4), {"x": 4}),
    "empty": ({"type": "record", "name": "Em", "fields": []}, b"", {}),
    "un": (["null", INT, "string"], long(2) + text("u"), "u"),
    "small": ({"type": BYTES, "logicalType": "decimal", "precision": 9, "scale": 2}, text(b"\xff"), "-0.01"),
    "wide": ({"type": BYTES, "logicalType": "decimal", "precision": 50, "scale": 0}, text((10**40).to_bytes(18, "big")), str(10**40)),
    "id": ({"type": "string", "logicalType": "uuid"}, text("550e8400-e29b-41d4-a716-446655440000"), bytes.fromhex("550e8400e29b41d4a716446655440000")),
    "day": ({"type": INT, "logicalType": "date"}, long(19_000), "2022-01-08"),
    "tms": ({"type": INT, "logicalType": "time-millis"}, long(1), "00:00:00.001000"),
    "tus": ({"type": LONG, "logicalType": "time-micros"}, long(1), "00:00:00.000001"),
    "ts": ({"type": LONG, "logicalType": "timestamp-micros"}, long(-1), "1969-12-31 23:59:59.999999+00:00"),
    "local": ({"type": LONG, "logicalType": "local-timestamp-millis"}, long(1), "1970-01-01 00:00:00.001000"),
    "nanos": ({"type": LONG, "logicalType": "timestamp-nanos"}, long(1_700_000_000_123_456_000), "2023-11-14 22:13:20.123456+00:00"),
    "dur": ({"type": "fixed", "name": "D", "size": 12, "logicalType": "duration"}, struct.pack("<III", 1, 15, 1000), (1, 15, 1_000_000_000)),
}  # fmt: skip
AS_TEXT = {"small", "wide", "day", "tms", "tus", "ts", "local", "nanos"}


def prepared(lab: Lab, *names: str) -> str:
    """A file of two equal rows with these types, and its table."""
    schema = {"type": "record", "name": "R", "fields": [{"name": name, "type": TYPES[name][0]} for name in names]}
    write(lab.folder / "in" / "1.avro", header(schema), block([b"".join(TYPES[name][1] for name in names)] * 2))
    return "CREATE EXTERNAL TABLE t STORED AS AVRO LOCATION 'in';"


def expected(name: str) -> object:
    """The value of a column as the test writes it."""
    return TYPES[name][2]


def shown(name: str, value: object) -> object:
    """A value of a row, times and decimals as text."""
    return tuple(value) if name == "dur" and isinstance(value, tuple) else str(value) if name in AS_TEXT else value


def test_all_types_together(lab: Lab) -> None:
    """Planning, reading and queries know every type; no value is changed on its way (AVR-02, AVR-03, AVR-04, AVR-05, AVR-06, law 2)."""
    lab.run(prepared(lab, *TYPES) + """
        CREATE VIEW v AS SELECT * FROM t;
        COPY v TO 'memory://{t}-out' STORED AS MEMORY OPTIONS ('metadata' 'none');
        COPY raw.t TO 'memory://{t}-raw' STORED AS MEMORY;
    """)

    for row in lab.rows("out"):
        assert {name: shown(name, value) for name, value in row.items()} == {name: expected(name) for name in TYPES}
    assert lab.column("raw", "payload") == [b"".join(data for _, data, _ in TYPES.values())] * 2


@pytest.mark.parametrize("name", TYPES)
def test_each_type_can_be_left_out(lab: Lab, name: str) -> None:
    """A column that nobody reads has its place in the table, whatever its type is, and costs nothing."""
    other = "i" if name != "i" else "l"
    lab.run(prepared(lab, name, other) + f"COPY (SELECT {other} FROM t) TO 'memory://{{t}}-out' STORED AS MEMORY OPTIONS ('metadata' 'none');")

    assert lab.rows("out") == [{other: expected(other)}] * 2


@pytest.mark.parametrize("name", ["un", "dur", "empty", "nothing"])
def test_what_parquet_cannot_hold_is_refused_before(lab: Lab, name: str) -> None:
    """A union, a calendar interval, a record without fields and nothing but NULL have no place in Parquet: said while planning (AV-15, AV-23)."""
    with pytest.raises(ScriptErrors, match=name):
        lab.build(prepared(lab, name) + "COPY t TO '{out}' STORED AS PARQUET;")


def test_records_without_fields_are_counted(lab: Lab) -> None:
    """Rows of no bytes are rows: metadata columns alone come out (AV-23)."""
    write(lab.folder / "in" / "1.avro", header({"type": "record", "name": "E", "fields": []}), block([], count=3))
    lab.run("""
        CREATE EXTERNAL TABLE t (place BIGINT METADATA FROM 'offset') STORED AS AVRO LOCATION 'in';
        COPY (SELECT place FROM t) TO 'memory://{t}-out' STORED AS MEMORY OPTIONS ('metadata' 'none');
    """)

    assert lab.column("out", "place") == [0, 1, 2]


def test_streams_and_files_give_the_same(lab: Lab) -> None:
    """One query over a topic and over a file of the same records: the same rows (BAT-15)."""
    names = ("i", "s", "map", "rec")
    sql = prepared(lab, *names)
    schema = json.dumps({"type": "record", "name": "R", "fields": [{"name": name, "type": TYPES[name][0]} for name in names]})
    lab.fill(*[b"".join(TYPES[name][1] for name in names)] * 2)
    query = "SELECT i + 1 AS i, upper(s) AS s, rec['x'] AS x, map['k'] AS k FROM {0}"
    lab.run(sql + f"""
        CREATE EXTERNAL TABLE topic STORED AS MEMORY LOCATION 'memory://{{t}}-orders'
        OPTIONS ('format' 'avro', 'avro.schema' '{schema}', 'scan.bounded.mode' 'latest-offset');
        COPY ({query.format("t")}) TO 'memory://{{t}}-file' STORED AS MEMORY OPTIONS ('metadata' 'none');
        COPY ({query.format("topic")}) TO 'memory://{{t}}-topic' STORED AS MEMORY OPTIONS ('metadata' 'none');
    """)

    assert lab.rows("file") == lab.rows("topic") == [{"i": -2, "s": "GRÜSSE", "x": 4, "k": 0.5}] * 2
