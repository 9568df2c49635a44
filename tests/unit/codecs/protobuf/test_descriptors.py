"""Schemas to message types: references, well-known files, names and indexes."""

from __future__ import annotations

import pytest
from google.protobuf import descriptor_pb2

from thalweg.codecs.protobuf.descriptors import DescriptorError, indexes_of, messages_of, messages_of_set
from thalweg.native.protoc import compile_protos, set_as_text
from thalweg.ports.schemas import RegisteredSchema

HEAD = 'syntax = "proto3"; '


def proto(text: str, *references: tuple[str, RegisteredSchema], number: int = 1) -> RegisteredSchema:
    """A registered schema."""
    return RegisteredSchema(number, "PROTOBUF", HEAD + text, references)


def test_diamond_of_references() -> None:
    """A type that two references import is defined once, also under two names; bundled files need not be registered (PB-24, RG-07)."""
    d = proto("package d; message D { int32 x = 1; }", number=4)
    b = proto('package b; import "D.proto"; import "google/protobuf/timestamp.proto"; message B { d.D d = 1; google.protobuf.Timestamp t = 2; }', ("D.proto", d))
    c = proto('package c; import "some/path/d.proto"; message C { d.D d = 1; }', ("d", d))
    text = """package a; import "b.proto"; import "c.proto"; import "confluent/meta.proto"; import "confluent/type/decimal.proto"; import "google/type/date.proto";
      message A { b.B b = 1; c.C c = 2; confluent.type.Decimal p = 3; google.type.Date when = 4; message In { int32 x = 1; message Deep {} } } message E {}"""
    found = messages_of(proto(text, ("b.proto", b), ("c.proto", c)))

    assert [m.full_name for m in found.roots] == ["a.A", "a.E"]
    assert found.at([0, 0, 0]).full_name == "a.A.In.Deep"
    assert indexes_of(found.find("Deep")) == [0, 0, 0]
    assert indexes_of(found.find("a.E")) == [1]


def test_two_versions_of_a_reference() -> None:
    """A schema's own reference counts, not the older version that another reference brings along (RG-07)."""
    old, new = (proto(f"package d; message D {{ int32 x = 1; {more} }}", number=n) for n, more in ((3, ""), (4, "int32 y = 2;")))
    c = proto('package c; import "d.proto"; message C { d.D d = 1; }', ("d.proto", old))
    for references in ((("d.proto", new), ("c.proto", c)), (("c.proto", c), ("d.proto", new))):
        found = messages_of(proto('import "d.proto"; import "c.proto"; message A { d.D d = 1; c.C c = 2; }', *references))

        assert [f.name for f in found.find("d.D").fields] == ["x", "y"]


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        (proto('import "lost.proto"; message A {}'), "'lost.proto' is imported"), (proto("message A { int32 x = 1; int32 y = 1; }"), "x"),
        (proto('import "../x.proto"; message A {}', ("../x.proto", proto("message B {}"))), "no name of a .proto file"),
        (proto('import "x.avsc"; message A {}', ("x.avsc", RegisteredSchema(2, "AVRO", "{}"))), "is AVRO, not Protobuf"),
        (RegisteredSchema(1, "PROTOBUF", "descriptor-set:%%%"), "no descriptor set"), (RegisteredSchema(1, "PROTOBUF", set_as_text(b"\xff")), "no Protobuf"),
    ],
)  # fmt: skip
def test_schemas_that_cannot_be_read(schema: RegisteredSchema, said: str) -> None:
    """The message names the file or the line; a reference cannot leave its folder (PB-24)."""
    with pytest.raises(DescriptorError, match=said):
        messages_of(schema)


def test_sets_are_sorted_and_completed() -> None:
    """Files may come in any order, and Google's well-known ones may be missing (PRO-03)."""
    files = {"a.proto": HEAD + 'import "b.proto"; message A { B b = 1; }', "b.proto": HEAD + 'import "google/protobuf/any.proto"; message B { google.protobuf.Any a = 1; }'}
    found = descriptor_pb2.FileDescriptorSet.FromString(compile_protos(files, ["a.proto"]))
    mixed = descriptor_pb2.FileDescriptorSet(file=[f for f in reversed(found.file) if not f.name.startswith("google")])

    assert sorted(m.full_name for m in messages_of_set(mixed.SerializeToString()).roots) == ["A", "B"]
    with pytest.raises(DescriptorError, match="--include_imports"):
        messages_of_set(descriptor_pb2.FileDescriptorSet(file=[f for f in found.file if f.name != "b.proto"]).SerializeToString())


def test_names() -> None:
    """A message by full or short name; several or none say which there are."""
    found = messages_of(proto("package a; message A { message X {} } message B { message X {} }"))

    assert found.find("a.B").full_name == found.find("B").full_name == "a.B"
    for name, said in ((None, "there are 2 messages"), ("X", "several"), ("C", "no message 'C'")):
        with pytest.raises(DescriptorError, match=said):
            found.find(name)
