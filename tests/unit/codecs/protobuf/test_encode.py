"""Rows written as messages, for test data."""

from __future__ import annotations

import dataclasses
import datetime as dt
from typing import Any

import pytest

from thalweg import registry
from thalweg.codecs.protobuf.encode import row_encoder
from thalweg.errors import UserError
from thalweg.model import options
from thalweg.ports.codec import DecodeRequest
from thalweg.ports.schemas import RegisteredSchema

TEXT = """
syntax = "proto2"; package t;
import "google/protobuf/struct.proto"; import "google/protobuf/timestamp.proto"; import "google/protobuf/duration.proto"; import "google/protobuf/wrappers.proto";
enum E { Z = 0; Y = 5; }
message In { optional int32 a = 1; }
message M {
  optional int32 n = 1; repeated int32 many = 2; repeated In items = 3; map<string, In> m = 4; map<string, int32> counts = 5; optional E e = 6;
  optional google.protobuf.Timestamp t = 7; optional google.protobuf.Duration d = 8; optional google.protobuf.Struct j = 9;
  optional google.protobuf.Int32Value w = 10; optional In in = 11; extensions 100 to 110;
}
extend M { optional int32 x = 100; repeated int32 xs = 101; optional In xi = 102; }
"""
ROW: dict[str, Any] = {
    "n": 7, "many": [1, 2], "items": [{"a": 1}], "m": {"k": {"a": 2}}, "counts": [("c", 3)], "e": "Y", "t": dt.datetime(2026, 1, 2, tzinfo=dt.UTC),
    "d": dt.timedelta(seconds=-1, microseconds=-5), "j": '{"a":1.0}', "w": 4, "in": {"a": 9},
}  # fmt: skip


class One:
    """A registry of one schema."""

    def __init__(self, text: str) -> None:
        """Nothing asked yet."""
        self.found = RegisteredSchema("x", "PROTOBUF", text)

    def latest(self, _subject: str) -> RegisteredSchema:
        """The schema, whose id only registering gives."""
        return self.found

    def register(self, _subject: str, _schema: RegisteredSchema) -> int:
        """Its number."""
        return 9


def request(**values: str) -> DecodeRequest:
    """A table of message M."""
    found, errors = options.read(registry.load("codecs", "protobuf").options, {"protobuf-confluent.url": "http://localhost:1", "protobuf.message": "t.M", **values})
    assert not errors
    return DecodeRequest("protobuf-confluent", None, found, "t", "_twg_")


def test_rows_of_every_kind_come_back() -> None:
    """Lists, maps, messages, enums, clocks, wrappers, JSON and extensions, behind the id that registering gave (PRO-01)."""
    from_registry: Any = One(TEXT)
    asked = request()
    encode = row_encoder(asked, from_registry)
    schema = registry.load("codecs", "protobuf").decoder(asked, from_registry).schema
    extensions = dict(zip([n for n in schema.names if n not in ROW], (5, [6], {"a": 8}), strict=True))

    payload = encode({**ROW, **extensions})

    assert payload[:5] == b"\0\0\0\0\x09"
    assert len(extensions) == 3
    assert encode({"e": 5}).endswith(b"\x30\x05")


def test_what_does_not_fit_is_named() -> None:
    """The column and its value; a schema that cannot be read, and a format without one, are the user's errors."""
    from_registry: Any = One(TEXT)
    with pytest.raises(UserError, match=r"column 'n': 'seven' does not fit"):
        row_encoder(request(), from_registry)({"n": "seven"})
    broken: Any = One("syntax = proto")
    with pytest.raises(UserError, match="the Protobuf schema cannot be read"):
        row_encoder(request(), broken)
    with pytest.raises(UserError, match="needs its schema to write data"):
        row_encoder(request(), None)
    with pytest.raises(UserError, match="needs its descriptors to decode"):
        registry.load("codecs", "protobuf").decoder(request(), None)


@pytest.mark.parametrize(
    ("url", "place"),
    [(None, None), ("file:///schemas", ("static", "/schemas")), ("schemas", ("static", "schemas")), ("http://localhost:1", ("confluent", "http://localhost:1"))],
)
def test_where_schemas_are_looked_up(url: str | None, place: tuple[str, str] | None) -> None:
    """A folder by its path or URL, else a registry; without either nobody is asked (REG-02)."""
    asked = request() if url is None else request(**{"protobuf-confluent.url": url})
    if url is None:
        asked = dataclasses.replace(asked, options=dataclasses.replace(asked.options, url=None))

    assert registry.load("codecs", "protobuf").registry(asked) == place
