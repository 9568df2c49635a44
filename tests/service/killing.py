"""Runs pipelines as processes, kills them at random, and checks the target files against the topic."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

PARTITIONS = 8
READERS = ("fetch", "columnar", "auto")
"""How processes of one group read, drawn anew for each; ``auto`` begins with ``consume``."""
BUDGETS = (50, 300, 1_000, 7_000)
CRASHING = Path(__file__).with_name("crashing.py")

CLASSIC = "'properties.session.timeout.ms' '6000', 'properties.heartbeat.interval.ms' '500'"
PIPELINE = """
SET 'pipeline.name' = 'kill';
SET 'commit.interval' = '200 ms';

CREATE EXTERNAL TABLE events (id BIGINT, bucket STRING, keep BOOLEAN)
STORED AS KAFKA LOCATION 'kafka://{bootstrap}/{topic}'
OPTIONS ('format' 'json', 'properties.group.id' '{group}',
         'reader' '{reader}', {protocol}, 'scan.startup.mode' 'earliest-offset', 'scan.bounded.mode' '{bounded}');

CREATE VIEW kept AS SELECT id, bucket FROM events WHERE keep;

COPY events TO '{out}/all'  STORED AS PARQUET PARTITIONED BY (bucket) OPTIONS ('roll.age' '1 s');
COPY kept   TO '{out}/kept' STORED AS PARQUET OPTIONS ('roll.age' '1 s');
"""


@dataclass(slots=True)
class Field:
    """One topic, one group, one target folder, and the processes that work on them."""

    bootstrap: str
    folder: Path
    seed: int
    protocol: str = CLASSIC
    """Options of the group, as SQL."""
    topic: str = ""
    group: str = ""
    rng: random.Random = field(init=False)
    procs: list[subprocess.Popen[bytes]] = field(default_factory=list)
    kills: int = 0
    ahead: list[str] = field(default_factory=list)
    """Every time a committed offset was ahead of the files."""
    enough: threading.Event = field(default_factory=threading.Event)
    """Ends the producer early."""
    _stop: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        """Make the topic and, for each reader, two pipeline files: one that runs for ever, one that ends at the topic's end."""
        self.rng = random.Random(self.seed)
        name = f"kill-{self.seed}-{time.time_ns()}"
        self.topic = self.group = name
        admin = AdminClient({"bootstrap.servers": self.bootstrap})
        admin.create_topics([NewTopic(name, PARTITIONS, 1)])[name].result(30)
        self.out.mkdir(parents=True)
        for file, bounded in (("live", "unbounded"), ("rest", "latest-offset")):
            for reader in READERS:
                places = {"bootstrap": self.bootstrap, "topic": name, "group": name, "out": self.out}
                text = PIPELINE.format(**places, bounded=bounded, protocol=self.protocol, reader=reader)
                (self.folder / f"{file}-{reader}.sql").write_text(text)

    @property
    def out(self) -> Path:
        """Where the two tables are."""
        return self.folder / "out"

    # -- processes
    def start(self, file: str = "live", *, crash_at: int | None = None) -> subprocess.Popen[bytes]:
        """One more process in the group, with a budget and a reader of its own, kernels on; with ``crash_at`` it dies between that entry and its renames."""
        budget = self.rng.choice(BUDGETS)
        command = [sys.executable, str(CRASHING) if crash_at else "-m", *([] if crash_at else ["thalweg"])]
        script = self.folder / f"{file}-{self.rng.choice(READERS)}.sql"
        env = {**os.environ, "TWG_DECODE_KERNELS": "auto", **({"CRASH_AT": str(crash_at)} if crash_at else {})}
        path = self.folder / f"log-{len(list(self.folder.glob('log-*')))}.txt"
        log = path.open("wb")
        proc = subprocess.Popen(
            [*command, "stream", str(script), "--set", f"budget.rows={budget}"], stdout=log, stderr=subprocess.STDOUT, env=env
        )
        log.close()
        self.procs.append(proc)
        deadline = time.monotonic() + 60
        while b"event=started" not in path.read_bytes() and proc.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        return proc

    def kill_one(self) -> None:
        """Kill -9 a random process and start another in its place."""
        victim = self.rng.choice(self.procs)
        victim.kill()
        victim.wait(30)
        self.procs.remove(victim)
        self.kills += 1
        self.start()

    def kill_all(self) -> None:
        """Kill -9 every process."""
        for proc in self.procs:
            proc.kill()
            proc.wait(30)
            self.kills += 1
        self.procs.clear()

    def finish(self) -> None:
        """Stop the living by SIGTERM, then let one bounded run bring what is left; both must end well."""
        for proc in self.procs:
            proc.send_signal(signal.SIGTERM)
        codes = [proc.wait(90) for proc in self.procs]
        self.procs.clear()
        assert codes == [0] * len(codes), self.logs()
        assert self.start("rest").wait(120) == 0, self.logs()
        self.procs.clear()

    def logs(self) -> str:
        """The end of every process's output."""
        return "\n".join(f"== {p.name}\n{p.read_text(errors='replace')[-3000:]}" for p in sorted(self.folder.glob("log-*.txt")))

    def close(self) -> None:
        """End what was started and still lives."""
        self._stop.set()
        self.enough.set()
        for proc in self.procs:
            proc.kill()
            proc.wait(30)

    # -- the topic
    def produce(self, seconds: float, rate: int) -> threading.Thread:
        """Fill the topic in the background, ``rate`` records a second."""

        def run() -> None:
            producer = Producer({"bootstrap.servers": self.bootstrap, "linger.ms": 5})
            rng = random.Random(self.seed)
            began, number = time.monotonic(), 0
            while time.monotonic() - began < seconds and not self.enough.is_set():
                for _ in range(rate // 20):
                    record = {"id": number, "bucket": f"b{number % 3}", "keep": rng.random() < 0.5}
                    producer.produce(self.topic, json.dumps(record).encode(), partition=rng.randrange(PARTITIONS))
                    number += 1
                producer.poll(0)
                time.sleep(0.05)
            producer.flush(30)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        return thread

    def records(self) -> dict[tuple[int, int], dict[str, object]]:
        """Every record of the topic by partition and offset, read without any group."""
        consumer = Consumer({"bootstrap.servers": self.bootstrap, "group.id": f"{self.topic}-check", "enable.auto.commit": False})
        parts = [TopicPartition(self.topic, i, 0) for i in range(PARTITIONS)]
        ends = {i: consumer.get_watermark_offsets(TopicPartition(self.topic, i), 10)[1] for i in range(PARTITIONS)}
        consumer.assign(parts)
        out: dict[tuple[int, int], dict[str, object]] = {}
        while len(out) < sum(ends.values()):
            for message in consumer.consume(10_000, 10):
                if message.error() is None:
                    out[message.partition(), message.offset()] = json.loads(message.value())
        consumer.close()
        return out

    def committed(self) -> dict[int, int]:
        """The group's committed offsets; a partition without one is left out."""
        consumer = Consumer({"bootstrap.servers": self.bootstrap, "group.id": self.group})
        try:
            found = consumer.committed([TopicPartition(self.topic, i) for i in range(PARTITIONS)], 10)
            return {p.partition: p.offset for p in found if p.offset >= 0}
        finally:
            consumer.close()

    def forget_offsets(self) -> None:
        """Delete the group; every process must be dead. Waits for the broker to notice that."""
        admin = AdminClient({"bootstrap.servers": self.bootstrap})
        for _ in range(60):
            try:
                admin.delete_consumer_groups([self.group])[self.group].result(10)
            except KafkaException as e:
                if e.args[0].name() == "GROUP_ID_NOT_FOUND":
                    return
                time.sleep(0.5)
            else:
                return
        raise AssertionError("the group could not be deleted")

    # -- checks
    def places(self, table: str) -> list[tuple[int, int]]:
        """Partition and offset of every row in the files of a table, in no order."""
        out: list[tuple[int, int]] = []
        for file in sorted((self.out / table).rglob("*.parquet")):
            columns = pq.ParquetFile(file).read(["_twg_source_partition", "_twg_source_offset"])
            out += zip(*(columns.column(i).to_pylist() for i in range(2)), strict=True)
        return out

    def watch(self) -> threading.Thread:
        """In the background: read committed offsets, then the files; the offsets must not be ahead."""

        def run() -> None:
            while not self._stop.wait(0.7):
                committed = self.committed()
                have = set(self.places("all"))
                for partition, end in committed.items():
                    missing = [o for o in range(end) if (partition, o) not in have]
                    if missing:
                        self.ahead.append(f"partition {partition} committed {end}, missing {missing[:5]}")

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        return thread

    def check(self) -> int:
        """No record missing, none twice, in either table; returns how many records the topic has."""
        self._stop.set()
        records = self.records()
        everything, kept = self.places("all"), self.places("kept")
        assert self.ahead == []
        assert len(everything) == len(set(everything)), "a record is twice in 'all'"
        assert set(everything) == set(records), f"'all' lacks {sorted(set(records) - set(everything))[:5]}"
        wanted = {place for place, record in records.items() if record["keep"]}
        assert len(kept) == len(set(kept)), "a record is twice in 'kept'"
        assert set(kept) == wanted, f"'kept' lacks {sorted(wanted - set(kept))[:5]}"
        assert self.values() == sorted((r["id"], r["bucket"], r["keep"]) for r in records.values())
        assert self.committed() == {p: 1 + max(o for q, o in records if q == p) for p in {p for p, _ in records}}
        return len(records)

    def values(self) -> list[tuple[object, ...]]:
        """Every row of the first table, sorted."""
        files = sorted((self.out / "all").rglob("*.parquet"))
        table = pa.concat_tables([pq.ParquetFile(f).read(["id", "bucket", "keep"]) for f in files])
        return sorted(zip(*(table.column(i).to_pylist() for i in range(3)), strict=True))
