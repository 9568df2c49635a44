"""Every source meets the suite; the Kafka source does so over each broker that the tests have."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from thalweg import registry
from thalweg.testing.reading import Produced, SourceHarness
from thalweg.testing.sources import SourceSuite, UnboundedSuite

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from thalweg.native.mock_cluster import MockCluster


class MemoryHarness(SourceHarness):
    """Topics of this process."""

    plugin = registry.load("sources", "memory")

    def __init__(self) -> None:
        """No topic yet."""
        self.partitions: dict[str, int] = {}

    def topic(self, partitions: int) -> str:
        """A name that was never used."""
        location = f"memory://{uuid.uuid4().hex}"
        self.partitions[location] = partitions
        return location

    def make(self, location: str, options: Mapping[str, str], **rest: object) -> object:
        """A source of a topic with its number of partitions."""
        return super().make(location, {"partitions": str(self.partitions[location]), **options}, **rest)

    def produce(self, location: str, records: Sequence[Produced]) -> None:
        """Append to the topic that any source of this location shares."""
        topic = self.make(location, {}).topic
        for r in records:
            topic.append(r.partition, r.value, key=r.key, headers=r.headers, timestamp_ms=r.timestamp_ms)


READERS = ("fetch", "columnar", "consume")
"""Both ways of the Kafka source to take records; what they give must be the same."""


@pytest.fixture(params=READERS)
def reader(request: pytest.FixtureRequest) -> str:
    """The option of that name."""
    return str(request.param)


class KafkaHarness(SourceHarness):
    """Topics of one broker."""

    plugin = registry.load("sources", "kafka")

    def __init__(self, address: str, reader: str, lacks: frozenset[str] = frozenset()) -> None:
        """``reader`` is the option of every source."""
        self.address = address
        self.lacks = lacks
        self.reader = reader

    def topic(self, partitions: int) -> str:
        """A topic with a name that was never used."""
        name = f"t-{uuid.uuid4().hex}"
        admin = AdminClient({"bootstrap.servers": self.address, "log_level": 0})
        for made in admin.create_topics([NewTopic(name, partitions, 1)]).values():
            made.result(20)
        return f"kafka://{self.address}/{name}"

    def options(self, given: Mapping[str, str]) -> dict[str, str]:
        """Quick rebalances."""
        return {"properties.session.timeout.ms": "6000", "properties.heartbeat.interval.ms": "500", "reader": self.reader, **given}

    def produce(self, location: str, records: Sequence[Produced]) -> None:
        """Produce in order, and wait until everything is acknowledged."""
        producer = Producer({"bootstrap.servers": self.address, "log_level": 0, "linger.ms": 1, "enable.idempotence": True})
        errors = []
        for r in records:
            producer.produce(
                location.rpartition("/")[2], r.value, r.key, partition=r.partition, headers=list(r.headers), timestamp=r.timestamp_ms,
                on_delivery=lambda error, _message: errors.append(error) if error else None,
            )

        assert producer.flush(30) == 0
        assert errors == []


class MockHarness(KafkaHarness):
    """Topics of the client library's mock cluster, which takes no admin calls."""

    def __init__(self, cluster: MockCluster, reader: str) -> None:
        """A running cluster."""
        super().__init__(cluster.bootstrap, reader)
        self.cluster = cluster

    def topic(self, partitions: int) -> str:
        """A topic with a name that was never used."""
        name = f"t-{uuid.uuid4().hex}"

        assert self.cluster.create_topic(name, partitions)

        return f"kafka://{self.address}/{name}"


class TestMemory(SourceSuite):
    """The memory source (SRC-07)."""

    @pytest.fixture
    def harness(self) -> SourceHarness:
        """Topics of this process."""
        return MemoryHarness()


class TestKafkaOnMockCluster(SourceSuite):
    """The Kafka source over the mock cluster, in a group where it is not bounded (SRC-07, KSR-05)."""

    @pytest.fixture
    def harness(self, mock_kafka: MockCluster, reader: str) -> SourceHarness:
        """A cluster of each test's own."""
        return MockHarness(mock_kafka, reader)


class TestKafkaOnNoida(SourceSuite):
    """The Kafka source over noida-db: offsets and ends (SRC-07, KSR-02)."""

    @pytest.fixture
    def harness(self, noida: str, reader: str) -> SourceHarness:
        """The shared broker."""
        return KafkaHarness(noida, reader)


class TestKafkaOnTansu(UnboundedSuite):
    """The Kafka source over Tansu: groups (SRC-07, KSR-08)."""

    @pytest.fixture
    def harness(self, tansu: str, reader: str) -> SourceHarness:
        """The shared broker; it says wrongly where topics end, and keeps no notes beside offsets."""
        return KafkaHarness(tansu, reader, frozenset({"metadata"}))


@pytest.mark.service
class TestKafka(SourceSuite):
    """The Kafka source over Apache Kafka (SRC-07, KSR-05, KSR-07)."""

    @pytest.fixture
    def harness(self, kafka: str, reader: str) -> SourceHarness:
        """The shared broker."""
        return KafkaHarness(kafka, reader)


@pytest.mark.service
class TestKafkaConsumerProtocol(SourceSuite):
    """The Kafka source in a group of the new protocol (KSR-08)."""

    @pytest.fixture
    def harness(self, kafka: str, reader: str) -> SourceHarness:
        """The shared broker; the server keeps time in this protocol."""
        harness = KafkaHarness(kafka, reader)
        harness.options = lambda given: {"properties.group.protocol": "consumer", "reader": reader, **given}  # type: ignore[method-assign]
        return harness


def test_every_source_is_in_a_suite() -> None:
    """A new plug-in must be added here (SRC-07); files, to which nobody produces, have tests of their own."""
    assert registry.names("sources") == ["avro", "kafka", "memory"]
