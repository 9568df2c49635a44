"""Statements that belong to other products: what they are called here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NoReturn

from thalweg.dialect.names import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping

    from thalweg.dialect.cursor import Cursor

HEADS: Final = ("CREATE", "COPY", "SET")
OBJECTS: Final = ("EXTERNAL", "UNBOUNDED", "VIEW", "FUNCTION")
_SOURCE: Final = (
    "a source is CREATE EXTERNAL TABLE name (column type, ...) STORED AS KAFKA LOCATION 'kafka://host:port/topic' OPTIONS ('format' 'json')"
)
_SINK: Final = "a sink is COPY relation TO 'url' STORED AS kind OPTIONS ('key' 'value')"
_VIEW: Final = "a transform is CREATE VIEW name AS SELECT ...; one that several others read runs once per batch by itself"
_FILE: Final = "a pipeline file only defines; ask and try things in twg repl"
_ONCE: Final = "a file defines each name once and starts from nothing, so there is nothing to change or remove"
_STATEMENTS: Final[Mapping[str, str]] = {
    "INSERT": f"INSERT INTO is not used here: {_SINK}",
    "SELECT": f"a query needs a target or a name: {_SINK.replace('relation', '(SELECT ...)')}; {_VIEW}",
    "WITH": f"a query needs a target or a name: {_SINK.replace('relation', '(WITH ...)')}; {_VIEW}",
    "BEGIN": "a file is one pipeline; leave BEGIN and END out",
    "EXECUTE": "a file is one pipeline; leave EXECUTE out",
    "EXPLAIN": "twg check FILE shows the plan",
    "DESCRIBE": _FILE, "SHOW": _FILE, "USE": _FILE, "PRINT": _FILE, "EXIT": _FILE,
    "DROP": _ONCE, "ALTER": _ONCE, "DELETE": _ONCE, "UPDATE": _ONCE, "TRUNCATE": _ONCE, "RESET": _ONCE, "MERGE": _ONCE,
}  # fmt: skip
_CREATED: Final[Mapping[str, str]] = {
    "TABLE": f"CREATE TABLE ... WITH (...) is not used here: {_SOURCE}",
    "SOURCE": _SOURCE, "STREAM": _SOURCE, "SINK": _SINK,
    "MATERIALIZED": _VIEW, "TEMPORARY": "leave TEMPORARY out", "TEMP": "leave TEMP out",
    "CATALOG": "name the files or topics in CREATE EXTERNAL TABLE",
    "DATABASE": "a pipeline has one name space; leave this out", "SCHEMA": "a pipeline has one name space; leave this out",
}  # fmt: skip


def unknown_statement(cursor: Cursor) -> NoReturn:
    """Stop at a statement that no pipeline file has, and say the spelling that it has here."""
    found = cursor.lexeme
    hint = _STATEMENTS.get(found.upper) if found else None
    if hint is None and found is not None:
        hint = did_you_mean(found.value, HEADS)
    cursor.fail(f"expected CREATE, COPY or SET, found {cursor.shown()}", hint=hint)


def unknown_object(cursor: Cursor, *, unbounded: bool) -> NoReturn:
    """Stop behind CREATE at something that cannot be created."""
    found = cursor.lexeme
    hint = _CREATED.get(found.upper) if found else None
    if hint is None and found is not None:
        hint = did_you_mean(found.value, OBJECTS)
    expected = "EXTERNAL TABLE after CREATE UNBOUNDED" if unbounded else "EXTERNAL TABLE, VIEW or FUNCTION after CREATE"
    cursor.fail(f"expected {expected}, found {cursor.shown()}", hint=hint)
