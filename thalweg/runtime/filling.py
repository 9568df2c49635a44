"""Test and quickstart data: the rows of the one SELECT of a file, encoded in a table's format."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

from thalweg.dialect.tree import SourceText
from thalweg.engine.session import Session, failed
from thalweg.errors import QueryFailed, QueryRefused, UserError
from thalweg.model.events import Notice
from thalweg.plan import refusals

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import pyarrow as pa

    from thalweg.model.events import Observer

_PATIENCE_S: Final = 2.0
"""Time between two lines about a filling that takes long."""


def filled(table: str, file: Path, encode: Callable[[dict[str, Any]], bytes], observer: Observer) -> Iterator[bytes]:
    """Every row, encoded. Raises UserError with the file's name: for a query with its place, for a row with its number."""
    told, count = time.monotonic() + _PATIENCE_S, 0
    for batch in _batches(file):
        for row in batch.to_pylist():
            count += 1
            try:
                yield encode(row)
            except UserError as e:
                raise UserError(e.message, where=f"{file}, row {count:,}", hint=e.hint) from e
            if time.monotonic() > told:
                told = time.monotonic() + _PATIENCE_S
                observer.on(Notice("warning", "embedded.filling", f"{table}: the embedded topic is being filled from {file}: {count:,} records so far"))


def _batches(file: Path) -> Iterator[pa.RecordBatch]:
    """The rows as they come."""
    sql = _text(file)
    try:
        reader = Session().stream(sql)
    except QueryFailed as e:
        raise UserError(e.message, where=str(file)) from e
    except QueryRefused as e:
        found = refusals.place(e.message, sql)
        raise SourceText(str(file), sql, sql).error(found.message, found.offset, width=found.width, hint=found.hint or e.hint) from e
    while True:
        try:
            batch = reader.read_next_batch()
        except StopIteration:
            return
        except BaseException as e:
            raise UserError(failed(e).message, where=str(file)) from e
        yield batch


def _text(file: Path) -> str:
    """The query without its last semicolon."""
    try:
        return file.read_text(encoding="utf-8-sig").rstrip().rstrip(";")
    except OSError as e:
        raise UserError(f"cannot read {file}: {e.strerror}") from e
    except UnicodeDecodeError as e:
        raise UserError(f"{file} is not UTF-8: byte {e.start} cannot be read") from e
