"""Rows in memory, with the record of spans that a durable target would have.

Parallel by lane. Delivers exactly once for as long as the process lives.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from thalweg.errors import SpanTaken
from thalweg.model.position import Span
from thalweg.model.spans import SpanSet
from thalweg.ports.sink import Capabilities, Guarantee, Sink, SinkPlugin
from thalweg.sinks.memory.store import STORE, keyed

if TYPE_CHECKING:
    from collections.abc import Collection

    from thalweg.model.position import Partition
    from thalweg.ports.sink import Delivery, SinkContext, Target


@dataclass(frozen=True, slots=True)
class MemoryOptions:
    """It has none."""


class MemorySink(Sink):
    """One relation of ``memory://name``; a delivery is durable once it was confirmed."""

    def __init__(self, target: str, context: SinkContext) -> None:
        """Nothing is added before ``confirm``."""
        self._key = (target, context.relation, context.pipeline)
        self._context = context
        self._waiting: list[tuple[Delivery, list[Span]]] = []

    def open(self) -> None:
        """Nothing to make."""

    def covered(self, partitions: Collection[Partition]) -> SpanSet | None:
        """What was confirmed in this process."""
        out = SpanSet()
        for partition in partitions:
            for lo, hi in STORE.ranges(self._key, keyed(partition, self._context.identity(partition))):
                out.add(Span(partition, lo, hi))
        return out

    def write(self, delivery: Delivery) -> None:
        """Keep the delivery until it is confirmed."""
        spans = [Span(keyed(s.partition, self._context.identity(s.partition)), s.start, s.end) for s in delivery.spans]
        self._waiting.append((delivery, spans))

    def confirm(self) -> Collection[int]:
        """Add what was written, and report it."""
        confirmed = []
        while self._waiting:
            delivery, spans = self._waiting[0]
            if not STORE.add(self._key, list(delivery.batches), spans):
                raise SpanTaken(f"spans of delivery {delivery.seq} are there already", where=self._key[0])
            confirmed.append(self._waiting.pop(0)[0].seq)
        return confirmed

    def flush(self) -> None:
        """``confirm`` does it."""

    def settle(self) -> None:
        """Nobody leaves anything unfinished here."""

    def abandon(self) -> None:
        """Forget what was not confirmed."""
        self._waiting.clear()

    def close(self) -> None:
        """Forget what was not confirmed."""
        self._waiting.clear()


def _check(target: Target) -> list[str]:
    """The URL needs a name."""
    return [] if target.location.removeprefix("memory://").strip("/") else ["memory:// needs a name, such as memory://orders"]


def _key(target: Target, context: SinkContext) -> tuple[str, str, str]:
    """Where the store keeps it."""
    return target.location, context.relation, context.pipeline


def _rewrite(target: Target, context: SinkContext) -> list[str]:
    """Forget the relation."""
    return [f"{target.location} ({context.relation})"] if STORE.drop(_key(target, context)) else []


def _rewrite_plan(target: Target, context: SinkContext) -> list[str]:
    """Whether there is something to forget."""
    return [f"{target.location} ({context.relation})"] if STORE.has(_key(target, context)) else []


PLUGIN = SinkPlugin(
    kinds=("MEMORY",),
    schemes=("memory",),
    options=MemoryOptions,
    capabilities=Capabilities(
        records_spans=True, partitioned=False, delivers="parallel by lane; exactly once for as long as the process lives"
    ),
    guarantee=lambda _target: Guarantee.BEST_EFFORT,
    check=_check,
    make=lambda target, context: MemorySink(target.location, context),
    rewrite=_rewrite,
    rewrite_plan=_rewrite_plan,
)
