"""Confluent's prefix and header."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from thalweg.errors import SchemaUnavailable
from thalweg.registries.confluent.client import ConfluentRegistry
from thalweg.registries.confluent.options import read_options
from thalweg.testing.codecs import CodecBench, decode
from thalweg.testing.fakes import FakeClock
from thalweg.testing.registry import RESET, TestRegistry

if TYPE_CHECKING:
    from collections.abc import Iterator

TEXT = {"type": "record", "name": "R", "fields": [{"name": "s", "type": "string"}]}
ONE = {"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}]}
TWO = {"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}, {"name": "b", "type": ["null", "string"], "default": None}]}
HEADER = "__value_schema_id"


@pytest.fixture
def server() -> Iterator[TestRegistry]:
    """A registry."""
    with TestRegistry() as running:
        yield running


@pytest.fixture
def clock() -> FakeClock:
    """The client's time."""
    return FakeClock()


@pytest.fixture
def bench(server: TestRegistry, clock: FakeClock) -> Iterator[CodecBench]:
    """A table over the registry."""
    client = ConfluentRegistry(server.url, read_options({}), clock, wait_initial=0.001)
    yield CodecBench("avro-confluent", options={"avro-confluent.url": server.url}, registry=client)
    client.close()


def framed(schema_id: int, datum: str) -> bytes:
    """Magic byte, id, datum."""
    return b"\0" + schema_id.to_bytes(4, "big") + bytes.fromhex(datum)


def test_prefixes(server: TestRegistry, bench: CodecBench) -> None:
    """Too short, another magic byte, text, single-object encoding and no bytes at all are framing errors that say so (AV-28, KF-01)."""
    schema_id = server.add("t-value", TEXT).id
    out = bench.decode([
        framed(schema_id, "02 61"), b"", b"\0", b"\0\0\0\0", b"\x01\0\0\0\x01\x02a", b'{"s":"a"}', bytes.fromhex("c301") + bytes(10), framed(schema_id, ""),
    ])  # fmt: skip

    assert out.batch.to_pylist() == [{"s": "a"}]
    assert out.bad.codes == ["decode.framing"] * 6 + ["decode.malformed"]
    for part, message in zip(("0 bytes", "found 1 bytes", "found 4 bytes", "found byte 1", "looks like JSON", "single-object", "ends inside"), out.bad.messages, strict=True):
        assert part in message


def test_empty_records_are_five_bytes(server: TestRegistry, bench: CodecBench) -> None:
    """Three messages of a schema without fields are three rows (AV-23)."""
    schema_id = server.add("t-value", {"type": "record", "name": "E", "fields": []}).id

    assert bench.decode([framed(schema_id, "")] * 3).batch.num_rows == 3


def test_headers(server: TestRegistry, bench: CodecBench) -> None:
    """The last header of the name wins over the prefix; a malformed one is an error without fallback (RG-04)."""
    stored = server.add("t-value", TEXT)
    guid = bytes.fromhex(stored.guid.replace("-", ""))
    by_guid, by_id = (HEADER, b"\x01" + guid), (HEADER, b"\0" + stored.id.to_bytes(4, "big"))
    bare, prefixed = bytes.fromhex("02 61"), framed(stored.id, "02 62")
    cases = [
        (bare, [by_guid]), (bare, [by_id]), (prefixed, []), (bare, [(HEADER, b"\x01\x02\x03"), by_guid]), (bare, [("other", b"\x01\x02\x03"), by_id]),
        (prefixed, [by_guid]), (prefixed, [(HEADER, b"\x01\x02\x03")]), (bare, [by_guid, (HEADER, None)]), (bare, [("__key_schema_id", b"\x01" + guid)]),
    ]  # fmt: skip
    out = bench.decode([c[0] for c in cases], [c[1] for c in cases])

    assert out.batch.to_pylist() == [{"s": s} for s in "aabaa"]
    assert (out.bad.rows, out.bad.codes) == ([5, 6, 7, 8], ["decode.malformed", "decode.framing", "decode.framing", "decode.framing"])
    assert "header '__value_schema_id' is neither 01 and a GUID nor 00 and an id: 3 bytes" in out.bad.messages[1]
    assert server.calls[f"/schemas/guids/{stored.guid}"] == 1


def test_keys_have_their_own_header(server: TestRegistry, bench: CodecBench) -> None:
    """A key's schema is in ``__key_schema_id`` and its subject ends in ``-key`` (RG-04)."""
    stored = server.add("t-key", '"long"')
    header = ("__key_schema_id", b"\0" + stored.id.to_bytes(4, "big"))

    bench.is_key = True

    assert bench.decode([b"\x54"], [[header]]).batch.to_pylist() == [{"value": 42}]


def test_schemas_differ_within_a_batch(server: TestRegistry, bench: CodecBench) -> None:
    """A thousand records of two schemas in turn: one batch, in order, with defaults for the older one (RG-06)."""
    old, new = server.add("t-value", ONE).id, server.add("t-value", TWO).id
    payloads = [framed(old, f"{2 * (i % 50):02x}") if i % 2 else framed(new, f"{2 * (i % 50):02x} 02 02 78") for i in range(1000)]
    out = bench.decode(payloads)

    assert out.batch.to_pylist() == [{"a": i % 50, "b": None if i % 2 else "x"} for i in range(1000)]
    assert sum(server.calls.values()) == 3


def test_roots_differ_within_a_batch(server: TestRegistry, bench: CodecBench) -> None:
    """A record in one schema and a union that holds it in another (RG-06)."""
    union, record = server.add("t-value", ["null", ONE]).id, server.add("t-value", ONE).id
    out = bench.decode([framed(record, "02"), framed(union, "02 04"), framed(union, "00"), framed(record, "06")])

    assert out.batch.to_pylist() == [{"a": 1}, {"a": 2}, {"a": 3}]
    assert (out.bad.rows, out.bad.codes) == ([2], ["decode.type"])


def test_unknown_ids(server: TestRegistry, bench: CodecBench, clock: FakeClock) -> None:
    """Ten thousand records of an unknown id cost a call; the id is asked for again after a while (RG-05)."""
    schema_id = server.add("t-value", TEXT).id
    decoder = bench.decoder()
    for _ in range(3):
        out = decode(decoder, [framed(999, "02 61")] * 10_000 + [framed(schema_id, "02 61")])
        assert (len(out.bad), out.bad.codes[0], out.rows.to_pylist()) == (10_000, "decode.schema_unknown", [10_000])
    assert server.calls["/schemas/ids/999"] == 1
    server.add("t-value", {**TEXT, "doc": "came later"}, schema_id=999)
    clock.advance(61_000_000_000)

    assert decode(decoder, [framed(999, "02 61")]).batch.to_pylist() == [{"s": "a"}]
    assert server.calls["/schemas/ids/999"] == 2


def test_a_registry_that_is_down(server: TestRegistry, bench: CodecBench) -> None:
    """Errors that may pass are retried; while they last no record is bad and nothing was decoded (RG-05)."""
    schema_id = server.add("t-value", TEXT).id
    later = server.add("t-value", {**TEXT, "doc": "later"}).id
    decoder = bench.decoder()
    server.fail(503, 503, path="/schemas")
    assert decode(decoder, [framed(schema_id, "02 61")]).batch.num_rows == 1
    server.fail(*[RESET, 500, 429, 503] * 2, path="/schemas")
    for _ in range(2):
        with pytest.raises(SchemaUnavailable, match="gives no answer"):
            decode(decoder, [framed(schema_id, "02 61"), framed(later, "02 62")])

    assert decode(decoder, [framed(schema_id, "02 61"), framed(later, "02 62")]).batch.to_pylist() == [{"s": "a"}, {"s": "b"}]


def test_schemas_that_cannot_be_used(server: TestRegistry, bench: CodecBench) -> None:
    """Another kind, a broken text, one under the metadata prefix, one that does not resolve: their records are bad, each with its reason."""
    good = server.add("t-value", TEXT).id
    other = server.add("x", "{}", kind="JSON").id
    broken = server.add("x", "{").id
    prefixed = server.add("x", {"type": "record", "name": "R", "fields": [{"name": "_twg_x", "type": "int"}]}).id
    lacking = server.add("x", {"type": "record", "name": "R", "fields": []}).id
    out = bench.decode([framed(i, "02 61") for i in (good, other, broken, prefixed, lacking)])

    assert out.rows.to_pylist() == [0]
    assert out.bad.codes == ["decode.framing", "decode.schema_unknown", "decode.reserved", "decode.type"]
    assert json.dumps(out.bad.messages).count("schema ") >= 4
    assert "field 's': the writer does not have it" in out.bad.messages[3]
