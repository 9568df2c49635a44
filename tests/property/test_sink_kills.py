"""Real processes, really killed: two writers of one relation, kill -9 at random moments, every row exactly once."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

if TYPE_CHECKING:
    from pathlib import Path

END = 4000
WRITER = """
import random, sys
from thalweg.model.position import Span
from thalweg.model.spans import SpanSet
from thalweg.testing.sinks import SinkBench, delivery, partition
folder, index, end = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
sink = SinkBench("files", folder, list, {"roll.rows": "40", "row-group.rows": "15"}, ("name",)).open()
print("open", flush=True)
have = sink.covered([partition(index)])
seq = 0
for span in SpanSet([Span(partition(index), 0, end)]).minus(have):
    at = span.start
    while at < span.end:
        upto, seq = min(span.end, at + random.randint(1, 30)), seq + 1
        sink.write(delivery(seq, at, upto, index, lambda o: o % 3 != 0))
        sink.confirm()
        sink.settle()
        at = upto
sink.flush()
sink.confirm()
sink.close()
"""


def start(folder: Path, index: int) -> subprocess.Popen[str]:
    """One writer of one partition, at work."""
    args = [sys.executable, "-c", WRITER, str(folder), str(index), str(END)]
    child = subprocess.Popen(args, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "open\n"
    return child


def kill_rounds(folder: Path, rounds: int, seed: int) -> int:
    """Start both writers and kill them, again and again, then let them finish; how many really died at work."""
    rng, killed = random.Random(seed), 0
    for _ in range(rounds):
        children = [start(folder, 0), start(folder, 1)]
        for child in children:
            time.sleep(rng.random() * 0.15)
            child.kill()
            killed += child.wait() == -9
            child.stdout.close()  # type: ignore[union-attr]
    for child in [start(folder, 0), start(folder, 1)]:
        assert child.wait(timeout=100) == 0
        child.stdout.close()  # type: ignore[union-attr]
    return killed


def check(folder: Path) -> None:
    """Every kept row once, and nothing temporary left."""
    found: list[tuple[int, int]] = []
    for path in folder.rglob("*.parquet"):
        table = pq.ParquetFile(path).read(["partition", "offset"]).to_pydict()
        found += zip(table["partition"], table["offset"], strict=True)

    assert sorted(found) == [(p, o) for p in (0, 1) for o in range(END) if o % 3]
    assert list((folder / "_twg/bench/orders/tmp").iterdir()) == []


def test_kill_nine(tmp_path: Path) -> None:
    """No row is missing and none is there twice after a handful of kills (SNK-05, COV-04)."""
    killed = kill_rounds(tmp_path / "t", rounds=4, seed=1)
    check(tmp_path / "t")

    assert killed >= 2


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_kill_nine_often(tmp_path: Path) -> None:
    """The same with a hundred kills."""
    for seed in range(5):
        kill_rounds(tmp_path / str(seed), rounds=10, seed=seed)
        check(tmp_path / str(seed))
