"""Stand-ins for tests: a clock that is moved by hand, an observer that remembers, crash points, and sinks with one fault each."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any, Self, TypeVar

from thalweg.ports.sink import Sink

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from types import TracebackType

    from thalweg.model.events import Event
    from thalweg.model.position import Partition
    from thalweg.model.spans import SpanSet
    from thalweg.ports.sink import Delivery

EventT = TypeVar("EventT")
_STEPS = ("open", "write", "fsync", "link", "rename", "unlink", "mkdir")


class FakeClock:
    """Time stands still until somebody sleeps or calls ``advance``; thread-safe."""

    def __init__(self, now_ns: int = 1_767_225_600_000_000_000) -> None:
        """Start at ``now_ns``, by default 2026-01-01."""
        self._lock = threading.Lock()
        self._start_ns = now_ns
        self._passed_ns = 0

    def now_ns(self) -> int:
        """Wall clock."""
        return self._start_ns + self._passed_ns

    def monotonic_ns(self) -> int:
        """Time passed since the start."""
        return self._passed_ns

    def sleep_ns(self, ns: int) -> None:
        """Move on at once."""
        self.advance(ns)

    def advance(self, ns: int) -> None:
        """Let time pass."""
        with self._lock:
            self._passed_ns += ns


class RecordingObserver:
    """Remembers every event; thread-safe."""

    def __init__(self) -> None:
        """Nothing has happened yet."""
        self._lock = threading.Lock()
        self._events: list[Event] = []

    def on(self, event: Event) -> None:
        """Take one fact."""
        with self._lock:
            self._events.append(event)

    @property
    def events(self) -> list[Event]:
        """Everything so far, in order."""
        with self._lock:
            return list(self._events)

    def of(self, kind: type[EventT]) -> list[EventT]:
        """The events of one class."""
        return [e for e in self.events if isinstance(e, kind)]


class Killed(BaseException):
    """The process dies here: nothing that it would still do happens."""


class CrashPoints:
    """Counts the steps on the file system that this thread makes inside ``with``, and crashes before one of them.

    A step is a call of ``os.open``, ``write``, ``fsync``, ``link``, ``rename``, ``unlink`` or ``mkdir``. Without ``error`` the thread is
    dead from then on: every further step raises Killed too, so that no clean-up code runs. With ``error`` that one step fails with it.
    ``fsync`` is counted but not waited for: a killed process loses no written page.
    """

    def __init__(self, at: int | None = None, *, error: OSError | None = None) -> None:
        """Crash before step ``at``, counted from 0; None counts only."""
        self._at = at
        self._error = error
        self._thread = 0
        self._real: dict[str, Callable[..., Any]] = {}
        self.steps: list[str] = []
        """Names of the steps, the one that crashed included."""

    def __enter__(self) -> Self:
        """Begin to count."""
        self._thread = threading.get_ident()
        for name in _STEPS:
            self._real[name] = getattr(os, name)
            setattr(os, name, self._counted(name, self._real[name]))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Give the real functions back."""
        for name, real in self._real.items():
            setattr(os, name, real)

    @property
    def crashed(self) -> bool:
        """Whether the step was reached."""
        return self._at is not None and len(self.steps) > self._at

    def _counted(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        """A function of ``os`` that counts and perhaps crashes."""

        def step(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - passes on whatever the real one takes
            if threading.get_ident() == self._thread:
                self.steps.append(name)
                if self._error is not None and len(self.steps) - 1 == self._at:
                    raise self._error
                if self._error is None and self.crashed:
                    raise Killed(name)
                if name == "fsync":
                    return None
            return real(*args, **kwargs)

        return step


class WrappedSink(Sink):
    """Passes everything on to another sink; the faulty sinks below change one thing each."""

    def __init__(self, inner: Sink) -> None:
        """``inner`` does the work."""
        self.inner = inner

    def open(self) -> None:
        """Pass on."""
        self.inner.open()

    def covered(self, partitions: Collection[Partition]) -> SpanSet | None:
        """Pass on."""
        return self.inner.covered(partitions)

    def write(self, delivery: Delivery) -> None:
        """Pass on."""
        self.inner.write(delivery)

    def confirm(self) -> Collection[int]:
        """Pass on."""
        return self.inner.confirm()

    def flush(self) -> None:
        """Pass on."""
        self.inner.flush()

    def settle(self) -> None:
        """Pass on."""
        self.inner.settle()

    def abandon(self) -> None:
        """Pass on."""
        self.inner.abandon()

    def close(self) -> None:
        """Pass on."""
        self.inner.close()


class OutOfOrderSink(WrappedSink):
    """Confirms later deliveries before earlier ones: the oldest waits until ``held`` newer ones have gone before it."""

    def __init__(self, inner: Sink, held: int = 3) -> None:
        """Flush lets everything go, newest first."""
        super().__init__(inner)
        self._held = held
        self._waiting: list[int] = []
        self._flushed = False

    def confirm(self) -> Collection[int]:
        """What is durable, in the wrong order and some of it late."""
        self._waiting += self.inner.confirm()
        if self._flushed:
            out, self._waiting, self._flushed = sorted(self._waiting, reverse=True), [], False
            return out
        if len(self._waiting) <= self._held:
            return []
        out, self._waiting = sorted(self._waiting[1:], reverse=True), self._waiting[:1]
        return out

    def flush(self) -> None:
        """Let everything go at the next ``confirm``."""
        self.inner.flush()
        self._flushed = True

    def abandon(self) -> None:
        """What was held back is not told any more."""
        self._waiting.clear()
        self._flushed = False
        self.inner.abandon()


class DiesBeforeAckSink(WrappedSink):
    """Its deliveries become durable, but the process dies before the one numbered ``seq`` is confirmed."""

    def __init__(self, inner: Sink, seq: int, death: Callable[[], BaseException] = Killed) -> None:
        """``death`` makes what is raised instead of the confirmation; it happens once."""
        super().__init__(inner)
        self._seq = seq
        self._death = death
        self.died = False

    def confirm(self) -> Collection[int]:
        """Confirm, or die with everything durable and nothing said."""
        confirmed = self.inner.confirm()
        if not self.died and self._seq in confirmed:
            self.died = True
            raise self._death()
        return confirmed


class StallingSink(WrappedSink):
    """Takes deliveries and confirms none, then takes none, for as long as it is stalled."""

    def __init__(self, inner: Sink, depth: int = 4) -> None:
        """While stalled, ``depth`` writes go through and the next one blocks."""
        super().__init__(inner)
        self._depth = depth
        self._taken = 0
        self._free = threading.Event()
        self._free.set()

    def stall(self) -> None:
        """Stop; thread-safe."""
        self._taken = 0
        self._free.clear()

    def release(self) -> None:
        """Go on; thread-safe."""
        self._free.set()

    def write(self, delivery: Delivery) -> None:
        """Block once the transport is full."""
        if not self._free.is_set():
            self._taken += 1
            if self._taken > self._depth:
                self._free.wait()
        self.inner.write(delivery)

    def confirm(self) -> Collection[int]:
        """Nothing while stalled."""
        return self.inner.confirm() if self._free.is_set() else []

    def flush(self) -> None:
        """Wait for the end of the stall."""
        self._free.wait()
        self.inner.flush()
