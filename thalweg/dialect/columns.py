"""The column list of a source, and the constraints of sources and views."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from thalweg.dialect.cursor import Cursor, expected_one_of
from thalweg.dialect.lexer import Kind
from thalweg.dialect.lists import at_clause, items
from thalweg.dialect.names import did_you_mean
from thalweg.dialect.tree import ColumnDef, Expectation, Fragment, Name, Text

if TYPE_CHECKING:
    from collections.abc import Mapping

WARN: Final = "WARN"
ACTIONS: Final = ("FAIL", "DROP ROW", "QUARANTINE", "ANNOTATE")
_TYPE_WORDS: Final[Mapping[str, frozenset[str]]] = {
    "DOUBLE": frozenset({"PRECISION"}),
    "CHARACTER": frozenset({"VARYING"}),
    "CHAR": frozenset({"VARYING"}),
    "TIMESTAMP": frozenset({"WITH", "WITHOUT", "LOCAL", "TIME", "ZONE"}),
    "TIME": frozenset({"WITH", "WITHOUT", "LOCAL", "TIME", "ZONE"}),
    "INTERVAL": frozenset({"YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND", "TO"}),
}
_ELSEWHERE: Final[Mapping[str, str]] = {
    "PRIMARY": "a source has no keys; a sink that needs some has an option for it",
    "UNIQUE": "write what must hold as CONSTRAINT name EXPECT (condition)",
    "CHECK": "write what must hold as CONSTRAINT name EXPECT (condition)",
    "DEFAULT": "give defaults in a view: SELECT coalesce(column, value) AS column",
    "COMMENT": "comments are written -- or /* */",
    "AS": "computed columns belong into a view: CREATE VIEW name AS SELECT expression AS column",
    "GENERATED": "computed columns belong into a view: CREATE VIEW name AS SELECT expression AS column",
    "VIRTUAL": "leave the word out: a metadata column is read, never written",
}


@dataclass(slots=True)
class Elements:
    """What stands between the parentheses behind a table's or a view's name."""

    columns: list[ColumnDef] = field(default_factory=list)
    expectations: list[Expectation] = field(default_factory=list)


def column_list(cursor: Cursor) -> Elements:
    """The column list of a source: columns and constraints."""
    found = Elements()

    def one() -> None:
        if cursor.peek("CONSTRAINT"):
            _constraint(cursor, found)
        elif cursor.peek("WATERMARK", "FOR"):
            hint = "windows over event time come with a later build; leave the clause out"
            cursor.fail("WATERMARK FOR is not in this build", width=len("WATERMARK"), hint=hint)
        elif cursor.peek("PRIMARY", "KEY"):
            cursor.fail("PRIMARY KEY is no part of a column list here", hint=_ELSEWHERE["PRIMARY"])
        else:
            _column(cursor, found)

    items(cursor, one, "the column list")
    return found


def constraint_list(cursor: Cursor) -> Elements:
    """The constraint list of a view; its columns are named by its query."""
    found = Elements()

    def one() -> None:
        if not cursor.peek("CONSTRAINT"):
            hint = _near_constraint(cursor) or "a view's columns are named in its query: SELECT expression AS name"
            cursor.fail(f"expected CONSTRAINT in the list behind a view's name, found {cursor.shown()}", hint=hint)
        _constraint(cursor, found)

    items(cursor, one, "the constraint list")
    return found


def type_name(cursor: Cursor, what: str) -> Fragment:
    """A type, verbatim: only its brackets are checked here, its words where the columns are bound."""
    first = cursor.lexeme
    if first is None or first.kind is not Kind.WORD or cursor.at_end():
        cursor.fail(f"expected {what}, found {cursor.shown()}")
    cursor.advance()
    suffixes = _TYPE_WORDS.get(first.upper, frozenset())
    while not cursor.at_end():
        if cursor.peek("(") or cursor.peek("["):
            opener = cursor.advance()
            cursor.skip(lambda: at_clause(cursor), commas=False)
            cursor.expect(")" if opener.upper == "(" else "]")
        elif cursor.peek("<"):
            _angles(cursor)
        elif any(cursor.peek(word) for word in suffixes) or cursor.peek("UNSIGNED"):
            cursor.advance()
        else:
            break
    return cursor.fragment(first.start)


def parenthesised(cursor: Cursor, what: str, stop: tuple[str, ...] = ()) -> Fragment:
    """A run in parentheses, verbatim and without them; the words ``stop`` can only stand behind it."""
    opening = cursor.here
    if not cursor.take("("):
        cursor.fail(f"expected ( before {what}, found {cursor.shown()}")
    start = cursor.here
    empty = cursor.peek(")")
    cursor.balanced(what, stop)
    if cursor.at_end() or (stop and cursor.peek(*stop)):
        cursor.fail(f"this ( has no closing ) behind {what}", at=opening)
    if not cursor.peek(")"):
        cursor.fail(f"expected ) behind {what}, found {cursor.shown()}")
    found = cursor.fragment(start)
    cursor.advance()
    if empty:
        cursor.fail(f"expected {what}, found )", at=start)
    return found


def _angles(cursor: Cursor) -> None:
    """``< ... >``, nested."""
    cursor.advance()
    depth = 1
    while depth:
        if cursor.at_end() or cursor.peek(")") or cursor.peek("]") or at_clause(cursor):
            cursor.fail(f"expected > behind the type, found {cursor.shown()}")
        if cursor.peek("("):
            cursor.advance()
            cursor.skip(lambda: at_clause(cursor), commas=False)
            cursor.expect(")")
            continue
        depth += cursor.peek("<") - cursor.peek(">")
        cursor.advance()


def _column(cursor: Cursor, into: Elements) -> None:
    """``name type [METADATA [FROM 'key']] [NOT NULL]``."""
    width = cursor.width
    name = cursor.identifier("a column name or CONSTRAINT")
    if cursor.lexeme is not None and cursor.lexeme.upper in _ELSEWHERE:
        cursor.fail(f"expected the type of column {name}, found {cursor.shown()}", hint=_ELSEWHERE[cursor.lexeme.upper])
    kind = type_name(cursor, f"the type of column {name}")
    metadata: Text | None = None
    not_null = False
    while not cursor.at_end() and not cursor.peek(",") and not cursor.peek(")"):
        if cursor.take("NOT"):
            cursor.expect("NULL", what="NULL after NOT")
            not_null = True
        elif cursor.take("NULL"):
            not_null = False
        elif cursor.take_near("METADATA"):
            metadata = _metadata_key(cursor, name)
        else:
            _refuse_column_clause(cursor)
    if any(column.name == str(name) for column in into.columns):
        cursor.error(f"column {name} is given twice", at=name.start, width=width)
        return
    into.columns.append(ColumnDef(name.parts[0], kind, name.start, metadata, not_null))


def _metadata_key(cursor: Cursor, name: Name) -> Text:
    """Behind METADATA: ``FROM 'key'``, or nothing for the column's own name."""
    if cursor.peek_kind(Kind.STRING) or (cursor.peek_kind(Kind.WORD) and not cursor.peek("NOT") and not cursor.peek("NULL")):
        cursor.expect("FROM", what="FROM 'key' behind METADATA")
        return cursor.string("the metadata key")
    return Text(name.parts[0], name.start)


def _refuse_column_clause(cursor: Cursor) -> None:
    """Stop at something that cannot stand behind a column's type."""
    found = cursor.lexeme
    hint = _ELSEWHERE.get(found.upper) if found else None
    if hint is None and not at_clause(cursor):
        hint = did_you_mean(found.value, ("METADATA", "NOT NULL")) if found else None
    cursor.fail(f"expected METADATA FROM, NOT NULL, a comma or ) in the column list, found {cursor.shown()}", hint=hint)


def _constraint(cursor: Cursor, into: Elements) -> None:
    """``CONSTRAINT name EXPECT (condition) [ON VIOLATION action]``."""
    start = cursor.advance().start
    width = cursor.width
    name = cursor.identifier("a name for the constraint")
    cursor.expect("EXPECT", what="EXPECT (condition)")
    condition = parenthesised(cursor, "the condition", ("ON", "VIOLATION"))
    action = WARN
    if cursor.take_near("ON"):
        cursor.expect("VIOLATION", what="VIOLATION after ON")
        action = _action(cursor)
    if any(other.name == str(name) for other in into.expectations):
        cursor.error(f"constraint {name} is given twice", at=name.start, width=width)
        return
    into.expectations.append(Expectation(name.parts[0], condition, action, start))


def _action(cursor: Cursor) -> str:
    """What to do about a violation."""
    found = next((action for action in ACTIONS if cursor.take(*action.split())), None)
    if found is None and cursor.peek(WARN):
        cursor.fail(f"expected {', '.join(ACTIONS[:-1])} or {ACTIONS[-1]}, found WARN", hint="leave ON VIOLATION out: it warns and counts")
    if found is None:
        hint = "did you mean DROP ROW?" if cursor.peek("DROP") else None
        expected_one_of(cursor, ACTIONS, " after ON VIOLATION", hint)
    return found


def _near_constraint(cursor: Cursor) -> str | None:
    """A did-you-mean for a misspelt CONSTRAINT."""
    return did_you_mean(cursor.lexeme.value, ["CONSTRAINT"]) if cursor.lexeme else None
