"""Conformance of sinks: subclass a suite, give it the fixture ``bench``, and every law of ``ports/sink.py`` is tried."""

from __future__ import annotations

import gc
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from thalweg import registry
from thalweg.errors import SpanTaken
from thalweg.model import options
from thalweg.model.position import Partition, Span, TopicIdentity
from thalweg.model.spans import SpanSet
from thalweg.ports.sink import Delivery, SinkContext, Target
from thalweg.testing.fakes import CrashPoints, DiesBeforeAckSink, FakeClock, Killed, OutOfOrderSink, RecordingObserver

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from thalweg.ports.sink import Sink, SinkPlugin

SCHEMA = pa.schema([
    pa.field("partition", pa.int32()), pa.field("offset", pa.int64()), pa.field("name", pa.string()),
    pa.field("tags", pa.list_(pa.string())),
])


@dataclass
class SinkBench:
    """One target and what the suite needs to try it."""

    name: str
    """Plug-in below ``thalweg/sinks``."""
    location: str
    read: Callable[[], list[dict[str, Any]]]
    """Rows that a reader of the target sees now, whichever order."""
    options: Mapping[str, str] = field(default_factory=dict)
    partition_by: tuple[str, ...] = ()
    clock: FakeClock = field(default_factory=FakeClock)
    observer: RecordingObserver = field(default_factory=RecordingObserver)
    topic_id: str = "topic-1"

    @property
    def plugin(self) -> SinkPlugin:
        """The plug-in itself."""
        found: SinkPlugin = registry.load("sinks", self.name)
        return found

    def target(self) -> Target:
        """The words of the COPY."""
        values, errors = options.read(self.plugin.options, self.options)
        assert not errors, errors
        return Target(self.location, values, SCHEMA, self.partition_by)

    def context(self, relation: str = "orders", pipeline: str = "bench", prefix: str = "_twg_") -> SinkContext:
        """What the runtime would give."""
        topic_id = self.topic_id
        return SinkContext(
            pipeline, relation, SCHEMA, self.partition_by, prefix, lambda _partition: TopicIdentity("cluster-1", topic_id),
            self.clock, self.observer, "0.0.test",
        )

    def open(self, relation: str = "orders", **context: str) -> Sink:
        """A new process's sink, opened."""
        sink = self.plugin.make(self.target(), self.context(relation, **context))
        sink.open()
        return sink

    def seen(self) -> list[tuple[int, int]]:
        """``(partition, offset)`` of every row that a reader sees, sorted; a row that is there twice is in the list twice."""
        return sorted((row["partition"], row["offset"]) for row in self.read())


def partition(index: int = 0, source: str = "orders") -> Partition:
    """A partition of the suite's topic."""
    return Partition(source, "orders-topic", index)


def delivery(seq: int, start: int, end: int, index: int = 0, keep: Callable[[int], bool] = lambda _offset: True) -> Delivery:
    """Offsets ``start`` to ``end`` of one partition; rows for those that ``keep``."""
    kept = [o for o in range(start, end) if keep(o)]
    batch = pa.record_batch(
        [
            pa.array([index] * len(kept), pa.int32()), pa.array(kept, pa.int64()),
            pa.array([None if o % 5 == 0 else f"name {o % 3}" for o in kept], pa.string()),
            pa.array([["a", str(o)] for o in kept], pa.list_(pa.string())),
        ],
        schema=SCHEMA,
    )
    batches = (batch,) if kept else ()
    return Delivery(seq, batches, (Span(partition(index), start, end),), len(kept), batch.nbytes if kept else 0)


def rows(start: int, end: int, index: int = 0) -> list[tuple[int, int]]:
    """What ``SinkBench.seen`` says for these offsets."""
    return [(index, o) for o in range(start, end)]


def finish(sink: Sink) -> list[int]:
    """Flush, confirm, close; the numbers that were confirmed."""
    sink.flush()
    confirmed = list(sink.confirm())
    sink.close()
    return confirmed


def resume(sink: Sink, end: int, indexes: Iterable[int] = (0,)) -> list[Delivery]:
    """What a restarted pipeline would deliver up to ``end``: everything that the sink's record has not."""
    parts = [partition(i) for i in indexes]
    have = sink.covered(parts) or SpanSet()
    missing = SpanSet(Span(p, 0, end) for p in parts).minus(have)
    return [delivery(1000 + n, s.start, s.end, s.partition.index) for n, s in enumerate(missing)]


class SinkSuite:
    """Laws of every sink. A subclass brings the fixture ``bench``: a SinkBench with an empty target."""

    def test_rows_arrive_and_are_confirmed_once(self, bench: SinkBench) -> None:
        """Everything written and flushed is visible, and each delivery is confirmed exactly once (SNK-01, SNK-03)."""
        sink = bench.open()
        confirmed: list[int] = []
        for seq in range(4):
            sink.write(delivery(seq, seq * 10, seq * 10 + 10))
            confirmed += sink.confirm()
        confirmed += finish(sink)

        assert sorted(confirmed) == [0, 1, 2, 3]
        assert bench.seen() == rows(0, 40)

    def test_never_confirms_what_is_not_visible(self, bench: SinkBench) -> None:
        """At every confirmation a reader already sees the rows (SNK-02, ACK-12, ACK-16)."""
        sink = bench.open()
        confirmed: set[int] = set()
        for seq in range(6):
            sink.write(delivery(seq, seq * 10, seq * 10 + 10))
            if seq == 3:  # noqa: PLR2004 - somewhere in the middle
                sink.flush()
            confirmed.update(sink.confirm())

            assert {offset // 10 for _, offset in bench.seen()} >= confirmed
        sink.close()

    def test_spans_without_rows_are_confirmed(self, bench: SinkBench) -> None:
        """A delivery whose rows were all filtered away is confirmed like any other (COV-17)."""
        sink = bench.open()
        sink.write(delivery(1, 0, 100, keep=lambda _o: False))

        assert finish(sink) == [1]
        assert bench.seen() == []

    def test_idle_confirms_nothing(self, bench: SinkBench) -> None:
        """Asked without having anything, a sink answers with nothing, however often."""
        sink = bench.open()
        answers = [list(sink.confirm()) for _ in range(3)]
        sink.settle()
        sink.flush()
        answers.append(list(sink.confirm()))
        sink.close()

        assert answers == [[], [], [], []]

    def test_abandoned_work_is_never_confirmed(self, bench: SinkBench) -> None:
        """After ``abandon`` nothing of what was open is reported, and the sink takes new deliveries."""
        sink = bench.open()
        sink.write(delivery(1, 0, 10))
        sink.abandon()
        sink.write(delivery(2, 10, 20))

        assert finish(sink) == [2]

    def test_close_confirms_nothing(self, bench: SinkBench) -> None:
        """Closing without a flush leaves the target usable for the next process."""
        sink = bench.open()
        sink.write(delivery(1, 0, 10))
        sink.close()
        after = bench.open()
        after.write(delivery(1, 10, 20))

        assert finish(after) == [1]
        assert set(rows(10, 20)) <= set(bench.seen())

    def test_confirmations_may_come_in_any_order(self, bench: SinkBench) -> None:
        """Behind a sink that confirms out of order every delivery is still confirmed once (ACK-18)."""
        sink = OutOfOrderSink(bench.open())
        confirmed: list[int] = []
        for seq in range(8):
            sink.write(delivery(seq, seq * 10, seq * 10 + 10))
            if seq == 5:  # noqa: PLR2004 - somewhere in the middle
                sink.flush()
            confirmed += sink.confirm()
        confirmed += finish(sink)

        assert sorted(confirmed) == list(range(8))
        assert bench.seen() == rows(0, 80)


class RecordSuite:
    """Laws of sinks whose ``capabilities.records_spans`` is true: replays are cut, zombies give way, crashes cost nothing."""

    def test_record_outlives_the_process(self, bench: SinkBench) -> None:
        """A new process reads exactly the confirmed spans, gaps kept apart (COV-04)."""
        sink = bench.open()
        sink.write(delivery(1, 0, 10))
        sink.write(delivery(2, 20, 30))
        sink.write(delivery(3, 5, 25, index=1, keep=lambda o: o == 7))  # noqa: PLR2004 - one row in a span of holes
        finish(sink)
        after = bench.open()
        covered = after.covered([partition(0), partition(1), partition(2)])
        after.close()

        assert covered == SpanSet([Span(partition(0), 0, 10), Span(partition(0), 20, 30), Span(partition(1), 5, 25)])

    def test_record_is_keyed(self, bench: SinkBench) -> None:
        """Another source table, another relation, another pipeline and a topic made again have records of their own (COV-17)."""
        sink = bench.open()
        sink.write(delivery(1, 0, 10))
        finish(sink)
        other_source = bench.open()
        found = [other_source.covered([partition(source="returns")])]
        other_source.close()
        for relation, pipeline in (("other", "bench"), ("orders", "another")):
            other = bench.open(relation, pipeline=pipeline)
            found.append(other.covered([partition()]))
            other.close()
        bench.topic_id = "topic-2"
        again = bench.open()
        found.append(again.covered([partition()]))
        again.close()

        assert all(spans is not None and not len(spans) for spans in found)

    def test_replay_is_cut(self, bench: SinkBench) -> None:
        """After a crash between publication and commit, writing what the record lacks gives every row once (COV-05)."""
        sink = bench.open()
        sink.write(delivery(1, 0, 30))
        sink.flush()
        sink.write(delivery(2, 30, 45))
        sink.close()  # the second delivery is lost with the process
        after = bench.open()
        for missing in resume(after, 60):
            after.write(missing)
        finish(after)

        assert bench.seen() == rows(0, 60)

    def test_dead_after_durable_before_ack(self, bench: SinkBench) -> None:
        """What was durable but never acknowledged is in the record, and is not written again (ACK-16)."""
        sink = DiesBeforeAckSink(bench.open(), seq=2)
        died = False
        try:
            for seq in (1, 2):
                sink.write(delivery(seq, seq * 10 - 10, seq * 10))
                sink.flush()
                sink.confirm()
        except Killed:
            died = True
        del sink
        gc.collect()
        after = bench.open()
        missing = resume(after, 30)
        for one in missing:
            after.write(one)
        finish(after)

        assert died
        assert [d.spans[0].start for d in missing] == [20]
        assert bench.seen() == rows(0, 30)

    def test_zombie_gives_way(self, bench: SinkBench) -> None:
        """A process that lost its partition without notice cannot publish the same span; it resumes from the record."""
        zombie, heir = bench.open(), bench.open()
        zombie.write(delivery(1, 0, 15))
        heir.write(delivery(1, 0, 20))
        finish(heir)
        taken = False
        try:
            zombie.flush()
            zombie.confirm()
        except SpanTaken:
            taken = True
        zombie.abandon()
        for missing in resume(zombie, 40):
            zombie.write(missing)
        finish(zombie)

        assert taken
        assert bench.seen() == rows(0, 40)

    def test_processes_share_a_relation(self, bench: SinkBench) -> None:
        """Two processes with a partition each write side by side, and each sees what the other published."""
        sinks = [bench.open(), bench.open()]
        for seq in range(3):
            for index, sink in enumerate(sinks):
                sink.write(delivery(seq, seq * 5, seq * 5 + 5, index))
                sink.flush()
                assert list(sink.confirm()) == [seq]
        covered = sinks[0].covered([partition(0), partition(1)])
        for sink in sinks:
            sink.close()

        assert covered == SpanSet([Span(partition(0), 0, 15), Span(partition(1), 0, 15)])
        assert bench.seen() == rows(0, 15, 0) + rows(0, 15, 1)

    def test_abandoned_rows_never_show(self, bench: SinkBench) -> None:
        """What was given up is neither visible nor recorded, now and after a restart."""
        sink = bench.open()
        sink.write(delivery(1, 0, 10))
        sink.abandon()
        finish(sink)
        after = bench.open()
        covered = after.covered([partition()])
        after.close()

        assert covered == SpanSet()
        assert bench.seen() == []

    def test_crash_at_every_step(self, bench: SinkBench) -> None:
        """Killed before any step on the file system, then resumed by another process: every row once, nothing confirmed is missing."""
        crashes = 0
        gc.freeze()  # what is older than this test need not be searched at every crash
        try:
            while self._crash_once(bench, crashes):
                crashes += 1
                self._clear(bench)
        finally:
            gc.unfreeze()

    def _crash_once(self, bench: SinkBench, at: int) -> bool:
        """One run that dies before step ``at``; False when it came to its end before."""
        confirmed: list[int] = []
        points = CrashPoints(at)
        with points:
            try:
                sink = bench.open()
                for seq in range(3):
                    sink.write(delivery(seq, seq * 10, seq * 10 + 10, keep=lambda o: o // 10 != 1))
                    sink.flush()
                    confirmed += sink.confirm()
                sink.close()
            except Killed as e:
                e.with_traceback(None)
        sink = None  # type: ignore[assignment]  # the dead process lets go of its locks
        gc.collect()
        seen = bench.seen()
        assert {o // 10 for _, o in seen} >= set(confirmed) - {1}, f"confirmed and not visible after {points.steps}"
        with CrashPoints():
            after = bench.open()
            for missing in resume(after, 40):
                after.write(missing)
            finish(after)
        lost = set(rows(0, 40)) - set(bench.seen()) - set(rows(10, 20))
        assert not lost, f"lost after {points.steps}"
        assert len(bench.seen()) == len(set(bench.seen())), f"twice after {points.steps}"
        return points.crashed

    def _clear(self, bench: SinkBench) -> None:
        """Empty the target with the sink's own ``rewrite``, which must leave nothing."""
        bench.plugin.rewrite(bench.target(), bench.context())
        assert bench.seen() == []
        assert bench.plugin.rewrite_plan(bench.target(), bench.context()) == []
