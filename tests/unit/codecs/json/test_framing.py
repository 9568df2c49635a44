"""JSON documents in Confluent's framing."""

from __future__ import annotations

import json
import uuid
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from thalweg import registry
from thalweg.codecs.json import fast, framing
from thalweg.codecs.json.fast import FastJsonDecoder
from thalweg.errors import SchemaUnavailable, SchemaUnknown, UserError
from thalweg.registries.confluent.client import ConfluentRegistry
from thalweg.registries.confluent.options import read_options
from thalweg.testing.codecs import CodecBench, decode
from thalweg.testing.registry import TestRegistry

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FIRST = {"type": "object", "properties": {"a": {"type": "integer"}}}
SECOND = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}}


@pytest.fixture
def server() -> Iterator[TestRegistry]:
    """Two versions of a JSON Schema, 1 and 2, and an Avro schema, 3."""
    with TestRegistry("/apis/ccompat/v7") as running:
        running.add("t-value", FIRST, kind="JSON")
        running.add("t-value", SECOND, kind="JSON")
        running.add("avro-value", '"long"')
        yield running


@pytest.fixture
def client(server: TestRegistry) -> Iterator[ConfluentRegistry]:
    """A client that pauses for a millisecond."""
    made = ConfluentRegistry(server.url, read_options({}), wait_initial=0.001)
    yield made
    made.close()


def framed(number: int, text: str) -> bytes:
    """A payload."""
    return b"\0" + number.to_bytes(4, "big") + text.encode()


def bench_of(client: ConfluentRegistry, declared: pa.Schema | None = None, **options: str) -> CodecBench:
    """A table over the registry."""
    return CodecBench("json-confluent", declared, {"json-confluent.url": "http://h", **options}, client)


def test_ids_in_one_batch_headers_and_faults(server: TestRegistry, client: ConfluentRegistry) -> None:
    """Documents of several schemas in order; header before prefix, the last header counts; each fault costs its row (REG-02, REG-10, RG-04, RG-06, RG-10)."""
    guid = uuid.UUID(server.add("t-value", FIRST, kind="JSON").guid).bytes
    name = "__value_schema_id"
    rows: list[tuple[bytes, list[tuple[str, bytes | None]]]] = [
        (framed(1, '{"a":1}'), []), (framed(2, '{"a":2,"b":"x"}'), []), (b'{"a":3}', [(name, b"\x01" + guid)]),
        (b'{"a":4}', [(name, b"\x01" + guid), (name, b"\0\0\0\0\x02")]), (framed(999, "{}"), []), (framed(3, "{}"), []), (b'{"a":7}', []), (b"", []),
        (b"\0\0", []), (b"{}", [(name, b"\x01\x02\x03")]), (framed(1, '{"a":"x"}'), []), (framed(1, ""), []), (b"{}", [(name, b"\0\0\0\x03\xe7")]),
        (framed(2, '{"a":13}'), [("other", b"1")]),
    ]  # fmt: skip
    found = bench_of(client).decode([p for p, _ in rows], [h for _, h in rows])

    assert found.batch.to_pylist() == [{"a": n, "b": "x" if n == 2 else None} for n in (1, 2, 3, 4, 13)]
    assert found.bad.rows == [4, 5, 6, 7, 8, 9, 10, 11, 12]
    assert found.bad.codes == [
        "decode.schema_unknown", *["decode.framing"] * 5, "decode.type", "decode.malformed", "decode.schema_unknown",
    ]  # fmt: skip
    assert found.bad.messages[1] == "schema 3 is AVRO, not JSON"
    assert "looks like plain JSON (format 'json')" in found.bad.messages[2]
    assert "neither 01 and a GUID nor 00 and an id: 3 bytes" in found.bad.messages[5]
    assert found.bad.paths[6] == "a"


def test_ten_thousand_of_an_unknown_schema_are_one_request(server: TestRegistry, client: ConfluentRegistry) -> None:
    """The answer is believed for a while; a registry that is away makes no record bad (RG-05)."""
    decoder = bench_of(client, pa.schema([("a", pa.int64())])).decoder()
    for _ in range(3):
        assert set(decode(decoder, [framed(999, "{}")] * 3000).bad.codes) == {"decode.schema_unknown"}
    assert server.calls["/schemas/ids/999"] == 1
    server.fail(*[503] * 4)
    with pytest.raises(SchemaUnavailable):
        decode(decoder, [framed(1, '{"a":1}')])
    assert decode(decoder, [framed(1, '{"a":1}')]).batch.to_pylist() == [{"a": 1}]


def test_ids_that_are_kept_in_mind_are_bounded(client: ConfluentRegistry, monkeypatch: pytest.MonkeyPatch) -> None:
    """Broken framing may name any number of schemas."""
    monkeypatch.setattr(framing, "_MOST_KNOWN", 1)
    decoder = bench_of(client).decoder()

    assert decode(decoder, [framed(1, '{"a":1}'), framed(2, '{"a":2}'), framed(1, '{"a":3}')]).batch.column("a").to_pylist() == [1, 2, 3]
    assert len(decoder.frames._known) == 1  # type: ignore[attr-defined]


def test_the_kernel_gives_the_same(client: ConfluentRegistry) -> None:
    """Rows, bad rows and messages of the fast decoder are the reference's."""
    bench = bench_of(client)
    reference = bench.decoder()
    quick = fast.make(bench.request, client, reference)
    assert quick is not None
    assert isinstance(quick.inner, FastJsonDecoder)  # type: ignore[attr-defined]
    payloads = [framed(1, '{"a":1}'), framed(2, '{"a":2,"b":"\\u00e9"}'), framed(9, "{}"), framed(1, "{"), b"x", framed(2, '{"b":1}')] * 5
    found, wanted = decode(quick, payloads), decode(reference, payloads)

    assert found.batch.equals(wanted.batch)
    assert found.bad == wanted.bad
    assert quick.slow_rows == {"json": 0}
    assert quick.notices == reference.notices == ()


def test_registries_and_missing_options(client: ConfluentRegistry, tmp_path: Path) -> None:
    """A URL, a folder or a ``file:`` URL; each missing option is named with an example."""
    for url, kind in (("http://h/x", "confluent"), ("schemas", "static"), ("file:///tmp/x", "static")):
        bench = CodecBench("json-confluent", options={"json-confluent.url": url})
        assert bench.plugin.registry(bench.request) == (kind, url.removeprefix("file://"))
    bare = CodecBench("json-confluent", registry=client)
    assert bare.plugin.registry(bare.request) is None
    with pytest.raises(UserError, match=r"option 'json-confluent\.url' is missing"):
        _ = bare.schema
    with pytest.raises(UserError, match=r"option 'json-confluent\.subject' is missing"):
        _ = CodecBench("json-confluent", options={"json-confluent.url": "http://h"}, topic=None, registry=client).schema
    with pytest.raises(UserError, match="holds AVRO schemas, not JSON Schema"):
        _ = bench_of(client, **{"json-confluent.subject": "avro-value"}).schema
    with pytest.raises(SchemaUnknown) as caught:
        _ = bench_of(client, **{"json-confluent.subject": "lost"}).schema
    assert "json-confluent.subject" in str(caught.value.hint)
    with pytest.raises(UserError, match="needs its schema registry to decode"):
        CodecBench("json-confluent", options={"json-confluent.url": "http://h"}).decoder()
    for file in ("1.json", "t-value.json"):
        (tmp_path / file).write_text(json.dumps(FIRST))
    known = registry.load("registries", "static").make(str(tmp_path), {})
    folder = CodecBench("json-confluent", options={"json-confluent.url": str(tmp_path)}, registry=known, rows=[{"a": 5}])
    assert folder.encoded() == [framed(1, '{"a":5}')]
    assert folder.decode(folder.encoded()).batch.to_pylist() == [{"a": 5}]


def test_framed_data_read_as_plain_json_says_so() -> None:
    """Byte 0 is no JSON; the message names the format (RG-10)."""
    bench = CodecBench("json", pa.schema([("a", pa.int64())]))

    assert "'json-confluent'" in bench.decode([bytes.fromhex("00000000097b2261223a317d")]).bad.messages[0]
