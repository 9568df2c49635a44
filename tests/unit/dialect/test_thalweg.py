"""The query dialect: what its trees and tokens say about the text."""

from __future__ import annotations

import sys

import pytest
from sqlglot import exp

from thalweg.dialect.thalweg import LIST_END, LIST_START, SELECT_END, SELECT_START, TRAILING_COMMA, Unreadable, deep_recursion, parse_query


@pytest.mark.parametrize(
    ("sql", "lists"),
    [
        ("SELECT a, b FROM t", [" a, b"]),
        ("SELECT a, (SELECT c, d FROM u) FROM t", [" a, (SELECT c, d FROM u)", " c, d"]),
        ("FROM t SELECT a", [" a"]),
        ("SELECT FROM t", [""]),
        ("SELECT ALL a AS x FROM t", [" a AS x"]),
        ("SELECT /* c */ a /* d */ FROM t", [" /* c */ a"]),
        ("SELECT 'é😀' FROM t", [" 'é😀'"]),
    ],
)
def test_select_lists_have_places(sql: str, lists: list[str]) -> None:
    """Every SELECT knows where its keyword stands and its list begins and ends, in code points."""
    selects = list(parse_query(sql).tree.find_all(exp.Select))

    assert sorted(sql[s.meta[LIST_START] : s.meta[LIST_END]] for s in selects) == sorted(lists)
    for select in selects:
        assert sql[select.meta[SELECT_START] :].startswith("SELECT")
        assert select.meta[SELECT_START] < select.meta[SELECT_END] <= select.meta[LIST_START] + len(" ")


def test_trailing_comma() -> None:
    """DataFusion allows a comma behind the last item; it is noted."""
    trailing = parse_query("SELECT a, b, FROM t").tree
    plain = parse_query("SELECT a, b FROM t").tree

    assert (trailing.meta[TRAILING_COMMA], plain.meta[TRAILING_COMMA]) == (True, False)


def test_token_places_are_code_points() -> None:
    """Offsets count code points, also behind astral characters, CRLF and comments."""
    sql = "SELECT '😀' AS é,\r\n\t-- 😀\n b FROM t"

    for token in parse_query(sql).tokens:
        assert sql[token.start : token.end + 1].strip("'") == token.text


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT a ~ 'x', a !~* 'y', a <=> 1, a == 1, a @> b, a XOR b FROM t",
        "SELECT {'a': 1}, MAP {'k': 1}, [1, 2][1], x['k'].y, a::int, TRY_CAST(a AS INT) FROM t",
        "SELECT date_bin(INTERVAL '1 minute', ts), EXTRACT(DOW FROM ts), ts AT TIME ZONE 'UTC' FROM t",
        "SELECT glob, only, lock, cache, copy, comment, merge, truncate FROM t variadic",
        "SELECT GROUP_CONCAT(a), if(a, b, c), decode(a, 'hex'), left(a, 1), values FROM t",
        "SELECT a FROM t GROUP /* c */ BY a ORDER -- c\n BY a",
        "VALUES (1, 2), (3, 4)",
        "SELECT * EXCLUDE (a) REPLACE (b AS c) FROM t UNION ALL BY NAME SELECT 1",
    ],
)
def test_readable(sql: str) -> None:
    """What DataFusion's generic dialect allows is read."""
    assert parse_query(sql).sql == sql


def test_calls_keep_their_names() -> None:
    """No call is renamed or taken for a function of another product."""
    names = [call.this for call in parse_query("SELECT NVL(a), date_bin(b), ifnull(c, d), sum(e), to_char(f) FROM t").tree.find_all(exp.Anonymous)]

    assert sorted(str(name).lower() for name in names) == ["date_bin", "ifnull", "nvl", "sum", "to_char"]


@pytest.mark.parametrize("sql", ["", "SELECT a FROM t |> LIMIT 3", "SELECT 1; SELECT 2", "SELECT (a FROM t", "SELECT 'a", "a b c d"])
def test_unreadable(sql: str) -> None:
    """What cannot be read says so with one kind of error."""
    with pytest.raises(Unreadable):
        parse_query(sql)


def test_recursion_limit_is_restored() -> None:
    """The limit is raised only while a query is judged."""
    before = sys.getrecursionlimit()
    with deep_recursion():
        inside = sys.getrecursionlimit()

    assert inside >= 10_000
    assert sys.getrecursionlimit() == before
