"""Columns of Avro tables."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from thalweg import registry
from thalweg.arrow.columns import UUID
from thalweg.errors import SchemaUnknown, UserError
from thalweg.testing.codecs import CodecBench

if TYPE_CHECKING:
    from pathlib import Path

ORDER = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "int"}, {"name": "note", "type": ["null", "string"]}]}


def plain(spec: object, declared: pa.Schema | None = None, **options: str) -> CodecBench:
    """A table of plain data."""
    return CodecBench("avro", declared, {"avro.schema": json.dumps(spec), **{k.replace("__", "."): v for k, v in options.items()}})


def test_columns_of_every_type() -> None:
    """The schema gives the columns, all of them nullable; bytes stay binary (DEC-02, DEC-15, AVR-06, AVR-07)."""
    kinds: dict[str, Any] = {
        "b": "boolean", "i": "int", "l": "long", "f": "float", "d": "double", "y": "bytes", "s": "string", "n": "null",
        "e": {"type": "enum", "name": "E", "symbols": ["A"]}, "x": {"type": "fixed", "name": "X", "size": 3},
        "u": {"type": "string", "logicalType": "uuid"}, "a": {"type": "array", "items": ["null", "int"]}, "m": {"type": "map", "values": "E"},
    }  # fmt: skip
    found = plain({"type": "record", "name": "R", "fields": [{"name": k, "type": v} for k, v in kinds.items()]}).schema
    enum = pa.dictionary(pa.int32(), pa.string())

    assert found is not None
    assert found.equals(pa.schema([
        ("b", pa.bool_()), ("i", pa.int32()), ("l", pa.int64()), ("f", pa.float32()), ("d", pa.float64()), ("y", pa.binary()), ("s", pa.string()),
        ("n", pa.null()), ("e", enum), ("x", pa.binary(3)), pa.field("u", pa.binary(16), metadata=UUID), ("a", pa.list_(pa.int32())),
        ("m", pa.map_(pa.string(), enum)),
    ]), check_metadata=True)  # fmt: skip


def test_declared_columns_are_the_readers_schema() -> None:
    """They may leave fields out and widen; each fault names its column."""
    assert plain(ORDER, pa.schema([("id", pa.int64())])).decode([b"\x54\x00"]).batch.to_pylist() == [{"id": 42}]
    for declared, reason in (
        (pa.schema([("id", pa.int16())]), "column 'id': Avro int does not become int16 without loss"),
        (pa.schema([("ID", pa.int32())]), "column 'ID': the schema has no such field; did you mean 'id'"),
        (pa.schema([("value", pa.int32())]), "column 'value': the schema has no such field; there are: id, note"),
    ):
        with pytest.raises(UserError, match=reason):
            _ = plain(ORDER, declared).schema
    with pytest.raises(UserError, match="declare its one column as 'value'"):
        _ = plain("long", pa.schema([("v", pa.int64())])).schema
    assert plain("int", pa.schema([("value", pa.int64())])).decode([b"\x54"]).batch.to_pylist() == [{"value": 42}]


def test_fields_under_the_metadata_prefix() -> None:
    """The whole schema is refused, by the field's name; below the top the name is free."""
    spec = {"type": "record", "name": "R", "fields": [{"name": "_twg_x", "type": "int"}]}
    with pytest.raises(UserError, match="field '_twg_x' of the schema begins with '_twg_'"):
        _ = plain(spec).schema
    with pytest.raises(UserError, match="_twg_x"):
        _ = plain(["null", spec]).schema
    nested = plain({"type": "record", "name": "O", "fields": [{"name": "inner", "type": spec}]}).schema
    assert nested is not None
    assert nested.names == ["inner"]


TREE = {"type": "record", "name": "T", "fields": [{"name": "l", "type": ["null", "T"]}, {"name": "v", "type": "int"}, {"name": "r", "type": ["null", "T"]}]}


def test_recursion_that_doubles() -> None:
    """A tree of two branches becomes columns as deep as they fit, and a few lines say so; a depth that was asked for and does not fit is refused (AV-21, DEC-09)."""
    begin = time.monotonic()
    decoder = plain(TREE).decoder()
    assert len(decoder.notices) == 7
    assert "more than 5,000 columns at 24 levels, so 'decode.max_depth' is 10 here" in decoder.notices[0]
    assert "'l.l.l.l.l.l.l.l.l.l': record T lies deeper than 'decode.max_depth' (10) and becomes JSON text" in decoder.notices[1]
    assert decoder.notices[6] == "and 1,019 more places lie as deep and become JSON text"
    assert plain(TREE, decode__max_depth="10").schema == decoder.schema
    assert plain(TREE, decode__max_depth="10").decoder().notices == decoder.notices[1:]
    with pytest.raises(UserError, match=r"recursive \(T -> T\) and unfolds to more than 5000 columns; lower 'decode.max_depth' \(now 11\)"):
        _ = plain(TREE, decode__max_depth="11").schema
    assert time.monotonic() - begin < 5


def test_wide_schemas() -> None:
    """What is too wide without recursion is refused, unless columns are declared; beside a recursion that grows slowly the levels give way."""
    many = [{"name": f"f{i}", "type": "int"} for i in range(5001)]
    wide = {"type": "record", "name": "W", "fields": many}
    with pytest.raises(UserError, match="more than 5000 columns; declare the ones you need"):
        _ = plain(wide).schema
    assert plain(wide, pa.schema([("f7", pa.int32())])).schema is not None
    chain = {"type": "record", "name": "C", "fields": [*many[:300], {"name": "next", "type": ["null", "C"]}]}
    assert "'decode.max_depth' (16)" in plain(chain).decoder().notices[1]
    beside = {"type": "record", "name": "B", "fields": [{"name": "tree", "type": TREE}, {"name": "w", "type": {**wide, "fields": many[:3000]}}]}
    assert "'decode.max_depth' (10)" in plain(beside).decoder().notices[1]


def test_decimals_beyond_arrow() -> None:
    """77 digits have no column; the field is named (AV-11)."""
    spec = {"type": "record", "name": "R", "fields": [{"name": "d", "type": {"type": "bytes", "logicalType": "decimal", "precision": 77}}]}
    with pytest.raises(UserError, match="field 'd': a decimal of 77 digits"):
        _ = plain(spec).schema


@pytest.mark.parametrize(("format_name", "options", "reason"), [
    ("avro", {}, "option 'avro.schema' is missing"), ("avro", {"avro.schema": "{"}, "the Avro schema cannot be read: the schema is no JSON"),
    ("avro-confluent", {}, "option 'avro-confluent.url' is missing"),
])  # fmt: skip
def test_missing_and_broken_options(format_name: str, options: dict[str, str], reason: str) -> None:
    """The option is named."""
    with pytest.raises(UserError, match=reason):
        _ = CodecBench(format_name, options=options).schema


def test_which_registry() -> None:
    """A URL is a Confluent registry; a path or ``file:`` URL is a folder; plain data needs one for a file only."""

    def asked(format_name: str, **options: str) -> tuple[str, str] | None:
        bench = CodecBench(format_name, options={k.replace("__", "-").replace("_", "."): v for k, v in options.items()})
        return bench.plugin.registry(bench.request)

    assert asked("avro-confluent", avro__confluent_url="http://h:8081/base") == ("confluent", "http://h:8081/base")
    assert asked("avro-confluent", avro__confluent_url="file:///a/b") == ("static", "/a/b")
    assert asked("avro-confluent", avro__confluent_url="file:a/b") == asked("avro-confluent", avro__confluent_url="a/b") == ("static", "a/b")
    assert asked("avro", avro_schema__file="x.avsc") == ("static", "x.avsc")
    assert asked("avro", avro_schema='"int"') is None
    assert asked("avro-confluent") is None


def test_columns_that_lie_in_a_registry(tmp_path: Path) -> None:
    """Unknown until the registry is asked; then the subject's newest schema, or the option's own."""
    (tmp_path / "t-value.avsc").write_text(json.dumps(ORDER))
    (tmp_path / "t-key.avsc").write_text('"long"')
    url = {"avro-confluent.url": str(tmp_path)}
    known = registry.load("registries", "static").make(str(tmp_path), {})

    assert CodecBench("avro-confluent", options=url).schema is None
    assert CodecBench("avro-confluent", options=url, registry=known).schema == pa.schema([("id", pa.int32()), ("note", pa.string())])
    assert CodecBench("avro-confluent", options=url, registry=known, is_key=True).schema == pa.schema([("value", pa.int64())])
    assert CodecBench("avro-confluent", options={**url, "avro-confluent.subject": "t-key"}, registry=known).schema == pa.schema([("value", pa.int64())])
    assert CodecBench("avro-confluent", options={**url, "avro-confluent.schema": '"int"'}).schema == pa.schema([("value", pa.int32())])
    with pytest.raises(SchemaUnknown, match=r"set 'avro-confluent.subject'"):
        _ = CodecBench("avro-confluent", options=url, registry=known, topic="other").schema
    with pytest.raises(UserError, match="needs its schema registry"):
        CodecBench("avro-confluent", options=url).decoder()
    (tmp_path / "j-value.json").write_text("{}")
    with pytest.raises(UserError, match="subject 'j-value' holds JSON schemas, not Avro"):
        _ = CodecBench("avro-confluent", options=url, registry=known, topic="j").schema
    file = registry.load("registries", "static").make(str(tmp_path / "t-key.avsc"), {})
    assert CodecBench("avro", options={"avro.schema-file": "t-key.avsc"}, registry=file).decode([b"\x54"]).batch.to_pylist() == [{"value": 42}]


def test_topics_by_pattern(tmp_path: Path) -> None:
    """Without a topic there is no subject: it is an option, or the columns are declared and each writer's schema is read by them."""
    (tmp_path / "1.avsc").write_text(json.dumps(ORDER))
    (tmp_path / "2.avsc").write_text('{"type":"record","name":"Other","fields":[{"name":"note","type":"string"}]}')
    (tmp_path / "3.avsc").write_text('{"type":"record","name":"Wrong","fields":[{"name":"note","type":"int"}]}')
    known = registry.load("registries", "static").make(str(tmp_path), {})
    url = {"avro-confluent.url": str(tmp_path)}
    with pytest.raises(UserError, match=r"option 'avro-confluent.subject' is missing"):
        _ = CodecBench("avro-confluent", options=url, registry=known, topic=None).schema
    declared = pa.schema([("id", pa.int64()), ("note", pa.string())])
    bench = CodecBench("avro-confluent", declared, url, known, topic=None)
    out = bench.decode([bytes.fromhex(p) for p in ("0000000001 54 02 02 61", "0000000002 02 62", "0000000003 02")])

    assert bench.schema == declared
    assert out.batch.to_pylist() == [{"id": 42, "note": "a"}, {"id": None, "note": "b"}]
    assert (out.bad.rows, out.bad.codes) == ([2], ["decode.type"])
    assert "schema 3 does not resolve" in out.bad.messages[0]
