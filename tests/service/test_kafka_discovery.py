"""Topics and partitions on a real broker that are found, come later, or go."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from confluent_kafka.admin import AdminClient, NewPartitions

from tests.service.kafka_topics import delete_topic, new_topic, send
from thalweg.errors import SourceFailed

if TYPE_CHECKING:
    from tests.service.kafka_topics import Readers

pytestmark = pytest.mark.service


def test_a_pattern_finds_topics_that_come_later(kafka: str, readers: Readers) -> None:
    """The pattern must match a topic's whole name; a new topic is read from its start (issue item 4)."""
    base = new_topic(kafka)
    for name in (f"{base}.a", f"{base}.b"):
        new_topic(kafka, name=name)
        send(kafka, name, [name.encode()])
    send(kafka, base, [b"no"])
    given = {"topic-pattern": f"{base}\\..", "scan.topic-partition-discovery.interval": "500 ms"}
    reading = readers.open("", given, location=f"kafka://{kafka}")
    reading.until_rows(2)

    new_topic(kafka, name=f"{base}.c")
    new_topic(kafka, name=f"{base}.cc")
    send(kafka, f"{base}.c", [b"later"])
    reading.until(lambda: b"later" in reading.values())  # the others may come once more: nothing was committed before the group was dealt out anew

    assert set(reading.values()) == {f"{base}.a".encode(), f"{base}.b".encode(), b"later"}
    assert {p.topic for p in reading.listener.held} == {f"{base}.a", f"{base}.b", f"{base}.c"}


def test_a_pattern_in_a_bounded_run(kafka: str, readers: Readers) -> None:
    """A bounded run reads the topics that match when it starts, and internal topics never."""
    base = new_topic(kafka)
    for name in (f"{base}.a", f"{base}.b"):
        new_topic(kafka, 2, name=name)
        send(kafka, name, [name.encode()], 1)

    reading = readers.bounded("", {"topic-pattern": f"{base}\\.[ab]"}, location=f"kafka://{kafka}")

    assert sorted(reading.values()) == [f"{base}.a".encode(), f"{base}.b".encode()]


def test_a_list_of_topics(kafka: str, readers: Readers) -> None:
    """Several topics are one table (issue item 4)."""
    topics = [new_topic(kafka, 2), new_topic(kafka, 1)]
    for topic in topics:
        send(kafka, topic, [topic.encode()])

    reading = readers.open(";".join(topics))
    reading.until_rows(2)

    assert {r["source_topic"]: r["payload"].decode() for r in reading.records()} == {t: t for t in topics}
    assert len(reading.listener.held) == 3


def test_new_partitions_are_found(kafka: str, readers: Readers) -> None:
    """Partitions that are added while running are read from their start (KSR-15)."""
    topic = new_topic(kafka)
    reading = readers.open(topic, {"scan.topic-partition-discovery.interval": "500 ms"})
    reading.until_held()
    admin = AdminClient({"bootstrap.servers": kafka, "log_level": 0})
    for done in admin.create_partitions([NewPartitions(topic, 3)]).values():
        done.result(20)
    send(kafka, topic, [b"new"], 2)

    reading.until_rows(1)

    assert reading.values() == [b"new"]


def test_a_topic_that_is_deleted_stops_the_run(kafka: str, readers: Readers) -> None:
    """A named topic that goes away is an error; the message says so."""
    topic = new_topic(kafka)
    send(kafka, topic, [b"1"])
    reading = readers.open(topic, {"properties.topic.metadata.refresh.interval.ms": "500", "properties.topic.metadata.propagation.max.ms": "500"})
    reading.until_rows(1)
    delete_topic(kafka, topic)

    with pytest.raises(SourceFailed, match="was deleted while it was read"):
        reading.until(lambda: False)
