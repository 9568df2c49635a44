"""Client messages to raw batches, column by column. The only module that touches a message."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from dataclasses import dataclass, field
from itertools import accumulate
from operator import methodcaller
from typing import TYPE_CHECKING, Final, Protocol, cast

import pyarrow as pa
import pyarrow.compute as pc

from thalweg.arrow.batch import BadRows
from thalweg.arrow.metadata import HEADERS, PAYLOAD, TYPES

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Sequence

    from confluent_kafka import KafkaError, Message

Key = tuple[str, int]
"""Topic and partition, the way messages say it."""
TIMESTAMP_TYPES: Final = pa.array(["CreateTime", "LogAppendTime"])
BAD_HEADER: Final = "source.header"


class Record(Protocol):
    """A client message that carries a record and no error: what the client's own type leaves open is there."""

    def topic(self) -> str:
        """Topic."""

    def partition(self) -> int:
        """Partition."""

    def offset(self) -> int:
        """Offset."""

    def key(self) -> bytes | None:
        """Key, bytes as sent."""

    def value(self) -> bytes | None:
        """Payload, None for a tombstone."""

    def headers(self) -> list[tuple[str, bytes | None]] | None:
        """Headers in order, None where there are none. Asked once only: see :func:`to_columns`."""

    def timestamp(self) -> tuple[int, int]:
        """Kind (0 none, 1 create time, 2 log append time) and milliseconds since 1970."""

    def leader_epoch(self) -> int | None:
        """Leader epoch, None where the broker gives none."""

    def __len__(self) -> int:
        """Payload bytes."""


@dataclass(frozen=True, slots=True)
class Fault:
    """An error that came in place of a message."""

    error: KafkaError
    key: Key | None


@dataclass(frozen=True, slots=True)
class Chunk:
    """Messages of one call to the client, in the order they came."""

    messages: list[Record]
    stamp_us: int
    nbytes: int
    """Payload and key bytes."""
    nexts: dict[Key, int]
    """Offset behind the last message, by partition."""

    @classmethod
    def of(cls, messages: list[Record], stamp_us: int) -> Chunk:
        """Measure messages."""
        keys = sum(len(key) for m in messages if (key := m.key()))
        return cls(messages, stamp_us, sum(map(len, messages)) + keys, next_offsets(messages))

    def fitting(self, rows: int, nbytes: int) -> int:
        """How many of the first messages are within both bounds."""
        if nbytes >= self.nbytes:
            return min(rows, len(self.messages))
        sizes = accumulate(len(m) + len(m.key() or b"") for m in self.messages[:rows])
        return bisect_left(list(sizes), nbytes + 1)

    def split(self, at: int) -> tuple[Chunk, Chunk]:
        """The first ``at`` messages, and the rest."""
        return Chunk.of(self.messages[:at], self.stamp_us), Chunk.of(self.messages[at:], self.stamp_us)


@dataclass(slots=True)
class Buffer:
    """Messages that were taken from the client and not yet returned, with the end-of-partition marks among them."""

    chunks: deque[Chunk] = field(default_factory=deque)
    ends: dict[Key, int] = field(default_factory=dict)
    """Next fetch position by partition, as said by an end-of-partition event behind all its messages."""
    rows: int = 0
    nbytes: int = 0

    def add(self, messages: list[Message], stamp_us: int, eof: int) -> list[Fault]:
        """Take what one call returned; ``eof`` is the error code that only marks an end. Returns the real errors."""
        good = [m for m in messages if m.error() is None]
        faults: list[Fault] = []
        for message in messages if len(good) != len(messages) else ():
            error = message.error()
            if error is None:
                continue
            key = partition_of(message)
            if error.code() == eof and key is not None:
                self.ends[key] = cast("int", message.offset())
            else:
                faults.append(Fault(error, key))
        self._append(cast("list[Record]", good), stamp_us)
        return faults

    def _append(self, messages: list[Record], stamp_us: int) -> None:
        """Put messages behind those that are here."""
        if messages:
            chunk = Chunk.of(messages, stamp_us)
            self.chunks.append(chunk)
            self.rows += len(messages)
            self.nbytes += chunk.nbytes

    def newest(self) -> dict[Key, int]:
        """Offset behind the last message of the newest call, by partition."""
        return self.chunks[-1].nexts if self.chunks else {}

    def drop(self, keys: Container[Key]) -> None:
        """Forget everything of these partitions."""
        self.keep(lambda m: (m.topic(), m.partition()) not in keys)
        self.ends = {key: end for key, end in self.ends.items() if key not in keys}

    def keep(self, wanted: Callable[[Record], bool]) -> None:
        """Forget every message that is not wanted."""
        chunks, self.chunks, self.rows, self.nbytes = self.chunks, deque(), 0, 0
        for chunk in chunks:
            self._append([m for m in chunk.messages if wanted(m)], chunk.stamp_us)

    def last(self, key: Key, start: int) -> int:
        """Offset behind the last message of a partition that is here; ``start`` where there is none."""
        return max([start, *(chunk.nexts[key] for chunk in self.chunks if key in chunk.nexts)])

    def take(self, rows: int, nbytes: int) -> list[Chunk]:
        """The oldest messages, at most ``rows`` of them and ``nbytes`` in all, but at least one if there is one."""
        out: list[Chunk] = []
        while self.chunks and rows > 0:
            chunk = self.chunks.popleft()
            fits = max(chunk.fitting(rows, nbytes), 0 if out else 1)
            if fits < len(chunk.messages):
                chunk, rest = chunk.split(fits)
                self.chunks.appendleft(rest)
            if not fits:
                break
            out.append(chunk)
            rows -= len(chunk.messages)
            nbytes -= chunk.nbytes
            self.rows -= len(chunk.messages)
            self.nbytes -= chunk.nbytes
        return out

    def take_ends(self) -> dict[Key, int]:
        """The end marks, once no message is left in front of them."""
        if self.chunks:
            return {}
        ends, self.ends = self.ends, {}
        return ends


def partition_of(message: Message) -> Key | None:
    """Topic and partition that a message or an error belongs to; None where it belongs to none."""
    topic, index = message.topic(), message.partition()
    return None if topic is None or index is None or index < 0 else (topic, index)


def next_offsets(messages: Sequence[Record]) -> dict[Key, int]:
    """Offset behind the last message, by partition."""
    topics = {m.topic() for m in messages}
    if len(topics) == 1:
        (topic,) = topics
        last = dict(zip([m.partition() for m in messages], [m.offset() for m in messages], strict=True))
        return {(topic, index): offset + 1 for index, offset in last.items()}
    return {(m.topic(), m.partition()): m.offset() + 1 for m in messages}


def to_columns(chunks: Sequence[Chunk]) -> tuple[pa.RecordBatch, int, BadRows]:
    """Messages as columns, their payload, key and header bytes, and the rows whose headers cannot be read."""
    messages = chunks[0].messages if len(chunks) == 1 else [m for chunk in chunks for m in chunk.messages]
    bad = BadRows()
    headers, header_bytes = _headers(messages, bad)
    times, kinds = _times([m.timestamp() for m in messages])
    columns: dict[str, pa.Array] = {
        PAYLOAD: pa.array([m.value() for m in messages], pa.binary()),
        "source_topic": _dictionary([m.topic() for m in messages]),
        "source_partition": pa.array([m.partition() for m in messages], pa.int32()),
        "source_offset": pa.array([m.offset() for m in messages], pa.int64()),
        "source_leader_epoch": pa.array([m.leader_epoch() for m in messages], pa.int32()),
        "source_key": pa.array([m.key() for m in messages], pa.binary()),
        "source_timestamp": times,
        "source_timestamp_type": kinds,
        "source_headers": headers,
        "ingest_ts": pa.concat_arrays([pa.repeat(pa.scalar(c.stamp_us, TYPES["ingest_ts"]), len(c.messages)) for c in chunks]),
    }
    return pa.RecordBatch.from_pydict(columns), sum(c.nbytes for c in chunks) + header_bytes, bad


def empty() -> pa.RecordBatch:
    """No records, but every column: for a batch that only moves positions."""
    return to_columns([Chunk([], 0, 0, {})])[0]


def _dictionary(topics: list[str]) -> pa.DictionaryArray:
    """Topic names, each stored once."""
    names = list(dict.fromkeys(topics))
    at = {name: i for i, name in enumerate(names)}
    codes = pa.repeat(pa.scalar(0, pa.int32()), len(topics)) if len(names) == 1 else pa.array([at[t] for t in topics], pa.int32())
    return pa.DictionaryArray.from_arrays(codes, pa.array(names, pa.string()))


def _times(stamps: list[tuple[int, int]]) -> tuple[pa.Array, pa.Array]:
    """Timestamps and their types; no timestamp is kind 0, or -1 under a broker that keeps what the producer left out."""
    kinds = pa.array([kind for kind, _ in stamps], pa.int8())
    times = pa.array([time for _, time in stamps], pa.int64())
    there = pc.and_(pc.not_equal(kinds, 0), pc.not_equal(times, -1))
    codes = pc.if_else(there, pc.subtract(kinds, pa.scalar(1, pa.int8())), None)
    return pc.if_else(there, times, None).cast(TYPES["source_timestamp"]), pa.DictionaryArray.from_arrays(codes, TIMESTAMP_TYPES)


def _headers(messages: list[Record], bad: BadRows) -> tuple[pa.Array, int]:
    """The header column and its bytes; a key that is not UTF-8 makes a bad row with NULL headers."""
    # The client answers with null pointers AND an exception. Only a call that goes through methodcaller notices: a plain call of a
    # C method is specialised by the interpreter, without that check. Asked twice, there is no exception, so nobody asks twice.
    headers_of = methodcaller("headers")
    found: list[list[tuple[str, bytes | None]] | None] = []
    for message in messages:
        try:
            found.append(headers_of(message))
        except SystemError as e:
            bad.add(len(found), BAD_HEADER, f"a header key is not UTF-8: {e.__cause__}")
            found.append(None)
    if not any(found) and not bad.rows:
        starts = pa.repeat(pa.scalar(0, pa.int32()), len(messages) + 1)
        return pa.ListArray.from_arrays(starts, pa.array([], HEADERS.value_type)), 0
    rows: list[list[dict[str, object]] | None] = [[{"key": k, "value": v} for k, v in h or ()] for h in found]
    for row in bad.rows:
        rows[row] = None
    return pa.array(rows, HEADERS), sum(len(k) + len(v or b"") for h in found if h for k, v in h)
