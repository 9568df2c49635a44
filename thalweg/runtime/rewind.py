"""Giving up what is not durable: one generation ends, every lane forgets it, every reader goes back."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from thalweg.model.events import Rewound

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from thalweg.model.events import Observer
    from thalweg.runtime.acks import Ledger
    from thalweg.runtime.lanes import AnyLane


class Rewinder:
    """Asked by anybody, served by whichever reader comes first; the others see the new generation and seek too."""

    def __init__(self, ledger: Ledger, observer: Observer, failing: Callable[[], bool]) -> None:
        """``failing``: whether the pipeline is ending because of an error."""
        self._ledger, self._observer = ledger, observer
        self.lanes: Sequence[AnyLane] = ()
        self.failing = failing
        self._lock = threading.Lock()
        self._reason: str | None = None

    def request(self, reason: str) -> None:
        """Ask for a rewind; thread-safe, returns at once."""
        self._reason = reason

    def serve(self, deadline_ns: int) -> None:
        """Do what was asked for, if anything was; called on a reader thread. Raises DrainExpired when a sink does not answer."""
        with self._lock:
            reason = self._reason
            if reason is None or self.failing():
                return
            self._reason = None
            generation = self._ledger.reset()
            for lane in self.lanes:
                lane.rewind(generation, deadline_ns)
            self._observer.on(Rewound(reason))
