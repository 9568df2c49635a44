"""Facts added up for people: totals, rates over the last seconds, ack quantiles; memory is bounded whatever the run's length."""

from __future__ import annotations

import threading
from collections import Counter, deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from thalweg.model import events as e
from thalweg.model.clock import SECOND_NS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from thalweg.model.clock import Clock
    from thalweg.model.position import Partition

_WINDOW = 10
"""Seconds that a rate looks back on."""
_ACKS = 1024
"""Confirmations that the quantiles look back on, for each lane."""


@dataclass(frozen=True, slots=True)
class SourceStats:
    """One source table."""

    name: str
    rows: int
    nbytes: int
    rows_per_second: float
    bytes_per_second: float
    lag: int | None
    """Never negative; None while no partition is assigned or the end is unknown."""
    partitions: int
    dropped: Mapping[str, int]
    """Rows left out, by rule."""
    committed: Mapping[Partition, int]
    """Committed positions of the partitions that are still assigned."""
    decoding: Mapping[str, int] = field(default_factory=dict)
    """What decoding had to do the long way: ``slow``, ``finer``, ``cut NAME``."""


@dataclass(frozen=True, slots=True)
class NodeStats:
    """One node of the DAG."""

    name: str
    rows_in: int
    rows_out: int
    seconds: float


@dataclass(frozen=True, slots=True)
class LaneStats:
    """One sink."""

    name: str
    delivered: int
    """Rows confirmed as durable."""
    rows_per_second: float
    pending: int
    """Deliveries that are submitted and not confirmed."""
    p50: float | None
    """Seconds from submit to confirmation; None before the first one."""
    p99: float | None
    retries: int
    poisoned: bool


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Everything at one moment, each list in the order of first mention."""

    pipeline: str
    facts: Mapping[str, str]
    seconds: float
    epochs: int
    sources: tuple[SourceStats, ...]
    nodes: tuple[NodeStats, ...]
    lanes: tuple[LaneStats, ...]
    bad: Mapping[str, int]
    """Bad records by code, most frequent first."""
    bad_policies: Mapping[str, str]
    """What was done with the bad records of a code: ``drop``, ``dlq``, ``fail``."""
    commit_failures: int
    rewinds: int
    pressure: Mapping[str, str]
    """Stages that are not ``normal``."""
    stopped: str | None
    """Why the pipeline stopped; None while it runs."""
    commits: int = 0
    """Commits that went through, those of partitions that went since included."""


class Stats:
    """An observer that adds up; called from every thread, asked from any."""

    def __init__(self, clock: Clock) -> None:
        """Time counts from here until the pipeline says that it started."""
        self._clock = clock
        self._lock = threading.Lock()
        self._begin = clock.monotonic_ns()
        self._pipeline = ""
        self._facts: Mapping[str, str] = {}
        self._sources: dict[str, _Source] = {}
        self._nodes: dict[str, _Node] = {}
        self._lanes: dict[str, _Lane] = {}
        self._bad: Counter[str] = Counter()
        self._policies: dict[str, str] = {}
        self._pressure: dict[str, str] = {}
        self._epochs = self._commits = self._commit_failures = self._rewinds = 0
        self._end: tuple[float, str] | None = None
        self._take: dict[type, Callable[[Any], None]] = {
            e.PipelineStarted: self._started, e.PipelineStopped: self._stopped, e.Polled: self._polled, e.NodeRan: self._ran,
            e.EpochDone: self._epoch, e.Submitted: self._submitted, e.Delivered: self._delivered, e.BadRecords: self._bad_records,
            e.RecordsDropped: self._dropped, e.DecodeCounts: self._decoded, e.OffsetsCommitted: self._committed, e.CommitFailed: self._commit_failed,
            e.Assigned: self._assigned, e.Revoked: self._revoked, e.LaneRetried: self._retried, e.LanePoisoned: self._poisoned,
            e.Rewound: self._rewound, e.Pressure: self._pressed,
        }  # fmt: skip

    def on(self, event: e.Event) -> None:
        """Take one fact."""
        take = self._take.get(type(event))
        if take is not None:
            with self._lock:
                take(event)

    def snapshot(self) -> Snapshot:
        """Everything as of now."""
        with self._lock:
            now = self._clock.monotonic_ns()
            seconds, reason = self._end or ((now - self._begin) / SECOND_NS, None)
            return Snapshot(
                pipeline=self._pipeline, facts=dict(self._facts), seconds=seconds, epochs=self._epochs,
                sources=tuple(s.stats(name, now) for name, s in self._sources.items()),
                nodes=tuple(NodeStats(name, n.rows_in, n.rows_out, n.seconds) for name, n in self._nodes.items()),
                lanes=tuple(lane.stats(name, now) for name, lane in self._lanes.items()),
                bad=dict(self._bad.most_common()), bad_policies=dict(self._policies), commit_failures=self._commit_failures,
                rewinds=self._rewinds, pressure=dict(self._pressure), stopped=reason, commits=self._commits,
            )  # fmt: skip

    def _source(self, name: str) -> _Source:
        """The source, known from now on."""
        return self._sources.setdefault(name, _Source(_Rate(self._clock.monotonic_ns()), _Rate(self._clock.monotonic_ns())))

    def _lane(self, name: str) -> _Lane:
        """The lane, known from now on."""
        return self._lanes.setdefault(name, _Lane(_Rate(self._clock.monotonic_ns())))

    def _started(self, event: e.PipelineStarted) -> None:
        """Time counts from here."""
        self._begin = self._clock.monotonic_ns()
        self._pipeline, self._facts = event.pipeline, event.facts

    def _stopped(self, event: e.PipelineStopped) -> None:
        """Time stands still."""
        self._end = (event.seconds, event.reason)
        self._pipeline = event.pipeline

    def _polled(self, event: e.Polled) -> None:
        """Rows came in."""
        source, now = self._source(event.source), self._clock.monotonic_ns()
        source.rows += event.rows
        source.nbytes += event.nbytes
        source.row_rate.add(now, event.rows)
        source.byte_rate.add(now, event.nbytes)
        source.lag = None if event.lag is None else max(0, event.lag)

    def _ran(self, event: e.NodeRan) -> None:
        """Rows went through a node."""
        node = self._nodes.setdefault(event.node, _Node())
        node.rows_in += event.rows_in
        node.rows_out += event.rows_out
        node.seconds += event.seconds

    def _epoch(self, _: e.EpochDone) -> None:
        """An epoch is done."""
        self._epochs += 1

    def _submitted(self, event: e.Submitted) -> None:
        """A delivery is on its way."""
        self._lane(event.lane).pending = event.pending

    def _delivered(self, event: e.Delivered) -> None:
        """Deliveries are durable."""
        lane = self._lane(event.lane)
        lane.delivered += event.rows
        lane.pending = event.pending
        lane.rate.add(self._clock.monotonic_ns(), event.rows)
        lane.acks.extend(event.ack_seconds)

    def _bad_records(self, event: e.BadRecords) -> None:
        """Records could not be handled."""
        self._bad.update(event.codes)
        self._policies.update(dict.fromkeys(event.codes, event.policy))

    def _dropped(self, event: e.RecordsDropped) -> None:
        """Records were left out."""
        self._source(event.source).dropped[event.rule] += event.rows

    def _decoded(self, event: e.DecodeCounts) -> None:
        """Decoding took the long way."""
        self._source(event.source).decoding.update(event.counts)

    def _committed(self, event: e.OffsetsCommitted) -> None:
        """Positions moved; only those of assigned partitions are kept."""
        self._commits += 1
        source = self._source(event.source)
        source.committed.update({p: at for p, at in event.positions.items() if p in source.assigned})

    def _commit_failed(self, _: e.CommitFailed) -> None:
        """A commit was overtaken."""
        self._commit_failures += 1

    def _assigned(self, event: e.Assigned) -> None:
        """Partitions came."""
        self._source(event.source).assigned.update(event.positions)

    def _revoked(self, event: e.Revoked) -> None:
        """What is known about partitions that went goes with them; the lag of the rest comes with the next poll."""
        source = self._source(event.source)
        source.assigned.difference_update(event.partitions)
        source.lag = None
        for partition in event.partitions:
            source.committed.pop(partition, None)

    def _retried(self, event: e.LaneRetried) -> None:
        """A transient error."""
        self._lane(event.lane).retries += 1

    def _poisoned(self, event: e.LanePoisoned) -> None:
        """A permanent error."""
        self._lane(event.lane).poisoned = True

    def _rewound(self, _: e.Rewound) -> None:
        """Nothing that was submitted is waited for any more."""
        self._rewinds += 1
        for lane in self._lanes.values():
            lane.pending = 0

    def _pressed(self, event: e.Pressure) -> None:
        """A queue crossed a threshold."""
        if event.state == "normal":
            self._pressure.pop(event.stage, None)
        else:
            self._pressure[event.stage] = event.state


class _Rate:
    """How much came in the last seconds, in one-second buckets."""

    def __init__(self, begin_ns: int) -> None:
        """Seconds before ``begin_ns`` do not count as idle."""
        self._begin_ns = begin_ns
        self._buckets: deque[tuple[int, int]] = deque(maxlen=_WINDOW + 1)

    def add(self, now_ns: int, amount: int) -> None:
        """Something came."""
        second = now_ns // SECOND_NS
        if self._buckets and self._buckets[-1][0] == second:
            amount += self._buckets.pop()[1]
        self._buckets.append((second, amount))

    def per_second(self, now_ns: int) -> float:
        """The mean over the window, or over the time since the start where that is shorter."""
        oldest = now_ns // SECOND_NS - _WINDOW
        seen = sum(amount for second, amount in self._buckets if second > oldest)
        window = min(now_ns - self._begin_ns, now_ns - (oldest + 1) * SECOND_NS)
        return seen / (max(window, SECOND_NS // 10) / SECOND_NS)


@dataclass(slots=True)
class _Source:
    """What is known about a source so far."""

    row_rate: _Rate
    byte_rate: _Rate
    rows: int = 0
    nbytes: int = 0
    lag: int | None = None
    assigned: set[Partition] = field(default_factory=set)
    committed: dict[Partition, int] = field(default_factory=dict)
    dropped: Counter[str] = field(default_factory=Counter)
    decoding: Counter[str] = field(default_factory=Counter)

    def stats(self, name: str, now_ns: int) -> SourceStats:
        """As of now."""
        return SourceStats(
            name, self.rows, self.nbytes, self.row_rate.per_second(now_ns), self.byte_rate.per_second(now_ns), self.lag, len(self.assigned),
            dict(self.dropped), dict(self.committed), dict(self.decoding),
        )  # fmt: skip


@dataclass(slots=True)
class _Node:
    """What is known about a node so far."""

    rows_in: int = 0
    rows_out: int = 0
    seconds: float = 0.0


@dataclass(slots=True)
class _Lane:
    """What is known about a lane so far."""

    rate: _Rate
    delivered: int = 0
    pending: int = 0
    retries: int = 0
    poisoned: bool = False
    acks: deque[float] = field(default_factory=lambda: deque(maxlen=_ACKS))

    def stats(self, name: str, now_ns: int) -> LaneStats:
        """As of now."""
        acks = sorted(self.acks)
        return LaneStats(
            name, self.delivered, self.rate.per_second(now_ns), self.pending, _quantile(acks, 0.5), _quantile(acks, 0.99), self.retries, self.poisoned
        )


def _quantile(ordered: list[float], q: float) -> float | None:
    """The value below which ``q`` of them lie, None of nothing."""
    return ordered[min(len(ordered) - 1, int(q * len(ordered)))] if ordered else None
