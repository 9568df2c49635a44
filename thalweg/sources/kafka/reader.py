"""Client messages to raw batches, column by column. The only module that touches a message."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, Final, Protocol, cast

import pyarrow as pa

from thalweg.arrow.batch import BadRows
from thalweg.arrow.metadata import HEADERS, PAYLOAD, TYPES

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Sequence

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


@dataclass(slots=True)
class Chunk:
    """Messages of one call to the client, in the order they came."""

    messages: list[Record]
    stamp_us: int
    sizes: list[int]

    @property
    def nbytes(self) -> int:
        """Payload and key bytes."""
        return sum(self.sizes)


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
            sizes = [len(m) + len(m.key() or b"") for m in messages]
            chunk = Chunk(messages, stamp_us, sizes)
            self.chunks.append(chunk)
            self.rows += len(messages)
            self.nbytes += chunk.nbytes

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
        offsets = [m.offset() + 1 for chunk in self.chunks for m in chunk.messages if (m.topic(), m.partition()) == key]
        return max([start, *offsets])

    def take(self, rows: int, nbytes: int) -> list[Chunk]:
        """The oldest messages, at most ``rows`` of them and ``nbytes`` in all, but at least one if there is one."""
        out: list[Chunk] = []
        while self.chunks and rows > 0:
            chunk = self.chunks[0]
            fits = min(rows, bisect_left(list(accumulate(chunk.sizes)), nbytes + 1))
            fits = max(fits, 0 if out else 1)
            if fits == 0:
                break
            if fits < len(chunk.messages):
                self.chunks[0] = Chunk(chunk.messages[fits:], chunk.stamp_us, chunk.sizes[fits:])
                chunk = Chunk(chunk.messages[:fits], chunk.stamp_us, chunk.sizes[:fits])
            else:
                self.chunks.popleft()
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


def next_offsets(messages: Iterable[Record]) -> dict[Key, int]:
    """Offset behind the last message, by partition."""
    return {(m.topic(), m.partition()): m.offset() + 1 for m in messages}


def to_columns(chunks: Sequence[Chunk]) -> tuple[pa.RecordBatch, int, BadRows]:
    """Messages as columns, their payload, key and header bytes, and the rows whose headers cannot be read."""
    messages = chunks[0].messages if len(chunks) == 1 else [m for chunk in chunks for m in chunk.messages]
    bad = BadRows()
    headers, header_bytes = _headers(messages, bad)
    topic, kind_and_time = _dictionary([m.topic() for m in messages]), [m.timestamp() for m in messages]
    kinds = [None if kind == 0 else kind - 1 for kind, _ in kind_and_time]
    times = [None if kind == 0 else time for kind, time in kind_and_time]
    columns: dict[str, pa.Array] = {
        PAYLOAD: pa.array([m.value() for m in messages], pa.binary()),
        "source_topic": topic,
        "source_partition": pa.array([m.partition() for m in messages], pa.int32()),
        "source_offset": pa.array([m.offset() for m in messages], pa.int64()),
        "source_leader_epoch": pa.array([m.leader_epoch() for m in messages], pa.int32()),
        "source_key": pa.array([m.key() for m in messages], pa.binary()),
        "source_timestamp": pa.array(times, pa.int64()).cast(TYPES["source_timestamp"]),
        "source_timestamp_type": pa.DictionaryArray.from_arrays(pa.array(kinds, pa.int8()), TIMESTAMP_TYPES),
        "source_headers": headers,
        "ingest_ts": pa.concat_arrays([pa.repeat(pa.scalar(c.stamp_us, TYPES["ingest_ts"]), len(c.messages)) for c in chunks]),
    }
    return pa.RecordBatch.from_pydict(columns), sum(c.nbytes for c in chunks) + header_bytes, bad


def empty() -> pa.RecordBatch:
    """No records, but every column: for a batch that only moves positions."""
    return to_columns([Chunk([], 0, [])])[0]


def _dictionary(topics: list[str]) -> pa.DictionaryArray:
    """Topic names, each stored once."""
    names = list(dict.fromkeys(topics))
    at = {name: i for i, name in enumerate(names)}
    codes = pa.repeat(pa.scalar(0, pa.int32()), len(topics)) if len(names) == 1 else pa.array([at[t] for t in topics], pa.int32())
    return pa.DictionaryArray.from_arrays(codes, pa.array(names, pa.string()))


def _headers(messages: list[Record], bad: BadRows) -> tuple[pa.Array, int]:
    """The header column and its bytes; a key that is not UTF-8 makes a bad row with NULL headers."""
    found: list[list[tuple[str, bytes | None]] | None] = []
    for message in messages:
        try:
            found.append(message.headers() or [])
        except SystemError as e:
            # Asked a second time, the client would hand out null pointers: each message is asked once only.
            bad.add(len(found), BAD_HEADER, f"a header key is not UTF-8: {e.__cause__}")
            found.append(None)
    if not any(found) and not bad.rows:
        starts = pa.repeat(pa.scalar(0, pa.int32()), len(messages) + 1)
        return pa.ListArray.from_arrays(starts, pa.array([], HEADERS.value_type)), 0
    rows = [None if h is None else [{"key": k, "value": v} for k, v in h] for h in found]
    return pa.array(rows, HEADERS), sum(len(k) + len(v or b"") for h in found if h for k, v in h)
