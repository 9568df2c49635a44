"""One open Parquet file: rows are gathered into large row groups before they are encoded."""

from __future__ import annotations

import base64
import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from thalweg.sinks.files import disk

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Closed:
    """A file that is complete under its temporary name."""

    path: Path
    folder: str
    """Hive folder below the target; empty without PARTITIONED BY."""
    rows: int
    nbytes: int
    raw_bytes: int
    """Size of the rows in memory."""


class Part:
    """Rows of one Hive folder on their way into one file; the file is made with the first row group."""

    def __init__(
        self, path: Path, folder: str, schema: pa.Schema, settings: Callable[[pa.Table], Mapping[str, Any]], ratio: float = 1.0
    ) -> None:
        """``settings(first rows)`` gives the writer's keyword arguments, once the first row group is known.

        ``ratio`` is what a byte in memory came to in files before this one.
        """
        self.path = path
        self.folder = folder
        self.rows = 0
        self.gathered_bytes = 0
        self.gathered_rows = 0
        self._schema = schema
        self._settings = settings
        self._batches: list[pa.RecordBatch] = []
        self._writer: Any = None
        self._ratio = ratio
        self._raw_bytes = 0
        self._encoded_bytes = 0

    @property
    def writing(self) -> bool:
        """Whether it holds an open file."""
        return self._writer is not None

    @property
    def nbytes(self) -> int:
        """Size of the file if it were closed now, by the compression seen so far."""
        ratio = self._encoded_bytes / self._raw_bytes if self._raw_bytes else self._ratio
        return self._encoded_bytes + int(self.gathered_bytes * ratio)

    def add(self, batch: pa.RecordBatch) -> None:
        """Gather rows; nothing is written."""
        self._batches.append(batch)
        self.rows += batch.num_rows
        self.gathered_rows += batch.num_rows
        self.gathered_bytes += batch.nbytes

    def write_group(self) -> None:
        """Write everything gathered as one row group."""
        if not self._batches:
            return
        table = _joined(self._batches)
        if self._writer is None:
            # What came as a dictionary is none to whoever reads the file: the schema that goes with it is our own.
            self._writer = pq.ParquetWriter(str(self.path), table.schema, store_schema=False, **self._settings(table))
        self._writer.write_table(table, row_group_size=max(1, table.num_rows))
        self._raw_bytes += self.gathered_bytes
        self._encoded_bytes = int(self._writer.file_handle.tell())
        self._batches.clear()
        self.gathered_bytes = self.gathered_rows = 0

    def close(self, footer: Mapping[str, str]) -> Closed:
        """Write what is left and the footer, and force the file to disk."""
        self.write_group()
        self._writer.add_key_value_metadata({**_schema_entries(self._schema), **footer})
        self._writer.close()
        self._writer = None
        disk.sync_file(self.path)
        return Closed(self.path, self.folder, self.rows, self.path.stat().st_size, self._raw_bytes)

    def discard(self) -> None:
        """Give the rows up; the temporary file itself is left to whoever owns the folder."""
        self._batches.clear()
        self.gathered_bytes = self.gathered_rows = 0
        if self._writer is not None:
            self._writer.is_open = False  # else its finaliser would write a footer
            handle, self._writer = self._writer.file_handle, None
            with contextlib.suppress(OSError):  # that the last bytes of a file given up do not fit is no news
                handle.close()


def _schema_entries(schema: pa.Schema) -> dict[str, str]:
    """The key-value metadata from which Arrow restores a schema, as its own writer leaves them."""
    known = {key.decode(): value.decode() for key, value in (schema.metadata or {}).items()}
    return known | {"ARROW:schema": base64.b64encode(schema.serialize().to_pybytes()).decode()}


def _joined(batches: list[pa.RecordBatch]) -> pa.Table:
    """One table; many small batches are copied together, since every chunk costs the encoder a call."""
    table = pa.Table.from_batches(batches)
    if table.num_rows < 4096 * len(batches):
        table = table.combine_chunks()
    if any(pa.types.is_dictionary(t) for t in table.schema.types):
        table = table.unify_dictionaries()
    return table
