"""From a topic to two Parquet tables: ``python tests/bench/topic.py [--servers 127.0.0.1:9092] [--records 10000000] [--format json]``.

Without ``--servers`` a broker is started. The topic is filled once and read again by later runs. ``twg stream`` is a process of its own;
``Consumer.consume`` alone, tuned, reads the same topic in the same run. Rates are from the first record to the last commit.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orders
from confluent_kafka import Consumer, TopicPartition
from figures import head, show

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.services.kafka import start_kafka

if TYPE_CHECKING:
    from collections.abc import Iterator

CHILD = Path(__file__).with_name("measured_stream.py")


@contextlib.contextmanager
def broker(servers: str | None) -> Iterator[str]:
    """The broker that was named, or one that ends with the run."""
    if servers is not None:
        yield servers
        return
    with tempfile.TemporaryDirectory() as folder:
        server = start_kafka(Path(folder))
        try:
            yield server.address
        finally:
            server.kill()


def stream(servers: str, topic: str, form: str, ends: list[int], given: list[str], settings: list[str]) -> dict[str, Any]:
    """One bounded run of ``twg stream``; what its process measured."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        ends_said = ";".join(f"partition:{i},offset:{end}" for i, end in enumerate(ends))
        options = f"'scan.bounded.mode' 'specific-offsets', 'scan.bounded.specific-offsets' '{ends_said}', 'properties.group.id' 'bench-{time.time_ns()}'"
        options += "".join(f", '{key}' '{value}'" for key, _, value in (pair.partition("=") for pair in given))
        (out / "bench.sql").write_text(orders.script(form, servers=servers, topic=topic, options=options, out=folder), encoding="utf-8")
        env = {**os.environ, "MEASURED": str(out / "measured.json"), "PYTHONPATH": str(CHILD.parents[2])}
        subprocess.run([sys.executable, str(CHILD), "stream", str(out / "bench.sql"), *(word for pair in settings for word in ("--set", pair))], env=env, check=True)
        found: dict[str, Any] = json.loads((out / "measured.json").read_text())
        found["files"] = sum(f.stat().st_size for f in out.rglob("*.parquet"))
        found["rows"] = orders.rows(out, "*.parquet")
        return found


def consume(servers: str, topic: str, records: int, partitions: int) -> tuple[float, float]:
    """Seconds, and processor seconds of the process, that ``Consumer.consume`` needs for as many records, doing nothing with them."""
    consumer = Consumer({
        "bootstrap.servers": servers, "group.id": "bench", "enable.auto.commit": False, "fetch.queue.backoff.ms": 5, "log_level": 0,
        "queued.min.messages": 1_000_000, "queued.max.messages.kbytes": 65_536, "fetch.message.max.bytes": 4_000_000, "check.crcs": False,
    })  # fmt: skip
    consumer.assign([TopicPartition(topic, i, 0) for i in range(partitions)])
    rows = len(consumer.consume(1, 30))
    began, cpu = time.perf_counter(), time.process_time()
    while rows < records:
        rows += len(consumer.consume(10_000, 0.2))
    taken = time.perf_counter() - began, time.process_time() - cpu
    consumer.close()
    return taken


def report(found: dict[str, Any], records: int) -> float:
    """The figures of a run; its rate."""
    (first,), commits = found["first"], found["commits"]
    rate = float(records / (commits[-1][0] - first))
    middle = next(c for c in commits if c[1] >= records // 2)
    show("twg stream", rate, "records/s")
    if middle is not commits[-1]:
        show("twg stream, second half", (records - middle[1]) / (commits[-1][0] - middle[0]), "records/s")
    show("peak memory", found["peak"], "MiB")
    show("peak memory of Arrow's pool", found["arrow"], "MiB")
    show("files", found["files"] / records, "bytes/record")
    for name, seconds in sorted(found["threads"].items(), key=lambda item: -item[1]):
        if seconds > records / 1e8:
            show(f"processor, thread {name}", seconds / records * 1e6, "us/record")
    show("processor, all threads", sum(found["threads"].values()) / records * 1e6, "us/record")
    return rate


def main() -> None:
    """Fill if need be, run, show."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--servers")
    parser.add_argument("--records", type=int, default=10_000_000)
    parser.add_argument("--partitions", type=int, default=4)
    parser.add_argument("--format", choices=sorted(orders.SCRIPTS), default="json")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a setting of the run")
    parser.add_argument("--option", action="append", default=[], metavar="KEY=VALUE", help="an option of the source table")
    given = parser.parse_args()
    topic = f"bench.orders.{given.format}.{given.partitions}"
    with broker(given.servers) as servers:
        orders.seed(servers, topic, given.format, given.records, given.partitions)
        ends = orders.cut(orders.ends(servers, topic, given.partitions), given.records)
        head(f"Topic to two Parquet tables, {given.records:,} {given.format} orders")
        rate = report(stream(servers, topic, given.format, ends, given.option, given.set), given.records)
        seconds, cpu = consume(servers, topic, given.records, given.partitions)
        show("Consumer.consume alone, tuned", given.records / seconds, "records/s")
        show("Consumer.consume alone, processor", cpu / given.records * 1e6, "us/record")
        show("twg stream / Consumer.consume", rate * seconds / given.records, "times")


if __name__ == "__main__":
    main()
