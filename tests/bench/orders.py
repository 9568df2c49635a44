"""Topics of nested orders, JSON of 273 bytes and Avro of 85, and the pipelines that read them."""

from __future__ import annotations

import io
import json
import random
from typing import TYPE_CHECKING, Any, Final

import fastavro
import pyarrow.parquet as pq
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_CHUNK: Final = 2_000
_STATUS: Final = ("paid", "new", "shipped", "cancelled", "paid", "paid", "shipped", "new", "paid", "shipped")
_AVRO: Final[dict[str, Any]] = {"type": "record", "name": "Order", "fields": [
    {"name": "order_id", "type": "long"}, {"name": "customer", "type": "string"}, {"name": "country", "type": ["null", "string"], "default": None},
    {"name": "amount", "type": "double"}, {"name": "qty", "type": "int"}, {"name": "paid", "type": "boolean"},
    {"name": "ts", "type": {"type": "long", "logicalType": "timestamp-micros"}},
    {"name": "status", "type": {"type": "enum", "name": "Status", "symbols": ["NEW", "PAID", "SHIPPED"]}},
    {"name": "lines", "type": {"type": "array", "items": {"type": "record", "name": "Line", "fields": [
        {"name": "sku", "type": "string"}, {"name": "qty", "type": "int"}, {"name": "price", "type": "double"}]}}},
    {"name": "tags", "type": {"type": "map", "values": "string"}},
]}  # fmt: skip
SCRIPTS: Final = {
    "json": """
CREATE EXTERNAL TABLE orders (
  order_id STRING, customer ROW<id BIGINT, name STRING, email STRING>, status STRING, created_at BIGINT, total DOUBLE,
  items ARRAY<ROW<sku STRING, qty INT, price DOUBLE>>
) STORED AS KAFKA LOCATION 'kafka://{servers}/{topic}' OPTIONS ('format' 'json', {options});
CREATE VIEW live AS SELECT * FROM orders WHERE status <> 'cancelled';
COPY (SELECT order_id, customer['id'] AS customer_id, total FROM live) TO '{out}/orders/' STORED AS PARQUET;
COPY (SELECT order_id, l['sku'] AS sku, l['qty'] AS qty, l['price'] AS price FROM (SELECT order_id, unnest(items) AS l FROM live))
TO '{out}/lines/' STORED AS PARQUET;
""",
    "avro": """
CREATE EXTERNAL TABLE orders STORED AS KAFKA LOCATION 'kafka://{servers}/{topic}' OPTIONS ('format' 'avro', 'avro.schema' '{schema}', {options});
CREATE VIEW live AS SELECT * FROM orders WHERE qty <> 3;
COPY (SELECT order_id, customer, amount, status FROM live) TO '{out}/orders/' STORED AS PARQUET;
COPY (SELECT order_id, l['sku'] AS sku, l['qty'] AS qty, l['price'] AS price FROM (SELECT order_id, unnest(lines) AS l FROM live))
TO '{out}/lines/' STORED AS PARQUET;
""",
}


def script(form: str, **places: str) -> str:
    """The pipeline of a format: a filter, two columns lifted out, and an unnest, into two tables."""
    return SCRIPTS[form].format(schema=json.dumps(_AVRO), **places)


def values(form: str) -> Callable[[int], bytes]:
    """The n-th order of a format."""
    return _json_orders() if form == "json" else _avro_orders()


def seed(servers: str, topic: str, form: str, records: int, partitions: int) -> None:
    """Make the topic anew where it has fewer records than these, and fill it; batches change partitions."""
    admin = AdminClient({"bootstrap.servers": servers})
    if topic in admin.list_topics(timeout=30).topics:
        if sum(ends(servers, topic, partitions)) >= records:
            return
        admin.delete_topics([topic])[topic].result(30)
        while topic in admin.list_topics(timeout=30).topics:
            pass
    admin.create_topics([NewTopic(topic, partitions, 1)])[topic].result(30)
    order = values(form)
    producer = Producer({
        "bootstrap.servers": servers, "linger.ms": 50, "batch.size": 1_000_000, "acks": 1, "queue.buffering.max.messages": 500_000, "log_level": 0,
    })  # fmt: skip
    for start in range(0, records, _CHUNK):
        while len(producer) > 400_000:
            producer.poll(0.05)
        chunk = [{"value": order(n)} for n in range(start, min(start + _CHUNK, records))]
        producer.produce_batch(topic, chunk, partition=start // _CHUNK % partitions)
        producer.poll(0)
    if producer.flush(300) or sum(ends(servers, topic, partitions)) < records:
        raise RuntimeError("the topic could not be filled")


def ends(servers: str, topic: str, partitions: int) -> list[int]:
    """Where each partition of a topic ends."""
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "bench", "log_level": 0})
    found = [consumer.get_watermark_offsets(TopicPartition(topic, i), timeout=30)[1] for i in range(partitions)]
    consumer.close()
    return found


def cut(found: list[int], records: int) -> list[int]:
    """Ends in front of which there are as many records, taken evenly."""
    out = [0] * len(found)
    while sum(out) < records:
        open_ones = [i for i, end in enumerate(found) if out[i] < end]
        share = max(1, (records - sum(out)) // len(open_ones))
        for i in open_ones[: records - sum(out)]:
            out[i] = min(found[i], out[i] + share)
    return out


def live(bounds: list[int]) -> dict[str, int]:
    """Rows of each table by the JSON pipeline: in every partition, each tenth order is cancelled; the others have three lines."""
    kept = sum(end - (end + 9 - _STATUS.index("cancelled")) // 10 for end in bounds)
    return {"orders": kept, "lines": 3 * kept}


def rows(out: Path, names: str) -> dict[str, int]:
    """Rows that lie in the files of each table, those of these names."""
    return {table: sum(pq.read_metadata(file).num_rows for file in (out / table).rglob(names)) for table in ("orders", "lines")}


def _json_orders() -> Callable[[int], bytes]:
    """273 bytes with a nested customer and three items; one of ten is cancelled."""
    rng = random.Random(1)
    ends = []
    for _ in range(1000):
        items = ",".join(f'{{"sku":"s{rng.randrange(1000)}","qty":{rng.randrange(1, 9)},"price":{rng.randrange(100, 9999) / 100:.2f}}}' for _ in range(3))
        ends.append(f'"total":{rng.randrange(1000, 99999) / 100:.2f},"items":[{items}]}}')

    def order(n: int) -> bytes:
        c = n * 7919 % 100_000
        return (
            f'{{"order_id":"o-{n:08d}","customer":{{"id":{c},"name":"c{c}","email":"c{c}@example.com"}},"status":"{_STATUS[n % 10]}",'
            f'"created_at":{1_767_225_600_000 + n},{ends[n % 1000]}'
        ).encode()

    return order


def _avro_orders() -> Callable[[int], bytes]:
    """85 bytes, 17 columns; the first field is put in front of one of 5,000 tails, which differ in all else."""
    tail = fastavro.parse_schema({**_AVRO, "fields": _AVRO["fields"][1:]})
    tails = []
    for n in range(5_000):
        out = io.BytesIO()
        fastavro.schemaless_writer(out, tail, {
            "customer": f"cust{n:05d}", "country": (None, "NO", "SE")[n * 7 % 3], "amount": n % 997 / 7, "qty": n % 7, "paid": n % 2 == 1,
            "ts": 1_700_000_000_000_000 + n, "status": ("NEW", "PAID", "SHIPPED")[n % 3],
            "lines": [{"sku": f"sku{j}", "qty": j, "price": 1.5 * j} for j in range(3)], "tags": {"a": "b"},
        })  # fmt: skip
        tails.append(out.getvalue())

    def order(n: int) -> bytes:
        out = io.BytesIO()
        fastavro.schemaless_writer(out, "long", n)
        return out.getvalue() + tails[n % 5_000]

    return order
