"""A pipeline file to its statements: every error of the file in one pass, each at its place.

Queries, expressions and types stay verbatim. Their brackets and strings are checked here; whether a query is right is for
DataFusion to say, which plans every one of them: a second opinion could only refuse what DataFusion would run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg.dialect.cursor import Cursor, Stop
from thalweg.dialect.foreign import HEADS, unknown_object, unknown_statement
from thalweg.dialect.lexer import Kind, lex
from thalweg.dialect.names import nearest
from thalweg.dialect.statements import copy, create_function, create_table, create_view, set_option
from thalweg.dialect.substitute import Substituted, substitute
from thalweg.dialect.tree import Copy, CreateFunction, Name, Script, SetOption, Statement

if TYPE_CHECKING:
    from collections.abc import Mapping

    from thalweg.dialect.cursor import Problem
    from thalweg.errors import ScriptError

_DEFINED_BEHIND = frozenset({"TABLE", "VIEW", "FUNCTION", "SOURCE", "STREAM"})


def parse(text: str, file: str, environ: Mapping[str, str]) -> Script:
    """Read a whole file. Never raises for what the file says: ``Script.errors`` has it, sorted by place."""
    return _Reader(substitute(text, file, environ)).read()


class _Reader:
    """One pass over one file."""

    def __init__(self, substituted: Substituted) -> None:
        """Lex the text."""
        self.substituted = substituted
        self.source = substituted.source
        lexemes, self.faults = lex(self.source.text)
        self.cursor = Cursor(self.source, lexemes)
        self.statements: list[Statement] = []
        self.broken: set[str] = set()
        self.defined: dict[tuple[str, str], int] = {}
        self.name: Name | None = None

    def read(self) -> Script:
        """Statement after statement."""
        cursor, problems = self.cursor, self.cursor.problems
        while cursor.more():
            if cursor.take(";"):
                continue
            before = len(problems)
            start = cursor.begin_statement()
            statement = self.one(start)
            if len(problems) > before or self.is_spoilt(start, cursor.behind):
                problems[before:] = self.own_problems(problems[before:], start)
                self.broken |= {str(self.name)} if self.name else set()
            elif statement is not None:
                self.statements.append(statement)
            if cursor.more() and not cursor.peek(";"):
                cursor.error(f"expected ; before {cursor.shown()}", hint="every statement ends with ;")
        return Script(self.source, tuple(self.statements), tuple(self.errors()), frozenset(self.broken))

    def one(self, start: int) -> Statement | None:
        """One statement, to its end whatever happens; None when it could not be read."""
        self.name = None
        statement = None
        try:
            statement = self.statement(start)
            self.once(statement)
            if not self.cursor.at_end():
                self.cursor.fail(f"expected ; after the statement, found {self.cursor.shown()}")
        except Stop:
            self.guess_name()
            self.cursor.skip_statement()
        return statement

    def statement(self, start: int) -> Statement:
        """Choose the reader by the first word; a misspelt one is noted and read as what it was meant to be."""
        cursor = self.cursor
        head = next((word for word in HEADS if cursor.take(word)), None)
        if head is None:
            found = cursor.lexeme
            head = nearest(found.value, HEADS) if found is not None and found.kind is Kind.WORD else None
            if head is None or not cursor.take_near(head):
                unknown_statement(cursor)
        if head == "SET":
            return set_option(cursor, start)
        if head == "COPY":
            return copy(cursor, start)
        return self.create(start)

    def create(self, start: int) -> Statement:
        """Behind CREATE."""
        cursor = self.cursor
        replace_at = cursor.here
        replace = cursor.take("OR", "REPLACE")
        unbounded = cursor.take_near("UNBOUNDED")
        if cursor.take_near("EXTERNAL"):
            cursor.expect("TABLE", what="TABLE after EXTERNAL")
            if replace:
                cursor.error("OR REPLACE does not go with EXTERNAL TABLE", at=replace_at, width=2, hint="a file defines each name once")
            return create_table(cursor, start, self.define, unbounded=unbounded)
        if not unbounded and cursor.take_near("VIEW"):
            return create_view(cursor, start, self.define)
        if unbounded or not cursor.take_near("FUNCTION"):
            unknown_object(cursor, unbounded=unbounded)
        return create_function(cursor, start, self.define)

    def define(self, name: Name) -> None:
        """Called by a reader as soon as it knows what its statement defines."""
        self.name = name

    def once(self, statement: Statement) -> None:
        """Note a name that was defined before, or a setting that was set before."""
        if isinstance(statement, Copy):
            return
        if isinstance(statement, SetOption):
            kind, what, at = "setting", f"setting '{statement.key.value}'", statement.key.start
        else:
            kind = "function" if isinstance(statement, CreateFunction) else "relation"
            what, at = str(statement.name), statement.name.start
        first = self.defined.setdefault((kind, what), at)
        if first != at:
            _, width = self.cursor.next_after(at)
            self.cursor.error(f"{what} is defined twice", at=at, width=width, hint=f"first at {self.cursor.place(first)}")

    def guess_name(self) -> None:
        """What a statement that could not be read would have defined."""
        if self.name is None:
            self.name = self.cursor.name_behind(_DEFINED_BEHIND)

    def is_spoilt(self, start: int, end: int) -> bool:
        """Whether a variable without a value or an endless string lies in this statement."""
        return any(start <= fault.start < end for fault in self.faults) or any(start <= at < end for at, _ in self.substituted.unfilled)

    def own_problems(self, problems: list[Problem], start: int) -> list[Problem]:
        """Those that are no consequence of an endless string or of a variable without a value."""
        end, last = self.cursor.behind, len(self.source.text) + 1
        cut = min((fault.start for fault in self.faults if start <= fault.start < end), default=last)
        unfilled = self.substituted.unfilled
        return [p for p in problems if p.offset < cut and not any(at <= p.offset < stop for at, stop in unfilled)]

    def errors(self) -> list[ScriptError]:
        """All of them, by place."""
        found = list(self.substituted.errors)
        found += [self.source.error(p.message, p.offset, width=p.width, hint=p.hint) for p in self.cursor.problems]
        for fault in self.faults:
            hint = "comments nest: every /* needs its own */" if fault.what == "comment" else "its closing quote is missing"
            found.append(self.source.error(f"unterminated {fault.what}", fault.start, hint=hint))
        return sorted(found, key=lambda e: (e.location.line, e.location.column))
