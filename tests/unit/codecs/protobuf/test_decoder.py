"""Framed payloads: schemas by id and GUID, message indexes, writers that fit and writers that do not."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

import pytest

from thalweg import registry as plugins
from thalweg.codecs.protobuf.framing import read_indexes, write_indexes
from thalweg.errors import SchemaUnknown, UserError
from thalweg.ports.schemas import RegisteredSchema, SchemaRegistry
from thalweg.testing.codecs import CodecBench, decode

if TYPE_CHECKING:
    from pathlib import Path

    from thalweg.arrow.batch import Decoded

GUID = uuid.UUID(int=5)
READER = 'syntax = "proto3"; package t; message A { message In { int32 x = 1; } } message B { int64 n = 1; string s = 2; }'
SCHEMAS: dict[int | str, str] = {
    1: READER,
    2: 'syntax = "proto3"; package t; message B { int32 n = 1; string s = 2; bool more = 3; }',
    3: 'syntax = "proto3"; package t; message B { sint64 n = 1; }',
    4: "syntax = proto",
    str(GUID): READER,
}


class Known(SchemaRegistry):
    """Schemas by id; counts what it is asked."""

    def __init__(self) -> None:
        """Nothing asked yet."""
        self.asked: list[int | str] = []

    def by_id(self, schema_id: int | str) -> RegisteredSchema:
        """One of the texts; 6 is no Protobuf."""
        self.asked.append(schema_id)
        if schema_id == 6:
            return RegisteredSchema(6, "AVRO", '"string"')
        if schema_id not in SCHEMAS:
            raise SchemaUnknown(f"no schema {schema_id}")
        return RegisteredSchema(schema_id, "PROTOBUF", SCHEMAS[schema_id])

    def latest(self, subject: str) -> RegisteredSchema:
        """The reader's schema."""
        assert subject == "t-value"
        return RegisteredSchema(1, "PROTOBUF", READER)

    def register(self, subject: str, schema: RegisteredSchema) -> int:
        """Always the first."""
        return 1 if subject and schema else 0

    def close(self) -> None:
        """Nothing is open."""


def bench(registry: Known | None = None) -> CodecBench:
    """A table of message B, the second one of its schema."""
    options = {"protobuf-confluent.url": "http://localhost:1", "protobuf.message": "t.B"}
    return CodecBench("protobuf-confluent", options=options, registry=registry or Known(), rows=[{"n": 7, "s": "x"}])


def framed(schema_id: int, indexes: bytes, data: bytes = b"\x08\x07") -> bytes:
    """A payload with its prefix."""
    return b"\0" + schema_id.to_bytes(4, "big") + indexes + data


SECOND = write_indexes([1])


def test_schemas_mix_in_one_batch() -> None:
    """Records of several schemas decode to the table's columns, in order; each schema is asked for once (RG-06)."""
    registry = Known()
    out = bench(registry).decode([framed(1, SECOND), framed(2, b"\0", b"\x08\x09\x18\x01")] * 50)

    assert [row["n"] for row in out.batch.to_pylist()] == [7, 9] * 50
    assert registry.asked == [1, 2]


@pytest.mark.parametrize(
    ("payload", "code", "said"),
    [
        (framed(3, b"\0"), "decode.type", "field 'n' is written as sint64"), (framed(1, b"\0"), "decode.type", "wrote message t.A"),
        (framed(1, write_indexes([0, 0])), "decode.type", "wrote message t.A.In"), (framed(1, write_indexes([9])), "decode.framing", "no message at index"),
        (framed(4, b"\0"), "decode.schema_unknown", "cannot be read"), (framed(6, b"\0"), "decode.framing", "is AVRO"),
        (framed(99, b"\0"), "decode.schema_unknown", "no schema 99"), (b"", "decode.framing", "empty"), (b'{"n":1}', "decode.framing", "looks like JSON"),
        (b"\0\0\0\0\1", "decode.framing", "message indexes"), (framed(1, b"\x03"), "decode.framing", "message index"),
        (framed(1, b"\xff" * 6), "decode.framing", "more than five bytes"), (framed(1, b"\x04\x02"), "decode.framing", "no message at index"),
    ],
)  # fmt: skip
def test_payloads_that_are_not_the_tables(payload: bytes, code: str, said: str) -> None:
    """A writer that clashes, another message, unknown schemas and broken framing cost one record each (RG-05, PRO-08)."""
    out = bench().decode([payload, framed(1, SECOND)])

    assert out.bad.codes == [code]
    assert said in out.bad.messages[0]
    assert out.batch.to_pylist() == [{"n": 7, "s": ""}]


def with_header(value: bytes | None, payload: bytes = b"\x08\x07") -> Decoded:
    """One record with a header, after another one of the same name."""
    return decode(bench().decoder(), [payload], [[("__value_schema_id", b"junk"), ("__value_schema_id", value)]])


def test_header_names_the_schema() -> None:
    """The last header counts: 01 and a GUID or 00 and an id, each with message indexes; the payload has no prefix then (RG-04)."""
    assert with_header(b"\x01" + GUID.bytes + SECOND).batch.to_pylist() == [{"n": 7, "s": ""}]
    assert with_header(b"\x00\x00\x00\x00\x01" + SECOND).batch.to_pylist() == [{"n": 7, "s": ""}]


@pytest.mark.parametrize("value", [None, b"", b"\x01\x02\x03", b"\x01" + GUID.bytes, b"\x02" + GUID.bytes + b"\0", b"\x00\x00\x00\x00\x01\0\0"])
def test_malformed_headers(value: bytes | None) -> None:
    """A malformed header is a bad record, also where the payload has a prefix (RG-04)."""
    assert with_header(value, framed(1, SECOND)).bad.codes == ["decode.framing"]


@pytest.mark.parametrize("indexes", [[0], [1], [0, 0], [3, 0, 200], [1] * 32])
def test_indexes_come_back(indexes: list[int]) -> None:
    """Paths of indexes are zigzag varints; the first message is one byte 0 (PRO-08)."""
    assert read_indexes(write_indexes(indexes) + b"rest", 0) == (tuple(indexes), len(write_indexes(indexes)))
    assert write_indexes([0]) == b"\0"


def test_a_row_that_does_not_fit_names_its_column_and_value() -> None:
    """Test data that is wrong is found by its column."""
    made = bench()
    assert made.plugin.encode_row is not None
    encode = made.plugin.encode_row(made.request, made.registry)

    with pytest.raises(UserError, match="column 'n': 'NOPE' does not fit"):
        encode({"n": "NOPE"})


def test_recursion_that_doubles(tmp_path: Path) -> None:
    """A message of two branches becomes columns as deep as they fit, and a few lines say so; a depth that was asked for and does not fit is refused (DEC-09)."""
    (tmp_path / "t.proto").write_text('syntax = "proto3"; message T { T l = 1; T r = 2; int32 v = 3; }')
    files = plugins.load("registries", "descriptors").make(str(tmp_path / "t.proto"), {})

    def tree(**more: str) -> CodecBench:
        given = {"protobuf.descriptor": "t.proto"} | {key.replace("__", "."): value for key, value in more.items()}
        return CodecBench("protobuf", options=given, registry=files)

    decoder = tree().decoder()
    assert len(decoder.notices) == 7
    assert "'decode.max_depth' is 10 here" in decoder.notices[0]
    assert "'l.l.l.l.l.l.l.l.l.l': message T lies deeper than 'decode.max_depth' (10)" in decoder.notices[1]
    assert tree(decode__max_depth="10").schema == decoder.schema
    with pytest.raises(UserError, match=r"recursive \(T -> T\) and unfolds to more than 5000 columns; lower 'decode.max_depth' \(now 11\)"):
        _ = tree(decode__max_depth="11").schema
    deep = b""
    for _ in range(11):
        deep = b"\x0a" + bytes([len(deep)]) + deep
    found = decode(decoder, [deep]).batch.to_pylist()[0]
    for _ in range(9):
        found = found["l"]
    assert found == {"l": '{"l":{}}', "r": None, "v": 0}
