"""Queries that sqlglot cannot read: nothing that gathers rows slips through."""

from __future__ import annotations

import pytest

from thalweg.dialect.refusals import NotRows
from thalweg.dialect.skim import Mention, Skim


def skim(sql: str) -> Skim:
    """Skim over one stream and one aggregate."""
    return Skim(sql, frozenset({"orders", "raw.orders"}), frozenset({"count"}))


@pytest.mark.parametrize(
    ("sql", "names"),
    [
        ("FROM a", ["a"]),
        ('SELECT x FROM a AS b, raw.c d, E JOIN "F" ON g.h = i', ["a", "raw.c", "e", "F"]),
        ("FROM (SELECT 1 FROM a) b, c", ["a", "c"]),
        ("SELECT ?? FROM a x(y, z), LATERAL b, (c JOIN (d) ON f(1, 2)), ((e)) WHERE g, h", ["a", "b", "c", "d", "e"]),
        ("SELECT ?? FROM a WHERE x IN (SELECT y, z FROM b, c) AND EXISTS (FROM d)", ["a", "b", "c"]),
        ("SELECT ?? FROM a JOIN b USING (x, y), c ORDER BY d, e", ["a", "b", "c"]),
        ("SELECT substring(a FROM 1), trim(BOTH b FROM c), x FROM d |> JOIN e", ["d", "e"]),
        ("SELECT a, b FROM", []),
        ("FROM range(1, 2) JOIN UNNEST(x) JOIN a", ["a"]),
        ("WITH c AS (SELECT 1 FROM a) SELECT * FROM c", ["a"]),
        ("SELECT EXTRACT(DAY FROM ts) FROM a WHERE b IS DISTINCT FROM 3", ["a"]),
    ],
)
def test_mentions(sql: str, names: list[str]) -> None:
    """Names in the place of a table are found; CTEs and table functions are none."""
    assert [mention.name for mention in skim(sql).mentions] == names


def test_mention_place() -> None:
    """A mention has its place and width."""
    assert skim("FROM  raw.orders x").mentions == [Mention("raw.orders", 6, 10)]


@pytest.mark.parametrize(
    ("sql", "at"),
    [
        ("SELECT ?? FROM orders GROUP BY a", "GROUP"),
        ("SELECT ?? FROM orders |> AGGREGATE sum(x)", "AGGREGATE"),
        ("SELECT ?? FROM orders |> ORDER BY a", "ORDER"),
        ("SELECT ?? FROM orders |> FETCH 3", "FETCH"),
        ("SELECT ?? count (x) FROM orders", "count"),
        ("SELECT ?? DISTINCT x FROM orders", "DISTINCT"),
        ("SELECT ?? FROM orders EXCEPT x", "EXCEPT"),
        ("SELECT ?? FROM orders JOIN dim", "JOIN"),
        ("SELECT ?? OVER (x) FROM orders", "OVER"),
        ("SELECT TOP 3 ?? FROM orders", "TOP"),
        ("SELECT ?? FROM orders PIVOT (x)", "PIVOT"),
        ("SELECT ?? FROM orders, raw.orders", "SELECT"),
        ("WITH t AS (SELECT id FROM orders) VALUES (1)", "WITH"),
        ("SELECT ?? (SELECT 1) FROM orders", "SELECT"),
    ],
)
def test_doubt_is_refused(sql: str, at: str) -> None:
    """Over a stream every word that could gather rows is a refusal at that word (DAG-21)."""
    with pytest.raises(NotRows) as caught:
        skim(sql).check_stream()

    assert caught.value.kind == "refused"
    assert caught.value.hint
    assert sql[caught.value.offset or 0 :].startswith(at)


@pytest.mark.parametrize("sql", ["SELECT ?? FROM orders WHERE a", "SELECT * EXCEPT (a) ?? FROM orders", 'SELECT "count" (x), "group" FROM dim', "SELECT counted(x) FROM orders"])
def test_plain_queries_pass(sql: str) -> None:
    """Without such a word there is nothing to refuse; a quoted name is no keyword."""
    if 'count"' in sql:
        with pytest.raises(NotRows, match="aggregate count"):
            skim(sql).check_stream()
    else:
        skim(sql).check_stream()


@pytest.mark.parametrize("sql", ["SELECT a here FROM orders", "SELECT a FROM orders here, b", "SELECT a AS form FROM b"])
def test_names_like_keywords_are_not_corrected(sql: str) -> None:
    """A name that looks like a misspelt keyword stays one."""
    skim(sql).check_words()
