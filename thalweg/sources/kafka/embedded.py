"""``kafka://embedded/topic``: brokers inside this process for quickstarts and tests, and how their topics are filled."""

from __future__ import annotations

import functools
import secrets
import threading
from typing import TYPE_CHECKING, Final

from confluent_kafka import Consumer, Producer, TopicPartition

from thalweg import resources
from thalweg.errors import SourceFailed, UserError
from thalweg.native.mock_cluster import MockCluster

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

CAPACITY_BYTES: Final = 5 << 20
"""What the broker keeps of a partition; it drops older records without a word."""
_OVERHEAD_BYTES: Final = 70
"""Bound of what the broker adds to a record: its share of a batch of one."""
_FLUSH_S: Final = 30.0


class Cluster:
    """The embedded brokers of one pipeline in this process, shared by its sources and sinks."""

    def __init__(self, brokers: MockCluster) -> None:
        """Wrap running brokers."""
        self.brokers = brokers
        self.users = 0
        self.token = secrets.token_hex(4)
        """Tells these brokers from all others: the cluster id that they give is an address in memory, and may come again."""
        self._loaded: set[tuple[str, str, str]] = set()

    def load(self, topic: str, partitions: int, name: str, folder: str) -> None:
        """Fill a topic from a file of lines, once: several tables may name the same topic and file."""
        if (topic, name, folder) not in self._loaded:
            self._loaded.add((topic, name, folder))
            self.fill(topic, partitions, json_lines(name, folder))

    def fill(self, topic: str, partitions: int, records: Iterable[bytes]) -> int:
        """Put records into a topic, dealt out over its partitions; raises SourceFailed where they do not fit."""
        self.brokers.create_topic(topic, partitions)
        producer = Producer({"bootstrap.servers": self.brokers.bootstrap, "linger.ms": 20, "batch.size": 1 << 18, "log_level": 0})
        loads = [0] * partitions
        count = 0
        for count, value in enumerate(records, 1):
            at = (count - 1) % partitions
            loads[at] += len(value) + _OVERHEAD_BYTES
            if loads[at] > CAPACITY_BYTES:
                raise _too_much(topic, partitions, count)
            while True:
                try:
                    producer.produce(topic, value, partition=at)
                    break
                except BufferError:
                    producer.poll(0.1)
        if producer.flush(_FLUSH_S):
            raise SourceFailed(f"the embedded broker did not take all records within {_FLUSH_S:.0f} s", where=f"kafka://embedded/{topic}")
        self._watch(topic, partitions, count)
        return count

    def _watch(self, topic: str, partitions: int, count: int) -> None:
        """Make sure that the broker has kept everything."""
        reader = Consumer({"bootstrap.servers": self.brokers.bootstrap, "group.id": "twg-embedded", "log_level": 0})
        try:
            marks = [reader.get_watermark_offsets(TopicPartition(topic, i), timeout=10) for i in range(partitions)]
        finally:
            reader.close()
        if any(low > 0 for low, _ in marks):
            raise _too_much(topic, partitions, count)


class Clusters:
    """Embedded brokers by pipeline, kept while somebody uses them."""

    def __init__(self) -> None:
        """None is running."""
        self._lock = threading.Lock()
        self._running: dict[str, Cluster] = {}

    def borrow(self, pipeline: str) -> Cluster:
        """The brokers of this pipeline, started if need be; each borrow is given back once."""
        with self._lock:
            cluster = self._running.get(pipeline)
            if cluster is None:
                cluster = self._running[pipeline] = Cluster(MockCluster())
            cluster.users += 1
            return cluster

    def token(self, pipeline: str) -> str:
        """The token of the pipeline's brokers, which somebody has borrowed."""
        with self._lock:
            return self._running[pipeline].token

    def give_back(self, pipeline: str) -> None:
        """Stop the brokers when nobody is left."""
        with self._lock:
            cluster = self._running[pipeline]
            cluster.users -= 1
            if cluster.users == 0:
                del self._running[pipeline]
                cluster.brokers.close()


@functools.cache
def clusters() -> Clusters:
    """The embedded brokers of this process: loopback ports are a property of the process, not of a source."""
    return Clusters()


def json_lines(name: str, folder: str) -> Iterator[bytes]:
    """The lines of a file, bytes as they are, without empty ones; raises UserError where it cannot be read."""
    path = resources.find(name, folder)
    try:
        with path.open("rb") as file:
            for line in file:
                record = line.rstrip(b"\r\n")
                if record:
                    yield record
    except OSError as e:
        raise UserError(f"'embedded.data': {path} cannot be read: {e.strerror}") from None


def _too_much(topic: str, partitions: int, count: int) -> SourceFailed:
    """Too many records for the embedded broker."""
    message = f"record {count:,} does not fit: the embedded broker keeps {CAPACITY_BYTES:,} bytes a partition ('embedded.partitions' is {partitions}), and drops older ones"
    hint = f"raise 'embedded.partitions' (now {partitions}), or use a real broker"
    return SourceFailed(message, where=f"kafka://embedded/{topic}", hint=hint)
