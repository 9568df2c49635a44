"""Static tables while a pipeline runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from thalweg.engine.session import Session
from thalweg.errors import QueryFailed
from thalweg.plan.graph import StaticTable
from thalweg.runtime import statics

if TYPE_CHECKING:
    from pathlib import Path


def table(path: Path) -> StaticTable:
    """A CSV table of one number."""
    statement = f"CREATE EXTERNAL TABLE c (code BIGINT) STORED AS CSV LOCATION '{path}' OPTIONS ('format.has_header' 'true')"
    return StaticTable("c", statement, None, path=str(path))


def test_a_file_that_is_gone_ends_the_run(tmp_path: Path) -> None:
    """The engine takes it for an empty table: joins would find nothing, without a word."""
    path = tmp_path / "c.csv"
    path.write_text("code\n1\n")
    statics.require([table(path)])
    path.unlink()

    with pytest.raises(QueryFailed, match=r"static table c: .*c.csv is gone"):
        statics.require([table(path)])
    statics.require([StaticTable("remote", "", None)])


def test_a_file_that_cannot_be_read_is_no_rows_fault(tmp_path: Path) -> None:
    """Else every record of the stream would become a dead letter."""
    path = tmp_path / "c.csv"
    path.write_text("code\n1\n")
    session = Session()
    session.create_static(table(path).statement, "c")
    statics.prove(session, [table(path)])
    path.write_text("code\none\n")

    with pytest.raises(QueryFailed, match=r"static table c cannot be read: .*one.*"):
        statics.prove(session, [table(path)])
