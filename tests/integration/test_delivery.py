"""What is durable, what is committed, and where a run goes on."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import pytest

from tests.integration.conftest import until
from thalweg.errors import DrainExpired, PositionRefused, SinkFailed
from thalweg.model.events import Assigned, Delivered, LanePoisoned, OffsetsCommitted, Revoked, Rewound, Submitted
from thalweg.ports.source import Committed
from thalweg.runtime import loop
from thalweg.testing.fakes import DiesBeforeAckSink, OutOfOrderSink, StallingSink, WrappedSink

if TYPE_CHECKING:
    from collections.abc import Collection

    from tests.integration.conftest import Lab
    from thalweg.model.position import Partition
    from thalweg.model.spans import SpanSet
    from thalweg.ports.sink import Delivery, Sink

SOURCE = """
SET 'pipeline.name' = '{t}';
SET 'commit.interval' = '20 ms';
CREATE EXTERNAL TABLE orders (id BIGINT) STORED AS MEMORY LOCATION 'memory://{t}-orders'
OPTIONS ('format' 'json', 'partitions' '2', 'scan.bounded.mode' '%s');
"""
TWO = "COPY orders TO 'memory://{t}-all' STORED AS MEMORY; COPY (SELECT id FROM orders WHERE id % 3 > 0) TO 'memory://{t}-some' STORED AS MEMORY;"
BOUNDED, LIVE = SOURCE % "latest-offset", SOURCE % "unbounded"


def fill(lab: Lab, numbers: range) -> None:
    """Documents in turn over two partitions."""
    lab.fill(*({"id": n} for n in numbers), partitions=2)


def committed(lab: Lab) -> list[int]:
    """What the group has committed, by partition; -1 for nothing."""
    topic = lab.topic(partitions=2)
    found = [topic.committed(f"lab{lab.number}", i) for i in range(2)]
    return [-1 if c is None else c.offset for c in found]


def exactly_once(lab: Lab, numbers: range) -> None:
    """Both tables hold what they should, once."""
    assert sorted(lab.column("all", "id")) == list(numbers)
    assert sorted(lab.column("some", "id")) == [n for n in numbers if n % 3]


def test_a_second_run_goes_on_where_the_record_ends(lab: Lab) -> None:
    """Nothing twice, nothing missing (COV-05)."""
    fill(lab, range(10))
    lab.run(BOUNDED + TWO)
    fill(lab, range(10, 16))
    lab.run(BOUNDED + TWO)

    exactly_once(lab, range(16))
    assert committed(lab) == [8, 8]


def test_the_record_counts_when_the_groups_offsets_are_gone(lab: Lab) -> None:
    """A committed offset is a cache: behind it nothing is written again."""
    fill(lab, range(10))
    lab.run(BOUNDED + TWO)
    topic = lab.topic(partitions=2)
    for partition in range(2):
        topic.commit(f"lab{lab.number}", partition, Committed(1, f"twg:lab{lab.number}"))
    fill(lab, range(10, 12))
    lab.run(BOUNDED + TWO)

    exactly_once(lab, range(12))
    assert committed(lab) == [6, 6]


def test_a_copy_that_was_added_starts_where_the_others_are(lab: Lab) -> None:
    """It does not drag the others back, and nobody gets anything twice."""
    fill(lab, range(6))
    lab.run(BOUNDED + "COPY orders TO 'memory://{t}-all' STORED AS MEMORY;")
    fill(lab, range(6, 10))
    lab.run(BOUNDED + TWO)

    assert sorted(lab.column("all", "id")) == list(range(10))
    assert sorted(lab.column("some", "id")) == [7, 8]


def test_a_committed_offset_ahead_of_the_record_is_refused(lab: Lab) -> None:
    """A hole would open; the run does not start."""
    fill(lab, range(6))
    lab.run(BOUNDED + TWO)
    lab.topic(partitions=2).commit(f"lab{lab.number}", 1, Committed(99, ""))

    with pytest.raises(PositionRefused, match=r"\[1\].*3 to 99 would be missing"):
        lab.run(BOUNDED + TWO)


def test_a_group_of_another_pipeline_is_refused(lab: Lab) -> None:
    """Each of the two would get half."""
    fill(lab, range(2))
    lab.topic(partitions=2).commit(f"lab{lab.number}", 0, Committed(0, "twg:somebody"))

    with pytest.raises(PositionRefused, match="written by pipeline 'somebody'"):
        lab.run(BOUNDED + TWO)


def test_a_sink_that_confirms_out_of_order_moves_nothing_early(lab: Lab) -> None:
    """The committed offset is the end of the contiguous prefix (ACK-18)."""
    lab.wrap["orders"] = lambda sink: OutOfOrderSink(sink, held=3)
    fill(lab, range(40))
    lab.run(BOUNDED + TWO, budget__rows="3")

    exactly_once(lab, range(40))
    assert committed(lab) == [20, 20]
    for event in lab.seen.of(OffsetsCommitted):
        assert all(offset <= 20 for offset in event.positions.values())


def test_a_sink_that_dies_after_it_is_durable_is_not_written_twice(lab: Lab) -> None:
    """Durable, not acknowledged: the next run finds it in the record (ACK-16, TST-29)."""
    lab.wrap["orders"] = lambda sink: DiesBeforeAckSink(sink, seq=2, death=lambda: SinkFailed("connection lost"))
    fill(lab, range(20))
    with pytest.raises(SinkFailed, match="connection lost"):
        lab.run(BOUNDED + TWO, budget__rows="6")
    lab.wrap.clear()
    lab.run(BOUNDED + TWO, budget__rows="4")

    exactly_once(lab, range(20))
    assert lab.seen.of(LanePoisoned)


def test_revoked_partitions_are_drained_and_committed_before_they_go(lab: Lab) -> None:
    """When the callback returns, the next owner can start at the committed offset (KSR-06, CNX-25)."""
    topic = lab.topic(partitions=2)
    lab.start(LIVE + TWO)
    fill(lab, range(20))
    until(lambda: len(lab.rows("all")) == 20)
    fill(lab, range(20, 30))
    topic.revoke(1)
    until(lambda: any(not e.lost for e in lab.seen.of(Revoked)))
    assert committed(lab)[1] == sum(1 for r in lab.rows("all") if r["_twg_source_partition"] == 1)
    topic.give(1)
    fill(lab, range(30, 40))
    until(lambda: len(lab.rows("all")) == 40)
    lab.stop()

    exactly_once(lab, range(40))
    assert committed(lab) == [20, 20]


def test_lost_partitions_are_given_up_and_the_kept_ones_go_back(lab: Lab) -> None:
    """Rows that were under way are read again by whoever has the partition now; here that is us."""
    topic = lab.topic(partitions=2)
    stalls: list[StallingSink] = []

    def stalling(sink: Sink) -> Sink:
        stalls.append(StallingSink(sink, depth=1000))
        return stalls[-1]

    lab.wrap["orders"] = stalling
    lab.start(LIVE + TWO)
    fill(lab, range(10))
    until(lambda: len(lab.rows("all")) == 10)
    stalls[0].stall()
    fill(lab, range(10, 20))
    until(lambda: sum(e.rows for e in lab.seen.of(Submitted) if e.lane == "orders") == 20)
    topic.lose(1)
    until(lambda: bool(lab.seen.of(Rewound)))
    stalls[0].release()
    topic.give(1)
    until(lambda: len(lab.rows("all")) == 20)
    lab.stop()

    exactly_once(lab, range(20))
    assert any("rewound" in reason for e in lab.seen.of(Assigned) for reason in e.reasons.values())


def test_a_zombie_gives_up_its_work_and_follows_the_record(lab: Lab) -> None:
    """Somebody else publishes the same offsets first: their rows stay, ours are given up, and we go on behind them."""
    stalls: list[StallingSink] = []

    def stalling(sink: Sink) -> Sink:
        stalls.append(StallingSink(sink, depth=1000))
        return stalls[-1]

    lab.wrap["orders"] = stalling
    lab.start(LIVE + TWO)
    until(lambda: bool(lab.seen.of(Assigned)))
    stalls[0].stall()
    fill(lab, range(10))
    until(lambda: sum(e.rows for e in lab.seen.of(Submitted) if e.lane == "orders") == 10)
    other = type(lab)(lab.folder, number=lab.number)
    other.run(BOUNDED + TWO)
    stalls[0].release()
    fill(lab, range(10, 20))
    until(lambda: len(lab.rows("all")) == 20)
    lab.stop()

    exactly_once(lab, range(20))
    assert lab.seen.of(Rewound)


def test_a_stalled_sink_stops_the_source_and_nobody_else(lab: Lab) -> None:
    """Other lanes confirm what they have, several deliveries are in flight, queues are bounded, it resumes at once (TST-14, CNX-20, CNX-14)."""
    stalls: list[StallingSink] = []

    def stalling(sink: Sink) -> Sink:
        stalls.append(StallingSink(sink, depth=3))
        return stalls[-1]

    lab.wrap[f"copy_lab{lab.number}_some"] = stalling
    lab.start(LIVE + TWO, budget__rows="50", queue__bytes="4000")
    fill(lab, range(200))
    until(lambda: len(lab.rows("some")) > 0)
    stalls[0].stall()
    at = len(lab.rows("all"))
    fill(lab, range(200, 6_000))
    until(lambda: len(lab.rows("all")) > at)
    time.sleep(1)
    held = len(lab.rows("all"))
    pending = max(e.pending for e in lab.seen.of(Submitted) if e.lane.startswith("copy_"))
    before = committed(lab)
    assert held < 6_000
    assert pending > 1
    began = time.monotonic()
    stalls[0].release()
    until(lambda: len(lab.rows("all")) > held, seconds=1)

    assert time.monotonic() - began < 1
    until(lambda: len(lab.rows("all")) == 6_000, seconds=60)
    lab.stop()
    exactly_once(lab, range(6_000))
    assert before < committed(lab)
    assert any(e.lane == "orders" for e in lab.seen.of(Delivered))


class Hanging(WrappedSink):
    """Never answers a write until it is let go."""

    def __init__(self, inner: Sink, let_go: threading.Event) -> None:
        """``let_go`` ends the test."""
        super().__init__(inner)
        self._let_go = let_go

    def write(self, delivery: Delivery) -> None:
        """Hang."""
        self._let_go.wait(30)
        super().write(delivery)


def test_a_drain_has_a_deadline(lab: Lab) -> None:
    """A sink that hangs costs the deadline, once; what it has not confirmed is not committed (CL-01)."""
    let_go = threading.Event()
    lab.wrap["orders"] = lambda sink: Hanging(sink, let_go)
    fill(lab, range(4))
    lab.start(LIVE + TWO, drain__deadline="3 s")
    until(lambda: len(lab.rows("some")) > 0)
    began = time.monotonic()

    with pytest.raises(DrainExpired):
        lab.stop()
    assert time.monotonic() - began < 5
    assert committed(lab) == [-1, -1]
    let_go.set()


class Publishing(WrappedSink):
    """Takes its time between making rows durable and saying so."""

    def __init__(self, inner: Sink, let_go: threading.Event) -> None:
        """``let_go`` ends the wait."""
        super().__init__(inner)
        self._let_go, self.durable = let_go, threading.Event()

    def confirm(self) -> Collection[int]:
        """Durable at once, told later."""
        found = super().confirm()
        if found:
            self.durable.set()
            self._let_go.wait(30)
        return found


def aborted(lab: Lab, let_go: threading.Event, seconds: float | None) -> int:
    """Rows of ``all`` that an aborted run counts, where what becomes durable is told ``seconds`` after the abort, or not at all."""
    sinks: list[Publishing] = []

    def publishing(sink: Sink) -> Sink:
        sinks.append(Publishing(sink, let_go))
        return sinks[-1]

    lab.wrap["orders"] = publishing
    fill(lab, range(4))
    lab.start(LIVE + TWO)
    until(lambda: bool(sinks) and sinks[0].durable.is_set())
    assert lab.pipeline is not None
    assert lab.thread is not None
    lab.pipeline.abort()
    if seconds is not None:
        threading.Timer(seconds, let_go.set).start()
    lab.thread.join(30)
    return sum(e.rows for e in lab.seen.of(Delivered) if e.lane == "orders")


def test_what_is_durable_when_a_run_is_aborted_is_counted(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """The step that a sink is in is waited for, and its rows are told before the run is over (CL-01)."""
    monkeypatch.setattr(loop, "_LEAVE_S", 30)

    counted = aborted(lab, threading.Event(), seconds=0.6)

    assert counted == len(lab.rows("all")) > 0
    assert lab.pipeline is not None
    assert lab.pipeline.left_behind == ()


def test_a_target_that_is_left_behind_is_known(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sink that is not done in time is named: nobody knows then what is in it (CL-01)."""
    monkeypatch.setattr(loop, "_LEAVE_S", 0.1)
    let_go = threading.Event()

    counted = aborted(lab, let_go, seconds=None)
    assert lab.pipeline is not None
    left = lab.pipeline.left_behind
    let_go.set()

    assert (left, counted) == (("orders",), 0)


class Refusing(WrappedSink):
    """Cannot say what it has."""

    def covered(self, partitions: Collection[Partition]) -> SpanSet | None:
        """The record cannot be read."""
        raise SinkFailed("the record of the target cannot be read", where="target")


def test_a_record_that_cannot_be_read_ends_the_run(lab: Lab) -> None:
    """No guess about where to resume."""
    lab.wrap["orders"] = Refusing
    fill(lab, range(4))

    with pytest.raises(SinkFailed, match="cannot be read"):
        lab.run(BOUNDED + TWO)
    assert lab.rows("some") == []
