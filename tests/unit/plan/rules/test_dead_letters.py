"""Dead letters have somewhere to land."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.unit.plan.conftest import ORDERS

if TYPE_CHECKING:
    from tests.unit.plan.conftest import Complaints, Planner

DLQ = ORDERS.replace("'format' 'json'", "'format' 'json', 'bad_data' 'dlq'")
COPY = "COPY orders TO './o/' STORED AS PARQUET;\n"


@pytest.mark.parametrize(
    "copy",
    [
        "COPY dlq.orders TO './d/' STORED AS PARQUET;",
        "COPY dlq.all TO './d/' STORED AS PARQUET;",
        "COPY (SELECT payload FROM dlq.orders) TO './d/' STORED AS PARQUET;",
        "COPY (SELECT payload FROM dlq.all WHERE _twg_error_code LIKE 'decode.%') TO './d/' STORED AS PARQUET;",
    ],
)
def test_any_copy_of_the_lane_will_do(plan: Planner, copy: str) -> None:
    """The lane itself, all lanes together or a query over either is a place to land (DLQ-01)."""
    (source,) = plan(f"{DLQ}{COPY}{copy}").sources

    assert (source.bad_data, source.sql_on_error) == ("dlq", "dlq")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("'bad_data' 'dlq'", "3:105 'bad_data' 'dlq' needs a COPY of dlq.orders: the records would go nowhere (add COPY dlq.orders TO"),
        ("'tombstones' 'dlq'", "3:107 'tombstones' 'dlq' needs a COPY of dlq.orders"),
    ],
)
def test_records_never_go_nowhere(complaints: Complaints, options: str, said: str) -> None:
    """A policy that sends records to a lane that nobody lands is refused at its place, with the statement that is missing (DLQ-01)."""
    (found,) = complaints(f"{ORDERS.replace(chr(39) + 'format', options + ', ' + chr(39) + 'format')}{COPY}")

    assert found.split(" ", 1)[1].startswith(said.split(" ", 1)[1])
    assert found.startswith("3:")


def test_the_setting_needs_a_place_too(complaints: Complaints, plan: Planner) -> None:
    """``sql.on_error`` = ``dlq`` is refused at the SET when no table's letters are landed; ``fail`` wins over the table (DLQ-01)."""
    (found,) = complaints(f"SET 'sql.on_error' = 'dlq';\n{ORDERS}{COPY}")

    assert found.startswith("1:22 'sql.on_error' = 'dlq' needs a COPY of dlq.orders")
    (source,) = plan(f"SET 'sql.on_error' = 'fail';\n{DLQ}{COPY}COPY dlq.orders TO './d/' STORED AS PARQUET;").sources
    assert source.sql_on_error == "fail"


def test_a_broken_copy_may_have_been_the_one(complaints: Complaints) -> None:
    """A file whose COPY of the lane has an error of its own is not told that there is none (CFG-03)."""
    found = complaints(f"{DLQ}{COPY}COPY dlq.orders TO './d/' STORED PARQUET;")

    assert [line for line in found if "would go nowhere" in line] == []
