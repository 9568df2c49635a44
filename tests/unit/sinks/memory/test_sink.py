"""Rows in memory."""

from __future__ import annotations

import uuid

from thalweg.ports.sink import Guarantee, Target
from thalweg.sinks.memory.store import STORE
from thalweg.testing.sinks import SinkBench, delivery, finish, rows


def bench() -> SinkBench:
    """A target that no other test has."""
    location = f"memory://{uuid.uuid4()}"
    return SinkBench("memory", location, lambda: STORE.rows(location))


def test_rows_by_relation() -> None:
    """Two relations in one target are read apart or together."""
    target = bench()
    for relation, index in (("orders", 0), ("returns", 1)):
        sink = target.open(relation)
        sink.write(delivery(1, 0, 3, index))
        finish(sink)

    assert [r["partition"] for r in STORE.rows(target.location, "returns")] == [1, 1, 1]
    assert target.seen() == rows(0, 3, 0) + rows(0, 3, 1)


def test_rewrite_forgets_one_relation() -> None:
    """The plan says what goes; the other relation stays."""
    target = bench()
    for relation in ("orders", "returns"):
        sink = target.open(relation)
        sink.write(delivery(1, 0, 3))
        finish(sink)
    plan = target.plugin.rewrite_plan(target.target(), target.context())

    assert plan == target.plugin.rewrite(target.target(), target.context()) == [f"{target.location} (orders)"]
    assert target.plugin.rewrite_plan(target.target(), target.context()) == []
    assert len(STORE.rows(target.location)) == 3


def test_needs_a_name() -> None:
    """A target without a name is refused; nothing outlives the process."""
    plugin = bench().plugin

    assert plugin.check(Target("memory://", None, None)) == ["memory:// needs a name, such as memory://orders"]
    assert plugin.guarantee(Target("memory://a", None, None)) is Guarantee.BEST_EFFORT
