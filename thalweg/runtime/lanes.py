"""A lane per sink: a bounded queue and a thread that writes, waits once for a burst, and confirms in ascending order."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from thalweg.errors import DrainExpired, SinkBusy, SinkFailed, SpanTaken, ThalwegError
from thalweg.model.clock import MILLISECOND_NS, SECOND_NS
from thalweg.model.events import Delivered, LanePoisoned, LaneRetried, Submitted
from thalweg.runtime import acks
from thalweg.runtime.queues import ByteQueue, Closed

if TYPE_CHECKING:
    from collections.abc import Callable

    from thalweg.model.clock import Clock
    from thalweg.model.events import Observer
    from thalweg.ports.sink import Delivery, Sink

TokenT = TypeVar("TokenT", acks.RawAnchor, acks.DerivedCoverage, acks.NoCommit)
TICK_SECONDS = 0.05
_FIRST_PAUSE_NS = 50 * MILLISECOND_NS
_LONGEST_PAUSE_NS = 10 * SECOND_NS


@dataclass(frozen=True, slots=True)
class LaneEvents:
    """What a lane tells the runtime; called on the lane's thread."""

    confirmed: Callable[[int, acks.Token, list[int]], None]
    """``(generation, token, epochs ascending)``: durable."""
    failed: Callable[[str, BaseException], None]
    """The lane is poisoned."""
    taken: Callable[[str, SpanTaken], None]
    """Another process published a span first: rewind."""


@dataclass(slots=True)
class _Call:
    """Something to do on the lane's thread, and how it ended."""

    work: Callable[[Sink], Any]
    done: threading.Event
    result: Any = None
    error: BaseException | None = None


@dataclass(frozen=True, slots=True)
class _Sent:
    """A delivery that the sink has, waiting for its confirmation."""

    generation: int
    rows: int
    at_ns: int


class Lane(Generic[TokenT]):
    """One sink, one queue, one thread; nothing is shared with any other lane."""

    def __init__(
        self, name: str, sink: Sink, token: TokenT, *, queue_bytes: int, events: LaneEvents, clock: Clock, observer: Observer
    ) -> None:
        """The thread starts with :meth:`open`."""
        self.name, self.sink = name, sink
        self.token: TokenT = token
        self._queue: ByteQueue[tuple[int, Delivery]] = ByteQueue(f"lane {name}", queue_bytes, clock, observer)
        self._events, self._clock, self._observer = events, clock, observer
        self._calls: list[_Call] = []
        self._calls_lock = threading.Lock()
        self._sent: dict[int, _Sent] = {}
        self._generation = 0
        self._stopping = False
        self._given_way = False
        self._opened = threading.Event()
        self.poisoned: BaseException | None = None
        self.submitted = acks.Submitted(-1)
        self._thread = threading.Thread(target=self._run, name=f"lane-{name}", daemon=True)

    # -- called by the runtime
    def open(self) -> None:
        """Start the thread and open the sink on it; raises what the sink raises."""
        self._thread.start()
        self._opened.wait()
        if self.poisoned is not None:
            raise self.poisoned

    def send(self, generation: int, delivery: Delivery) -> None:
        """Queue one delivery, waiting for room; returns at once when the lane is closed or poisoned (the run is ending then)."""
        try:
            self._queue.put((generation, delivery), delivery.nbytes)
        except Closed:
            return

    def call(self, work: Callable[[Sink], Any], deadline_ns: int | None) -> Any:  # noqa: ANN401 - what the work returns
        """Do something with the sink on the lane's thread, after what it is doing now; raises its error, or DrainExpired."""
        call = _Call(work, threading.Event())
        with self._calls_lock:
            if self.poisoned is not None:
                raise self.poisoned
            self._calls.append(call)
        self._queue.wake()
        while not call.done.wait(0.02):
            if deadline_ns is not None and self._clock.monotonic_ns() >= deadline_ns:
                with self._calls_lock:
                    if call in self._calls:
                        self._calls.remove(call)
                raise DrainExpired(f"sink {self.name} did not answer in time", hint="a larger 'drain.deadline' gives it more")
            if not self._thread.is_alive() and not call.done.is_set():
                raise SinkFailed(f"sink {self.name} is closed")
        if call.error is not None:
            raise call.error
        return call.result

    def drain(self, deadline_ns: int | None) -> None:
        """Write everything queued, make it durable, confirm it."""
        self.call(self._flush, deadline_ns)

    def rewind(self, generation: int, deadline_ns: int | None) -> None:
        """Give up everything that is not durable; deliveries of older generations are thrown away from now on."""

        def work(sink: Sink) -> None:
            self._generation = generation
            self._given_way = False
            self._queue.clear()
            self._sent.clear()
            sink.abandon()

        self.call(work, deadline_ns)

    def has_room(self) -> bool:
        """Whether ``send`` would return at once."""
        return self._queue.has_room()

    @property
    def pending(self) -> int:
        """Deliveries submitted and not confirmed."""
        return len(self._sent)

    def stop_accepting(self) -> None:
        """Let a blocked ``send`` return."""
        self._queue.close()

    def stop(self) -> None:
        """Begin nothing new; what the sink is doing now is finished and confirmed."""
        self._stopping = True
        self._queue.close()

    def close(self, timeout: float) -> bool:
        """End the thread and close the sink; False when it did not end in time."""
        self.stop()
        if not self._thread.ident:
            return True
        self._thread.join(timeout)
        return not self._thread.is_alive()

    # -- the lane's thread
    def _run(self) -> None:
        """Open; then until stopped: calls first, then a burst of deliveries, then one look at what became durable."""
        try:
            self.sink.open()
            self._opened.set()
            while not self._stopping:
                self._serve_calls()
                burst = self._take_burst()
                try:
                    self._write_all(burst)
                    self._confirm()
                except SpanTaken as e:
                    self._give_way(e)
        except BaseException as e:  # noqa: BLE001 - a Rust panic is a BaseException; whatever ends a lane must reach the runtime
            self._poison(e)
        finally:
            self._opened.set()
            self._end()

    def _take_burst(self) -> list[tuple[int, Delivery]]:
        """Wait for the first delivery, then take what is there without waiting."""
        first = self._queue.get(TICK_SECONDS)
        burst = [] if first is None else [first]
        while first is not None and not self._calls and (more := self._queue.get(0)) is not None:
            burst.append(more)
        return burst

    def _write_all(self, burst: list[tuple[int, Delivery]]) -> None:
        """Hand a burst to the sink, leaving out what a rewind made stale."""
        for generation, delivery in burst:
            if generation < self._generation or self._given_way or self._stopping:
                continue
            self._generation = generation
            self._retrying(partial(self.sink.write, delivery))
            self.submitted = acks.Submitted(delivery.seq)
            self._sent[delivery.seq] = _Sent(generation, delivery.rows, self._clock.monotonic_ns())
            self._observer.on(Submitted(self.name, delivery.seq, delivery.rows, delivery.nbytes, len(self._sent)))

    def _confirm(self) -> None:
        """Ask once what became durable; tell it in ascending order."""
        confirmed: list[int] = []
        self._retrying(lambda: confirmed.extend(self.sink.confirm()))
        self._told(sorted(confirmed))

    def _told(self, epochs: list[int]) -> None:
        """Pass confirmations on; a number that was never sent is a fault of the sink."""
        known = [(number, self._sent.pop(number)) for number in epochs if number in self._sent]
        if not known:
            return
        now = self._clock.monotonic_ns()
        self._events.confirmed(self._generation, self.token, [number for number, _ in known])
        waits = tuple((now - sent.at_ns) / SECOND_NS for _, sent in known)
        self._observer.on(Delivered(self.name, len(known), sum(s.rows for _, s in known), len(self._sent), waits))

    def _flush(self, sink: Sink) -> None:
        """Everything queued and written becomes durable."""
        while (item := self._queue.get(0)) is not None:
            self._write_all([item])
        if self._stopping:
            raise DrainExpired(f"sink {self.name} is being closed")
        self._retrying(sink.flush)
        self._confirm()

    def _retrying(self, step: Callable[[], None]) -> None:
        """Run a step again and again on the same stream for as long as the sink says that it is busy."""
        pause, attempt = _FIRST_PAUSE_NS, 0
        while True:
            try:
                return step()
            except SinkBusy as e:
                attempt += 1
                self._observer.on(LaneRetried(self.name, attempt, str(e)))
                if self._stopping:
                    raise SinkFailed(f"sink {self.name} was busy until the end: {e}") from e
                self._wait(pause)
                pause = min(pause * 2, _LONGEST_PAUSE_NS)

    def _wait(self, pause_ns: int) -> None:
        """Sleep in small steps, so that stopping is noticed."""
        until = self._clock.monotonic_ns() + pause_ns
        while not self._stopping and self._clock.monotonic_ns() < until:
            self._clock.sleep_ns(min(pause_ns, 20 * MILLISECOND_NS))

    def _serve_calls(self) -> None:
        """Do what the runtime asked for."""
        while True:
            with self._calls_lock:
                if not self._calls:
                    return
                call = self._calls.pop(0)
            try:
                call.result = call.work(self.sink)
            except SpanTaken as e:
                call.error = e
                self._give_way(e)
            except ThalwegError as e:
                call.error = e
                if isinstance(e, SinkFailed):
                    call.done.set()
                    raise
            except BaseException as e:
                call.error = e
                call.done.set()
                raise
            call.done.set()

    def _give_way(self, error: SpanTaken) -> None:
        """Somebody else has the span: nothing of ours may follow until the runtime has rewound."""
        self._given_way = True
        self._sent.clear()
        self.sink.abandon()
        self._events.taken(self.name, error)

    def _poison(self, error: BaseException) -> None:
        """Nothing more goes through this stream."""
        self.poisoned = error
        self._observer.on(LanePoisoned(self.name, str(error)))
        self._queue.close()
        self._events.failed(self.name, error)

    def _end(self) -> None:
        """Fail what still waits, and release the target."""
        with self._calls_lock:
            left, self._calls = self._calls, []
            if self.poisoned is None:
                self.poisoned = SinkFailed(f"sink {self.name} is closed")
        for call in left:
            call.error = self.poisoned
            call.done.set()
        try:
            self.sink.close()
        except Exception as e:  # noqa: BLE001 - the run is over; the error is shown, not raised into a dying thread
            self._observer.on(LanePoisoned(self.name, f"close failed: {e}"))


AnyLane = Lane[Any]
"""A lane whatever its token; what a token may do is checked where it is used."""
