"""Streaming tables: their plug-in, options, formats and columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from thalweg import registry, resources
from thalweg.arrow.metadata import dead_letter_schema, raw_schema
from thalweg.errors import QueryRefused, UserError
from thalweg.plan import binding, payloads
from thalweg.plan.binding import Reader, TableOptions
from thalweg.plan.columns import read_columns
from thalweg.plan.draft import Relation, listed, nearest
from thalweg.plan.graph import PayloadFormat, SourceTable
from thalweg.plan.payloads import Bound, find_side

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from thalweg.dialect.tree import CreateTable, Option
    from thalweg.plan.draft import Draft
    from thalweg.ports.source import SourcePlugin


def sources(draft: Draft) -> None:
    """Bind every streaming table; tell the engine about it and about its lanes."""
    for table in draft.tables:
        name = str(table.name)
        before = len(draft.errors)
        draft.streaming.add(name)
        bound = _bind(draft, table)
        source = _source(draft, bound) if bound is not None else None
        if source is None or len(draft.errors) > before:
            draft.broken.add(name)
        if source is not None:
            draft.sources.append(source)
            _declare(draft, table, source)
        lanes = {"raw": raw_schema(draft.prefix), "dlq": dead_letter_schema(draft.prefix)}
        for lane, schema in lanes.items():
            _system(draft, f"{lane}.{name}", lane, (name,), schema)
    if draft.tables:
        everyone = tuple(str(table.name) for table in draft.tables)
        _system(draft, "dlq.all", "dlq", everyone, dead_letter_schema(draft.prefix))


def _bind(draft: Draft, table: CreateTable) -> Bound | None:
    """Read a table's options and columns; every error is noted. None when too little is right to ask for its schema."""
    given, at = table.options, (table.name.start, len(str(table.name)))
    plugin: SourcePlugin = registry.load("sources", table.stored_as.value.lower())
    if table.partitioned_by:
        first = table.partitioned_by[0]
        draft.fail("PARTITIONED BY is for files; a stream has its own partitions", first.start, len(str(first)))
    general: TableOptions | None = binding.read(draft, given, Reader(TableOptions), at)
    own = binding.read(draft, given, Reader(plugin.options), at)
    columns = read_columns(draft, table)
    value, key = (find_side(draft, table, plugin, is_key=is_key) for is_key in (False, True))
    sides = tuple(side for side in (value, key) if side is not None)
    guessed = tuple(f"{o.value}." for o in given if value is None and o.key.endswith("format"))
    binding.refuse_unknown(draft, given, [Reader(TableOptions), Reader(plugin.options), *(side.reader for side in sides)], also=guessed)
    place = (table.location.start, len(table.location.value) + 2)
    fits = own is not None and binding.complain(draft, given, plugin.check(table.location.value, own), place)
    there = own is None or _files_are_there(draft, given, plugin.files(table.location.value, own))
    if not fits or not there or general is None or value is None or columns is None or own is None or any(side.options is None for side in sides):
        return None
    return Bound(table, plugin, own, general, columns, sides)


def _files_are_there(draft: Draft, given: Sequence[Option], files: Mapping[str, str]) -> bool:
    """Look for the files that options name; one that is missing is noted at its option's value."""
    before = len(draft.errors)
    for option in given:
        if option.key in files:
            try:
                resources.find(files[option.key], draft.request.base)
            except UserError as e:
                draft.fail(f"'{option.key}': {e.message}", option.value_start, len(option.value) + 2, e.hint)
    return len(draft.errors) == before


def _source(draft: Draft, bound: Bound) -> SourceTable | None:
    """The table with its schema; None when a side is refused."""
    keys = _key_names(draft, bound)
    if keys is None:
        return None
    formats: list[PayloadFormat] = []
    schemas: list[pa.Schema | None] = []
    for side in bound.sides:
        wanted = [field for field in bound.columns.payload if (field.name in keys) == side.is_key]
        found = payloads.resolve(draft, bound, side, pa.schema(wanted) if wanted else None)
        if found is None:
            return None
        formats.append(found[0])
        schemas.append(found[1])
    table, general, name = bound.table, bound.general, str(bound.table.name)
    assert draft.settings is not None
    return SourceTable(
        name=name, kind=table.stored_as.value.upper(), location=table.location.value, plugin=bound.plugin, options=bound.own, value=formats[0],
        schema=_schema(draft, bound, schemas), key=formats[1] if len(formats) > 1 else None, metadata=bound.columns.metadata,
        not_null=bound.columns.not_null, bad_data=general.bad_data, tombstones=general.tombstones,
        sql_on_error=draft.settings.sql_on_error or ("dlq" if general.bad_data == "dlq" else "fail"),
        cluster_alias=general.cluster_alias, at=draft.script.source.location(table.name.start, len(name)),
    )  # fmt: skip


def _key_names(draft: Draft, bound: Bound) -> frozenset[str] | None:
    """Declared columns that come from the key; None when 'key.fields' is wrong."""
    options, declared = bound.table.options, [field.name for field in bound.columns.payload]
    key_format = next((o for o in options if o.key == "key.format"), None)
    key_fields = next((o for o in options if o.key == "key.fields"), None)
    if key_fields is None:
        if key_format is not None and declared:
            hint = "say which declared columns are in the key: 'key.fields' 'id'"
            draft.fail("'key.format' beside a column list needs 'key.fields'", key_format.start, len(key_format.key) + 2, hint)
            return None
        return frozenset()
    if key_format is None:
        draft.fail("'key.fields' needs 'key.format'", key_fields.start, len(key_fields.key) + 2)
        return None
    names = [name.strip() for name in key_fields.value.split(";") if name.strip()]
    wrong = [name for name in names if name not in declared]
    for name in wrong:
        hint = nearest(name, declared) or f"declared columns: {listed(declared)}"
        draft.fail(f"'key.fields': no declared column {name}", key_fields.value_start, len(key_fields.value) + 2, hint)
    return None if wrong else frozenset(names)


def _schema(draft: Draft, bound: Bound, schemas: list[pa.Schema | None]) -> pa.Schema | None:
    """Key columns, payload columns, metadata columns; None while one of them lies in a registry."""
    resolved = [schema for schema in schemas if schema is not None]
    if len(resolved) < len(schemas):
        return None
    fields = [field for schema in reversed(resolved) for field in schema]
    fields += [pa.field(column.name, column.type) for column in bound.columns.metadata]
    at, width = bound.table.name.start, len(str(bound.table.name))
    for field in fields:
        if field.name.startswith(draft.prefix):
            hint = "rename the field, or choose another prefix with SET 'metadata.prefix'"
            draft.fail(f"field {field.name} is under the metadata prefix '{draft.prefix}'", at, width, hint)
    names = [field.name for field in fields]
    for name in sorted({name for name in names if names.count(name) > 1}):
        hint = "rename the METADATA column, or declare the columns and say with 'key.fields' which are in the key"
        draft.fail(f"table {bound.table.name} has more than one column {name}", at, width, hint)
    return pa.schema(fields)


def _declare(draft: Draft, table: CreateTable, source: SourceTable) -> None:
    """Tell the engine and the other rules about a table."""
    draft.relations[source.name] = Relation(source.name, "source", (source.name,), source.schema, carries_rows=True)
    if source.schema is None or source.name in draft.broken:
        return
    try:
        draft.session.create_source(source.kind, table.bare, source.name, source.schema)
    except QueryRefused as e:
        draft.fail(e.message, table.name.start, len(source.name), e.hint)
        draft.broken.add(source.name)


def _system(draft: Draft, name: str, role: str, over: tuple[str, ...], schema: pa.Schema) -> None:
    """A lane relation that the pipeline fills itself."""
    draft.relations[name] = Relation(name, role, over, schema, carries_rows=True, after_errors=role == "dlq")
    draft.streaming.add(name)
    draft.session.declare(name, schema)
