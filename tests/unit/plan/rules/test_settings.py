"""``SET`` and the layers around it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.unit.plan.conftest import ORDERS

if TYPE_CHECKING:
    from tests.unit.plan.conftest import Complaints, Planner

COPY = "COPY orders TO './out/' STORED AS PARQUET;"


def test_set_is_below_the_command_line(plan: Planner) -> None:
    """A SET counts where nobody stronger speaks, and its origin is its place in the file (CFG-02, CFG-24)."""
    found = plan(f"SET 'budget.rows' = '7';\nSET 'pipeline.name' = 'x';\n{ORDERS}{COPY}", command_line={"pipeline.name": "y"}).settings

    assert (found.budget.rows, found.name) == (7, "y")
    assert found.origins["budget.rows"] == "SET, p.sql:1:5"
    assert found.origins["pipeline.name"] == "command line"


def test_the_pipeline_is_named_after_its_file(plan: Planner) -> None:
    """``pipeline.name`` defaults to the file's stem, and says so."""
    found = plan(ORDERS + COPY).settings

    assert (found.name, found.origins["pipeline.name"]) == ("p", "the file's name")


def test_every_wrong_set_is_told_at_its_place(complaints: Complaints) -> None:
    """Unknown settings at their key, values that do not fit at the value, repeats at the second (CFG-03)."""
    text = f"SET 'budgt.rows' = '1';\nSET 'budget.age' = 'soon';\nSET 'queue.bytes' = '1';\nSET 'queue.bytes' = '2';\n{ORDERS}{COPY}"

    assert complaints(text) == [
        "1:5 unknown setting 'budgt.rows' (did you mean 'budget.rows'?)",
        "2:20 setting 'budget.age': expected a duration such as '250 ms' or '60 s', found 'soon'",
        "4:5 setting 'queue.bytes' is defined twice (first at 3:5)",
    ]


def test_the_prefix_reaches_every_column(plan: Planner) -> None:
    """``metadata.prefix`` is configurable; ``metadata.policy`` decides where a COPY says nothing (MET-27, MET-31, CFG-13)."""
    text = f"SET 'metadata.prefix' = 'm_';\nSET 'metadata.policy' = 'none';\n{ORDERS}{COPY}COPY raw.orders TO './raw/' STORED AS PARQUET;"

    lanes = {lane.name: lane for lane in plan(text).lanes}

    assert not [n for n in lanes["orders"].schema.names if n.startswith("m_")]
    assert "m_source_offset" in lanes["raw.orders"].schema.names
