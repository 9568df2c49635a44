"""One side of a table's records (value or key): its codec, what is declared of it, and its schema."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from thalweg.errors import MissingExtra, SchemaUnavailable, SchemaUnknown, UserError
from thalweg.plan import binding, formats
from thalweg.plan.binding import Reader, TableOptions
from thalweg.plan.graph import PayloadFormat
from thalweg.ports.codec import DecodeRequest

if TYPE_CHECKING:
    from thalweg.dialect.tree import ColumnDef, CreateTable, Option
    from thalweg.plan.columns import Columns
    from thalweg.plan.draft import Draft
    from thalweg.ports.codec import CodecPlugin
    from thalweg.ports.source import SourcePlugin

_LOCATIONS = (".descriptor", ".schema", ".schema-file", ".schema-folder", ".url")
_EXAMPLE = "add OPTIONS ('format' 'json') and a column list, or 'avro-confluent' with 'avro-confluent.url', or 'raw'"


@dataclass(frozen=True, slots=True)
class Side:
    """The codec of one side with its options."""

    format: str
    codec: CodecPlugin
    reader: Reader
    options: Any
    """The codec's own options dataclass, None when they have errors."""
    is_key: bool


@dataclass(frozen=True, slots=True)
class Bound:
    """Everything that was read of one table before its schema is asked for."""

    table: CreateTable
    plugin: SourcePlugin
    own: Any
    """The source plug-in's options dataclass."""
    general: TableOptions
    columns: Columns
    sides: tuple[Side, ...]
    """Value, then perhaps key."""


def find_side(draft: Draft, table: CreateTable, source: SourcePlugin, *, is_key: bool) -> Side | None:
    """The codec that the source knows or the table's options name; None without one, which is an error for the value."""
    if source.format is not None and not is_key:
        return _own_format(draft, table, source.format)
    if source.format is not None and any(option.key == "key.format" for option in table.options):
        option = next(option for option in table.options if option.key == "key.format")
        draft.fail(f"records of {table.stored_as.value} files have no key", option.start, len(option.key) + 2, "leave the option out")
        return None
    keys = ("key.format",) if is_key else ("format", "value.format")
    found = [option for option in table.options if option.key in keys]
    place = (table.name.start, len(str(table.name)))
    if not found:
        if not is_key:
            draft.fail(f"table {table.name} has no 'format': how its payloads become columns is not known", *place, _EXAMPLE)
        return None
    if len(found) > 1:
        draft.fail("'format' and 'value.format' are two names of one option", found[1].start, len(found[1].key) + 2, "keep one of them")
    option = found[0]
    try:
        plugin = formats.codec(option.value)
    except (UserError, MissingExtra) as e:
        draft.fail(e.message, option.value_start, len(option.value) + 2, e.hint)
        return None
    reader = Reader(plugin.options, ("key.",) if is_key else ("", "value."))
    return Side(option.value, plugin, reader, binding.read(draft, table.options, reader, place, _settings(draft, plugin, option.value)), is_key)


def _own_format(draft: Draft, table: CreateTable, name: str) -> Side | None:
    """The format that goes with a source; another one is refused."""
    if table.unbounded:
        draft.fail(f"a table of {table.stored_as.value} files is bounded", table.start, len("CREATE UNBOUNDED"), "leave out UNBOUNDED")
        return None
    for option in table.options:
        if option.key in {"format", "value.format"} and option.value != name:
            message = f"{table.stored_as.value} has a format of its own, so '{option.key}' cannot be {option.value}"
            draft.fail(message, option.value_start, len(option.value) + 2, "leave the option out")
            return None
    plugin = formats.codec(name)
    reader = Reader(plugin.options)
    return Side(name, plugin, reader, binding.read(draft, table.options, reader, (table.name.start, len(str(table.name)))), is_key=False)


def resolve(draft: Draft, bound: Bound, side: Side, declared: pa.Schema | None) -> tuple[PayloadFormat, pa.Schema | None] | None:
    """One side with everything its codec needs, and its columns; None when it is refused, which is noted."""
    table = bound.table
    try:
        return _resolved(draft, bound, side, declared)
    except UserError as e:
        error: UserError | None = e
    while error is not None:
        column = _column(table, error)
        _refuse(draft, table, side, error, column)
        draft.errors[-1].unanswered = error.unanswered
        declared = _without(declared, column)
        error = None if declared is None else _next(draft, bound, side, declared)
    return None


def _resolved(draft: Draft, bound: Bound, side: Side, declared: pa.Schema | None) -> tuple[PayloadFormat, pa.Schema | None]:
    """One side as its codec sees it. Raises UserError."""
    table = bound.table
    topics = bound.plugin.topics(table.location.value, bound.own)
    request = DecodeRequest(
        format=side.format, declared=declared, options=side.options, topic=topics[0] if len(topics) == 1 else None,
        metadata_prefix=draft.prefix, is_key=side.is_key,
    )  # fmt: skip
    found = formats.located(side.codec.registry(request), draft.request.base)
    payload = PayloadFormat(side.codec, request, found, formats.registry_options(side.format, side.reader.values(table.options)))
    return payload, formats.resolve(payload, connect=draft.request.connect)


def _next(draft: Draft, bound: Bound, side: Side, declared: pa.Schema) -> UserError | None:
    """What is wrong with another column, once a wrong one is left out; None where nothing else is."""
    try:
        _resolved(draft, bound, side, declared)
    except UserError as e:
        return e if _column(bound.table, e) is not None else None
    return None


def _without(declared: pa.Schema | None, column: ColumnDef | None) -> pa.Schema | None:
    """The other columns; None where there are none, or where no column was at fault."""
    if declared is None or column is None or column.name not in declared.names or len(declared) == 1:
        return None
    return pa.schema([field for field in declared if field.name != column.name], declared.metadata)


def _settings(draft: Draft, plugin: CodecPlugin, name: str) -> dict[str, str]:
    """The options of the codec's format ``name`` that settings give, as text."""
    given = () if name in plugin.unset else plugin.settings
    found = {key: getattr(draft.values, key.replace(".", "_"), None) for key in given}
    return {key: str(value) for key, value in found.items() if value is not None}


def _column(table: CreateTable, error: UserError) -> ColumnDef | None:
    """The column that a refusal speaks of: the one that it begins with, else one that it names."""
    begins = re.match(r"column '([^']+)'", error.message)
    first = [c for c in table.columns if begins is not None and (begins[1] == c.name or begins[1].startswith(f"{c.name}."))]
    named = [c for c in table.columns if error.where == c.name or f"'{c.name}'" in error.message or f"column {c.name} " in error.message]
    return next(iter([*first, *named]), None)


def _refuse(draft: Draft, table: CreateTable, side: Side, error: UserError, column: ColumnDef | None) -> None:
    """The codec's refusal, at the column or option that it names, or at the table."""
    message = f"'key.format': {error.message}" if side.is_key else error.message
    if column is not None:
        draft.fail(message, column.start, len(column.name), error.hint)
        return
    hint = error.hint or ("options of the key's format begin with 'key.'" if side.is_key else None)
    for key in re.findall(r"'([^']+)'", error.message):
        place = None if key.endswith("format") else side.reader.place(table.options, key)
        if place is not None:
            draft.fail(message, place.value_start, len(place.value) + 2, hint)
            return
    option = _location(table, side, error)
    at = (table.name.start, len(str(table.name))) if option is None else (option.value_start, len(option.value) + 2)
    draft.fail(message, *at, hint)


def _location(table: CreateTable, side: Side, error: UserError) -> Option | None:
    """The option that says where the schema lies, where the error is that nothing readable lies there; else the subject that is not known."""
    if isinstance(error.__cause__, SchemaUnknown):
        return side.reader.place(table.options, f"{side.format}.subject")
    found = [o for o in table.options if o.key.startswith("key.") == side.is_key and o.key.endswith(_LOCATIONS)]
    said = f"{error.message} {error.where or ''}"
    unreadable = isinstance(error.__cause__, SchemaUnavailable) or "schema cannot be read" in said
    named = [o for o in found if o.value and ("://" not in o.value or unreadable) and Path(o.value).as_posix() in said]
    return next(iter([*named, *(found if unreadable and len(found) == 1 else ())]), None)
