"""Topics, groups and records of a real broker, for tests of the Kafka source."""

from __future__ import annotations

import time
import uuid
from typing import TYPE_CHECKING, Any

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from thalweg import registry
from thalweg.model.clock import SystemClock
from thalweg.model.options import read
from thalweg.ports.source import SourceContext
from thalweg.testing.fakes import RecordingObserver
from thalweg.testing.reading import RELATION, Listening, Reading

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

QUICK = {"properties.session.timeout.ms": "6000", "properties.heartbeat.interval.ms": "500"}


def new_topic(address: str, partitions: int = 1, config: Mapping[str, str] | None = None, name: str | None = None) -> str:
    """Make a topic; its name."""
    name = name or f"t-{uuid.uuid4().hex}"
    admin = AdminClient({"bootstrap.servers": address, "log_level": 0})
    for made in admin.create_topics([NewTopic(name, partitions, 1, config=dict(config or {}))]).values():
        made.result(20)
    return name


def send(address: str, topic: str, values: Iterable[bytes | None], partition: int = 0, **settings: Any) -> None:  # noqa: ANN401 - as the client takes them
    """Produce values in order and wait for all of them."""
    producer = Producer({"bootstrap.servers": address, "log_level": 0, "enable.idempotence": True, **settings})
    for value in values:
        producer.produce(topic, value, key=b"k", partition=partition)

    assert producer.flush(30) == 0


def transaction(address: str) -> Producer:
    """A producer with transactions."""
    producer = Producer({"bootstrap.servers": address, "transactional.id": uuid.uuid4().hex, "log_level": 0})
    producer.init_transactions(20)
    return producer


def wait_for_end(address: str, topic: str, end: int) -> None:
    """Wait until the last stable offset is ``end``: the broker writes control records after it has answered."""
    consumer = Consumer({"bootstrap.servers": address, "group.id": "end", "isolation.level": "read_committed", "log_level": 0})
    deadline = time.monotonic() + 20
    while consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=10)[1] < end:
        assert time.monotonic() < deadline

        time.sleep(0.05)
    consumer.close()


def delete_records(address: str, topic: str, before: int, partition: int = 0) -> None:
    """Delete everything in front of an offset, as retention does."""
    admin = AdminClient({"bootstrap.servers": address, "log_level": 0})
    for done in admin.delete_records([TopicPartition(topic, partition, before)]).values():
        done.result(20)


def delete_topic(address: str, topic: str) -> None:
    """Delete a topic, and wait until the broker has forgotten it."""
    admin = AdminClient({"bootstrap.servers": address, "log_level": 0})
    for done in admin.delete_topics([topic]).values():
        done.result(20)
    while topic in admin.list_topics(timeout=10).topics:
        time.sleep(0.05)


class Readers:
    """Makes sources over one broker and closes them."""

    def __init__(self, address: str, reader: str = "auto") -> None:
        """None is open; ``reader`` is the option of every source."""
        self.address = address
        self.reader = reader
        self.open_ones: list[Reading] = []
        self.observer = RecordingObserver()

    def make(
        self, topic: str, given: Mapping[str, str] | None = None, *, pipeline: str | None = None, group: bool = True,
        listener: Listening | None = None, location: str | None = None, quick: bool = True,
    ) -> Reading:
        """An unopened source of a topic."""
        plugin = registry.load("sources", "kafka")
        where = location or f"kafka://{self.address}/{topic}"
        options, errors = read(plugin.options, {"reader": self.reader, **(QUICK if quick else {}), **(given or {})})

        assert errors == []
        assert plugin.check(where, options) == []

        context = SourceContext(pipeline or uuid.uuid4().hex, RELATION, SystemClock(), self.observer, group=group)
        reading = Reading(plugin.make(where, options, context), listener or Listening())
        self.open_ones.append(reading)
        return reading

    def open(self, topic: str, given: Mapping[str, str] | None = None, **rest: Any) -> Reading:  # noqa: ANN401 - those of make()
        """An open source of a topic."""
        reading = self.make(topic, given, **rest)
        reading.source.open(reading.listener)
        return reading

    def bounded(self, topic: str, given: Mapping[str, str] | None = None, **rest: Any) -> Reading:  # noqa: ANN401 - those of make()
        """A source that is read to the end that the topic has now."""
        reading = self.open(topic, {"scan.bounded.mode": "latest-offset", **(given or {})}, **rest)
        reading.until_finished()
        return reading

    def close(self) -> None:
        """Close every source that was made."""
        for reading in self.open_ones:
            reading.source.close()
