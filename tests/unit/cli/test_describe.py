"""``twg describe-schema``."""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from google.protobuf import descriptor_pb2, timestamp_pb2

from tests.oracle.containers import header, write
from thalweg import registry
from thalweg.arrow.described import describe
from thalweg.cli.describe import describe_schema
from thalweg.cli.main import main
from thalweg.errors import UserError
from thalweg.testing.codecs import CodecBench
from thalweg.testing.registry import TestRegistry

if TYPE_CHECKING:
    from collections.abc import Iterator

AVRO = {
    "type": "record", "name": "Order", "namespace": "shop", "fields": [
        {"name": "id", "type": "long"}, {"name": "lines", "type": {"type": "array", "items": {"type": "record", "name": "Line", "fields": [{"name": "sku", "type": "string"}]}}},
    ],
}  # fmt: skip
JSON_SCHEMA = {"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "properties": {"u": {"type": "string", "format": "uuid"}}}


def test_an_avro_container(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The schema in the header, however large the file is; a header that is none says where."""
    file = write(tmp_path / "o.avro", header(AVRO, "deflate"), bytes(17 << 20))

    assert describe_schema(str(file)) == 0
    assert capsys.readouterr().out.startswith("avro shop.Order\nfield ")
    with pytest.raises(UserError, match=r"the file's header cannot be read: the file ends inside a number \(byte 4\)"):
        describe_schema(str(write(tmp_path / "p.avro", b"Obj\x01")))


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
    with pytest.raises(UserError, match="--message is for schemas that hold several"):
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
    with pytest.raises(UserError, match=r"there are 2 messages: shop\.Order, shop\.Other") as caught:
        describe_schema(str(file))
    assert caught.value.hint == "say which with --message"
    with pytest.raises(UserError, match="there is no message 'Nope'"):
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
    ("x.desc", b"not a descriptor", "no Protobuf descriptor set"), ("x.avsc", b"garbage", "the file is no JSON"), ("x.avsc", b"\xff", "no text in UTF-8"),
    ("x.avro", b"garbage", "no Avro container"), ("x.avro", b"", "the file is empty"), ("x.desc", b"", "the file is empty"), ("x.json", b"no{", "the file is no JSON"),
    ("x.avsc", json.dumps(AVRO).encode(), "holds no record 'Nope'"),
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
    assert registry.names("codecs") == ["avro", "enveloped", "json", "protobuf", "raw"]
    assert main(["describe-schema", str(tmp_path / "none.avsc")]) == 2
    assert "cannot be read" in capsys.readouterr().err


def test_proto_texts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A ``.proto`` file with what it imports, and a folder of them (PRO-03)."""
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "line.proto").write_text('syntax = "proto3"; package shop; message Line { string sku = 1; }')
    (tmp_path / "order.proto").write_text('syntax = "proto3"; package shop; import "inner/line.proto"; message Order { repeated Line lines = 1; }')
    for path in (tmp_path / "order.proto", tmp_path):
        describe_schema(str(path), message="Order")

        assert capsys.readouterr().out == (
            "protobuf shop.Order\n"
            "field        Arrow type  nullable\n"
            "lines        list        yes\n"
            "lines[]      struct      yes\n"
            "lines[].sku  string      yes\n"
        )


@pytest.fixture
def subjects() -> Iterator[TestRegistry]:
    """A registry with a subject of each kind; the Protobuf one has two versions and a reference."""
    with TestRegistry("/apis/ccompat/v7") as made:
        made.add("avro", AVRO)
        made.add("json", JSON_SCHEMA, kind="JSON")
        made.add("part", 'syntax = "proto3"; package p; message Part { int32 x = 1; }', kind="PROTOBUF")
        for more in ("", " Part part = 2;"):
            text = f'syntax = "proto3"; package p; import "part.proto"; message A {{ string s = 1;{more} }} message B {{ int64 n = 1; }}'
            made.add("proto", text, kind="PROTOBUF", references=(("part.proto", "part", 1),))
        yield made


@pytest.mark.parametrize(
    ("subject", "message", "lines"),
    [
        ("avro", None, ["avro shop.Order", "lines[].sku  string      yes"]), ("json", None, ["json", "u      fixed_size_binary[16] (uuid)  yes"]),
        ("proto", None, ["protobuf p.A", "part.x  int32       yes"]), ("proto:latest", "p.B", ["protobuf p.B", "n      int64       yes"]),
        ("proto:1", None, ["protobuf p.A", "s      string      yes"]), ("avro:1", "Order", ["avro shop.Order", "id           int64       yes"]),
    ],
)  # fmt: skip
def test_a_subject(subjects: TestRegistry, capsys: pytest.CaptureFixture[str], subject: str, message: str | None, lines: list[str]) -> None:
    """The newest schema of a subject, or a version of it, with everything that it refers to (DEC-02, REG-04, RG-07)."""
    assert describe_schema(subject, registry=subjects.url, message=message) == 0
    out = capsys.readouterr().out.splitlines()

    assert [line.rstrip() for line in out if line.rstrip() in lines] == lines
    assert any(line.startswith("part") for line in out) == (subject == "proto")


def test_options_are_those_of_sql(subjects: TestRegistry, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Shape and credentials, with or without the format's prefix; a secret comes from the environment and is never shown (DEC-08)."""
    monkeypatch.setenv("WHO", "me:hunter2")
    for key in ("basic-auth.user-info", "protobuf-confluent.basic-auth.user-info"):
        assert describe_schema("proto", registry=subjects.url, given=[(key, "${WHO}"), ("decode.max_depth", "1")]) == 0
    out = capsys.readouterr().out

    assert set(subjects.authorization) == {"Basic " + base64.b64encode(b"me:hunter2").decode()}
    assert "part   string (json)  yes" in out
    assert "warning: 'part': message p.Part lies deeper than 'decode.max_depth' (1)" in out
    with pytest.raises(UserError, match="NOBODY") as caught:
        describe_schema("proto", registry=subjects.url, given=[("bearer-auth.token", "x${NOBODY}")])
    assert "hunter2" not in str(caught.value) + out


def test_a_diamond_of_references(subjects: TestRegistry, capsys: pytest.CaptureFixture[str]) -> None:
    """What two references import is defined once, bundled files need not be there; an error of one subject stays with it (PB-24, RG-07)."""
    head, kind = 'syntax = "proto3"; package {}; ', "PROTOBUF"
    subjects.add("d", head.format("d") + "message D { int32 x = 1; }", kind=kind)
    for name, imported in (("b", "d.proto"), ("c", "other/d.proto")):
        text = head.format(name) + f'import "{imported}"; import "google/protobuf/timestamp.proto"; message M {{ d.D d = 1; google.protobuf.Timestamp t = 2; }}'
        subjects.add(name, text, kind=kind, references=(("d.proto" if name == "b" else "d", "d", 1),))
    text = head.format("a") + 'import "b.proto"; import "c.proto"; import "confluent/meta.proto"; import "confluent/type/decimal.proto";'
    references = (("b.proto", "b", 1), ("c.proto", "c", 1))
    subjects.add("a", f"{text} message A {{ b.M b = 1; c.M c = 2; confluent.type.Decimal p = 3; }}", kind=kind, references=references)
    subjects.add("broken", f"{text} message A {{ lost.M b = 1; }}", kind=kind, references=references)
    with pytest.raises(UserError, match="lost"):
        describe_schema("broken", registry=subjects.url)

    assert describe_schema("a", registry=subjects.url) == 0
    out = capsys.readouterr().out
    assert all(path in out for path in ("b.d.x ", "c.d.x ", "c.t ", "p.value ", "p.precision "))


@pytest.mark.parametrize(
    ("subject", "given", "said"),
    [
        ("none", [], "Subject 'none' not found"), ("proto:9", [], "Version 9 not found"), ("avro", [("protobuf.enumm", "x")], "unknown option 'protobuf.enumm'"),
        ("proto", [("protobuf.enum", "x")], "option 'protobuf.enum'"), ("proto", [("timeout", "x")], "option 'timeout'"),
    ],
)  # fmt: skip
def test_what_a_registry_cannot_say(subjects: TestRegistry, subject: str, given: list[tuple[str, str]], said: str) -> None:
    """Unknown subjects, versions and options are the user's errors."""
    with pytest.raises(UserError, match=said):
        describe_schema(subject, registry=subjects.url, given=given)


def test_a_registry_that_is_away(capsys: pytest.CaptureFixture[str]) -> None:
    """Its address is named, its password is not; the exit code is that of a failure, not of a wrong word."""
    with TestRegistry() as gone:
        url = gone.url.replace("http://", "http://me:hunter2@")

    assert main(["describe-schema", "orders-value", "--registry", url]) == 1
    err = capsys.readouterr().err
    assert "127.0.0.1" in err
    assert "hunter2" not in err


def test_a_folder_is_a_registry_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As for a pipeline; it counts no versions."""
    (tmp_path / "orders-value.avsc").write_text(json.dumps(AVRO))

    assert main(["describe-schema", "orders-value", "--registry", str(tmp_path), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["name"] == "shop.Order"
    with pytest.raises(UserError, match="no numbered versions"):
        describe_schema("orders-value:2", registry=f"file:{tmp_path}")


SHAPES = Path(__file__).parents[2] / "golden" / "describe"


@pytest.mark.parametrize("name", ["map_fields", "wellknown", "wide_128", "shapes"])
def test_shapes_stay_as_they_are(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The columns of each message are as recorded, and those of a decoded batch (DEC-04, DEC-07, PRO-04, PRO-10, PRO-11, PRO-12, PRO-13, PRO-15)."""
    given = [("decode.max_depth", "2")]
    describe_schema(str(SHAPES / f"{name}.proto"), given=given, message="Shapes" if name == "shapes" else None)
    out = capsys.readouterr().out
    golden = SHAPES / f"{name}.txt"
    if os.environ.get("RECORD"):
        golden.write_text(out)
    known = registry.load("registries", "descriptors").make(str(SHAPES / f"{name}.proto"), {})
    decoded = CodecBench("protobuf", options={"protobuf.descriptor": name, "protobuf.message": out.split()[1], **dict(given)}, registry=known).decode([b""])

    assert out == golden.read_text()
    assert [line.split()[0] for line in out.splitlines()[2:] if not line.startswith(("warning", "note"))] == [f.path for f in describe(decoded.batch.schema)]


@pytest.mark.parametrize("name", ["o.avsc", "in/o.avro", "o.json"])
def test_a_folder_of_other_schemas(tmp_path: Path, name: str) -> None:
    """Only .proto files make a folder one schema; the others are described one by one, and the message names one."""
    (tmp_path / "in").mkdir()
    (tmp_path / name).write_text("{}")
    with pytest.raises(UserError, match="each is described by itself") as caught:
        describe_schema(str(tmp_path))

    assert caught.value.hint == f"for example twg describe-schema {tmp_path / name}"


def test_the_only_message(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is imported does not count where one message is looked for; a wrong name gets the nearest of the file's own (PRO-03)."""
    (tmp_path / "money.proto").write_text('syntax = "proto3"; package shop; message Money { int64 units = 1; }')
    text = 'syntax = "proto3"; package shop; import "money.proto"; import "google/protobuf/timestamp.proto"; message Order { Money m = 1; }'
    (tmp_path / "order.proto").write_text(text)
    for path in (tmp_path / "order.proto", tmp_path):
        describe_schema(str(path))
        assert capsys.readouterr().out.startswith("protobuf shop.Order\n")
    for wrong in ("shop.Ordr", "ordr", "Ordre"):
        with pytest.raises(UserError, match=rf"there is no message '{wrong}'; did you mean 'shop\.Order'\?"):
            describe_schema(str(tmp_path / "order.proto"), message=wrong)
    with pytest.raises(UserError, match=r"known are shop\.Order, shop\.Money$|known are shop\.Money, shop\.Order$"):
        describe_schema(str(tmp_path / "order.proto"), message="Zzz")


def test_a_message_inside_of_another(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is named by any whole end of its full name, as long as only one message ends so (PRO-03)."""
    file = tmp_path / "n.proto"
    file.write_text('syntax = "proto3"; package shop; message Outer { message Inner { int64 x = 1; } } message Other { message Inner { int64 y = 1; } }')
    for name in ("Outer.Inner", "shop.Outer.Inner", ".shop.Outer.Inner"):
        assert describe_schema(str(file), message=name) == 0
        assert capsys.readouterr().out.startswith("protobuf shop.Outer.Inner\n")
    with pytest.raises(UserError, match=r"there are several messages 'Inner': shop\.Outer\.Inner, shop\.Other\.Inner"):
        describe_schema(str(file), message="Inner")
    with pytest.raises(UserError, match=r"there is no message 'uter\.Inner'"):
        describe_schema(str(file), message="uter.Inner")
