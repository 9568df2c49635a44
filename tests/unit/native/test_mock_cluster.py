"""The binding of the client library's mock cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Consumer, KafkaException

from thalweg.errors import SourceFailed
from thalweg.native import library
from thalweg.native.mock_cluster import MockCluster

if TYPE_CHECKING:
    from pathlib import Path


def topics(address: str, timeout_s: float = 5) -> dict[str, int]:
    """Topics and how many partitions they have."""
    consumer = Consumer({"bootstrap.servers": address, "group.id": "g", "log_level": 0})
    found = {name: len(topic.partitions) for name, topic in consumer.list_topics(timeout=timeout_s).topics.items()}
    consumer.close()
    return found


def test_topics_are_made_once(mock_kafka: MockCluster) -> None:
    """A topic gets its partitions; a second time says that it is there."""
    assert mock_kafka.create_topic("a", 3)
    assert not mock_kafka.create_topic("a", 5)
    assert topics(mock_kafka.bootstrap) == {"a": 3}


def test_several_brokers() -> None:
    """Each broker has an address; partitions can be led by any."""
    cluster = MockCluster(3)
    cluster.create_topic("a", 1, 3)
    cluster.set_leader("a", 0, 2)
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": "g", "log_level": 0})

    assert len(cluster.bootstrap.split(",")) == 3
    assert consumer.list_topics("a", timeout=5).topics["a"].partitions[0].leader == 2

    consumer.close()
    cluster.close()


def test_a_closed_cluster_is_gone() -> None:
    """Nobody listens any more; closing twice does nothing."""
    cluster = MockCluster()
    cluster.close()
    cluster.close()

    with pytest.raises(KafkaException):
        topics(cluster.bootstrap, 0.5)


def test_the_library_is_looked_for_elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A client that was built against the system's library has no copy of its own; without any, the error says what to do."""
    monkeypatch.setattr(library.confluent_kafka, "__file__", str(tmp_path / "confluent_kafka" / "__init__.py"))
    monkeypatch.setattr(library.ctypes.util, "find_library", lambda _name: None)

    with pytest.raises(SourceFailed, match=r"needs librdkafka.*use a real broker"):
        MockCluster()
