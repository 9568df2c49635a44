"""What one roll makes of the batches that it is given."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from thalweg.model.position import Span
from thalweg.ports.sink import Delivery
from thalweg.testing.sinks import SCHEMA, SinkBench, delivery, finish, partition

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("partition_by", [(), ("name",)])
def test_text_that_comes_as_a_dictionary_is_text_in_the_file(tmp_path: Path, partition_by: tuple[str, ...]) -> None:
    """Dictionaries that differ from batch to batch, NULLs, and plain text between them: readers see one text column, with right statistics."""
    target = SinkBench("files", str(tmp_path / "t"), list, {"row-group.bytes": "1"}, partition_by)
    sink = target.open()
    for seq, coded in enumerate((True, True, False, True)):
        plain = delivery(seq, 5 * seq, 5 * seq + 5).batches[0]
        name = plain.column("name").take(pa.array([4, 3, 2, 1, 0])).dictionary_encode()
        batch = plain.set_column(2, "name", name if coded else name.dictionary_decode())
        sink.write(Delivery(seq, (batch,), (Span(partition(), 5 * seq, 5 * seq + 5),), 5, 1))
    finish(sink)
    found = [pq.ParquetFile(path) for path in sorted(tmp_path.rglob("*.parquet"))]
    mirrored = [5 * (offset // 5) + 4 - offset % 5 for offset in range(20)]
    wanted = [None if at % 5 == 0 else f"name {at % 3}" for at in mirrored]
    seen = {row["offset"]: row["name"] for path in sorted(tmp_path.rglob("*.parquet")) for row in ds.dataset(path, partitioning=ds.partitioning(
        pa.schema([(name, pa.string()) for name in partition_by]), flavor="hive"
    )).to_table().to_pylist()}

    assert all(file.schema_arrow.equals(SCHEMA) for file in found)
    assert seen == dict(enumerate(wanted))
    if not partition_by:
        group = found[0].metadata.row_group(0).column(2)
        assert (group.statistics.min, group.statistics.max, group.statistics.null_count) == ("name 0", "name 2", 1)


@pytest.mark.parametrize("partition_by", [(), ("name",)])
def test_text_that_comes_in_views_is_text_in_the_file(tmp_path: Path, partition_by: tuple[str, ...]) -> None:
    """Views, also inside a list, and plain text from batch to batch: the files have the plain types and every row."""
    target = SinkBench("files", str(tmp_path / "t"), list, {"row-group.bytes": "1"}, partition_by)
    sink = target.open()
    for seq in range(4):
        batch = delivery(seq, 5 * seq, 5 * seq + 5).batches[0]
        if seq % 2 == 0:
            batch = batch.set_column(2, "name", batch.column("name").cast(pa.string_view()))
            batch = batch.set_column(3, "tags", batch.column("tags").cast(pa.list_(pa.string_view())))
        sink.write(Delivery(seq, (batch,), (Span(partition(), 5 * seq, 5 * seq + 5),), 5, 1))
    finish(sink)
    found = [pq.ParquetFile(path) for path in tmp_path.rglob("*.parquet")]

    assert all(file.schema_arrow.equals(SCHEMA) for file in found)
    assert sorted((row for file in found for row in file.read().to_pylist()), key=lambda row: row["offset"]) == delivery(1, 0, 20).batches[0].to_pylist()
