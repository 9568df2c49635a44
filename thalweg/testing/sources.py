"""Conformance of sources: subclass :class:`SourceSuite`, say how to make a topic and a source, and run pytest.

A broker that does not know where a topic ends gets :class:`UnboundedSuite` only.
"""

from __future__ import annotations

import time
import uuid
from typing import TYPE_CHECKING

import pytest

from thalweg.arrow.metadata import PAYLOAD
from thalweg.model.position import Span
from thalweg.model.spans import SpanSet
from thalweg.ports.source import Budget, Committed
from thalweg.testing.reading import BUDGET, Listening, Produced, Reading, SourceHarness, check_spans

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from thalweg.ports.source import Source

FEW_SECONDS = 5


class UnboundedSuite:
    """What every source does that reads without end. Subclass it, give it a ``harness`` fixture, and name the class ``Test...``."""

    @pytest.fixture
    def opened(self, harness: SourceHarness) -> Iterator[Callable[..., Reading]]:
        """Makes and opens sources, and closes them after the test."""
        made: list[Source] = []

        def open_one(location: str, listener: Listening | None = None, *, pipeline: str = "", group: bool = True, **given: str) -> Reading:
            options = {k.replace("_", "."): v for k, v in given.items()}
            source = harness.make(location, options, pipeline=pipeline or uuid.uuid4().hex, group=group)
            made.append(source)
            reading = Reading(source, listener or Listening())
            source.open(reading.listener)
            return reading

        yield open_one
        for source in made:
            source.close()

    def test_poll_waits_no_longer_than_the_age(self, harness: SourceHarness, opened: Callable[..., Reading]) -> None:
        """Without records a poll returns None after the budget's age."""
        reading = opened(harness.topic(1))
        reading.until_held()
        start = time.monotonic()

        assert reading.poll(Budget(age_ns=200_000_000)) is None
        assert time.monotonic() - start < FEW_SECONDS
        assert not reading.source.finished()

    def test_new_records_arrive(self, harness: SourceHarness, opened: Callable[..., Reading]) -> None:
        """An unbounded source goes on where the topic went on."""
        location = harness.topic(1)
        harness.produce(location, [Produced(b"1")])
        reading = opened(location)
        reading.until_rows(1)

        harness.produce(location, [Produced(b"2")])
        reading.until_rows(2)

        assert reading.values() == [b"1", b"2"]

    def test_partitions_are_announced_before_their_records(self, harness: SourceHarness, opened: Callable[..., Reading]) -> None:
        """``assigned`` and ``started`` come before the first record, with the offset where reading starts."""
        location = harness.topic(2)
        harness.produce(location, [Produced(b"%d" % i, partition=i % 2) for i in range(10)])
        listener = Listening(resume={harness.partition(location, 0): 3})

        reading = opened(location, listener)
        reading.until_rows(7)

        assert [name for name, _ in listener.calls][:2] == ["assigned", "started"]
        assert listener.held == {harness.partition(location, 0): 3, harness.partition(location, 1): 0}
        assert reading.values(0) == [b"6", b"8"]
        check_spans(reading.spans(), listener.held)

    def test_identity_is_stable(self, harness: SourceHarness, opened: Callable[..., Reading]) -> None:
        """Cluster and topic have names that two sources agree on, and another topic has another (MET-21)."""
        location, other = harness.topic(1), harness.topic(1)
        found = []
        for place in (location, location, other):
            reading = opened(place)
            reading.until_held()
            found.append(reading.source.identity(harness.partition(place, 0)))

        assert found[0] == found[1]
        assert found[0].cluster_id == found[2].cluster_id != ""
        assert found[0].topic_id != found[2].topic_id

    def test_seek_goes_back_and_forward(self, harness: SourceHarness, opened: Callable[..., Reading]) -> None:
        """After a seek the next record is the one that was asked for; nothing polled before leaks (KSR-20, CNX-01)."""
        location = harness.topic(1)
        harness.produce(location, [Produced(b"%d" % i) for i in range(2_000)])
        reading = opened(location)
        reading.until_rows(10, Budget(rows=10, age_ns=BUDGET.age_ns))
        partition = harness.partition(location, 0)

        for target in (5, 1_990, 0, 700):
            reading.source.seek({partition: target})
            reading.batches.clear()
            reading.until_rows(10, Budget(rows=10, age_ns=BUDGET.age_ns))

            assert reading.spans()[0].start == target
            assert reading.values()[:10] == [b"%d" % i for i in range(target, target + 10)]

    def test_idle_loses_nothing(self, harness: SourceHarness, opened: Callable[..., Reading]) -> None:
        """Calls of ``idle`` take no record away and repeat none (CNX-07, CNX-20)."""
        location = harness.topic(1)
        harness.produce(location, [Produced(b"%d" % i) for i in range(500)])
        reading = opened(location)
        reading.until_rows(100, Budget(rows=100, age_ns=BUDGET.age_ns))

        for _ in range(30):
            reading.source.idle()
        reading.until_rows(500)

        assert reading.values() == [b"%d" % i for i in range(500)]
        check_spans(reading.spans(), reading.listener.held)

    def test_commits_come_back(self, harness: SourceHarness, opened: Callable[..., Reading]) -> None:
        """A committed position and its note are given to the next process that gets the partition (KSR-12, KSR-19, CNX-25)."""
        location = harness.topic(1)
        harness.produce(location, [Produced(b"%d" % i) for i in range(10)])
        partition, pipeline = harness.partition(location, 0), location.rpartition("/")[2]
        first = opened(location, pipeline=pipeline)
        first.until_rows(10)

        assert first.source.commit({partition: 4}, "note") == {partition: 4}

        first.source.close()
        second = opened(location, pipeline=pipeline)
        second.until_rows(6)

        assert first.listener.committed == {partition: None}
        assert second.listener.committed == {partition: Committed(4, "" if "metadata" in harness.lacks else "note")}
        assert second.values() == [b"%d" % i for i in range(4, 10)]

    def test_without_a_group_nothing_is_committed(self, harness: SourceHarness, opened: Callable[..., Reading]) -> None:
        """A reader that joins no group leaves no trace in it (a REPL)."""
        location = harness.topic(1)
        harness.produce(location, [Produced(b"1")])
        partition, pipeline = harness.partition(location, 0), location.rpartition("/")[2]
        looker = opened(location, pipeline=pipeline, group=False)
        looker.until_rows(1)

        assert looker.source.commit({partition: 1}, "") == {}

        reader = opened(location, pipeline=pipeline)
        reader.until_rows(1)
        assert reader.listener.committed == {partition: None}

    def test_commits_of_partitions_that_are_not_held_are_left_out(self, harness: SourceHarness, opened: Callable[..., Reading]) -> None:
        """A position of a partition that went is not committed (KSR-12)."""
        location = harness.topic(1)
        reading = opened(location)
        reading.until_held()

        assert reading.source.commit({harness.partition(location, 7): 1}, "") == {}

    def test_close_may_come_at_any_time(self, harness: SourceHarness) -> None:
        """A source that was never opened can be closed; one that has just joined, too, within seconds."""
        location = harness.topic(1)
        harness.make(location, {}).close()
        source = harness.make(location, {}, pipeline=uuid.uuid4().hex)
        source.open(Listening())
        start = time.monotonic()
        source.close()

        assert time.monotonic() - start < FEW_SECONDS * 2


class SourceSuite(UnboundedSuite):
    """What a source does whose transport also knows where a topic ends."""

    @pytest.fixture
    def bounded(self, harness: SourceHarness, opened: Callable[..., Reading]) -> Callable[..., Reading]:
        """Opens a source that ends where the topic ends now."""
        assert harness.plugin.capabilities.bounded

        return lambda *args, **kwargs: opened(*args, scan_bounded_mode="latest-offset", **kwargs)

    def test_everything_is_read_in_order(self, harness: SourceHarness, bounded: Callable[..., Reading]) -> None:
        """A bounded run returns every record once, in order within a partition, and then is finished (CNX-28, REP-26)."""
        location = harness.topic(3)
        sent = [Produced(b"%d" % i, partition=i % 3) for i in range(300)]
        harness.produce(location, sent)

        reading = bounded(location)
        reading.until_finished()

        for index in range(3):
            assert reading.values(index) == [r.value for r in sent if r.partition == index]
        covered = check_spans(reading.spans(), {harness.partition(location, i): 0 for i in range(3)})
        assert covered == SpanSet([Span(harness.partition(location, i), 0, 100) for i in range(3)])
        assert reading.source.lag() == 0

    def test_an_empty_topic_is_finished_at_once(self, harness: SourceHarness, bounded: Callable[..., Reading]) -> None:
        """Nothing to read is read at once."""
        reading = bounded(harness.topic(2))

        assert reading.source.finished()
        assert reading.poll() is None

    def test_null_and_empty_stay_apart(self, harness: SourceHarness, bounded: Callable[..., Reading]) -> None:
        """Payload, key and header value keep NULL and empty apart; headers keep order and duplicates (KF-01, REP-06, REP-07, REP-08, MET-13)."""
        location = harness.topic(1)
        headers = (("a", b"1"), ("b", None), ("a", b""), ("\u00e4", b"\xff"))
        harness.produce(location, [
            Produced(None, key=None), Produced(b"", key=b""), Produced(b"v", key=b"k", headers=headers), Produced(None, key=b"k"),
        ])

        reading = bounded(location)
        reading.until_finished()

        assert [(r[PAYLOAD], r["source_key"]) for r in reading.records()] == [(None, None), (b"", b""), (b"v", b"k"), (None, b"k")]
        assert [[(h["key"], h["value"]) for h in r["source_headers"]] for r in reading.records()] == [[], [], list(headers), []]

    def test_locator_and_times(self, harness: SourceHarness, bounded: Callable[..., Reading]) -> None:
        """Topic, partition, offset, timestamp, its type and the time of the poll are there (MET-01, MET-02, MET-03, MET-06, MET-07, MET-11)."""
        location = harness.topic(2)
        before = time.time()
        stamp_ms = int(before * 1000) - 86_400_123
        harness.produce(location, [Produced(b"x", partition=1, timestamp_ms=stamp_ms), Produced(b"y", partition=1)])

        reading = bounded(location)
        reading.until_finished()
        first, second = reading.records()

        topic = harness.partition(location, 1).topic
        assert [(r["source_topic"], r["source_partition"], r["source_offset"]) for r in (first, second)] == [(topic, 1, 0), (topic, 1, 1)]
        assert round(first["source_timestamp"].timestamp() * 1000) == stamp_ms
        assert first["source_timestamp_type"] == "CreateTime"
        assert before - 1 <= first["ingest_ts"].timestamp() <= time.time() + 1

    @pytest.mark.parametrize("rows", [1, 7, 1000])
    def test_rows_of_a_batch_are_bounded(self, harness: SourceHarness, bounded: Callable[..., Reading], rows: int) -> None:
        """No batch has more rows than the budget says (CNX-04, CNX-05)."""
        location = harness.topic(2)
        harness.produce(location, [Produced(b"%d" % i, partition=i % 2) for i in range(40)])

        reading = bounded(location)
        reading.until_finished(Budget(rows=rows, age_ns=BUDGET.age_ns))

        assert max(b.rows for b in reading.batches) <= rows
        assert sorted(int(v or b"") for v in reading.values()) == list(range(40))

    def test_bytes_of_a_batch_are_bounded(self, harness: SourceHarness, bounded: Callable[..., Reading]) -> None:
        """A batch stays within the budget's bytes, and a record larger than the whole budget still comes, alone (CNX-04, CNX-12)."""
        location = harness.topic(1)
        sizes = [100] * 20 + [50_000] + [100] * 20
        harness.produce(location, [Produced(b"x" * size) for size in sizes])

        reading = bounded(location)
        budget = Budget(nbytes=1_000, age_ns=BUDGET.age_ns)
        reading.until_finished(budget)

        assert [len(v or b"") for v in reading.values()] == sizes
        assert all(b.rows == 1 or b.nbytes <= budget.nbytes for b in reading.batches)

    def test_latest_starts_behind_what_is_there(self, harness: SourceHarness, opened: Callable[..., Reading]) -> None:
        """``scan.startup.mode`` latest-offset leaves out what is there already."""
        location = harness.topic(1)
        harness.produce(location, [Produced(b"old")])
        reading = opened(location, scan_startup_mode="latest-offset")
        reading.until_held()

        harness.produce(location, [Produced(b"new")])
        reading.until_rows(1)

        assert reading.listener.held == {harness.partition(location, 0): 1}
        assert reading.values() == [b"new"]

    def test_holes_are_covered(self, harness: SourceHarness, bounded: Callable[..., Reading]) -> None:
        """A position in the middle of the topic is a start like any other; its span begins there (CNX-27)."""
        location = harness.topic(1)
        harness.produce(location, [Produced(b"%d" % i) for i in range(10)])
        partition = harness.partition(location, 0)

        reading = bounded(location, Listening(resume={partition: 9}))
        reading.until_finished()

        assert reading.spans() == [Span(partition, 9, 10)]
        assert reading.values() == [b"9"]
