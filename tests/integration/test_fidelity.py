"""Bytes stay bytes: what goes through the raw lane into files can be sent again as it was."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow.parquet as pq
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.integration.conftest import Lab

if TYPE_CHECKING:
    from pathlib import Path

SQL = """
SET 'pipeline.name' = '{t}';
CREATE EXTERNAL TABLE orders STORED AS MEMORY LOCATION 'memory://{t}-orders'
OPTIONS ('format' 'raw', 'tombstones' 'null_row', 'scan.bounded.mode' 'latest-offset');
COPY raw.orders TO '{out}' STORED AS PARQUET;
"""
CORPUS = [
    {"value": None, "key": b"k", "headers": [], "timestamp_ms": 0},
    {"value": b"", "key": b"", "headers": [("a", None), ("a", b""), ("a", b"1"), ("", b"2")], "timestamp_ms": None},
    {"value": b"\x00\xff", "key": None, "headers": [(f"h{i}", bytes([i])) for i in range(200)], "timestamp_ms": 253_402_300_800_000},
    {"value": "ä\u2028".encode(), "key": b"\x00", "headers": [("ünï", b"x" * 1000)], "timestamp_ms": 1},
]
binary = st.none() | st.binary(max_size=20)
records = st.fixed_dictionaries({
    "value": binary, "key": binary, "headers": st.lists(st.tuples(st.text(st.characters(exclude_categories=["Cs"]), max_size=5), binary), max_size=5),
    "timestamp_ms": st.none() | st.integers(0, 253_402_300_799_999),
})


def through(folder: Path, sent: list[dict[str, object]]) -> list[dict[str, object]]:
    """Send, run, and read the files back as what would be sent again."""
    lab = Lab(folder)
    topic = lab.topic()
    for record in sent:
        topic.append(0, record["value"], key=record["key"], headers=record["headers"], timestamp_ms=record["timestamp_ms"])  # type: ignore[arg-type]
    lab.run(SQL)
    rows = [row for f in sorted((folder / "out").rglob("*.parquet")) for row in pq.ParquetFile(f).read().to_pylist()]
    rows.sort(key=lambda row: row["_twg_source_offset"])
    return [
        {
            "value": row["payload"], "key": row["_twg_source_key"],
            "headers": [(h["key"], h["value"]) for h in row["_twg_source_headers"]],
            "timestamp_ms": None if row["_twg_source_timestamp"] is None else round(row["_twg_source_timestamp"].timestamp() * 1000),
        }
        for row in rows
    ]


def test_the_edge_corpus_survives(tmp_path: Path) -> None:
    """NULL and empty, duplicate and NULL headers, 200 of them, odd timestamps (TST-03, TST-04, TST-05, TST-06, TST-07, KF-01, KF-04)."""
    sent = [record for record in CORPUS if record["timestamp_ms"] != 253_402_300_800_000]

    assert through(tmp_path, sent) == sent


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(records, max_size=8))
def test_any_record_survives(tmp_path_factory: object, sent: list[dict[str, object]]) -> None:
    """Whatever bytes, keys and headers (TST-11)."""
    folder = tmp_path_factory.mktemp("lab")  # type: ignore[attr-defined]

    assert through(folder, sent) == sent


def test_a_timestamp_beyond_python_stays_an_integer(tmp_path: Path) -> None:
    """Year 10000 is a legal count of milliseconds (KF-04)."""
    lab = Lab(tmp_path)
    lab.topic().append(0, b"x", timestamp_ms=253_402_300_800_000)
    lab.run(SQL)
    (file,) = (tmp_path / "out").rglob("*.parquet")

    assert pq.ParquetFile(file).read(["_twg_source_timestamp"]).column(0).cast("int64").to_pylist() == [253_402_300_800_000]


def test_topic_names_of_full_length(tmp_path: Path) -> None:
    """249 characters make a file name of their own (TST-08)."""
    lab = Lab(tmp_path)
    name = "t" * (249 - len(f"lab{lab.number}-"))
    lab.topic(name).append(0, b"x")
    lab.run(SQL.replace("{t}-orders", "{t}-" + name))

    assert len(list((tmp_path / "out").rglob("*.parquet"))) == 1
