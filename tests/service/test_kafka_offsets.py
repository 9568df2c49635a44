"""Offsets on a real broker: starts, ends, holes, transactions, resets."""

from __future__ import annotations

import time

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from tests.service.kafka_topics import Readers, delete_records, delete_topic, new_topic, send, transaction, wait_for_end
from tests.services.kafka_wire import produce_raw
from thalweg.errors import SourceFailed
from thalweg.model.events import OffsetReset
from thalweg.model.position import Partition, Span
from thalweg.testing.reading import RELATION, Listening, check_spans

pytestmark = pytest.mark.service


def part(topic: str, index: int = 0) -> Partition:
    """A partition of the table that the tests read."""
    return Partition(RELATION, topic, index)


def group_offsets(address: str, group: str, offsets: list[TopicPartition]) -> None:
    """Commit for a group that has no member."""
    consumer = Consumer({"bootstrap.servers": address, "group.id": group, "log_level": 0})
    consumer.commit(offsets=offsets, asynchronous=False)
    consumer.close()


def with_control_records(address: str) -> str:
    """A topic of one partition: committed, aborted and plain records with their control records, ending in a control record."""
    topic = new_topic(address)
    first, second = transaction(address), transaction(address)
    first.begin_transaction()
    first.produce(topic, b"committed", partition=0)
    first.commit_transaction(20)
    second.begin_transaction()
    second.produce(topic, b"aborted", partition=0)
    second.flush(20)
    second.abort_transaction(20)
    send(address, topic, [b"plain"])
    first.begin_transaction()
    first.produce(topic, b"last", partition=0)
    first.commit_transaction(20)
    wait_for_end(address, topic, 7)
    return topic


def test_control_records_are_covered_and_aborted_ones_are_not_seen(kafka: str, readers: Readers) -> None:
    """A bounded run ends behind the last control record; only committed records come; lag is 0 (KF-03, KSR-16)."""
    topic = with_control_records(kafka)

    reading = readers.bounded(topic)

    assert reading.values() == [b"committed", b"plain", b"last"]
    assert check_spans(reading.spans(), {part(topic): 0}).ranges(part(topic)) == [(0, 7)]
    assert reading.source.lag() == 0


def test_a_group_reader_passes_trailing_control_records(kafka: str, readers: Readers) -> None:
    """Without an end the position moves behind the trailing control record all the same, by the end-of-partition event (KF-03)."""
    topic = with_control_records(kafka)
    reading = readers.open(topic)

    reading.until(lambda: bool(reading.spans()) and reading.spans()[-1].end == 7)

    assert reading.values() == [b"committed", b"plain", b"last"]
    assert reading.source.lag() == 0


def test_read_uncommitted_sees_aborted_records(kafka: str, readers: Readers) -> None:
    """The user's isolation level goes to the client (KSR-16)."""
    topic = with_control_records(kafka)

    reading = readers.bounded(topic, {"properties.isolation.level": "read_uncommitted"})

    assert reading.values() == [b"committed", b"aborted", b"plain", b"last"]


def test_an_open_transaction_bounds_the_run(kafka: str, readers: Readers) -> None:
    """A bounded run ends at the last stable offset, in front of an open transaction; what is committed later comes later (KF-03)."""
    topic = new_topic(kafka)
    send(kafka, topic, [b"1", b"2"])
    producer = transaction(kafka)
    producer.begin_transaction()
    producer.produce(topic, b"3", partition=0)
    producer.flush(20)

    first = readers.bounded(topic)
    producer.commit_transaction(20)
    wait_for_end(kafka, topic, 4)
    second = readers.bounded(topic)

    assert first.values() == [b"1", b"2"]
    assert first.spans()[-1].end == 2
    assert second.values() == [b"1", b"2", b"3"]
    assert second.spans()[-1].end == 4


def test_holes_of_compaction_are_covered(kafka: str, readers: Readers) -> None:
    """Offsets that compaction took away are part of the spans (KF-03)."""
    config = {"cleanup.policy": "compact", "segment.bytes": "1048576", "min.cleanable.dirty.ratio": "0.01", "segment.ms": "100", "max.compaction.lag.ms": "100"}
    topic = new_topic(kafka, config=config)
    producer = Producer({"bootstrap.servers": kafka, "log_level": 0})
    deadline = time.monotonic() + 60
    sent = 0
    while True:
        for key in (b"a", b"b", b"a", b"b"):
            producer.produce(topic, b"%d" % sent, key=key, partition=0)
            sent += 1
        assert producer.flush(20) == 0
        time.sleep(0.3)
        reading = readers.bounded(topic)
        if reading.rows() < sent - 4:
            break
        assert time.monotonic() < deadline, "nothing was compacted"
        reading.source.close()

    assert check_spans(reading.spans(), {part(topic): 0}).ranges(part(topic)) == [(0, sent)]
    assert reading.values()[-1] == b"%d" % (sent - 1)


def test_log_append_time_is_told_apart(kafka: str, readers: Readers) -> None:
    """The type of a timestamp comes with it (MET-11, REP-09, KF-04)."""
    topic = new_topic(kafka, config={"message.timestamp.type": "LogAppendTime"})
    send(kafka, topic, [b"1"])

    (record,) = readers.bounded(topic).records()

    assert record["source_timestamp_type"] == "LogAppendTime"
    assert abs(record["source_timestamp"].timestamp() - time.time()) < 60


def test_leader_epoch_is_there(kafka: str, readers: Readers) -> None:
    """The leader epoch of each record is read (MET-09, REP-10)."""
    topic = new_topic(kafka)
    send(kafka, topic, [b"1"])

    (record,) = readers.bounded(topic).records()

    assert record["source_leader_epoch"] == 0


def test_topics_have_ids(kafka: str, readers: Readers) -> None:
    """A topic that is deleted and made again under its name is another topic (MET-21)."""
    topic = new_topic(kafka)
    before = readers.bounded(topic).source.identity(part(topic))
    delete_topic(kafka, topic)
    time.sleep(0.5)
    new_topic(kafka, name=topic)

    after = readers.bounded(topic).source.identity(part(topic))

    assert before.cluster_id == after.cluster_id
    assert before.topic_id != after.topic_id


STARTS = [
    ("earliest-offset", {}, 0),
    ("latest-offset", {}, 10),
    ("specific-offsets", {"scan.startup.specific-offsets": "partition:0,offset:4"}, 4),
    ("group-offsets", {}, 6),
]


@pytest.mark.parametrize(("mode", "more", "start"), STARTS, ids=[s[0] for s in STARTS])
def test_startup_modes(kafka: str, readers: Readers, mode: str, more: dict[str, str], start: int) -> None:
    """Each startup mode is resolved to a number where nothing else is known (issue item 4)."""
    topic = new_topic(kafka)
    send(kafka, topic, [b"%d" % i for i in range(10)])
    group_offsets(kafka, f"twg-{topic}", [TopicPartition(topic, 0, 6)])
    listener = Listening(resume_committed=False)

    readers.bounded(topic, {"scan.startup.mode": mode, **more}, pipeline=topic, listener=listener)

    assert listener.held == {part(topic): start}


def test_start_at_a_timestamp(kafka: str, readers: Readers) -> None:
    """Mode ``timestamp`` starts at the first record that is not older, and at the end where there is none."""
    topic = new_topic(kafka, 2)
    now = time.time_ns() // 1_000_000
    producer = Producer({"bootstrap.servers": kafka, "log_level": 0})
    for i in range(10):
        producer.produce(topic, b"%d" % i, partition=0, timestamp=now - 10_000 + i * 1_000)
    producer.produce(topic, b"old", partition=1, timestamp=now - 60_000)
    assert producer.flush(20) == 0

    given = {"scan.startup.mode": "timestamp", "scan.startup.timestamp-millis": str(now - 5_500)}
    reading = readers.bounded(topic, given)

    assert reading.listener.held == {part(topic, 0): 5, part(topic, 1): 1}
    assert reading.values() == [b"5", b"6", b"7", b"8", b"9"]


ENDS = [
    ("specific-offsets", {"scan.bounded.specific-offsets": "partition:0,offset:3"}, 3),
    ("group-offsets", {}, 6),
]


@pytest.mark.parametrize(("mode", "more", "end"), ENDS, ids=[e[0] for e in ENDS])
def test_bounded_modes(kafka: str, readers: Readers, mode: str, more: dict[str, str], end: int) -> None:
    """A bounded run returns nothing behind its end, and its last span stops there."""
    topic = new_topic(kafka)
    send(kafka, topic, [b"%d" % i for i in range(10)])
    group_offsets(kafka, f"twg-{topic}", [TopicPartition(topic, 0, 6)])

    reading = readers.bounded(topic, {"scan.bounded.mode": mode, **more}, pipeline=topic, listener=Listening(resume_committed=False))

    assert reading.values() == [b"%d" % i for i in range(end)]
    assert reading.spans()[-1].end == end


def test_ends_are_fixed_at_the_start(kafka: str, readers: Readers) -> None:
    """Records that arrive after the start of a bounded run are not read."""
    topic = new_topic(kafka)
    send(kafka, topic, [b"1", b"2"])
    reading = readers.open(topic, {"scan.bounded.mode": "latest-offset"})
    send(kafka, topic, [b"3"])

    reading.until_finished()

    assert reading.values() == [b"1", b"2"]


def test_a_bounded_end_among_aborted_records(kafka: str, readers: Readers) -> None:
    """No record lies in front of the end or at it; the run ends as soon as one behind it has come (KF-03)."""
    topic = new_topic(kafka)
    send(kafka, topic, [b"0", b"1"])
    producer = transaction(kafka)
    producer.begin_transaction()
    for _ in range(50):
        producer.produce(topic, b"aborted", partition=0)
    producer.flush(20)
    producer.abort_transaction(20)
    wait_for_end(kafka, topic, 53)
    send(kafka, topic, [b"53"])
    given = {"scan.bounded.mode": "specific-offsets", "scan.bounded.specific-offsets": "partition:0,offset:30"}

    reading = readers.bounded(topic, given)

    assert reading.values() == [b"0", b"1"]
    assert reading.spans()[-1].end == 30


def test_bounded_runs_commit_to_their_group(kafka: str, readers: Readers) -> None:
    """A run that assigns its own partitions commits like any other (KSR-02, KSR-03)."""
    topic = new_topic(kafka)
    send(kafka, topic, [b"1", b"2"])
    first = readers.bounded(topic, pipeline=topic)

    assert first.source.commit({part(topic): 2}, "p") == {part(topic): 2}

    send(kafka, topic, [b"3"])
    assert readers.bounded(topic, pipeline=topic).values() == [b"3"]


def test_an_offset_that_is_gone_fails_loudly(kafka: str, readers: Readers) -> None:
    """Without a rule, a position that retention has taken is an error with the numbers (KF-07)."""
    topic = new_topic(kafka)
    send(kafka, topic, [b"%d" % i for i in range(10)])
    delete_records(kafka, topic, 5)
    reading = readers.open(topic, listener=Listening(resume={part(topic): 2}))

    with pytest.raises(SourceFailed, match=r"offset 2 is not there: the broker has 5 to 10.*auto\.offset\.reset"):
        reading.until_rows(1)


RESETS = [("earliest", 2, 5), ("latest", 2, 10), ("earliest", 400, 0), ("latest", 400, 10)]


@pytest.mark.parametrize("group", [True, False], ids=["group", "assigned"])
@pytest.mark.parametrize(("policy", "old", "new"), RESETS)
def test_a_reset_is_counted_and_logged(kafka: str, readers: Readers, policy: str, old: int, new: int, *, group: bool) -> None:
    """The user's rule moves the position, forward over a covered gap or back with a new start, and says so (KF-07)."""
    topic = new_topic(kafka)
    send(kafka, topic, [b"%d" % i for i in range(10)])
    if old < new:
        delete_records(kafka, topic, 5)
    listener = Listening(resume={part(topic): old}, once=True)
    reading = readers.open(topic, {"properties.auto.offset.reset": policy}, listener=listener, group=group)
    reading.until(lambda: bool(readers.observer.of(OffsetReset)))
    send(kafka, topic, [b"new"])
    reading.until(lambda: b"new" in reading.values())

    (event,) = readers.observer.of(OffsetReset)
    assert (event.partition, event.old, event.new) == (part(topic), old, new)
    assert reading.values() == [b"%d" % i for i in range(new, 10)] + [b"new"]
    assert reading.spans()[0].start == min(old, new)


def test_a_record_beyond_the_end_is_never_jumped_over(kafka: str, readers: Readers) -> None:
    """A sink's record that is ahead of the same topic's end stops the run, whatever the rule says (KF-07)."""
    topic = new_topic(kafka)
    send(kafka, topic, [b"1"])
    given = {"properties.auto.offset.reset": "earliest"}
    reading = readers.open(topic, given, listener=Listening(resume={part(topic): 400}))

    with pytest.raises(SourceFailed, match="records up to offset 400"):
        reading.until_rows(1)


def test_reset_while_reading(kafka: str, readers: Readers) -> None:
    """Records that are deleted in front of a reader that is behind are jumped over by the rule; the gap is in the span (KF-07)."""
    topic = new_topic(kafka)
    send(kafka, topic, [b"x" * 1000] * 50)
    reading = readers.open(topic, {"properties.auto.offset.reset": "earliest"})
    reading.until_rows(50)
    reading.source.seek({part(topic): 10})
    delete_records(kafka, topic, 30)

    reading.batches.clear()
    reading.until_rows(20)

    assert [r["source_offset"] for r in reading.records()][-20:] == list(range(30, 50))
    assert reading.spans()[0].start == 10


def test_group_offsets_mode_needs_an_offset(kafka: str, readers: Readers) -> None:
    """Mode ``group-offsets`` without an offset and without a rule is an error that says what to do."""
    topic = new_topic(kafka)
    send(kafka, topic, [b"1"])

    with pytest.raises(SourceFailed, match="no committed offset"):
        readers.bounded(topic, {"scan.startup.mode": "group-offsets"})

    given = {"scan.startup.mode": "group-offsets", "properties.auto.offset.reset": "latest"}
    assert readers.bounded(topic, given).listener.held == {part(topic): 1}


@pytest.mark.parametrize("compression", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_bytes_survive_compression(kafka: str, readers: Readers, compression: str) -> None:
    """Payloads come out as they were sent, whatever the producer compressed with (KSR-07, REP-30)."""
    topic = new_topic(kafka)
    values = [bytes([i % 256]) * (i * 37) for i in range(200)]
    send(kafka, topic, values, **{"compression.type": compression})

    assert readers.bounded(topic).values() == values


def test_zero_and_far_timestamps(kafka: str, readers: Readers) -> None:
    """A timestamp of 0 or in the year 9999 is a value, -1 means none and is NULL (KF-04, KSR-18)."""
    config = {"message.timestamp.after.max.ms": str(2**62), "message.timestamp.before.max.ms": str(2**62), "retention.ms": "-1"}
    topic = new_topic(kafka, config=config)
    for timestamp_ms in (0, 253_402_300_799_000, -1):
        produce_raw(kafka, topic, b"x", timestamp_ms=timestamp_ms)

    found = readers.bounded(topic).records()

    assert [r["source_timestamp"] and round(r["source_timestamp"].timestamp() * 1000) for r in found] == [0, 253_402_300_799_000, None]
    assert [r["source_timestamp_type"] for r in found] == ["CreateTime", "CreateTime", None]


def test_a_header_key_that_is_not_utf8_is_a_bad_record(kafka: str, readers: Readers) -> None:
    """The record comes with a code, its neighbours come whole (MET-13, code ``source.header``)."""
    topic = new_topic(kafka)
    send(kafka, topic, [b"before"])
    produce_raw(kafka, topic, b"bad", headers=((b"ok", b"1"), (b"\xff\xfe", b"2")), timestamp_ms=time.time_ns() // 1_000_000)
    produce_raw(kafka, topic, b"after", headers=((b"ok", None),), timestamp_ms=time.time_ns() // 1_000_000)

    reading = readers.bounded(topic)

    (batch,) = [b for b in reading.batches if b.bad.rows]
    row = batch.bad.rows[0]
    assert batch.bad.codes == ["source.header"]
    assert batch.payload[row].as_py() == b"bad"
    assert [r["source_headers"] for r in reading.records()] == [[], None, [{"key": "ok", "value": None}]]


def test_spans_of_an_endless_reader_follow_each_other(kafka: str, readers: Readers) -> None:
    """Across many small polls no offset is skipped or repeated (CNX-28)."""
    topic = new_topic(kafka, 3)
    for index in range(3):
        send(kafka, topic, [b"%d" % i for i in range(500)], index)
    reading = readers.open(topic)
    reading.until_rows(1_500)

    assert check_spans(reading.spans(), reading.listener.held).ranges(part(topic, 1)) == [(0, 500)]
    assert Span(part(topic, 2), 0, 500).end == reading.values(2).index(b"499") + 1
