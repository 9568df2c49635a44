"""Taking a relation out of a target."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from thalweg.errors import SinkFailed
from thalweg.testing.sinks import SinkBench, delivery, finish

if TYPE_CHECKING:
    from pathlib import Path


def written(folder: Path, relation: str = "orders", pipeline: str = "bench") -> SinkBench:
    """A target with one file of one relation."""
    bench = SinkBench("files", str(folder), list, partition_by=("partition",))
    sink = bench.open(relation, pipeline=pipeline)
    sink.write(delivery(1, 0, 5))
    finish(sink)
    return bench


def test_only_the_relations_own_files_go(tmp_path: Path) -> None:
    """Other relations, other pipelines with the same relation, and files of others stay; the plan says what goes."""
    bench = written(tmp_path)
    written(tmp_path, "returns")
    written(tmp_path, "orders", "another")
    (tmp_path / f"orders-000001-{'0' * 16}.parquet").write_text("not ours")
    plan = bench.plugin.rewrite_plan(bench.target(), bench.context())
    removed = bench.plugin.rewrite(bench.target(), bench.context())
    left = sorted(p.name.split("-")[0] for p in tmp_path.rglob("*.parquet"))

    assert plan == removed
    assert len(plan) == 2
    assert left == ["orders", "orders", "returns"]
    assert not (tmp_path / "_twg/bench/orders").exists()
    assert bench.plugin.rewrite(bench.target(), bench.context()) == []


def test_nothing_there(tmp_path: Path) -> None:
    """A target that does not exist has nothing to remove, and is not made."""
    bench = SinkBench("files", str(tmp_path / "no"), list)

    assert bench.plugin.rewrite_plan(bench.target(), bench.context()) == []
    assert not (tmp_path / "no").exists()


def test_living_writer_is_not_pulled_away(tmp_path: Path) -> None:
    """While a process holds the log, nothing is removed and the message names the process."""
    bench = written(tmp_path)
    living = bench.open()
    with pytest.raises(SinkFailed, match=r"another process writes this relation \(stop process \d+ first\)"):
        bench.plugin.rewrite(bench.target(), bench.context())
    living.close()

    assert len(bench.plugin.rewrite(bench.target(), bench.context())) == 2


def test_prefix_can_change_after_a_rewrite(tmp_path: Path) -> None:
    """The log is gone, so the target starts over with another metadata prefix (MET-28)."""
    bench = written(tmp_path)
    bench.plugin.rewrite(bench.target(), bench.context())
    sink = bench.open(prefix="m_")
    sink.write(delivery(1, 0, 5))

    assert finish(sink) == [1]
