"""Messages to batches: columns, budgets, marks, and what is forgotten."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka import KafkaError

from thalweg.arrow.metadata import HEADERS, PAYLOAD
from thalweg.sources.kafka import reader

EOF = KafkaError._PARTITION_EOF


@dataclass
class Message:
    """What the client hands out, as far as the reader looks at it."""

    of: tuple[str | None, int | None, int] = ("t", 0, 0)
    payload: bytes | None = b"v"
    name: bytes | None = None
    extra: list[tuple[str, bytes | None]] | None = None
    time: tuple[int, int] = (1, 1_000)
    fault: KafkaError | None = None
    epoch: int | None = 3
    asked: list[int] = field(default_factory=list)
    broken: bool = False

    def error(self) -> KafkaError | None:
        """The error in place of a record."""
        return self.fault

    def topic(self) -> str | None:
        """Topic."""
        return self.of[0]

    def partition(self) -> int | None:
        """Partition."""
        return self.of[1]

    def offset(self) -> int:
        """Offset."""
        return self.of[2]

    def key(self) -> bytes | None:
        """Key."""
        return self.name

    def value(self) -> bytes | None:
        """Payload."""
        return self.payload

    def headers(self) -> list[tuple[str, bytes | None]] | None:
        """Headers; a broken one fails as the client does."""
        self.asked.append(1)
        if self.broken:
            raise SystemError("headers") from UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte")
        return self.extra

    def timestamp(self) -> tuple[int, int]:
        """Kind and time."""
        return self.time

    def leader_epoch(self) -> int | None:
        """Leader epoch."""
        return self.epoch

    def __len__(self) -> int:
        """Payload bytes."""
        return len(self.payload or b"")


def at(offset: int, *, partition: int = 0, topic: str = "t", **rest: Any) -> Any:  # noqa: ANN401 - stands in for the client's own type
    """A record at an offset."""
    return Message((topic, partition, offset), **rest)


def eof(offset: int, partition: int = 0) -> Any:  # noqa: ANN401 - see at()
    """An end mark."""
    return Message(("t", partition, offset), fault=KafkaError(EOF))


def filled(*calls: list[Any]) -> reader.Buffer:
    """A buffer that took what these calls returned."""
    buffer = reader.Buffer()
    for stamp, messages in enumerate(calls):
        buffer.add(messages, stamp, EOF)
    return buffer


def rows(chunks: list[reader.Chunk]) -> list[int]:
    """Offsets in chunks."""
    return [m.offset() for chunk in chunks for m in chunk.messages]


def test_columns() -> None:
    """Every column of the transport, NULL and empty apart (KF-01, MET-01 to MET-13)."""
    messages = [
        at(1, payload=None, name=None),
        at(2, payload=b"", name=b"", extra=[("a", None), ("a", b"")], time=(2, -5), topic="u", epoch=None),
        at(5, time=(0, 0)),
        at(6, time=(1, -1)),
    ]

    records, nbytes, bad = reader.to_columns(filled(messages).take(9, 99))
    records.validate(full=True)

    assert records.column(PAYLOAD).to_pylist() == [None, b"", b"v", b"v"]
    assert records.column("source_key").to_pylist() == [None, b"", None, None]
    assert records.column("source_topic").to_pylist() == ["t", "u", "t", "t"]
    assert records.column("source_offset").to_pylist() == [1, 2, 5, 6]
    assert records.column("source_leader_epoch").to_pylist() == [3, None, 3, 3]
    assert records.column("source_timestamp").cast(pa.int64()).to_pylist() == [1_000, -5, None, None]
    assert records.column("source_timestamp_type").to_pylist() == ["CreateTime", "LogAppendTime", None, None]
    assert records.column("source_headers").to_pylist() == [[], [{"key": "a", "value": None}, {"key": "a", "value": b""}], [], []]
    assert (nbytes, len(bad)) == (4, 0)


def test_no_headers_is_an_empty_list() -> None:
    """Kafka records always have a header list; without headers it is built without looking at each row (REP-08)."""
    column = reader.to_columns(filled([at(0), at(1)]).take(9, 99))[0].column("source_headers")

    assert column.type == HEADERS
    assert column.to_pylist() == [[], []]


def test_unreadable_headers_cost_one_record() -> None:
    """A header key that is not UTF-8 is a bad row with a code; each message is asked once only (MET-13)."""
    messages = [at(0, extra=[("a", b"1")]), at(1, broken=True), at(2)]

    records, _, bad = reader.to_columns(filled(messages).take(9, 99))

    assert (bad.rows, bad.codes) == ([1], ["source.header"])
    assert "invalid start byte" in bad.messages[0]
    assert records.column("source_headers").to_pylist() == [[{"key": "a", "value": b"1"}], None, []]
    assert [len(m.asked) for m in messages] == [1, 1, 1]


def test_unreadable_headers_alone() -> None:
    """Also when no other message has any."""
    records, _, bad = reader.to_columns(filled([at(0), at(1, broken=True)]).take(9, 99))

    assert bad.rows == [1]
    assert records.column("source_headers").to_pylist() == [[], None]


def test_times_of_the_polls() -> None:
    """Each record has the time of the call that returned it (MET-03)."""
    records = reader.to_columns(filled([at(0)], [at(1), at(2)]).take(9, 99))[0]

    assert records.column("ingest_ts").cast(pa.int64()).to_pylist() == [0, 1, 1]


def test_an_empty_batch_has_every_column() -> None:
    """A batch that only moves positions looks like any other."""
    assert reader.empty().schema == reader.to_columns(filled([at(0)]).take(1, 9))[0].schema
    assert reader.empty().num_rows == 0


@pytest.mark.parametrize(("limit", "nbytes", "expected"), [(2, 99, [0, 1]), (9, 2, [0, 1]), (9, 99, [0, 1, 2, 3]), (1, 1, [0]), (3, 3, [0, 1, 2])])
def test_take_respects_the_budget(limit: int, nbytes: int, expected: list[int]) -> None:
    """Rows and bytes are cut, in order, across calls (CNX-04)."""
    buffer = filled([at(0), at(1)], [at(2), at(3)])

    assert rows(buffer.take(limit, nbytes)) == expected
    assert buffer.rows == 4 - len(expected) == buffer.nbytes
    assert rows(buffer.take(9, 99)) == list(range(len(expected), 4))


def test_a_large_record_comes_alone() -> None:
    """A record larger than the budget makes progress, and only when it is first (CNX-12)."""
    buffer = filled([at(0), at(1, payload=b"x" * 100), at(2)])

    assert [rows(buffer.take(9, 10)) for _ in range(3)] == [[0], [1], [2]]


def test_marks_wait_for_the_messages_before_them() -> None:
    """An end mark counts when no message is left in front of it (KF-03)."""
    buffer = filled([at(0), at(1), eof(4)])
    buffer.take(1, 99)

    assert buffer.take_ends() == {}
    buffer.take(1, 99)
    assert buffer.take_ends() == {("t", 0): 4}
    assert buffer.take_ends() == {}


def test_errors_are_told_apart_from_marks() -> None:
    """Everything that is no record and no mark is a fault, with its partition where it has one."""
    buffer = reader.Buffer()
    gone, all_down = KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART), KafkaError(KafkaError._ALL_BROKERS_DOWN)

    faults = buffer.add([at(0), Message(("t", 0, 1), fault=gone), Message((None, -1, 0), fault=all_down), eof(9, 1)], 0, EOF)

    assert [(f.error, f.key) for f in faults] == [(gone, ("t", 0)), (all_down, None)]
    assert buffer.rows == 1
    assert buffer.ends == {("t", 1): 9}


def test_dropped_partitions_leave_nothing() -> None:
    """Messages and marks of a partition that went are forgotten, those of others stay."""
    buffer = filled([at(0), at(0, partition=1), eof(1)], [at(1), at(1, partition=1), eof(2, 1)])

    buffer.drop({("t", 0)})

    assert (buffer.rows, buffer.ends) == (2, {("t", 1): 2})
    assert [m.partition() for c in buffer.take(9, 99) for m in c.messages] == [1, 1]


def test_last() -> None:
    """The offset behind what is in the buffer."""
    buffer = filled([at(3), at(7), at(9, partition=1)])

    assert buffer.last(("t", 0), 2) == 8
    assert buffer.last(("t", 2), 2) == 2


def test_next_offsets() -> None:
    """The position behind the last record, by partition; the last one counts."""
    assert reader.next_offsets([at(3), at(9, partition=1), at(7)]) == {("t", 0): 8, ("t", 1): 10}
