"""What is taken between two publications: deliveries, their spans, and the open files with their rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from thalweg.errors import SinkFailed
from thalweg.sinks.files import partitions
from thalweg.sinks.files.entries import KeyedSpans, PartitionKey, keyed
from thalweg.sinks.files.parts import Closed, Part
from thalweg.sinks.files.views import plain, plain_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from thalweg.model.position import Span
    from thalweg.ports.sink import Delivery
    from thalweg.sinks.files.options import FileOptions


class Roll:
    """Collects deliveries until it is due; then all its files are closed and published together."""

    def __init__(
        self, schema: pa.Schema, partition_by: tuple[str, ...], options: FileOptions, temp_path: Callable[[], Path],
        settings: Callable[[pa.Table], Mapping[str, Any]], footer: Callable[[tuple[KeyedSpans, ...]], Mapping[str, str]], now_ns: int,
        ratio: float,
    ) -> None:
        """Its age counts from ``now_ns``, monotonic; ``ratio`` is the compression of the rolls before."""
        self._start_ratio = ratio
        self._schema = plain_schema(schema)
        self._written: pa.Schema | None = None
        """The schema with what the first batch had as dictionaries."""
        self._partition_by = partition_by
        self._options = options
        self._temp_path = temp_path
        self._settings = settings
        self._footer = footer
        self._since_ns = now_ns
        self._parts: dict[str, Part] = {}
        self._spans: list[tuple[PartitionKey, Span]] = []
        self._paths: list[Path] = []
        self._closed: list[Closed] = []
        self.seqs: list[int] = []
        """Deliveries that are durable once the roll is published."""
        self.is_closed = False

    def add(self, delivery: Delivery, keys: list[PartitionKey]) -> None:
        """Take one delivery; ``keys`` belong to its spans. After an error the roll must be given up."""
        self._spans += zip(keys, delivery.spans, strict=True)
        for batch in delivery.batches:
            for folder, rows in partitions.split(self._fitted(batch), self._partition_by):
                self._gather(folder, rows)
        self.seqs.append(delivery.seq)

    def spans(self) -> tuple[KeyedSpans, ...]:
        """Everything taken, merged."""
        return keyed(self._spans)

    @property
    def ratio(self) -> float:
        """Bytes in closed files for one byte in memory."""
        raw = sum(f.raw_bytes for f in self._closed)
        return sum(f.nbytes for f in self._closed) / raw if raw else self._start_ratio

    def due(self, now_ns: int) -> bool:
        """Whether it should be published: age, size, rows, or too many open files."""
        o = self._options
        return (
            self.is_closed
            or now_ns - self._since_ns >= o.roll_age_ns
            or len(self._parts) + len(self._closed) > o.max_open
            or any(p.nbytes >= o.roll_bytes or (o.roll_rows is not None and p.rows >= o.roll_rows) for p in self._parts.values())
        )

    def close(self) -> list[Closed]:
        """Complete every file; may be called again after an error that was not about the files."""
        for folder in list(self._parts):
            self._finish(folder)
        self.is_closed = True
        return self._closed

    def discard(self) -> list[Path]:
        """Give everything up; returns the temporary files to delete."""
        for part in self._parts.values():
            part.discard()
        self._parts.clear()
        return self._paths

    def _fitted(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The batch under the schema of the files; they may differ in nullability, metadata, and text that comes as a dictionary or a view."""
        theirs, ours = batch.schema, self._schema
        if self._written is not None and theirs.equals(self._written, check_metadata=True):
            return batch
        if theirs.names != ours.names:
            raise SinkFailed(f"a batch has the columns {', '.join(theirs.names)}; the files have {', '.join(ours.names)}")
        for have, want in zip(theirs, ours, strict=True):
            if have.type != want.type and not _codes(have.type, want.type) and plain(have.type) != want.type:
                raise SinkFailed(f"column {want.name!r} came as {have.type}, the files have {want.type}")
        if self._written is None:
            self._written = pa.schema([want.with_type(plain(have.type)) for have, want in zip(theirs, ours, strict=True)], ours.metadata)
        columns = [_as(column, field.type) for column, field in zip(batch.columns, self._written, strict=True)]
        return pa.RecordBatch.from_arrays(columns, schema=self._written)

    def _gather(self, folder: str, rows: pa.RecordBatch) -> None:
        """Add rows of one folder and keep row groups and memory within their bounds."""
        if not rows.num_rows:
            return
        part = self._parts.get(folder)
        if part is None:
            path = self._temp_path()
            self._paths.append(path)
            part = self._parts[folder] = Part(path, folder, self._schema, self._settings, self._start_ratio)
        part.add(rows)
        if part.gathered_rows >= self._options.group_rows or part.gathered_bytes >= self._options.group_bytes:
            self._write_group(part)
        while sum(p.gathered_bytes for p in self._parts.values()) > self._options.buffer_bytes:
            self._write_group(max(self._parts.values(), key=lambda p: p.gathered_bytes))

    def _write_group(self, part: Part) -> None:
        """Write a row group; one delivery with very many folders closes files early rather than hold them all open."""
        if not part.writing:
            writing = [p for p in self._parts.values() if p.writing]
            if len(writing) >= self._options.max_open:
                self._finish(max(writing, key=lambda p: p.nbytes).folder)
        part.write_group()

    def _finish(self, folder: str) -> None:
        """Complete one file; its rows come from the spans taken so far."""
        self._closed.append(self._parts[folder].close(self._footer(self.spans())))
        del self._parts[folder]


def _codes(have: pa.DataType, want: pa.DataType) -> bool:
    """Whether one is a dictionary of the other."""
    return bool(have == pa.dictionary(pa.int32(), want))


def _as(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """The same values, as a dictionary or not, without views."""
    if column.type == kind:
        return column
    if not pa.types.is_dictionary(column.type):
        column = column.cast(plain(column.type))
        if column.type == kind:
            return column
    return column.dictionary_encode() if pa.types.is_dictionary(kind) else column.dictionary_decode()
