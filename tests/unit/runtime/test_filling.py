"""Test data from a query: rows, errors with their places, and a line where it takes long."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from thalweg.errors import ScriptError, UserError
from thalweg.model.events import Notice
from thalweg.runtime import filling
from thalweg.testing.fakes import RecordingObserver

if TYPE_CHECKING:
    from pathlib import Path


def encoded(row: dict[str, Any]) -> bytes:
    """A row whose ``a`` is 3 does not fit."""
    if row["a"] == 3:
        raise UserError("a row cannot be written: column 'a': 3 does not fit", hint="another number")
    return str(row["a"]).encode()


def fill(folder: Path, sql: str | bytes, observer: RecordingObserver | None = None) -> list[bytes]:
    """All records of a query."""
    file = folder / "data.sql"
    file.write_bytes(sql if isinstance(sql, bytes) else sql.encode())
    return list(filling.filled("orders", file, encoded, observer or RecordingObserver()))


def test_each_row_is_a_record(tmp_path: Path) -> None:
    """In order; a semicolon and a byte order mark are no part of the query."""
    assert fill(tmp_path, "\ufeffSELECT value AS a FROM generate_series(5, 7);\n") == [b"5", b"6", b"7"]


def test_a_query_that_is_none_has_its_place(tmp_path: Path) -> None:
    """File, line and column, as in a pipeline file (CLI-03)."""
    with pytest.raises(ScriptError, match=r"data\.sql:2:8: no column named nope"):
        fill(tmp_path, "SELECT a,\n       nope FROM (VALUES (1)) AS t(a)")
    with pytest.raises(ScriptError, match=r"data\.sql:1:"):
        fill(tmp_path, "SELEC 1")


def test_a_row_that_does_not_fit_has_its_number(tmp_path: Path) -> None:
    """Beside the file and what the encoder says of the column and its value."""
    with pytest.raises(UserError, match=r"data\.sql, row 2: .*column 'a': 3 does not fit") as caught:
        fill(tmp_path, "SELECT value AS a FROM generate_series(2, 7)")

    assert caught.value.hint == "another number"


def test_a_query_that_fails_names_its_file(tmp_path: Path) -> None:
    """So does one that cannot be read."""
    with pytest.raises(UserError, match=r"data\.sql: Divide by zero"):
        fill(tmp_path, "SELECT 1 / (value - 7) AS a FROM generate_series(5, 7)")
    with pytest.raises(UserError, match=r"data\.sql is not UTF-8: byte 8"):
        fill(tmp_path, b"SELECT '\xff'")
    with pytest.raises(UserError, match=r"cannot read .*gone"):
        list(filling.filled("orders", tmp_path / "gone.sql", encoded, RecordingObserver()))


def test_a_filling_that_takes_long_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At a level that a live view shows too; a quick one is silent."""
    quick, slow = RecordingObserver(), RecordingObserver()
    fill(tmp_path, "SELECT 1 AS a", quick)
    monkeypatch.setattr(filling, "_PATIENCE_S", -1.0)
    fill(tmp_path, "SELECT 1 AS a", slow)

    assert quick.of(Notice) == []
    assert [(n.level, n.code) for n in slow.of(Notice)] == [("warning", "embedded.filling")]
    assert "1 records so far" in slow.of(Notice)[0].message
