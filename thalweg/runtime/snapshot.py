"""Looking at a stream from outside of any pipeline: everything up to now into files, or what comes from now on. Nothing is committed, ever."""

from __future__ import annotations

import dataclasses
import io
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq

from thalweg.arrow import metadata
from thalweg.errors import PipelineError, UserError
from thalweg.ports.source import Budget
from thalweg.runtime.dag import relations
from thalweg.runtime.lineage import Records

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from pathlib import Path
    from typing import Self

    from thalweg.arrow.batch import RawBatch
    from thalweg.model.position import Partition
    from thalweg.plan.graph import SourceTable
    from thalweg.ports.source import Committed, Source
    from thalweg.runtime.decode import Decoding
    from thalweg.runtime.upgrade import Upgrade

_BUDGET = Budget(age_ns=100_000_000)
_TO_NOW = {"scan.startup.mode": "earliest-offset", "scan.bounded.mode": "latest-offset"}
_ENDLESS = {"scan.bounded.mode": "unbounded"}


class Progress(Protocol):
    """Who wants to know how far a snapshot is."""

    def __call__(self, rows: int, left: int | None) -> None:
        """``rows`` records were read; ``left`` offsets are still to come, None where nobody knows."""


@dataclass(slots=True)
class Counts:
    """What was seen on the way; bad records are counted, never fatal, when somebody only looks."""

    rows: int = 0
    tombstones: int = 0
    bad: Counter[str] = field(default_factory=Counter)
    example: str | None = None
    """Position and message of the first bad record."""


@dataclass(frozen=True, slots=True)
class Stored:
    """One relation of a snapshot on disk."""

    name: str
    folder: Path
    kind: str
    """``PARQUET``, or ``ARROW`` for a schema that Parquet would change."""

    def statement(self, quoted_name: str) -> str:
        """The CREATE EXTERNAL TABLE that reads it, types unchanged."""
        location = str(self.folder).replace("'", "''")
        options = " OPTIONS ('format.schema_force_view_types' 'false')" if self.kind == "PARQUET" else ""
        return f"CREATE EXTERNAL TABLE {quoted_name} STORED AS {self.kind} LOCATION '{location}/'{options}"


def up_to_now(table: SourceTable) -> SourceTable:
    """The table read between its own bounds, up to the end as of now at most. Raises UserError for a transport that has no end."""
    if not table.plugin.capabilities.bounded:
        raise UserError(f"{table.name} cannot be read up to now: {table.kind} has no bounded mode", hint="\\tail shows what comes")
    bounded = table.plugin.up_to_now
    return dataclasses.replace(table, options=_overridden(table.options, _TO_NOW) if bounded is None else bounded(table.options))


def from_now_on(table: SourceTable, *, start: str) -> SourceTable:
    """The table read without end, from ``earliest`` or ``latest``."""
    return dataclasses.replace(table, options=_overridden(table.options, {**_ENDLESS, "scan.startup.mode": f"{start}-offset"}))


class Look:
    """One source opened to be looked at; it joins no group. Use it in a ``with``, from one thread."""

    def __init__(self, table: SourceTable, source: Source, decoding: Decoding, upgrade: Upgrade | None = None, *, prefix: str, pipeline: str) -> None:
        """``source`` was made for this table with ``group=False``; ``upgrade`` brings compiled decoders, None: the exact ones stay."""
        self._table, self._source, self._decoding = table, source, decoding
        self._upgrade, self._prefix, self._pipeline = upgrade, prefix, pipeline
        self.counts = Counts()

    def __enter__(self) -> Self:
        """Connect; raises what the source raises when it cannot."""
        try:
            self._source.open(_Anywhere())
        except BaseException as e:
            self.__exit__(type(e))
            raise
        if self._upgrade is not None:
            self._upgrade.start()
        return self

    def __exit__(self, kind: type[BaseException] | None = None, *_: object) -> None:
        """Disconnect; where nothing went wrong a compiler goes on, for the next question."""
        if self._upgrade is not None:
            self._upgrade.stop(go_on=kind is None)
        self._source.close()
        self._decoding.close()

    def left(self) -> int | None:
        """Offsets between here and the end."""
        return self._source.lag()

    def batches(self, wanted: Collection[str]) -> Iterator[dict[str, pa.RecordBatch]]:
        """The relations ``wanted`` of each batch (``orders``, ``raw.orders``, ``dlq.orders``, ``dlq.all``), until a bounded source ends.

        Gives an empty mapping when nothing came for a while, so that a caller can do something else in between.
        """
        while not self._source.finished():
            raw = self._source.poll(_BUDGET)
            yield self._relations(raw, wanted) if raw is not None and raw.rows else {}

    def store(self, wanted: Collection[str], folder: Path, limit_bytes: int, progress: Progress) -> list[Stored]:
        """Write the relations ``wanted`` below ``folder``; raises UserError when they would take more than ``limit_bytes``."""
        schemas = relations(self._table, self._prefix)
        part = quote(self._table.name, safe="")
        writers = {name: _Writer(folder / quote(name, safe=""), part, schemas[name]) for name in wanted}
        try:
            for tables in self.batches(wanted):
                for name, batch in tables.items():
                    writers[name].write(batch)
                if sum(writer.nbytes() for writer in writers.values()) > limit_bytes:
                    raise UserError(
                        f"the snapshot of {self._table.name} is larger than {limit_bytes:,} bytes after {self.counts.rows:,} records",
                        hint="raise SET 'repl.snapshot.bytes', or use \\tail to see rows as they come",
                    )
                progress(self.counts.rows, self.left())
        finally:
            for writer in writers.values():
                writer.close()
        return [Stored(name, writer.folder, writer.kind) for name, writer in writers.items()]

    def _relations(self, raw: RawBatch, wanted: Collection[str]) -> dict[str, pa.RecordBatch]:
        """What one raw batch gives, without the hidden row number."""
        self.counts.rows += raw.rows
        records = Records(raw, self._prefix, cluster_id=self._cluster(raw), cluster_alias=self._table.cluster_alias)
        out = {}
        raw_name, letters = f"raw.{self._table.name}", [f"dlq.{self._table.name}", "dlq.all"]
        if raw_name in wanted:
            out[raw_name] = records.raw_rows()
        if self._table.name in wanted or any(name in wanted for name in letters):
            rows = self._decoding.relation(raw, records.column)
            self.counts.tombstones += rows.tombstones
            self._count(rows.bad.codes, f"{records.position(rows.bad.rows[0])}: {rows.bad.messages[0]}" if len(rows.bad) else None)
            if self._table.name in wanted:
                out[self._table.name] = rows.batch
            for name in letters:
                if name in wanted:
                    out[name] = records.dead_letters(rows.bad, [self._table.name] * len(rows.bad), self._pipeline, time.time_ns() // 1000)
        return {name: batch.drop_columns([metadata.ROW]) for name, batch in out.items()}

    def _count(self, codes: list[str], example: str | None) -> None:
        """Note bad records."""
        self.counts.bad.update(codes)
        self.counts.example = self.counts.example or example

    def _cluster(self, raw: RawBatch) -> str | None:
        """The cluster that the batch came from."""
        return self._source.identity(raw.spans[0].partition).cluster_id if raw.spans else None


class _Anywhere:
    """A listener that records nothing anywhere: the table's start mode decides."""

    def assigned(self, committed: Mapping[Partition, Committed | None]) -> Mapping[Partition, int | None]:
        """Committed positions are not for us."""
        return dict.fromkeys(committed)

    def started(self, positions: Mapping[Partition, int]) -> None:
        """Nothing is kept."""

    def revoked(self, partitions: Collection[Partition]) -> None:
        """There is nothing to drain."""

    def lost(self, partitions: Collection[Partition]) -> None:
        """There is nothing to give up."""


class _Writer:
    """Batches of one relation into one file, in the format that keeps its types."""

    def __init__(self, folder: Path, part: str, schema: pa.Schema) -> None:
        """The file is there at once, so that an empty relation is one too; ``dlq.all`` has one for each source."""
        self.kind = "PARQUET" if _parquet_keeps(schema) else "ARROW"
        self.folder = folder
        self.folder.mkdir(parents=True, exist_ok=True)
        self._schema = schema
        self._file = (self.folder / f"{part}.{self.kind.lower()}").open("wb")
        self._pending: list[pa.RecordBatch] = []
        self._pending_rows = 0
        if self.kind == "PARQUET":
            self._writer: Any = pq.ParquetWriter(self._file, schema, compression="zstd", compression_level=1)
        else:
            self._writer = pa.ipc.new_file(self._file, schema, options=pa.ipc.IpcWriteOptions(compression="zstd"))

    def write(self, batch: pa.RecordBatch) -> None:
        """Gather rows into large row groups."""
        self._pending.append(batch)
        self._pending_rows += batch.num_rows
        if self._pending_rows >= _BUDGET.rows:
            self._flush()

    def nbytes(self) -> int:
        """Bytes on disk and waiting to go there."""
        return self._file.tell() + sum(int(batch.nbytes) for batch in self._pending)

    def close(self) -> None:
        """Finish the file."""
        self._flush()
        self._writer.close()
        self._file.close()

    def _flush(self) -> None:
        """Write what waits."""
        if self._pending_rows:
            self._writer.write_table(pa.Table.from_batches(self._pending, schema=self._schema).combine_chunks())
        self._pending, self._pending_rows = [], 0


def _parquet_keeps(schema: pa.Schema) -> bool:
    """Whether Parquet gives back the schema that it was given."""
    held = io.BytesIO()
    try:
        pq.write_table(schema.empty_table(), held)
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        return False
    return bool(pq.read_schema(io.BytesIO(held.getvalue())).equals(schema))


def _overridden(options: Any, values: Mapping[str, str]) -> Any:  # noqa: ANN401 - each plug-in has its own dataclass
    """The same options with other texts for some keys; keys that the transport does not have are left out."""
    if not dataclasses.is_dataclass(options) or isinstance(options, type):
        raise PipelineError(f"options of type {type(options).__name__} cannot be changed")
    changed = {}
    for option in dataclasses.fields(options):
        key = str(option.metadata.get("key"))
        if key in values:
            changed[option.name] = option.metadata["reader"](values[key])
    return dataclasses.replace(options, **changed)
