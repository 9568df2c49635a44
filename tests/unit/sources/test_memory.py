"""Topics inside the process: holes, turns of the assignment, filling."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from thalweg import registry
from thalweg.errors import SourceFailed, UserError
from thalweg.model.clock import SystemClock
from thalweg.model.options import read
from thalweg.model.position import Partition, Span
from thalweg.ports.source import Budget, SourceContext
from thalweg.testing.fakes import RecordingObserver
from thalweg.testing.reading import RELATION, Listening, Reading

if TYPE_CHECKING:
    from collections.abc import Mapping

PLUGIN = registry.load("sources", "memory")
NOW = Budget(age_ns=0)


def make(given: Mapping[str, str] | None = None, location: str | None = None) -> Any:  # noqa: ANN401 - the plug-in's own class
    """A source of a new topic."""
    options, errors = read(PLUGIN.options, given or {})

    assert errors == []

    context = SourceContext("p", RELATION, SystemClock(), RecordingObserver())
    return PLUGIN.make(location or f"memory://{uuid.uuid4().hex}", options, context)


def opened(source: Any) -> Reading:  # noqa: ANN401 - see make()
    """An open source."""
    reading = Reading(source, Listening())
    source.open(reading.listener)
    return reading


def test_holes_are_covered() -> None:
    """Offsets without a record are part of the span, in the middle and at the end (KF-03)."""
    source = make({"scan.bounded.mode": "latest-offset"})
    source.topic.append(0, b"0")
    source.topic.skip(0, 2)
    source.topic.append(0, b"3")
    source.topic.skip(0, 1)
    reading = opened(source)
    reading.until_finished()

    assert [r["source_offset"] for r in reading.records()] == [0, 3]
    assert reading.spans() == [Span(Partition(RELATION, source.topic.name, 0), 0, 5)]


def test_a_topic_of_holes_has_spans_without_records() -> None:
    """A batch may be nothing but a moved position."""
    source = make()
    source.topic.skip(0, 3)
    batch = opened(source).poll(NOW)

    assert batch is not None
    assert (batch.rows, [len(s) for s in batch.spans]) == (0, [3])


def test_partitions_come_and_go() -> None:
    """Tests move partitions; the listener hears of it inside the next poll, and positions come from the commit."""
    source = make({"partitions": "2"})
    topic = source.topic
    reading = opened(source)
    topic.append(1, b"a")
    reading.until_rows(1)
    source.commit({Partition(RELATION, topic.name, 1): 1}, "note")

    topic.revoke(1)
    reading.poll(NOW)
    topic.append(1, b"b")
    assert reading.poll(NOW) is None
    topic.give(1)
    reading.until_rows(2)
    topic.lose(0, 1)
    source.idle()

    assert [name for name, _ in reading.listener.calls] == ["assigned", "started", "revoked", "assigned", "started", "lost"]
    assert reading.values() == [b"a", b"b"]
    assert reading.listener.held == {}


def test_batches_keep_their_columns() -> None:
    """A batch may bring metadata of its own; columns that it lacks are NULL."""
    source = make()
    source.topic.append_batch(0, pa.RecordBatch.from_pydict({"payload": pa.array([b"x"]), "source_key": pa.array([b"k"])}))

    (record,) = opened(source).poll(NOW).records.to_pylist()

    assert (record["payload"], record["source_key"], record["source_headers"]) == (b"x", b"k", None)


def test_filling() -> None:
    """Records are dealt out over the partitions."""
    source = make({"partitions": "3", "scan.bounded.mode": "latest-offset"})

    assert PLUGIN.fill(source, (b"%d" % i for i in range(7))) == 7

    reading = opened(source)
    reading.until_finished()
    assert reading.values(0) == [b"0", b"3", b"6"]


def test_lag() -> None:
    """Offsets that were not returned."""
    source = make()
    for i in range(5):
        source.topic.append(0, b"%d" % i)
    reading = opened(source)
    reading.poll(Budget(rows=2, age_ns=0))

    assert source.lag() == 3


@pytest.mark.parametrize("location", ["memory:", "memory://", "kafka://h/t", "t"])
def test_wrong_locations(location: str) -> None:
    """A location names a topic."""
    assert PLUGIN.check(location, None) != []
    with pytest.raises(UserError, match="memory://name"):
        make(location=location)


def test_a_turn_before_open_is_kept() -> None:
    """Nothing happens to a source that is not open."""
    source = make()
    source.topic.give(0)
    source.idle()

    with pytest.raises(SourceFailed, match="not opened"):
        source._assign([0])
