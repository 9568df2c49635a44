"""Targets that cannot be written: full disks, missing rights, files where folders should be."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from thalweg.errors import SinkFailed
from thalweg.testing.fakes import CrashPoints, WrappedSink

if TYPE_CHECKING:
    from tests.integration.conftest import Lab
    from thalweg.ports.sink import Sink

SQL = """
SET 'pipeline.name' = '{t}';
CREATE EXTERNAL TABLE orders (id BIGINT) STORED AS MEMORY LOCATION 'memory://{t}-orders' OPTIONS ('format' 'json', 'scan.bounded.mode' 'latest-offset');
COPY orders TO '{out}' STORED AS PARQUET OPTIONS ('roll.rows' '40');
"""


class FullDisk(WrappedSink):
    """A sink on a disk that is full at one step of its lane's thread."""

    def __init__(self, inner: Sink, points: CrashPoints) -> None:
        """``points`` counts the steps."""
        super().__init__(inner)
        self._points = points

    def open(self) -> None:
        """From here on steps are counted."""
        self._points.__enter__()
        super().open()


def ids(lab: Lab) -> list[int]:
    """Every id in the files, sorted."""
    return sorted(i for f in (lab.folder / "out").rglob("*.parquet") for i in pq.ParquetFile(f).read(["id"]).column(0).to_pylist())


@pytest.mark.parametrize("at", [1, 3, 7, 12])
def test_a_full_disk_is_said_and_nothing_is_lost(lab: Lab, at: int) -> None:
    """Wherever it strikes: the error names the path and the reason; after space was made a new run completes the table."""
    lab.fill(*({"id": n} for n in range(200)))
    points = CrashPoints(at, error=OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
    lab.wrap["orders"] = lambda sink: FullDisk(sink, points)
    try:
        with pytest.raises(SinkFailed, match="No space left") as caught:
            lab.run(SQL, budget__rows="20")
    finally:
        points.__exit__(None, None, None)
    assert points.crashed
    lab.wrap.clear()
    assert caught.value.where is not None
    assert str(lab.folder) in caught.value.where
    lab.run(SQL, budget__rows="30")

    assert ids(lab) == list(range(200))


def test_a_file_where_the_folder_should_be(lab: Lab) -> None:
    """Refused before anything is read."""
    (lab.folder / "out").write_text("in the way")
    lab.fill({"id": 1})

    with pytest.raises(SinkFailed, match=r"out"):
        lab.run(SQL)
    assert lab.topic().committed(f"lab{lab.number}", 0) is None
