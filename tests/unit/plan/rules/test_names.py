"""Names of tables and views, and kinds of tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.unit.plan.conftest import ORDERS

if TYPE_CHECKING:
    from tests.unit.plan.conftest import Complaints, Planner

COPY = "COPY orders TO './out/' STORED AS PARQUET;"


def test_a_name_is_defined_once(complaints: Complaints) -> None:
    """The second definition of a name is refused, whether table or view (DAG-16)."""
    found = complaints(f"{ORDERS}CREATE VIEW orders AS SELECT 1 AS x;\n{COPY}")

    assert ["orders is defined twice" in line for line in found] == [True]


@pytest.mark.parametrize("name", ["raw.x", "dlq.orders", '"raw.orders"'])
def test_lane_names_cannot_be_defined(complaints: Complaints, name: str) -> None:
    """The names that the pipeline fills itself are not for users, quoted or not (DAG-16)."""
    found = complaints(f"{ORDERS}CREATE VIEW {name} AS SELECT order_id FROM orders;\n{COPY}")

    assert len(found) == 1
    assert "dlq" in found[0]


def test_dlq_all_is_nobodys_table(complaints: Complaints) -> None:
    """A table named ``all`` would make ``dlq.all`` mean two things."""
    assert any("cannot be named all" in line for line in complaints(ORDERS.replace("orders (", '"all" (') + 'COPY "all" TO \'./o/\' STORED AS PARQUET;'))


def test_an_unknown_kind_names_the_nearest(complaints: Complaints) -> None:
    """A kind that no source claims is refused at its place with the nearest one (DAG-16, GEN-14)."""
    found = complaints("CREATE EXTERNAL TABLE t STORED AS KAFAK LOCATION 'kafka://h:9/t';\nCOPY t TO './o/' STORED AS PARQUET;")

    assert found == ["1:35 no source reads KAFAK (did you mean KAFKA?)"]


def test_queries_of_copies_are_numbered_around_taken_names(plan: Planner) -> None:
    """``copy_<n>`` counts the queries of the file and steps over a view of that name, so names stay unique and stable."""
    text = f"""{ORDERS}CREATE VIEW copy_1 AS SELECT order_id FROM orders;
    COPY copy_1 TO './a/' STORED AS PARQUET;
    COPY (SELECT status FROM orders) TO './b/' STORED AS PARQUET;
    COPY copy_1 TO './c/' STORED AS PARQUET;"""

    assert [lane.name for lane in plan(text).lanes] == ["copy_1", "copy_2", "copy_1_2"]
