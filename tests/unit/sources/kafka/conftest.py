"""The Kafka source over brokers inside this process."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Producer

from tests.service.kafka_topics import Readers

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from thalweg.native.mock_cluster import MockCluster


class Brokers(Readers):
    """Readers over a mock cluster, and a way to fill its topics."""

    def __init__(self, cluster: MockCluster) -> None:
        """A running cluster."""
        super().__init__(cluster.bootstrap)
        self.cluster = cluster

    def topic(self, values: Iterable[bytes | None] = (), partitions: int = 1) -> str:
        """A new topic with these values in its first partition."""
        name = f"t-{uuid.uuid4().hex}"

        assert self.cluster.create_topic(name, partitions)

        self.send(name, values)
        return name

    def send(self, topic: str, values: Iterable[bytes | None], partition: int = 0) -> None:
        """Produce in order, and wait."""
        producer = Producer({"bootstrap.servers": self.address, "log_level": 0})
        for value in values:
            producer.produce(topic, value, partition=partition)

        assert producer.flush(20) == 0


@pytest.fixture
def brokers(mock_kafka: MockCluster) -> Iterator[Brokers]:
    """Readers over a cluster of this test's own."""
    made = Brokers(mock_kafka)
    yield made
    made.close()
