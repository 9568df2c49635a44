"""What happened, as frozen facts; observers turn them into log lines, metrics and progress views."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from thalweg.model.position import Partition


@dataclass(frozen=True, slots=True)
class PipelineStarted:
    """The plan is bound and the first poll is about to happen."""

    pipeline: str
    facts: Mapping[str, str]
    """What a reader of the log wants to know first: group, gate, guarantees."""


@dataclass(frozen=True, slots=True)
class PipelineStopped:
    """Everything is closed."""

    pipeline: str
    reason: str
    seconds: float


@dataclass(frozen=True, slots=True)
class SchemaResolved:
    """What one side of a table's records becomes; once, before the first record."""

    source: str
    side: str
    """``value`` or ``key``."""
    format: str
    columns: int
    fields: str
    """Every field with its type, nested ones by their path."""


@dataclass(frozen=True, slots=True)
class DecodeCounts:
    """What decoding had to do the long way in one epoch."""

    source: str
    counts: Mapping[str, int]
    """``slow``: records that only the exact path could read; ``finer``: times that lost digits; ``cut NAME``: messages written as JSON text."""


@dataclass(frozen=True, slots=True)
class Polled:
    """A source handed over a raw batch."""

    source: str
    rows: int
    nbytes: int
    lag: int | None
    """Offsets between the position and the end, over all assigned partitions; None where unknown."""


@dataclass(frozen=True, slots=True)
class NodeRan:
    """A node of the DAG was evaluated for one epoch."""

    node: str
    rows_in: int
    rows_out: int
    seconds: float


@dataclass(frozen=True, slots=True)
class EpochDone:
    """One micro-batch went through the DAG and was handed to its lanes."""

    source: str
    epoch: int
    rows: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Submitted:
    """A lane's sink has a delivery; it is not durable yet."""

    lane: str
    epoch: int
    rows: int
    nbytes: int
    pending: int


@dataclass(frozen=True, slots=True)
class Delivered:
    """A lane's sink confirmed deliveries as durable."""

    lane: str
    deliveries: int
    """How many were confirmed by this one wait (the coalesce ratio)."""
    rows: int
    pending: int
    ack_seconds: tuple[float, ...]
    """Time from submit to confirmation, one for each delivery."""


@dataclass(frozen=True, slots=True)
class BadRecords:
    """Records that could not be handled, by code."""

    source: str
    policy: str
    codes: Mapping[str, int]
    example: str
    """Message of the first one, with its position."""


@dataclass(frozen=True, slots=True)
class RecordsDropped:
    """Records left out by a rule that says so: tombstones, ``'bad_data' 'drop'``."""

    source: str
    rule: str
    rows: int


@dataclass(frozen=True, slots=True)
class OffsetsCommitted:
    """Positions that every gating lane has made durable were committed."""

    source: str
    positions: Mapping[Partition, int]


@dataclass(frozen=True, slots=True)
class CommitFailed:
    """A commit that did not go through and is not fatal (a rebalance overtook it)."""

    source: str
    reason: str


@dataclass(frozen=True, slots=True)
class Assigned:
    """Partitions came, each with the offset where it resumes and why there."""

    source: str
    positions: Mapping[Partition, int]
    reasons: Mapping[Partition, str]


@dataclass(frozen=True, slots=True)
class Revoked:
    """Partitions went."""

    source: str
    partitions: tuple[Partition, ...]
    lost: bool
    """Whether they were taken without a chance to drain."""


@dataclass(frozen=True, slots=True)
class OffsetReset:
    """A position no longer exists at the broker and was moved by the user's rule."""

    source: str
    partition: Partition
    old: int
    new: int
    reason: str


@dataclass(frozen=True, slots=True)
class LaneRetried:
    """A transient error; the lane tries again on the same stream."""

    lane: str
    attempt: int
    reason: str


@dataclass(frozen=True, slots=True)
class LanePoisoned:
    """A permanent error; nothing more goes through this stream."""

    lane: str
    reason: str


@dataclass(frozen=True, slots=True)
class Rewound:
    """Work that was not durable was given up and the sources went back to their confirmed ends."""

    reason: str


@dataclass(frozen=True, slots=True)
class Pressure:
    """A stage's queue crossed a threshold."""

    stage: str
    state: str
    """``normal``, ``warning``, ``critical`` or ``stuck``."""
    nbytes: int


@dataclass(frozen=True, slots=True)
class Notice:
    """Anything else worth one line: level, a stable code and a message."""

    level: str
    code: str
    message: str


Event = (
    PipelineStarted | PipelineStopped | SchemaResolved | DecodeCounts | Polled | NodeRan | EpochDone | Submitted | Delivered | BadRecords | RecordsDropped
    | OffsetsCommitted | CommitFailed | Assigned | Revoked | OffsetReset | LaneRetried | LanePoisoned | Rewound | Pressure | Notice
)


class Observer(Protocol):
    """Somebody who wants to know.

    Called synchronously on whichever thread the fact happened on, so it must be quick and thread-safe, and must not raise.
    """

    def on(self, event: Event) -> None:
        """Take one fact."""


class Fanout:
    """Passes each fact to several observers."""

    def __init__(self, observers: tuple[Observer, ...] = ()) -> None:
        """Observers are called in this order."""
        self._observers = observers

    def on(self, event: Event) -> None:
        """Take one fact."""
        for observer in self._observers:
            observer.on(event)
