"""What is parsed and not in this build."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.unit.plan.conftest import ORDERS

if TYPE_CHECKING:
    from tests.unit.plan.conftest import Complaints


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("CREATE FUNCTION f(DOUBLE) RETURNS DOUBLE LANGUAGE WASM AS 'f.wasm';", "CREATE FUNCTION is not in this build"),
        ("CREATE VIEW v (CONSTRAINT c EXPECT (order_id > 0)) AS SELECT order_id FROM orders;", "EXPECT (c) is not in this build"),
        ("COPY dq.results TO './dq/' STORED AS PARQUET;", "dq.results is not in this build"),
        ("COPY (SELECT * FROM dq.results) TO './dq/' STORED AS PARQUET;", "dq.results is not in this build"),
    ],
)
def test_later_parts_are_refused_at_their_place(complaints: Complaints, text: str, said: str) -> None:
    """Functions, expectations and verdicts are refused by name, never ignored (GEN-17, DAG-19)."""
    found = complaints(f"{ORDERS}{text}\nCOPY orders TO './out/' STORED AS PARQUET;")

    assert [said in line for line in found] == [True]


def test_a_contract_and_an_expectation_of_a_table_are_refused(complaints: Complaints) -> None:
    """Both are told in one run, each at its place."""
    found = complaints(
        "CREATE EXTERNAL TABLE t (\n  a INT,\n  CONSTRAINT c EXPECT (a > 0)\n) STORED AS KAFKA LOCATION 'kafka://h:9/t'\n"
        "OPTIONS ('format' 'json', 'contract' 'c.yaml');\nCOPY t TO './o/' STORED AS PARQUET;"
    )

    assert [line.split(" (")[0] for line in found] == ["3:3 EXPECT", "5:27 'contract' is not in this build"]
