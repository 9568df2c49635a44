"""Where casts of unions are seen: by the types of what is cast, wherever in a plan."""

from __future__ import annotations

import pyarrow as pa
import pytest

from thalweg.engine.casts import UnionCast
from thalweg.engine.session import Session

UNION = pa.dense_union([pa.field("long", pa.int64()), pa.field("string", pa.string())])
SCHEMA = pa.schema(
    [
        ("id", pa.int64()), ("u", UNION), ("l", pa.list_(UNION)), ("m", pa.map_(pa.string(), UNION)), ("txt", pa.string()),
        ("s", pa.struct([("v", UNION), ("w", pa.struct([("x", UNION)]))])), ("ls", pa.list_(pa.struct([("v", UNION)]))),
    ]
)  # fmt: skip


@pytest.fixture(scope="module")
def session() -> Session:
    """Two relations, one with unions everywhere."""
    made = Session()
    made.declare("h", SCHEMA)
    made.declare("o", pa.schema([("id", pa.int64()), ("n", pa.int64())]))
    return made


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("SELECT s['w']['x']::varchar FROM h", "s['w']['x']"),
        ("SELECT ls[2]['v']::varchar FROM h", "ls[2]['v']"),
        ("SELECT arrow_cast(l[1], 'Utf8') FROM h", "l[1]"),
        ("SELECT id FROM h WHERE u IN ('a', 'b')", "u"),
        ("SELECT id FROM h WHERE u BETWEEN 1 AND 2", "u"),
        ("SELECT u IS DISTINCT FROM 'x' FROM h", "u"),
        ("SELECT concat(l[1], 'x') FROM h", "l[1]"),
        ("SELECT coalesce(u::varchar, 'x'), -(u::bigint), NOT (u::boolean) FROM h", "u"),
        ("SELECT id, (SELECT max(u::varchar) FROM h) FROM o", "u"),
        ("SELECT id FROM o WHERE n = (SELECT max(l[1]::bigint) FROM h)", "l[1]"),
        ("SELECT id FROM o WHERE n IN (SELECT m['a']::bigint FROM h)", "m['a']"),
        ("SELECT id FROM o WHERE EXISTS (SELECT 1 FROM h WHERE h.u::bigint = o.id)", "u"),
        ("SELECT sum(l[1]::bigint) FROM h GROUP BY id", "l[1]"),
        ("SELECT sum(id) FILTER (WHERE u::bigint = 1) FROM h", "u"),
        ("SELECT array_agg(id ORDER BY u::varchar) FROM h", "u"),
        ("SELECT id FROM h GROUP BY id HAVING max(l[1]::varchar) = 'x'", "l[1]"),
        ("SELECT id FROM h ORDER BY l[1]::varchar", "l[1]"),
        ("SELECT row_number() OVER (PARTITION BY l[1]::varchar ORDER BY id) FROM h", "l[1]"),
        ("SELECT row_number() OVER (ORDER BY l[1]::varchar) FROM h", "l[1]"),
        ("SELECT lag(l[1]::varchar) OVER (ORDER BY id) FROM h", "l[1]"),
        ("SELECT h.id FROM h JOIN o ON h.l[1] = o.n", "l[1]"),
        ("SELECT h.id FROM h JOIN o ON h.id = o.n AND (h.u::bigint > o.id OR o.id = 1)", "u"),
        ("SELECT txt FROM h UNION ALL SELECT l[1]::varchar FROM h", "l[1]"),
        ("SELECT (CASE WHEN id = 1 THEN u END)::varchar FROM h", "CASE WHEN h.id = Int64(1) THEN h.u END"),
    ],
)
def test_every_place(session: Session, query: str, shown: str) -> None:
    """Constructors, subqueries, joins, aggregates and windows; what is cast is shown in SQL where it is a column or lies in one (DEC-05)."""
    found = session.union_casts(query)

    assert [(cast.shown, cast.is_union) for cast in found] == [(shown, True)]


@pytest.mark.parametrize(
    ("query", "column"),
    [
        ("SELECT l::varchar[] FROM h", "l"), ("SELECT l = ['a'] FROM h", "l"), ("SELECT s::varchar FROM h", "s"),
        ("SELECT array_to_string(l, ',') FROM h", "l"), ("SELECT list_join(l, ',') FROM h", "l"),
    ],
)  # fmt: skip
def test_what_holds_unions(session: Session, query: str, column: str) -> None:
    """Casts of lists and structs, and the function that makes texts of a list's items (DEC-05)."""
    assert session.union_casts(query) == [UnionCast(column, column, is_union=False)]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT union_extract(l[1], 'long')::varchar, union_tag(u), id::varchar FROM h WHERE l[1] IS NOT NULL",
        "SELECT array_length(l) > 1, cardinality(m), map_keys(m), l[1], array_concat(l, l), array_slice(l, 1, 2) FROM h",
        "SELECT u FROM h UNION SELECT u FROM h",
        "SELECT coalesce(u, u), nullif(u, u), u = u, [u, u], CASE WHEN id = 1 THEN l ELSE [] END, id IN (1, 2.5) FROM h",
        "SELECT a.u, b.txt::bigint FROM h AS a LEFT JOIN h AS b ON a.u = b.u WHERE a.l = b.l",
        "SELECT id::varchar, count(u), array_agg(u) FROM h GROUP BY GROUPING SETS ((id), ())",
        "SELECT (SELECT union_extract(u, 'long') FROM h LIMIT 1)::varchar, EXISTS (SELECT 1 FROM h WHERE u IS NULL)",
        "SELECT sum(id) FILTER (WHERE union_extract(u, 'long')::varchar = 'x') FROM h",
        "SELECT 'CAST(u AS Utf8)' AS a, u FROM h WHERE txt = 'CAST(h.u AS Utf8)'",
        "WITH RECURSIVE t AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM t WHERE n < 3) SELECT n::varchar FROM t",
    ],
)
def test_what_is_no_cast_of_a_union(session: Session, query: str) -> None:
    """Branches, lengths, tests for NULL, and comparisons of unions with unions lose nothing."""
    assert session.union_casts(query) == []


def test_subqueries_run_as_before(session: Session) -> None:
    """The look at a plan leaves no setting behind."""
    query = "SELECT id FROM o WHERE n = (SELECT max(id) FROM h)"
    before = session._ctx.sql(query).optimized_logical_plan().display_indent()
    assert session.union_casts(query) == []

    assert session._ctx.sql(query).optimized_logical_plan().display_indent() == before
