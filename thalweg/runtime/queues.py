"""Queues between threads, bounded in bytes, and the pressure they are under."""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING, Generic, TypeVar

from thalweg.model.clock import SECOND_NS
from thalweg.model.events import Pressure

if TYPE_CHECKING:
    from thalweg.model.clock import Clock
    from thalweg.model.events import Observer

T = TypeVar("T")
_STATES = ("normal", "warning", "critical", "stuck")
_RISE = {"warning": 0.5, "critical": 0.9}
_FALL = 0.3
STUCK_NS = 10 * SECOND_NS


class Closed(Exception):
    """The queue was closed; nothing more goes in."""


class ByteQueue(Generic[T]):
    """First in, first out, bounded by the bytes of what it holds.

    An item goes in while less than the bound is held, so the bound is passed by less than one item and a large item cannot block for ever.
    """

    def __init__(self, stage: str, limit: int, clock: Clock, observer: Observer) -> None:
        """``limit``: bytes; ``stage`` names the queue in pressure events."""
        self.limit = limit
        self._items: deque[tuple[T, int]] = deque()
        self._held = 0
        self._closed = False
        self._changed = threading.Condition()
        self._gauge = PressureGauge(stage, limit, clock, observer)

    @property
    def nbytes(self) -> int:
        """Bytes held now."""
        return self._held

    def __len__(self) -> int:
        """Items held now."""
        return len(self._items)

    def has_room(self) -> bool:
        """Whether a put would return at once."""
        with self._changed:
            self._gauge.watch(self._held)
            return not self._items or self._held < self.limit

    def put(self, item: T, nbytes: int) -> None:
        """Wait for room, then append; raises Closed."""
        with self._changed:
            while not self._closed and self._items and self._held >= self.limit:
                self._changed.wait(0.1)
                self._gauge.watch(self._held)
            if self._closed:
                raise Closed
            self._items.append((item, nbytes))
            self._held += nbytes
            self._gauge.watch(self._held)
            self._changed.notify_all()

    def get(self, timeout: float) -> T | None:
        """The oldest item, or None when none came within ``timeout`` seconds. What was put before ``close`` can still be taken."""
        with self._changed:
            if not self._items:  # also when closed: who asks again and again must not spin
                self._changed.wait(timeout)
            if not self._items:
                return None
            item, nbytes = self._items.popleft()
            self._held -= nbytes
            self._gauge.moved(self._held)
            self._changed.notify_all()
            return item

    def wake(self) -> None:
        """Let a waiting ``get`` return early, empty-handed."""
        with self._changed:
            self._changed.notify_all()

    def clear(self) -> list[T]:
        """Take everything at once."""
        with self._changed:
            items = [item for item, _ in self._items]
            self._items.clear()
            self._held = 0
            self._gauge.moved(0)
            self._changed.notify_all()
            return items

    def close(self) -> None:
        """Nothing more goes in; waiting puts raise Closed."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()


class PressureGauge:
    """Normal, Warning, Critical, Stuck, with hysteresis: a state is left only when the queue has really drained."""

    def __init__(self, stage: str, limit: int, clock: Clock, observer: Observer) -> None:
        """Stuck: critical for ten seconds without one item taken."""
        self._stage, self._limit, self._clock, self._observer = stage, max(limit, 1), clock, observer
        self.state = "normal"
        self._since = clock.monotonic_ns()

    def moved(self, held: int) -> None:
        """Something was taken."""
        self._since = self._clock.monotonic_ns()
        if self.state == "stuck":
            self._become("critical", held)
        self.watch(held)

    def watch(self, held: int) -> None:
        """Look at the level; tells the observer when the state changes."""
        level = held / self._limit
        rank = _STATES.index(self.state)
        if level < _FALL:
            target = "normal"
        elif level >= _RISE["critical"]:
            idle = self._clock.monotonic_ns() - self._since
            target = "stuck" if idle >= STUCK_NS else _STATES[max(rank, 2)]
        elif level >= _RISE["warning"]:
            target = _STATES[min(max(rank, 1), 2)]
        else:
            target = self.state if rank < _STATES.index("stuck") else "critical"
        if target != self.state:
            self._become(target, held)

    def _become(self, state: str, held: int) -> None:
        """Change the state and say so."""
        self.state = state
        self._observer.on(Pressure(self._stage, state, held))
