"""What a sink must be: open, write, confirm, flush, abandon, close; and what it guarantees."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    import pyarrow as pa

    from thalweg.model.clock import Clock
    from thalweg.model.events import Observer
    from thalweg.model.position import Partition, Span, TopicIdentity
    from thalweg.model.spans import SpanSet


class Guarantee(Enum):
    """What a reader of the target may count on after crashes."""

    EXACTLY_ONCE = "exactly once"
    AT_LEAST_ONCE = "at least once"
    BEST_EFFORT = "best effort"


@dataclass(frozen=True, slots=True)
class SinkContext:
    """What the runtime gives to every sink that it makes."""

    pipeline: str
    relation: str
    """Name under which the target keeps its record: the relation, or ``copy_<last part of the target>`` for a query."""
    schema: pa.Schema
    """Schema of every batch that will be written, metadata columns included."""
    partition_by: tuple[str, ...]
    metadata_prefix: str
    identity: Callable[[Partition], TopicIdentity]
    """Cluster id and topic id of an assigned partition; thread-safe."""
    clock: Clock
    observer: Observer
    version: str
    """Version of Thalweg, for footers and logs."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """One epoch's rows for one lane. ``batches`` may be empty: the spans must be recorded all the same."""

    seq: int
    """Number of the delivery on this lane, ascending; what ``confirm`` answers with."""
    batches: tuple[pa.RecordBatch, ...]
    spans: tuple[Span, ...]
    rows: int
    nbytes: int


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a sink can do; conformance suites and the planner read this."""

    records_spans: bool
    """``covered`` answers from a durable record, so replays are cut instead of written twice."""
    partitioned: bool
    """``PARTITIONED BY`` works."""
    delivers: str
    """One line for the documentation: unit of parallelism and delivery guarantee."""
    coded: bool = False
    """Text of metadata columns may come as a dictionary (int32 codes) of the same text; the schema says text all the same."""
    data: bool = True
    """False for a console: it gates only when it is the only data sink."""


class Sink(ABC):
    """A target, used by exactly one thread (its lane's) from ``open`` to ``close``; ``covered`` may also come from the reader thread.

    ``covered`` and every other call are never made at the same time: the lane holds still while the runtime asks.
    """

    @abstractmethod
    def open(self) -> None:
        """Make sure that the target can be written and refuse early what it cannot hold; called once, first.

        Raises SinkFailed (what, where, what to do) when the target is unwritable or belongs to something else.
        """

    @abstractmethod
    def covered(self, partitions: Collection[Partition]) -> SpanSet | None:
        """What the target's own durable record says is in it, for these partitions; None when it keeps no record.

        Called at start and at every assign, before any delivery of those partitions. Whatever was decided but not finished by a dead
        process (a publish-log entry whose renames are missing) is finished before this returns.
        """

    @abstractmethod
    def write(self, delivery: Delivery) -> None:
        """Take one delivery; returns when the transport has it, which says nothing about durability.

        Never waits for durability of this delivery. Raises SinkBusy (the lane calls again with the same delivery, after a pause; nothing of it
        may have become visible) or SinkFailed (the lane is poisoned).
        """

    @abstractmethod
    def confirm(self) -> Collection[int]:
        """Numbers of deliveries that became durable and visible since the last call; never waits long, any order.

        Called after each ``write`` and at least every 50 ms while nothing comes, so time-based rolls belong here. May raise as ``write``.
        """

    @abstractmethod
    def flush(self) -> None:
        """Make everything written so far durable; the next ``confirm`` reports it. Waits as long as it takes. May raise as ``write``."""

    @abstractmethod
    def settle(self) -> None:
        """Finish what other processes decided and did not finish; called before every offset commit. Cheap when there is nothing."""

    @abstractmethod
    def abandon(self) -> None:
        """Give up everything that is not durable, as if it had never been written; the sink can be written to afterwards."""

    @abstractmethod
    def close(self) -> None:
        """Release the target without making anything durable; called once, last, but never for sure."""


@dataclass(frozen=True, slots=True)
class Target:
    """What a plug-in is asked about before anything is opened: the words of one COPY."""

    location: str
    options: Any
    """The plug-in's own options dataclass."""
    schema: pa.Schema | None
    """None while the relation's schema lies in a registry that was not asked."""
    partition_by: tuple[str, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class SinkPlugin:
    """The one name that a module in ``thalweg/sinks/`` exports."""

    kinds: tuple[str, ...]
    """What ``STORED AS`` may say for this sink, upper case."""
    schemes: tuple[str, ...]
    """URL schemes it claims; ``''`` for a plain path."""
    options: type
    capabilities: Capabilities
    guarantee: Callable[[Target], Guarantee]
    """What this target gives: a local filesystem may give more than an object store."""
    check: Callable[[Target], list[str]]
    """Why this target cannot take this schema or these options, one message a column or option; empty when it can. Asks nobody."""
    make: Callable[[Target, SinkContext], Sink]
    """Makes the sink; touches nothing yet."""
    rewrite: Callable[[Target, SinkContext], list[str]] = lambda _target, _context: []
    """``--rewrite``: remove the target's record and files of this relation; returns what was removed."""
    rewrite_plan: Callable[[Target, SinkContext], list[str]] = lambda _target, _context: []
    """What ``rewrite`` would remove."""
