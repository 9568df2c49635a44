"""Static tables: bounded files that the engine reads itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa

from thalweg.errors import QueryRefused
from thalweg.model.options import redact_url
from thalweg.plan.columns import read_columns, sql_type
from thalweg.plan.draft import Relation
from thalweg.plan.formats import beside
from thalweg.plan.graph import StaticTable

if TYPE_CHECKING:
    from thalweg.dialect.tree import CreateTable
    from thalweg.plan.draft import Draft

_PLAIN: Final = {
    pa.string(): "VARCHAR", pa.binary(): "BYTEA", pa.bool_(): "BOOLEAN", pa.int8(): "TINYINT", pa.int16(): "SMALLINT", pa.int32(): "INT",
    pa.int64(): "BIGINT", pa.uint8(): "TINYINT UNSIGNED", pa.uint16(): "SMALLINT UNSIGNED", pa.uint32(): "INT UNSIGNED",
    pa.uint64(): "BIGINT UNSIGNED", pa.float32(): "REAL", pa.float64(): "DOUBLE", pa.date32(): "DATE",
}  # fmt: skip
"""How the engine spells the types that a file's column list may have."""


def statics(draft: Draft) -> None:
    """Create every static table in the engine, which reads its files' schema."""
    for table in draft.static_tables:
        name = str(table.name)
        before = len(draft.errors)
        _create(draft, table, name)
        if len(draft.errors) > before:
            draft.broken.add(name)


def engine_type(kind: pa.DataType) -> str | None:
    """A type in the engine's own spelling; None where its CREATE statement has no such type."""
    if kind in _PLAIN:
        return _PLAIN[kind]
    if pa.types.is_decimal(kind):
        return f"DECIMAL({kind.precision}, {kind.scale})"
    if pa.types.is_timestamp(kind):
        digits = {"s": 0, "ms": 3, "us": 6, "ns": 9}[kind.unit]
        return f"TIMESTAMP({digits})" + (" WITH TIME ZONE" if kind.tz else "")
    if pa.types.is_list(kind):
        inner = engine_type(kind.value_type)
        return f"{inner}[]" if inner else None
    if pa.types.is_struct(kind):
        inner_types = [(f.name, engine_type(f.type)) for f in kind]
        if any(spelled is None for _, spelled in inner_types):
            return None
        return f"STRUCT<{', '.join(f'{_quote(n)} {spelled}' for n, spelled in inner_types)}>"
    return None


def _create(draft: Draft, table: CreateTable, name: str) -> None:
    """One table; a remote file stays unresolved unless the planner may connect."""
    location = table.location.value
    remote = "://" in location and not location.startswith("file://")
    if table.unbounded:
        draft.fail(f"a table of {table.stored_as.value} files is bounded", table.start, len("CREATE UNBOUNDED"), "leave out UNBOUNDED")
        return
    columns = _columns(draft, table)
    if columns is None:
        return
    statement = _statement(draft, table, name, columns)
    schema = None
    if not remote or draft.request.connect:
        try:
            schema = draft.session.create_static(statement, name)
        except QueryRefused as e:
            draft.fail(f"{redact_url(location)}: {e.message}", table.location.start, len(location) + 2, e.hint)
            return
    place = draft.script.source.location(table.name.start, len(name))
    draft.statics.append(StaticTable(name, statement, schema, place))
    draft.relations[name] = Relation(name, "static", (), schema, carries_rows=False)


def _columns(draft: Draft, table: CreateTable) -> str | None:
    """The column list in the engine's spelling, empty where none was given; None when it cannot be."""
    found = read_columns(draft, table)
    if found is None:
        return None
    before = len(draft.errors)
    for column in table.columns:
        if column.metadata is not None:
            draft.fail("a file has no record metadata", column.metadata.start, len(column.metadata.value) + 2, "leave the column out")
    spelled = []
    for field in found.payload:
        engine = engine_type(field.type)
        if engine is None:
            column = next(c for c in table.columns if c.name == field.name)
            hint = "leave out the column list: the file's own types are read"
            message = f"a static table cannot declare {sql_type(field.type)}"
            draft.fail(message, column.type.start, len(column.type.text), hint)
            continue
        spelled.append(f"{_quote(field.name)} {engine}{' NOT NULL' if field.name in found.not_null else ''}")
    if len(draft.errors) > before:
        return None
    return f" ({', '.join(spelled)})" if spelled else ""


def _statement(draft: Draft, table: CreateTable, name: str, columns: str) -> str:
    """The statement for the engine; a relative path is taken from the pipeline's folder."""
    location = table.location.value
    if "://" not in location:
        path = str(beside(location, draft.request.base).absolute())
        location = path + ("/" if location.endswith("/") else "")
    parts = [f"CREATE EXTERNAL TABLE {_quote(name)}{columns} STORED AS {table.stored_as.value.upper()}"]
    if table.partitioned_by:
        parts.append(f"PARTITIONED BY ({', '.join(_quote(str(column)) for column in table.partitioned_by)})")
    parts.append(f"LOCATION {_text(location)}")
    if table.options:
        parts.append(f"OPTIONS ({', '.join(f'{_text(o.key)} {_text(o.value)}' for o in table.options)})")
    return " ".join(parts)


def _quote(name: str) -> str:
    """An identifier in double quotes."""
    return '"' + name.replace('"', '""') + '"'


def _text(value: str) -> str:
    """A string literal."""
    return "'" + value.replace("'", "''") + "'"
