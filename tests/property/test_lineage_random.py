"""Row lineage of composed queries: whatever keeps rows apart still does so inside of anything else that does."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.corpus.queries import ROW_COUNT, Case, cases
from tests.property.test_lineage_corpus import answer, fields, judge, session
from thalweg.arrow.metadata import ROW
from thalweg.dialect.lexer import Kind, Lexeme, lex

EXAMPLES = settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
NOISE = (" ", "\n", "\t", "\r\n", " /* ; ( ' */ ", ' -- , ) " GROUP BY\n', "/* a /* b */ FROM */", "  /* é😀 */\n")
DAMAGE = (
    "SELECT DISTINCT * FROM ({}) AS d",
    "SELECT * FROM ({}) AS d LIMIT 2",
    "SELECT * FROM ({}) AS d ORDER BY 1",
    "SELECT c0, count(*) AS c1, max(c2) AS c2 FROM ({}) AS d GROUP BY c0",
    "SELECT row_number() OVER (ORDER BY c0) AS c0, c1, c2 FROM ({}) AS d",
    "SELECT cap AS c0, status AS c1, ['x'] AS c2 FROM caps WHERE status IN (SELECT c1 FROM ({}) AS d)",
    "({}) UNION (SELECT 1, 'a', ['x'])",
    "SELECT d.* FROM ({}) AS d JOIN clicks ON d.c0 = clicks.order_id",
    "SELECT d.* FROM caps LEFT JOIN ({}) AS d ON d.c1 = caps.status",
)


class Built(NamedTuple):
    """A query whose columns are ``c0`` (a number), ``c1`` (a text) and ``c2`` (a list of texts)."""

    sql: str


@st.composite
def scans(draw: st.DrawFn) -> Built:
    """A query straight over a stream."""
    return Built(
        draw(
            st.sampled_from(
                [
                    "SELECT order_id AS c0, status AS c1, tags AS c2 FROM orders",
                    "SELECT o.order_id c0, o.note c1, ['k', o.status] c2 FROM orders AS o WHERE o.flag",
                    'SELECT "Customer Id" AS c0, upper(status) AS c1, tags[1:2] AS c2 FROM public.orders WHERE price > 1',
                    "SELECT * FROM (SELECT order_id, url, [url] FROM clicks) AS x(c0, c1, c2)",
                    "SELECT order_id AS c0, cap::varchar AS c1, tags AS c2 FROM orders LEFT JOIN caps USING (status)",
                    "FROM clicks SELECT order_id + 1 AS c0, url AS c1, make_array(url, 'z') AS c2",
                    "SELECT order_id AS c0, customer['name'] AS c1, map_keys(attrs) AS c2 FROM orders JOIN countries ON code = customer['country']",
                ]
            )
        )
    )


@st.composite
def wrapped(draw: st.DrawFn, inner: st.SearchStrategy[Built]) -> Built:
    """A query over another, by one of the shapes that keep rows apart."""
    sql = draw(inner).sql
    name = draw(st.sampled_from(["t", "q1", '"Q q"', "u"]))
    shape = draw(
        st.sampled_from(
            [
                "SELECT * FROM ({sql}) AS {name}",
                "SELECT {name}.* FROM ({sql}) AS {name}",
                "SELECT c0, * EXCLUDE (c0) FROM ({sql}) AS {name} WHERE c0 > 1 OR c0 IS NULL",
                "SELECT c0 * 2 AS c0, * EXCLUDE c0 FROM ({sql}) {name}",
                "SELECT * REPLACE (coalesce(c1, 'none') AS c1) FROM ({sql}) AS {name}",
                "SELECT p.x AS c0, p.y AS c1, p.z AS c2 FROM ({sql}) AS p(x, y, z)",
                "WITH {name} AS ({sql}) SELECT * FROM {name}",
                "WITH {name}(c0, c1, c2) AS ({sql}) SELECT {name}.* FROM {name} WHERE c1 <> 'x'",
                "WITH a AS ({sql}), {name} AS (SELECT * FROM a) SELECT c0, c1, c2 FROM {name}",
                "SELECT {name}.* FROM ({sql}) AS {name} LEFT JOIN caps ON caps.status = {name}.c1",
                "SELECT c0, c1, c2 FROM caps RIGHT JOIN ({sql}) AS {name} ON caps.status = {name}.c1",
                "SELECT {name}.* FROM ({sql}) AS {name} WHERE EXISTS (SELECT 1 FROM caps WHERE cap = c0)",
                "SELECT c0, tag AS c1, c2 FROM (SELECT *, unnest(c2) AS tag FROM ({sql}) AS {name}) AS e",
                "SELECT {name}.* FROM countries, ({sql}) AS {name}, caps WHERE cap > 1",
                "({sql})",
            ]
        )
    )
    return Built(shape.format(sql=sql, name=name))


@st.composite
def unions(draw: st.DrawFn, inner: st.SearchStrategy[Built]) -> Built:
    """Two or three queries one after the other."""
    parts = draw(st.lists(inner, min_size=2, max_size=3))
    return Built(" UNION ALL ".join(f"(SELECT c0, c1, c2 FROM ({part.sql}) AS b)" for part in parts))


def layers(inner: st.SearchStrategy[Built]) -> st.SearchStrategy[Built]:
    """One more level."""
    return st.one_of(wrapped(inner), wrapped(inner), unions(inner))


QUERIES = st.recursive(scans(), layers, max_leaves=4)


@EXAMPLES
@given(QUERIES)
def test_composed_query_keeps_rows_apart(built: Built) -> None:
    """Composed of shapes that keep rows apart, a query has the row number last and gives each row's own rows (DAG-08)."""
    found = judge(built.sql)
    assert found.kind == "rows", (found.reason, built.sql)
    assert found.spliced is not None

    wanted = fields(session(hidden=False), built.sql)
    assert fields(session(hidden=True), found.spliced) == [*wanted, (ROW, "int32")]
    whole = Counter(answer(session(hidden=True), found.spliced))
    assert Counter(row[:-1] for row in whole.elements()) == Counter(answer(session(hidden=False), built.sql))
    alone: Counter[tuple[str, ...]] = Counter()
    for row in range(ROW_COUNT):
        alone.update(answer(session(hidden=True, row=row), found.spliced))
    assert whole == alone


@EXAMPLES
@given(QUERIES, st.sampled_from(DAMAGE), st.sampled_from(["{}", "SELECT * FROM ({}) AS outside", "WITH o AS ({}) SELECT * FROM o"]))
def test_one_gathering_level_is_enough_to_refuse(built: Built, damage: str, outside: str) -> None:
    """A level that needs the whole stream is found at any depth, whatever stands around it (DAG-21)."""
    found = judge(outside.format(damage.format(built.sql)))

    assert found.kind == "refused"
    assert found.reason
    assert found.hint


def noisy(lexemes: list[Lexeme], sql: str, noise: list[str]) -> str:
    """The query with white space and comments put where white space was."""
    pieces, last = [], 0
    for index, lexeme in enumerate(lexemes):
        gap = sql[last : lexeme.start]
        pieces += [noise[index % len(noise)] if gap else "", sql[lexeme.start : lexeme.end]]
        last = lexeme.end
    return "".join(pieces)


@pytest.mark.parametrize("name", ["rows", "refused", "static"])
@settings(max_examples=60)
@given(data=st.data())
def test_comments_and_white_space_change_nothing(name: str, data: st.DataObject) -> None:
    """Comments, tabs and line ends between words change neither the verdict nor what is spliced in (CRD-05)."""
    case: Case = data.draw(st.sampled_from(cases(name)))
    lexemes, _ = lex(case.sql)
    sql = noisy(lexemes, case.sql, data.draw(st.lists(st.sampled_from(NOISE), min_size=1, max_size=7)))

    plain, found = judge(case.sql), judge(sql)

    assert (found.kind, found.reason, found.row_sources) == (plain.kind, plain.reason, plain.row_sources)
    assert [d.name for d in found.dependencies] == [d.name for d in plain.dependencies]
    if plain.spliced is not None and found.spliced is not None:
        assert words(found.spliced) == words(plain.spliced)


def words(sql: str) -> list[tuple[Kind, str]]:
    """A query without what stands between its words."""
    return [(lexeme.kind, lexeme.value) for lexeme in lex(sql)[0]]
