"""Time as a port: nanoseconds everywhere."""

from __future__ import annotations

import time
from typing import Protocol

SECOND_NS = 1_000_000_000
MILLISECOND_NS = 1_000_000


class Clock(Protocol):
    """Where time comes from; tests bring their own."""

    def now_ns(self) -> int:
        """Wall clock, nanoseconds since 1970 UTC."""

    def monotonic_ns(self) -> int:
        """A clock that never goes back, nanoseconds."""

    def sleep_ns(self, ns: int) -> None:
        """Wait; called on the thread that waits."""


class SystemClock:
    """The clock of the machine."""

    def now_ns(self) -> int:
        """Wall clock, nanoseconds since 1970 UTC."""
        return time.time_ns()

    def monotonic_ns(self) -> int:
        """A clock that never goes back, nanoseconds."""
        return time.monotonic_ns()

    def sleep_ns(self, ns: int) -> None:
        """Wait; called on the thread that waits."""
        time.sleep(ns / SECOND_NS)
