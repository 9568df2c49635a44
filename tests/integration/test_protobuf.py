"""Protobuf from end to end: descriptors from files and registries, several writers in one topic, bad records as dead letters."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import pytest
from google.protobuf import json_format, message_factory

from tests.integration.conftest import Lab, until
from thalweg.codecs.protobuf.descriptors import messages_of_set
from thalweg.codecs.protobuf.framing import write_indexes
from thalweg.errors import ScriptErrors, UserError
from thalweg.model.events import DecodeCounts, Notice, SchemaResolved
from thalweg.native.protoc import compile_protos
from thalweg.testing.registry import TestRegistry

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ADDRESS = 'syntax = "proto3"; package shop; message Address { string city = 1; optional int32 zip = 2; }'
ORDER = """
syntax = "proto3"; package shop;
import "shop/address.proto"; import "google/protobuf/timestamp.proto";
message Ping { int64 n = 1; }
message Order {
  enum State { NEW = 0; PAID = 1; }
  message Line { string sku = 1; int32 qty = 2; }
  int64 id = 1; Address to = 2; State state = 3; repeated Line lines = 4; map<string, double> tags = 5; google.protobuf.Timestamp at = 6;
  oneof pay { string card = 7; Line voucher = 8; }%s
}
"""
FIRST, SECOND = ORDER % "", ORDER % " optional string note = 20;"
FILES = {"shop/address.proto": ADDRESS, "shop/order.proto": FIRST}
PAYLOADS = [
    {"id": "1", "to": {"city": "Kiel", "zip": 0}, "state": "PAID", "lines": [{"sku": "a", "qty": 2}, {}], "tags": {"x": 0.5}, "card": "c"},
    {"id": "2", "at": "2024-02-29T12:00:00.000001Z", "voucher": {"sku": "v"}},
    {},
    {"id": "-9223372036854775808", "to": {}, "state": 7},
]
ROWS = [
    {
        "id": 1, "to": {"city": "Kiel", "zip": 0}, "state": "PAID", "lines": [{"sku": "a", "qty": 2}, {"sku": "", "qty": 0}], "tags": [("x", 0.5)],
        "at": None, "card": "c", "voucher": None,
    },
    {
        "id": 2, "to": None, "state": "NEW", "lines": [], "tags": [], "at": dt.datetime(2024, 2, 29, 12, 0, 0, 1, dt.UTC), "card": None,
        "voucher": {"sku": "v", "qty": 0},
    },
    {"id": 0, "to": None, "state": "NEW", "lines": [], "tags": [], "at": None, "card": None, "voucher": None},
    {"id": -(2**63), "to": {"city": "", "zip": None}, "state": "7", "lines": [], "tags": [], "at": None, "card": None, "voucher": None},
]  # fmt: skip
MERGED = bytes.fromhex("0807 1206 0a044b69656c 1202 1005")
"""An address in two pieces: for the exact path."""
BROKEN = [b"\x08", b"\x12\x01\xff", b"\xff" * 12, b"\x32\x0b\x08\xff\x91\xb8\xc3\x98\xfe\xff\xff\xff\x01"]
"""Cut short, wrong nesting, no tag, a moment before the year 1."""
DEAD = ("payload", "_twg_error_code", "_twg_error_message", "_twg_error_path", "_twg_source_offset")
SQL = """
SET 'pipeline.name' = '{t}';
CREATE EXTERNAL TABLE orders STORED AS MEMORY LOCATION 'memory://{t}-orders'
OPTIONS (%s, 'bad_data' 'dlq', 'tombstones' 'null_row', 'scan.bounded.mode' '%s');
COPY orders TO 'memory://{t}-out' STORED AS MEMORY;
COPY dlq.orders TO 'memory://{t}-dead' STORED AS MEMORY;
"""


def written(values: dict[str, Any], text: str = FIRST) -> bytes:
    """An order as Google's runtime writes it."""
    found = messages_of_set(compile_protos({**FILES, "shop/order.proto": text}, ["shop/order.proto"]), "shop/order.proto")
    return bytes(json_format.ParseDict(values, message_factory.GetMessageClass(found.find("shop.Order"))()).SerializeToString())


def framed(schema_id: int, data: bytes, indexes: bytes = write_indexes([1])) -> bytes:
    """A payload with its schema's id and the message's place in it."""
    return b"\0" + schema_id.to_bytes(4, "big") + indexes + data


def shown(lab: Lab) -> tuple[list[dict[str, Any]], list[tuple[Any, ...]]]:
    """The rows without metadata, and the dead letters."""
    rows = [{k: v for k, v in row.items() if not k.startswith("_twg_")} for row in lab.rows("out")]
    return rows, [tuple(row[name] for name in DEAD) for row in lab.rows("dead")]


def both_ways(folder: Path, sql: str, payloads: list[bytes | None]) -> tuple[list[dict[str, Any]], list[tuple[Any, ...]], Lab]:
    """What a run gives, which is the same with and without compiled decoders; and the compiled run's lab."""
    (folder / "exact").mkdir()
    exact, compiled = Lab(folder / "exact"), Lab(folder)
    for lab in (exact, compiled):
        lab.fill(*payloads)
    exact.run(sql.replace("'protobuf.descriptor' '", "'protobuf.descriptor' '../"))
    compiled.run_compiled(sql)

    assert shown(exact) == shown(compiled)
    return *shown(compiled), compiled


@pytest.fixture
def registry() -> Iterator[TestRegistry]:
    """A registry with two versions of an order and the address that both refer to."""
    with TestRegistry() as made:
        made.add("address", ADDRESS, kind="PROTOBUF")
        for text in (FIRST, SECOND):
            made.add("orders-value", text, kind="PROTOBUF", references=(("shop/address.proto", "address", 1),))
        yield made


def from_registry(registry: TestRegistry, more: str = "") -> str:
    """Options of a table over it."""
    return (
        f"'format' 'protobuf-confluent', 'protobuf-confluent.url' '{registry.url}', 'protobuf-confluent.subject' 'orders-value', "
        f"'protobuf.message' 'Order'{more}"
    )


def test_a_registry_with_references(tmp_path: Path, registry: TestRegistry) -> None:
    """Two writers, tombstones, and records that are not the table's, in one topic (PRO-08, PRO-12, RG-06, RG-07)."""
    one, two = (registry.find(f"/subjects/orders-value/versions/{n}")[1]["id"] for n in (1, 2))
    good = [framed(one, written(values)) for values in PAYLOADS]
    newer = framed(two, written({"id": "5", "note": "n"}, SECOND))
    bad = [*(framed(one, data) for data in BROKEN), framed(999, b"\x08\x01"), framed(one, b"\x08\x01", b"\0"), b"{}", b""]
    sent = [part for pair in zip(good, bad, strict=False) for part in pair] + [newer, None, framed(one, MERGED), *bad[4:]]
    rows, dead, lab = both_ways(tmp_path, SQL % (from_registry(registry), "latest-offset"), sent)

    assert rows[:4] == [{**row, "note": None} for row in ROWS]
    assert rows[4] == {**ROWS[2], "id": 5, "note": "n"}
    assert rows[5] == dict.fromkeys(rows[4])
    assert (rows[6]["id"], rows[6]["to"]) == (7, {"city": "Kiel", "zip": 5})
    assert [letter[0] for letter in dead] == bad
    assert [letter[1] for letter in dead] == [
        "decode.malformed", "decode.malformed", "decode.malformed", "decode.type", "decode.schema_unknown", "decode.type", "decode.framing", "decode.framing",
    ]  # fmt: skip
    assert sum((e.counts.get("slow", 0) for e in lab.seen.of(DecodeCounts)), 0) == 1


@pytest.mark.parametrize("kind", ["set", "file", "tree"])
def test_descriptors_in_files(tmp_path: Path, kind: str) -> None:
    """A descriptor set, a ``.proto`` file that imports another, and a folder give the same table (PRO-03, PRO-07)."""
    for name, text in FILES.items():
        (tmp_path / "protos" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "protos" / name).write_text(text)
    (tmp_path / "orders.desc").write_bytes(compile_protos(FILES, ["shop/order.proto"]))
    where = {"set": "orders.desc", "file": "protos/shop/order.proto", "tree": "protos"}[kind]
    options = f"'format' 'protobuf', 'protobuf.descriptor' '{where}', 'protobuf.message' 'shop.Order'"
    sent = [part for pair in zip([written(v) for v in PAYLOADS], BROKEN, strict=True) for part in pair]
    rows, dead, lab = both_ways(tmp_path, SQL % (options, "latest-offset"), [*sent, None, MERGED])

    assert rows[:4] == ROWS
    assert [letter[0] for letter in dead] == BROKEN
    assert [letter[4] for letter in dead] == [1, 3, 5, 7]
    (resolved,) = lab.seen.of(SchemaResolved)
    assert (resolved.source, resolved.side, resolved.format, resolved.columns) == ("orders", "value", "protobuf", 8)
    assert "lines[].sku string" in resolved.fields
    assert [n.code for n in lab.seen.of(Notice)] == ["decode.finer"]


def test_the_kernel_takes_over_while_records_flow(lab: Lab, registry: TestRegistry) -> None:
    """What came before and what comes after has the same columns and values."""
    one = registry.find("/subjects/orders-value/versions/1")[1]["id"]
    good = [framed(one, written(values)) for values in PAYLOADS]
    lab.start(SQL % (from_registry(registry), "unbounded"), decode__kernels="auto")
    lab.fill(*good)
    until(lambda: len(lab.rows("out")) == 4)
    until(lambda: any(n.code == "decode.kernel" for n in lab.seen.of(Notice)), seconds=90)
    lab.fill(*good, framed(one, BROKEN[1]))
    until(lambda: len(lab.rows("out")) == 8 and len(lab.rows("dead")) == 1)
    lab.stop()
    rows, _ = shown(lab)

    assert rows[:4] == rows[4:] == [{**row, "note": None} for row in ROWS]


def test_keys_are_protobuf_too(lab: Lab, registry: TestRegistry) -> None:
    """The key has a schema, options and dead letters of its own."""
    key = registry.add("keys", ADDRESS, kind="PROTOBUF").id
    one = registry.find("/subjects/orders-value/versions/1")[1]["id"]
    topic = lab.topic()
    for at, sent in enumerate([framed(key, b"\x0a\x04Kiel", b"\0"), framed(key, b"\x0a", b"\0")]):
        topic.append(0, framed(one, written({"id": str(at)})), key=sent)
    sql = f"""
    SET 'pipeline.name' = '{{t}}';
    CREATE EXTERNAL TABLE orders (id BIGINT, city STRING) STORED AS MEMORY LOCATION 'memory://{{t}}-orders'
    OPTIONS ({from_registry(registry)}, 'key.format' 'protobuf-confluent', 'key.fields' 'city', 'key.protobuf-confluent.url' '{registry.url}',
             'key.protobuf-confluent.subject' 'keys', 'bad_data' 'dlq', 'scan.bounded.mode' 'latest-offset');
    COPY orders TO 'memory://{{t}}-out' STORED AS MEMORY;
    COPY dlq.orders TO 'memory://{{t}}-dead' STORED AS MEMORY;
    """
    lab.run_compiled(sql)

    assert [(row["id"], row["city"]) for row in lab.rows("out")] == [(0, "Kiel")]
    assert lab.column("dead", "_twg_error_code") == ["decode.malformed"]


def test_what_lies_too_deep(lab: Lab, registry: TestRegistry) -> None:
    """A warning before the first record names the message and the field; the first cut is a warning, all are counted (DEC-08, DEC-09, DEC-10, DEC-11)."""
    number = registry.add("deep", 'syntax = "proto3"; package t; message D { D in = 1; int32 x = 2; }', kind="PROTOBUF").id
    payload = b"\x0a\x06\x0a\x04\x0a\x02\x10\x07"
    lab.fill(*[framed(number, payload, b"\0")] * 3)
    options = from_registry(registry, ", 'decode.max_depth' '2'").replace("orders-value", "deep").replace("Order", "t.D")
    lab.run_compiled(SQL % (options, "latest-offset"))
    notices = [(n.level, n.code) for n in lab.seen.of(Notice)]
    counts = [e.counts for e in lab.seen.of(DecodeCounts)]

    assert lab.rows("out")[0]["in"] == {"in": '{"in":{"x":7}}', "x": 0}
    assert notices == [("warning", "decode.depth"), ("warning", "decode.depth_cut")]
    assert "'in.in': message t.D lies deeper" in lab.seen.of(Notice)[0].message
    assert sum(c["cut t.D"] for c in counts) == 3


def test_depth_for_all_tables(lab: Lab, registry: TestRegistry) -> None:
    """The setting counts where a table does not say it (DEC-08, CFG-14)."""
    registry.add("deep", 'syntax = "proto3"; package t; message D { D in = 1; int32 x = 2; }', kind="PROTOBUF")
    options = from_registry(registry).replace("orders-value", "deep").replace("Order", "t.D")
    found = []
    for more in ("", ", 'decode.max_depth' '2'"):
        epochs = lab.build(SQL % (options + more, "latest-offset"), decode__max_depth="3")._machine.epochs
        found.append(str(epochs._flows["orders"].decoding.schema.field("in").type))
        epochs.close()

    assert [kind.count("struct") for kind in found] == [2, 1]
    with pytest.raises(UserError, match=r"decode\.max_depth"):
        lab.build(SQL % (options, "latest-offset"), decode__max_depth="0")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("'format' 'protobuf'", "option 'protobuf.descriptor' is missing"), ("'format' 'protobuf', 'protobuf.descriptor' 'none.proto'", "cannot be read"),
        ("'format' 'protobuf', 'protobuf.descriptor' 'a.proto', 'protobuf.message' 'Nope'", "there is no message 'Nope'"),
        ("'format' 'protobuf', 'protobuf.descriptor' 'a.proto', 'protobuf.enum' 'x'", "protobuf.enum"),
        ("'format' 'protobuf', 'protobuf.descriptor' 'bad.proto'", "do not compile"),
        ("'format' 'protobuf', 'protobuf.descriptor' 'two.proto'", "option 'protobuf.message' is missing"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_at_the_start(lab: Lab, options: str, said: str) -> None:
    """Nothing is read before the schema is found (DEC-23)."""
    (lab.folder / "a.proto").write_text(ADDRESS)
    (lab.folder / "two.proto").write_text('syntax = "proto3"; message A {} message B {}')
    (lab.folder / "bad.proto").write_text('syntax = "proto3"; message A { Nope n = 1; }')
    with pytest.raises(ScriptErrors, match=said):
        lab.build(SQL % (options, "latest-offset"))


def test_flattened_with_bytes_as_they_are(lab: Lab, tmp_path: Path) -> None:
    """Nested messages, lists and maps become flat columns in SQL; bytes stay bytes all the way (PRO-06, PRO-10, PRO-11, DEC-07, DEC-15)."""
    (tmp_path / "a.proto").write_text(
        'syntax = "proto3"; message A { In in = 1; repeated In many = 2; map<int64, bytes> raw = 3; } message In { bytes data = 1; int32 n = 2; }'
    )
    hard = b"\x00\xff\x80"
    lab.fill(b"\x0a\x05\x0a\x03" + hard + b"\x12\x05\x0a\x03" + hard + b"\x12\x02\x10\x07" + b"\x1a\x07\x08\x05\x12\x03" + hard, b"")
    lab.run_compiled("""
    SET 'pipeline.name' = '{t}';
    CREATE EXTERNAL TABLE a STORED AS MEMORY LOCATION 'memory://{t}-orders'
    OPTIONS ('format' 'protobuf', 'protobuf.descriptor' 'a.proto', 'protobuf.message' 'A', 'scan.bounded.mode' 'latest-offset');
    CREATE VIEW flat AS SELECT "in"['data'] AS data, "in"['n'] AS n, raw[5] AS five FROM a;
    CREATE VIEW items AS SELECT item['data'] AS data, item['n'] AS n FROM (SELECT unnest(many) AS item FROM a);
    COPY flat TO 'memory://{t}-flat' STORED AS MEMORY;
    COPY items TO 'memory://{t}-items' STORED AS MEMORY;
    """)

    assert [(row["data"], row["n"]) for row in lab.rows("flat")] == [(hard, 0), (None, None)]
    assert [(row["data"], row["n"]) for row in lab.rows("items")] == [(hard, 0), (b"", 7)]
    assert lab.column("flat", "five") in ([hard, None], [[hard], []])


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ('("to" STRING)', "declared as string, but the field is message"), ("(lines STRING)", "declared as string, but the field is repeated"),
        ("(id INT)", "declared as int32, but the field is int64"), ("(lost INT)", "has no such field"), ("(state BOOLEAN)", "the field is an enum"),
    ],
)  # fmt: skip
def test_a_column_that_cannot_hold_its_field(lab: Lab, registry: TestRegistry, columns: str, said: str) -> None:
    """A message into a STRING column, or anything that could lose something, is refused before records move (DEC-01, DEC-06, DEC-23)."""
    sql = SQL.replace("TABLE orders STORED", f"TABLE orders {columns} STORED")
    with pytest.raises(ScriptErrors, match=said):
        lab.build(sql % (from_registry(registry), "latest-offset"))


def test_declared_enums_and_numbers(lab: Lab, registry: TestRegistry) -> None:
    """Enums as text, dictionary or number, times in other units, messages as JSON text, integers wider (PRO-12, DEC-08)."""
    one = registry.find("/subjects/orders-value/versions/1")[1]["id"]
    lab.fill(*(framed(one, written(values)) for values in PAYLOADS))
    columns = '(state INT, "to" JSON, at TIMESTAMP_LTZ(3), id DECIMAL(20, 0), tags JSON)'
    lab.run_compiled(SQL.replace("TABLE orders STORED", f"TABLE orders {columns} STORED") % (from_registry(registry), "latest-offset"))
    rows, dead = shown(lab)

    assert dead == []
    assert [row["state"] for row in rows] == [1, 0, 0, 7]
    assert [row["to"] for row in rows] == ['{"city":"Kiel","zip":0}', None, None, "{}"]
    assert rows[1]["at"] == dt.datetime(2024, 2, 29, 12, tzinfo=dt.UTC)
    assert [int(row["id"]) for row in rows] == [1, 2, 0, -(2**63)]
    assert rows[0]["tags"] == '{"x":0.5}'
    assert sum(e.counts.get("finer", 0) for e in lab.seen.of(DecodeCounts)) == 1


def test_native_access_to_text_fails_before_the_first_record(lab: Lab, registry: TestRegistry) -> None:
    """A field of what decodes to JSON text is refused when the file is planned, with the column's type (DEC-05, DEC-23)."""
    sql = SQL.replace("COPY orders TO", "CREATE VIEW bad AS SELECT \"to\"['city'] AS c FROM orders; COPY bad TO")
    with pytest.raises(ScriptErrors) as caught:
        lab.build(sql % (from_registry(registry, ", 'decode.max_depth' '1'"), "latest-offset"))

    assert "Utf8" in str(caught.value)
