"""The topic and pipeline of ``topic.py`` by Flink SQL: ``python tests/bench/flink.py --flink DIR [--servers HOST:PORT] [--records N]``.

``DIR`` holds Flink's jars; without them the run says how to get them. One JobManager and one TaskManager on loopback: parallelism 2,
object reuse, exactly once, a checkpoint every 10 s. The pipeline runs twice on the same Java machines, and the second, warm run counts.
Its rate is from the first split given to a reader to the last record processed; what the last checkpoint makes the job wait for is a row
of its own. ``twg stream`` runs in front, up to the same offsets, from its first record to its last commit.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Final

import orders
from figures import head, show
from flink_cluster import cluster, found_jars
from topic import broker, report, stream

_SQL: Final = """
CREATE TABLE orders_in (
  order_id STRING, customer ROW<id BIGINT, name STRING, email STRING>, status STRING, created_at BIGINT, total DOUBLE,
  items ARRAY<ROW<sku STRING, qty INT, price DOUBLE>>
) WITH ('connector' = 'kafka', 'format' = 'json', 'topic' = '{topic}', 'properties.bootstrap.servers' = '{servers}',
  'properties.group.id' = 'bench-flink', 'scan.startup.mode' = 'earliest-offset',
  'scan.bounded.mode' = 'specific-offsets', 'scan.bounded.specific-offsets' = '{ends}');
CREATE TABLE orders_out (order_id STRING, customer_id BIGINT, total DOUBLE)
WITH ('connector' = 'filesystem', 'path' = 'file://{out}/orders', 'format' = 'parquet');
CREATE TABLE lines_out (order_id STRING, sku STRING, qty INT, price DOUBLE)
WITH ('connector' = 'filesystem', 'path' = 'file://{out}/lines', 'format' = 'parquet');
CREATE VIEW live AS SELECT * FROM orders_in WHERE status <> 'cancelled';
EXECUTE STATEMENT SET BEGIN
INSERT INTO orders_out SELECT order_id, customer.id, total FROM live;
INSERT INTO lines_out SELECT order_id, l.sku, l.qty, l.price FROM live CROSS JOIN UNNEST(items) AS l (sku, qty, price);
END;
"""


def flink(jars: list[Path], servers: str, topic: str, ends: list[int]) -> tuple[float, dict[str, int]]:
    """Both runs; rate and rows of the warm one."""
    ends_said = ";".join(f"partition:{i},offset:{end}" for i, end in enumerate(ends))
    with tempfile.TemporaryDirectory() as name, cluster(jars, Path(name)) as running:
        for state in ("cold", "warm"):
            out = Path(name) / state
            ran = running.run(_SQL.format(topic=topic, servers=servers, ends=ends_said, out=out))
            show(f"Flink SQL, {state}", sum(ends) / ran.reading_s, "records/s")
        show("Flink SQL, wait for the last checkpoint", ran.waiting_s, "s")
        show("Flink SQL, peak memory of JobManager and TaskManager", running.peak_mib(), "MiB")
        show("Flink SQL, files", sum(file.stat().st_size for file in out.rglob("part-*")) / sum(ends), "bytes/record")
        return sum(ends) / ran.reading_s, orders.rows(out, "part-*")


def main() -> None:
    """``twg``, then Flink, then the rows of both against those that are to be there."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--flink", type=Path, required=True, metavar="DIR", help="where Flink's jars lie")
    parser.add_argument("--servers")
    parser.add_argument("--records", type=int, default=10_000_000)
    parser.add_argument("--partitions", type=int, default=4)
    parser.add_argument("--format", choices=["json"], default="json")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a setting of twg's run")
    parser.add_argument("--option", action="append", default=[], metavar="KEY=VALUE", help="an option of twg's source table")
    given = parser.parse_args()
    jars = found_jars(given.flink.absolute())
    topic = f"bench.orders.{given.format}.{given.partitions}"
    with broker(given.servers) as servers:
        orders.seed(servers, topic, given.format, given.records, given.partitions)
        ends = orders.cut(orders.ends(servers, topic, given.partitions), given.records)
        head(f"Topic to two Parquet tables by twg and by Flink SQL, {given.records:,} {given.format} orders")
        ours = stream(servers, topic, given.format, ends, given.option, given.set)
        rate = report(ours, given.records)
        theirs, rows = flink(jars, servers, topic, ends)
        show("twg stream / Flink SQL, warm", rate / theirs, "times")
    expected = orders.live(ends)
    for who, found in (("twg stream", ours["rows"]), ("Flink SQL", rows)):
        for table, count in expected.items():
            show(f"{who}, {table} of {count:,}", found[table], "rows")
        if found != expected:
            sys.exit(f"{who} wrote {found} rows, expected {expected}")


if __name__ == "__main__":
    main()
