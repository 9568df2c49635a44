"""Protobuf descriptors to Arrow schemas."""

from __future__ import annotations

import pyarrow as pa
import pytest
from google.protobuf import struct_pb2, timestamp_pb2, wrappers_pb2
from google.protobuf.descriptor_pb2 import FieldDescriptorProto as Field
from google.protobuf.descriptor_pb2 import FileDescriptorSet

from thalweg.arrow.columns import JSON_TEXT
from thalweg.arrow.protobuf import DescriptorError, arrow_schema, messages


def descriptor_set(*, imports: bool = True) -> bytes:
    """A message with one field of each kind."""
    out = FileDescriptorSet()
    used = (timestamp_pb2, wrappers_pb2, struct_pb2)
    if imports:
        for module in used:
            module.DESCRIPTOR.CopyToProto(out.file.add())
    file = out.file.add(name="o.proto", package="shop", syntax="proto3", dependency=[m.DESCRIPTOR.name for m in used])
    file.enum_type.add(name="State").value.add(name="NEW", number=0)
    order, node = file.message_type.add(name="Order"), file.message_type.add(name="Node")
    entry = order.nested_type.add(name="TagsEntry")
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, type=Field.TYPE_STRING, label=Field.LABEL_OPTIONAL)
    entry.field.add(name="value", number=2, type=Field.TYPE_UINT64, label=Field.LABEL_OPTIONAL)
    for number, (name, kind, label, type_name) in enumerate((
        ("id", Field.TYPE_SINT32, Field.LABEL_OPTIONAL, None),
        ("state", Field.TYPE_ENUM, Field.LABEL_OPTIONAL, ".shop.State"),
        ("at", Field.TYPE_MESSAGE, Field.LABEL_OPTIONAL, ".google.protobuf.Timestamp"),
        ("maybe", Field.TYPE_MESSAGE, Field.LABEL_OPTIONAL, ".google.protobuf.Int32Value"),
        ("any", Field.TYPE_MESSAGE, Field.LABEL_OPTIONAL, ".google.protobuf.Struct"),
        ("names", Field.TYPE_STRING, Field.LABEL_REPEATED, None),
        ("tags", Field.TYPE_MESSAGE, Field.LABEL_REPEATED, ".shop.Order.TagsEntry"),
        ("root", Field.TYPE_MESSAGE, Field.LABEL_OPTIONAL, ".shop.Node"),
    ), 1):  # fmt: skip
        order.field.add(name=name, number=number, type=kind, label=label, type_name=type_name)
    node.field.add(name="v", number=1, type=Field.TYPE_BYTES, label=Field.LABEL_OPTIONAL)
    node.field.add(name="next", number=2, type=Field.TYPE_MESSAGE, label=Field.LABEL_OPTIONAL, type_name=".shop.Node")
    return out.SerializeToString()


def test_every_kind_of_field() -> None:
    """Scalars, enums, well-known types, lists, maps and messages; the recursive one is cut and named (DEC-02, DEC-09)."""
    schema, cuts = arrow_schema(messages(descriptor_set())["shop.Order"], 3)

    assert schema == pa.schema([
        pa.field("id", pa.int32()),
        pa.field("state", pa.dictionary(pa.int32(), pa.string())),
        pa.field("at", pa.timestamp("us", "UTC")),
        pa.field("maybe", pa.int32()),
        pa.field("any", pa.string(), metadata=JSON_TEXT),
        pa.field("names", pa.list_(pa.string())),
        pa.field("tags", pa.map_(pa.string(), pa.uint64())),
        pa.field("root", pa.struct([
            pa.field("v", pa.binary()),
            pa.field("next", pa.struct([pa.field("v", pa.binary()), pa.field("next", pa.string(), metadata=JSON_TEXT)])),
        ])),
    ])
    assert cuts == ["'root.next.next': message shop.Node lies deeper than 3 levels and becomes JSON text"]


def test_files_that_are_no_descriptor_set() -> None:
    """Other bytes, and a set without its imports, are refused with the reason."""
    with pytest.raises(DescriptorError, match="no Protobuf descriptor set"):
        messages(b"import protobuf")
    with pytest.raises(DescriptorError, match="--include_imports"):
        messages(descriptor_set(imports=False))
