"""Every example runs to its expected rows, on the broker inside the process, from nothing but its own folder."""

from __future__ import annotations

import json
import re
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
    """The pipeline ends by itself with exit code 0, and its tables hold what the example promises (CRD-05, CRD-07, DAG-02, DAG-07, DLQ-09)."""
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


def test_shipped_views_answer_over_dead_letters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The views of sql/dead_letters.sql load in the REPL and count the quickstart's ten dead letters (CRD-08, DLQ-01)."""
    monkeypatch.chdir(tmp_path)
    assert main(["stream", str(EXAMPLES / "quickstart" / "pipeline.sql")]) == 0
    table = "CREATE EXTERNAL TABLE dead_letters STORED AS PARQUET LOCATION './out/dead_letters/'"
    views = re.findall(r"CREATE VIEW (\w+)", (EXAMPLES.parent / "sql" / "dead_letters.sql").read_text(encoding="utf-8"))
    counted = [view for view in views if view != "dead_letters_as_text"]
    asked = [f"SELECT sum(records) AS records FROM {view}" for view in counted] + ["SELECT count(payload_text) AS records FROM dead_letters_as_text"]
    capsys.readouterr()

    assert main(["repl", "--format", "csv", *(a for c in [table, "\\i sql/dead_letters.sql", *asked] for a in ("-c", c))]) == 0

    answers = [line for line in capsys.readouterr().out.splitlines() if line.isdigit()]
    assert len(views) == 5
    assert answers == ["10"] * 5
