"""Every sink below ``thalweg/sinks`` against the suites of ``thalweg.testing.sinks``; what applies is read from its capabilities."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from thalweg import registry
from thalweg.sinks.memory.store import STORE
from thalweg.testing.sinks import RecordSuite, SinkBench, SinkSuite

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NAMES = registry.names("sinks")
RECORDING = [n for n in NAMES if registry.load("sinks", n).capabilities.records_spans]


def files_bench(folder: Path, _capsys: pytest.CaptureFixture[str]) -> SinkBench:
    """Parquet in a temporary folder."""
    return SinkBench("files", str(folder / "target"), lambda: read_parquet(folder / "target"))


def read_parquet(folder: Path) -> list[dict[str, Any]]:
    """Every row of every file that a reader's glob finds."""
    return [row for path in folder.rglob("*.parquet") for row in pq.ParquetFile(path).read().to_pylist()]


def memory_bench(folder: Path, _capsys: pytest.CaptureFixture[str]) -> SinkBench:
    """A target named like the folder."""
    location = f"memory://{folder}"
    return SinkBench("memory", location, lambda: STORE.rows(location))


def console_bench(_folder: Path, capsys: pytest.CaptureFixture[str]) -> SinkBench:
    """JSON lines, read back from what was captured."""
    printed: list[str] = []

    def read() -> list[dict[str, Any]]:
        printed.append(capsys.readouterr().out)
        return [json.loads(line) for line in "".join(printed).splitlines()]

    return SinkBench("console", "console://", read, {"console.format": "jsonl"})


BENCHES: dict[str, Callable[[Path, pytest.CaptureFixture[str]], SinkBench]] = {
    "files": files_bench, "memory": memory_bench, "console": console_bench,
}


def test_every_sink_has_a_bench() -> None:
    """A new sink is tested the moment it exists."""
    assert sorted(BENCHES) == NAMES


class TestEverySink(SinkSuite):
    """Laws of all sinks."""

    @pytest.fixture(params=NAMES)
    def bench(self, request: pytest.FixtureRequest, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> SinkBench:
        """A target of each sink."""
        return BENCHES[request.param](tmp_path, capsys)


class TestRecordingSinks(RecordSuite):
    """Laws of the sinks that keep a record."""

    @pytest.fixture(params=RECORDING)
    def bench(self, request: pytest.FixtureRequest, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> SinkBench:
        """A target of each sink that keeps a record."""
        return BENCHES[request.param](tmp_path, capsys)


class TestPartitionedFiles(RecordSuite):
    """The same laws when one entry publishes several files."""

    @pytest.fixture
    def bench(self, tmp_path: Path) -> SinkBench:
        """Parquet partitioned by a column with NULLs."""
        return SinkBench("files", str(tmp_path / "target"), lambda: read_parquet(tmp_path / "target"), partition_by=("name",))
