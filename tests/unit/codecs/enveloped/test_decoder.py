"""Glue's and Apicurio's envelopes around Avro and JSON."""

from __future__ import annotations

import dataclasses
import uuid
import zlib
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from thalweg.codecs.enveloped import fast, glue
from thalweg.codecs.enveloped.glue import MAX_INFLATED
from thalweg.errors import OptionError, SchemaUnknown, UserError
from thalweg.model import options
from thalweg.ports.schemas import RegisteredSchema, SchemaRegistry
from thalweg.testing.codecs import CodecBench, decode

if TYPE_CHECKING:
    from thalweg.arrow.batch import Decoded

ONE = '{"type":"record","name":"R","fields":[{"name":"a","type":"int"}]}'
TWO = '{"type":"record","name":"R","fields":[{"name":"a","type":"int"},{"name":"b","type":"string","default":"none"}]}'
JSON = '{"type":"object","properties":{"a":{"type":"integer"}}}'
FIRST, SECOND = (uuid.UUID(int=(n << 100) | n) for n in (1, 2))


class Several(SchemaRegistry):
    """Schemas by id; the newest of every subject is the last one."""

    def __init__(self, schemas: dict[int | str, RegisteredSchema]) -> None:
        """The schemas."""
        self.schemas, self.subjects, self.asked = schemas, [], 0

    def by_id(self, schema_id: int | str) -> RegisteredSchema:
        """By id."""
        self.asked += 1
        if schema_id not in self.schemas:
            raise SchemaUnknown(f"there is no schema {schema_id}")
        return self.schemas[schema_id]

    def latest(self, subject: str) -> RegisteredSchema:
        """The last one."""
        self.subjects.append(subject)
        if subject == "lost":
            raise SchemaUnknown("there is no such schema")
        return list(self.schemas.values())[-1]

    def register(self, subject: str, schema: RegisteredSchema) -> int:
        """Not here."""
        raise SchemaUnknown(f"{subject} {schema.kind}")

    def close(self) -> None:
        """Nothing is open."""


def avro_registry(*numbers: int | str) -> Several:
    """Two versions of a record."""
    return Several({n: RegisteredSchema(n, "AVRO", text) for n, text in zip(numbers, (ONE, TWO), strict=True)})


def glue_bench(**more: str) -> CodecBench:
    """Avro in Glue's envelope."""
    return CodecBench("avro-glue", options=more, registry=avro_registry(str(FIRST), str(SECOND)), topic="orders")


def enveloped(schema: uuid.UUID, data: bytes, *, zipped: bool = False) -> bytes:
    """A payload as AWS's serialisers write it."""
    return (b"\x03\x05" if zipped else b"\x03\x00") + schema.bytes + (zlib.compress(data) if zipped else data)


def said(found: Decoded) -> list[tuple[int, str, str]]:
    """Bad rows, codes and messages."""
    return list(zip(found.bad.rows, found.bad.codes, found.bad.messages, strict=True))


def test_glue_versions_and_compression_in_one_batch() -> None:
    """Plain and zlib data of two schema versions, in order (REG-02, REG-03, REG-07, RG-06)."""
    bench = glue_bench()
    payloads = [
        enveloped(FIRST, b"\x02"), enveloped(SECOND, b"\x04\x02x", zipped=True), enveloped(FIRST, b"\x06", zipped=True), enveloped(SECOND, b"\x08\x02y"),
    ]  # fmt: skip
    found = bench.decode(payloads)

    assert found.batch.to_pylist() == [{"a": 1, "b": "none"}, {"a": 2, "b": "x"}, {"a": 3, "b": "none"}, {"a": 4, "b": "y"}]
    assert found.rows.to_pylist() == [0, 1, 2, 3]
    assert bench.registry.subjects == ["orders"]  # type: ignore[union-attr]
    assert decode(bench.decoder(), payloads[::2]).batch.to_pylist() == [{"a": 1, "b": "none"}, {"a": 3, "b": "none"}]


def test_broken_glue_envelopes_cost_their_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each with its reason; an unknown version is another code; a bomb is bounded (REG-10)."""
    monkeypatch.setattr(glue, "MAX_INFLATED", 1000)
    good, zipped = enveloped(FIRST, b"\x02"), enveloped(FIRST, b"\x02", zipped=True)
    payloads = [
        good, b"", b"\x03\x00", b'{"a":1, "b":"a longer document"}', b"\x00\x00\x00\x00\x01\x02" + bytes(20), b"\x03\x07" + good[2:], zipped[:-1],
        zipped + b"x", b"\x03\x05" + FIRST.bytes + b"no", enveloped(FIRST, bytes(2000), zipped=True), enveloped(uuid.UUID(int=9), b"\x02"), good[:18], good,
    ]  # fmt: skip
    found = glue_bench().decode(payloads)

    assert found.rows.to_pylist() == [0, 12]
    assert [(row, code) for row, code, _ in said(found)] == [
        *((n, "decode.framing") for n in range(1, 9)), (9, "decode.limit"), (10, "decode.schema_unknown"), (11, "decode.malformed"),
    ]  # fmt: skip
    for message, part in zip(found.bad.messages, (
        "empty (0 bytes)", "expected 18 bytes", "found byte 123; it looks like JSON", "found byte 0; it looks like Confluent framing",
        "compression byte 0 (none) or 5 (zlib), found 7", "ends too early", "1 byte is left after", "no zlib stream", "more than 1000 bytes",
        "there is no schema 00000000-0000-0000-0000-000000000009", "ends inside",
    ), strict=True):  # fmt: skip
        assert part in message
    assert MAX_INFLATED == 16 << 20


def test_unions_in_a_broken_envelope_cost_their_row() -> None:
    """A dense union can be made of no rows too: one broken envelope, none that is right, none at all (AVR-03)."""
    union = '{"type":"record","name":"R","fields":[{"name":"u","type":["null","int","string"]}]}'
    bench = CodecBench("avro-glue", registry=Several({str(FIRST): RegisteredSchema(str(FIRST), "AVRO", union)}), topic="orders")
    good = [enveloped(FIRST, b"\x02\x02"), enveloped(FIRST, b"\x04\x02x", zipped=True)]
    found = bench.decode([*good, b"\x03"])

    assert found.batch.to_pylist() == [{"u": 1}, {"u": "x"}]
    assert [(row, code) for row, code, _ in said(found)] == [(2, "decode.framing")]
    assert len(bench.decode([b"\x03"]).bad) == 1
    assert bench.decode([]).batch.num_rows == 0


def test_inflated_data_comes_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """However much a batch inflates to, only so much of it lies in memory at once; the rows are the same."""
    monkeypatch.setattr(glue, "_PIECE_BYTES", 3)
    payloads = [enveloped(FIRST, bytes([2 * n]), zipped=n % 3 > 0) for n in range(20)]

    assert glue_bench().decode(payloads).batch.column("a").to_pylist() == list(range(20))


@pytest.mark.parametrize("width", [4, 8])
def test_apicurio_numbers_behind_the_magic_byte(width: int) -> None:
    """Four or eight bytes, as the option says; what does not fit is named."""
    bench = CodecBench("avro-apicurio", options={"apicurio.url": "http://h", "apicurio.id-bytes": str(width)}, registry=avro_registry(7, 8))

    def framed(number: int, data: bytes) -> bytes:
        return b"\0" + number.to_bytes(width, "big") + data

    payloads = [framed(7, b"\x02"), framed(8, b"\x04\x02x"), framed(9, b"\x02"), b"\0\0", b"", b"\x01" + bytes(12), framed(7, b"\x0a")]
    found = bench.decode(payloads)
    assert found.batch.column("a").to_pylist() == [1, 2, 5]
    assert [code for _, code, _ in said(found)] == ["decode.schema_unknown", *["decode.framing"] * 3]
    assert "and there is no header 'apicurio.value.contentId'" in found.bad.messages[1]
    if width == 8:
        assert "is 'apicurio.id-bytes' 4?" in bench.decode([framed(1 << 40, b"\x02")]).bad.messages[0]
    assert bench.registry.subjects[0] == "t-value"  # type: ignore[union-attr]


def test_apicurio_numbers_in_headers() -> None:
    """The header says which number it is; the last one of a name counts; the other number, a bad one and Avro's JSON encoding are bad records."""
    bench = CodecBench("avro-apicurio", options={"apicurio.url": "http://h", "apicurio.id": "globalId"}, registry=avro_registry(7, 8))
    name, wide = "apicurio.value.globalId", (7).to_bytes(8, "big")
    payloads = [b"\x02", b"\x04\x02x", b"\x06", b"\x08", b"\x0a", b"\x0c", b"\0" + (7).to_bytes(4, "big") + b"\x0e", b"\x10"]
    headers: list[list[tuple[str, bytes | None]]] = [
        [(name, wide), ("apicurio.value.encoding", b"BINARY")], [(name, wide), (name, (8).to_bytes(4, "big"))], [(name, b"\x01")], [(name, None)],
        [("apicurio.value.contentId", wide)], [(name, wide), ("apicurio.value.encoding", b"JSON")], [("trace", b"x")], [(name, b"\xff" * 8)],
    ]  # fmt: skip
    found = bench.decode(payloads, headers)

    assert found.batch.column("a").to_pylist() == [1, 2, 7]
    assert found.rows.to_pylist() == [0, 1, 6]
    assert [row for row, _, _ in said(found)] == [2, 3, 4, 5, 7]
    assert "no number of 4 or 8 bytes below 2^32" in found.bad.messages[0]
    assert "names a contentId, but 'apicurio.id' is 'globalId'" in found.bad.messages[2]
    assert "JSON encoding is not read" in found.bad.messages[3]


def test_json_in_both_envelopes_and_keys() -> None:
    """Columns from the registry's JSON Schema; a key's number has its own headers."""
    known = Several({7: RegisteredSchema(7, "JSON", JSON)})
    bench = CodecBench("json-apicurio", options={"apicurio.url": "http://h"}, registry=known, is_key=True)
    assert bench.decode([b'{"a":1}'], [[("apicurio.key.contentId", (7).to_bytes(8, "big"))]]).batch.to_pylist() == [{"a": 1}]
    assert known.subjects[0] == "t-key"
    glued = CodecBench("json-glue", options={"glue.schema": "s"}, registry=Several({str(FIRST): RegisteredSchema(str(FIRST), "JSON", JSON)}))
    assert glued.decode([enveloped(FIRST, b'{"a":2}', zipped=True), b"x"]).batch.to_pylist() == [{"a": 2}]
    mixed = CodecBench("json-apicurio", pa.schema([("a", pa.int64())]), {"apicurio.url": "http://h"}, avro_registry(7, 8))
    assert said(mixed.decode([b"\0\0\0\0\x07{}"]))[0][1:] == ("decode.framing", "schema 7 is AVRO, not JSON")


def test_registries_and_missing_options() -> None:
    """Which registry is asked where; each missing option is named with an example."""
    assert glue_bench().plugin.registry(glue_bench().request) == ("glue", "")
    assert glue_bench().plugin.registry(glue_bench(**{"glue.endpoint": "http://h"}).request) == ("glue", "http://h")
    bench = CodecBench("avro-apicurio", registry=avro_registry(7, 8))
    assert bench.plugin.registry(bench.request) is None
    with pytest.raises(UserError, match=r"option 'apicurio\.url' is missing"):
        _ = bench.schema
    with pytest.raises(UserError, match=r"option 'glue\.schema' is missing"):
        _ = CodecBench("avro-glue", registry=avro_registry(1, 2), topic=None).schema
    with pytest.raises(SchemaUnknown) as caught:
        _ = glue_bench(**{"glue.schema": "lost"}).schema
    assert caught.value.hint == "set 'glue.schema', or register the schema first"
    assert CodecBench("avro-glue").schema is None
    _, errors = options.read(bench.plugin.options, {"apicurio.id-bytes": "5", "apicurio.id": "x"})
    assert [type(e) for e in errors] == [OptionError, OptionError]
    shown = repr(options.read(bench.plugin.options, {"glue.secret-access-key": "geheim", "apicurio.basic-auth.user-info": "a:geheim"})[0])
    assert "geheim" not in shown


@pytest.mark.parametrize("name", ["avro-glue", "json-glue"])
def test_the_kernel_behind_the_envelope(name: str) -> None:
    """The inner codec's fast decoder gives the same rows, bad rows and messages; another decoder is left alone."""
    inner: Any = {"avro": (ONE, [b"\x02", b"\x80"]), "json": (JSON, [b'{"a":1}', b'{"a":"x"}'])}[name.partition("-")[0]]
    known = Several({str(FIRST): RegisteredSchema(str(FIRST), name.partition("-")[0].upper(), inner[0])})
    bench = CodecBench(name, options={"decode.max_depth": "9", "avro.union": "struct", "decode.max_bytes": "1 MiB"}, registry=known)
    reference = bench.decoder()
    quick = fast.make(bench.request, known, reference)
    assert quick is not None
    payloads = [enveloped(FIRST, data, zipped=z) for data in inner[1] for z in (False, True)] + [b"x"]
    found, wanted = decode(quick, payloads), decode(reference, payloads)

    assert found.batch.equals(wanted.batch)
    assert said(found) == said(wanted)
    assert (quick.schema, quick.notices, dict(quick.fallbacks)) == (reference.schema, reference.notices, dict(reference.fallbacks))
    assert set(quick.slow_rows) == {name.partition("-")[0]}
    assert fast.make(bench.request, known, CodecBench("raw").decoder()) is None
    fast.warm_up()


def test_no_payloads_and_slices() -> None:
    """Nothing gives nothing; offsets of a slice are respected."""
    bench = glue_bench()
    assert bench.decode([]).batch.num_rows == 0
    payloads = pa.array([b"xx", enveloped(FIRST, b"\x02"), enveloped(SECOND, b"\x04\x02x"), b"yyy"], pa.binary()).slice(1, 2)

    assert bench.decoder().decode(payloads, None).batch.column("a").to_pylist() == [1, 2]


@pytest.mark.parametrize(("name", "schema", "data"), [("avro-glue", TWO, b"\x02\x02x"), ("json-glue", JSON[:-2] + ',"b":{"type":"string"}}}', b'{"a":1,"b":"x"}')])
def test_the_kernel_reads_what_is_wanted(name: str, schema: str, data: bytes) -> None:
    """Columns that nobody reads are left out behind the envelope as they are without it."""
    known = Several({str(FIRST): RegisteredSchema(str(FIRST), name.partition("-")[0].upper(), schema)})
    bench = CodecBench(name, registry=known)
    quick = fast.make(dataclasses.replace(bench.request, wanted=frozenset({"b"})), known, bench.decoder())

    assert quick is not None
    assert decode(quick, [enveloped(FIRST, data), b"x"]).batch.to_pylist() == [{"b": "x"}]
