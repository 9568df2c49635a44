"""Microseconds a record to columns, all readers; two of them from a prefetched client queue: ``python tests/bench/ingest.py [partitions]``.

The client's mock cluster keeps 5 MB of a partition, so more partitions are a longer run. The mark for the ratio is 4.
"""

from __future__ import annotations

import sys
import time

from confluent_kafka import Consumer, Producer, TopicPartition
from figures import head, show

from thalweg.model.clock import SystemClock
from thalweg.native.mock_cluster import MockCluster
from thalweg.sources.kafka.tap import Tap

RECORDS = 30_000
"""Of a partition."""
CONF = {"group.id": "bench", "client.id": "bench", "queued.min.messages": 5_000_000, "queued.max.messages.kbytes": 1_000_000, "log_level": 0}
PREFETCH_S = 4
COUNT = 16_384


def fill(cluster: MockCluster, partitions: int) -> None:
    """A topic of 100-byte records with short keys."""
    assert cluster.create_topic("t", partitions)
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "linger.ms": 20, "queue.buffering.max.messages": 5_000_000, "log_level": 0})
    for i in range(RECORDS * partitions):
        producer.produce("t", b"x" * 100, key=b"k%d" % (i % 1000), partition=i % partitions)
    assert producer.flush(60) == 0


def seconds(cluster: MockCluster, partitions: int, reader: str) -> float:
    """Processor time of the reader thread from the first call to the last record, once everything is in the client's queue."""
    keys = [("t", index) for index in range(partitions)]
    consumer = Consumer({**CONF, "bootstrap.servers": cluster.bootstrap})
    tap = Tap(consumer, {**{key: str(value) for key, value in CONF.items()}, "client.id": "bench"}, reader, SystemClock(), lambda _level, message: sys.exit(message))
    tap.hold(keys)
    consumer.assign([TopicPartition(*key, 0) for key in keys])
    tap.held(dict.fromkeys(keys, 0))
    time.sleep(0 if reader == "fetch" else PREFETCH_S)
    rows, began = 0, time.thread_time()
    while rows < RECORDS * partitions:
        rows += sum(block.rows for block in tap.take(min(COUNT, RECORDS * partitions - rows), 0.05).blocks)
    taken = time.thread_time() - began
    tap.close()
    consumer.close()
    return taken


def main() -> None:
    """All readers in one process, the slow one last. What is fetched comes from the brokers within the time that is measured."""
    partitions = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    cluster = MockCluster()
    fill(cluster, partitions)
    head("Kafka ingest, 100-byte records, prefetched")
    found = {reader: seconds(cluster, partitions, reader) for reader in ("fetch", "columnar", "consume")}
    for reader, taken in found.items():
        show(reader, taken / (RECORDS * partitions) * 1e6, "us/record")
    for reader in ("fetch", "columnar"):
        show(f"consume / {reader}", found["consume"] / found[reader], "times")
    cluster.close()


if __name__ == "__main__":
    main()
