"""From broker to visible file at a fixed rate: ``python tests/bench/latency.py --servers 127.0.0.1:9092 [--rate 10000] [--seconds 20]``.

A record's latency is the time its file got its final name minus the record's own timestamp (milliseconds).
"""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
from pathlib import Path

import pyarrow.parquet as pq
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from figures import head, peak_mib, percentile, show

from thalweg import compose

SCRIPT = """
SET 'budget.age' = '20 ms';
CREATE EXTERNAL TABLE ticks (id BIGINT) STORED AS KAFKA LOCATION 'kafka://{servers}/{topic}'
OPTIONS ('format' 'json', 'scan.startup.mode' 'earliest-offset');
COPY ticks TO '{out}/ticks/' STORED AS PARQUET OPTIONS ('roll.age' '50 ms', 'metadata' 'all');
"""


def produce(servers: str, topic: str, rate: int, seconds: int) -> None:
    """Send ``rate`` records a second, in steps of 10 ms."""
    producer = Producer({"bootstrap.servers": servers, "linger.ms": 1})
    began = time.perf_counter()
    for step in range(seconds * 100):
        for n in range(rate // 100):
            producer.produce(topic, b'{"id": %d}' % (step * rate // 100 + n))
        producer.poll(0)
        time.sleep(max(0.0, began + (step + 1) / 100 - time.perf_counter()))
    producer.flush(30)


def latencies(folder: Path, *, skip: float) -> list[float]:
    """Milliseconds of every record in files that became visible after the first ``skip`` seconds."""
    found: list[float] = []
    files = sorted(folder.rglob("*.parquet"), key=lambda p: p.stat().st_ctime_ns)
    warm = files[0].stat().st_ctime_ns + int(skip * 1e9)
    for file in files:
        visible = file.stat().st_ctime_ns
        if visible >= warm:
            stamps = pq.read_table(file, columns=["_twg_source_timestamp"]).column(0).cast("int64").to_pylist()
            found += [visible / 1e6 - stamp for stamp in stamps]
    return found


def main() -> None:
    """Produce and read at the same time, then look at the files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--servers", required=True)
    parser.add_argument("--rate", type=int, default=10_000)
    parser.add_argument("--seconds", type=int, default=20)
    given = parser.parse_args()
    topic = f"bench.latency.{time.time_ns()}"
    admin = AdminClient({"bootstrap.servers": given.servers})
    admin.create_topics([NewTopic(topic, 4, 1)])[topic].result(30)
    head(f"Broker to visible file at {given.rate:,} records/s, roll.age 50 ms, budget.age 20 ms")
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "latency.sql"
        script.write_text(SCRIPT.format(servers=given.servers, topic=topic, out=folder), encoding="utf-8")
        pipeline = compose.build(compose.read_plan(str(script), settings={}, environ={}, connect=False))
        running = threading.Thread(target=pipeline.run)
        running.start()
        time.sleep(5)
        produce(given.servers, topic, given.rate, given.seconds)
        pipeline.stop()
        running.join(60)
        found = latencies(Path(folder), skip=2.0)
    show("records measured", len(found), "")
    for share in (0.5, 0.99, 0.999):
        show(f"p{share * 100:g}", percentile(found, share), "ms")
    show("peak memory", peak_mib(), "MiB")


if __name__ == "__main__":
    main()
