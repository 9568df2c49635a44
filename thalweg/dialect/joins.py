"""Joins over a stream: which keep its rows apart, and which would make or lose rows in every micro-batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlglot import exp

from thalweg.dialect.refusals import NotRows, over_stream

if TYPE_CHECKING:
    from collections.abc import Iterator

_PLAIN_KINDS: Final = frozenset({"", "INNER", "CROSS", "OUTER"})
_HALF_KINDS: Final = frozenset({"SEMI", "ANTI"})
STATIC_SIDE: Final = "land one of the two first, and join with what was written as a table of files (of Avro files: STORED AS AVRO with 'static' 'true')"


def from_items(select: exp.Select) -> Iterator[tuple[exp.Expr, exp.Join | None]]:
    """Every item of a FROM clause in join order, with the join that brings it in."""
    from_ = select.args.get("from_")
    if from_ is not None:
        yield from _tree(from_.this, None)
    for join in select.args.get("joins") or []:
        yield from _tree(join.this, join)
    for lateral in select.args.get("laterals") or []:
        yield lateral, None


def _tree(item: exp.Expr, join: exp.Join | None) -> Iterator[tuple[exp.Expr, exp.Join | None]]:
    """An item and the joins that hang on it without parentheses."""
    yield item, join
    if isinstance(item, exp.Table | exp.Subquery):
        for inner in item.args.get("joins") or []:
            yield from _tree(inner.this, inner)
        for lateral in item.args.get("laterals") or []:
            yield lateral, None


def two_streams(offset: int | None) -> NotRows:
    """A join of two streams."""
    return over_stream("a join of two streams pairs rows that arrive at different times", offset, hint=STATIC_SIDE)


def unusual(join: exp.Join) -> str | None:
    """The word of a join that is none of standard SQL's."""
    method, kind = (join.method or "").upper(), (join.kind or "").upper()
    if method not in {"", "NATURAL"}:
        return method
    return kind if kind not in _PLAIN_KINDS | _HALF_KINDS else None


def check(join: exp.Join, offset: int | None, *, left_streams: bool, right_streams: bool) -> None:
    """Refuse a join that makes rows no record made, or keeps the static side of a semi join."""
    side, kind = (join.side or "").upper(), (join.kind or "").upper()
    if kind in _HALF_KINDS:
        lost = left_streams if side == "RIGHT" else right_streams
        if lost:
            what = f"{side or 'LEFT'} {kind} JOIN asks of each static row whether the whole stream has a match"
            raise over_stream(what, offset, hint="turn the join round, so that the stream's rows are kept")
        return
    if side == "FULL" and (left_streams or right_streams):
        raise over_stream("FULL JOIN gives the static rows that nothing in the whole stream matches", offset, hint="use LEFT JOIN from the stream")
    if (side == "LEFT" and right_streams) or (side == "RIGHT" and left_streams):
        what = f"{side} JOIN with the stream on the other side gives the static rows that nothing in the whole stream matches"
        raise over_stream(what, offset, hint="keep the stream's rows: put the stream on the side that the join is named after")
