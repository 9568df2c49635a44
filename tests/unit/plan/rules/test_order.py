"""Dependencies: unknown names, cycles and the order of evaluation."""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING

import pytest

from tests.unit.plan.conftest import ORDERS

if TYPE_CHECKING:
    from tests.unit.plan.conftest import Complaints, Planner

COPY = "COPY orders TO './out/' STORED AS PARQUET;"


def test_views_may_stand_in_any_order(plan: Planner) -> None:
    """Every order of the statements gives the same graph, each node after what it reads (DAG-01, DAG-02, DAG-15)."""
    views = ["CREATE VIEW a AS SELECT order_id FROM orders;", "CREATE VIEW b AS SELECT order_id FROM a;", "CREATE VIEW c AS SELECT order_id FROM b;"]

    for order in permutations(views):
        found = plan("\n".join([*order, ORDERS, "COPY c TO './c/' STORED AS PARQUET;"]))
        assert [node.name for node in found.nodes] == ["a", "b", "c"]
        assert [node.sources for node in found.nodes] == [("orders",)] * 3


@pytest.mark.parametrize(
    ("views", "said"),
    [
        ("CREATE VIEW a AS SELECT * FROM a;", ["4:13 view a reads itself"]),
        ("CREATE VIEW a AS SELECT * FROM b;\nCREATE VIEW b AS SELECT * FROM a;", ["4:13 the views form a cycle: a -> b -> a"]),
        (
            "\n".join(f"CREATE VIEW {name} AS SELECT * FROM {reads};" for name, reads in ("ac", "ba", "cb", "xy", "yx")),
            ["4:13 the views form a cycle: a -> b -> c -> a", "7:13 the views form a cycle: x -> y -> x"],
        ),
        ("CREATE VIEW a AS SELECT * FROM a;\nCREATE VIEW b AS SELECT * FROM a;", ["4:13 view a reads itself"]),
    ],
)
def test_cycles_name_all_their_members(complaints: Complaints, views: str, said: list[str]) -> None:
    """Each cycle is one error with every member in reading order; what merely hangs on one is not judged (DAG-16)."""
    found = [line.split(" (")[0] for line in complaints(f"{ORDERS}{views}\n{COPY}")]

    assert [set(line.split()) for line in found] == [set(line.split()) for line in said]


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("SELECT * FROM ordres", "4:32 no table or view named ordres (did you mean 'orders'?)"),
        ("SELECT * FROM raw.order", "4:32 no table or view named raw.order (did you mean 'raw.orders'?)"),
        ("SELECT * FROM zzzz", "4:32 no table or view named zzzz (there are: orders, v)"),
        ("SELECT * FROM dlq.orders", "4:32 a view cannot read dlq.orders"),
        ("SELECT o.order_id FROM orders AS o JOIN cuntries AS c ON c.id = o.order_id", "no table or view named cuntries"),
    ],
)
def test_unknown_relations_are_refused_where_they_are_named(complaints: Complaints, query: str, said: str) -> None:
    """A relation that nobody defines is refused at its place with the nearest one; lanes only where one was meant (DAG-16)."""
    (found,) = complaints(f"{ORDERS}CREATE VIEW v AS {query};\n{COPY}")

    assert said in found


def test_cte_names_are_no_relations(plan: Planner) -> None:
    """A name that a WITH defines is found there."""
    found = plan(f"{ORDERS}CREATE VIEW v AS WITH w AS (SELECT order_id FROM orders) SELECT order_id FROM w;\n{COPY}")

    assert found.nodes[0].inputs == ("orders",)


def test_a_query_that_is_none_is_refused(complaints: Complaints) -> None:
    """A view over something that is not a SELECT is refused at its place."""
    (found,) = complaints(f"{ORDERS}CREATE VIEW v AS SELECT order_id FROM orders WHERE;\n{COPY}")

    assert found.startswith("4:")
