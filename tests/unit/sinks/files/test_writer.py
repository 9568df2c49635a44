"""The files sink: when it rolls, what it writes, and how it fails."""

from __future__ import annotations

import errno
import json
import resource
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from thalweg.errors import SinkFailed
from thalweg.model.events import Notice
from thalweg.model.position import Span
from thalweg.model.spans import SpanSet
from thalweg.ports.sink import Delivery
from thalweg.testing.fakes import CrashPoints
from thalweg.testing.sinks import SCHEMA, SinkBench, delivery, finish, partition, resume, rows

if TYPE_CHECKING:
    from pathlib import Path

SECOND_NS = 1_000_000_000


def bench(folder: Path, *partition_by: str, **options: str) -> SinkBench:
    """A target below the test's folder; option names with dots are written with underscores."""
    named = {k.replace("__", "-").replace("_", "."): v for k, v in options.items()}
    return SinkBench("files", str(folder / "t"), lambda: read(folder / "t"), named, partition_by)


def files(folder: Path) -> list[Path]:
    """What a reader's glob finds."""
    return sorted(folder.rglob("*.parquet"))


def read(folder: Path) -> list[dict[str, Any]]:
    """Every visible row."""
    return [row for path in files(folder) for row in pq.ParquetFile(path).read().to_pylist()]


def entries(folder: Path) -> list[dict[str, Any]]:
    """The log of the suite's relation."""
    return [json.loads(p.read_bytes()) for p in sorted((folder / "t/_twg/bench/orders").glob("*.json"))]


def temps(folder: Path) -> list[Path]:
    """Temporary files of the suite's relation."""
    return list((folder / "t/_twg/bench/orders/tmp").iterdir())


def test_rolls_by_age_without_input(tmp_path: Path) -> None:
    """Ten records, then silence: the file is visible once its age has come, asked by nothing but confirm (KF-06)."""
    target = bench(tmp_path, roll_age="2 s")
    sink = target.open()
    sink.write(delivery(1, 0, 10))
    before = list(sink.confirm())
    target.clock.advance(2 * SECOND_NS)
    after = list(sink.confirm())
    sink.close()

    assert (before, after) == ([], [1])
    assert target.seen() == rows(0, 10)


def test_age_counts_from_the_first_delivery(tmp_path: Path) -> None:
    """Later deliveries do not push a roll out; one that comes when it is due opens the next."""
    target = bench(tmp_path, roll_age="2 s")
    sink = target.open()
    for seq in range(3):
        sink.write(delivery(seq, seq * 10, seq * 10 + 10))
        target.clock.advance(SECOND_NS)
    confirmed = list(sink.confirm())
    sink.close()

    assert confirmed == [0, 1]


def test_rolls_by_rows_and_bytes(tmp_path: Path) -> None:
    """A file that has its rows or its size is published by the confirm that follows."""
    for options, confirmations in (({"roll_rows": "25"}, [[], [], [0, 1, 2], []]), ({"roll_bytes": "1"}, [[0], [1], [2], [3]])):
        folder = tmp_path / next(iter(options))
        sink = bench(folder, **options).open()
        seen = []
        for seq in range(4):
            sink.write(delivery(seq, seq * 10, seq * 10 + 10))
            seen.append(list(sink.confirm()))
        sink.close()

        assert seen == confirmations


def test_filtered_spans_share_one_entry(tmp_path: Path) -> None:
    """Epochs without rows make one entry without files at roll time, not one each (COV-17)."""
    target = bench(tmp_path, roll_age="60 s")
    sink = target.open()
    for seq in range(50):
        sink.write(delivery(seq, seq * 10, seq * 10 + 10, keep=lambda _o: False))
        assert list(sink.confirm()) == []
    target.clock.advance(60 * SECOND_NS)

    assert list(sink.confirm()) == list(range(50))
    sink.close()
    (entry,) = entries(tmp_path)
    assert entry["files"] == []
    assert [s["ranges"] for s in entry["spans"]] == [[[0, 500]]]


def test_names_and_footer(tmp_path: Path) -> None:
    """A file is named relation-sequence-16 hex; its footer says spans, pipeline, relation and version (SNK-03)."""
    target = bench(tmp_path)
    sink = target.open()
    sink.write(delivery(1, 3, 9))
    finish(sink)
    (path,) = files(tmp_path)
    footer = pq.read_metadata(path).metadata

    assert path.relative_to(tmp_path / "t").match("orders-000001-" + "[0-9a-f]" * 16 + ".parquet")
    assert (footer[b"twg.pipeline"], footer[b"twg.relation"], footer[b"twg.version"]) == (b"bench", b"orders", b"0.0.test")
    assert json.loads(footer[b"twg.spans"]) == [
        {"source": "orders", "cluster": "cluster-1", "topic": "orders-topic", "topic_id": "topic-1", "partition": 0, "ranges": [[3, 9]]}
    ]
    assert pq.read_schema(path).equals(SCHEMA)


def test_small_batches_share_row_groups(tmp_path: Path) -> None:
    """Row groups hold what was gathered, not one write each."""
    target = bench(tmp_path, row__group_rows="100")
    sink = target.open()
    for seq in range(25):
        sink.write(delivery(seq, seq * 10, seq * 10 + 10))
    finish(sink)
    meta = pq.read_metadata(files(tmp_path)[0])

    assert [meta.row_group(i).num_rows for i in range(meta.num_row_groups)] == [100, 100, 50]


def test_memory_is_bounded_over_all_open_files(tmp_path: Path) -> None:
    """Above 'buffer.bytes' the largest gatherings are written out early."""
    target = bench(tmp_path, "partition", buffer_bytes="2000")
    sink = target.open()
    for seq in range(20):
        sink.write(delivery(seq, seq * 10, seq * 10 + 10, index=seq % 4))
        assert sum(p.gathered_bytes for p in sink._roll._parts.values()) <= 2000  # type: ignore[attr-defined]
    finish(sink)

    assert len(target.seen()) == 200


def test_partitions_are_published_together(tmp_path: Path) -> None:
    """One entry names all files of a roll; NULL and '' lie under Hive's default name and stay apart in the column."""
    target = bench(tmp_path, "name")
    sink = target.open()
    batch = pa.record_batch(
        [pa.array([0] * 5, pa.int32()), pa.array(range(5)), pa.array([None, "", "a/b", "é %", "a/b"]), pa.nulls(5, pa.list_(pa.string()))],
        schema=SCHEMA,
    )
    sink.write(Delivery(1, (batch,), (Span(partition(), 0, 5),), 5, batch.nbytes))
    finish(sink)
    folders = [f["final"].split("/")[0] for e in entries(tmp_path) for f in e["files"]]
    read_back = ds.dataset(tmp_path / "t", partitioning="hive").to_table(columns=["offset"])

    assert folders == ["name=__HIVE_DEFAULT_PARTITION__", "name=a%2Fb", "name=é%20%25"]
    assert sorted(r["name"] or repr(r["name"]) for r in target.read()) == ["''", "None", "a/b", "a/b", "é %"]
    assert read_back.num_rows == 5


def test_open_files_are_capped(tmp_path: Path) -> None:
    """More folders than 'partition.max-open' make a roll due; one delivery with very many folders is still one entry."""
    target = bench(tmp_path, "offset", partition_max__open="4", row__group_rows="1")
    sink = target.open()
    sink.write(delivery(1, 0, 3))
    before = list(sink.confirm())
    sink.write(delivery(2, 3, 20))
    after = list(sink.confirm())
    sink.close()

    assert (before, after) == ([], [1, 2])
    assert target.seen() == rows(0, 20)
    assert [len(e["files"]) for e in entries(tmp_path)] == [20]
    assert all(b"twg.spans" in pq.read_metadata(path).metadata for path in files(tmp_path))


def test_changed_prefix_is_refused(tmp_path: Path) -> None:
    """The target remembers the metadata prefix; another one is a refused migration that names both (MET-28)."""
    target = bench(tmp_path)
    sink = target.open()
    sink.write(delivery(1, 0, 3))
    finish(sink)

    with pytest.raises(SinkFailed, match=r"prefix '_twg_', this pipeline has 'm_'.*--rewrite"):
        target.open(prefix="m_")


def test_changed_columns_are_told(tmp_path: Path) -> None:
    """A relation whose columns changed goes on in new files, with a warning (PQ-04)."""
    target = bench(tmp_path)
    sink = target.open()
    sink.write(delivery(1, 0, 3))
    finish(sink)
    wider = replace(target.context(), schema=SCHEMA.append(pa.field("more", pa.int8())))
    after = target.plugin.make(target.target(), wider)
    after.open()
    after.close()

    assert [n.code for n in target.observer.of(Notice)] == ["files.schema_changed"]


def test_a_folder_that_is_shared_is_told(tmp_path: Path) -> None:
    """A renamed pipeline is another one: its files beside the old ones would be read as twice as many rows."""
    target = bench(tmp_path)
    sink = target.open()
    sink.write(delivery(1, 0, 3))
    finish(sink)
    after = target.plugin.make(target.target(), replace(target.context(), pipeline="renamed"))
    after.open()
    after.close()
    (told,) = target.observer.of(Notice)

    assert told.code == "files.shared_target"
    assert target.context().pipeline in told.message


def test_foreign_batch_is_named(tmp_path: Path) -> None:
    """A batch with another type or other columns stops the lane with the column's name, and leaves no temporary file."""
    target = bench(tmp_path)
    for column, match in ((pa.array(["x"]), "'offset' came as string"), (None, "columns partition, name, tags")):
        sink = target.open()
        batch = delivery(1, 0, 1).batches[0]
        at = batch.schema.get_field_index("offset")
        other = batch.drop_columns(["offset"]) if column is None else batch.set_column(at, "offset", column)
        with pytest.raises(SinkFailed, match=match):
            sink.write(Delivery(1, (other,), (Span(partition(), 0, 1),), 1, 1))
        sink.close()

    assert temps(tmp_path) == []


def test_too_long_partition_value_is_named(tmp_path: Path) -> None:
    """A value that fits in no folder's name is refused with the column and a way out."""
    target = bench(tmp_path, "name")
    sink = target.open()
    batch = pa.record_batch(
        [pa.array([0], pa.int32()), pa.array([0]), pa.array(["x" * 300]), pa.nulls(1, pa.list_(pa.string()))], schema=SCHEMA
    )
    with pytest.raises(SinkFailed, match=r"'name': a value of 300 characters.*left\(name"):
        sink.write(Delivery(1, (batch,), (Span(partition(), 0, 1),), 1, 1))
    sink.close()


def test_full_disk_while_writing(tmp_path: Path) -> None:
    """A write that the system refuses gives a clear error, no temporary file stays, and a restart has every row once."""
    target = bench(tmp_path)
    sink = target.open()
    sink.write(delivery(1, 0, 3))
    sink.flush()
    sink.write(delivery(2, 3, 20_000))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, hard))
    try:
        with pytest.raises(SinkFailed, match="cannot publish files: File too large"):
            sink.flush()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    left = temps(tmp_path)
    sink.close()
    after = target.open()
    for missing in resume(after, 20_000):
        after.write(missing)
    finish(after)

    assert left == []
    assert target.seen() == rows(0, 20_000)


def test_error_at_every_step(tmp_path: Path) -> None:
    """Any single step on the file system may say that the disk is full: a clear error, and after a restart every row once."""
    at = 0
    while True:
        target = bench(tmp_path / str(at), "partition")
        points = CrashPoints(at, error=OSError(errno.ENOSPC, "No space left on device"))
        confirmed: list[int] = []
        with points:
            sink = target.plugin.make(target.target(), target.context())
            try:
                sink.open()
                for seq in range(2):
                    sink.write(delivery(seq, seq * 10, seq * 10 + 10))
                    sink.flush()
                    confirmed += sink.confirm()
                sink.close()
            except SinkFailed as e:
                assert "No space left on device" in str(e)  # noqa: PT017 - whether it is raised depends on the step
                sink.close()
        assert {o // 10 for _, o in target.seen()} >= set(confirmed), points.steps
        after = target.open()
        for missing in resume(after, 30):
            after.write(missing)
        finish(after)
        assert target.seen() == rows(0, 30), points.steps
        if not points.crashed:
            break
        at += 1

    assert at > 50


def test_unwritable_targets_are_explained(tmp_path: Path) -> None:
    """A file in the way, or a path below a file, is named with the system's words."""
    (tmp_path / "t").write_text("not a folder")
    with pytest.raises(SinkFailed, match=r"t: cannot open the target: File exists.*name a folder"):
        bench(tmp_path).open()
    with pytest.raises(SinkFailed, match="cannot open the target"):
        SinkBench("files", str(tmp_path / "t" / "below"), list).open()


def test_open_refuses_columns_late(tmp_path: Path) -> None:
    """A schema that was unknown while planning is checked when the target is opened (PQ-01, SNK-23)."""
    target = bench(tmp_path)
    wrong = replace(target.context(), schema=pa.schema([("u", pa.month_day_nano_interval())]))

    with pytest.raises(SinkFailed, match="column 'u': Parquet cannot hold month_day_nano_interval"):
        target.plugin.make(target.target(), wrong).open()


def test_chosen_encodings_are_told_once(tmp_path: Path) -> None:
    """The choice is made from the first file with enough rows and shown by one notice."""
    target = bench(tmp_path)
    sink = target.open()
    for seq, (start, end) in enumerate([(0, 10), (10, 3000), (3000, 6000)]):
        sink.write(delivery(seq, start, end))
        sink.flush()
    sink.close()
    (notice,) = [n for n in target.observer.of(Notice) if n.code == "files.encodings"]

    assert "dictionary: partition, name" in notice.message
    assert "DELTA_BINARY_PACKED: offset" in notice.message


def test_nullability_of_a_batch_does_not_matter(tmp_path: Path) -> None:
    """Queries give batches that differ in nullability or metadata only; they go into one file."""
    target = bench(tmp_path)
    sink = target.open()
    batch = delivery(1, 0, 5).batches[0]
    strict = pa.schema([f.with_nullable(f.name != "offset") for f in SCHEMA], metadata={"k": "v"})
    other = pa.RecordBatch.from_arrays(delivery(2, 5, 9).batches[0].columns, schema=strict)
    sink.write(Delivery(1, (batch, other), (Span(partition(), 0, 9),), 9, 1))
    finish(sink)

    assert target.seen() == rows(0, 9)


def test_interrupt_after_the_entry_loses_nothing(tmp_path: Path) -> None:
    """An error right after the entry was created, then abandon: the files are shown, not deleted."""
    target = bench(tmp_path)
    sink = target.open()
    sink.write(delivery(1, 0, 5))
    real = sink._publisher._log.refresh  # type: ignore[attr-defined]
    calls = {"n": 0}

    def fails_after_create() -> None:
        calls["n"] += 1
        if calls["n"] == 2:
            raise KeyboardInterrupt
        real()

    sink._publisher._log.refresh = fails_after_create  # type: ignore[attr-defined]
    with pytest.raises(KeyboardInterrupt):
        sink.flush()
    sink.abandon()
    covered = sink.covered([partition()])
    sink.close()

    assert covered == SpanSet([Span(partition(), 0, 5)])
    assert target.seen() == rows(0, 5)


def test_opening_refuses_partitions_that_readers_skip(tmp_path: Path) -> None:
    """A schema that was not known before is looked at when the sink opens; nothing is made in the target."""
    target = bench(tmp_path, "_day")
    schema = pa.schema([pa.field("_day", pa.string())])
    sink = target.plugin.make(replace(target.target(), schema=None), replace(target.context(), schema=schema))

    with pytest.raises(SinkFailed, match="PARTITIONED BY column '_day': readers take folders"):
        sink.open()
    assert not (tmp_path / "t").exists()
