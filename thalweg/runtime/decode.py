"""Raw records to the rows of a source relation, through the bound codecs; tombstones, declared metadata and NOT NULL included."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from thalweg.arrow import metadata
from thalweg.arrow.batch import BadRows
from thalweg.arrow.described import describe
from thalweg.arrow.unread import Unread
from thalweg.model.events import Notice, SchemaResolved

if TYPE_CHECKING:
    from collections.abc import Callable

    from thalweg.arrow.batch import Decoded, RawBatch
    from thalweg.model.events import Observer
    from thalweg.plan.graph import SourceTable
    from thalweg.ports.codec import CodecPlugin, Decoder, DecodeRequest
    from thalweg.ports.schemas import SchemaRegistry

_SHOWN: Final = 5
_LARGE: Final = 4_096
"""Rows of a batch that is worth the wait: the reference decoders would hold up the loading, and take longer than it."""
_ROW_FIELD = pa.field(metadata.ROW, pa.int32(), nullable=False)


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a record (value or key): what the plan says of it, and the decoder that is always right."""

    codec: CodecPlugin
    request: DecodeRequest
    asked: SchemaRegistry | None
    """The registry that its decoders ask."""
    reference: Decoder


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a relation in one epoch."""

    batch: pa.RecordBatch
    """Columns of the relation, then the hidden row number (int32, ascending)."""
    bad: BadRows
    """By row number in the raw batch."""
    tombstones: int
    """Left out by ``'tombstones' 'drop'``."""


class Decoding:
    """Decodes one source table. Used by the worker thread; raises SchemaUnavailable when a registry gives no answer."""

    def __init__(self, table: SourceTable, value: Side, key: Side | None) -> None:
        """``table.schema`` is resolved by now."""
        if table.schema is None:
            raise ValueError(f"{table.name} has no schema")
        self._table = table
        self.sides = (value,) if key is None else (value, key)
        self._decoders = [side.reference for side in self.sides]
        self._counted: Counter[str] = Counter()
        self.name = table.name
        self.schema = table.schema
        self.row_schema = table.schema.append(_ROW_FIELD)
        self._unread = Unread()
        self.soon: Callable[[], None] | None = None
        """Waits for compiled decoders that only have to be loaded."""

    def use(self, side: Side, decoder: Decoder) -> None:
        """Let another decoder take the place of a side's, from the next batch on; called on any thread."""
        self._decoders[self.sides.index(side)] = decoder

    def announce(self, observer: Observer) -> None:
        """Say which columns the payloads become, and what the schemas will cost their user, before the first record (DEC-03, DEC-09)."""
        for number, (side, decoder) in enumerate(zip(self.sides, self._decoders, strict=True)):
            fields = ", ".join(f"{f.path} {f.short}" + (f" ({f.meaning})" if f.meaning else "") for f in describe(decoder.schema))
            observer.on(SchemaResolved(self.name, "key" if number else "value", side.request.format, len(decoder.schema), fields))
            for line in decoder.notices:
                observer.on(Notice("warning", "decode.depth", f"{self.name}: {line}"))
            if decoder.coarse:
                more = f" and {len(decoder.coarse) - _SHOWN} more" if len(decoder.coarse) > _SHOWN else ""
                listed = ", ".join(f"'{where}'" for where in decoder.coarse[:_SHOWN]) + more
                observer.on(Notice("info", "decode.finer", f"{self.name}: {listed}: digits finer than the column's unit are cut off and counted"))

    def counted(self) -> dict[str, int]:
        """What decoding had to do the long way since the last call: ``slow`` rows, ``finer`` times, and ``cut NAME`` for each message type."""
        totals: Counter[str] = Counter()
        for decoder in self._decoders:
            totals.update({f"cut {name}": n for name, n in decoder.fallbacks.items()})
            totals.update({"finer": decoder.finer, "slow": sum(decoder.slow_rows.values())})
        new, self._counted = totals - self._counted, totals
        return dict(new)

    def hasten(self) -> None:
        """The run is being stopped: its registries are not asked again and again any more. Called on any thread."""
        for side in self.sides:
            if side.asked is not None:
                side.asked.hasten()

    def close(self) -> None:
        """Release the registries' connections."""
        for side in self.sides:
            if side.asked is not None:
                side.asked.close()

    def relation(self, raw: RawBatch, meta: Callable[[str], pa.Array] | None = None) -> Rows:
        """One row for each record that decodes, in the order of the records; ``meta`` gives metadata columns that are made here (ids, cluster).

        A record is bad once: what the source calls bad is never decoded, and of two sides at fault the value is told.
        """
        if self.soon is not None and raw.rows >= _LARGE:
            self.soon()
            self.soon = None
        bad = BadRows()
        bad.extend(raw.bad)
        live, null_rows, tombstones = self._tombstones(raw, bad)
        columns = self._side(raw, self._decoders[0], raw.payload, live, null_rows, bad)
        if len(self._decoders) > 1:
            keys = metadata.column(raw.records, "source_key")
            here = self._surviving(np.arange(raw.rows), bad)
            valid = np.asarray(keys.is_valid())[here]
            columns |= self._side(raw, self._decoders[1], keys, here[valid], here[~valid], bad)
        rows = self._surviving(np.sort(np.concatenate([live, null_rows])) if len(null_rows) else live, bad)
        batch = self._assemble(raw, columns, rows, meta or partial(metadata.column, raw.records))
        return Rows(self._not_null(batch, bad), bad, tombstones)

    def _tombstones(self, raw: RawBatch, bad: BadRows) -> tuple[np.ndarray, np.ndarray, int]:
        """Row numbers with a payload, row numbers that become rows of NULLs, and how many were dropped."""
        here = self._surviving(np.arange(raw.rows), bad)
        valid = np.asarray(raw.payload.is_valid())[here]
        live, dead = here[valid], here[~valid]
        if self._table.tombstones == "null_row":
            return live, dead, 0
        if self._table.tombstones == "drop":
            return live, dead[:0], len(dead)
        for row in dead.tolist():
            bad.add(row, "source.tombstone", "the record has no payload (a tombstone)")
        return live, dead[:0], 0

    def _side(
        self, raw: RawBatch, decoder: Decoder, payloads: pa.Array, live: np.ndarray, nulls: np.ndarray, bad: BadRows
    ) -> dict[str, tuple[pa.Array, np.ndarray]]:
        """Columns of one side of the records, each with the raw row numbers it stands for."""
        headers = metadata.column(raw.records, "source_headers")
        if len(live) != raw.rows:
            taken = pa.array(live, pa.int64())
            payloads, headers = payloads.take(taken), headers.take(taken)
        decoded: Decoded = decoder.decode(payloads, headers)
        places = live[decoded.rows.to_numpy()]
        for i, row in enumerate(decoded.bad.rows):
            bad.add(int(live[row]), decoded.bad.codes[i], decoded.bad.messages[i], decoded.bad.paths[i])
        columns = zip(decoded.batch.schema.names, decoded.batch.columns, strict=True)
        if not len(nulls):
            return {name: (column, places) for name, column in columns}
        both = np.concatenate([places, nulls])
        order = np.argsort(both, kind="stable")
        at, places = pa.array(order), both[order]
        return {name: (pa.concat_arrays([column, pa.nulls(len(nulls), column.type)]).take(at), places) for name, column in columns}

    def _surviving(self, rows: np.ndarray, bad: BadRows) -> np.ndarray:
        """Row numbers that no step called bad."""
        if not len(bad):
            return rows
        return rows[~np.isin(rows, np.asarray(bad.rows))]

    def _assemble(
        self, raw: RawBatch, columns: dict[str, tuple[pa.Array, np.ndarray]], rows: np.ndarray, meta: Callable[[str], pa.Array]
    ) -> pa.RecordBatch:
        """Columns in the order of the relation's schema, cut to the surviving rows."""
        whole = len(rows) == raw.rows
        declared = {column.name: column for column in self._table.metadata}
        out = []
        for field in self.schema:
            if field.name in declared:
                column = meta(declared[field.name].key)
                column = column if whole else column.take(pa.array(rows, pa.int64()))
                out.append(column.cast(declared[field.name].type) if column.type != declared[field.name].type else column)
            elif not self._is_read(field.name):
                out.append(self._unread.of(field.type, len(rows)))
            else:
                column, places = columns[field.name]
                if len(places) != len(rows):
                    column = column.take(pa.array(np.searchsorted(places, rows), pa.int64()))
                out.append(column)
        return pa.RecordBatch.from_arrays([*out, pa.array(rows, pa.int32())], schema=self.row_schema)

    def _is_read(self, name: str) -> bool:
        """Whether some query or target reads a column of the payloads; whatever a decoder made of another one is left out."""
        wanted = self.sides[0].request.wanted
        return wanted is None or name in wanted

    def _not_null(self, batch: pa.RecordBatch, bad: BadRows) -> pa.RecordBatch:
        """A NULL in a column that was declared NOT NULL is a bad record."""
        for name in self._table.not_null:
            missing = batch.column(batch.schema.get_field_index(name)).is_null()
            if pc.any(missing).as_py():
                for row in batch.column(batch.num_columns - 1).filter(missing).to_pylist():
                    bad.add(row, "decode.not_null", f"column {name} is NOT NULL, but the record has no value for it", name)
                batch = batch.filter(pc.invert(missing))
        return batch
