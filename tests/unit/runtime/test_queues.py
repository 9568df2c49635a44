"""Queues bounded in bytes, and the pressure they report."""

from __future__ import annotations

import threading

import pytest

from thalweg.model.clock import SECOND_NS, SystemClock
from thalweg.model.events import Event, Pressure
from thalweg.runtime.queues import STUCK_NS, ByteQueue, Closed, PressureGauge


class Seen:
    """Keeps what it is told."""

    def __init__(self) -> None:
        """Nothing yet."""
        self.events: list[Event] = []

    def on(self, event: Event) -> None:
        """Take one fact."""
        self.events.append(event)

    def states(self) -> list[str]:
        """States in the order they were entered."""
        return [e.state for e in self.events if isinstance(e, Pressure)]


class Ticking:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        """Starts at zero."""
        self.at = 0

    def now_ns(self) -> int:
        """The same as the monotonic clock."""
        return self.at

    def monotonic_ns(self) -> int:
        """Where it was moved to."""
        return self.at

    def sleep_ns(self, ns: int) -> None:
        """Moves it."""
        self.at += ns


def queue(limit: int) -> ByteQueue[str]:
    """A queue on the real clock that tells nobody."""
    return ByteQueue("test", limit, SystemClock(), Seen())


def test_items_come_out_in_order_and_bytes_are_counted() -> None:
    """First in, first out."""
    q = queue(100)
    q.put("a", 40)
    q.put("b", 40)

    assert (q.nbytes, len(q), q.has_room()) == (80, 2, True)
    assert [q.get(0), q.get(0), q.get(0)] == ["a", "b", None]
    assert q.nbytes == 0


def test_one_item_always_fits() -> None:
    """An item larger than the bound passes alone instead of blocking for ever."""
    q = queue(10)
    q.put("large", 1_000)

    assert not q.has_room()
    assert q.get(0) == "large"


def test_put_waits_for_room_and_close_releases_it() -> None:
    """A blocked put goes on when something is taken, and raises when the queue is closed."""
    q = queue(10)
    q.put("a", 10)
    outcome: list[str] = []

    def put(item: str) -> None:
        try:
            q.put(item, 10)
            outcome.append("in")
        except Closed:
            outcome.append("closed")

    first = threading.Thread(target=put, args=("b",))
    first.start()
    first.join(0.2)
    assert first.is_alive()
    assert q.get(0) == "a"
    first.join(5)
    second = threading.Thread(target=put, args=("c",))
    second.start()
    q.close()
    second.join(5)

    assert outcome == ["in", "closed"]
    assert q.get(0) == "b"
    with pytest.raises(Closed):
        q.put("d", 1)


def test_clear_takes_everything() -> None:
    """A rewind throws the queue's content away at once."""
    q = queue(100)
    q.put("a", 1)
    q.put("b", 1)

    assert q.clear() == ["a", "b"]
    assert len(q) == 0


def test_pressure_rises_by_level_and_falls_only_when_drained() -> None:
    """Hysteresis: between the thresholds the state stays what it was."""
    seen, clock = Seen(), Ticking()
    gauge = PressureGauge("stage", 100, clock, seen)
    for held in (10, 55, 40, 95, 60, 35, 20):
        gauge.watch(held)

    assert seen.states() == ["warning", "critical", "normal"]


def test_a_full_queue_that_nobody_takes_from_is_stuck() -> None:
    """Critical for ten seconds without one item taken; the first item taken ends it."""
    seen, clock = Seen(), Ticking()
    gauge = PressureGauge("stage", 100, clock, seen)
    gauge.watch(95)
    clock.at += STUCK_NS + SECOND_NS
    gauge.watch(95)
    gauge.moved(85)

    assert seen.states() == ["critical", "stuck", "critical"]
