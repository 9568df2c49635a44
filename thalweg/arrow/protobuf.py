"""Protobuf descriptors to Arrow schemas: the type of every field, presence included."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa
from google.protobuf import descriptor_pool
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.message import DecodeError

from thalweg.arrow.columns import JSON_TEXT

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor

_ENUM: Final = pa.dictionary(pa.int32(), pa.string())
_SCALARS: Final[dict[int, pa.DataType]] = {
    FieldDescriptor.TYPE_BOOL: pa.bool_(),
    FieldDescriptor.TYPE_BYTES: pa.binary(),
    FieldDescriptor.TYPE_DOUBLE: pa.float64(),
    FieldDescriptor.TYPE_ENUM: _ENUM,
    FieldDescriptor.TYPE_FLOAT: pa.float32(),
    FieldDescriptor.TYPE_STRING: pa.string(),
    **dict.fromkeys((FieldDescriptor.TYPE_INT32, FieldDescriptor.TYPE_SINT32, FieldDescriptor.TYPE_SFIXED32), pa.int32()),
    **dict.fromkeys((FieldDescriptor.TYPE_INT64, FieldDescriptor.TYPE_SINT64, FieldDescriptor.TYPE_SFIXED64), pa.int64()),
    **dict.fromkeys((FieldDescriptor.TYPE_UINT32, FieldDescriptor.TYPE_FIXED32), pa.uint32()),
    **dict.fromkeys((FieldDescriptor.TYPE_UINT64, FieldDescriptor.TYPE_FIXED64), pa.uint64()),
}
_WELL_KNOWN: Final[dict[str, pa.DataType]] = {
    "Timestamp": pa.timestamp("us", "UTC"),
    "Duration": pa.duration("us"),
    "BoolValue": pa.bool_(),
    "BytesValue": pa.binary(),
    "DoubleValue": pa.float64(),
    "FloatValue": pa.float32(),
    "Int32Value": pa.int32(),
    "Int64Value": pa.int64(),
    "StringValue": pa.string(),
    "UInt32Value": pa.uint32(),
    "UInt64Value": pa.uint64(),
}
_JSON_TYPES: Final = frozenset({"Struct", "Value", "ListValue"})
_PACKAGE: Final = "google.protobuf."
_MAX_COLUMNS: Final = 5_000


class DescriptorError(Exception):
    """A descriptor set that cannot be read, or a message that is not in it."""


def messages(data: bytes) -> dict[str, Descriptor]:
    """The top-level messages of a serialised ``FileDescriptorSet`` by full name, in order. Raises DescriptorError."""
    try:
        files = FileDescriptorSet.FromString(data).file
    except DecodeError:
        raise DescriptorError("the file is no Protobuf descriptor set") from None
    pool = descriptor_pool.DescriptorPool()
    out: dict[str, Descriptor] = {}
    try:
        for file in files:
            pool.AddSerializedFile(file.SerializeToString())
        for file in files:
            found = pool.FindFileByName(file.name)
            out.update({message.full_name: message for message in found.message_types_by_name.values()})
    except (TypeError, KeyError) as e:
        raise DescriptorError(f"the descriptor set is not complete ({e}); make it with --include_imports") from None
    return out


def arrow_schema(message: Descriptor, max_depth: int) -> tuple[pa.Schema, list[str]]:
    """The columns of a message, and one line for each message that is cut at ``max_depth``. Raises DescriptorError."""
    unfolding = _Unfolding(max_depth)
    return pa.schema(unfolding.fields(message, 1, "")), unfolding.cuts


class _Unfolding:
    """Unfolds messages into columns, down to a depth."""

    def __init__(self, max_depth: int) -> None:
        """Nothing cut yet."""
        self.cuts: list[str] = []
        self._max_depth = max_depth
        self._columns = 0

    def fields(self, message: Descriptor, depth: int, path: str) -> list[pa.Field]:
        """The fields of a message at ``depth``."""
        return [self._field(field, depth, f"{path}.{field.name}" if path else field.name) for field in message.fields]

    def _field(self, field: FieldDescriptor, depth: int, path: str) -> pa.Field:
        """One field: repeated ones are lists or maps; without explicit presence a field is never NULL."""
        self._columns += 1
        if self._columns > _MAX_COLUMNS:
            raise DescriptorError(f"the message unfolds to more than {_MAX_COLUMNS} columns; it is recursive or very wide")
        entry = field.message_type
        if entry is not None and entry.GetOptions().map_entry:
            key, value = entry.fields_by_name["key"], self._one(entry.fields_by_name["value"], "value", depth, path)
            return pa.field(field.name, pa.map_(_SCALARS[key.type], value))
        if field.is_repeated:
            return pa.field(field.name, pa.list_(self._one(field, "item", depth, path)))
        return self._one(field, field.name, depth, path)

    def _one(self, field: FieldDescriptor, name: str, depth: int, path: str) -> pa.Field:
        """One value of a field."""
        message = field.message_type
        if message is None:
            return pa.field(name, _SCALARS[field.type])
        short = message.full_name.removeprefix(_PACKAGE)
        if short != message.full_name and short in _WELL_KNOWN:
            return pa.field(name, _WELL_KNOWN[short])
        if short != message.full_name and short in _JSON_TYPES:
            return pa.field(name, pa.string(), metadata=JSON_TEXT)
        if depth >= self._max_depth:
            self.cuts.append(f"'{path}': message {message.full_name} lies deeper than {self._max_depth} levels and becomes JSON text")
            return pa.field(name, pa.string(), metadata=JSON_TEXT)
        return pa.field(name, pa.struct(self.fields(message, depth + 1, path)))
