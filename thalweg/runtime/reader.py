"""The reader thread of one source: polls, hands over, commits, and drains before partitions go."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final

from thalweg.errors import DrainExpired, SourceFailed, SpanTaken, ThalwegError
from thalweg.model.events import Assigned, Polled, Revoked
from thalweg.ports.source import Committed
from thalweg.runtime.queues import Closed

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from thalweg.arrow.batch import RawBatch
    from thalweg.model.clock import Clock
    from thalweg.model.events import Observer
    from thalweg.model.position import Partition
    from thalweg.plan.graph import PipelineSettings
    from thalweg.ports.source import Source
    from thalweg.runtime.acks import Ledger
    from thalweg.runtime.commit import Committer
    from thalweg.runtime.lanes import AnyLane
    from thalweg.runtime.queues import ByteQueue
    from thalweg.runtime.rewind import Rewinder

Work = tuple["Reader", int, "RawBatch"]
_TOLD_S: Final = 0.5


class Reader:
    """Owns one source from ``open`` to ``close``; nothing else ever calls the source."""

    def __init__(
        self, name: str, source: Source, committer: Committer, lanes: Sequence[AnyLane], work: ByteQueue[Work], ledger: Ledger, rewinder: Rewinder,
        settings: PipelineSettings, clock: Clock, observer: Observer,
    ) -> None:
        """``lanes``: every lane that this source's epochs go to."""
        self.name, self._source, self.committer, self._lanes = name, source, committer, lanes
        self._work, self._ledger, self._rewinder = work, ledger, rewinder
        self._settings, self._clock, self._observer = settings, clock, observer
        self._in_flight = 0
        self._moved = threading.Condition()
        self._owned: dict[Partition, str] = {}
        self._generation = ledger.generation
        self._stop = threading.Event()
        self.failed: BaseException | None = None

    # -- called by the pipeline
    def stop(self) -> None:
        """Stop reading; the thread drains, commits and ends."""
        self._stop.set()

    def run(self) -> None:
        """The whole life of the source; an error is kept in ``failed``. Runs on the reader thread."""
        try:
            if self._opened():
                self._loop()
                self._finish()
        except BaseException as e:  # noqa: BLE001 - a client library may raise anything; the pipeline must hear of it
            self.failed = e
        finally:
            try:
                self._source.close()
            except Exception as e:  # noqa: BLE001 - closing must not hide why the run ended
                self.failed = self.failed or e

    def _opened(self) -> bool:
        """Open the source; False when a stop came while it waited for its transport: nothing was read then, and nothing is wrong."""
        try:
            self._source.open(self)
        except SourceFailed:
            # a source may know of a stop a moment before its reader is told
            if self._owned or not self._stop.wait(_TOLD_S):
                raise
            return False
        return True

    def done(self) -> None:
        """The worker has handed one batch of this reader to the lanes (or dropped it); called on the worker thread."""
        with self._moved:
            self._in_flight -= 1
            self._moved.notify_all()

    # -- the loop
    def _loop(self) -> None:
        """Poll while there is room; keep the membership alive while there is none."""
        while not self._stop.is_set():
            self._follow_rewind()
            if not self._work.has_room():
                self._source.idle()
                self._clock.sleep_ns(5_000_000)
                self._commit()
                continue
            if self._source.finished() and self._worked_on():
                continue
            raw = self._source.poll(self._settings.budget)
            if raw is not None and (raw.rows or raw.spans):
                self._take(raw)
            self._commit()
            if self._source.finished() and not self._in_flight and self._all_delivered():
                return

    def _worked_on(self) -> bool:
        """Whether the worker still has something of a read that is over: nobody has asked to stop, so that has no deadline."""
        with self._moved:
            if self._in_flight:
                self._moved.wait(0.005)
        if not self._in_flight:
            return False
        self._source.idle()
        self._commit()
        return True

    def _all_delivered(self) -> bool:
        """After the last record of a bounded read: drain; a rewind on the way means that there is more to read."""
        self._drain(self._deadline())
        self._follow_rewind()
        return self._source.finished()

    def _take(self, raw: RawBatch) -> None:
        """Hand a batch to the worker."""
        self._observer.on(Polled(self.name, raw.rows, raw.nbytes, self._source.lag()))
        with self._moved:
            self._in_flight += 1
        try:
            self._work.put((self, self._generation, raw), raw.nbytes)
        except Closed:
            self.done()
            self._stop.set()

    def _commit(self) -> None:
        """Commit when it is time; a span that somebody else has published makes everybody go back."""
        try:
            self.committer.tick()
        except SpanTaken as e:
            self._rewinder.request(str(e))

    def _follow_rewind(self) -> None:
        """Go back to what the sinks' records say, when work was given up."""
        self._rewinder.serve(self._deadline())
        if self._generation == self._ledger.generation:
            return
        self._generation = self._ledger.generation
        if not self._owned:
            return
        confirmed = {p: at.offset for p, at in self._ledger.positions(self.name).items() if p in self._owned}
        resumed = self.committer.resume({p: Committed(offset, "") for p, offset in confirmed.items()}, self._deadline())
        positions = {p: confirmed[p] if at.offset is None else at.offset for p, at in resumed.items()}
        self._source.seek(positions)
        self._ledger.start(positions)
        self._observer.on(Assigned(self.name, positions, {p: f"rewound: {at.reason}" for p, at in resumed.items()}))

    # -- draining
    def _deadline(self) -> int:
        """When a drain that starts now must be over."""
        return self._clock.monotonic_ns() + self._settings.drain_deadline_ns

    def _wait_for_worker(self, deadline_ns: int) -> None:
        """Until everything this reader polled has been handed to the lanes."""
        with self._moved:
            while self._in_flight and not self._rewinder.failing():
                if self._clock.monotonic_ns() >= deadline_ns:
                    raise DrainExpired(
                        f"{self._in_flight} batches of {self.name} did not reach their sinks in time", hint="a larger 'drain.deadline' gives them more"
                    )
                self._moved.wait(0.05)

    def _drain(self, deadline_ns: int) -> None:
        """Everything polled so far becomes durable and is committed; raises DrainExpired."""
        self._wait_for_worker(deadline_ns)
        try:
            for lane in self._lanes:
                lane.drain(deadline_ns)
            self.committer.commit(deadline_ns)
        except SpanTaken as e:
            self._rewinder.request(str(e))

    def _finish(self) -> None:
        """The last drain; after a failure elsewhere, what is healthy is still made durable."""
        try:
            self._drain(self._deadline())
        except ThalwegError:
            if not self._rewinder.failing():
                raise

    # -- ports.source.Listener, called from inside open, poll and idle
    def assigned(self, committed: Mapping[Partition, Committed | None]) -> Mapping[Partition, int | None]:
        """Partitions come; says where each resumes."""
        resumed = self.committer.assigned(committed, self._deadline())
        self._owned |= {p: at.reason for p, at in resumed.items()}
        return {p: at.offset for p, at in resumed.items()}

    def started(self, positions: Mapping[Partition, int]) -> None:
        """The offsets at which they really start."""
        self._ledger.start(positions)
        self.committer.started(positions)
        self._observer.on(Assigned(self.name, positions, {p: self._owned.get(p, "") for p in positions}))

    def revoked(self, partitions: Collection[Partition]) -> None:
        """Partitions go: their work becomes durable and is committed, or is given up."""
        try:
            self._drain(self._deadline())
        except DrainExpired as e:
            self._rewinder.request(f"revoked partitions could not be drained: {e}")
        self._forget(partitions, lost=False)
        self._rewinder.serve(self._deadline())

    def lost(self, partitions: Collection[Partition]) -> None:
        """Partitions are gone: open files hold their rows, so everything that is not durable is given up."""
        self._forget(partitions, lost=True)
        self._rewinder.request("partitions were lost without a chance to drain")
        self._rewinder.serve(self._deadline())

    def _forget(self, partitions: Collection[Partition], *, lost: bool) -> None:
        """Late confirmations of these partitions change nothing any more."""
        self._ledger.drop(partitions)
        self.committer.forget(tuple(partitions))
        for partition in partitions:
            self._owned.pop(partition, None)
        self._observer.on(Revoked(self.name, tuple(sorted(partitions)), lost))
