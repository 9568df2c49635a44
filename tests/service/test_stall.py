"""One sink that hangs while the broker delivers at full rate."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pyarrow.parquet as pq
import pytest
from confluent_kafka import Producer

from tests.service.killing import Field

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [pytest.mark.service, pytest.mark.timeout(400)]

STALLING = Path(__file__).with_name("stalling.py")
BOUND_MB = 600
PIPELINE = """
SET 'pipeline.name' = 'stall';
SET 'budget.bytes' = '4 MiB';
SET 'queue.bytes' = '16 MiB';
CREATE EXTERNAL TABLE events (id BIGINT, bucket STRING, keep BOOLEAN, pad STRING)
STORED AS KAFKA LOCATION 'kafka://{bootstrap}/{topic}'
OPTIONS ('format' 'json', 'properties.group.id' '{topic}', 'properties.queued.max.messages.kbytes' '16384');
COPY events TO '{out}/all'  STORED AS PARQUET OPTIONS ('roll.age' '100 ms');
COPY (SELECT id, pad FROM events WHERE keep) TO '{out}/kept' STORED AS PARQUET OPTIONS ('roll.age' '100 ms');
"""


def fill(ground: Field, records: int) -> None:
    """Records of about 500 bytes in every partition."""
    producer = Producer({"bootstrap.servers": ground.bootstrap, "linger.ms": 20, "queue.buffering.max.messages": 500_000})
    pad = "x" * 440
    for number in range(records):
        value = b'{"id":%d,"bucket":"b","keep":%s,"pad":"%s"}' % (number, b"true" if number % 2 else b"false", pad.encode())
        while True:
            try:
                producer.produce(ground.topic, value, partition=number % 8)
                break
            except BufferError:
                producer.poll(0.1)
    producer.flush(60)


def rows(folder: Path) -> int:
    """Rows in the files of a table."""
    return sum(pq.ParquetFile(f).metadata.num_rows for f in folder.rglob("*.parquet"))


def until(condition: Callable[[], bool], seconds: float) -> float:
    """Wait; returns how long it took."""
    began = time.monotonic()
    while not condition():
        assert time.monotonic() - began < seconds, "did not happen in time"
        time.sleep(0.05)
    return time.monotonic() - began


def test_a_stalled_sink_is_bounded_and_resumes(kafka: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """RSS stays under its bound, what the other lane has is confirmed, and the pipeline resumes within a second (CNX-20, ACK-17, TST-14)."""
    soak = request.config.getoption("--soak")
    ground = Field(kafka, tmp_path, seed=17)
    flag = tmp_path / "stall"
    records = 600_000 if soak else 400_000
    fill(ground, records)
    (tmp_path / "stall.sql").write_text(PIPELINE.format(bootstrap=kafka, topic=ground.topic, out=ground.out))
    env = {**os.environ, "TWG_DECODE_KERNELS": "auto", "STALL_FILE": str(flag), "STALL_IN": "copy_kept"}
    log = (tmp_path / "log-stall.txt").open("wb")
    proc = subprocess.Popen([sys.executable, str(STALLING), "stream", str(tmp_path / "stall.sql")], stdout=log, stderr=subprocess.STDOUT, env=env)
    log.close()
    ground.procs.append(proc)
    everything, kept = ground.out / "all", ground.out / "kept"
    until(lambda: rows(kept) > 0, 60)
    flag.touch()
    time.sleep(1)
    at_stall, peak = rows(everything), 0
    began = time.monotonic()
    while time.monotonic() - began < (60 if soak else 6):
        peak = max(peak, psutil.Process(proc.pid).memory_info().rss >> 20)
        time.sleep(0.25)
    held, stopped = rows(everything), rows(kept)
    assert held >= at_stall
    assert held < records, "the stalled sink must have stopped the source"
    assert peak < BOUND_MB, f"RSS {peak} MB"
    flag.unlink()
    assert until(lambda: rows(kept) > stopped, 10) < 2, ground.logs()
    until(lambda: rows(everything) == records and rows(kept) == records // 2, 200)
    print(f"peak RSS {peak} MB while stalled")
    ground.procs.remove(proc)
    proc.terminate()
    assert proc.wait(60) == 0
