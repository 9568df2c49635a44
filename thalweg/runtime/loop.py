"""Start, run, drain, stop: the threads of one pipeline and who waits for whom."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from thalweg.errors import PipeClosed, PipelineError, ThalwegError
from thalweg.model.clock import SECOND_NS
from thalweg.model.events import PipelineStarted, PipelineStopped

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from thalweg.model.clock import Clock
    from thalweg.model.events import Observer
    from thalweg.runtime.acks import Ledger
    from thalweg.runtime.epoch import Epochs
    from thalweg.runtime.lanes import AnyLane
    from thalweg.runtime.queues import ByteQueue
    from thalweg.runtime.reader import Reader, Work
    from thalweg.runtime.upgrade import Upgrade


_SHORTEST_S = 0.2
"""What a thread gets to end when there is no time left."""
_LEAVE_S = 1.2
"""What all sinks together get after an abort to finish the step that they are in, so that it is counted."""


@dataclass(frozen=True, slots=True)
class Machine:
    """The parts of a pipeline, wired by compose.py."""

    name: str
    readers: Sequence[Reader]
    lanes: Sequence[AnyLane]
    epochs: Epochs
    work: ByteQueue[Work]
    ledger: Ledger
    failure: Failure
    upgrade: Upgrade | None
    """Makes compiled decoders in the background; None where the settings say no."""
    facts: Mapping[str, str]
    drain_deadline_ns: int


class Failure:
    """The first thing that went wrong. Thread-safe; also what ``stopping`` waits look at."""

    def __init__(self) -> None:
        """Nothing has."""
        self._lock = threading.Lock()
        self.error: BaseException | None = None
        self.stopping = threading.Event()

    def set(self, error: BaseException) -> None:
        """Keep the first error; the run ends."""
        with self._lock:
            if self.error is None:
                self.error = error
        self.stopping.set()

    def is_set(self) -> bool:
        """Whether the run is ending because of an error."""
        return self.error is not None


class Pipeline:
    """One run. ``run`` may be called once, from the thread that is to wait."""

    def __init__(self, machine: Machine, clock: Clock, observer: Observer) -> None:
        """Nothing is started or opened yet."""
        self._machine, self._clock, self._observer = machine, clock, observer
        self._aborted = threading.Event()
        self._aborted_ns = 0
        self._stopped_ns: int | None = None
        self.left_behind: tuple[str, ...] = ()
        """Lanes that were still at work when an aborted run was over: what they make durable then is not counted."""
        self._read_out = False
        self._reader_threads = [threading.Thread(target=self._read, args=(r,), name=f"reader-{r.name}", daemon=True) for r in machine.readers]
        self._worker = threading.Thread(target=self._work, name="worker", daemon=True)

    def run(self) -> None:
        """Until every bounded source has ended, ``stop`` was called and everything is drained, or something failed.

        Raises the first error of any thread: PipelineError and its kin, or an exception that nobody expected. A console whose reader went
        away ends the run, but is no error; what was not printed is not committed.
        """
        began = self._clock.monotonic_ns()
        self._observer.on(PipelineStarted(self._machine.name, self._machine.facts))
        try:
            self._machine.epochs.announce()
            self._open_lanes()
            if self._machine.upgrade is not None:
                self._machine.upgrade.start()
            self._worker.start()
            for thread in self._reader_threads:
                thread.start()
            self._wait()
            self._read_out = True
        finally:
            self._close()
            seconds = (self._clock.monotonic_ns() - began) / SECOND_NS
            self._observer.on(PipelineStopped(self._machine.name, self._reason(), seconds))
        error = self._machine.failure.error
        if error is not None and not isinstance(error, PipeClosed):
            raise error

    def stop(self) -> None:
        """Stop reading, drain, commit, close; safe to call from a signal handler, returns at once."""
        self._machine.failure.stopping.set()

    def abort(self) -> None:
        """Leave without draining; what is not durable is not committed."""
        self._aborted_ns = self._clock.monotonic_ns()
        self._aborted.set()
        self._machine.failure.stopping.set()

    # -- threads
    def _open_lanes(self) -> None:
        """Open every sink before the first record is read."""
        for lane in self._machine.lanes:
            lane.open()

    def _read(self, reader: Reader) -> None:
        """One reader's thread."""
        reader.run()
        if reader.failed is not None:
            self._machine.failure.set(reader.failed)

    def _work(self) -> None:
        """The worker's thread: one epoch after the other."""
        while not self._aborted.is_set():
            item = self._machine.work.get(0.1)
            if item is None:
                if self._finished():
                    return
                continue
            reader, generation, raw = item
            try:
                if not self._machine.failure.is_set():
                    self._machine.epochs.process(generation, reader.name, raw)
            except BaseException as e:  # noqa: BLE001 - Rust panics are no Exceptions; whatever it is, the run ends with it
                self._machine.failure.set(e)
            finally:
                reader.done()

    def _finished(self) -> bool:
        """Whether no reader can bring anything more."""
        return not any(thread.is_alive() for thread in self._reader_threads)

    def _wait(self) -> None:
        """On the calling thread: pass a stop on, and notice the end."""
        told = False
        while not self._finished() and not self._aborted.is_set():
            if self._machine.failure.stopping.is_set() and not told:
                told = True
                self._stopped_ns = self._clock.monotonic_ns()
                self._machine.epochs.hasten()
                for reader in self._machine.readers:
                    reader.stop()
            self._reader_threads_join()

    def _reader_threads_join(self) -> None:
        """Wait a little for the first living reader; short, so that signals are served."""
        for thread in self._reader_threads:
            if thread.is_alive():
                thread.join(0.1)
                return

    def _close(self) -> None:
        """End every thread; a lane that does not answer is left behind (it is a daemon), and its work is not committed."""
        machine = self._machine
        machine.work.close()
        for lane in machine.lanes:
            lane.stop_accepting()
        if self._worker.ident:
            self._worker.join(self._grace())
        if machine.upgrade is not None:
            machine.upgrade.stop(go_on=self._read_out and not machine.failure.stopping.is_set())
        machine.epochs.close()
        for lane in machine.lanes:
            lane.stop()
        late = [lane.name for lane in machine.lanes if not lane.close(self._sink_grace())]
        if self._aborted.is_set():
            self.left_behind = tuple(late)
        elif late:
            machine.failure.set(PipelineError(f"sink {late[0]} did not close in time"))

    def _sink_grace(self) -> float:
        """Seconds that a lane's thread may still take to end."""
        if not self._aborted.is_set():
            return self._grace()
        return max(_LEAVE_S - (self._clock.monotonic_ns() - self._aborted_ns) / SECOND_NS, 0)

    def _grace(self) -> float:
        """Seconds that a thread may still take to end: the deadline is one for everything that a stop makes wait."""
        if self._aborted.is_set():
            return _SHORTEST_S
        if self._stopped_ns is None:
            self._stopped_ns = self._clock.monotonic_ns()
        left = self._stopped_ns + self._machine.drain_deadline_ns - self._clock.monotonic_ns()
        return max(left / SECOND_NS, _SHORTEST_S)

    def _reason(self) -> str:
        """Why the run ended, for the log."""
        if self._aborted.is_set():
            return "aborted"
        error = self._machine.failure.error
        if error is None:
            return "stopped" if self._machine.failure.stopping.is_set() else "finished"
        return str(error) if isinstance(error, ThalwegError) else f"{type(error).__name__}: {error}"
