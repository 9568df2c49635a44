"""What a conformance suite of sources needs: a way to a transport, a listener that remembers, and checks of every batch."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from thalweg.arrow.metadata import PAYLOAD, TYPES, columns
from thalweg.model.clock import SystemClock
from thalweg.model.options import read
from thalweg.model.position import Partition, Span
from thalweg.model.spans import SpanSet
from thalweg.ports.source import Budget, Committed, SourceContext
from thalweg.testing.fakes import RecordingObserver

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from thalweg.arrow.batch import RawBatch
    from thalweg.model.events import Observer
    from thalweg.ports.source import Source, SourcePlugin

RELATION = "t"
BUDGET = Budget(age_ns=100_000_000)


@dataclass(frozen=True, slots=True)
class Produced:
    """One record that the suite puts into a topic."""

    value: bytes | None
    partition: int = 0
    key: bytes | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    timestamp_ms: int = field(default_factory=lambda: time.time_ns() // 1_000_000)
    """Recent by default: brokers delete old records."""


@dataclass
class Listening:
    """A listener that remembers its calls; ``resume`` says where partitions start, ``on_revoke`` what happens before they go."""

    resume: dict[Partition, int] = field(default_factory=dict)
    resume_committed: bool = True
    once: bool = False
    """Whether ``resume`` is forgotten after it was asked for."""
    on_revoke: Callable[[Collection[Partition]], None] = lambda _partitions: None
    calls: list[tuple[str, Any]] = field(default_factory=list)
    held: dict[Partition, int] = field(default_factory=dict)
    committed: dict[Partition, Committed | None] = field(default_factory=dict)

    def assigned(self, committed: Mapping[Partition, Committed | None]) -> Mapping[Partition, int | None]:
        """Partitions come."""
        self.calls.append(("assigned", dict(committed)))
        self.committed.update(committed)
        known = {p: c.offset for p, c in committed.items() if c is not None and self.resume_committed}
        chosen = {p: self.resume.get(p, known.get(p)) for p in committed}
        if self.once:
            self.resume.clear()
        return chosen

    def started(self, positions: Mapping[Partition, int]) -> None:
        """Where they start."""
        self.calls.append(("started", dict(positions)))
        self.held.update(positions)

    def revoked(self, partitions: Collection[Partition]) -> None:
        """Partitions go."""
        self.calls.append(("revoked", tuple(partitions)))
        self.on_revoke(partitions)
        for partition in partitions:
            self.held.pop(partition, None)

    def lost(self, partitions: Collection[Partition]) -> None:
        """Partitions are gone."""
        self.calls.append(("lost", tuple(partitions)))
        for partition in partitions:
            self.held.pop(partition, None)


class SourceHarness(ABC):
    """How the suite reaches one transport."""

    plugin: SourcePlugin
    lacks: frozenset[str] = frozenset()
    """What this broker cannot do: ``metadata`` (notes beside offsets)."""

    @abstractmethod
    def topic(self, partitions: int) -> str:
        """Make an empty topic; its location."""

    @abstractmethod
    def produce(self, location: str, records: Sequence[Produced]) -> None:
        """Put records into it, in order within a partition, durable when this returns."""

    def options(self, given: Mapping[str, str]) -> dict[str, str]:
        """Options of every source that the suite makes, over those of the test."""
        return dict(given)

    def partition(self, location: str, index: int) -> Partition:
        """The model's name of a partition."""
        return Partition(RELATION, location.rpartition("/")[2], index)

    def make(
        self, location: str, options: Mapping[str, str], *, pipeline: str = "conformance", group: bool = True, observer: Observer | None = None,
    ) -> Source:
        """A source that is not open."""
        said = self.options(options)
        found, errors = read(self.plugin.options, said)

        assert errors == []
        assert self.plugin.check(location, found) == []

        return self.plugin.make(location, found, SourceContext(pipeline, RELATION, SystemClock(), observer or RecordingObserver(), group=group))


@dataclass
class Reading:
    """An open source and everything that it has returned."""

    source: Source
    listener: Listening
    batches: list[RawBatch] = field(default_factory=list)

    def poll(self, budget: Budget = BUDGET) -> RawBatch | None:
        """One poll, checked for what every batch must be."""
        batch = self.source.poll(budget)
        if batch is not None:
            check_batch(batch)
            self.batches.append(batch)
        return batch

    def until(self, done: Callable[[], bool], budget: Budget = BUDGET, timeout_s: float = 30) -> None:
        """Poll until ``done``."""
        deadline = time.monotonic() + timeout_s
        while not done():
            assert time.monotonic() < deadline, f"not done after {timeout_s} s; {self.rows()} rows, {self.listener.calls}"
            self.poll(budget)

    def until_held(self, partitions: int = 1) -> None:
        """Poll until at least so many partitions are held."""
        self.until(lambda: len(self.listener.held) >= partitions)

    def until_rows(self, rows: int, budget: Budget = BUDGET) -> None:
        """Poll until so many rows came."""
        self.until(lambda: self.rows() >= rows, budget)

    def until_finished(self, budget: Budget = BUDGET) -> None:
        """Poll a bounded source to its end."""
        self.until(self.source.finished, budget)

    def rows(self) -> int:
        """Records returned so far."""
        return sum(b.rows for b in self.batches)

    def records(self) -> list[dict[str, Any]]:
        """Every record, with all columns that the transport gives."""
        return [row for b in self.batches for row in b.records.to_pylist()]

    def values(self, partition: int | None = None) -> list[bytes | None]:
        """Payloads, in the order they came; of one partition or of all."""
        return [r[PAYLOAD] for r in self.records() if partition is None or r["source_partition"] == partition]

    def spans(self) -> list[Span]:
        """Every span, in order."""
        return [span for batch in self.batches for span in batch.spans]


def check_batch(batch: RawBatch) -> None:
    """What holds for every batch: types of columns, and spans that hold the records and follow one another."""
    batch.records.validate(full=True)
    for field_ in batch.records.schema:
        found = columns(batch.records, [field_.name])[0].type if field_.name != PAYLOAD else None
        assert found in {None, TYPES.get(field_.name)}, f"column {field_.name} is {found}"
    for span in batch.spans:
        assert span.end > span.start, f"{span} holds nothing"
    assert len({s.partition for s in batch.spans}) == len(batch.spans), "one span a partition"
    by_place = {(s.partition.topic, s.partition.index): s for s in batch.spans}
    last: dict[tuple[str, int], int] = {}
    locator = [c.to_pylist() for c in columns(batch.records, ["source_topic", "source_partition", "source_offset"])]
    for topic, index, offset in zip(*locator, strict=True):
        span = by_place[topic, index]
        assert span.start <= offset < span.end, f"offset {offset} of {topic}/{index} is not in {batch.spans}"
        assert last.get((topic, index), -1) < offset, f"offset {offset} of {topic}/{index} comes after {last[topic, index]}; {batch.spans}"
        last[topic, index] = offset


def check_spans(spans: Iterable[Span], starts: Mapping[Partition, int]) -> SpanSet:
    """Spans of each partition follow one another without hole or overlap, from where the partition started."""
    at = dict(starts)
    covered = SpanSet()
    for span in spans:
        assert span.start == at[span.partition], f"{span} does not begin at {at[span.partition]}"
        at[span.partition] = span.end
        covered.add(span)
    return covered
