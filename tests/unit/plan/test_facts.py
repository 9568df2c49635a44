"""A plan as plain values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from tests.unit.plan.conftest import ORDERS
from thalweg.plan.facts import edges, facts, fields

if TYPE_CHECKING:
    from tests.unit.plan.conftest import Planner


def test_edges_go_from_tables_over_lanes_to_targets(plan: Planner) -> None:
    """Lanes hang on their table, ``dlq.all`` on every table, targets on what they copy."""
    text = f"""{ORDERS}CREATE VIEW v AS SELECT payload FROM raw.orders;
    COPY v TO './v/' STORED AS PARQUET;
    COPY dlq.all TO './d/' STORED AS PARQUET;"""

    assert edges(plan(text)) == [("orders", "raw.orders"), ("orders", "dlq.all"), ("raw.orders", "v"), ("v", "-> v"), ("dlq.all", "-> dlq.all")]


def test_the_pace_is_told_only_where_several_gate(plan: Planner) -> None:
    """One target needs no way out; two get one (SNK-14)."""
    one = f"{ORDERS}COPY orders TO './a/' STORED AS PARQUET;\n"
    two = f"{one}COPY raw.orders TO './b/' STORED AS PARQUET;"

    assert "pace" not in facts(plan(one))["offsets"][0]
    assert "way_out" in facts(plan(two))["offsets"][0]


def test_a_table_that_no_target_reads_is_said(plan: Planner) -> None:
    """A table whose offsets nobody holds back is visible in the plan."""
    text = f"{ORDERS}{ORDERS.replace('TABLE orders', 'TABLE idle')}COPY orders TO './a/' STORED AS PARQUET;"

    found = {offsets["table"]: offsets["gating"] for offsets in facts(plan(text))["offsets"]}

    assert found == {"orders": ["orders"], "idle": []}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("'format' 'avro-glue'", "orders in AWS Glue"), ("'format' 'json-glue', 'glue.schema' 'shop'", "shop in AWS Glue"),
        ("'format' 'avro-glue', 'glue.endpoint' 'http://vpc:1'", "orders in AWS Glue at http://vpc:1"),
        ("'format' 'avro-apicurio', 'apicurio.url' 'http://a:1'", "orders-value at http://a:1"),
        ("'format' 'avro-apicurio', 'apicurio.url' 'http://a:1', 'apicurio.artifact' 'shop'", "shop at http://a:1"),
    ],
)
def test_an_unresolved_schema_is_named_with_its_registry(plan: Planner, options: str, said: str) -> None:
    """Also where the registry has no address of its own (CL-02)."""
    text = f"CREATE EXTERNAL TABLE t STORED AS KAFKA LOCATION 'kafka://h:9092/orders' OPTIONS ({options});\nCOPY t TO './a/' STORED AS PARQUET;"

    assert facts(plan(text))["sources"][0]["unresolved"] == [said]


def test_fields_of_nothing_are_none() -> None:
    """An unresolved schema stays unresolved."""
    assert fields(None) is None
    assert fields(pa.schema([("a", pa.int8())])) == [{"name": "a", "type": "int8"}]
