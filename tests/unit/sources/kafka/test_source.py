"""The source as a whole, over brokers inside this process, which fail on demand."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import KafkaError, TopicPartition

from tests.services.kafka_wire import produce_raw
from thalweg.errors import SourceFailed, UserError
from thalweg.model.events import CommitFailed, Notice
from thalweg.model.position import Partition
from thalweg.ports.source import Budget
from thalweg.testing.reading import RELATION, Listening, check_spans

if TYPE_CHECKING:
    from tests.unit.sources.kafka.conftest import Brokers

FETCH, COMMIT, DISCONNECT = 1, 8, -195


def part(topic: str, index: int = 0) -> Partition:
    """A partition of the table that the tests read."""
    return Partition(RELATION, topic, index)


@pytest.mark.parametrize("code", [KafkaError.ILLEGAL_GENERATION, KafkaError.REBALANCE_IN_PROGRESS, KafkaError.UNKNOWN_MEMBER_ID])
def test_a_commit_that_a_rebalance_overtook_is_left_out(brokers: Brokers, code: int) -> None:
    """A normal event: an empty answer, a fact for observers, no error; a later commit works (KSR-12)."""
    topic = brokers.topic([b"1", b"2"])
    reading = brokers.open(topic)
    reading.until_rows(2)
    brokers.cluster.push_errors(COMMIT, code)

    assert reading.source.commit({part(topic): 1}, "p") == {}
    reading.until(lambda: reading.source.commit({part(topic): 2}, "p") == {part(topic): 2})

    assert KafkaError(code).name() in brokers.observer.of(CommitFailed)[0].reason


def test_a_commit_that_is_forbidden_is_an_error(brokers: Brokers) -> None:
    """What retrying does not mend ends the run."""
    topic = brokers.topic([b"1"])
    reading = brokers.open(topic)
    reading.until_rows(1)
    brokers.cluster.push_errors(COMMIT, KafkaError.GROUP_AUTHORIZATION_FAILED)

    with pytest.raises(SourceFailed, match=r"offsets cannot be committed.*READ on the group"):
        reading.source.commit({part(topic): 1}, "p")


@pytest.mark.parametrize("code", [KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.KAFKA_STORAGE_ERROR, DISCONNECT])
def test_hiccups_of_a_broker_are_not_errors(brokers: Brokers, code: int) -> None:
    """A failed fetch is tried again; nothing is lost and nothing comes twice (KSR-06)."""
    topic = brokers.topic([b"%d" % i for i in range(100)])
    brokers.cluster.push_errors(FETCH, *[code] * 3)
    reading = brokers.open(topic)

    reading.until_rows(100)

    assert reading.values() == [b"%d" % i for i in range(100)]
    check_spans(reading.spans(), reading.listener.held)


def test_a_broker_that_goes_and_comes_back(brokers: Brokers) -> None:
    """The reader goes on where it was (KSR-06)."""
    topic = brokers.topic([b"1"])
    reading = brokers.open(topic)
    reading.until_rows(1)

    brokers.cluster.broker_down()
    for _ in range(3):
        reading.poll()
    brokers.cluster.broker_up()
    brokers.send(topic, [b"2"])
    reading.until_rows(2)

    assert reading.values() == [b"1", b"2"]
    assert brokers.observer.of(Notice)


def test_a_topic_that_may_not_be_read(brokers: Brokers) -> None:
    """A refused topic is an error that says which right is missing."""
    topic = brokers.topic([b"1"])
    brokers.cluster.topic_error(topic, KafkaError.TOPIC_AUTHORIZATION_FAILED)

    with pytest.raises(SourceFailed, match=topic):
        brokers.open(topic)


def test_a_long_stall_pauses_and_goes_on(brokers: Brokers, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond some seconds partitions are paused, so that nothing piles up; the next poll goes on without loss (CNX-07, CNX-20)."""
    from thalweg.sources.kafka import intake  # noqa: PLC0415 - only here

    monkeypatch.setattr(intake, "STALL_NS", 50_000_000)
    topic = brokers.topic([b"%d" % i for i in range(1_000)])
    reading = brokers.open(topic)
    reading.until_rows(10, Budget(rows=10, age_ns=100_000_000))

    for _ in range(60):
        reading.source.idle()
        time.sleep(0.005)
    brokers.send(topic, [b"last"])
    reading.until_rows(1_001)

    assert reading.values() == [b"%d" % i for i in range(1_000)] + [b"last"]


def test_a_partition_that_came_back_after_a_stall_is_not_paused(brokers: Brokers, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rebalance during a stall leaves no partition paused for ever."""
    from thalweg.sources.kafka import intake  # noqa: PLC0415 - only here

    monkeypatch.setattr(intake, "STALL_NS", 0)
    topic = brokers.topic(partitions=2)
    first = brokers.open(topic, pipeline="p")
    first.until_held(2)
    second = brokers.open(topic, pipeline="p")
    deadline = time.monotonic() + 30
    while len(second.listener.held) != 1 or len(first.listener.held) != 1:
        assert time.monotonic() < deadline
        first.source.idle()
        second.poll(Budget(age_ns=20_000_000))
    second.source.close()
    while len(first.listener.held) != 2:
        assert time.monotonic() < deadline
        first.source.idle()
    for index in range(2):
        brokers.send(topic, [b"%d" % index], index)
    first.until_rows(2)

    assert sorted(v or b"" for v in first.values()) == [b"0", b"1"]


@pytest.mark.parametrize("reader", ["columnar", "consume"])
def test_an_interrupt_inside_poll_loses_nothing(brokers: Brokers, monkeypatch: pytest.MonkeyPatch, reader: str) -> None:
    """A poll that was interrupted returned nothing, so the next one returns everything (CNX-29, CNX-30)."""
    topic = brokers.topic([b"%d" % i for i in range(100)])
    reading = brokers.open(topic, {"reader": reader})
    reading.until_rows(10, Budget(rows=10, age_ns=100_000_000))
    take = reading.source._tap.take

    def interrupted(count: int, seconds: float) -> object:
        """Take messages from the client, and then the user presses Ctrl-C."""
        take(count, seconds)
        raise KeyboardInterrupt

    monkeypatch.setattr(reading.source._tap, "take", interrupted, raising=False)
    for _ in range(3):
        with pytest.raises(KeyboardInterrupt):
            reading.poll()
    monkeypatch.undo()
    reading.until_rows(100)

    assert reading.values() == [b"%d" % i for i in range(100)]
    check_spans(reading.spans(), reading.listener.held)


@pytest.mark.parametrize("reader", ["columnar", "consume"])
def test_what_the_client_gives_twice_is_returned_once(brokers: Brokers, reader: str) -> None:
    """A client that pauses around a rebalance may go on too far in front; only a seek of ours brings records again (KSR-12)."""
    topic = brokers.topic([b"%d" % i for i in range(100)])
    reading = brokers.open(topic, {"reader": reader}, group=False)
    reading.until_rows(10, Budget(rows=10, age_ns=100_000_000))
    reading.source._consumer.seek(TopicPartition(topic, 0, 3))
    reading.until_rows(100)

    assert reading.values() == [b"%d" % i for i in range(100)]
    check_spans(reading.spans(), reading.listener.held)

    reading.source.seek({part(topic): 98})
    reading.until_rows(102)

    assert reading.values()[100:] == [b"98", b"99"]


def test_an_error_of_the_listener_comes_out_of_poll(brokers: Brokers) -> None:
    """What the listener refuses inside a callback of the client is raised as it is."""
    topic = brokers.topic()

    class Refusing(Listening):
        """Wants no partition."""

        def assigned(self, committed: object) -> dict[Partition, int | None]:
            """Refuse."""
            raise SourceFailed("refused")

    reading = brokers.open(topic, listener=Refusing())

    with pytest.raises(SourceFailed, match=r"^refused$"):
        reading.until(lambda: False)


def test_headers_that_the_client_cannot_read(brokers: Brokers) -> None:
    """A header key that is not UTF-8 costs its record and no other (MET-13, code ``source.header``)."""
    topic = brokers.topic([b"before"])
    produce_raw(brokers.address, topic, b"bad", headers=((b"\xff", b"1"),), timestamp_ms=1)
    brokers.send(topic, [b"after"])

    reading = brokers.bounded(topic)

    bad = [(batch.payload[row].as_py(), code) for batch in reading.batches for row, code in zip(batch.bad.rows, batch.bad.codes, strict=True)]
    assert bad == [(b"bad", "source.header")]
    assert reading.values() == [b"before", b"bad", b"after"]


def test_a_seek_right_after_the_assignment(brokers: Brokers) -> None:
    """The client cannot seek a partition that it does not fetch yet; the source can (KSR-20)."""
    topic = brokers.topic([b"%d" % i for i in range(20)])

    class Eager(Listening):
        """Goes elsewhere as soon as it has a partition."""

        def started(self, positions: object) -> None:
            """Remember that it is time."""
            super().started(positions)
            seeks.append(positions)

    seeks: list[object] = []
    reading = brokers.open(topic, listener=Eager(), group=False)
    reading.source.seek({part(topic): 15})
    reading.until_rows(5)

    assert seeks
    assert reading.values() == [b"15", b"16", b"17", b"18", b"19"]


@pytest.mark.parametrize(("given", "kbytes"), [({}, "1638"), ({"properties.queued.max.messages.kbytes": "99"}, "99"), ({"reader": "consume"}, "32768")])
def test_many_partitions_get_small_queues(brokers: Brokers, given: dict[str, str], kbytes: str) -> None:
    """The client is made again once the partitions are counted, with nothing lost (CNX-07)."""
    topic = brokers.topic([b"1", b"2"], partitions=20)
    reading = brokers.open(topic, given)
    reading.until_rows(2)

    assert reading.source._conf["queued.max.messages.kbytes"] == kbytes
    assert reading.values() == [b"1", b"2"]


def test_two_sources_of_one_process_do_not_share_positions(brokers: Brokers) -> None:
    """Two tables over one topic in one group get half the partitions each, as Kafka has it."""
    topic = brokers.topic(partitions=2)
    readings = [brokers.open(topic, pipeline="same") for _ in range(2)]
    deadline = time.monotonic() + 30
    while [len(r.listener.held) for r in readings] != [1, 1]:
        assert time.monotonic() < deadline
        for reading in readings:
            reading.poll(Budget(age_ns=20_000_000))

    assert set(readings[0].listener.held) != set(readings[1].listener.held)


def test_filling_is_for_embedded_topics(brokers: Brokers) -> None:
    """A real topic is never filled by accident."""
    with pytest.raises(UserError, match="not an embedded topic"):
        brokers.make("t").source.fill([b"1"])
