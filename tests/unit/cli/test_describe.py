"""``twg describe-schema``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from google.protobuf import descriptor_pb2, timestamp_pb2

from thalweg import registry
from thalweg.cli.describe import describe_schema
from thalweg.cli.main import main
from thalweg.errors import UserError
from thalweg.testing.codecs import CodecBench

if TYPE_CHECKING:
    from pathlib import Path

AVRO = {
    "type": "record", "name": "Order", "namespace": "shop", "fields": [
        {"name": "id", "type": "long"}, {"name": "lines", "type": {"type": "array", "items": {"type": "record", "name": "Line", "fields": [{"name": "sku", "type": "string"}]}}},
    ],
}  # fmt: skip
JSON_SCHEMA = {"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "properties": {"u": {"type": "string", "format": "uuid"}}}


def test_an_avro_schema(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every field with path, type and nullability (CLI-06, DEC-02)."""
    file = tmp_path / "o.avsc"
    file.write_text(json.dumps(AVRO))

    assert describe_schema(str(file)) == 0
    assert capsys.readouterr().out == (
        "avro shop.Order\n"
        "field        Arrow type  nullable\n"
        "id           int64       yes\n"
        "lines        list        yes\n"
        "lines[]      struct      yes\n"
        "lines[].sku  string      yes\n"
    )


def test_json_output_is_what_is_decoded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The types are those of a decoded batch (DEC-04)."""
    file = tmp_path / "o.json"
    file.write_text(json.dumps(AVRO))
    assert describe_schema(str(file), message="Order", format="json") == 0
    said = json.loads(capsys.readouterr().out)
    decoded = CodecBench("avro", options={"avro.schema": json.dumps(AVRO)}).decode([b"\x02\x00"]).batch.schema

    assert (said["format"], said["name"], said["notices"]) == ("avro", "shop.Order", [])
    assert [f["type"] for f in said["fields"] if "[" not in f["path"]] == [str(f.type) for f in decoded]


def test_a_json_schema(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Recognised by what it says; meanings are shown beside the type."""
    file = tmp_path / "s.json"
    file.write_text(json.dumps(JSON_SCHEMA))

    assert describe_schema(str(file)) == 0
    assert "u      fixed_size_binary[16] (uuid)  yes" in capsys.readouterr().out
    with pytest.raises(UserError, match="--message is for files that hold several"):
        describe_schema(str(file), message="X")


def test_a_descriptor_set(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The only message of its own, or the one that is named; imported ones are found by name too."""
    found = descriptor_pb2.FileDescriptorSet()
    timestamp_pb2.DESCRIPTOR.CopyToProto(found.file.add())
    own = found.file.add(name="o.proto", package="shop", syntax="proto3", dependency=[timestamp_pb2.DESCRIPTOR.name])
    field = own.message_type.add(name="Order").field.add(name="at", number=1, type=11, label=1, type_name=".google.protobuf.Timestamp")
    file = tmp_path / "o.desc"
    file.write_bytes(found.SerializeToString())

    assert field.name == "at"
    assert describe_schema(str(file)) == 0
    assert "at     timestamp[us, tz=UTC]  yes" in capsys.readouterr().out
    assert describe_schema(str(file), message="Timestamp") == 0
    own.message_type.add(name="Other")
    file.write_bytes(found.SerializeToString())
    with pytest.raises(UserError, match="several messages: say which with --message") as caught:
        describe_schema(str(file))
    assert caught.value.hint == "it holds shop.Order, shop.Other"
    with pytest.raises(UserError, match="holds no message 'Nope'"):
        describe_schema(str(file), message="Nope")


def test_what_is_cut_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A warning names each record that lies too deep (DEC-09)."""
    file = tmp_path / "n.avsc"
    file.write_text('{"type":"record","name":"N","fields":[{"name":"next","type":["null","N"]}]}')
    describe_schema(str(file))
    out = capsys.readouterr().out

    assert "string (json)" in out
    assert "warning: 'next." in out
    assert "record N lies deeper than 'decode.max_depth' (24)" in out


@pytest.mark.parametrize(("name", "content", "reason"), [
    ("x.avsc", b"{", "the file is no JSON"), ("x.avsc", b'{"type":"record","name":"R"}', "needs 'fields'"), ("x.json", b'{"type":"object"}', "no 'properties'"),
    ("x.desc", b"not a descriptor", "no Protobuf descriptor set"), ("x.avsc", json.dumps(AVRO).encode(), "holds no record 'Nope'"),
])  # fmt: skip
def test_files_that_are_no_schema(tmp_path: Path, name: str, content: bytes, reason: str) -> None:
    """The file and the reason are said."""
    file = tmp_path / name
    file.write_bytes(content)
    with pytest.raises(UserError, match=reason) as caught:
        describe_schema(str(file), message="Nope" if reason.startswith("holds") else None)

    assert str(file) in str(caught.value)


def test_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file that is not there is the user's error: exit code 2."""
    assert registry.names("codecs") == ["avro", "json", "protobuf", "raw"]
    assert main(["describe-schema", str(tmp_path / "none.avsc")]) == 2
    assert "cannot be read" in capsys.readouterr().err
