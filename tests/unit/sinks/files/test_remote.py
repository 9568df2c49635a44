"""Whole objects, at least once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest
from pyarrow import fs

from thalweg.errors import SinkBusy, SinkFailed
from thalweg.model.position import Span
from thalweg.ports.sink import Delivery
from thalweg.sinks.files import remote
from thalweg.testing.sinks import SinkBench, delivery, finish, partition, rows

if TYPE_CHECKING:
    from pathlib import Path


class Store:
    """An object store over a local folder, that can be told to fail."""

    type_name = "s3"

    def __init__(self, root: Path) -> None:
        """``errors`` are raised one by one by the next puts."""
        self.root = root
        self.files = fs.LocalFileSystem()
        self.errors: list[OSError] = []
        self.puts: list[str] = []

    def open_output_stream(self, path: str) -> Any:  # noqa: ANN401 - pyarrow's stream
        """Note the put; fail if told."""
        self.puts.append(path)
        if self.errors:
            raise self.errors.pop(0)
        full = self.root / path
        full.parent.mkdir(parents=True, exist_ok=True)
        return self.files.open_output_stream(str(full))


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """What every URL resolves to."""
    made = Store(tmp_path / "bucket")
    monkeypatch.setattr(remote, "resolve", lambda _location: (made, "lake/orders"))
    return made


def bench(store: Store, *partition_by: str) -> SinkBench:
    """A target behind a URL."""
    return SinkBench("files", "s3://lake/orders", lambda: read(store.root), partition_by=partition_by)


def read(folder: Path) -> list[dict[str, Any]]:
    """Every visible row."""
    return [row for path in folder.rglob("*.parquet") for row in pq.ParquetFile(path).read().to_pylist()]


def test_objects_are_written_whole(store: Store) -> None:
    """Each file is one put under its final name; there is no record, no log and no temporary object."""
    target = bench(store, "name")
    sink = target.open()
    assert sink.covered([partition()]) is None
    sink.write(delivery(1, 0, 10))
    sink.settle()
    assert store.puts == []
    assert finish(sink) == [1]

    assert target.seen() == rows(0, 10)
    assert len(store.puts) == 4
    assert all(p.startswith("lake/orders/name=") and "/orders-000001-" in p and p.endswith(".parquet") for p in store.puts)


def test_transient_error_is_retried_under_the_same_names(store: Store) -> None:
    """SinkBusy keeps the files: the next try goes on where it stopped, and nothing is written twice (ACK-15)."""
    target = bench(store, "name")
    sink = target.open()
    sink.write(delivery(1, 0, 10))
    store.errors.append(OSError("AWS Error SLOW_DOWN during PutObject"))
    with pytest.raises(SinkBusy, match="SLOW_DOWN"):
        sink.flush()
    assert list(sink.confirm()) == [1]
    sink.close()

    assert len(store.puts) == 5
    assert len(set(store.puts)) == 4
    assert target.seen() == rows(0, 10)


def test_next_delivery_waits_for_the_retry(store: Store) -> None:
    """While a roll waits to be written, a write first tries it again and takes nothing when that fails."""
    target = bench(store)
    sink = target.open()
    sink.write(delivery(1, 0, 10))
    store.errors += [OSError("timeout"), OSError("timeout")]
    for attempt in (sink.flush, lambda: sink.write(delivery(2, 10, 20))):
        with pytest.raises(SinkBusy):
            attempt()
    sink.write(delivery(2, 10, 20))

    assert list(sink.confirm()) == [1]
    assert finish(sink) == [2]
    assert target.seen() == rows(0, 20)


@pytest.mark.parametrize("error", [OSError("AWS Error ACCESS_DENIED during PutObject"), OSError("AWS Error NO_SUCH_BUCKET"), PermissionError("no")])
def test_permanent_error_ends_the_lane(store: Store, error: OSError) -> None:
    """What retrying does not mend is said at once."""
    sink = bench(store).open()
    sink.write(delivery(1, 0, 10))
    store.errors.append(error)
    with pytest.raises(SinkFailed, match="cannot write an object"):
        sink.flush()
    sink.close()


def test_abandon_leaves_no_object(store: Store) -> None:
    """Files that were given up were never objects."""
    target = bench(store)
    sink = target.open()
    sink.write(delivery(1, 0, 10))
    sink.abandon()
    finish(sink)

    assert store.puts == []


def test_other_file_systems_move_into_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a put shows its beginning, the object is written aside and moved."""
    local = fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem())
    monkeypatch.setattr(remote, "resolve", lambda _location: (local, "orders"))
    target = SinkBench("files", "hdfs://h/orders", lambda: read(tmp_path))
    sink = target.open()
    sink.write(delivery(1, 0, 10))
    sink.write(Delivery(2, (), (Span(partition(), 10, 12),), 0, 0))

    assert finish(sink) == [1, 2]
    assert target.seen() == rows(0, 10)
    assert [p.suffix for p in (tmp_path / "orders").iterdir()] == [".parquet"]


def test_unknown_file_system_hides_its_secret() -> None:
    """A URL that pyarrow cannot open is an error with the password taken out."""
    with pytest.raises(SinkFailed) as caught:
        remote.resolve("nosuch://user:geheim@host/x")

    assert "cannot open the file system" in str(caught.value)
    assert "geheim" not in str(caught.value)
