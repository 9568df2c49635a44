"""Which columns of a source are read, and which a shared view makes, by queries and targets alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from thalweg.plan.explain import explain

if TYPE_CHECKING:
    from pathlib import Path

    from tests.unit.plan.conftest import Planner

TABLE = """CREATE EXTERNAL TABLE t (a INT, b STRING, c DOUBLE %s, k STRING) STORED AS KAFKA LOCATION 'kafka://h:9092/t'
OPTIONS ('format' 'json', 'key.format' 'raw', 'key.fields' 'k');
"""
ORDERS = """CREATE EXTERNAL TABLE t (a INT, b STRING, c DOUBLE, d DECIMAL(9, 2), s ROW<x INT, y STRING>, l ARRAY<INT>, m MAP<STRING, INT>, "Q" STRING)
STORED AS KAFKA LOCATION 'kafka://h:9092/t' OPTIONS ('format' 'json');
CREATE EXTERNAL TABLE st (b STRING, n BIGINT) STORED AS CSV LOCATION 'st.csv' OPTIONS ('format.has_header' 'true');
"""
SHARED = ORDERS + "CREATE VIEW v AS SELECT * FROM t WHERE c > 1; CREATE VIEW w AS SELECT a FROM v; CREATE VIEW x AS SELECT b FROM v;"


def shared(view: str, *readers: str, more: str = "") -> str:
    """A view with two readers."""
    return ORDERS + f"CREATE VIEW v AS {view};{more}" + "".join(copy(f"({reader})", f"out{n}") for n, reader in enumerate(readers))


def copy(query: str, target: str = "out") -> str:
    """A target."""
    return f"COPY {query} TO './{target}/' STORED AS PARQUET;"


@pytest.mark.parametrize(
    ("statements", "wanted"),
    [
        (copy("(SELECT a FROM t)"), {"a"}),
        (copy("(SELECT k FROM t WHERE c > 1)"), {"k", "c"}),
        (copy("(SELECT a FROM t)") + copy("(SELECT b FROM t)", "two"), {"a", "b"}),
        ("CREATE VIEW v AS SELECT a, b FROM t;" + copy("(SELECT a FROM v)"), {"a"}),
        ("CREATE VIEW v AS SELECT * FROM t WHERE c > 1;" + copy("(SELECT a FROM v)"), {"a", "c"}),
        ("CREATE VIEW v AS SELECT * FROM t; CREATE VIEW w AS SELECT * FROM v;" + copy("(SELECT a FROM w)"), {"a"}),
        ("CREATE VIEW v AS SELECT a, b FROM t; CREATE VIEW w AS SELECT c FROM t;" + copy("w"), {"c"}),
        (copy("raw.t"), set()),
        (copy("(SELECT a FROM t)") + copy("raw.t", "raw"), {"a"}),
        (copy("t"), None),
        (copy("(SELECT * FROM t)"), None),
        (copy("(SELECT a FROM t)") + copy("t", "all"), None),
    ],
)  # fmt: skip
def test_what_is_wanted(plan: Planner, statements: str, wanted: set[str] | None) -> None:
    """Columns of needed queries alone; a target of the table itself takes them all; value and key are told the same."""
    (source,) = plan(TABLE % "" + statements).sources

    assert source.key is not None
    assert source.value.request.wanted == source.key.request.wanted == wanted
    assert source.schema is not None
    assert source.schema.names == ["k", "a", "b", "c"]


def test_columns_that_must_not_be_null_are_read(plan: Planner) -> None:
    """NOT NULL is a rule for every record, whoever reads the column."""
    (source,) = plan(TABLE % "NOT NULL" + copy("(SELECT a FROM t)")).sources

    assert source.value.request.wanted == {"a", "c"}


def test_a_file_without_targets_reads_everything(plan: Planner) -> None:
    """What a REPL plans may be asked anything."""
    (source,) = plan(TABLE % "", need_copy=False).sources

    assert source.value.request.wanted is None


@pytest.fixture
def names(tmp_path: Path) -> str:
    """The folder with the static table."""
    (tmp_path / "st.csv").write_text("b,n\nx,1\n")
    return str(tmp_path)


def test_a_file_without_targets_makes_everything(plan: Planner, names: str) -> None:
    """What a REPL plans may be asked anything, views too."""
    made = plan(SHARED, base=names, need_copy=False).node_named("v")

    assert made is not None
    assert made.made is None


@pytest.mark.parametrize(
    ("view", "readers", "made", "wanted"),
    [
        ("SELECT * FROM t WHERE c > 1", ["SELECT a FROM v", "SELECT d, a FROM v WHERE b <> 'x'"], "a b d", "a b c d"),
        ("SELECT * FROM t WHERE c > 1", ["SELECT 1 AS one FROM v", "SELECT 2 AS two FROM v"], "", "c"),
        ("SELECT * EXCLUDE (c) FROM t", ["SELECT s['x'] AS x FROM v", "SELECT unnest(l) AS i FROM v"], "s l", "s l"),
        ("SELECT a AS k, s['y'] AS y, 1 AS one, b FROM t", ["SELECT k FROM v", "SELECT b FROM v"], "k one b", "a b"),
        ("WITH w AS (SELECT * FROM t) SELECT * FROM w", ["SELECT a FROM v", 'SELECT "Q" FROM v'], "a Q", "a Q"),
        ("SELECT * FROM (SELECT * FROM t) AS q(i, j, k, z, s, l, m, p)", ["SELECT i FROM v", "SELECT p FROM v"], "i p", "a Q"),
        ("SELECT * FROM t -- all\n", ["SELECT y FROM v AS q(x, y, z, d, s, l, m, p)", "SELECT a FROM v"], "a b", "a b"),
        ("SELECT * FROM t UNION ALL SELECT * FROM t", ["SELECT a FROM v", "SELECT b FROM v"], "a b", "a b"),
        ("SELECT *, unnest(l) AS i FROM t", ["SELECT a FROM v", "SELECT b FROM v"], "a b i", "a b l"),
        ("SELECT t.*, st.n FROM t JOIN st USING (b)", ["SELECT a FROM v", "SELECT a, n FROM v"], "a n", "a b"),
        ("SELECT t.*, st.n FROM t NATURAL JOIN st", ["SELECT a FROM v", "SELECT a, n FROM v"], "a n", "a b"),
    ],
)  # fmt: skip
def test_what_a_shared_view_makes(plan: Planner, names: str, view: str, readers: list[str], made: str, wanted: str) -> None:
    """The columns that its readers use, in its own order; the view's own filter, joins and unnest read what they need. Its schema stays the user's."""
    found = plan(shared(view, *readers), base=names)
    node = found.node_named("v")

    assert node is not None
    assert node.schema is not None
    assert node.shared
    assert node.made == tuple(made.split())
    assert node.run.startswith("SELECT ")
    assert node.text == node.spliced
    assert len(node.schema) > len(node.made)
    assert found.sources[0].value.request.wanted == set(wanted.split())


@pytest.mark.parametrize(
    ("view", "kept"),
    [
        ("SELECT *, CAST(b AS INT) AS e FROM t", "a e"),
        ("SELECT a, upper(b) AS e, m['k'] AS f, c FROM t", "a e f"),
        ("SELECT * REPLACE (a + 1 AS a, c / 2 AS c) FROM t", "a c"),
        ("SELECT t.*, st.n FROM t JOIN (SELECT b AS k, max(n) AS n FROM st GROUP BY b) AS st ON st.k = t.b", "a n"),
        ("SELECT t.*, st.n FROM t JOIN (SELECT DISTINCT b AS k, n FROM st) AS st ON st.k = t.b", "a n"),
        ("SELECT t.*, st.n FROM t JOIN (SELECT b AS k, row_number() OVER (ORDER BY b) AS n FROM st) AS st ON st.k = t.b", "a n"),
        ("SELECT t.*, st.n FROM t JOIN (SELECT b AS k, n FROM st INTERSECT SELECT b, n FROM st) AS st ON st.k = t.b", "a n"),
        ("SELECT t.*, st.n FROM t JOIN (WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 3) SELECT n FROM r) AS st ON st.n = t.a", "a n"),
        ("SELECT *, (SELECT max(n) FROM st WHERE st.b = t.b) AS e FROM t", "a b e"),
        ("SELECT *, b || 'x' AS e FROM t UNION ALL SELECT *, b AS e FROM t", "a e"),
        ("SELECT a, b, c FROM t UNION ALL SELECT c, b, a FROM t", "a c"),
    ],
)  # fmt: skip
def test_what_could_fail_is_computed_as_before(plan: Planner, names: str, view: str, kept: str) -> None:
    """A row is a dead letter of a view whoever reads the column that fails; and what is not understood is made whole (law 2)."""
    node = plan(shared(view, "SELECT a FROM v", "SELECT a FROM v WHERE a > 1"), base=names).node_named("v")

    assert node is not None
    assert node.made == tuple(kept.split())


def test_an_error_in_a_view_between_is_kept_too(plan: Planner, names: str) -> None:
    """A view with one reader becomes part of it: what it computes is computed by the shared view that hands it on."""
    text = ORDERS + "CREATE VIEW i AS SELECT *, CAST(b AS INT) AS e FROM t; CREATE VIEW v AS SELECT * FROM i;"
    found = plan(text + copy("(SELECT a FROM v)") + copy("(SELECT c FROM v)", "two"), base=names)
    inner, node = found.node_named("i"), found.node_named("v")

    assert inner is not None
    assert inner.made is None
    assert node is not None
    assert node.made == ("a", "c", "e")
    assert found.sources[0].value.request.wanted == {"a", "b", "c"}


@pytest.mark.parametrize(
    ("view", "readers", "wanted"),
    [
        ("SELECT * FROM t", ["SELECT * FROM v", "SELECT a FROM v"], None),
        ("SELECT * FROM t", ["SELECT a, (SELECT max(n) FROM st) AS n FROM v", "SELECT a FROM v"], None),
        ("SELECT a, b FROM t", ["SELECT a FROM v", "SELECT b FROM v"], {"a", "b"}),
    ],
)  # fmt: skip
def test_views_that_make_everything(plan: Planner, names: str, view: str, readers: list[str], wanted: set[str] | None) -> None:
    """All columns are read, or the engine does not show which: everything is made and decoded."""
    found = plan(shared(view, *readers), base=names)
    node = found.node_named("v")

    assert node is not None
    assert node.made is None
    assert node.run == node.spliced
    assert found.sources[0].value.request.wanted == wanted


def test_a_target_of_the_view_takes_all_of_it(plan: Planner, names: str) -> None:
    """COPY v TO a target beside a query over it: the target's columns are the view's."""
    found = plan(shared("SELECT * FROM t", "SELECT a FROM v") + copy("v", "all"), base=names)
    node = found.node_named("v")

    assert node is not None
    assert node.made is None
    assert found.sources[0].value.request.wanted is None


def test_a_view_of_the_raw_lane_makes_what_is_read_and_what_is_never_null(plan: Planner, names: str) -> None:
    """NULLs stand in for what is not made, so columns that cannot be NULL are always made."""
    found = plan(shared("SELECT * FROM raw.t", "SELECT payload FROM v", "SELECT _twg_source_offset FROM v"), base=names)
    node = found.node_named("v")

    assert node is not None
    assert node.schema is not None
    assert node.made is not None
    assert {"payload", "_twg_source_offset"} <= set(node.made)
    assert {field.name for field in node.schema if not field.nullable} <= set(node.made)
    assert len(node.made) < len(node.schema)


def test_readers_that_no_target_needs_do_not_count(plan: Planner, names: str) -> None:
    """A view that nobody copies reads nothing."""
    found = plan(shared("SELECT * FROM t", "SELECT a FROM v", "SELECT b FROM v", more="CREATE VIEW idle AS SELECT * FROM v;"), base=names)
    node = found.node_named("v")

    assert node is not None
    assert node.made == ("a", "b")


def test_what_the_user_sees_stays(plan: Planner, names: str) -> None:
    """`twg check` shows the view as it was written, pruned or not."""
    text = explain(plan(shared("SELECT * FROM t", "SELECT a FROM v", "SELECT b FROM v"), base=names))

    view = text.partition("view v\n")[2].partition("\n\n")[0].splitlines()
    table = text.partition("table t:")[2].partition("\n\n")[0].splitlines()
    assert view == ["  computed once an epoch; rows are traced to their records", *table[table.index("  a        int32") :]]
