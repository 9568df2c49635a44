"""A table's column list to Arrow fields and metadata columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from thalweg.arrow.metadata import METADATA_KEYS, TYPES
from thalweg.plan.draft import listed, nearest
from thalweg.plan.graph import MetadataColumn
from thalweg.plan.types import TypeRefused, parse_type

if TYPE_CHECKING:
    from thalweg.dialect.tree import ColumnDef, CreateTable
    from thalweg.plan.draft import Draft

_INTEGERS: Final = (pa.int8(), pa.int16(), pa.int32(), pa.int64())
_UNITS: Final = ("s", "ms", "us", "ns")
_SPELLED: Final = {
    pa.string(): "STRING", pa.string_view(): "STRING", pa.large_string(): "STRING", pa.binary(): "BYTES", pa.binary_view(): "BYTES",
    pa.bool_(): "BOOLEAN", pa.int8(): "TINYINT", pa.int16(): "SMALLINT", pa.int32(): "INT", pa.int64(): "BIGINT",
    pa.uint8(): "TINYINT UNSIGNED", pa.uint16(): "SMALLINT UNSIGNED", pa.uint32(): "INT UNSIGNED", pa.uint64(): "BIGINT UNSIGNED",
    pa.float32(): "FLOAT", pa.float64(): "DOUBLE", pa.date32(): "DATE",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Columns:
    """What a column list says."""

    payload: tuple[pa.Field, ...]
    metadata: tuple[MetadataColumn, ...]
    not_null: tuple[str, ...]


def read_columns(draft: Draft, table: CreateTable) -> Columns | None:
    """Translate the list; every error is noted at its column. None when there were any."""
    before = len(draft.errors)
    payload: list[pa.Field] = []
    metadata: list[MetadataColumn] = []
    for column in table.columns:
        _note_folding(draft, table, column)
        field = _field(draft, table, column)
        if field is None:
            continue
        if column.metadata is None:
            payload.append(field)
            _refuse_prefix(draft, column)
        else:
            _metadata(draft, table, column, field.type, metadata)
    if len(draft.errors) > before:
        return None
    return Columns(tuple(payload), tuple(metadata), tuple(c.name for c in table.columns if c.not_null))


def lossless(have: pa.DataType, want: pa.DataType) -> str | None:
    """Why a metadata column of type ``have`` cannot be declared ``want``; None when every value survives."""
    fits = have == want or (pa.types.is_fixed_size_binary(have) and want == pa.binary())
    why = "the types do not match"
    if have in _INTEGERS and want in _INTEGERS:
        fits, why = _INTEGERS.index(want) >= _INTEGERS.index(have), "larger numbers would not fit"
    elif pa.types.is_timestamp(have) and pa.types.is_timestamp(want):
        fits = _UNITS.index(have.unit) <= _UNITS.index(want.unit) and (want.unit != "ns")
        why = "nanoseconds end in the year 2262" if want.unit == "ns" else f"the {have.unit} would be cut off"
    elif pa.types.is_list(have) and pa.types.is_map(want):
        why = "headers repeat keys and keep their order, a map does not"
    elif pa.types.is_binary(have) and pa.types.is_string(want):
        why = "bytes need not be text"
    return None if fits else why


def _field(draft: Draft, table: CreateTable, column: ColumnDef) -> pa.Field | None:
    """The column as an Arrow field; type errors are noted at their place in the type."""
    try:
        found = parse_type(column.type.text)
    except TypeRefused as e:
        draft.fail(e.message, column.type.start + e.offset, e.width, e.hint)
        return None
    draft.notes += [f"{table.name}.{column.name}: {note}" for note in found.notes]
    return found.field(column.name)


def _refuse_prefix(draft: Draft, column: ColumnDef) -> None:
    """A payload column under the metadata prefix would shadow what the broker said."""
    if column.name.startswith(draft.prefix):
        hint = f"rename the field, read metadata with METADATA FROM, or choose another prefix with SET 'metadata.prefix' (now '{draft.prefix}')"
        draft.fail(f"column {column.name} is under the metadata prefix '{draft.prefix}'", column.start, len(column.name), hint)


def _metadata(draft: Draft, table: CreateTable, column: ColumnDef, declared: pa.DataType, out: list[MetadataColumn]) -> None:
    """A ``METADATA FROM`` column: its key is known and its type holds every value."""
    assert column.metadata is not None
    _refuse_prefix(draft, column)
    key, place = column.metadata.value, column.metadata.start
    if key not in METADATA_KEYS:
        hint = nearest(key, METADATA_KEYS) or f"keys: {listed(sorted(METADATA_KEYS), 30)}"
        draft.fail(f"unknown metadata key '{key}'", place, len(key) + 2, hint)
        return
    reads = METADATA_KEYS[key]
    why = lossless(TYPES[reads], declared)
    if why is not None:
        hint = f"declare {sql_type(TYPES[reads])}"
        draft.fail(f"{column.name}: metadata '{key}' cannot be {column.type.text}: {why}", column.type.start, len(column.type.text), hint)
        return
    if pa.types.is_timestamp(declared) and declared.tz is None:
        draft.notes.append(f"{table.name}.{column.name}: metadata '{key}' is a point in time; TIMESTAMP keeps its UTC wall clock")
    out.append(MetadataColumn(column.name, reads, declared))


def _note_folding(draft: Draft, table: CreateTable, column: ColumnDef) -> None:
    """Unquoted capitals are folded: say so once, because a JSON field of that name is then not found."""
    written = draft.script.source.text[column.start : column.start + len(column.name)]
    if written != column.name and written.lower() == column.name:
        draft.notes.append(f'{table.name}.{column.name}: {written} is folded to lower case; write "{written}" to keep its capitals')


def sql_type(kind: pa.DataType) -> str:
    """An Arrow type the way a column list spells it; Arrow's own words where the list has none."""
    if kind in _SPELLED:
        return _SPELLED[kind]
    spelled = str(kind)
    if pa.types.is_timestamp(kind) or pa.types.is_time(kind):
        name = "TIME" if pa.types.is_time(kind) else "TIMESTAMP_LTZ" if kind.tz else "TIMESTAMP"
        spelled = f"{name}({_UNITS.index(kind.unit) * 3})"
    elif pa.types.is_decimal(kind):
        spelled = f"DECIMAL({kind.precision}, {kind.scale})"
    elif pa.types.is_fixed_size_binary(kind):
        spelled = f"BINARY({kind.byte_width})"
    elif pa.types.is_map(kind):
        spelled = f"MAP<{sql_type(kind.key_type)}, {sql_type(kind.item_type)}>"
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
        spelled = f"ARRAY<{sql_type(kind.value_type)}>"
    elif pa.types.is_struct(kind):
        spelled = f"ROW<{', '.join(f'{f.name} {sql_type(f.type)}' for f in kind)}>"
    return spelled
