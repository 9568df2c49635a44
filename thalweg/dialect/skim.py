"""A query that sqlglot cannot read, looked at word by word: what it reads, and whether anything in it could need a whole stream.

DataFusion reads more than sqlglot does and has the last word on what is right. Here only one thing matters: nothing that
gathers rows may slip through unseen, so whatever is in doubt is refused over a stream.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from thalweg.dialect import refusals
from thalweg.dialect.cursor import CLOSER
from thalweg.dialect.lexer import Kind, Lexeme, lex
from thalweg.dialect.names import fold, nearest, qualified
from thalweg.dialect.refusals import NotRows

if TYPE_CHECKING:
    from collections.abc import Sequence

_CLAUSES: Final = {
    "DISTINCT": "distinct", "GROUP": "group", "HAVING": "having", "QUALIFY": "qualify", "ORDER": "order", "SORT": "sort",
    "LIMIT": "limit", "FETCH": "limit", "OFFSET": "offset", "TABLESAMPLE": "sample", "MATCH_RECOGNIZE": "match",
    "CONNECT": "connect", "PIVOT": "pivots",
}  # fmt: skip
_GATHERING: Final = frozenset({"UNION", "INTERSECT", "MINUS", "JOIN", "OVER", "AGGREGATE", "APPLY", "RECURSIVE", "TOP", "INTO", "WITH"})
_BEFORE_TABLE: Final = frozenset({"FROM", "JOIN"})
_HEADS: Final = frozenset({"SELECT", "WITH", "VALUES"})
_ENDS_FROM: Final = frozenset({"WHERE", "GROUP", "HAVING", "QUALIFY", "WINDOW", "ORDER", "LIMIT", "OFFSET", "UNION", "EXCEPT", "INTERSECT", "|"})
_BESIDE_TABLE: Final = frozenset({"LATERAL", "ONLY", "UNNEST", "ON", "USING"})
_NOT_TABLE: Final = _HEADS | _ENDS_FROM | _BESIDE_TABLE
_NO_TABLE: Final = frozenset({"WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "ON", "USING", "UNION", "JOIN", ";"})
_WAY_OUT: Final = "write it in plainer SQL, so that it can be told whether it keeps the stream's rows apart"


@dataclass(frozen=True, slots=True)
class Mention:
    """A name that stands where a table's name stands."""

    name: str
    offset: int
    width: int


class Skim:
    """One query."""

    def __init__(self, sql: str, streaming: frozenset[str], aggregates: frozenset[str]) -> None:
        """Lex the text and find the tables."""
        self.lexemes, self.faults = lex(sql)
        self.streaming = streaming
        self.aggregates = aggregates
        self.mentions = self._mentions()

    def check_brackets(self) -> None:
        """An error for what no parser could read: nothing at all, endless strings, brackets that do not match."""
        for fault in self.faults:
            raise NotRows("error", f"unterminated {fault.what}", fault.start)
        if not self.lexemes:
            raise NotRows("error", "expected a SELECT, found nothing", 0)
        opened: list[Lexeme] = []
        for lexeme in self.lexemes:
            if lexeme.upper in CLOSER:
                opened.append(lexeme)
            elif lexeme.upper in CLOSER.values() and (not opened or CLOSER[opened.pop().upper] != lexeme.upper):
                raise NotRows("error", f"this {lexeme.upper} closes nothing", lexeme.start)
        if opened:
            raise NotRows("error", f"this {opened[-1].upper} has no closing {CLOSER[opened[-1].upper]}", opened[-1].start)

        extra = next((a for a, b in zip(self.lexemes, self.lexemes[1:], strict=False) if a.upper == ";" and b.upper != ";"), None)
        if extra is not None:
            raise NotRows("error", "expected one query, found another behind the ;", extra.start)

    def check_words(self) -> None:
        """An error for a table that is missing, and for FROM or WHERE misspelt."""
        for index, lexeme in enumerate(self.lexemes):
            after = self._upper(index + 1)
            if lexeme.upper in _BEFORE_TABLE and (after in _NO_TABLE or index + 1 == len(self.lexemes)):
                found = after or "the end of the query"
                at = self.lexemes[min(index + 1, len(self.lexemes) - 1)]
                raise NotRows("error", f"expected a table after {lexeme.upper}, found {found}", at.start, width=at.end - at.start)
            for word in ("FROM", "WHERE"):
                if self._is_meant(word, index):
                    width = lexeme.end - lexeme.start
                    raise NotRows("error", f"expected {word}, found {lexeme.value}", lexeme.start, width=width, hint=f"did you mean {word}?")

    def _is_meant(self, word: str, index: int) -> bool:
        """Whether a word was probably meant to be a keyword that the query has nowhere."""
        lexeme = self.lexemes[index]
        if lexeme.kind is not Kind.WORD or self._count(word) or nearest(lexeme.value, [word]) is None or index + 1 == len(self.lexemes):
            return False
        after = self.lexemes[index + 1]
        return _is_name(after) and after.upper not in _NO_TABLE | _BEFORE_TABLE | {"AS"}

    def check_names(self, hidden: str) -> None:
        """The hidden column's name is reserved here too."""
        for lexeme in self.lexemes:
            if _name(lexeme) == hidden:
                raise refusals.reserved(hidden, lexeme.start, lexeme.end - lexeme.start)

    def check_stream(self) -> None:
        """Refuse whatever could need more than one row of the stream."""
        if sum(mention.name in self.streaming for mention in self.mentions) > 1 or self._count("SELECT") > 1:
            raise NotRows("refused", "this query reads its stream in more than one place, in a way that is not understood", 0, hint=_WAY_OUT)
        for index, lexeme in enumerate(self.lexemes):
            width = lexeme.end - lexeme.start
            if lexeme.upper in _CLAUSES:
                raise refusals.clause(_CLAUSES[lexeme.upper], lexeme.start)
            except_rows = lexeme.upper == "EXCEPT" and (index == 0 or self.lexemes[index - 1].upper != "*")
            if lexeme.upper in _GATHERING or except_rows:
                what = f"{lexeme.upper} over a stream in a query that is not understood"
                raise NotRows("refused", what, lexeme.start, width=width, hint=_WAY_OUT)
            called = index + 1 < len(self.lexemes) and self.lexemes[index + 1].upper == "("
            if called and _name(lexeme) in self.aggregates:
                raise refusals.aggregate(_name(lexeme), lexeme.start)

    def _count(self, word: str) -> int:
        """How often a word occurs."""
        return sum(lexeme.upper == word for lexeme in self.lexemes)

    def _mentions(self) -> list[Mention]:
        """Names in the place of a table, but for those that a WITH defines."""
        found = table_names(self.lexemes)
        defined = {_name(a) for a, b in zip(self.lexemes, self.lexemes[1:], strict=False) if b.upper == "AS" and self._opens_after(b)}
        return [mention for mention in found if mention.name not in defined]

    def _upper(self, index: int) -> str:
        """The word or sign at ``index``; empty behind the end."""
        return self.lexemes[index].upper if index < len(self.lexemes) else ""

    def _opens_after(self, lexeme: Lexeme) -> bool:
        """Whether ``(`` comes right behind."""
        following = next((other for other in self.lexemes if other.start >= lexeme.end), None)
        return following is not None and following.upper == "("


@dataclass(slots=True)
class _Level:
    """What is known between two brackets."""

    query: bool
    """Whether a FROM here begins a list of tables: not in ``EXTRACT(DAY FROM x)``."""
    in_from: bool = False
    expecting: bool = False
    """Whether a table comes next."""


def table_names(lexemes: Sequence[Lexeme]) -> list[Mention]:
    """Every name behind FROM, JOIN or a comma between tables, at any depth."""
    found: list[Mention] = []
    levels = [_Level(query=True)]
    index = 0
    while index < len(lexemes):
        lexeme, level = lexemes[index], levels[-1]
        if lexeme.upper == "(":
            levels.append(_Level(query=level.expecting, in_from=level.expecting, expecting=level.expecting))
            level.expecting = False
        elif lexeme.upper == ")":
            levels = levels[:-1] or [_Level(query=True)]
        elif lexeme.upper in _HEADS:
            level.query, level.in_from, level.expecting = True, False, False
        elif lexeme.upper == "FROM":
            starts = level.query and (index == 0 or lexemes[index - 1].upper != "DISTINCT")
            level.in_from, level.expecting = level.in_from or starts, level.expecting or starts
        elif lexeme.upper in _ENDS_FROM:
            level.in_from = level.expecting = False
        elif lexeme.upper == "JOIN" or (lexeme.upper == "," and level.in_from):
            level.expecting = True
        elif lexeme.upper == "UNNEST":
            level.expecting = False
        elif level.expecting and lexeme.upper not in _BESIDE_TABLE and _is_name(lexeme):
            index = _take_table(lexemes, index, found)
            level.expecting = False
        index += 1
    return found


def _take_table(lexemes: Sequence[Lexeme], index: int, into: list[Mention]) -> int:
    """``a.b.c`` at ``index``, unless it is a call; returns the index of its last lexeme."""
    first, parts = lexemes[index], [_name(lexemes[index])]
    while index + 2 < len(lexemes) and lexemes[index + 1].upper == "." and _is_name(lexemes[index + 2]):
        index += 2
        parts.append(_name(lexemes[index]))
    if index + 1 == len(lexemes) or lexemes[index + 1].upper != "(":
        into.append(Mention(qualified(parts), first.start, lexemes[index].end - first.start))
    return index


def _is_name(lexeme: Lexeme) -> bool:
    """Whether this can be a table's name."""
    return lexeme.kind is Kind.NAME or (lexeme.kind is Kind.WORD and lexeme.upper not in _NOT_TABLE)


def _name(lexeme: Lexeme) -> str:
    """A lexeme read as an identifier, folded; empty for what is none."""
    if lexeme.kind is Kind.NAME:
        return lexeme.value
    return fold(lexeme.value) if lexeme.kind is Kind.WORD else ""
