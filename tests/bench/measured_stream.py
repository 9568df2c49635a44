"""``twg`` that writes to MEASURED when it got its first records, each commit with its offsets, processor time by thread, and peak memory."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa
from figures import peak_mib

from thalweg.cli.main import main
from thalweg.sources.kafka.source import KafkaSource

poll, commit = KafkaSource.poll, KafkaSource.commit
commits: list[tuple[float, int]] = []
"""When, and offsets committed by then."""
first: list[float] = []
by_thread: dict[int, tuple[str, float]] = {}
over = threading.Event()


def first_poll(self: KafkaSource, budget: Any) -> Any:  # noqa: ANN401 - passes on whatever the real one takes
    """Note when records came first."""
    batch = poll(self, budget)
    if batch is not None and batch.rows and not first:
        first.append(time.time())
    return batch


def noted_commit(self: KafkaSource, positions: Any, metadata: str) -> Any:  # noqa: ANN401 - passes on whatever the real one takes
    """Note what was committed."""
    done = commit(self, positions, metadata)
    latest.update(done)
    commits.append((time.time(), sum(latest.values())))
    return done


def measure() -> None:
    """Write down how far we are; threads that Python did not start are the libraries'."""
    names = {t.native_id: t.name for t in threading.enumerate()}
    for thread in psutil.Process().threads():
        comm = Path(f"/proc/self/task/{thread.id}/comm")
        name = names.get(thread.id) or by_thread.get(thread.id, ("", 0))[0] or (comm.read_text().strip() if comm.exists() else "gone")
        by_thread[thread.id] = (name, thread.user_time + thread.system_time)
    totals: dict[str, float] = {}
    for name, seconds in by_thread.values():
        totals[name] = totals.get(name, 0) + seconds
    found = {"first": first, "commits": commits, "threads": totals, "peak": peak_mib(), "arrow": pa.default_memory_pool().max_memory() / (1 << 20)}
    Path(os.environ["MEASURED"]).write_text(json.dumps(found))


def watch() -> None:
    """Four times a second, for threads that end before the process does."""
    while not over.wait(0.25):
        measure()


latest: dict[object, int] = {}
KafkaSource.poll = first_poll  # type: ignore[method-assign]
KafkaSource.commit = noted_commit  # type: ignore[method-assign]

if __name__ == "__main__":
    watching = threading.Thread(target=watch, name="watch")
    watching.start()
    try:
        code = main(sys.argv[1:])
    finally:
        over.set()
        watching.join()
        measure()
    sys.exit(code)
