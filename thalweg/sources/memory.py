"""Topics inside this process: for tests, and the shortest complete source for authors of connectors to start from."""

from __future__ import annotations

import functools
import threading
from bisect import bisect_right
from collections import deque
from dataclasses import dataclass, field
from operator import itemgetter
from typing import TYPE_CHECKING, Final, Literal

import pyarrow as pa
import pyarrow.compute as pc

from thalweg.arrow.batch import RawBatch
from thalweg.arrow.metadata import HEADERS, PAYLOAD, TYPES, column
from thalweg.errors import SourceFailed, UserError
from thalweg.model.clock import MILLISECOND_NS
from thalweg.model.options import at_least, one_of, option
from thalweg.model.position import Partition, Span, TopicIdentity
from thalweg.ports.source import Budget, Capabilities, Committed, Listener, Source, SourceContext, SourcePlugin

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

__all__ = ["PLUGIN"]

_SCHEME: Final = "memory://"
_PLACED: Final = ("source_topic", "source_partition", "source_offset")
_GIVEN: Final = ("source_leader_epoch", "source_key", "source_timestamp", "source_timestamp_type", "source_event_time", "source_headers")
_SCHEMA: Final = pa.schema([(PAYLOAD, pa.binary()), *((name, TYPES[name]) for name in (*_PLACED, *_GIVEN))])
_EMPTY: Final = pa.RecordBatch.from_pylist([], _SCHEMA)
_Turn = tuple[Literal["give", "revoke", "lose"], tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class MemoryOptions:
    """Options of a table ``STORED AS MEMORY``."""

    partitions: int = option("partitions", at_least(1), default=1, doc="partitions of the topic, if it is not there yet")
    startup_mode: str = option(
        "scan.startup.mode", one_of("earliest-offset", "latest-offset"), default="earliest-offset",
        doc="where a partition starts when no position is known",
    )
    bounded_mode: str = option("scan.bounded.mode", one_of("unbounded", "latest-offset"), default="unbounded", doc="where the run ends")


@dataclass(slots=True)
class MemoryTopic:
    """A topic: batches by partition, and what groups have committed. Thread-safe."""

    name: str
    partitions: int
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _logs: list[list[tuple[int, pa.RecordBatch]]] = field(init=False)
    _ends: list[int] = field(init=False)
    _committed: dict[tuple[str, int], Committed] = field(default_factory=dict)
    _turns: deque[_Turn] = field(default_factory=deque)

    def __post_init__(self) -> None:
        """Start empty."""
        self._logs = [[] for _ in range(self.partitions)]
        self._ends = [0] * self.partitions

    def append(
        self, partition: int, value: bytes | None, *, key: bytes | None = None,
        headers: Sequence[tuple[str, bytes | None]] = (), timestamp_ms: int | None = 0,
    ) -> int:
        """Put one record behind the others; returns its offset."""
        columns = {
            PAYLOAD: pa.array([value], pa.binary()),
            "source_key": pa.array([key], pa.binary()),
            "source_timestamp": pa.array([timestamp_ms], TYPES["source_timestamp"]),
            "source_timestamp_type": pa.array([None if timestamp_ms is None else "CreateTime"]),
            "source_headers": pa.array([[{"key": k, "value": v} for k, v in headers]], HEADERS),
        }
        return self.append_batch(partition, pa.RecordBatch.from_pydict(columns))

    def append_batch(self, partition: int, records: pa.RecordBatch) -> int:
        """Put records behind the others; returns the first one's offset.

        ``records`` has ``payload`` and any of the metadata columns that a transport supplies; the locator is added here.
        """
        with self._lock:
            start = self._ends[partition]
            rows = records.num_rows
            given = {name: column(records, name) for name in _GIVEN}
            placed = {
                "source_topic": pa.repeat(self.name, rows),
                "source_partition": pa.repeat(pa.scalar(partition, pa.int32()), rows),
                "source_offset": pa.array(range(start, start + rows), pa.int64()),
            }
            columns = {PAYLOAD: records.column(PAYLOAD), **placed, **given}
            self._logs[partition].append((start, pa.RecordBatch.from_pydict(columns, _SCHEMA)))
            self._ends[partition] += rows
            return start

    def skip(self, partition: int, offsets: int) -> None:
        """Leave a hole of ``offsets`` offsets, as control records and compaction do."""
        with self._lock:
            self._ends[partition] += offsets

    def end(self, partition: int) -> int:
        """Offset behind the last record or hole."""
        with self._lock:
            return self._ends[partition]

    def read(self, partition: int, start: int, stop: int, budget: Budget) -> tuple[list[pa.RecordBatch], int, int]:
        """Records from ``start`` to ``stop`` as far as the budget goes, but one at least; the offset behind them, and their bytes."""
        out: list[pa.RecordBatch] = []
        rows, nbytes = budget.rows, budget.nbytes
        with self._lock:
            log = self._logs[partition]
            for first, batch in log[max(bisect_right(log, start, key=itemgetter(0)) - 1, 0):]:
                at = max(start, first)
                here = min(first + batch.num_rows, stop) - at
                if here <= 0:
                    continue
                if rows == 0:
                    return out, at, budget.nbytes - nbytes
                cut = batch.slice(at - first, min(here, rows))
                running = pc.cumulative_sum(pc.fill_null(pc.binary_length(cut.column(PAYLOAD)), 0).cast(pa.int64()))
                fits = max(pc.sum(pc.less_equal(running, nbytes)).as_py(), 0 if out else 1)
                if fits:
                    out.append(cut.slice(0, fits))
                    rows, nbytes = rows - fits, nbytes - running[fits - 1].as_py()
                if fits < here:
                    return out, at + fits, budget.nbytes - nbytes
            return out, min(self._ends[partition], stop), budget.nbytes - nbytes

    def committed(self, group: str, partition: int) -> Committed | None:
        """What a group has committed."""
        with self._lock:
            return self._committed.get((group, partition))

    def commit(self, group: str, partition: int, position: Committed) -> None:
        """Keep a group's position."""
        with self._lock:
            self._committed[group, partition] = position

    def give(self, *partitions: int) -> None:
        """Assign partitions inside the reader's next poll."""
        self._turns.append(("give", partitions))

    def revoke(self, *partitions: int) -> None:
        """Take partitions back inside the reader's next poll, and wait until they are drained."""
        self._turns.append(("revoke", partitions))

    def lose(self, *partitions: int) -> None:
        """Take partitions away inside the reader's next poll, without a chance to drain."""
        self._turns.append(("lose", partitions))

    def next_turn(self) -> _Turn | None:
        """The oldest change of the assignment that nobody has acted on."""
        return self._turns.popleft() if self._turns else None


@functools.cache
def _topic(name: str, partitions: int) -> MemoryTopic:
    """The topic of this name in this process; it lives as long as the process."""
    return MemoryTopic(name, partitions)


class MemorySource(Source):
    """Reads a topic of this process. Parallel by partition. Delivers every record at least once."""

    def __init__(self, location: str, options: MemoryOptions, context: SourceContext) -> None:
        """``memory://name``: two sources of one name and as many partitions read the same topic."""
        for complaint in _check(location, options):
            raise UserError(complaint)
        self.topic = _topic(_name(location), options.partitions)
        self._options = options
        self._context = context
        self._next: dict[int, int] = {}
        self._ends: dict[int, int] | None = None
        self._listener: Listener | None = None
        self._first = 0

    def open(self, listener: Listener) -> None:
        """Take every partition."""
        self._listener = listener
        if self._options.bounded_mode == "latest-offset":
            self._ends = {i: self.topic.end(i) for i in range(self.topic.partitions)}
        self._assign(range(self.topic.partitions))

    def identity(self, partition: Partition) -> TopicIdentity:
        """The process is the cluster, and names are never used twice in it."""
        return TopicIdentity("memory", partition.topic)

    def poll(self, budget: Budget) -> RawBatch | None:
        """The next records, partitions in turn; waits in small steps while there are none."""
        self._follow()
        deadline = self._context.clock.monotonic_ns() + budget.age_ns
        while True:
            batch = self._take(budget)
            if batch is not None or self.finished() or self._context.clock.monotonic_ns() >= deadline:
                return batch
            self._context.clock.sleep_ns(MILLISECOND_NS)

    def idle(self) -> None:
        """Act on changes of the assignment."""
        self._follow()

    def seek(self, positions: Mapping[Partition, int]) -> None:
        """Go to these offsets."""
        self._next.update({p.index: offset for p, offset in positions.items() if p.index in self._next})

    def commit(self, positions: Mapping[Partition, int], metadata: str) -> Mapping[Partition, int]:
        """Keep the group's positions of held partitions."""
        done = {p: offset for p, offset in positions.items() if p.index in self._next and self._context.group}
        for partition, offset in done.items():
            self.topic.commit(self._context.pipeline, partition.index, Committed(offset, metadata))
        return done

    def lag(self) -> int | None:
        """Offsets that were not returned yet."""
        return sum((self._ends[i] if self._ends is not None else self.topic.end(i)) - at for i, at in self._next.items())

    def finished(self) -> bool:
        """Whether a bounded run has returned everything."""
        return self._ends is not None and all(at >= self._ends[i] for i, at in self._next.items())

    def close(self) -> None:
        """Let the partitions go."""
        self._next.clear()

    def _partition(self, index: int) -> Partition:
        """The model's name of a partition."""
        return Partition(self._context.relation, self.topic.name, index)

    def _assign(self, indexes: Collection[int]) -> None:
        """Ask where to start, and start."""
        if self._listener is None:
            raise SourceFailed("the source was not opened", where=self.topic.name)
        group = self._context.pipeline
        known = {self._partition(i): self.topic.committed(group, i) if self._context.group else None for i in indexes}
        chosen = self._listener.assigned(known)
        late = self._options.startup_mode == "latest-offset"
        starts = {p: chosen[p] if chosen[p] is not None else (self.topic.end(p.index) if late else 0) for p in known}
        self._next.update({p.index: offset or 0 for p, offset in starts.items()})
        self._listener.started({p: offset or 0 for p, offset in starts.items()})

    def _follow(self) -> None:
        """Act on what the topic's tests have asked for."""
        while (turn := self.topic.next_turn()) is not None and self._listener is not None:
            kind, indexes = turn
            held = [self._partition(i) for i in indexes if i in self._next]
            if kind == "give":
                self._assign([i for i in indexes if i not in self._next])
                continue
            if kind == "revoke":
                self._listener.revoked(held)
            for partition in held:
                del self._next[partition.index]
            if kind == "lose":
                self._listener.lost(held)

    def _take(self, budget: Budget) -> RawBatch | None:
        """What is there now; another partition comes first each time."""
        batches: list[pa.RecordBatch] = []
        spans: list[Span] = []
        total = 0
        order = sorted(self._next, key=lambda i: (i < self._first, i))
        self._first = order[1] if len(order) > 1 else 0
        for index in order:
            left = Budget(budget.rows - sum(b.num_rows for b in batches), budget.nbytes - total)
            if left.rows <= 0 or left.nbytes <= 0:
                break
            start = self._next[index]
            stop = self.topic.end(index) if self._ends is None else self._ends[index]
            found, end, nbytes = self.topic.read(index, start, max(start, stop), left)
            if end > start:
                spans.append(Span(self._partition(index), start, end))
                self._next[index] = end
            batches += found
            total += nbytes
        return RawBatch(self._stamped(batches), tuple(spans), total) if spans else None

    def _stamped(self, batches: list[pa.RecordBatch]) -> pa.RecordBatch:
        """One batch, with the time at which it was polled."""
        records = pa.concat_batches(batches) if batches else _EMPTY
        now = pa.scalar(self._context.clock.now_ns() // 1_000, TYPES["ingest_ts"])
        return records.append_column("ingest_ts", pa.repeat(now, records.num_rows))


def _fill(source: Source, records: Iterable[bytes]) -> int:
    """Deal records out over the partitions; returns how many."""
    assert isinstance(source, MemorySource)
    values = list(records)
    for index in range(source.topic.partitions):
        part = values[index :: source.topic.partitions]
        source.topic.append_batch(index, pa.RecordBatch.from_pydict({PAYLOAD: pa.array(part, pa.binary())}))
    return len(values)


def _check(location: str, _options: MemoryOptions) -> list[str]:
    """What is wrong with the location."""
    return [] if _name(location) else [f"a memory location looks like 'memory://name', found {location!r}"]


def _name(location: str) -> str:
    """Topic that a location names, empty where it names none."""
    return location.removeprefix(_SCHEME).strip("/") if location.startswith(_SCHEME) else ""


PLUGIN = SourcePlugin(
    options=MemoryOptions,
    capabilities=Capabilities(
        seekable=True, groups=False, bounded=True, delivers="Parallel by partition. Delivers every record at least once; for tests."
    ),
    make=MemorySource,
    check=_check,
    describe_start=lambda _location, options: options.startup_mode,
    fill=_fill,
)
