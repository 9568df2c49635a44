"""What all ways to take records must do alike, on a real broker: full queues, transactions, hard records, seeks and closes."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from confluent_kafka import Producer

from tests.service.kafka_topics import Readers, new_topic, send, transaction, wait_for_end
from thalweg.model.position import Partition
from thalweg.ports.source import Budget
from thalweg.sources.kafka import intake
from thalweg.testing.reading import RELATION, Reading, check_spans

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.service
ROWS = 20_000
SMALL = Budget(rows=500, age_ns=200_000_000)


def part(topic: str, index: int = 0) -> Partition:
    """A partition of the table that the tests read."""
    return Partition(RELATION, topic, index)


@pytest.fixture
def full(kafka: str) -> str:
    """A topic of two partitions with 20,000 numbered records in each: far more than a test takes at once."""
    topic = new_topic(kafka, 2)
    for index in range(2):
        send(kafka, topic, [b"%d" % i for i in range(ROWS)], index)
    return topic


def table(reading: Reading) -> pa.Table:
    """Everything that was read but the times of polls, in the order of partitions."""
    batches = []
    for batch in reading.batches:
        batch.records.validate(full=True)
        columns = {n: batch.records[n] for n in batch.records.schema.names if n != "ingest_ts"}
        batches.append(pa.table({n: c.cast(pa.string()) if pa.types.is_dictionary(c.type) else c for n, c in columns.items()}))
    return pa.concat_tables(batches).combine_chunks().sort_by([("source_partition", "ascending"), ("source_offset", "ascending")])


def test_transactions_among_plain_records(kafka: str, readers: Readers) -> None:
    """Hundreds of transactions, half of them aborted, over two partitions: no aborted record, no control record, no gap in the spans (KSR-16)."""
    topic = new_topic(kafka, 2)
    producer = transaction(kafka)
    wanted: list[list[bytes | None]] = [[], []]
    for n in range(60):
        producer.begin_transaction()
        for i in range(20):
            producer.produce(topic, b"%d-%d" % (n, i), partition=i % 2)
        if n % 2:
            producer.flush(20)
            producer.abort_transaction(20)
        else:
            producer.commit_transaction(20)
            for i in range(20):
                wanted[i % 2].append(b"%d-%d" % (n, i))
    wait_for_end(kafka, topic, 60 * 11)

    reading = readers.bounded(topic)

    assert [reading.values(0), reading.values(1)] == wanted
    covered = check_spans(reading.spans(), reading.listener.held)
    assert [covered.ranges(part(topic, index)) for index in range(2)] == [[(0, 660)], [(0, 660)]]


def hard_records(kafka: str, compression: str) -> str:
    """NULL and empty keys, values and header values, duplicate header keys, no headers, odd times."""
    topic = new_topic(kafka, 3)
    producer = Producer({"bootstrap.servers": kafka, "log_level": 0, "linger.ms": 50, "compression.type": compression})
    now = time.time_ns() // 1_000_000
    for n in range(3_000):
        headers: list[tuple[str, str | bytes | None]] | None = [("a", b"%d" % n), ("a", None), ("a", b""), ("\u00e4\U0001f600", bytes(n % 300)), ("", b"x")][: n % 6] if n % 4 else None
        value, key = (None, b"", bytes([n % 256]) * (n % 700))[n % 3], (None, b"", b"k%d" % n, b"\xff\x00")[n % 4]
        producer.produce(topic, value, key, partition=n % 3, timestamp=now - n, headers=headers)
    assert producer.flush(30) == 0
    return topic


@pytest.mark.parametrize("compression", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_hard_records_come_alike(kafka: str, compression: str) -> None:
    """Every column of every record is the same in all readers, however batches are compressed (KF-01, REP-06 to REP-10, MET-01 to MET-13)."""
    topic, found = hard_records(kafka, compression), []
    for reader in ("fetch", "columnar", "consume"):
        made = Readers(kafka, reader)
        reading = made.bounded(topic)
        found.append(table(reading))
        in_place = reader != "columnar" or reading.source._tap._drain._client.payloads_in_place
        made.close()

        assert in_place, "a library of a new version: see whether its payloads lie as on the wire, then add it in native/rdkafka.py"

    assert found[0].equals(found[2])
    assert found[1].equals(found[2])
    assert found[0].num_rows == 3_000
    assert found[0]["source_leader_epoch"].null_count == 0
    first = found[0].filter(pa.compute.field("source_partition") == 2).slice(0, 2).to_pylist()
    assert [(r["payload"], r["source_key"]) for r in first] == [(b"\x02" * 2, b"k2"), (b"\x05" * 5, b"")]
    assert [(h["key"], h["value"]) for h in first[1]["source_headers"]] == [("a", b"5"), ("a", None), ("a", b""), ("\u00e4\U0001f600", bytes(5)), ("", b"x")]


def test_messages_of_the_largest_size(kafka: str, readers: Readers) -> None:
    """A message as large as the topic takes, and larger than a fetch, comes whole, small ones around it."""
    topic = new_topic(kafka, config={"max.message.bytes": "12000000"})
    values = [b"a", b"x" * 1_000_000, b"", b"y" * 11_900_000, b"z"]
    send(kafka, topic, values, **{"message.max.bytes": 13_000_000})

    reading = readers.bounded(topic)

    assert [len(v or b"") for v in reading.values()] == [len(v) for v in values]
    assert reading.values() == values


def test_seeks_with_full_queues(full: str, readers: Readers) -> None:
    """After each seek the next records are those of the new place: none that waited in a queue comes, and none is left out (KSR-20)."""
    reading = readers.open(full)
    reading.until(lambda: len(reading.listener.held) == 2, SMALL)
    reading.until_rows(2_000, SMALL)
    for place in (15_000, 3, 7_777, 0, 19_999):
        reading.batches.clear()
        reading.source.seek({part(full, 0): place, part(full, 1): place})
        reading.until_rows(2, SMALL)
        spans = reading.spans()

        assert {span.partition: span.start for span in reversed(spans)} == {span.partition: place for span in spans}

    reading.batches.clear()
    reading.source.seek({part(full, 0): 0, part(full, 1): 10_000})
    reading.until_rows(30_000)

    assert reading.values(0) == [b"%d" % i for i in range(ROWS)]
    assert reading.values(1) == [b"%d" % i for i in range(10_000, ROWS)]


def test_a_pause_in_the_middle(full: str, readers: Readers, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stall pauses the partitions; a seek during it and the next poll end it, with nothing lost or repeated (CNX-07, CNX-20)."""
    monkeypatch.setattr(intake, "STALL_NS", 0)
    reading = readers.open(full)
    reading.until(lambda: len(reading.listener.held) == 2, SMALL)
    reading.until_rows(1_000, SMALL)
    for _ in range(3):
        for _ in range(20):
            reading.source.idle()
            time.sleep(0.005)
        reading.until_rows(reading.rows() + 1_000, SMALL)
    reading.source.idle()
    reading.source.idle()
    ends = {span.partition.index: span.end for span in reading.spans()}
    reading.source.seek({part(full, 0): ends.get(0, 0)})
    reading.until_rows(2 * ROWS)

    for index in range(2):
        assert reading.values(index) == [b"%d" % i for i in range(ROWS)]


@pytest.fixture
def quick_close() -> Iterator[None]:
    """Whatever the test closes is closed within seconds."""
    began = time.monotonic()
    yield
    assert time.monotonic() - began < 25


@pytest.mark.usefixtures("quick_close")
@pytest.mark.parametrize("polls", [0, 1, 3])
def test_close_in_the_middle(full: str, readers: Readers, polls: int) -> None:
    """A source that is closed with full queues leaves its group at once; the next one goes on where it had committed."""
    first = readers.open(full, pipeline=full)
    first.until(lambda: len(first.listener.held) == 2, SMALL)
    for _ in range(polls):
        first.poll(SMALL)
    ends = {span.partition: span.end for span in first.spans()}
    done = first.source.commit(ends, "p")
    began = time.monotonic()
    first.source.close()
    closing = time.monotonic() - began
    second = readers.open(full, pipeline=full)
    second.until_rows(2 * ROWS - first.rows())

    assert done == ends
    assert closing < 5
    for index in range(2):
        assert [*first.values(index), *second.values(index)] == [b"%d" % i for i in range(ROWS)]
