"""From a topic to two Parquet tables: ``python tests/bench/topic.py --servers 127.0.0.1:9092 [--records 1000000] [--seed]``.

``--seed`` first fills a new topic with nested JSON orders of about 270 bytes; without it the topic of an earlier run is read again.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from figures import head, peak_mib, resident_mib, show

from thalweg import compose

TOPIC = "bench.orders"
SCRIPT = """
CREATE EXTERNAL TABLE orders (
  order_id BIGINT NOT NULL, placed_at TIMESTAMP_LTZ(3), status STRING, amount DOUBLE,
  customer ROW<id BIGINT, name STRING, country STRING>, lines ARRAY<ROW<sku STRING, qty INT, price DOUBLE>>
) STORED AS KAFKA LOCATION 'kafka://{servers}/{topic}'
OPTIONS ('format' 'json', 'scan.startup.mode' 'earliest-offset', 'scan.bounded.mode' 'latest-offset', 'properties.group.id' 'bench-{run}');
CREATE VIEW clean AS
SELECT order_id, placed_at, upper(customer['country']) AS country, amount, lines FROM orders WHERE status <> 'TEST';
CREATE VIEW order_lines AS
SELECT order_id, l['sku'] AS sku, l['qty'] AS qty, l['price'] AS price FROM (SELECT order_id, unnest(lines) AS l FROM clean);
COPY (SELECT order_id, placed_at, country, amount FROM clean) TO '{out}/orders/' STORED AS PARQUET;
COPY order_lines TO '{out}/lines/' STORED AS PARQUET;
"""


def order(n: int) -> bytes:
    """A nested order of about 270 bytes."""
    lines = [{"sku": f"SKU-{(n + i) % 997:04d}", "qty": n % 7 + 1, "price": (n + i) % 9000 / 100} for i in range(2)]
    return json.dumps({
        "order_id": n, "placed_at": "2026-01-01T12:00:00.000Z", "status": "TEST" if n % 10 == 0 else "PAID", "amount": n % 100_000 / 100,
        "customer": {"id": n % 5000, "name": f"customer {n % 5000:05d}", "country": ("de", "fr", "nl", "dk")[n % 4]}, "lines": lines,
    }).encode()  # fmt: skip


def seed(servers: str, records: int) -> int:
    """Make the topic anew and fill its 8 partitions; returns the bytes sent."""
    admin = AdminClient({"bootstrap.servers": servers})
    if TOPIC in admin.list_topics(timeout=10).topics:
        admin.delete_topics([TOPIC])[TOPIC].result(30)
        time.sleep(2)
    admin.create_topics([NewTopic(TOPIC, 8, 1)])[TOPIC].result(30)
    producer = Producer({"bootstrap.servers": servers, "linger.ms": 50, "compression.type": "lz4", "queue.buffering.max.messages": 500_000})
    sent = 0
    for n in range(records):
        value = order(n)
        sent += len(value)
        while True:
            try:
                producer.produce(TOPIC, value, partition=n % 8)
                break
            except BufferError:
                producer.poll(0.1)
    producer.flush(120)
    return sent


def main() -> None:
    """Seed if asked to, run once, show figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--servers", required=True)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--seed", action="store_true")
    given = parser.parse_args()
    nbytes = seed(given.servers, given.records) if given.seed else sum(len(order(n)) for n in range(10_000)) * given.records // 10_000
    head("Topic to two Parquet tables")
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "bench.sql"
        script.write_text(
            SCRIPT.format(servers=given.servers, topic=TOPIC, run=time.time_ns(), out=folder), encoding="utf-8"
        )
        pipeline = compose.build(compose.read_plan(str(script), settings={}, environ={}, connect=False))
        before = resident_mib()
        began = time.perf_counter()
        pipeline.run()
        seconds = time.perf_counter() - began
    show("records", given.records, "")
    show("rate", given.records / seconds, "records/s")
    show("rate", nbytes / seconds / 1e6, "MB/s")
    show("resident before the run", before, "MiB")
    show("peak memory", peak_mib(), "MiB")


if __name__ == "__main__":
    main()
