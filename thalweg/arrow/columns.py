"""Python values, column by column, to Arrow arrays; nothing is rounded, wrapped or guessed on the way.

One value is what Arrow stores, not what Python would show: integers for dates, times, timestamps and durations (in the
type's unit), the unscaled integer for a decimal, 16 bytes for a UUID, ``(months, days, nanoseconds)`` for an interval, a
tuple for a struct, a list for a list, a list of pairs for a map, ``(child, value)`` for a union, the symbol's number for a
dictionary with known symbols (else its text), None for NULL.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.types as kinds

TYPE_KEY: Final = b"twg:type"
"""Field metadata that says more than Arrow's type: ``json`` is checked JSON text, ``uuid`` is 16 bytes."""
JSON_TEXT: Final = {TYPE_KEY: b"json"}
UUID: Final = {TYPE_KEY: b"uuid"}

Values = Sequence[Any]


def meant(batch: pa.RecordBatch) -> list[pa.Array]:
    """The columns as their fields say they are meant: 16 bytes that are a UUID as Arrow's UUIDs, for those who show them."""
    return [
        pa.ExtensionArray.from_storage(pa.uuid(), column) if (field.metadata or {}).get(TYPE_KEY) == UUID[TYPE_KEY] and column.type == pa.binary(16) else column
        for field, column in zip(batch.schema, batch.columns, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class Column:
    """How one column is assembled: its type, the columns below it, and the symbols of an enum."""

    type: pa.DataType
    children: tuple[Column, ...] = ()
    symbols: pa.Array | None = None


def column_of(data_type: pa.DataType) -> Column:
    """The column of a type, enums without known symbols."""
    if kinds.is_map(data_type):
        return Column(data_type, (column_of(data_type.key_type), column_of(data_type.item_type)))
    if is_list(data_type):
        return Column(data_type, (column_of(data_type.value_type),))
    if kinds.is_nested(data_type):
        return Column(data_type, tuple(column_of(data_type.field(i).type) for i in range(data_type.num_fields)))
    return Column(data_type)


def is_list(data_type: pa.DataType) -> bool:
    """Whether it is a list of any size class."""
    return bool(kinds.is_list(data_type) or kinds.is_large_list(data_type) or kinds.is_fixed_size_list(data_type))


def record_batch(schema: pa.Schema, columns: Sequence[Column], rows: Sequence[tuple[Any, ...]]) -> pa.RecordBatch:
    """Rows as tuples in the schema's order to a batch; a schema without columns keeps its row count."""
    if not columns:
        return pa.RecordBatch.from_struct_array(pa.array([{}] * len(rows), pa.struct([])))
    values: Sequence[Values] = list(zip(*rows, strict=True)) if rows else [()] * len(columns)
    arrays = [assemble(c, v) for c, v in zip(columns, values, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def assemble(column: Column, values: Values) -> pa.Array:
    """One array of ``column.type``; a value that does not fit raises (the caller has checked it)."""
    for matches, build in _BUILDERS:
        if matches(column.type):
            return build(column, values)
    return pa.array(values, column.type)


def _stored_as(storage: pa.DataType) -> Callable[[Column, Values], pa.Array]:
    """A builder for types whose values are plain integers underneath."""

    def build(column: Column, values: Values) -> pa.Array:
        return pa.array(values, storage).view(column.type)

    return build


def _fixed_width(values: Values, data_type: pa.DataType, width: int, pack: Callable[[Any], bytes]) -> pa.Array:
    """An array whose data buffer is the packed values, zeros where NULL."""
    empty = bytes(width)
    data = b"".join(empty if v is None else pack(v) for v in values)
    return pa.Array.from_buffers(data_type, len(values), [_validity(values), pa.py_buffer(data)])


def _validity(values: Values) -> pa.Buffer | None:
    """The validity bitmap, None where every value is there."""
    if all(v is not None for v in values):
        return None
    return pa.array([v is not None for v in values], pa.bool_()).buffers()[1]


def _decimal(column: Column, values: Values) -> pa.Array:
    width = column.type.bit_width // 8
    return _fixed_width(values, column.type, width, lambda v: v.to_bytes(width, "little", signed=True))


def _interval(column: Column, values: Values) -> pa.Array:
    return _fixed_width(values, column.type, 16, lambda v: struct.pack("<iiq", *v))


def _nothing(column: Column, values: Values) -> pa.Array:
    return pa.nulls(len(values), column.type)


def _mask(values: Values) -> pa.Array | None:
    """True where NULL; None where nothing is."""
    return pa.array([v is None for v in values], pa.bool_()) if any(v is None for v in values) else None


def _struct(column: Column, values: Values) -> pa.Array:
    fields = [column.type.field(i) for i in range(column.type.num_fields)]
    if not fields:
        return pa.array([None if v is None else {} for v in values], column.type)
    nothing = (None,) * len(fields)
    parts: Sequence[Values] = list(zip(*(nothing if v is None else v for v in values), strict=True)) if values else [()] * len(fields)
    children = [assemble(c, p) for c, p in zip(column.children, parts, strict=True)]
    return pa.StructArray.from_arrays(children, fields=fields, mask=_mask(values))


def _offsets(values: Values, data_type: pa.DataType) -> pa.Array:
    """Running lengths, one more than there are values."""
    out = [0]
    total = 0
    for v in values:
        total += len(v) if v is not None else 0
        out.append(total)
    return pa.array(out, data_type)


def _list(column: Column, values: Values) -> pa.Array:
    items = assemble(column.children[0], [item for v in values if v is not None for item in v])
    if kinds.is_large_list(column.type):
        return pa.LargeListArray.from_arrays(_offsets(values, pa.int64()), items, type=column.type, mask=_mask(values))
    return pa.ListArray.from_arrays(_offsets(values, pa.int32()), items, type=column.type, mask=_mask(values))


def _fixed_size_list(column: Column, values: Values) -> pa.Array:
    size = column.type.list_size
    items = assemble(column.children[0], [item for v in values for item in ([None] * size if v is None else v)])
    return pa.FixedSizeListArray.from_arrays(items, type=column.type, mask=_mask(values))


def _map(column: Column, values: Values) -> pa.Array:
    pairs = [pair for v in values if v is not None for pair in v]
    keys, items = assemble(column.children[0], [k for k, _ in pairs]), assemble(column.children[1], [v for _, v in pairs])
    return pa.MapArray.from_arrays(_offsets(values, pa.int32()), keys, items, type=column.type, mask=_mask(values))


def _union(column: Column, values: Values) -> pa.Array:
    """A dense union; it has no NULL of its own, a NULL (of a struct around it, too) belongs to one of its children."""
    parts: list[list[Any]] = [[] for _ in column.children]
    nothing = (next((i for i, c in enumerate(column.children) if kinds.is_null(c.type)), 0), None)
    values = [nothing if v is None else v for v in values]
    offsets = []
    for child, value in values:
        offsets.append(len(parts[child]))
        parts[child].append(value)
    children = [assemble(c, p) for c, p in zip(column.children, parts, strict=True)]
    names = [column.type.field(i).name for i in range(column.type.num_fields)]
    tags = pa.array([column.type.type_codes[child] for child, _ in values], pa.int8())
    return pa.UnionArray.from_dense(tags, pa.array(offsets, pa.int32()), children, names, column.type.type_codes)


def _dictionary(column: Column, values: Values) -> pa.Array:
    if column.symbols is None:
        return pa.array(values, column.type.value_type).dictionary_encode().cast(column.type)
    return pa.DictionaryArray.from_arrays(pa.array(values, column.type.index_type), column.symbols)


_BUILDERS: Final[tuple[tuple[Callable[[pa.DataType], bool], Callable[[Column, Values], pa.Array]], ...]] = (
    (kinds.is_struct, _struct),
    (kinds.is_map, _map),
    (kinds.is_fixed_size_list, _fixed_size_list),
    (is_list, _list),
    (kinds.is_union, _union),
    (kinds.is_dictionary, _dictionary),
    (kinds.is_decimal, _decimal),
    (kinds.is_interval, _interval),
    (kinds.is_date32, _stored_as(pa.int32())),
    (kinds.is_time32, _stored_as(pa.int32())),
    (kinds.is_temporal, _stored_as(pa.int64())),
    (kinds.is_null, _nothing),
)
