"""The rules together: their order, what the session knows afterwards, and one golden file for each rule."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from tests.unit.plan.conftest import ORDERS
from thalweg import config
from thalweg.arrow.metadata import ROW
from thalweg.dialect.script import parse
from thalweg.engine.session import Session
from thalweg.errors import ScriptErrors
from thalweg.plan.planner import RULES, PlanRequest, make_plan

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.plan.conftest import Complaints, Planner
    from thalweg.plan.graph import Node, Plan

COPY = "COPY orders TO './o/' STORED AS PARQUET;"
GOLDEN = Path(__file__).parents[2] / "golden" / "plan"
ROWS = [
    {"order_id": 1, "customer": {"id": 7, "country": "de"}, "lines": [{"sku": "a", "qty": 1}, {"sku": "b", "qty": 2}], "status": "NEW"},
    {"order_id": 2, "customer": None, "lines": [], "status": "TEST"},
    {"order_id": 3, "customer": {"id": 8, "country": None}, "lines": None, "status": None},
    {"order_id": None, "customer": {"id": None, "country": "fr"}, "lines": [{"sku": None, "qty": 3}], "status": "NEW"},
]


def cases() -> list[tuple[str, str, str, str]]:
    """Rule, title, script and expected lines of every golden case."""
    out = []
    for file in sorted(GOLDEN.glob("*.sql")):
        for block in re.split(r"^-- title: ", file.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
            title, rest = block.split("\n", 1)
            script, expected = rest.split("-- plan:\n", 1)
            out.append((file.stem, title, script, "\n".join(line.removeprefix("--").strip() for line in expected.strip().splitlines())))
    return out


def show_nodes(plan: Plan) -> list[str]:
    """Text, lineage and sharing of each node."""
    out = []
    for node in plan.nodes:
        how = "shared" if node.shared else "inlined"
        out.append(f"{node.name} reads {', '.join(node.inputs)}; {how}; {' '.join((node.spliced or node.opaque or 'static').split())}")
    return out


SHOW: dict[str, Callable[[Plan], list[str]]] = {
    "settings": lambda plan: [f"{k} = {plan.settings.shown[k]} ({o})" for k, o in plan.settings.origins.items() if o != "default"],
    "sources": lambda plan: [
        f"{s.name} {s.value.request.format} {s.bad_data} {s.tombstones}: "
        + ("unresolved" if s.schema is None else ", ".join(f"{f.name} {f.type}" for f in s.schema))
        for s in plan.sources
    ],
    "order": lambda plan: [" ".join(node.name for node in plan.nodes)],
    "nodes": show_nodes,
    "lanes": lambda plan: [
        f"{lane.name} <- {lane.relation}: {lane.kind} {lane.location} {lane.policy.value} "
        + ("unresolved" if lane.schema is None else str(len(lane.schema)))
        for lane in plan.lanes
    ],
    "gates": lambda plan: [f"{lane.name} {'gates' if lane.gates else 'follows'}" for lane in plan.lanes],
}


@pytest.mark.parametrize(("rule", "title", "script", "expected"), cases(), ids=lambda value: str(value)[:40].replace("\n", " "))
def test_golden(plan: Planner, rule: str, title: str, script: str, expected: str) -> None:
    """Each case gives what stands below it; nodes are run as written and as spliced and give the same rows (DAG-01, DAG-08)."""
    assert title
    found = plan(script, need_copy=False)

    assert "\n".join(SHOW[rule](found)) == expected
    if rule == "nodes":
        run_both(found)


def run_both(found: Plan) -> None:
    """Run every node that carries the hidden column both ways, over one batch and row by row."""
    schema = found.sources[0].schema
    assert schema is not None
    batch = pa.RecordBatch.from_pylist([{k: v for k, v in row.items() if k in schema.names} for row in ROWS], schema=schema)
    numbered = pa.RecordBatch.from_arrays([*batch.columns, pa.array(range(len(ROWS)), pa.int32())], schema=schema.append(pa.field(ROW, pa.int32())))
    for node in found.nodes:
        if node.inputs != ("orders",) or node.spliced is None:
            continue
        written, spliced = rows_of(node.sql, batch), rows_of(node.spliced, numbered)
        single = [row for i in range(len(ROWS)) for row in rows_of(node.spliced, numbered.slice(i, 1))]
        plain = [{k: v for k, v in row.items() if k != ROW} for row in spliced]
        assert plain == written or (" UNION " in node.sql and sorted(plain, key=repr) == sorted(written, key=repr))
        assert sorted(single, key=repr) == sorted(spliced, key=repr)


def rows_of(sql: str, batch: pa.RecordBatch) -> list[dict[str, object]]:
    """The rows of a query over ``orders``."""
    session = Session()
    session.put("orders", [batch], batch.schema)
    return [row for result in session.run(sql) for row in result.to_pylist()]


def test_every_golden_file_is_named_like_a_rule() -> None:
    """The golden files and the rules have the same names."""
    names = {rule.__name__ for rule in RULES}

    assert {file.stem for file in GOLDEN.glob("*.sql")} <= names
    assert set(SHOW) == {file.stem for file in GOLDEN.glob("*.sql")}
    assert len(cases()) >= 20


def test_all_errors_of_a_file_in_one_run(complaints: Complaints) -> None:
    """Errors of the parser and of every rule come together, in the order of their places (CFG-03, DAG-16)."""
    text = f"""SET 'nothing' = '1';
{ORDERS.replace("'format' 'json'", "'format' 'json', 'topicc' 'x'")}CREATE VIEW a AS SELECT * FROM b;
CREATE VIEW b AS SELECT * FROM a;
CREATE VIEW c AS SELECT FROM WHERE;
CREATE VIEW d AS SELECT status FROM orders GROUP BY status;
COPY a TO 'gopher://x' STORED AS PARQUET;
COPY nothing TO './x/' STORED AS PARQUET;
COPY d TOO './x/' STORED AS PARQUET;"""

    lines = [int(line.split(":")[0]) for line in complaints(text)]

    assert lines == sorted(lines)
    assert set(lines) >= {1, 4, 5, 8, 9, 10, 11}


def test_a_file_without_copy_is_for_looking_only(plan: Planner, complaints: Complaints) -> None:
    """A pipeline that writes nothing is refused, at the file's end; a REPL may load one."""
    (found,) = complaints(ORDERS)

    assert found.startswith("3:85 the file has no COPY: nothing would be written")
    assert plan(ORDERS, need_copy=False).lanes == ()


def test_an_empty_file_is_refused(complaints: Complaints) -> None:
    """No statement at all is no pipeline."""
    assert [line.startswith("1:1 the file has no COPY") for line in complaints("")] == [True]


def test_the_session_knows_every_relation() -> None:
    """Sources are usable as tables of the engine, with their lanes; the hidden column does not show (CRD-03, DAG-20)."""
    session = Session()
    script = parse(f"{ORDERS}CREATE VIEW v AS SELECT order_id FROM orders;\n{COPY}", "p.sql", {})

    make_plan(script, PlanRequest(config.layers({}, {}), connect=False, base="."), session)

    assert set(session.names()) >= {"orders", "raw.orders", "dlq.orders", "dlq.all", "v"}
    assert session.schema_of("SELECT * FROM orders").names == ["order_id", "customer", "lines", "amount", "status"]
    assert session.schema_of("SELECT * FROM v").names == ["order_id"]


def test_a_bounded_request_may_aggregate() -> None:
    """A REPL's views may group and sort, since it answers over everything up to now."""
    script = parse(f"{ORDERS}CREATE VIEW v AS SELECT status, count(*) AS n FROM orders GROUP BY status ORDER BY n;", "p.sql", {})

    found = make_plan(script, PlanRequest(config.layers({}, {}), connect=False, base=".", need_copy=False, bounded=True), Session())

    node: Node = found.nodes[0]
    assert node.schema == pa.schema([("status", pa.string()), pa.field("n", pa.int64(), nullable=False)])


def test_nothing_is_connected_to_when_offline(plan: Planner, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planning offline opens no socket (CL-02)."""

    def refuse(*_: object) -> None:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr("socket.socket.connect", refuse)

    assert plan(f"{ORDERS}{COPY}").sources


def test_errors_are_script_errors_with_places() -> None:
    """Every error can be shown with its line and a caret."""
    script = parse("COPY x TO './x/' STORED AS PARQUET;", "dir/p.sql", {})

    with pytest.raises(ScriptErrors) as found:
        make_plan(script, PlanRequest(config.layers({}, {}), connect=False, base="."), Session())

    (error,) = found.value.errors
    assert (str(error.location), error.location.text, error.location.width) == ("dir/p.sql:1:6", "COPY x TO './x/' STORED AS PARQUET;", 1)
