"""What a query depends on, and verdicts that the corpus does not show."""

from __future__ import annotations

import sys

import pytest

from thalweg.dialect.lineage import Dependency, Lineage, analyse

STREAMS = {"orders", "clicks", "raw.orders", "Mixed", "a.b"}
AGGREGATES = {"count", "sum", "max", "my_aggregate"}


def judge(sql: str) -> Lineage:
    """Analyse over the streams of this module."""
    return analyse(sql, STREAMS, AGGREGATES)


@pytest.mark.parametrize(
    ("sql", "names"),
    [
        ("SELECT 1", []),
        ("SELECT * FROM orders o JOIN s2.dim d ON o.a = d.k WHERE o.a IN (SELECT a FROM DIM2)", ["orders", "s2.dim", "dim2"]),
        ("WITH c AS (SELECT * FROM orders) SELECT * FROM c", ["orders"]),
        ("WITH c AS (SELECT count(*) FROM orders) SELECT * FROM c", ["orders"]),
        ("WITH orders AS (SELECT * FROM public.orders) SELECT * FROM orders", ["orders"]),
        ("WITH orders AS (SELECT * FROM orders) SELECT * FROM orders", ["orders"]),
        ("WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r) SELECT * FROM r, dim", ["dim"]),
        ("WITH a AS (SELECT * FROM b), b AS (SELECT 1) SELECT * FROM a, b", ["b"]),
        ("SELECT * FROM (WITH c AS (SELECT * FROM x) SELECT * FROM c) q, c", ["x", "c"]),
        ("SELECT (SELECT max(k) FROM dim) FROM orders, orders", ["dim", "orders"]),
        ('SELECT * FROM "Mixed", "mixed", MIXED', ["Mixed", "mixed"]),
        ("SELECT * FROM raw.orders, RAW.Orders, dlq.orders", ["raw.orders", "dlq.orders"]),
        ("SELECT * FROM datafusion.public.orders, other.public.orders", ["orders", "other.public.orders"]),
        ("SELECT * FROM range(1, 2), generate_series(1, 3) AS g", []),
        ("SELECT id FROM orders GROUP BY id HAVING (SELECT 1 FROM dim) = 1 LIMIT 1", ["orders", "dim"]),
        ("SELECT * FROM orders LIMIT (SELECT 1 FROM late)", ["orders", "late"]),
        ("(SELECT 1 FROM a) UNION (SELECT 2 FROM b)", ["a", "b"]),
    ],
)
def test_dependencies(sql: str, names: list[str]) -> None:
    """Every relation that a query reads is named once, whatever the verdict; CTEs are none (DAG-16)."""
    found = judge(sql).dependencies

    assert [d.name for d in found] == names
    for dependency in found:
        written = sql[dependency.offset : dependency.offset + dependency.width]
        assert written.replace('"', "").casefold().endswith(dependency.name.rsplit(".", 1)[-1].casefold())


def test_dependency_places() -> None:
    """A dependency stands where it is first named, and is as wide as it is written."""
    sql = "SELECT * FROM raw . orders r, \"Mixed\" UNION ALL SELECT * FROM 'late'"

    assert judge(sql).dependencies == (
        Dependency("raw.orders", 14, len("raw . orders")),
        Dependency("Mixed", 30, len('"Mixed"')),
        Dependency("late", 62, len("'late'")),
    )


def test_row_sources() -> None:
    """The streams whose rows are numbered are named: one of them, or those of the branches of UNION ALL."""
    assert judge("SELECT * FROM orders").row_sources == ("orders",)
    assert judge("SELECT id FROM RAW.orders JOIN dim ON true").row_sources == ("raw.orders",)
    assert judge("SELECT id FROM orders UNION ALL SELECT id FROM clicks UNION ALL SELECT id FROM orders").row_sources == ("orders", "clicks")
    assert judge("SELECT * FROM dim").row_sources == ()


def test_streams_are_given_by_the_caller() -> None:
    """What is a stream and what is an aggregate is not guessed: without either, the same text is static or has rows."""
    assert analyse("SELECT my_aggregate(a) FROM orders", (), ()).kind == "static"
    assert analyse("SELECT my_aggregate(a) FROM orders", STREAMS, ()).kind == "rows"
    assert judge("SELECT my_aggregate(a) FROM orders").reason == (
        "the aggregate my_aggregate gathers all rows of the stream, but a stream is answered one micro-batch at a time"
    )


def test_spliced_text_differs_only_by_insertions() -> None:
    """The spliced text without what was inserted is the original, comments and all (CRD-05)."""
    sql = "WITH c(a) AS (SELECT id /* x */ FROM orders) SELECT *, 1 one -- end\nFROM c JOIN dim ON true"
    found = judge(sql)

    assert found.spliced == (
        'WITH c(a, "_twg_row") AS (SELECT id, "orders"."_twg_row" /* x */ FROM orders) '
        'SELECT * EXCLUDE ("_twg_row"), 1 one, "c"."_twg_row" -- end\nFROM c JOIN dim ON true'
    )


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("SELECT id FROM orders FOR UPDATE", "LOCKS"),
        ("SELECT a.id FROM orders a ASOF JOIN dim ON a.id >= dim.k", "ASOF"),
        ("FROM orders", "FROM without SELECT"),
        ("SELECT x FROM (orders JOIN dim ON true) AS j(x, y)", "column names"),
        ("SELECT id FROM orders |> WHERE a > 1", "no known place"),
        ("SELECT id ? 'x' FROM orders WHERE LIKE LIKE", "no known place"),
    ],
)
def test_opaque_queries_run_without_lineage(sql: str, words: str) -> None:
    """What may run row by row but cannot carry a row number says why (DAG-08)."""
    found = judge(sql)

    assert found.kind == "opaque"
    assert words in (found.reason or "")
    assert found.spliced is None
    assert found.row_sources == ("orders",)


@pytest.mark.parametrize("sql", ["SELECT id FROM orders FOR UPDATE LIMIT 3", "FROM orders LIMIT 3", "SELECT count(*) FROM orders FOR UPDATE"])
def test_opaque_does_not_hide_a_refusal(sql: str) -> None:
    """Something unknown in front of something refused does not let it through (DAG-21)."""
    assert judge(sql).kind == "refused"


@pytest.mark.parametrize(
    ("sql", "reason", "offset"),
    [
        ("", "expected a SELECT, found nothing", 0),
        ("-- only a comment", "expected a SELECT, found nothing", 0),
        ("INSERT INTO x SELECT id FROM orders", "expected a SELECT, found INSERT", 0),
        ("SELECT id FROM orders; SELECT 1", "expected one query, found another behind the ;", 21),
        ("SELECT id INTO copy FROM orders", "SELECT INTO makes a table; a view is only a query", 10),
        ("SELECT f(a FROM orders", "this ( has no closing )", 8),
        ("SELECT f(a]) FROM orders", "this ] closes nothing", 10),
        ("SELECT 'a FROM orders", "unterminated string", 7),
        ("SELECT id FROM WHERE a > 0", "expected a table after FROM, found WHERE", 15),
        ("SELECT id FROM orders JOIN", "expected a table after JOIN, found the end of the query", 22),
        ("SELECT id FORM orders", "expected FROM, found FORM", 10),
        ("SELECT id FROM orders WHER a > 1", "expected WHERE, found WHER", 22),
    ],
)
def test_errors_that_are_certain(sql: str, reason: str, offset: int) -> None:
    """Only what no parser could read is an error here; everything else is left to the engine."""
    found = judge(sql)

    assert (found.kind, found.reason, found.offset) == ("error", reason, offset)


@pytest.mark.parametrize(
    "sql",
    [
        "WITH t AS (SELECT count(*) AS n FROM orders) SELECT * FROM dim",
        "WITH t AS (SELECT id FROM orders) SELECT * FROM dim",
        "WITH t AS (SELECT id FROM orders) VALUES (1)",
    ],
)
def test_unread_stream_is_refused(sql: str) -> None:
    """A query that names a stream and takes no row of it would give its static rows again with every micro-batch (DAG-21)."""
    found = judge(sql)

    assert found.kind == "refused"
    assert found.reason == "no row of the stream orders reaches the result"


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM (VALUES ((SELECT max(id) FROM orders))) v",
        "SELECT * FROM range(0, (SELECT max(id) FROM orders))",
        "SELECT * FROM dim JOIN d ON dim.k = (SELECT max(id) FROM orders)",
        "SELECT * FROM dim, UNNEST((SELECT tags FROM orders)) u",
        "WITH t AS (SELECT max(id) AS m FROM orders) SELECT k FROM dim WHERE k > (SELECT m FROM t)",
        "WITH t AS (SELECT id FROM orders) SELECT k FROM dim WHERE k IN (SELECT id FROM t)",
        "SELECT f(ARRAY(SELECT id FROM orders)) FROM dim",
        "SELECT k FROM dim ORDER BY (SELECT max(id) FROM orders)",
        "SELECT k FROM dim LIMIT (SELECT max(id) FROM orders)",
        "SELECT k FROM dim UNION ALL SELECT k FROM d ORDER BY (SELECT max(id) FROM orders)",
        "SELECT id FROM orders WHERE (SELECT 1 FROM (SELECT 1 FROM clicks) q) = 1",
        "SELECT id FROM orders PIVOT (sum(id) FOR k IN (1, 2))",
        "(SELECT id FROM orders) ORDER BY 1",
        "SELECT id FROM ((SELECT id FROM orders) LIMIT 1) x",
        "SELECT unnest(array_agg(id)) FROM orders JOIN (SELECT sum(k) FROM dim) s ON count(1) = 1 WHERE sum(id) > 1 HAVING 1",
    ],
)
def test_streams_in_odd_places_are_refused(sql: str) -> None:
    """A stream is found wherever it is read (DAG-21)."""
    assert judge(sql).kind == "refused"


@pytest.mark.parametrize("sql", ["SELECT a +* 2 FROM dim", "SELECT id, FROM dim WHERE", "SELECT CASE WHEN FROM dim"])
def test_other_broken_queries_are_left_to_the_engine(sql: str) -> None:
    """A syntax error over static tables is the engine's to report; what it reads is still known."""
    found = judge(sql)

    assert found.kind == "static"
    assert [d.name for d in found.dependencies] == ["dim"]


@pytest.mark.parametrize("depth", [40, 60, 400])
def test_deep_queries(depth: int) -> None:
    """Queries as deep as the engine allows and deeper are judged, and the recursion limit is left as it was."""
    before = sys.getrecursionlimit()
    found = judge("SELECT " + "(" * depth + "id" + ")" * depth + " FROM orders")

    assert found.kind in {"rows", "opaque", "error"}
    assert depth > 50 or found.kind == "rows"
    assert sys.getrecursionlimit() == before


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT id FROM orders WHERE " + " OR ".join(f"id = {n}" for n in range(3000)),
        " UNION ALL ".join(["SELECT id FROM orders"] * 400),
        "SELECT " + ", ".join(f"id + {n} AS c{n}" for n in range(2000)) + " FROM orders",
        "SELECT " + " || ".join(["name"] * 2000) + " FROM orders",
    ],
)
def test_long_queries(sql: str) -> None:
    """Length is no depth: long chains are walked without recursion."""
    assert judge(sql).kind == "rows"


def test_unusable_text_never_crashes() -> None:
    """Whatever cut of a query is given, there is a verdict."""
    sql = "WITH c(x) AS (SELECT a FROM orders o, LATERAL (SELECT 1) l) SELECT *, f(x) OVER w FROM c JOIN d USING (x) |> LIMIT 3"
    for end in range(len(sql)):
        assert judge(sql[:end]).kind in {"rows", "static", "opaque", "refused", "error"}
        assert judge(sql[end:]).kind in {"rows", "static", "opaque", "refused", "error"}
