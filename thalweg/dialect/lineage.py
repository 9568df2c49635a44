"""Row lineage of a query: what it reads, and its text with the hidden row number, or why a stream cannot carry it through."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from sqlglot import TokenType, exp
from sqlglot.parser import Parser

from thalweg.arrow.metadata import ROW
from thalweg.dialect import refusals
from thalweg.dialect.places import token_name
from thalweg.dialect.refusals import NotRows
from thalweg.dialect.rows import RowWalk
from thalweg.dialect.scope import references
from thalweg.dialect.skim import Skim
from thalweg.dialect.splice import apply
from thalweg.dialect.thalweg import Unreadable, deep_recursion, parse_query

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from sqlglot import Token

    from thalweg.dialect.thalweg import Parsed

_BEFORE_ALIAS: Final = (
    frozenset(
        {
            TokenType.ALIAS, TokenType.VAR, TokenType.IDENTIFIER, TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE,
            TokenType.STRING, TokenType.NUMBER, TokenType.END,
        }
    )
    | frozenset(Parser.TYPE_TOKENS)
) - {TokenType.INTERVAL}  # fmt: skip
"""What stands before a string that is an alias: ``id 'x'``, ``f(a) 'x'``, ``a AS 'x'``."""


@dataclass(frozen=True, slots=True)
class Dependency:
    """A relation that a query reads."""

    name: str
    """Qualified where it is in a schema (``orders``, ``raw.orders``), folded the way DataFusion folds."""
    offset: int
    """Where it is first named in the query's text."""
    width: int


@dataclass(frozen=True, slots=True)
class Lineage:
    """What ``analyse`` found out."""

    kind: Literal["rows", "static", "opaque", "refused", "error"]
    """
    ``rows``: keeps the rows of its stream apart. ``static``: reads no stream. ``opaque``: may run row by row, but no row
    number can be put through it. ``refused``: over a stream it would silently mean "per micro-batch". ``error``: cannot be
    read, or uses the reserved name.
    """
    spliced: str | None
    """The text with the hidden column added, last in every list; only for ``rows``."""
    reason: str | None
    hint: str | None
    offset: int | None
    """Where in the query's text the reason stands."""
    dependencies: tuple[Dependency, ...]
    row_sources: tuple[str, ...]
    """The streams whose rows are numbered; more than one under UNION ALL."""
    width: int = 1


def analyse(sql: str, streaming: Collection[str], aggregates: Collection[str]) -> Lineage:
    """Judge one query.

    Args:
        sql: the query's text; never changed but for what is spliced in.
        streaming: relations that are streams or hang on one, named as in ``Dependency.name``.
        aggregates: names of the engine's aggregate functions, in lower case.
    """
    with deep_recursion():
        try:
            parsed = parse_query(sql)
        except Unreadable:
            return _skimmed(sql, streaming, aggregates)
        return _judged(parsed, streaming, aggregates)


def _judged(parsed: Parsed, streaming: Collection[str], aggregates: Collection[str]) -> Lineage:
    """A query that could be parsed."""
    found = references(parsed.tree)
    reads = _once(Dependency(r.name, r.offset, r.width) for r in found if r.cte is None)
    walk = RowWalk(parsed, found, streaming, aggregates)
    try:
        _no_reserved_name(parsed)
        _is_a_query(parsed)
        rows = walk.query(parsed.tree)
    except NotRows as e:
        return Lineage(e.kind, None, e.reason, e.hint, e.offset, reads, (), e.width)
    except RecursionError:
        return Lineage("error", None, "this query is nested too deeply", "split it into views", 0, reads, ())
    if rows is None:
        unread = next((d for d in reads if d.name in streaming), None)
        if unread is not None:
            hint = "leave out the WITH query that nothing reads"
            return Lineage("refused", None, f"no row of the stream {unread.name} reaches the result", hint, unread.offset, reads, (), unread.width)
        return Lineage("static", None, None, None, None, reads, ())
    sources = tuple(dict.fromkeys(rows.sources))
    if walk.opaque is not None:
        return Lineage("opaque", None, walk.opaque.reason, None, walk.opaque.offset, reads, sources)
    return Lineage("rows", apply(parsed.sql, rows.edits), None, None, None, reads, sources)


def _skimmed(sql: str, streaming: Collection[str], aggregates: Collection[str]) -> Lineage:
    """A query that only DataFusion may be able to read: word by word, and refused when in doubt."""
    skim = Skim(sql, frozenset(streaming), frozenset(aggregates))
    reads = _once(Dependency(mention.name, mention.offset, mention.width) for mention in skim.mentions)
    sources = tuple(dict.fromkeys(name for name in (d.name for d in reads) if name in streaming))
    try:
        skim.check_brackets()
        skim.check_words()
        skim.check_names(ROW)
        if not sources:
            return Lineage("static", None, None, None, None, reads, ())
        skim.check_stream()
    except NotRows as e:
        return Lineage(e.kind, None, e.reason, e.hint, e.offset, reads, (), e.width)
    reason = "it is written in a way that leaves no known place for a row number"
    return Lineage("opaque", None, reason, None, 0, reads, sources)


def _is_a_query(parsed: Parsed) -> None:
    """Refuse a statement that is none."""
    if not isinstance(parsed.tree, exp.Query | exp.Values):
        raise NotRows("error", f"expected a SELECT, found {parsed.tokens[0].text.upper()}", parsed.tokens[0].start)


def _no_reserved_name(parsed: Parsed) -> None:
    """Refuse every use of the hidden column's name, as an alias in single quotes too."""
    for index, token in enumerate(parsed.tokens):
        named = token.token_type != TokenType.STRING or (index and parsed.tokens[index - 1].token_type in _BEFORE_ALIAS)
        if named and token_name(token) == ROW:
            raise _reserved(token)
    for alias in parsed.tree.find_all(exp.Alias):
        identifier = alias.args.get("alias")
        if isinstance(identifier, exp.Identifier) and identifier.this == ROW:
            raise refusals.reserved(ROW, int(identifier.meta.get("start", 0)), len(ROW))


def _reserved(token: Token) -> NotRows:
    """The error at a token."""
    return refusals.reserved(ROW, token.start, token.end + 1 - token.start)


def _once(dependencies: Iterable[Dependency]) -> tuple[Dependency, ...]:
    """Each relation once, where it is named first."""
    first: dict[str, Dependency] = {}
    for dependency in dependencies:
        first.setdefault(dependency.name, dependency)
    return tuple(first.values())
