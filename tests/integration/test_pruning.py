"""Columns that nobody reads are not made, and nothing else changes: the same tables, the same dead letters."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any

import pytest

from thalweg import compose, registry
from thalweg.arrow.metadata import PAYLOAD
from thalweg.model.clock import SystemClock
from thalweg.model.events import Fanout, PipelineStarted
from thalweg.ports.source import Budget, SourceContext
from thalweg.sinks.memory.store import STORE

if TYPE_CHECKING:
    from pathlib import Path

    from tests.integration.conftest import Lab
    from thalweg.plan.graph import Plan

ORDERS = """
SET 'pipeline.name' = '{t}';
CREATE EXTERNAL TABLE orders (id BIGINT, country STRING, amount DECIMAL(10, 2), note STRING, lines ARRAY<ROW<sku STRING, qty INT>>, tags MAP<STRING, DOUBLE>)
STORED AS MEMORY LOCATION 'memory://{t}-orders' OPTIONS ('format' 'json', 'scan.bounded.mode' 'latest-offset', 'bad_data' 'dlq');
CREATE EXTERNAL TABLE names (country STRING, note STRING) STORED AS CSV LOCATION 'names.csv' OPTIONS ('format.has_header' 'true');
COPY dlq.orders TO 'memory://{t}-dlq' STORED AS MEMORY;
"""
QUERIES = [
    "SELECT id FROM orders",
    "SELECT id FROM orders WHERE amount > 1",
    "SELECT country, id FROM (SELECT * FROM orders) AS o",
    "SELECT n FROM (SELECT * FROM orders) AS x(n, c, a, m, l, t)",
    "SELECT id, l['sku'] AS sku FROM (SELECT id, unnest(lines) AS l FROM orders)",
    "SELECT id, tags['a'] AS a FROM orders",
    "SELECT id, x FROM (SELECT id, CAST(note AS INT) AS y, upper(country) AS x FROM orders)",
    "SELECT id FROM orders NATURAL JOIN names",
    "SELECT o.id, n.note FROM orders AS o LEFT JOIN names AS n USING (country)",
    "SELECT id FROM orders WHERE EXISTS (SELECT 1 FROM names WHERE names.country = orders.country)",
    "SELECT id, (SELECT max(note) FROM names) AS m FROM orders",
    "SELECT id FROM orders UNION ALL SELECT length(note) FROM orders",
    "WITH w AS (SELECT * FROM orders) SELECT amount FROM w WHERE id > 1",
    "SELECT CASE WHEN id > 1 THEN country END AS c FROM orders",
    "SELECT 1 AS one FROM orders",
    "SELECT * FROM orders",
]


def records() -> list[Any]:
    """Good ones, and ones whose fault lies in any one field."""
    good = [
        {"id": n, "country": "de" if n % 2 else "fr", "amount": f"{n}.50", "note": f"{n}", "lines": [{"sku": "s", "qty": n}] * (n % 3), "tags": {"a": n}}
        for n in range(6)
    ]
    faults = [{"amount": "x"}, {"lines": [{"qty": "many"}]}, {"tags": {"a": "b"}}, {"note": 1.5e400}, {"id": 2**70}, {"country": []}]
    return [*good, b"{", *({**good[1], **fault} for fault in faults), *good[:2]]


def prepare(lab: Lab) -> None:
    """The topic and the static table."""
    (lab.folder / "names.csv").write_text("country,note\nde,1\nfr,2\nxx,3\n")
    lab.fill(*records())


def planned(lab: Lab, query: str) -> Plan:
    """The plan of a query over the orders."""
    sql = lab.name(ORDERS + f"COPY ({query}) TO 'memory://{{t}}-out' STORED AS MEMORY OPTIONS ('metadata' 'none');")
    (lab.folder / "p.sql").write_text(sql)
    return compose.read_plan(str(lab.folder / "p.sql"), settings={"decode.kernels": "off"}, environ={}, connect=True)


def unpruned(plan: Plan) -> Plan:
    """The same with every column read, into other targets."""
    table = plan.sources[0]
    value = dataclasses.replace(table.value, request=dataclasses.replace(table.value.request, wanted=None))
    lanes = tuple(dataclasses.replace(lane, location=f"{lane.location}-all") for lane in plan.lanes)
    settings = dataclasses.replace(plan.settings, name=f"{plan.settings.name}-all")
    return dataclasses.replace(plan, settings=settings, sources=(dataclasses.replace(table, value=value),), lanes=lanes)


def told(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Dead letters without the times of this run."""
    return [{name: value for name, value in row.items() if not name.endswith(("failed_at", "ingest_ts", "emit_ts", "_pipeline"))} for row in rows]


@pytest.mark.parametrize("query", QUERIES)
def test_pruned_and_unpruned_plans_agree(lab: Lab, query: str) -> None:
    """Every kind of query gives the same rows and the same dead letters, whether or not columns are left out (law 2, law 4)."""
    prepare(lab)
    plan = planned(lab, query)
    for each in (plan, unpruned(plan)):
        compose.build(each, observers=(lab.seen,)).run()
    name = f"memory://lab{lab.number}"

    assert sorted(map(str, STORE.rows(f"{name}-out"))) == sorted(map(str, STORE.rows(f"{name}-out-all")))
    assert told(STORE.rows(f"{name}-dlq")) == told(STORE.rows(f"{name}-dlq-all"))
    assert len(STORE.rows(f"{name}-dlq")) >= 6


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("SELECT id FROM orders WHERE amount > 1", {"id", "amount"}),
        ("SELECT n FROM (SELECT * FROM orders) AS x(n, c, a, m, l, t)", {"id"}),
        ("SELECT 1 AS one FROM orders", set()),
        ("SELECT * FROM orders", None),
        ("SELECT id, (SELECT max(note) FROM names) AS m FROM orders", None),
    ],
)  # fmt: skip
def test_what_is_read_is_known_before(lab: Lab, query: str, wanted: set[str] | None) -> None:
    """The plan says which columns the queries read; where the engine does not show it, all are."""
    prepare(lab)

    assert planned(lab, query).sources[0].value.request.wanted == wanted


def test_targets_and_rules_read_columns_too(lab: Lab) -> None:
    """A COPY of the table reads everything, the raw lane nothing, NOT NULL its column; the start log says what is read."""
    prepare(lab)
    sql = ORDERS.replace("note STRING, lines", "note STRING NOT NULL, lines")
    lab.run(sql + "COPY raw.orders TO 'memory://{t}-raw' STORED AS MEMORY; COPY (SELECT id FROM orders) TO 'memory://{t}-out' STORED AS MEMORY;")
    assert lab.seen.of(PipelineStarted)[0].facts["reads orders"].startswith("id, note (2 of 6 columns")
    assert len(lab.rows("raw")) == len(records())
    whole = planned(lab, "SELECT id FROM orders")
    assert whole.sources[0].value.request.wanted == {"id"}
    (lab.folder / "q.sql").write_text(lab.name(ORDERS + "COPY orders TO 'memory://{t}-o' STORED AS MEMORY; COPY (SELECT id FROM orders) TO 'memory://{t}-p' STORED AS MEMORY;"))
    both = compose.read_plan(str(lab.folder / "q.sql"), settings={}, environ={}, connect=True)
    assert both.sources[0].value.request.wanted is None


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("query", ["SELECT id FROM orders", "SELECT 1 AS one FROM orders", "SELECT id FROM orders WHERE amount > 1"])
def test_a_first_batch_without_a_good_record(lab: Lab, query: str, *, compiled: bool) -> None:
    """Where nothing decodes, columns that nobody reads have no rows either, and every record is a dead letter (law 2)."""
    lab.fill(b"{", b"", {"note": 5})
    sql = ORDERS.replace("CREATE EXTERNAL TABLE names (country STRING, note STRING) STORED AS CSV LOCATION 'names.csv' OPTIONS ('format.has_header' 'true');", "")
    (lab.run_compiled if compiled else lab.run)(sql + f"COPY ({query}) TO 'memory://{{t}}-out' STORED AS MEMORY;")

    assert lab.rows("out") == []
    assert len(lab.rows("dlq")) == 3


AVRO = {
    "type": "record", "name": "O", "fields": [
        {"name": "id", "type": "long"}, {"name": "note", "type": ["null", "string"]}, {"name": "u", "type": ["null", "int", "string"]},
        {"name": "m", "type": {"type": "map", "values": "double"}},
    ],
}  # fmt: skip


def avro(folder: Path) -> tuple[str, list[bytes]]:
    """Options, and payloads with faults in every field."""
    (folder / "o.avsc").write_text(json.dumps(AVRO))
    good = [bytes.fromhex(h) for h in ("0202026103044100", "0400020600", "06000004020161000000000000f03f00".replace("0161", "0261"))]
    good[0] = bytes.fromhex("0202026104044142" + "00")
    return "'format' 'avro', 'avro.schema-file' 'o.avsc'", [*good, b"\x02\x02\x02\xff\x00\x00", b"\x02\x00\x06\x00", b"\x02\x00\x00\x02", b"", good[0] + b"\x00"] * 3


PROTO = """
syntax = "proto3";
message O { int64 id = 1; optional string note = 2; oneof u { int32 n = 3; string s = 4; } map<string, double> m = 5; }
"""


def protobuf(folder: Path) -> tuple[str, list[bytes]]:
    """Options, and messages with faults in every field, and some for the exact path."""
    (folder / "o.proto").write_text(PROTO)
    good = [bytes.fromhex(h) for h in ("0801120161", "08022a0c0a016111000000000000f03f", "", "08011802220162")]
    bad = [bytes.fromhex(h) for h in ("0801 1201ff", "08 ff", "2a03 0a01ff", "22 05 61", "1201ff", "0b")]
    return "'format' 'protobuf', 'protobuf.descriptor' 'o.proto', 'protobuf.message' 'O'", [*good, *bad] * 2


def documents(_folder: Path) -> tuple[str, list[bytes]]:
    """Options, and documents with faults in every field."""
    rows = [{"id": 1, "note": "x", "u": 5, "m": {"a": 1}}, {"id": "x"}, {"note": 5}, {"u": {}}, {"m": {"a": "b"}}, {}]
    return "'format' 'json'", [json.dumps(row).encode() for row in rows] + [b"{", b'{"id":1,"id":2}']


@pytest.mark.parametrize("kind", [avro, protobuf, documents])
@pytest.mark.parametrize("columns", ["id", "note", "id, m", "1 AS one"])
def test_compiled_decoders_leave_columns_out(lab: Lab, kind: Any, columns: str) -> None:  # noqa: ANN401 - one of two functions
    """With kernels, too, the columns that are read and every verdict are those of the reference with all columns."""
    options, payloads = kind(lab.folder)
    declared = "(id BIGINT, note STRING, u INT, m MAP<STRING, DOUBLE>)" if kind is documents else ""
    sql = f"""
        CREATE EXTERNAL TABLE t {declared} STORED AS MEMORY LOCATION 'memory://{{t}}-t' OPTIONS ({options}, 'bad_data' 'drop', 'scan.bounded.mode' 'latest-offset');
        COPY (SELECT {columns} FROM t) TO 'memory://{{t}}-out' STORED AS MEMORY;
    """
    (lab.folder / "p.sql").write_text(lab.name(sql))
    plan = compose.read_plan(str(lab.folder / "p.sql"), settings={"decode.kernels": "off"}, environ={}, connect=True)
    _, quick = compose.open_source(plan, plan.sources[0], Fanout())
    _, exact = compose.open_source(plan, plan.sources[0], Fanout())
    side = quick.sides[0]
    made = registry.attribute(side.codec.fast)(side.request, side.asked, side.reference)
    quick.use(side, made)
    raw = polled(lab, payloads)
    found, expected = quick.relation(raw), exact.relation(raw)

    assert plan.sources[0].value.request.wanted is not None
    assert set(made.schema.names) == {n.strip() for n in columns.split(",")} & {"id", "note", "m"} or made.schema.names == ["id"]
    found.batch.validate(full=True)
    assert found.batch == expected.batch
    assert sorted(zip(found.bad.rows, found.bad.codes, found.bad.messages, strict=True)) == sorted(
        zip(expected.bad.rows, expected.bad.codes, expected.bad.messages, strict=True)
    )
    assert len(expected.bad.rows) >= 3


def polled(lab: Lab, payloads: list[bytes]) -> Any:  # noqa: ANN401 - a raw batch
    """The payloads as a source polls them."""
    topic = lab.topic("t")
    for payload in payloads:
        topic.append(0, payload)
    plugin = registry.load("sources", "memory")
    source = plugin.make(f"memory://lab{lab.number}-t", plugin.options(bounded_mode="latest-offset"), SourceContext("p", "t", SystemClock(), Fanout()))
    source.open(_Start())
    raw = source.poll(Budget())
    assert raw.records.column(PAYLOAD).to_pylist() == payloads
    return raw


class _Start:
    """A listener that starts at the beginning."""

    def assigned(self, committed: dict[Any, Any]) -> dict[Any, None]:
        """Nothing is recorded."""
        return dict.fromkeys(committed)

    def started(self, positions: dict[Any, int]) -> None:
        """Nobody asks."""
