"""An Arrow schema as a list of fields, nested ones included, each with its path: what ``twg describe-schema`` prints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.types as kinds

from thalweg.arrow.columns import TYPE_KEY, is_list

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


@dataclass(frozen=True, slots=True)
class DescribedField:
    """One field: ``lines[].sku`` for a field of a list's items, ``tags{}`` for a map's values."""

    path: str
    type: pa.DataType
    nullable: bool
    meaning: str
    """``json`` or ``uuid`` where the type alone does not say it; else empty."""

    @property
    def short(self) -> str:
        """The type without what the fields below say."""
        if kinds.is_struct(self.type):
            return "struct"
        if kinds.is_map(self.type):
            return f"map<{self.type.key_type}, ...>"
        if is_list(self.type):
            return "list"
        if kinds.is_union(self.type):
            return "dense_union"
        if kinds.is_dictionary(self.type):
            return f"dictionary<{self.type.index_type}, {self.type.value_type}>"
        return str(self.type)


def describe(fields: Iterable[pa.Field], above: str = "") -> Iterator[DescribedField]:
    """Every field in order, a parent before its children."""
    for field in fields:
        yield from _described(field, f"{above}.{field.name}" if above else field.name)


def _described(field: pa.Field, path: str) -> Iterator[DescribedField]:
    """One field and those below it."""
    meaning = (field.metadata or {}).get(TYPE_KEY, b"").decode()
    yield DescribedField(path, field.type, field.nullable, meaning)
    kind = field.type
    if is_list(kind):
        yield from _described(kind.value_field, f"{path}[]")
    elif kinds.is_map(kind):
        yield from _described(kind.item_field, f"{path}{{}}")
    elif kinds.is_struct(kind) or kinds.is_union(kind):
        yield from describe((kind.field(i) for i in range(kind.num_fields)), path)
