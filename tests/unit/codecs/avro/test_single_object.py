"""Single-object encoding: canonical forms, fingerprints, and data by them."""

from __future__ import annotations

import json
import re
from random import Random
from typing import TYPE_CHECKING

import avro.errors
import avro.schema
import pyarrow as pa
import pytest

from tests.oracle.avro_schemas import Maker, parsed
from thalweg import registry
from thalweg.codecs.avro import fast
from thalweg.codecs.avro.kernel_encoder import compile_encoder
from thalweg.codecs.avro.single_object import Fingerprints, canonical, fingerprint, prefix
from thalweg.errors import SchemaUnknown, UserError
from thalweg.ports.schemas import RegisteredSchema
from thalweg.testing.codecs import CodecBench, decode

if TYPE_CHECKING:
    from pathlib import Path

OLD = {"type": "record", "name": "R", "namespace": "n", "doc": "d", "fields": [{"name": "a", "type": "int", "default": 3}]}
NEW = {"type": "record", "name": "n.R", "fields": [{"name": "a", "type": "long"}, {"name": "b", "type": "string", "default": "-"}]}


def bench(options: dict[str, str], declared: pa.Schema | None = None, folder: Path | None = None) -> CodecBench:
    """A table of single objects."""
    known = None if folder is None else registry.load("registries", "static").make(str(folder), {})
    return CodecBench("avro-single-object", declared, options, known)


def payload(schema: object, datum: str) -> bytes:
    """A datum behind its framing, with a fingerprint that another library made."""
    return b"\xc3\x01" + bytes(avro.schema.parse(json.dumps(schema)).fingerprint()) + bytes.fromhex(datum)


def fill(folder: Path) -> Path:
    """Both schemas in a folder."""
    (folder / "old.avsc").write_text(json.dumps(OLD))
    (folder / "new.avsc").write_text(json.dumps(NEW))
    return folder


@pytest.mark.filterwarnings("ignore::avro.errors.IgnoredLogicalType")
def test_fingerprints_of_the_specification() -> None:
    """The values that the specification's own test suite and other libraries have."""
    assert fingerprint(parsed("null"))[::-1].hex() == "63dd24e7cc258f8a"
    assert fingerprint(parsed("int"))[::-1].hex() == "7275d51a3f395c8f"
    assert canonical(parsed(OLD)) == '{"name":"n.R","type":"record","fields":[{"name":"a","type":"int"}]}'
    compared = 0
    for seed in range(80):
        schema = Maker(Random(seed)).root()
        if '"namespace": ""' in json.dumps(schema):  # no namespace; the oracle takes the one around it
            continue
        try:
            oracle = avro.schema.parse(json.dumps(schema))
        except avro.errors.AvroException:
            continue
        assert canonical(parsed(schema)) == re.sub(r'\{"type":("[a-z]+")\}', r"\1", oracle.canonical_form)  # the oracle leaves annotated primitives
        if "logicalType" not in json.dumps(schema):
            assert fingerprint(parsed(schema)) == oracle.fingerprint()
        compared += 1
    assert compared > 30


def test_records_by_their_fingerprints(tmp_path: Path) -> None:
    """Each record is read by its writer's schema and resolved to the reader's; an unknown one says so (AV-28)."""
    table = bench({"avro.schema-folder": "f", "avro.schema-file": "new.avsc"}, folder=fill(tmp_path))
    stranger = payload("string", "0261")
    out = table.decode([prefix(parsed(OLD)) + b"\x0e", prefix(parsed(NEW)) + b"\x10\x02x", stranger])

    assert out.batch.to_pylist() == [{"a": 7, "b": "-"}, {"a": 8, "b": "x"}]
    assert (out.bad.rows, out.bad.codes) == ([2], ["decode.schema_unknown"])
    assert f"no known schema has the fingerprint {stranger[2:10].hex()}" in out.bad.messages[0]


def test_the_prefix_is_what_other_libraries_write() -> None:
    """``c3 01`` and eight bytes, little-endian (AV-28)."""
    assert prefix(parsed(OLD)) == payload(OLD, "")


@pytest.mark.parametrize("data", ["", "c3", "c301", "c30100112233445566", "00000000010e", "7b7d"])
def test_other_framing_is_refused(data: str) -> None:
    """Too short, another marker, Confluent's, JSON: one bad record each, that says what was expected (AV-28)."""
    out = bench({"avro.schema": json.dumps(OLD)}).decode([bytes.fromhex(data)])

    assert out.bad.codes == ["decode.framing"]
    assert "expected c3 01 and a fingerprint of 8 bytes" in out.bad.messages[0]


def test_where_the_columns_come_from(tmp_path: Path) -> None:
    """One schema gives them; of several one must be named, or the columns declared."""
    assert bench({"avro.schema": json.dumps(OLD)}).schema == pa.schema([("a", pa.int32())])
    with pytest.raises(UserError, match=r"'avro\.schema' is missing"):
        _ = bench({}).schema
    with pytest.raises(UserError, match="holds 2 Avro schemas") as caught:
        _ = bench({"avro.schema-folder": "f"}, folder=fill(tmp_path)).schema
    assert "there are: new, old" in str(caught.value)
    declared = bench({"avro.schema-folder": "f"}, pa.schema([("a", pa.int64()), ("b", pa.string())]), fill(tmp_path))
    out = declared.decode([prefix(parsed(OLD)) + b"\x0e", prefix(parsed(NEW)) + b"\x10\x02x"])
    assert out.batch.to_pylist() == [{"a": 7, "b": None}, {"a": 8, "b": "x"}]
    (tmp_path / "old.avsc").unlink()
    assert bench({"avro.schema-folder": "f"}, folder=tmp_path).schema.names == ["a", "b"]


def test_rows_come_back() -> None:
    """What the encoders write is read: row by row, and by the kernel with the same prefix (AV-28)."""
    table = CodecBench("avro-single-object", None, {"avro.schema": json.dumps(NEW)}, rows=[{"a": 1, "b": "x"}, {"a": 2, "b": ""}])
    written = table.encoded()
    batch = pa.RecordBatch.from_pylist(list(table.rows), schema=table.schema)

    assert table.decode(written).batch.to_pylist() == list(table.rows)
    assert compile_encoder(NEW, table.schema).encode(batch, prefix(parsed(NEW))).payloads.to_pylist() == written


def test_compiled_and_exact_paths_agree(tmp_path: Path) -> None:
    """Mixed schemas, unknown ones and damage: the compiled decoder gives the reference's rows and verdicts (AV-28)."""
    table = bench({"avro.schema-folder": "f", "avro.schema-file": "new.avsc"}, folder=fill(tmp_path))
    payloads = [prefix(parsed(OLD)) + b"\x0e", b"", prefix(parsed(NEW)) + b"\x10\x02x", payload("string", "0261"), prefix(parsed(OLD)) + b"\xff", b"\xc3\x01"] * 3
    reference = table.decoder()
    quick = fast.make(table.request, table.registry, reference)
    assert quick is not None
    found, expected = decode(quick, payloads), decode(table.decoder(), payloads)

    assert found.batch == expected.batch
    assert found.rows == expected.rows
    assert sorted(zip(found.bad.rows, found.bad.messages, strict=True)) == sorted(zip(expected.bad.rows, expected.bad.messages, strict=True))


def test_schemas_may_come_later(tmp_path: Path) -> None:
    """A schema that is put into the folder while data flows is found; what is no schema is named where one is missing."""
    folder = registry.load("registries", "static").make(str(fill(tmp_path)), {})
    known = Fingerprints([], folder)
    wanted = fingerprint(parsed("string")).hex()
    (tmp_path / "broken.avsc").write_text("{")
    (tmp_path / "other.proto").write_text("syntax")
    with pytest.raises(SchemaUnknown, match="broken cannot be read"):
        known.by_id(wanted)
    (tmp_path / "text.avsc").write_text('"string"')
    assert known.by_id(wanted).text == '"string"'
    known.close()
    with pytest.raises(SchemaUnknown, match="by their fingerprints"):
        known.latest("t")
    with pytest.raises(SchemaUnknown, match="no number"):
        known.register("t", RegisteredSchema(1, "AVRO", '"int"'))


@pytest.mark.parametrize(
    ("column", "said"),
    [
        (pa.field("bb", pa.string()), "column 'bb': none of the schemas has such a field; did you mean 'b'?"),
        (pa.field("amount", pa.string()), "column 'amount': none of the schemas has such a field; there are: a, b"),
        (pa.field("b", pa.int64()), "column 'b': declared"),
        (pa.field("a", pa.timestamp("us")), "column 'a': declared"),
    ],
)
def test_columns_that_no_schema_gives(tmp_path: Path, column: pa.Field, said: str) -> None:
    """A declared column that no schema of the folder has, or has so that it fits, is refused, not NULL for ever."""
    fine = pa.field("b", pa.string()) if column.name == "a" else pa.field("a", pa.int64())
    table = bench({"avro.schema-folder": "f"}, pa.schema([fine, column]), fill(tmp_path))

    with pytest.raises(UserError, match=re.escape(said).replace("declared", ".*")):
        table.decoder()


def test_columns_that_one_schema_gives(tmp_path: Path) -> None:
    """One schema of several suffices for a column, and a folder that is empty yet refuses none."""
    wanted = pa.schema([("b", pa.string()), ("a", pa.int32())])

    assert bench({"avro.schema-folder": "f"}, wanted, fill(tmp_path)).decoder().schema == wanted
    (tmp_path / "empty").mkdir()
    assert bench({"avro.schema-folder": "f"}, wanted, tmp_path / "empty").decoder().schema == wanted
    (tmp_path / "broken.avsc").write_text("{")
    assert bench({"avro.schema-folder": "f"}, pa.schema([("zz", pa.string())]), tmp_path).decoder().schema.names == ["zz"]
