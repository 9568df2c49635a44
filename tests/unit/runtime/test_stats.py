"""Facts added up: rates over a window, bounded quantiles, nothing stale after a rebalance."""

from __future__ import annotations

import threading

import pytest

from thalweg.model import events as e
from thalweg.model.clock import SECOND_NS
from thalweg.model.position import Partition
from thalweg.runtime.stats import Stats
from thalweg.testing.fakes import FakeClock

P0, P1 = Partition("orders", "orders", 0), Partition("orders", "orders", 1)


@pytest.fixture
def clock() -> FakeClock:
    """A clock that stands still."""
    return FakeClock()


@pytest.fixture
def stats(clock: FakeClock) -> Stats:
    """Statistics that have seen nothing."""
    return Stats(clock)


def test_a_source_adds_up(stats: Stats, clock: FakeClock) -> None:
    """Rows, bytes and their rates; the rate looks back over the time since the start, then ten seconds (OBS-26)."""
    for _ in range(4):
        stats.on(e.Polled("orders", 100, 5_000, 7))
        clock.sleep_ns(SECOND_NS)

    (source,) = stats.snapshot().sources
    assert (source.rows, source.nbytes, source.lag) == (400, 20_000, 7)
    assert source.rows_per_second == pytest.approx(100, rel=0.3)
    assert source.bytes_per_second == pytest.approx(5_000, rel=0.3)

    clock.sleep_ns(20 * SECOND_NS)
    assert stats.snapshot().sources[0].rows_per_second == 0


def test_the_long_way_is_counted(stats: Stats) -> None:
    """Slow rows, lost digits and cuts by message type, for each source (DEC-11)."""
    stats.on(e.DecodeCounts("orders", {"slow": 2, "cut t.M": 1}))
    stats.on(e.DecodeCounts("orders", {"slow": 1, "finer": 4}))

    assert stats.snapshot().sources[0].decoding == {"slow": 3, "cut t.M": 1, "finer": 4}


def test_lag_is_never_negative_and_never_stale(stats: Stats) -> None:
    """A source that is ahead of what it knows of the end has lag 0; after a revoke nobody knows until the next poll (OB-01)."""
    stats.on(e.Assigned("orders", {P0: 0, P1: 0}, {}))
    stats.on(e.Polled("orders", 1, 1, -3))
    assert stats.snapshot().sources[0].lag == 0

    stats.on(e.Polled("orders", 1, 1, 500))
    stats.on(e.Revoked("orders", (P1,), lost=False))
    (source,) = stats.snapshot().sources
    assert (source.lag, source.partitions) == (None, 1)

    stats.on(e.Polled("orders", 1, 1, None))
    assert stats.snapshot().sources[0].lag is None


def test_revoked_partitions_disappear(stats: Stats) -> None:
    """Positions of a partition that went are gone, and a late commit does not bring them back (OB-01)."""
    stats.on(e.Assigned("orders", {P0: 0, P1: 0}, {}))
    stats.on(e.OffsetsCommitted("orders", {P0: 5, P1: 6}))
    stats.on(e.Revoked("orders", (P1,), lost=True))
    stats.on(e.OffsetsCommitted("orders", {P0: 7, P1: 8}))

    assert stats.snapshot().sources[0].committed == {P0: 7}
    assert stats.snapshot().commits == 2


def test_a_lane_adds_up(stats: Stats) -> None:
    """Delivered rows, pending deliveries, retries, and quantiles of the latest confirmations (OBS-30)."""
    stats.on(e.Submitted("clean", 1, 10, 100, pending=3))
    stats.on(e.Delivered("clean", 100, 1_000, 2, tuple(i / 100 for i in range(100))))
    stats.on(e.LaneRetried("clean", 1, "busy"))
    stats.on(e.LanePoisoned("clean", "gone"))

    (lane,) = stats.snapshot().lanes
    assert (lane.delivered, lane.pending, lane.retries, lane.poisoned) == (1_000, 2, 1, True)
    assert (lane.p50, lane.p99) == (0.5, 0.99)
    assert lane.rows_per_second > 0

    stats.on(e.Rewound("somebody else has it"))
    assert (stats.snapshot().lanes[0].pending, stats.snapshot().rewinds) == (0, 1)


def test_quantiles_forget(stats: Stats) -> None:
    """Only the latest confirmations count, so memory is bounded and an old stall fades."""
    stats.on(e.Delivered("clean", 1, 1, 0, (60.0,) * 1_000))
    stats.on(e.Delivered("clean", 1, 1, 0, (0.01,) * 2_000))

    assert stats.snapshot().lanes[0].p99 == 0.01


def test_everything_else(stats: Stats, clock: FakeClock) -> None:
    """Nodes, epochs, bad records, dropped ones, commits that failed, pressure, start and stop."""
    stats.on(e.PipelineStarted("orders", {"group": "g"}))
    stats.on(e.NodeRan("clean", 10, 8, 0.5))
    stats.on(e.NodeRan("clean", 10, 8, 0.5))
    stats.on(e.EpochDone("orders", 1, 10, 0.1))
    stats.on(e.BadRecords("orders", "dlq", {"decode.type": 2, "sql.cast": 3}, "x"))
    stats.on(e.RecordsDropped("orders", "tombstones", 4))
    stats.on(e.CommitFailed("orders", "rebalance"))
    stats.on(e.Pressure("worker", "critical", 10))
    stats.on(e.Pressure("lane", "warning", 10))
    stats.on(e.Pressure("lane", "normal", 0))
    stats.on(e.Notice("info", "x", "y"))
    clock.sleep_ns(3 * SECOND_NS)
    now = stats.snapshot()

    assert (now.pipeline, now.facts, now.seconds, now.epochs, now.stopped) == ("orders", {"group": "g"}, 3.0, 1, None)
    assert (now.nodes[0].rows_in, now.nodes[0].rows_out, now.nodes[0].seconds) == (20, 16, 1.0)
    assert list(now.bad) == ["sql.cast", "decode.type"]
    assert now.bad_policies["sql.cast"] == "dlq"
    assert (now.sources[0].dropped, now.commit_failures, now.pressure) == ({"tombstones": 4}, 1, {"worker": "critical"})

    stats.on(e.PipelineStopped("orders", "finished", 2.5))
    clock.sleep_ns(SECOND_NS)
    assert (stats.snapshot().seconds, stats.snapshot().stopped) == (2.5, "finished")


def test_threads_lose_nothing(stats: Stats) -> None:
    """Facts from several threads at once are all counted."""
    threads = [threading.Thread(target=lambda: [stats.on(e.Polled("s", 1, 1, 0)) for _ in range(2_000)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert stats.snapshot().sources[0].rows == 8_000
