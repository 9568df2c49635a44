"""Columns of queries that are handed through, and those that take an expression."""

from __future__ import annotations

import pyarrow as pa
import pytest

from thalweg.engine.session import Session
from thalweg.errors import QueryRefused

SCHEMA = pa.schema([
    ("id", pa.int64()), ("note", pa.string()), ("c", pa.struct([("id", pa.int64()), ("m", pa.string())])), ("l", pa.list_(pa.int64())),
    ("m", pa.map_(pa.string(), pa.int64())), ("d", pa.struct([("m", pa.map_(pa.string(), pa.int64()))])),
])  # fmt: skip


def session() -> Session:
    """Two relations of the same columns."""
    made = Session()
    for name in ("t", "u", "raw.t"):
        made.declare(name, SCHEMA)
    return made


@pytest.mark.parametrize(
    ("sql", "hard"),
    [
        ("SELECT * FROM t", ""),
        ("SELECT id AS k, c['id'] AS x, c.m AS y, 1 AS one, NULL AS n FROM t WHERE upper(note) = 'X'", ""),
        ("SELECT CAST(note AS INT) AS k, id + 1 AS i, id FROM t", "k i"),
        ("SELECT m['a'] AS a, d['m'] AS b, l[1] AS e FROM t", "a b e"),
        ("SELECT x AS y, id FROM (SELECT upper(note) AS x, id FROM t) AS q", "y"),
        ("SELECT c['id'] AS k FROM (SELECT id, named_struct('id', id + 1) AS c FROM t)", "k"),
        ("SELECT * FROM t UNION ALL SELECT * FROM u", ""),
        ("SELECT id, note FROM t UNION ALL SELECT id, note || 'x' FROM u", "note"),
        ("SELECT id, note FROM t UNION ALL SELECT note, id FROM u", "id note"),
        ("SELECT t.id, u.note FROM t LEFT JOIN u USING (id)", ""),
        ("SELECT t.id, q.note FROM t JOIN (SELECT id, upper(note) AS note FROM u) AS q USING (id)", "note"),
        ("SELECT id, note FROM t ORDER BY note LIMIT 3", ""),
        ("SELECT id, unnest(l) AS i FROM t", "i"),
        ("SELECT id, unnest(c) FROM t", "t.c.id t.c.m"),
        ("SELECT DISTINCT id, note FROM t", "id note"),
        ("SELECT id, max(note) AS n FROM t GROUP BY id", "id n"),
        ("SELECT id, row_number() OVER (ORDER BY id) AS n FROM t", "id n"),
        ("SELECT id FROM t WHERE false", "id"),
        ("SELECT t.id, r.n FROM t JOIN (WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 3) SELECT * FROM r) AS r ON r.n = t.id", "n"),
        ("SELECT id, (SELECT max(id) FROM u) AS n FROM t", "n"),
        ("SELECT id, random() AS r FROM t", "r"),
    ],
)  # fmt: skip
def test_what_takes_an_expression(sql: str, hard: str) -> None:
    """Columns, fields of structs and literals do not; anything else, and what is not understood, does."""
    assert session().computed(sql, {}) == set(hard.split())


def test_columns_that_a_view_computes() -> None:
    """They are known by name; a lane of the same name is another relation."""
    known = {"t": frozenset({"note"})}

    assert session().computed("SELECT id, note AS n FROM t", known) == {"n"}
    assert session().computed("SELECT id, note AS n FROM raw.t", known) == set()
    assert session().computed("SELECT u.note FROM u JOIN t USING (id)", known) == {"note"}


def test_a_query_that_cannot_be_planned() -> None:
    """It is refused as everywhere."""
    with pytest.raises(QueryRefused, match="nothing"):
        session().computed("SELECT nothing FROM t", {})
