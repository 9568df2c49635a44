"""Text and bytes that lie in Arrow as views: files have them plain, since Arrow counts, orders and takes plain values only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Callable


def plain(kind: pa.DataType) -> pa.DataType:
    """The type with ``string`` and ``binary`` for their views, wherever they are in it but below a list view."""
    if isinstance(kind, pa.BaseExtensionType):
        storage = plain(kind.storage_type)
        return kind if storage == kind.storage_type else storage
    return next((make(kind) for is_one, make in _PLAIN if is_one(kind)), kind)


def plain_schema(schema: pa.Schema) -> pa.Schema:
    """The schema of the files: names, order, nullability and metadata stay."""
    return pa.schema([_plain_field(field) for field in schema], schema.metadata)


def _plain_field(field: pa.Field) -> pa.Field:
    """The field with a plain type."""
    return field.with_type(plain(field.type))


def _plain_struct(kind: pa.StructType) -> pa.DataType:
    """The struct with plain fields."""
    return pa.struct([_plain_field(kind.field(i)) for i in range(kind.num_fields)])


_PLAIN: Final[tuple[tuple[Callable[[pa.DataType], bool], Callable[[pa.DataType], pa.DataType]], ...]] = (
    (pa.types.is_string_view, lambda _kind: pa.string()),
    (pa.types.is_binary_view, lambda _kind: pa.binary()),
    (pa.types.is_struct, _plain_struct),
    (pa.types.is_map, lambda kind: pa.map_(_plain_field(kind.key_field), _plain_field(kind.item_field), kind.keys_sorted)),
    (pa.types.is_list, lambda kind: pa.list_(_plain_field(kind.value_field))),
    (pa.types.is_large_list, lambda kind: pa.large_list(_plain_field(kind.value_field))),
    (pa.types.is_fixed_size_list, lambda kind: pa.list_(_plain_field(kind.value_field), kind.list_size)),
)
