"""A lane: bursts, confirmations in order, retries, rewinds, poisoning."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import pytest

from thalweg.errors import DrainExpired, SinkBusy, SinkFailed, SpanTaken
from thalweg.model.clock import SystemClock
from thalweg.model.events import Delivered, Event, LanePoisoned, LaneRetried
from thalweg.model.position import Partition, Span
from thalweg.ports.sink import Delivery, Sink
from thalweg.runtime.acks import RawAnchor, Submitted
from thalweg.runtime.lanes import Lane, LaneEvents

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from thalweg.model.spans import SpanSet
    from thalweg.runtime.acks import Token

P = Partition("orders", "t", 0)


class Scripted(Sink):
    """A sink that does what the test says, and notes what was asked of it."""

    def __init__(self) -> None:
        """Everything written is durable at the next confirm."""
        self.written: list[int] = []
        self.calls: list[str] = []
        self.threads: set[str] = set()
        self.durable: list[int] = []
        self.on_write: Callable[[Delivery], None] = lambda _delivery: None
        self.hold = False

    def _note(self, call: str) -> None:
        """Remember the call and its thread."""
        self.calls.append(call)
        self.threads.add(threading.current_thread().name)

    def open(self) -> None:
        """Noted."""
        self._note("open")

    def covered(self, partitions: Collection[Partition]) -> SpanSet | None:
        """Keeps no record."""
        self._note("covered")
        return None

    def write(self, delivery: Delivery) -> None:
        """Noted; durable unless held."""
        self._note("write")
        self.on_write(delivery)
        self.written.append(delivery.seq)
        if not self.hold:
            self.durable.append(delivery.seq)

    def confirm(self) -> Collection[int]:
        """Newest first, on purpose."""
        assert self.calls[0] == "open"
        out, self.durable = list(reversed(self.durable)), []
        return out

    def flush(self) -> None:
        """What was held becomes durable."""
        self._note("flush")
        self.durable += [n for n in self.written if n not in self.durable]

    def settle(self) -> None:
        """Noted."""
        self._note("settle")

    def abandon(self) -> None:
        """Noted."""
        self._note("abandon")
        self.durable.clear()

    def close(self) -> None:
        """Noted."""
        self._note("close")


class Log:
    """What the runtime and the observer were told."""

    def __init__(self) -> None:
        """Nothing yet."""
        self.confirmed: list[list[int]] = []
        self.failed: list[BaseException] = []
        self.taken: list[SpanTaken] = []
        self.events: list[Event] = []

    def on(self, event: Event) -> None:
        """Take one fact."""
        self.events.append(event)

    def lane_events(self) -> LaneEvents:
        """The three callbacks."""

        def confirmed(_generation: int, _token: Token, epochs: list[int]) -> None:
            self.confirmed.append(epochs)

        return LaneEvents(confirmed, lambda _lane, e: self.failed.append(e), lambda _lane, e: self.taken.append(e))


def delivery(seq: int, nbytes: int = 10) -> Delivery:
    """An empty delivery that covers one offset."""
    return Delivery(seq, (), (Span(P, seq, seq + 1),), 0, nbytes)


def lane(sink: Sink, log: Log, queue_bytes: int = 1 << 20) -> Lane[RawAnchor]:
    """An open lane."""
    made = Lane("out", sink, RawAnchor("out"), queue_bytes=queue_bytes, events=log.lane_events(), clock=SystemClock(), observer=log)
    made.open()
    return made


def until(condition: Callable[[], bool]) -> None:
    """Wait, but not for ever."""
    for _ in range(500):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("did not happen in 5 s")


def test_everything_happens_on_one_thread_and_in_order() -> None:
    """A sink is used by its lane's thread only; confirmations come ascending although the sink says them backwards (ACK-07, ACK-17)."""
    sink, log = Scripted(), Log()
    out = lane(sink, log)
    for seq in range(5):
        out.send(0, delivery(seq))
    out.drain(None)

    assert sink.threads == {"lane-out"}
    assert sink.calls[0] == "open"
    assert [n for burst in log.confirmed for n in burst] == [0, 1, 2, 3, 4]
    assert all(burst == sorted(burst) for burst in log.confirmed)
    assert out.submitted == Submitted(4)
    assert out.pending == 0
    assert out.close(5)
    assert sink.calls[-1] == "close"


def test_send_does_not_wait_for_durability() -> None:
    """More than one delivery is in flight while the sink keeps them (ACK-01, ACK-26, TST-16)."""
    sink, log = Scripted(), Log()
    sink.hold = True
    out = lane(sink, log)
    for seq in range(8):
        out.send(0, delivery(seq))
    until(lambda: len(sink.written) == 8)

    assert out.pending == 8
    assert log.confirmed == []

    out.drain(None)

    assert log.confirmed == [list(range(8))]
    assert sum(e.deliveries for e in log.events if isinstance(e, Delivered)) == 8
    out.close(5)


def test_a_busy_sink_is_asked_again_on_the_same_stream() -> None:
    """Transient errors back off and retry; the delivery is written once in the end (ACK-15)."""
    sink, log = Scripted(), Log()
    left = [3]

    def busy(_delivery: Delivery) -> None:
        if left[0]:
            left[0] -= 1
            raise SinkBusy("try later")

    sink.on_write = busy
    out = lane(sink, log)
    out.send(0, delivery(1))
    out.drain(None)

    assert sink.written == [1]
    assert [e.attempt for e in log.events if isinstance(e, LaneRetried)] == [1, 2, 3]
    out.close(5)


def test_a_permanent_error_poisons_the_lane() -> None:
    """The runtime hears of it once, later calls raise it, sends return at once (ACK-14)."""
    sink, log = Scripted(), Log()

    def fail(_delivery: Delivery) -> None:
        raise SinkFailed("no space left on device")

    sink.on_write = fail
    out = lane(sink, log)
    out.send(0, delivery(1))
    until(lambda: bool(log.failed))
    out.send(0, delivery(2))

    with pytest.raises(SinkFailed, match="no space left"):
        out.drain(None)
    assert [type(e) for e in log.events if isinstance(e, LanePoisoned)] == [LanePoisoned]
    assert out.close(5)


def test_a_panic_poisons_the_lane_too() -> None:
    """Rust panics are BaseExceptions; they must not end the thread in silence."""

    class PanicException(BaseException):
        """What PyO3 raises."""

    sink, log = Scripted(), Log()

    def panic(_delivery: Delivery) -> None:
        raise PanicException("called `Option::unwrap()` on a `None` value")

    sink.on_write = panic
    out = lane(sink, log)
    out.send(0, delivery(1))
    until(lambda: bool(log.failed))

    assert isinstance(log.failed[0], PanicException)
    out.close(5)


def test_a_rewind_drops_what_is_stale() -> None:
    """After a rewind nothing of the old generation is written or confirmed."""
    sink, log = Scripted(), Log()
    sink.hold = True
    out = lane(sink, log)
    out.send(0, delivery(1))
    until(lambda: sink.written == [1])
    out.rewind(1, None)
    out.send(0, delivery(2))
    out.send(1, delivery(3))
    sink.written.clear()
    out.drain(None)

    assert sink.written == [3]
    assert log.confirmed == [[3]]
    assert "abandon" in sink.calls
    out.close(5)


def test_a_taken_span_stops_the_lane_until_it_is_rewound() -> None:
    """Somebody else published first: what follows is not written before everybody went back."""
    sink, log = Scripted(), Log()

    def taken(d: Delivery) -> None:
        if d.seq == 2:
            raise SpanTaken("entry 7 has it")

    sink.on_write = taken
    out = lane(sink, log)
    for seq in (1, 2, 3):
        out.send(0, delivery(seq))
    until(lambda: bool(log.taken))
    out.drain(None)

    assert sink.written == [1]
    assert "abandon" in sink.calls

    out.rewind(1, None)
    out.send(1, delivery(4))
    out.drain(None)

    assert sink.written == [1, 4]
    assert out.poisoned is None
    out.close(5)


def test_a_call_does_not_wait_for_ever() -> None:
    """A sink that hangs costs the deadline, not the process."""
    sink, log = Scripted(), Log()
    release = threading.Event()
    sink.on_write = lambda _d: release.wait(10)  # type: ignore[assignment,return-value]
    out = lane(sink, log)
    out.send(0, delivery(1))
    clock = SystemClock()

    with pytest.raises(DrainExpired, match="did not answer"):
        out.drain(clock.monotonic_ns() + 200_000_000)
    release.set()
    assert out.close(5)


def test_a_lane_that_is_told_to_stop_ends_with_its_step() -> None:
    """The delivery under way is written and confirmed; nothing is begun after it, and a drain that waits is told (CL-01)."""
    sink, log = Scripted(), Log()
    writing, release = [threading.Event() for _ in range(4)], [threading.Event() for _ in range(4)]
    sink.on_write = lambda d: (writing[d.seq].set(), release[d.seq].wait(10))  # type: ignore[assignment,return-value]
    out = lane(sink, log)
    told: list[BaseException] = []

    def drain() -> None:
        try:
            out.drain(None)
        except DrainExpired as e:
            told.append(e)

    out.send(0, delivery(1))
    writing[1].wait(10)
    drainer = threading.Thread(target=drain)
    drainer.start()
    until(lambda: bool(out._calls))
    out.send(0, delivery(2))
    out.send(0, delivery(3))
    release[1].set()
    writing[2].wait(10)
    out.stop()
    release[2].set()
    release[3].set()

    assert out.close(5)
    drainer.join(5)
    assert (sink.written, log.confirmed) == ([1, 2], [[1], [2]])
    assert "flush" not in sink.calls
    assert [str(e) for e in told] == ["sink out is being closed"]
    assert log.failed == []


def test_a_full_queue_blocks_the_sender_until_close() -> None:
    """The bound of the queue is the back-pressure (ACK-04); closing lets the sender go."""
    sink, log = Scripted(), Log()
    release = threading.Event()
    sink.on_write = lambda _d: release.wait(10)  # type: ignore[assignment,return-value]
    out = lane(sink, log, queue_bytes=20)
    sender = threading.Thread(target=lambda: [out.send(0, delivery(n)) for n in range(6)])
    sender.start()
    sender.join(0.3)

    assert sender.is_alive()
    assert not out.has_room()

    out.stop_accepting()
    sender.join(5)

    assert not sender.is_alive()
    release.set()
    out.close(5)


def test_a_sink_that_cannot_be_opened_says_so_at_once() -> None:
    """The error comes out of ``open``; nothing else is asked of the sink."""

    class Closed(Scripted):
        """A target that is not there."""

        def open(self) -> None:
            """Refuse."""
            raise SinkFailed("no such folder")

    sink, log = Closed(), Log()
    out = Lane("out", sink, RawAnchor("out"), queue_bytes=1, events=log.lane_events(), clock=SystemClock(), observer=log)

    with pytest.raises(SinkFailed, match="no such folder"):
        out.open()
    assert out.close(5)
    assert sink.calls == ["close"]
