"""Static tables: files that the engine reads itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.unit.plan.conftest import ORDERS

if TYPE_CHECKING:
    from pathlib import Path

    from tests.unit.plan.conftest import Complaints, Planner

COPY = "\nCOPY orders TO './o/' STORED AS PARQUET;"
HEADER = "OPTIONS ('format.has_header' 'true')"


def test_files_bring_their_own_types(plan: Planner, tmp_path: Path) -> None:
    """A Parquet file needs no column list; a relative path is taken from the pipeline's folder first (CF-06, CRD-03)."""
    pq.write_table(pa.table({"a": pa.array([1], pa.int16())}), tmp_path / "t.parquet")

    (table,) = plan(f"{ORDERS}CREATE EXTERNAL TABLE t STORED AS PARQUET LOCATION 't.parquet';{COPY}", base=str(tmp_path)).statics

    assert table.schema == pa.schema([("a", pa.int16())])
    assert str(tmp_path) in table.statement


def test_a_column_list_is_translated(plan: Planner, tmp_path: Path) -> None:
    """A declared list reaches the engine in its own words and comes back as the same Arrow types (DAG-17)."""
    (tmp_path / "o'clock").mkdir()
    (tmp_path / "o'clock" / "t.csv").write_text("1,2,3,4,5\n")
    columns = '"Id" INT NOT NULL, s STRING, b BYTES, d DECIMAL(40, 2), at TIMESTAMP_LTZ(3), w TIMESTAMP(9), u BIGINT UNSIGNED, f FLOAT, y DATE'

    (table,) = plan(f"{ORDERS}CREATE EXTERNAL TABLE t ({columns}) STORED AS CSV LOCATION 'o''clock/t.csv' {HEADER};{COPY}", base=str(tmp_path)).statics

    assert table.schema is not None
    kinds = [str(field.type) for field in table.schema]
    assert table.schema.names[0] == "Id"
    assert kinds[0] == "int32"
    assert kinds[3] == "decimal256(40, 2)"
    assert kinds[5:] == ["timestamp[ns]", "uint64", "float", "date32[day]"]


def test_nested_lists_are_translated(plan: Planner, tmp_path: Path) -> None:
    """Structs and lists are spelled the engine's way."""
    (tmp_path / "t.json").write_text('{"a": {"x": 1}, "b": [1, 2]}\n')

    (table,) = plan(
        f"{ORDERS}CREATE EXTERNAL TABLE t (a ROW<x INT>, b INT[]) STORED AS JSON LOCATION 't.json';{COPY}", base=str(tmp_path)
    ).statics

    assert table.schema is not None
    assert table.schema.field("a").type.field("x").type == pa.int32()
    assert table.schema.field("b").type.value_type == pa.int32()


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("CREATE EXTERNAL TABLE t STORED AS PARQUET LOCATION 'missing.parquet';", "4:52 missing.parquet: No files found"),
        ("CREATE UNBOUNDED EXTERNAL TABLE t STORED AS CSV LOCATION 't.csv';", "4:1 a table of CSV files is bounded (leave out UNBOUNDED)"),
        ("CREATE EXTERNAL TABLE t (a TIME) STORED AS CSV LOCATION 't.csv';", "4:28 a static table cannot declare TIME(6)"),
        ("CREATE EXTERNAL TABLE t (a MAP<STRING, INT>) STORED AS CSV LOCATION 't.csv';", "4:28 a static table cannot declare MAP<STRING, INT>"),
        ("CREATE EXTERNAL TABLE t (a ROW<b TIME>[]) STORED AS CSV LOCATION 't.csv';", "4:28 a static table cannot declare ARRAY<ROW<b TIME(6)>>"),
        ("CREATE EXTERNAL TABLE t (a BIGNIT) STORED AS CSV LOCATION 't.csv';", "4:28 unknown type BIGNIT"),
        ("CREATE EXTERNAL TABLE t (a BIGINT METADATA FROM 'offset') STORED AS CSV LOCATION 't.csv';", "a file has no record metadata"),
    ],
)
def test_wrong_static_tables_are_refused(complaints: Complaints, tmp_path: Path, statement: str, said: str) -> None:
    """Missing files and types that the engine's statement does not know are refused at their place."""
    (tmp_path / "t.csv").write_text("1\n")

    found = complaints(f"{ORDERS}{statement}{COPY}", base=str(tmp_path))

    assert any(line.startswith(said) or (not said[0].isdigit() and said in line) for line in found)


def test_remote_files_are_not_asked_without_connect(plan: Planner, complaints: Complaints) -> None:
    """A table on an object store stays unresolved offline; online its answer is told without the password of its URL (CL-02)."""
    text = f"{ORDERS}CREATE EXTERNAL TABLE t STORED AS PARQUET LOCATION 's3://u:hidden@lake/t/';{COPY}"

    assert plan(text).statics[0].schema is None
    (found,) = complaints(text, connect=True)
    assert found.startswith("4:52 s3://u:********@lake/t/: ")
    assert "hidden" not in found
