"""What one run does with its records: DAG, lanes, bad records, errors of queries, metadata."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from thalweg.errors import DecodeFailed, QueryFailed, ScriptErrors
from thalweg.model.events import BadRecords, NodeRan, Polled, RecordsDropped

if TYPE_CHECKING:
    from tests.integration.conftest import Lab

ORDERS = """
SET 'pipeline.name' = '{t}';
CREATE EXTERNAL TABLE orders (id BIGINT, country STRING, amount STRING, lines ARRAY<ROW<sku STRING, qty INT>>)
STORED AS MEMORY LOCATION 'memory://{t}-orders' OPTIONS ('format' 'json', 'scan.bounded.mode' 'latest-offset' %s);
"""


def orders(options: str = "") -> str:
    """The source, with more options."""
    return ORDERS % options


def order(number: int, **fields: object) -> dict[str, object]:
    """One order."""
    return {"id": number, "country": "de", "amount": "1", "lines": [], **fields}


def test_filter_unnest_and_fan_out(lab: Lab) -> None:
    """Interior nodes and leaves have targets of their own; one poll feeds them all (DAG-02, DAG-03, DAG-05, DAG-08)."""
    lab.fill(
        order(1, lines=[{"sku": "a", "qty": 1}, {"sku": "b", "qty": 2}]), order(2, country="fr", lines=[{"sku": "c", "qty": 3}]),
        order(3, lines=[]), order(4, country="xx", lines=[{"sku": "d", "qty": 4}]),
    )
    lab.run(orders() + """
        CREATE VIEW clean AS SELECT id, upper(country) AS country, lines FROM orders WHERE country <> 'xx';
        CREATE VIEW order_lines AS SELECT id, l['sku'] AS sku, l['qty'] AS qty FROM (SELECT id, unnest(lines) AS l FROM clean);
        COPY raw.orders TO 'memory://{t}-raw' STORED AS MEMORY;
        COPY clean TO 'memory://{t}-clean' STORED AS MEMORY;
        COPY order_lines TO 'memory://{t}-lines' STORED AS MEMORY;
        COPY (SELECT id FROM clean WHERE id > 1) TO 'memory://{t}-some' STORED AS MEMORY OPTIONS ('metadata' 'none');
    """)

    assert lab.column("clean", "country") == ["DE", "FR", "DE"]
    assert [(r["id"], r["sku"], r["_twg_source_offset"]) for r in lab.rows("lines")] == [(1, "a", 0), (1, "b", 0), (2, "c", 1)]
    assert lab.rows("some") == [{"id": 2}, {"id": 3}]
    assert len(lab.rows("raw")) == 4
    assert sum(e.rows for e in lab.seen.of(Polled)) == 4
    assert [e.node for e in lab.seen.of(NodeRan)].count("clean") == len([e for e in lab.seen.of(Polled) if e.rows])


def test_records_that_make_no_rows_are_handled(lab: Lab) -> None:
    """Everything filtered away, and still committed (DAG-10, law 3)."""
    lab.fill(*(order(n) for n in range(5)))
    lab.run(orders() + "COPY (SELECT id FROM orders WHERE id > 99) TO 'memory://{t}-out' STORED AS MEMORY;")

    assert lab.rows("out") == []
    committed = lab.topic().committed(f"lab{lab.number}", 0)
    assert committed is not None
    assert (committed.offset, committed.metadata) == (5, f"twg:lab{lab.number}")


def test_one_bad_record_is_one_dead_letter(lab: Lab) -> None:
    """The original bytes, where they lay and why they failed; the neighbours pass (DLQ-03, DLQ-09, DLQ-10, law 4)."""
    lab.fill(order(1), b"{no json", None, order(2), order(3, id="x"))
    lab.run(orders(", 'bad_data' 'dlq'") + """
        COPY orders TO 'memory://{t}-out' STORED AS MEMORY;
        COPY dlq.orders TO 'memory://{t}-dead' STORED AS MEMORY;
        COPY (SELECT _twg_error_code AS code, count FROM (SELECT _twg_error_code, 1 AS count FROM dlq.orders)) TO 'memory://{t}-codes'
            STORED AS MEMORY;
    """)
    dead = lab.rows("dead")

    assert lab.column("out", "id") == [1, 2]
    assert [(r["payload"], r["_twg_source_offset"], r["_twg_error_code"]) for r in dead] == [
        (b"{no json", 1, "decode.malformed"), (b'{"id": "x", "country": "de", "amount": "1", "lines": []}', 4, "decode.type"),
    ]
    assert {r["_twg_error_relation"] for r in dead} == {"orders"}
    assert all(r["_twg_record_id"] for r in dead)
    assert lab.column("codes", "code") == ["decode.malformed", "decode.type"]
    assert [e.rows for e in lab.seen.of(RecordsDropped)] == [1]


def test_bad_data_fail_names_the_record_and_keeps_what_came_before(lab: Lab) -> None:
    """Topic, partition and offset; a restart goes on at the bad record."""
    lab.fill(*(order(n) for n in range(10)), b"?", order(11))
    sql = orders() + "COPY orders TO 'memory://{t}-out' STORED AS MEMORY;"

    with pytest.raises(DecodeFailed, match=rf"lab{lab.number}-orders\[0\] offset 10: decode.malformed.*bad_data"):
        lab.run(sql, budget__rows="5")
    assert lab.column("out", "id") == list(range(10))
    with pytest.raises(DecodeFailed, match="offset 10"):
        lab.run(sql, budget__rows="5")
    assert lab.column("out", "id") == list(range(10))


def test_bad_data_drop_counts(lab: Lab) -> None:
    """Left out by a rule that says so, and counted by code."""
    lab.fill(order(1), b"?", b"!")
    lab.run(orders(", 'bad_data' 'drop'") + "COPY orders TO 'memory://{t}-out' STORED AS MEMORY;")

    assert lab.column("out", "id") == [1]
    assert [(e.policy, e.codes) for e in lab.seen.of(BadRecords)] == [("drop", {"decode.malformed": 2})]


def test_an_error_of_a_query_costs_its_row_in_its_branch(lab: Lab) -> None:
    """It still lands where it works; the dead letter names the node and has the original bytes (SQ-08)."""
    lab.fill(*(order(n, amount="x" if n == 7 else str(n)) for n in range(20)))
    lab.run(orders(", 'bad_data' 'dlq'") + """
        CREATE VIEW numbers AS SELECT id, CAST(amount AS INT) AS amount FROM orders;
        CREATE VIEW doubled AS SELECT id, amount * 2 AS amount FROM numbers;
        COPY doubled TO 'memory://{t}-doubled' STORED AS MEMORY;
        COPY orders TO 'memory://{t}-all' STORED AS MEMORY;
        COPY dlq.orders TO 'memory://{t}-dead' STORED AS MEMORY;
    """)
    (dead,) = lab.rows("dead")

    assert lab.column("doubled", "amount") == [2 * n for n in range(20) if n != 7]
    assert lab.column("all", "id") == list(range(20))
    assert (dead["_twg_source_offset"], dead["_twg_error_code"], dead["_twg_error_relation"]) == (7, "sql.cast", "doubled")


def test_an_error_of_a_query_fails_where_it_should(lab: Lab) -> None:
    """Without a dead-letter lane the pipeline fails and says what helps."""
    lab.fill(order(1, amount="x"))

    with pytest.raises(QueryFailed, match=r"Cannot cast.*try_cast"):
        lab.run(orders() + "COPY (SELECT CAST(amount AS INT) AS a FROM orders) TO 'memory://{t}-out' STORED AS MEMORY;")
    assert lab.topic().committed(f"lab{lab.number}", 0) is None


def test_decimal_overflow_is_an_error_of_its_row(lab: Lab) -> None:
    """DataFusion lets it pass; no sink ever sees a decimal beyond its precision (SQ-02)."""
    lab.fill(order(1, amount="1"), order(2, amount="9" * 38))
    lab.run(orders(", 'bad_data' 'dlq'") + """
        COPY (SELECT id, CAST(amount AS DECIMAL(38,0)) * CAST(9 AS DECIMAL(38,0)) AS d FROM orders) TO 'memory://{t}-out' STORED AS MEMORY;
        COPY dlq.all TO 'memory://{t}-dead' STORED AS MEMORY;
    """)

    assert lab.column("out", "id") == [1]
    assert lab.column("dead", "_twg_error_code") == ["sql.arithmetic"]


def test_an_error_in_a_query_over_dead_letters_fails_the_pipeline(lab: Lab) -> None:
    """There is nowhere left to put it."""
    lab.fill(order(1), b"?")

    with pytest.raises(QueryFailed, match="Cannot cast"):
        lab.run(orders(", 'bad_data' 'dlq'") + """
            COPY orders TO 'memory://{t}-out' STORED AS MEMORY;
            COPY (SELECT CAST(_twg_error_code AS INT) AS n FROM dlq.orders) TO 'memory://{t}-dead' STORED AS MEMORY;
        """)


def test_two_sources_meet_in_a_union(lab: Lab) -> None:
    """Each epoch has one source's records; the other side of UNION ALL is empty then."""
    lab.fill({"id": 1}, {"id": 2}, topic="a")
    lab.fill({"id": 10}, {"id": 20}, topic="b")
    lab.run("""
        SET 'pipeline.name' = '{t}';
        CREATE EXTERNAL TABLE a (id BIGINT) STORED AS MEMORY LOCATION 'memory://{t}-a' OPTIONS ('format' 'json', 'scan.bounded.mode' 'latest-offset');
        CREATE EXTERNAL TABLE b (id BIGINT) STORED AS MEMORY LOCATION 'memory://{t}-b' OPTIONS ('format' 'json', 'scan.bounded.mode' 'latest-offset');
        CREATE VIEW low AS SELECT id, 'a' AS origin FROM a;
        CREATE VIEW both AS SELECT id, origin FROM low UNION ALL SELECT id, 'b' AS origin FROM b;
        COPY both TO 'memory://{t}-out' STORED AS MEMORY;
        COPY (SELECT id FROM both WHERE id > 1) TO 'memory://{t}-some' STORED AS MEMORY;
    """, budget__rows="1")

    assert sorted((r["origin"], r["id"], r["_twg_source_topic"][-2:]) for r in lab.rows("out")) == [
        ("a", 1, "-a"), ("a", 2, "-a"), ("b", 10, "-b"), ("b", 20, "-b"),
    ]
    assert sorted(lab.column("some", "id")) == [2, 10, 20]


def test_a_static_table_joins(lab: Lab) -> None:
    """Rows keep their lineage through a join with a file."""
    (lab.folder / "dim.csv").write_text("code,name\nde,Germany\nfr,France\n")
    lab.fill(order(1), order(2, country="fr"), order(3, country="nl"))
    lab.run(orders() + f"""
        CREATE EXTERNAL TABLE dim STORED AS CSV LOCATION '{lab.folder}/dim.csv' OPTIONS ('format.has_header' 'true');
        CREATE VIEW named AS SELECT o.id, d.name FROM orders o JOIN dim d ON d.code = o.country;
        COPY named TO 'memory://{{t}}-out' STORED AS MEMORY;
    """)

    assert sorted((r["id"], r["name"], r["_twg_source_offset"]) for r in lab.rows("out")) == [(1, "Germany", 0), (2, "France", 1)]


def test_a_broken_static_table_is_no_records_fault(lab: Lab) -> None:
    """With dead letters too, the run ends: no record is set aside for a file that cannot be read, or is gone."""
    dim = lab.folder / "dim.csv"
    text = orders(", 'bad_data' 'dlq'") + f"""
        CREATE EXTERNAL TABLE dim (code STRING, name INT) STORED AS CSV LOCATION '{dim}' OPTIONS ('format.has_header' 'true');
        CREATE VIEW upper_dim AS SELECT upper(code) AS code, name FROM dim;
        CREATE VIEW named AS SELECT o.id, d.name FROM orders o LEFT JOIN upper_dim d ON d.code = upper(o.country);
        COPY named TO 'memory://{{t}}-out' STORED AS MEMORY;
        COPY dlq.orders TO 'memory://{{t}}-dead' STORED AS MEMORY;
    """
    lab.fill(order(1), order(2))
    dim.write_text("code,name\nde,1\n")
    pipeline = lab.build(text)
    dim.write_text("code,name\nde,one\n")

    with pytest.raises(QueryFailed, match="static table dim cannot be read"):
        pipeline.run()

    dim.write_text("code,name\nde,1\n")
    pipeline = lab.build(text)
    dim.unlink()

    with pytest.raises(QueryFailed, match=r"static table dim: .*dim\.csv is gone"):
        pipeline.run()
    assert lab.rows("dead") == []


def test_metadata_columns_and_the_chain_of_times(lab: Lab) -> None:
    """Broker's time, our reading, our writing: in that order on every record (MET-03, MET-04, MET-36)."""
    lab.fill(order(1))
    lab.run("""
        SET 'pipeline.name' = '{t}';
        CREATE EXTERNAL TABLE orders (id BIGINT, at TIMESTAMP_LTZ(3) METADATA FROM 'timestamp', place BIGINT METADATA FROM 'offset')
        STORED AS MEMORY LOCATION 'memory://{t}-orders' OPTIONS ('format' 'json', 'scan.bounded.mode' 'latest-offset');
        COPY orders TO 'memory://{t}-out' STORED AS MEMORY OPTIONS ('metadata' 'all');
    """)
    (row,) = lab.rows("out")

    assert (row["id"], row["place"], row["_twg_source_offset"]) == (1, 0, 0)
    assert row["at"] == row["_twg_source_timestamp"]
    assert row["_twg_source_timestamp"] < row["_twg_ingest_ts"] < row["_twg_emit_ts"]
    assert len(row["_twg_record_id"]) == 16


def test_parquet_files_carry_spans_and_types(lab: Lab) -> None:
    """The same run into files: partitioned, typed, with the footer that says where the rows come from."""
    lab.fill(*(order(n, country="de" if n % 2 else "fr") for n in range(10)))
    lab.run(orders() + "COPY orders TO '{out}' STORED AS PARQUET PARTITIONED BY (country);")
    files = sorted((lab.folder / "out").rglob("*.parquet"))

    assert [f.parent.name for f in files] == ["country=de", "country=fr"]
    assert sorted(i for f in files for i in pq.ParquetFile(f).read(["id"]).column(0).to_pylist()) == list(range(10))
    footer = pq.ParquetFile(files[0]).metadata.metadata
    assert any(b"twg" in key for key in footer)


def test_declared_metadata_that_is_made_here(lab: Lab) -> None:
    """``METADATA FROM 'record_id'`` and ``'cluster'`` are what the metadata columns are, in the snapshot's and the pipeline's rows (MET-05)."""
    lab.fill({"id": 1}, b"x", {"id": 2})
    lab.run("""
SET 'pipeline.name' = '{t}';
CREATE EXTERNAL TABLE orders (id BIGINT, rid BYTES METADATA FROM 'record_id', cluster STRING METADATA FROM 'cluster')
STORED AS MEMORY LOCATION 'memory://{t}-orders' OPTIONS ('format' 'json', 'scan.bounded.mode' 'latest-offset', 'bad_data' 'drop', 'cluster.alias' 'here');
COPY orders TO 'memory://{t}-out' STORED AS MEMORY OPTIONS ('metadata' 'all');
""")

    assert lab.column("out", "id") == [1, 2]
    assert lab.column("out", "rid") == lab.column("out", "_twg_record_id")
    assert len(set(lab.column("out", "rid"))) == 2
    assert lab.column("out", "cluster") == lab.column("out", "_twg_source_cluster") == ["here"] * 2


def test_text_in_views_reaches_parquet_as_text(lab: Lab) -> None:
    """Views of text and bytes, also inside lists, structs and maps and as the partition column, are plain in the file; no row is lost (PQ-01)."""
    lab.fill(*(order(n, country="de" if n % 2 else "fr", amount="long " * 9) for n in range(10)))
    lab.run(orders() + """
        COPY (SELECT id, arrow_cast(country, 'Utf8View') AS country, arrow_cast(amount, 'BinaryView') AS bytes,
                     make_array(arrow_cast(amount, 'Utf8View'), NULL) AS list, named_struct('t', arrow_cast(amount, 'Utf8View')) AS one,
                     map(['k'], [arrow_cast(amount, 'Utf8View')]) AS pairs
              FROM orders) TO '{out}' STORED AS PARQUET PARTITIONED BY (country) OPTIONS ('metadata' 'none');
    """)
    table = pq.read_table(lab.folder / "out", partitioning=None).sort_by("id")
    text = "long " * 9

    assert [table.schema.field(name).type for name in ("country", "bytes")] == [pa.string(), pa.binary()]
    assert "view" not in str(table.schema)
    assert table.num_rows == 10
    assert table.to_pylist()[1] == {
        "id": 1, "country": "de", "bytes": text.encode(), "list": [text, None], "one": {"t": text}, "pairs": [("k", text)],
    }


def test_metadata_partitions_under_a_name_that_readers_see(lab: Lab) -> None:
    """What the refusal of ``_twg_source_topic`` advises works: AS over the raw lane, METADATA FROM in the table; a folder's reader finds every row."""
    lab.fill(*(order(n) for n in range(4)))
    lab.run("""
        SET 'pipeline.name' = '{t}';
        CREATE EXTERNAL TABLE orders (id BIGINT, topic STRING METADATA FROM 'topic')
        STORED AS MEMORY LOCATION 'memory://{t}-orders' OPTIONS ('format' 'json', 'scan.bounded.mode' 'latest-offset');
        COPY orders TO '{out}/decoded' STORED AS PARQUET PARTITIONED BY (topic);
        COPY (SELECT *, _twg_source_topic AS topic FROM raw.orders) TO '{out}/raw' STORED AS PARQUET PARTITIONED BY (topic);
    """)

    assert [ds.dataset(lab.folder / "out" / name, partitioning="hive").count_rows() for name in ("decoded", "raw")] == [4, 4]


@pytest.mark.parametrize(("relation", "column"), [("orders", "_twg_source_topic"), ("raw.orders", "_twg_source_topic")])
def test_partitions_that_readers_skip_are_refused(lab: Lab, relation: str, column: str) -> None:
    """A metadata column under its own name is refused before anything runs, where the COPY stands."""
    with pytest.raises(ScriptErrors, match=f"PARTITIONED BY column '{column}': readers take folders whose names begin with '_'"):
        lab.run(orders() + f"COPY {relation} TO '{{out}}' STORED AS PARQUET PARTITIONED BY ({column});")
    assert not (lab.folder / "out").exists()
