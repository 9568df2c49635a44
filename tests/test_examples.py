"""Every example runs to its expected rows, on the broker inside the process, from nothing but its own folder."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from datafusion import SessionContext

from thalweg.cli.main import main

EXAMPLES = Path(__file__).parents[1] / "examples"
FOLDERS = sorted(p for p in EXAMPLES.iterdir() if p.is_dir())


def rows_of(table: Path, query: str) -> list[dict[str, object]]:
    """The rows of a query over the Parquet files below ``table``, which it calls ``t``; values as JSON has them."""
    context = SessionContext()
    context.register_dataset("t", ds.dataset(table, format="parquet"))
    batches = context.sql(query).collect()
    rows = pa.Table.from_batches(batches).to_pylist() if batches else []
    found: list[dict[str, object]] = json.loads(json.dumps(rows, default=str))
    return found


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda p: p.name)
def test_example_runs_to_its_expected_rows(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pipeline ends by itself with exit code 0, and its tables hold what the example promises (CRD-07, CRD-05)."""
    monkeypatch.chdir(tmp_path)
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))

    assert main(["stream", str(folder / "pipeline.sql")]) == 0

    assert {p.name for p in (tmp_path / "out").iterdir()} == set(expected["tables"])
    for table, promise in expected["tables"].items():
        assert rows_of(tmp_path / "out" / table, "SELECT count(*) AS n FROM t") == [{"n": promise["rows"]}]
        for query in promise["queries"]:
            assert rows_of(tmp_path / "out" / table, query["sql"]) == query["rows"]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda p: p.name)
def test_example_passes_check(folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """``twg check`` finds nothing wrong with the example and writes nothing (CLI-08)."""
    monkeypatch.chdir(tmp_path)

    assert main(["check", str(folder / "pipeline.sql")]) == 0
    assert list(tmp_path.iterdir()) == []
