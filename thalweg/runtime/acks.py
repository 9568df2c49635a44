"""Spans that every gating lane has confirmed; the contiguous prefix of each partition is what may be committed."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from thalweg.model.spans import SpanSet

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from thalweg.model.position import Partition, Span


@final
@dataclass(frozen=True, slots=True)
class Submitted:
    """Number of the newest delivery that a transport has. Says nothing about durability and can never be committed."""

    seq: int


@final
@dataclass(frozen=True, slots=True)
class Delivered:
    """A next-fetch position before which everything is durable; the only thing that commit takes."""

    offset: int


@final
@dataclass(frozen=True, slots=True)
class RawAnchor:
    """Token of a lane whose confirmations move the source's position."""

    lane: str


@final
@dataclass(frozen=True, slots=True)
class DerivedCoverage:
    """Token of a lane whose confirmations are recorded as coverage and recovered from raw; it never moves a source."""

    lane: str


@final
@dataclass(frozen=True, slots=True)
class NoCommit:
    """Token of a lane that nobody waits for."""

    lane: str


Token = RawAnchor | DerivedCoverage | NoCommit


@dataclass(slots=True)
class _Epoch:
    """One epoch on its way: its spans, and the anchors that have not confirmed it."""

    spans: tuple[Span, ...]
    waiting: set[RawAnchor]


class Ledger:
    """Which epochs are where. Thread-safe: the worker registers, lanes confirm, readers ask for positions."""

    def __init__(self) -> None:
        """Nothing is assigned."""
        self._lock = threading.Lock()
        self._starts: dict[Partition, int] = {}
        self._epochs: dict[int, _Epoch] = {}
        self._confirmed = SpanSet()
        self.generation = 0

    def start(self, positions: Mapping[Partition, int]) -> None:
        """Partitions came (or went back): their prefix begins here."""
        with self._lock:
            self._confirmed.drop(positions)
            self._starts.update(positions)

    def drop(self, partitions: Collection[Partition]) -> None:
        """Partitions went; late confirmations of their spans change nothing any more."""
        with self._lock:
            for partition in partitions:
                self._starts.pop(partition, None)
            self._confirmed.drop(partitions)

    def reset(self) -> int:
        """Forget every epoch that is not confirmed; returns the new generation."""
        with self._lock:
            self._epochs.clear()
            self.generation += 1
            return self.generation

    def register(self, generation: int, epoch: int, spans: Iterable[Span], anchors: Collection[RawAnchor]) -> bool:
        """An epoch is about to be handed to these anchors; without any it is confirmed at once. False: a rewind made it stale."""
        with self._lock:
            if generation != self.generation:
                return False
            for anchor in anchors:
                _require_anchor(anchor)
            kept = tuple(spans)
            if anchors:
                self._epochs[epoch] = _Epoch(kept, set(anchors))
            else:
                self._settle(kept)
            return True

    def confirm(self, generation: int, token: RawAnchor, epochs: Iterable[int]) -> None:
        """A gating lane made these epochs durable; stale generations are ignored. Raises TypeError for any other token."""
        _require_anchor(token)
        with self._lock:
            if generation != self.generation:
                return
            for number in epochs:
                epoch = self._epochs.get(number)
                if epoch is None:
                    continue
                epoch.waiting.discard(token)
                if not epoch.waiting:
                    del self._epochs[number]
                    self._settle(epoch.spans)

    def positions(self, source: str) -> dict[Partition, Delivered]:
        """For each partition of ``source`` the end of its contiguous confirmed prefix."""
        with self._lock:
            out = {}
            for partition, start in self._starts.items():
                if partition.source == source:
                    end = self._confirmed.contiguous_end(partition, start)
                    out[partition] = Delivered(start if end is None else end)
            return out

    def pending(self, source: str) -> int:
        """Epochs of ``source`` that some anchor has not confirmed."""
        with self._lock:
            return sum(any(s.partition.source == source for s in e.spans) for e in self._epochs.values())

    def _settle(self, spans: Iterable[Span]) -> None:
        """Spans of partitions that are still ours are confirmed."""
        self._confirmed.update(span for span in spans if span.partition in self._starts)


def _require_anchor(token: object) -> None:
    """Only a raw anchor moves a source; mypy says so before the program runs, this says so while it does."""
    if not isinstance(token, RawAnchor):
        message = f"{type(token).__name__} cannot move a source: only a RawAnchor can"
        raise TypeError(message)
