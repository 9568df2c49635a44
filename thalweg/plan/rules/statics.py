"""Static tables: bounded files that the engine reads itself."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from thalweg.errors import QueryRefused
from thalweg.model.options import redact_url
from thalweg.plan.columns import read_columns, sql_type
from thalweg.plan.draft import Relation
from thalweg.plan.formats import beside
from thalweg.plan.graph import STATIC_OPTION, StaticTable
from thalweg.plan.type_names import engine_type

if TYPE_CHECKING:
    from thalweg.dialect.tree import CreateTable
    from thalweg.plan.draft import Draft

def statics(draft: Draft) -> None:
    """Create every static table in the engine, which reads its files' schema."""
    for table in draft.static_tables:
        name = str(table.name)
        before = len(draft.errors)
        _create(draft, table, name)
        if len(draft.errors) > before:
            draft.broken.add(name)


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
    path = None if remote else _local(draft, location)
    if path is not None and not _is_pattern(path) and not Path(path).exists():
        draft.fail(f"{redact_url(location)}: no such file or folder", table.location.start, len(location) + 2, "an empty folder is an empty table")
        return
    statement = _statement(table, name, columns, location if "://" in location or path is None else path)
    schema = None
    if not remote or draft.request.connect:
        try:
            schema = draft.session.create_static(statement, name)
        except QueryRefused as e:
            draft.fail(redact_url(f"{location}: {e.message}"), table.location.start, len(location) + 2, e.hint)
            return
    place = draft.script.source.location(table.name.start, len(name))
    watched = None if path is None or _is_pattern(path) else path
    draft.statics.append(StaticTable(name, statement, schema, place, table.stored_as.value.upper(), location, watched))
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


def _local(draft: Draft, location: str) -> str:
    """The full path of a local location, with its slash; a relative path is taken from the pipeline's folder."""
    if location.startswith("file://"):
        return unquote(urlsplit(location).path)
    return str(beside(location, draft.request.base).absolute()) + ("/" if location.endswith("/") else "")


def _is_pattern(path: str) -> bool:
    """Whether the engine expands it: it may well match nothing yet."""
    return any(letter in path for letter in "*?[")


def _statement(table: CreateTable, name: str, columns: str, location: str) -> str:
    """The statement for the engine."""
    parts = [f"CREATE EXTERNAL TABLE {_quote(name)}{columns} STORED AS {table.stored_as.value.upper()}"]
    if table.partitioned_by:
        parts.append(f"PARTITIONED BY ({', '.join(_quote(str(column)) for column in table.partitioned_by)})")
    parts.append(f"LOCATION {_text(location)}")
    options = [o for o in table.options if o.key != STATIC_OPTION]
    if options:
        parts.append(f"OPTIONS ({', '.join(f'{_text(o.key)} {_text(o.value)}' for o in options)})")
    return " ".join(parts)


def _quote(name: str) -> str:
    """An identifier in double quotes."""
    return '"' + name.replace('"', '""') + '"'


def _text(value: str) -> str:
    """A string literal."""
    return "'" + value.replace("'", "''") + "'"
