"""Why a query over a stream is refused, in the user's words: what it would silently mean, and the way out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

BATCH_BY_BATCH: Final = "a stream is answered one micro-batch at a time"
SNAPSHOT: Final = "do it over what the sink has written, or ask in twg repl, where a snapshot of the stream allows all of SQL"
CLAUSES: Final[Mapping[str, tuple[str, str, str]]] = {
    "distinct": ("DISTINCT", "DISTINCT compares all rows of the stream", SNAPSHOT),
    "group": ("GROUP BY", "GROUP BY gathers all rows of the stream", SNAPSHOT),
    "having": ("HAVING", "HAVING filters aggregates of the whole stream", SNAPSHOT),
    "qualify": ("QUALIFY", "QUALIFY filters by a window function over the whole stream", SNAPSHOT),
    "order": ("ORDER BY", "ORDER BY sorts all rows of the stream", f"leave ORDER BY out; {SNAPSHOT}"),
    "sort": ("SORT BY", "SORT BY sorts all rows of the stream", f"leave SORT BY out; {SNAPSHOT}"),
    "limit": ("LIMIT", "LIMIT counts the rows of the whole stream", f"leave it out; {SNAPSHOT}"),
    "offset": ("OFFSET", "OFFSET counts the rows of the whole stream", f"leave it out; {SNAPSHOT}"),
    "sample": ("TABLESAMPLE", "TABLESAMPLE is read and then ignored by the engine", "write WHERE random() < 0.1"),
    "match": ("MATCH_RECOGNIZE", "MATCH_RECOGNIZE looks at several rows of the stream", SNAPSHOT),
    "connect": ("CONNECT BY", "CONNECT BY looks at several rows of the stream", SNAPSHOT),
    "pivots": ("PIVOT", "PIVOT gathers all rows of the stream", SNAPSHOT),
}
"""Clause of a SELECT in sqlglot's words to: its keyword, why it is refused, the way out."""
IGNORED_BY_ENGINE: Final = frozenset({"sample"})


class NotRows(Exception):
    """The query does not keep the rows of its stream apart."""

    def __init__(self, kind: Literal["refused", "error"], reason: str, offset: int | None, *, width: int = 1, hint: str | None = None) -> None:
        """``offset`` is into the query's text."""
        super().__init__(reason)
        self.kind: Literal["refused", "error"] = kind
        self.reason = reason
        self.offset = offset
        self.width = width
        self.hint = hint


def over_stream(what: str, offset: int | None, *, width: int = 1, hint: str = SNAPSHOT) -> NotRows:
    """A refusal of something that needs more than one micro-batch."""
    return NotRows("refused", f"{what}, but {BATCH_BY_BATCH}", offset, width=width, hint=hint)


def clause(key: str, offset: int | None) -> NotRows:
    """A refusal of one of CLAUSES."""
    keyword, why, hint = CLAUSES[key]
    if key in IGNORED_BY_ENGINE:
        return NotRows("refused", f"{why}: a stream would not be sampled", offset, width=len(keyword), hint=hint)
    return over_stream(why, offset, width=len(keyword), hint=hint)


def aggregate(name: str, offset: int | None) -> NotRows:
    """A refusal of an aggregate function."""
    return over_stream(f"the aggregate {name} gathers all rows of the stream", offset, width=len(name))


def reserved(name: str, offset: int, width: int) -> NotRows:
    """An error for a use of the hidden column's name."""
    return NotRows("error", f"the name {name} is reserved for the row number that twg adds", offset, width=width, hint="use another name")
