"""The five statements of a pipeline file, one reader each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from thalweg.dialect.columns import Elements, column_list, constraint_list, parenthesised, type_name
from thalweg.dialect.lexer import Kind
from thalweg.dialect.lists import clauses, options, partition_columns
from thalweg.dialect.names import did_you_mean
from thalweg.dialect.tree import Copy, CreateFunction, CreateTable, CreateView, Fragment, Name, Option, SetOption, Text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from thalweg.dialect.cursor import Cursor

QUERY_HEADS: Final = ("SELECT", "WITH", "VALUES", "FROM", "(")


def set_option(cursor: Cursor, start: int) -> SetOption:
    """Behind ``SET``."""
    key = cursor.string("the name of a setting")
    if not cursor.take("="):
        cursor.fail(f"expected = after '{key.value}', found {cursor.shown()}")
    value = cursor.string(f"the value of '{key.value}'")
    return SetOption(start, cursor.behind, key, value)


def create_table(cursor: Cursor, start: int, define: Callable[[Name], None], *, unbounded: bool) -> CreateTable:
    """Behind ``CREATE [UNBOUNDED] EXTERNAL TABLE``."""
    name = _new_name(cursor, "table", define)
    list_start, elements = cursor.behind, Elements()
    if cursor.peek("("):
        elements = column_list(cursor)
    list_end = cursor.behind
    read: dict[str, Text] = {}
    given: list[Option] = []
    partitions: list[Name] = []
    table: Mapping[str, Callable[[], None]] = {
        "STORED AS": lambda: read.update(kind=_kind(cursor)),
        "LOCATION": lambda: read.update(location=cursor.string("the location")),
        "OPTIONS": lambda: options(cursor, given),
        "PARTITIONED BY": lambda: partition_columns(cursor, partitions, typed=True),
        "WITH ORDER": lambda: _ignored_list(cursor),
    }
    seen = clauses(cursor, table)
    _missing(cursor, seen, "STORED AS", list_end, "STORED AS and the kind of source, such as KAFKA")
    _missing(cursor, seen, "LOCATION", max(list_end, seen.get("STORED AS", 0)), "LOCATION 'url'")
    text = cursor.source.text
    return CreateTable(
        start,
        cursor.behind,
        name,
        read.get("kind", Text("", start)),
        read.get("location", Text("", start)),
        unbounded,
        tuple(elements.columns),
        tuple(elements.expectations),
        tuple(given),
        tuple(partitions),
        text[start:list_start] + text[list_end : cursor.behind],
    )


def create_view(cursor: Cursor, start: int, define: Callable[[Name], None]) -> CreateView:
    """Behind ``CREATE [OR REPLACE] VIEW``."""
    name = _new_name(cursor, "view", define)
    elements = constraint_list(cursor) if cursor.peek("(") else Elements()
    cursor.expect("AS", what="AS and a SELECT")
    query = _query(cursor)
    if not cursor.at_end():
        cursor.fail(f"this {cursor.shown()} closes nothing")
    return CreateView(start, cursor.behind, name, query, tuple(elements.expectations))


def create_function(cursor: Cursor, start: int, define: Callable[[Name], None]) -> CreateFunction:
    """Behind ``CREATE [OR REPLACE] FUNCTION``."""
    name = _new_name(cursor, "function", define)
    arguments = None
    if cursor.peek("(") and cursor.peek("(", ")"):
        cursor.advance()
        cursor.advance()
    else:
        arguments = parenthesised(cursor, "the types of the arguments")
    list_end = cursor.behind
    read: dict[str, Text] = {}
    types: list[Fragment] = []
    table: Mapping[str, Callable[[], None]] = {
        "RETURNS": lambda: types.append(type_name(cursor, "a type after RETURNS")),
        "LANGUAGE": lambda: read.update(language=_kind(cursor, "a language such as WASM")),
        "AS": lambda: read.update(body=cursor.string("where the function is")),
    }
    seen = clauses(cursor, table)
    for clause, what in (("RETURNS", "RETURNS type"), ("LANGUAGE", "LANGUAGE WASM, FLIGHT or PYTHON"), ("AS", "AS 'where'")):
        _missing(cursor, seen, clause, max(list_end, *seen.values()) if seen else list_end, what)
    nothing = Text("", start)
    language, body = read.get("language", nothing), read.get("body", nothing)
    return CreateFunction(start, cursor.behind, name, arguments, types[0] if types else None, language, body)


def copy(cursor: Cursor, start: int) -> Copy:
    """Behind ``COPY``."""
    relation: Name | None = None
    query: Fragment | None = None
    if cursor.peek("("):
        query = _query_in_parentheses(cursor)
    elif any(cursor.peek(word) for word in ("SELECT", "WITH", "VALUES")):
        cursor.fail(f"expected a relation or a query in parentheses, found {cursor.shown()}", hint="write COPY (SELECT ...) TO 'url'")
    elif cursor.peek("TO") and cursor.next_kind() is Kind.STRING:
        cursor.fail("expected a relation or a query in parentheses before TO")
    else:
        relation = cursor.dotted("a relation or a query in parentheses")
    if cursor.peek(")"):
        cursor.fail("this ) closes nothing")
    cursor.expect("TO", what="TO 'url'")
    target = cursor.string("the url of the target")
    target_end = cursor.behind
    read: dict[str, Text] = {}
    given: list[Option] = []
    partitions: list[Name] = []
    table: Mapping[str, Callable[[], None]] = {
        "STORED AS": lambda: read.update(kind=_kind(cursor)),
        "PARTITIONED BY": lambda: partition_columns(cursor, partitions),
        "OPTIONS": lambda: options(cursor, given),
    }
    seen = clauses(cursor, table)
    _missing(cursor, seen, "STORED AS", target_end, "STORED AS and the kind of sink, such as PARQUET")
    return Copy(start, cursor.behind, relation, query, target, read.get("kind"), tuple(partitions), tuple(given))


def _new_name(cursor: Cursor, what: str, define: Callable[[Name], None]) -> Name:
    """The name that a statement defines: one identifier."""
    cursor.take("IF", "NOT", "EXISTS")
    begin = cursor.here
    name = cursor.dotted(f"a name for the {what}")
    define(name)
    if len(name.parts) > 1:
        hint = "the schemas raw, dlq and dq are made by twg" if name.parts[0] in {"raw", "dlq", "dq"} else None
        cursor.error(f"a {what}'s name is one identifier, found {name}", at=begin, width=cursor.behind - begin, hint=hint)
    return name


def _kind(cursor: Cursor, what: str = "a kind such as KAFKA or PARQUET") -> Text:
    """The word behind STORED AS or LANGUAGE, in upper case."""
    found = cursor.identifier(what)
    return Text(found.parts[0].upper(), found.start)


def _missing(cursor: Cursor, seen: Mapping[str, int], clause: str, behind: int, what: str) -> None:
    """Note that a clause is missing, where it was expected: at the lexeme that stands there instead."""
    if clause not in seen:
        at, width = cursor.next_after(behind)
        cursor.error(f"expected {what}, found {cursor.shown_at(at, width)}", at=at, width=width)


def _ignored_list(cursor: Cursor) -> None:
    """A list in parentheses that only DataFusion reads."""
    parenthesised(cursor, "the order of the files")


def _query(cursor: Cursor) -> Fragment:
    """A query to the end of the statement or to a closer that it did not open; verbatim."""
    start = cursor.here
    _query_head(cursor)
    cursor.balanced("the query")
    return cursor.fragment(start)


def _query_in_parentheses(cursor: Cursor) -> Fragment:
    """``(query)``."""
    opening = cursor.advance().start
    found = _query(cursor)
    if cursor.at_end():
        cursor.fail("this ( has no closing ) behind the query", at=opening)
    if not cursor.take(")"):
        cursor.fail(f"expected ) behind the query, found {cursor.shown()}")
    return found


def _query_head(cursor: Cursor) -> None:
    """Stop where something other than a query begins; what DataFusion can plan is for DataFusion to say."""
    if any(cursor.peek(head) for head in QUERY_HEADS) and not cursor.at_end():
        return
    found = cursor.lexeme
    hint = did_you_mean(found.value, ("SELECT", "WITH", "VALUES")) if found is not None and found.kind is Kind.WORD else None
    cursor.fail(f"expected a SELECT, found {cursor.shown()}", hint=hint)
