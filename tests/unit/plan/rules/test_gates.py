"""Who holds back the offsets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.unit.plan.conftest import ORDERS

if TYPE_CHECKING:
    from tests.unit.plan.conftest import Complaints, Planner

VIEW = "CREATE VIEW v AS SELECT order_id FROM orders;\n"
PARQUET = "COPY orders TO './o/' STORED AS PARQUET;\n"
OTHER = "COPY v TO './v/' STORED AS PARQUET;\n"
RAW = "COPY raw.orders TO './r/' STORED AS PARQUET OPTIONS ('role' 'primary_raw');\n"
CONSOLE = "COPY v TO 'console://' STORED AS CONSOLE;\n"
LETTERS = "COPY dlq.orders TO './d/' STORED AS PARQUET;\n"


@pytest.mark.parametrize(
    ("copies", "gating"),
    [
        (PARQUET, ["orders"]),
        (PARQUET + OTHER, ["orders", "v"]),
        (PARQUET + RAW, ["orders", "raw.orders"]),
        (PARQUET + CONSOLE, ["orders"]),
        (CONSOLE, ["v"]),
        (CONSOLE + LETTERS, ["v", "dlq.orders"]),
        (PARQUET + LETTERS, ["orders", "dlq.orders"]),
    ],
)
def test_the_gate_rule(plan: Planner, copies: str, gating: list[str]) -> None:
    """Every data sink and every dead-letter sink gates, a console only where it is the only data sink (ACK-01, SNK-14, DLQ-01)."""
    found = plan(f"{ORDERS}{VIEW}{copies}")

    assert [lane.name for lane in found.lanes if lane.gates] == gating


def test_each_tables_console_is_judged_by_itself(plan: Planner) -> None:
    """A console gates the table that has no other sink, whatever sinks another table has."""
    other = ORDERS.replace("TABLE orders", "TABLE others")

    found = plan(f"{ORDERS}{other}{PARQUET}COPY others TO 'console://' STORED AS CONSOLE;")

    assert [lane.gates for lane in found.lanes] == [True, True]


@pytest.mark.parametrize(
    ("copies", "said"),
    [
        (RAW + RAW.replace("./r/", "./s/"), "5:61 a second 'primary_raw' target (the first is at line 4"),
        (PARQUET.replace(";", " OPTIONS ('role' 'primary_raw');"), "4:57 'primary_raw' is for a raw lane, not for orders"),
        ("COPY raw.orders TO 'console://' STORED AS CONSOLE OPTIONS ('role' 'primary_raw');", "CONSOLE keeps nothing that others could recover from"),
        (PARQUET.replace(";", " OPTIONS ('on_failure' 'isolate');"), "4:63 'on_failure' 'isolate' is not in this build"),
        (PARQUET.replace(";", " OPTIONS ('durable' 'false');"), "4:60 'durable' 'false' is not in this build"),
        (PARQUET.replace(";", " OPTIONS ('role' 'primary');"), "4:57 option 'role': expected one of primary_raw, secondary"),
    ],
)
def test_roles_and_policies_are_checked(complaints: Complaints, copies: str, said: str) -> None:
    """One primary raw target, of a raw lane, on a sink that keeps what it gets; what needs recovery is refused (SNK-08, SNK-11, CNX-17)."""
    (found,) = complaints(f"{ORDERS}{copies}")

    assert said in found


def test_defaults_may_be_written_out(plan: Planner) -> None:
    """``secondary``, ``block`` and ``durable`` are what is done anyway; ``delivery.gate`` = ``all`` too, for now (SNK-12)."""
    options = " OPTIONS ('role' 'secondary', 'on_failure' 'block', 'durable' 'true');"

    (lane,) = plan(f"SET 'delivery.gate' = 'all';\n{ORDERS}{PARQUET.replace(';', options)}").lanes

    assert (lane.gates, lane.role) == (True, "secondary")
