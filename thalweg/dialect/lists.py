"""Lists in parentheses and clauses in any order, with recovery: an error in one does not hide those in the next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg.dialect.cursor import Cursor, Stop
from thalweg.dialect.lexer import Kind
from thalweg.dialect.names import nearest
from thalweg.dialect.tree import Name, Option

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def at_clause(cursor: Cursor) -> bool:
    """Whether a clause begins here that cannot be part of a list: the list's ``)`` is missing."""
    if cursor.peek("STORED", "AS") or cursor.peek("PARTITIONED", "BY") or cursor.peek("OPTIONS", "("):
        return True
    return cursor.peek("LOCATION") and cursor.next_kind() is Kind.STRING


def items(cursor: Cursor, one: Callable[[], None], what: str) -> None:
    """``( one, one, ... )``, at least one."""
    if not cursor.take("("):
        cursor.fail(f"expected ( before {what}, found {cursor.shown()}")
    closed = False
    while not closed:
        try:
            one()
            if not cursor.peek(",") and not cursor.peek(")"):
                cursor.fail(f"expected , or ) in {what}, found {cursor.shown()}")
        except Stop:
            if _list_is_over(cursor):
                if cursor.at_end():
                    raise
                return
        if cursor.take(",") and cursor.peek(")"):
            cursor.error(f"expected another entry after the , in {what}, found )")
        closed = cursor.take(")")


def _list_is_over(cursor: Cursor) -> bool:
    """After an error in a list: go to its next entry; True when its ``)`` is missing and the list cannot go on."""
    if at_clause(cursor):
        return True
    cursor.skip(lambda: at_clause(cursor))
    while cursor.peek("]") or cursor.peek("}"):
        cursor.advance()
        cursor.skip(lambda: at_clause(cursor))
    return not (cursor.peek(",") or cursor.peek(")"))


def clauses(cursor: Cursor, table: Mapping[str, Callable[[], None]]) -> dict[str, int]:
    """Clauses such as ``STORED AS`` in any order, each at most once.

    Returns for each clause that was given, broken or not, the offset behind it.
    """
    seen: dict[str, int] = {}
    while not cursor.at_end():
        try:
            name = _which_clause(cursor, table)
            if name in seen:
                cursor.error(f"{name} is given twice")
            seen[name] = cursor.behind
            cursor.expect(*name.split())
            table[name]()
            seen[name] = cursor.behind
        except Stop:
            _to_next_clause(cursor, table)
    return seen


def _to_next_clause(cursor: Cursor, table: Mapping[str, Callable[[], None]]) -> None:
    """After an error in a clause: past closers of nothing, to the first word of another."""
    heads = [name.split()[0] for name in table]
    cursor.skip(lambda: any(cursor.peek(head) for head in heads), commas=False)
    while cursor.peek(")") or cursor.peek("]") or cursor.peek("}"):
        cursor.advance()
        cursor.skip(lambda: any(cursor.peek(head) for head in heads), commas=False)


def _which_clause(cursor: Cursor, table: Mapping[str, Callable[[], None]]) -> str:
    """The clause that comes next, perhaps misspelt; nothing is taken."""
    for name in table:
        if cursor.peek(*name.split()):
            return name
    found = cursor.lexeme
    by_head = {name.split()[0]: name for name in table}
    head = nearest(found.value, by_head) if found is not None and found.kind is Kind.WORD else None
    if head is None or (head == "WITH" and cursor.peek("WITH", "(")):
        choices = [name for name in table if name != "WITH ORDER"]
        cursor.error(f"expected {', '.join(choices)} or ;, found {cursor.shown()}", hint=_clause_hint(cursor))
        cursor.advance()
        raise Stop
    return by_head[head]


def _clause_hint(cursor: Cursor) -> str | None:
    """How a clause of another product is written here."""
    if cursor.peek("WITH", "("):
        return "options are written OPTIONS ('key' 'value', ...)"
    if cursor.peek("AS") or cursor.peek("SELECT"):
        return "a query belongs into CREATE VIEW name AS SELECT ..., or into COPY (SELECT ...) TO 'url'"
    return None


def options(cursor: Cursor, into: list[Option]) -> None:
    """``('key' 'value', ...)`` behind OPTIONS."""

    def one() -> None:
        key = cursor.string("an option key")
        if cursor.peek("="):
            cursor.error(f"expected the value of '{key.value}', found =", hint="options are written 'key' 'value', without =")
            cursor.advance()
        value = cursor.string(f"the value of '{key.value}'")
        first = next((option for option in into if option.key == key.value), None)
        if first is not None:
            width = len(key.value) + len("''")
            cursor.error(f"option '{key.value}' is given twice", at=key.start, width=width, hint=f"first at {cursor.place(first.start)}")
            return
        into.append(Option(key.value, value.value, key.start, value.start))

    items(cursor, one, "OPTIONS")


def partition_columns(cursor: Cursor, into: list[Name], *, typed: bool = False) -> None:
    """``(column, ...)`` behind PARTITIONED BY; DataFusion allows a type behind each in CREATE EXTERNAL TABLE."""

    def one() -> None:
        name = cursor.identifier("a column name")
        if any(name.parts == other.parts for other in into):
            cursor.error(f"column {name} is given twice in PARTITIONED BY", at=name.start, width=len(str(name)))
        into.append(name)
        if typed and not cursor.peek(",") and not cursor.peek(")"):
            cursor.skip()

    items(cursor, one, "PARTITIONED BY")
