"""Streaming tables: their plug-in, options, formats and columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from thalweg import registry
from thalweg.arrow.metadata import dead_letter_schema, raw_schema
from thalweg.errors import MissingExtra, QueryRefused, UserError
from thalweg.plan import binding, formats
from thalweg.plan.binding import Reader, TableOptions
from thalweg.plan.columns import Columns, read_columns
from thalweg.plan.draft import Relation, listed, nearest
from thalweg.plan.graph import PayloadFormat, SourceTable
from thalweg.ports.codec import DecodeRequest

if TYPE_CHECKING:
    from thalweg.dialect.tree import CreateTable
    from thalweg.plan.draft import Draft
    from thalweg.ports.codec import CodecPlugin
    from thalweg.ports.source import SourcePlugin


def sources(draft: Draft) -> None:
    """Bind every streaming table; tell the engine about it and about its lanes."""
    for table in draft.tables:
        name = str(table.name)
        before = len(draft.errors)
        bound = _bind(draft, table)
        if bound is None or len(draft.errors) > before:
            draft.broken.add(name)
        if bound is not None:
            draft.sources.append(bound)
            _declare(draft, table, bound)
        lanes = {"raw": raw_schema(draft.prefix), "dlq": dead_letter_schema(draft.prefix)}
        for lane, schema in lanes.items():
            _system(draft, f"{lane}.{name}", lane, (name,), schema)
    if draft.tables:
        everyone = tuple(str(table.name) for table in draft.tables)
        _system(draft, "dlq.all", "dlq", everyone, dead_letter_schema(draft.prefix))


def _bind(draft: Draft, table: CreateTable) -> SourceTable | None:
    """One table; None when too little is right to go on."""
    given, at = table.options, (table.name.start, len(str(table.name)))
    plugin: SourcePlugin = registry.load("sources", table.stored_as.value.lower())
    if table.partitioned_by:
        draft.fail("PARTITIONED BY is for files; a stream has its own partitions", table.partitioned_by[0].start, len(str(table.partitioned_by[0])))
    general: TableOptions | None = binding.read(draft, given, Reader(TableOptions), at)
    own = binding.read(draft, given, Reader(plugin.options), at)
    columns = read_columns(draft, table)
    readers = [Reader(TableOptions), Reader(plugin.options)]
    value = _codec(draft, table, general, key=False)
    key = _codec(draft, table, general, key=True) if general is None or general.key_format else None
    read = [(side, binding.read(draft, given, side[2], at)) for side in (value, key) if side is not None]
    readers += [side[2] for side, _ in read]
    guess = () if value is not None else tuple(f"{o.value}." for o in given if o.key.endswith("format"))
    binding.refuse_unknown(draft, given, readers, also=guess)
    if own is not None:
        for message in plugin.check(table.location.value, own):
            draft.fail(message, table.location.start, len(table.location.value) + 2)
    if general is None or own is None or value is None or columns is None or any(options is None for _, options in read):
        return None
    return _resolve(draft, table, plugin, own, general, columns, read)


Side = tuple[str, "CodecPlugin", Reader]
"""The format's name, its codec and the reader of its options."""


def _codec(draft: Draft, table: CreateTable, general: TableOptions | None, *, key: bool) -> Side | None:
    """The codec of one side of the record."""
    keys = ("key.format",) if key else ("format", "value.format")
    found = [option for option in table.options if option.key in keys]
    if not found:
        if not key and general is not None:
            hint = "add OPTIONS ('format' 'json') and a column list, or 'avro-confluent' with 'avro-confluent.url', or 'raw'"
            draft.fail(f"table {table.name} has no 'format': how its payloads become columns is not known", table.name.start, len(str(table.name)), hint)
        return None
    if len(found) > 1:
        draft.fail("'format' and 'value.format' are two names of one option", found[1].start, len(found[1].key) + 2, "keep one of them")
    option = found[0]
    try:
        plugin = formats.codec(option.value)
    except (UserError, MissingExtra) as e:
        draft.fail(e.message, option.value_start, len(option.value) + 2, e.hint)
        return None
    return option.value, plugin, Reader(plugin.options, ("key.",) if key else ("", "value."))


def _resolve(
    draft: Draft, table: CreateTable, plugin: SourcePlugin, own: Any, general: TableOptions, columns: Columns, read: list[tuple[Side, Any]]
) -> SourceTable | None:
    """Schemas of both sides and the table as a whole."""
    named = _key_names(draft, table, general, columns)
    if named is None:
        return None
    payloads, schemas = [], []
    for number, (side, options) in enumerate(read):
        is_key = number == 1
        wanted = [f for f in columns.payload if (f.name in named) == is_key]
        payload = _payload(draft, table, plugin, own, side, options, pa.schema(wanted) if wanted else None, is_key=is_key)
        try:
            schemas.append(formats.resolve(payload, connect=draft.request.connect))
        except UserError as e:
            _unresolvable(draft, table, e)
            return None
        payloads.append(payload)
    schema = _schema(draft, table, schemas, columns)
    name = str(table.name)
    assert draft.settings is not None
    return SourceTable(
        name=name, kind=table.stored_as.value.upper(), location=table.location.value, plugin=plugin, options=own, value=payloads[0],
        schema=schema, key=payloads[1] if len(payloads) > 1 else None, metadata=columns.metadata, not_null=columns.not_null,
        bad_data=general.bad_data, tombstones=general.tombstones,
        sql_on_error=draft.settings.sql_on_error or ("dlq" if general.bad_data == "dlq" else "fail"),
        cluster_alias=general.cluster_alias, at=draft.script.source.location(table.name.start, len(name)),
    )  # fmt: skip


def _key_names(draft: Draft, table: CreateTable, general: TableOptions, columns: Columns) -> frozenset[str] | None:
    """Declared columns that come from the key; None when 'key.fields' is wrong."""
    place = next((o for o in table.options if o.key == "key.fields"), None)
    if place is None:
        if general.key_format and columns.payload:
            option = next(o for o in table.options if o.key == "key.format")
            hint = "say which declared columns are in the key: 'key.fields' 'id'"
            draft.fail("'key.format' beside a column list needs 'key.fields'", option.start, len(option.key) + 2, hint)
            return None
        return frozenset()
    if not general.key_format:
        draft.fail("'key.fields' needs 'key.format'", place.start, len(place.key) + 2)
        return None
    fields = [f.strip() for f in place.value.split(";") if f.strip()]
    declared = [f.name for f in columns.payload]
    wrong = [f for f in fields if f not in declared]
    for field in wrong:
        hint = nearest(field, declared) or f"declared columns: {listed(declared)}"
        draft.fail(f"'key.fields': no declared column {field}", place.value_start, len(place.value) + 2, hint)
    return None if wrong else frozenset(fields)


def _payload(
    draft: Draft, table: CreateTable, plugin: SourcePlugin, own: Any, side: Side, options: Any, declared: pa.Schema | None, *, is_key: bool
) -> PayloadFormat:
    """One side of the record with everything its codec needs."""
    format_name, codec, reader = side
    topics = plugin.topics(table.location.value, own)
    request = DecodeRequest(
        format=format_name, declared=declared, options=options, topic=topics[0] if len(topics) == 1 else None,
        metadata_prefix=draft.prefix, is_key=is_key,
    )  # fmt: skip
    found = formats.rooted(codec.registry(request), draft.request.base)
    return PayloadFormat(codec, request, found, formats.registry_options(format_name, reader.values(table.options)))


def _unresolvable(draft: Draft, table: CreateTable, error: UserError) -> None:
    """The codec's refusal, at the column it names or at the table."""
    for column in table.columns:
        if error.where == column.name or f"'{column.name}'" in error.message or f"column {column.name} " in error.message + " ":
            draft.fail(error.message, column.start, len(column.name), error.hint)
            return
    draft.fail(error.message, table.name.start, len(str(table.name)), error.hint)


def _schema(draft: Draft, table: CreateTable, schemas: list[pa.Schema | None], columns: Columns) -> pa.Schema | None:
    """Key columns, payload columns, metadata columns; None while one of them lies in a registry."""
    if any(schema is None for schema in schemas):
        return None
    value = list(schemas[0])
    key = list(schemas[1]) if len(schemas) > 1 else []
    metadata = [pa.field(c.name, c.type) for c in columns.metadata]
    at, width = table.name.start, len(str(table.name))
    for field in (*key, *value):
        if field.name.startswith(draft.prefix):
            hint = "rename the field, or choose another prefix with SET 'metadata.prefix'"
            draft.fail(f"field {field.name} is under the metadata prefix '{draft.prefix}'", at, width, hint)
    names = [f.name for f in (*key, *value, *metadata)]
    for name in sorted({n for n in names if names.count(n) > 1}):
        hint = "rename the METADATA column, or declare the columns and say with 'key.fields' which are in the key"
        draft.fail(f"table {table.name} has more than one column {name}", at, width, hint)
    return pa.schema([*key, *value, *metadata])


def _declare(draft: Draft, table: CreateTable, bound: SourceTable) -> None:
    """Tell the engine and the other rules about a table."""
    draft.relations[bound.name] = Relation(bound.name, "source", (bound.name,), bound.schema, carries_rows=True)
    if bound.schema is None or bound.name in draft.broken:
        return
    try:
        draft.session.create_source(bound.kind, table.bare, bound.name, bound.schema)
    except QueryRefused as e:
        draft.fail(e.message, table.name.start, len(bound.name), e.hint)
        draft.broken.add(bound.name)


def _system(draft: Draft, name: str, role: str, over: tuple[str, ...], schema: pa.Schema) -> None:
    """A lane relation that the pipeline fills itself."""
    draft.relations[name] = Relation(name, role, over, schema, carries_rows=True, after_errors=role == "dlq")
    draft.session.declare(name, schema)


