"""DataFusion behind one class: names, epochs, errors."""

from __future__ import annotations

import pyarrow as pa
import pytest

from thalweg.engine.session import Session, quoted
from thalweg.errors import QueryFailed, QueryRefused

SCHEMA = pa.schema([("a", pa.int64()), ("s", pa.string())])


def batch(*rows: int) -> pa.RecordBatch:
    """Rows of SCHEMA."""
    return pa.record_batch({"a": pa.array(rows, pa.int64()), "s": [f"x{r}" for r in rows]}, schema=SCHEMA)


def values(batches: list[pa.RecordBatch], name: str = "a") -> list[object]:
    """One column of a result."""
    return [value for b in batches for value in b.column(b.schema.get_field_index(name)).to_pylist()]


def test_a_source_is_a_table() -> None:
    """CREATE EXTERNAL TABLE of a streaming kind runs through DataFusion, so DESCRIBE works (CRD-03)."""
    session = Session()
    session.create_source("KAFKA", "CREATE UNBOUNDED EXTERNAL TABLE orders STORED AS KAFKA LOCATION 'kafka://h/t'", "orders", SCHEMA)

    assert values(session.run("DESCRIBE orders"), "column_name") == ["a", "s"]
    assert session.schema_of("SELECT a + 1 AS b FROM orders").field("b").type == pa.int64()
    assert session.names() == ["orders"]


def test_epochs_replace_each_other_under_stable_names() -> None:
    """The same text over the next epoch gives the next rows; empty epochs keep their schema."""
    session = Session()
    session.declare("orders", SCHEMA)
    session.put("orders", [batch(1, 2)], SCHEMA)
    assert values(session.run("SELECT a FROM orders")) == [1, 2]
    session.put("orders", [batch(3)], SCHEMA)
    assert values(session.run("SELECT a FROM orders")) == [3]
    session.put("orders", [], SCHEMA)
    assert session.run("SELECT a FROM orders") == []
    assert session.schema_of("SELECT * FROM orders").names == ["a", "s"]


def test_lane_schemas_and_quoted_names() -> None:
    """``raw.orders`` is a relation in a schema; a dot in a table's own name is not a schema."""
    session = Session()
    session.put("raw.orders", [batch(1)], SCHEMA)
    session.put("My.Table", [batch(2)], SCHEMA)

    assert values(session.run("SELECT a FROM raw.orders")) == [1]
    assert values(session.run('SELECT a FROM "My.Table"')) == [2]
    assert quoted('a"b') == '"a""b"'
    assert session.names() == ["My.Table", "raw.orders"]

    session.drop("My.Table")

    assert session.names() == ["raw.orders"]


def test_a_bound_view_is_inlined() -> None:
    """It gives the rows of the epoch that it was bound in."""
    session = Session()
    session.put("orders", [batch(1, 2, 3)], SCHEMA)
    session.bind("big", "SELECT a FROM orders WHERE a > 1")

    assert values(session.run("SELECT a * 10 AS a FROM big")) == [20, 30]

    session.put("orders", [batch(9)], SCHEMA)
    session.bind("big", "SELECT a FROM orders WHERE a > 1")

    assert values(session.run("SELECT a FROM big")) == [9]


def test_static_tables_are_read_by_datafusion(tmp_path: object) -> None:
    """A CSV file is a table."""
    path = f"{tmp_path}/dim.csv"
    with open(path, "w", encoding="utf-8") as file:  # noqa: PTH123 - a plain string is enough here
        file.write("k,label\n1,one\n")
    session = Session()
    schema = session.create_static(f"CREATE EXTERNAL TABLE dim STORED AS CSV LOCATION '{path}' OPTIONS ('format.has_header' 'true')", "dim")

    assert schema.names == ["k", "label"]
    assert values(session.run("SELECT label FROM dim"), "label") == ["one"]


@pytest.mark.parametrize(
    ("sql", "says"),
    [
        ("SELECT nope FROM orders", "No field named nope"),
        ("SELECT * FROM missing", "missing"),
        ("SELEC 1", "SELEC"),
        ("SELECT abs(s) FROM orders", "abs"),
    ],
)
def test_refusals_are_readable(sql: str, says: str) -> None:
    """The engine's message without its layers of prefixes."""
    session = Session()
    session.declare("orders", SCHEMA)

    with pytest.raises(QueryRefused, match=f"(?i){says}") as caught:
        session.schema_of(sql)
    assert not caught.value.message.startswith(("DataFusion error", "Schema error", "Error during planning"))


def test_failures_are_readable() -> None:
    """So are errors while a query runs."""
    session = Session()
    session.put("orders", [batch(0)], SCHEMA)

    with pytest.raises(QueryFailed, match=r"^Divide by zero"):
        session.run("SELECT 1 / a FROM orders")


def test_what_the_optimiser_refuses_is_a_refusal_on_every_path() -> None:
    """A query that only fails when it is optimised is the user's, readable, whichever way it is asked."""
    session = Session()
    schema = pa.schema([("at", pa.timestamp("ns", "UTC"))])
    session.put("orders", [pa.record_batch([pa.array([1], schema.field(0).type)], schema=schema)], schema)
    sql = "SELECT * FROM orders WHERE at > TIMESTAMP '9999-12-31T00:00:00Z'"

    for ask in (session.schema_of, session.reads, session.stream):
        with pytest.raises(QueryRefused, match=r"^Cast error: Overflow converting 9999"):
            ask(sql)
    session.bind("late", sql)
    with pytest.raises(QueryRefused, match=r"^Cast error"):
        session.stream("SELECT * FROM late")
    with pytest.raises(QueryFailed, match=r"^Cast error"):
        session.run(sql)


def test_what_has_no_operators_is_a_refusal() -> None:
    """A query that plans logically only is refused before it runs, and one over relations without rows is not (DAG-17)."""
    session = Session()
    schema = pa.schema([("id", pa.int64()), ("items", pa.list_(pa.int64()))])
    session.create_source("MEMORY", "CREATE EXTERNAL TABLE orders STORED AS MEMORY LOCATION 'x'", "orders", schema)
    beside = "SELECT id, x FROM orders CROSS JOIN UNNEST(items) AS u(x)"
    assert session.schema_of(beside).names == ["id", "x"]

    with pytest.raises(QueryRefused, match=r"Physical plan does not support .*OuterReferenceColumn"):
        session.plan(beside)
    session.plan("SELECT o.id FROM orders o JOIN orders p ON o.id = p.id ORDER BY 1")


def test_streams_and_functions() -> None:
    """Results can be taken batch by batch; functions are listed with their kind."""
    session = Session(batch_rows=2)
    session.put("orders", [batch(*range(5))], SCHEMA)
    found = {name: kind for name, kind, _ in session.functions()}

    assert session.stream("SELECT a FROM orders").read_all().num_rows == 5
    assert found["upper"] == "SCALAR"
    assert found["sum"] == "AGGREGATE"
    with pytest.raises(QueryRefused):
        session.stream("SELECT nope FROM orders")


def test_columns_that_a_query_reads() -> None:
    """By relation, what the optimised plan takes from each; nothing is said where an expression has a subquery of its own."""
    session = Session()
    session.put("t", (), pa.schema([("a", pa.int64()), ("b, c", pa.string()), ("d", pa.float64())]))
    session.put("u", (), pa.schema([("a", pa.int64()), ("e", pa.string())]))
    session.put("raw.t", (), pa.schema([("payload", pa.binary())]))

    assert session.reads('SELECT a FROM t WHERE "b, c" > \'x\'') == {"t": {"a", "b, c"}}
    assert session.reads("SELECT t.a FROM t JOIN u USING (a)") == {"t": {"a"}, "u": {"a"}}
    assert session.reads("SELECT x.k FROM (SELECT * FROM t) AS x(k, l, m)") == {"t": {"a"}}
    assert session.reads("SELECT 1 AS one FROM t, raw.t") == {"t": set()}
    assert session.reads("SELECT a, (SELECT max(e) FROM u) AS m FROM t") is None
    with pytest.raises(QueryRefused):
        session.reads("SELECT nothing FROM t")


def test_relations_of_any_type_can_be_empty() -> None:
    """A dense union, alone or inside others, which Arrow's own empty tables refuse (AVR-03)."""
    union = pa.dense_union([pa.field("int", pa.int32()), pa.field("string", pa.string())])
    schema = pa.schema([("u", union), ("l", pa.list_(union)), ("s", pa.struct([("u", union)])), ("m", pa.map_(pa.string(), union))])
    session = Session()
    session.put("t", (), schema)

    assert session.run("SELECT * FROM t") == []
    session.create_source("KAFKA", "CREATE EXTERNAL TABLE x STORED AS KAFKA LOCATION 'kafka://b/x'", "x", schema)
    assert session.schema_of("SELECT u FROM x").types == [union]


@pytest.mark.parametrize("view", [
    "SELECT * FROM (SELECT * FROM t WHERE a > 0) AS q(a1, n1, c1, r)",
    "SELECT a AS a1, n AS n1, c AS c1, r FROM t UNION ALL SELECT a, r, c, n FROM t",
])  # fmt: skip
def test_a_field_is_read_through_a_view_that_names_its_columns_anew(view: str) -> None:
    """The engine's own way to take fields out early is off: it refuses such queries at run time, which were planned without a word."""
    session = Session()
    schema = pa.schema([("a", pa.int64()), ("n", pa.string()), ("c", pa.struct([("x", pa.int64())])), ("r", pa.string())])
    session.declare("t", schema)
    session.put("t", [pa.record_batch({"a": [1], "n": ["n"], "c": [{"x": 5}], "r": ["r"]}, schema=schema)], schema)
    session.bind("v", view)

    assert set(values(session.run("SELECT a1, c1['x'] AS x, r FROM v"), "x")) == {5}
