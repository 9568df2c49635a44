"""The hidden row number in the original text: what is added to a select list, and where. Everything else stays as written.

A relation that keeps rows apart shows the hidden column, always last: UNION ALL matches columns by position, and
``AS x (a, b)`` names them by position.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from sqlglot import Token, TokenType

from thalweg.arrow.metadata import ROW
from thalweg.dialect.names import quote
from thalweg.dialect.places import Places, token_name
from thalweg.dialect.refusals import NotRows
from thalweg.dialect.thalweg import LIST_END, LIST_START, SELECT_END, TRAILING_COMMA

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlglot import exp

HIDDEN: Final = quote(ROW)


@dataclass(frozen=True, slots=True)
class Edit:
    """One insertion."""

    offset: int
    text: str


@dataclass(frozen=True, slots=True)
class Rows:
    """A query that keeps rows apart: what to insert so that it shows the hidden column, and whose rows it numbers."""

    edits: tuple[Edit, ...]
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Relation:
    """One item of a FROM clause."""

    rows: Rows | None
    """None: it reads no stream."""
    names: frozenset[tuple[str, ...]]
    """What a qualified star may call it."""
    qualifier: str | None
    """SQL text that qualifies its columns; None where nothing names it."""
    last: bool = True
    """Whether the hidden column is the last of its columns."""


@dataclass(frozen=True, slots=True)
class _Star:
    """``*`` or ``a.*`` in a select list."""

    qualifier: tuple[str, ...] | None
    tokens: list[Token]
    """From the star on."""
    ends_list: bool


def apply(sql: str, edits: Sequence[Edit]) -> str:
    """``sql`` with every distinct edit made; those at one offset in their order."""
    pieces, last = [], 0
    for edit in sorted(dict.fromkeys(edits), key=lambda edit: edit.offset):
        pieces += [sql[last : edit.offset], edit.text]
        last = edit.offset
    return "".join([*pieces, sql[last:]])


def behind_columns(rows: Rows, columns: Sequence[exp.Expr]) -> Rows:
    """``AS x (a, b)`` names every column, so it must name the hidden one too."""
    if not columns:
        return rows
    end = int(columns[-1].meta["end"]) + 1
    return Rows((*rows.edits, Edit(end, f", {HIDDEN}")), rows.sources)


def list_edits(select: exp.Select, stream: Relation, places: Places, *, alone: bool) -> list[Edit]:
    """Make a select list show the hidden column of ``stream`` once, last. ``alone``: nothing is joined to the stream."""
    end = int(select.meta[LIST_END])
    trailing_comma = bool(select.meta[TRAILING_COMMA])
    edits: list[Edit] = []
    carried = False
    for star in _stars(places.items(int(select.meta[LIST_START]), end)):
        if star.qualifier is not None and star.qualifier not in stream.names:
            continue
        if star.ends_list and stream.last and (alone or star.qualifier is not None) and not trailing_comma:
            carried = True  # this star already ends with the hidden column
            _readable_star(star)
        else:
            edits += _leave_out(star)
    if carried:
        return edits
    column = f"{stream.qualifier}.{HIDDEN}" if stream.qualifier else HIDDEN
    begin = int(select.meta[SELECT_END])
    if end <= begin:
        return [*edits, Edit(begin, f" {column}")]
    return [*edits, Edit(end, f" {column}" if trailing_comma else f", {column}")]


def _stars(items: list[list[Token]]) -> list[_Star]:
    """The stars of a select list."""
    found = []
    for item in items:
        at = 0
        qualifier = []
        while at + 1 < len(item) and item[at].token_type != TokenType.STAR and item[at + 1].token_type == TokenType.DOT:
            qualifier.append(token_name(item[at]))
            at += 2
        if at < len(item) and item[at].token_type == TokenType.STAR:
            found.append(_Star(tuple(qualifier) or None, item[at:], item is items[-1]))
    return found


def _leave_out(star: _Star) -> list[Edit]:
    """Make a star leave the hidden column out."""
    _readable_star(star)
    tokens = star.tokens
    if len(tokens) > len("*?") and tokens[1].text.upper() in {"EXCLUDE", "EXCEPT"}:
        first = tokens[2]
        if first.token_type == TokenType.L_PAREN:
            close = next(token for token in tokens if token.token_type == TokenType.R_PAREN)
            return [Edit(close.start, f", {HIDDEN}")]
        return [Edit(first.start, "("), Edit(first.end + 1, f", {HIDDEN})")]
    return [Edit(tokens[0].end + 1, f" EXCLUDE ({HIDDEN})")]


def _readable_star(star: _Star) -> None:
    """Refuse what the engine reads and then ignores."""
    word = star.tokens[1] if len(star.tokens) > 1 else None
    if word is not None and word.text.upper() == "ILIKE":
        how: Literal["refused"] = "refused"
        raise NotRows(how, "the engine reads * ILIKE and then gives every column", word.start, width=len("ILIKE"), hint="name the columns")
