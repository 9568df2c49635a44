"""Queries: planned as written and as spliced, refused where a stream has no answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from tests.unit.plan.conftest import ORDERS
from thalweg.dialect import lineage
from thalweg.dialect.lineage import Lineage

if TYPE_CHECKING:
    from pathlib import Path

    from tests.unit.plan.conftest import Complaints, Planner

COPY = "COPY orders TO './out/' STORED AS PARQUET;"


def test_the_text_stays_as_written(plan: Planner) -> None:
    """The user's text reaches the plan byte for byte; the spliced one only has a column more (DAG-07, DAG-08)."""
    sql = "SELECT  order_id /* id */, upper(status)\n  AS s -- s\n FROM orders"

    (node,) = plan(f"{ORDERS}CREATE VIEW v AS {sql};\n{COPY}").nodes

    assert node.sql == sql
    assert node.spliced is not None
    assert node.spliced.replace(', "orders"."_twg_row"', "") == sql
    assert node.schema == pa.schema([("order_id", pa.int64()), ("s", pa.string())])
    assert str(node.at) == "p.sql:4:13"


def test_nodes_with_two_dependents_are_materialised(plan: Planner) -> None:
    """Two readers, or a reader and a COPY, share a node; one inlines it; an unused view is fine (DAG-04, DAG-05)."""
    text = f"""{ORDERS}CREATE VIEW two AS SELECT order_id FROM orders;
    CREATE VIEW one AS SELECT order_id FROM two;
    CREATE VIEW none AS SELECT order_id FROM two;
    COPY one TO './a/' STORED AS PARQUET;
    COPY (SELECT order_id FROM orders) TO './b/' STORED AS PARQUET;"""

    shared = {node.name: node.shared for node in plan(text).nodes}

    assert shared == {"two": True, "one": False, "none": False, "copy_b": False}


def test_a_view_and_its_copies_count(plan: Planner) -> None:
    """Two COPYs of one view are two dependents (DAG-03, DAG-04)."""
    text = f"{ORDERS}CREATE VIEW v AS SELECT order_id FROM orders;\nCOPY v TO './a/' STORED AS PARQUET;\nCOPY v TO './b/' STORED AS PARQUET;"

    assert plan(text).nodes[0].shared


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("SELECT ordr_id FROM orders", "4:25 no column named ordr_id (did you mean order_id?)"),
        ("SELECT o.zzz FROM orders AS o", "4:25 no column named o.zzz (columns: order_id, customer, lines, amount, status)"),
        ("SELECT userId FROM orders", "4:25 no column named userid"),
        ("SELECT uper(status) AS s FROM orders", "4:25 no function named uper (did you mean upper?)"),
        ("SELECT customer['cuntry'] AS c FROM orders", "4:34 no field named cuntry in the struct"),
        ("SELECT CAST(order_id AS FOO) AS x FROM orders", "4:42 Unsupported SQL type FOO"),
        ("SELECT order_id AS a, amount AS a FROM orders", "4:50 the query gives more than one column the name a"),
        ("SELECT amount + lines AS x FROM orders", "4:18 Cannot coerce arithmetic expression"),
    ],
)
def test_the_engines_refusals_have_a_place(complaints: Complaints, query: str, said: str) -> None:
    """What the engine cannot plan is told at the word it speaks of, before a record moves (DAG-17, SQ-05)."""
    (found,) = complaints(f"{ORDERS}CREATE VIEW v AS {query};\n{COPY}")

    assert said in found


@pytest.mark.parametrize(
    ("query", "word"),
    [
        ("SELECT status, count(*) AS n FROM orders GROUP BY status", "GROUP BY"),
        ("SELECT sum(amount) AS s FROM orders", "sum"),
        ("SELECT DISTINCT status FROM orders", "DISTINCT"),
        ("SELECT status FROM orders ORDER BY status", "ORDER BY"),
        ("SELECT status FROM orders LIMIT 5", "LIMIT"),
        ("SELECT row_number() OVER () AS n FROM orders", "window"),
        ("SELECT a.order_id FROM orders AS a JOIN orders AS b ON a.order_id = b.order_id", "join"),
    ],
)
def test_what_a_stream_cannot_answer_is_refused(complaints: Complaints, query: str, word: str) -> None:
    """A query that would mean "of this micro-batch" is refused with the reason, also over a table with errors of its own (DAG-21)."""
    broken = ORDERS.replace("'format' 'json'", "'format' 'json', 'bad_dat' 'drop'")

    (sound,) = complaints(f"{ORDERS}CREATE VIEW v AS {query};\n{COPY}")
    unsound = complaints(f"{broken}CREATE VIEW v AS {query};\n{COPY}")

    assert word in sound
    assert sound in unsound


def test_joins_with_static_tables_are_fine(plan: Planner, tmp_path: Path) -> None:
    """All of SQL works over static tables, and a stream may be joined with the result (DAG-07)."""
    (tmp_path / "c.csv").write_text("code,name\nde,Germany\n")
    text = f"""{ORDERS}CREATE EXTERNAL TABLE c STORED AS CSV LOCATION 'c.csv' OPTIONS ('format.has_header' 'true');
    CREATE VIEW names AS SELECT code, max(name) AS name FROM c GROUP BY code ORDER BY code LIMIT 5;
    CREATE VIEW v AS SELECT o.order_id, n.name FROM orders AS o LEFT JOIN names AS n ON n.code = o.customer['country'];
    COPY v TO './v/' STORED AS PARQUET;"""

    names, v = plan(text, base=str(tmp_path)).nodes

    assert (names.sources, names.spliced, names.opaque) == ((), None, None)
    assert (v.inputs, v.sources) == (("orders", "names"), ("orders",))
    assert v.spliced is not None


def test_duplicate_output_names_are_listed(complaints: Complaints, tmp_path: Path) -> None:
    """A join that gives two columns one name is refused with the names, before any file is written (SQ-06)."""
    (tmp_path / "c.csv").write_text("order_id,status\n1,x\n")
    text = f"""{ORDERS}CREATE EXTERNAL TABLE c STORED AS CSV LOCATION 'c.csv' OPTIONS ('format.has_header' 'true');
    CREATE VIEW v AS SELECT * FROM orders AS o JOIN c ON c.order_id = o.order_id;
    COPY (SELECT * FROM orders AS o JOIN c ON c.order_id = o.order_id) TO './v/' STORED AS PARQUET;"""

    found = complaints(text, base=str(tmp_path))

    assert [line.split(" (")[0] for line in found] == [
        "5:22 view v has more than one column named order_id, status",
        "6:11 this query has more than one column named order_id, status",
    ]


def test_names_that_differ_in_case_stay_apart(plan: Planner) -> None:
    """Quoted names keep their capitals through the whole plan; generated SQL quotes (SQ-05)."""
    text = """CREATE EXTERNAL TABLE t ("userId" INT, user_id INT, "USERID" INT, "Order" INT, "a.b" INT, "a b" INT, "naïve" INT)
    STORED AS KAFKA LOCATION 'kafka://h:9/t' OPTIONS ('format' 'json');
    CREATE VIEW v AS SELECT "userId", user_id, "USERID", "Order", "a.b", "a b", "naïve" FROM t;
    COPY v TO './v/' STORED AS PARQUET;"""

    found = plan(text)

    assert found.lanes[0].schema is not None
    assert found.lanes[0].schema.names[:7] == ["userId", "user_id", "USERID", "Order", "a.b", "a b", "naïve"]
    assert found.nodes[0].spliced is not None


def test_columns_under_the_prefix_come_only_from_lanes(complaints: Complaints, plan: Planner) -> None:
    """A query may pass a lane's metadata on and may not invent any (MET-30)."""
    fine = "CREATE VIEW v AS SELECT payload, _twg_source_offset FROM raw.orders;"
    wrong = "CREATE VIEW v AS SELECT order_id AS _twg_source_topic FROM orders;"

    assert plan(f"{ORDERS}{fine}\nCOPY v TO './v/' STORED AS PARQUET;").nodes[0].spliced is not None
    (found,) = complaints(f"{ORDERS}{wrong}\n{COPY}")
    assert found.startswith("4:18 column _twg_source_topic is under the metadata prefix '_twg_' (rename it")


def test_dead_letters_are_queried_after_everything_else(plan: Planner) -> None:
    """The query of a COPY may read dlq.*; it runs when the epoch's errors are known."""
    text = f"{ORDERS}COPY (SELECT payload, _twg_error_code FROM dlq.orders) TO './d/' STORED AS PARQUET;\n{COPY}"

    (node,) = plan(text).nodes

    assert (node.after_errors, node.is_view, node.inputs) == (True, False, ("dlq.orders",))


@pytest.mark.parametrize(
    ("spliced", "why"),
    [
        ('SELECT order_id, status, "orders"."_twg_row" FROM orders', "changes its columns to order_id, status, _twg_row"),
        ('SELECT CAST(order_id AS INT) AS order_id, "orders"."_twg_row" FROM orders', "changes the type of order_id"),
        ('SELECT order_id, nothing AS "_twg_row" FROM orders', "the engine refuses it with the row number added"),
    ],
)
def test_a_splice_that_changes_the_query_is_not_used(plan: Planner, monkeypatch: pytest.MonkeyPatch, spliced: str, why: str) -> None:
    """Both texts are planned; where they differ in more than the hidden column, the rows are not traced and the reason is shown (DAG-08)."""

    def analyse(sql: str, streaming: object, aggregates: object) -> Lineage:
        found = real(sql, streaming, aggregates)
        return Lineage("rows", spliced, None, None, None, found.dependencies, found.row_sources)

    real = lineage.analyse
    monkeypatch.setattr(lineage, "analyse", analyse)

    found = plan(f"{ORDERS}CREATE VIEW v AS SELECT order_id FROM orders;\nCREATE VIEW w AS SELECT order_id FROM v;\n{COPY}")

    assert found.nodes[0].spliced is None
    assert why in str(found.nodes[0].opaque)
    assert "it reads v, whose rows are not traced" in str(found.nodes[1].opaque)


UNION = """CREATE EXTERNAL TABLE h STORED AS KAFKA LOCATION 'kafka://localhost:9092/h' OPTIONS ('format' 'avro', 'avro.schema' '
{"type": "record", "name": "R", "fields": [{"name": "id", "type": "long"}, {"name": "u", "type": ["null", "long", "string"]},
 {"name": "s", "type": {"type": "record", "name": "S", "fields": [{"name": "v", "type": ["long", "string"]}]}},
 {"name": "l", "type": {"type": "array", "items": ["long", "string"]}}, {"name": "m", "type": {"type": "map", "values": ["long", "string"]}},
 {"name": "ls", "type": {"type": "array", "items": "S"}}]}');
"""


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("SELECT CAST(u AS STRING) AS e FROM h", "u"),
        ("SELECT id, TRY_CAST(u AS BIGINT) + 1 AS e FROM h WHERE id > 1", "u"),
        ("SELECT upper(x.u::varchar) AS e FROM h AS x", "u"),
        ("SELECT id FROM h WHERE u = 'x'", "u"),
        ("SELECT CASE WHEN id = 1 THEN CAST(s.v AS STRING) END AS e FROM h", "s['v']"),
        ("SELECT e::bigint AS n FROM (SELECT u AS e FROM h)", "u"),
        ("SELECT [u::varchar] AS e FROM h", "u"),
        ("SELECT named_struct('a', u::varchar) AS e FROM h", "u"),
        ("SELECT map(['a'], [u::varchar]) AS e FROM h", "u"),
        ("SELECT l[1]::varchar AS e FROM h", "l[1]"),
        ("SELECT id FROM h WHERE m['k'] = 'x'", "m['k']"),
        ("SELECT x::varchar AS e FROM (SELECT unnest(l) AS x FROM h)", "unnest(l)"),
        ("WITH c AS (SELECT u::varchar AS x FROM h) SELECT x FROM c", "u"),
        ("SELECT l[1]::varchar AS a, l[1]::varchar || 'x' AS b, l[1]::bigint AS c FROM h", "l[1]"),
    ],
)
def test_a_cast_of_a_union_is_refused(complaints: Complaints, query: str, shown: str) -> None:
    """The engine would give NULL for every value of another branch, without a word, wherever in a query the cast stands (DEC-05)."""
    (said,) = complaints(f"{UNION}COPY ({query}) TO './out/' STORED AS PARQUET;")
    column = shown.removeprefix("unnest(").partition("[")[0].rstrip(")")

    assert f"column '{column}' {'is' if shown == column else 'holds'} a union" in said
    assert f"union_extract({shown}, '<branch>')" in said
    assert "'avro.union' 'struct'" in said


@pytest.mark.parametrize("query", ["SELECT l::varchar[] AS e FROM h", "SELECT id FROM h WHERE l = ['a']", "SELECT s::varchar AS e FROM h"])
def test_a_cast_of_what_holds_unions_is_refused(complaints: Complaints, query: str) -> None:
    """Lists and structs of unions lose the other branches in the same way; there is no one branch to take (DEC-05)."""
    (said,) = complaints(f"{UNION}COPY ({query}) TO './out/' STORED AS PARQUET;")

    assert " holds a union: a cast or comparison makes NULL of its other branches" in said
    assert "union_extract" not in said
    assert "'avro.union' 'struct'" in said


@pytest.mark.parametrize(
    "query",
    [
        "SELECT union_extract(u, 'long') AS a, union_extract(s.v, 'string') AS b, union_tag(u) AS t, CAST(id AS STRING) AS e FROM h WHERE u IS NOT NULL",
        "SELECT union_extract(u, 'long')::varchar AS a, 'CAST(u AS STRING)' AS b FROM h",
        "SELECT union_extract(l[1], 'long')::varchar AS a, array_length(l) > 1 AS b, cardinality(m) AS c, id::varchar AS d FROM h WHERE l[1] IS NOT NULL",
    ],
)
def test_branches_of_a_union_can_be_taken(plan: Planner, query: str) -> None:
    """What the hint names works, and a text that only looks like a cast is none."""
    assert plan(f"{UNION}COPY ({query}) TO './out/' STORED AS PARQUET;").nodes[0].schema is not None


def test_a_field_of_a_union_gets_the_hint(complaints: Complaints) -> None:
    """The engine knows no fields of a union; what works instead is said (DEC-05)."""
    (said,) = complaints(f"{UNION}COPY (SELECT u['long'] AS a FROM h) TO './out/' STORED AS PARQUET;")

    assert "union_extract(column, '<branch>')" in said
