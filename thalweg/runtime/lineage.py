"""From a row back to its record: metadata columns, raw rows and dead letters, through the hidden row number."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from thalweg.arrow import metadata
from thalweg.arrow.record_id import record_ids

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from thalweg.arrow.batch import BadRows, RawBatch


class RecordIds:
    """What makes record ids: the exact path, until a kernel takes its place between two epochs."""

    def __init__(self) -> None:
        """Begin with the exact path."""
        self._make: Callable[[RawBatch, str | None], pa.Array] = record_ids

    def use(self, make: Callable[[RawBatch, str | None], pa.Array]) -> None:
        """Let another function with the same results make them from now on; called on any thread."""
        self._make = make

    def __call__(self, raw: RawBatch, cluster: str | None) -> pa.Array:
        """The ids of a batch."""
        return self._make(raw, cluster)


class Records:
    """The records of one epoch, and the metadata columns that can be had of them, each made once and only when asked for."""

    def __init__(self, raw: RawBatch, prefix: str, *, cluster_id: str | None, cluster_alias: str | None, ids: RecordIds | None = None) -> None:
        """``cluster_alias`` is shown in place of the id; record ids always use the id."""
        self.raw, self.prefix = raw, prefix
        self._cluster_id, self._alias = cluster_id, cluster_alias
        self._ids = ids or RecordIds()
        self._made: dict[str, pa.Array] = {}

    def column(self, name: str) -> pa.Array:
        """Metadata column ``name`` (no prefix) of every record of the epoch."""
        if name not in self._made:
            if name == "source_cluster":
                shown = self._alias if self._alias is not None else self._cluster_id
                self._made[name] = pa.repeat(pa.scalar(shown, pa.string()), self.raw.rows)
            elif name == "record_id":
                self._made[name] = self._ids(self.raw, self._cluster_id)
            else:
                self._made[name] = metadata.column(self.raw.records, name)
        return self._made[name]

    def raw_rows(self) -> pa.RecordBatch:
        """The raw lane of this epoch: every record, with the hidden row number last."""
        schema = metadata.raw_schema(self.prefix)
        names = [field.name.removeprefix(self.prefix) for field in schema][1:]
        columns = [self.raw.payload, *(self.column(name) for name in names), pa.array(np.arange(self.raw.rows, dtype=np.int32))]
        return pa.RecordBatch.from_arrays(columns, schema=schema.append(pa.field(metadata.ROW, pa.int32(), nullable=False)))

    def position(self, row: int) -> str:
        """``topic[partition] offset n`` of one record."""
        topic, partition, offset = (self.column(n)[row].as_py() for n in ("source_topic", "source_partition", "source_offset"))
        return f"{topic}[{partition}] offset {offset}"

    def dead_letters(self, bad: BadRows, relations: Sequence[str], pipeline: str, failed_at_us: int) -> pa.RecordBatch:
        """One dead-letter row for each bad row: the raw columns, what went wrong, and the hidden row number last."""
        schema = metadata.dead_letter_schema(self.prefix)
        n = len(bad)
        taken = pa.array(bad.rows, pa.int64())
        names = [field.name.removeprefix(self.prefix) for field in metadata.raw_schema(self.prefix)][1:]
        columns = [self.raw.payload.take(taken), *(self.column(name).take(taken) for name in names)]
        columns += [
            pa.array(bad.codes, pa.string()),
            pa.array(bad.messages, pa.string()),
            pa.array(relations, pa.string()),
            pa.array(bad.paths, pa.string()),
            pa.repeat(pa.scalar(pipeline, pa.string()), n),
            pa.repeat(pa.scalar(failed_at_us, pa.timestamp("us", "UTC")), n),
            pa.array(bad.rows, pa.int32()),
        ]
        return pa.RecordBatch.from_arrays(columns, schema=schema.append(pa.field(metadata.ROW, pa.int32(), nullable=False)))

    def shape(self, batch: pa.RecordBatch, target: pa.Schema, emit_us: int, *, coded: bool = False) -> pa.RecordBatch:
        """``batch`` as its sink wants it: metadata columns added through the row number, the row number left out.

        With ``coded``, text of metadata columns that the source gives as a dictionary stays one.
        """
        at = batch.schema.get_field_index(metadata.ROW)
        rows = batch.column(at) if at >= 0 else None
        whole = rows is not None and len(rows) == self.raw.rows and self._is_identity(rows)
        columns, fields, names = [], [], batch.schema.names
        for field in target:
            if field.name in names:
                column = batch.column(names.index(field.name))
            elif field.name == self.prefix + "emit_ts":
                column = pa.repeat(pa.scalar(emit_us, pa.timestamp("us", "UTC")), batch.num_rows)
            else:
                column = self._placed(field.name.removeprefix(self.prefix), None if whole else rows, batch.num_rows)
            fits = column.type == field.type or (coded and column.type == pa.dictionary(pa.int32(), field.type))
            columns.append(column if fits else column.cast(field.type))
            fields.append(field.with_type(columns[-1].type))
        return pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields, target.metadata))

    def _placed(self, name: str, rows: pa.Array | None, count: int) -> pa.Array:
        """A metadata column for the records ``rows`` (None: all of them, in order); what is the same in all of them is not looked up."""
        at = self.raw.records.schema.get_field_index(name)
        coded = self.raw.records.column(at) if at >= 0 else None
        if coded is not None and pa.types.is_dictionary(coded.type):
            if len(coded.dictionary) == 1 and not coded.null_count:
                return pa.DictionaryArray.from_arrays(pa.repeat(pa.scalar(0, pa.int32()), count), coded.dictionary)
            return coded if rows is None else coded.take(rows)
        column = self.column(name)
        if rows is None:
            return column
        return pa.nulls(count, column.type) if column.null_count == len(column) else column.take(rows)

    @staticmethod
    def _is_identity(rows: pa.Array) -> bool:
        """Whether row numbers run from 0 without a gap (they are never repeated then either, being as many as the records)."""
        values = rows.to_numpy(zero_copy_only=False)
        return bool(len(values) == 0 or (values[0] == 0 and values[-1] == len(values) - 1 and (values[1:] - values[:-1] == 1).all()))
