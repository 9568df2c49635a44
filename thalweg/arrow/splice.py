"""Rows that several decoders made of one batch of payloads, back in the payloads' order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from thalweg.arrow.batch import BadRows, Decoded

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    import numpy.typing as npt


def taken(payloads: pa.BinaryArray, headers: pa.ListArray | None, rows: npt.NDArray[np.intp]) -> tuple[pa.BinaryArray, pa.ListArray | None]:
    """Some of the payloads, with their headers."""
    wanted = pa.array(rows, pa.int64())
    return payloads.take(wanted), None if headers is None else headers.take(wanted)


def spliced(schema: pa.Schema, parts: Sequence[tuple[Decoded, npt.NDArray[np.intp] | None]], refused: BadRows | None = None) -> Decoded:
    """One result from several, or none; with each goes the payload number of every payload that its decoder was given (None: all, in order).

    ``refused``: the payloads that no decoder was given.
    """
    rows, batches, bad = [], [], BadRows()
    if refused is not None:
        bad.extend(refused)
    for found, numbers in parts:
        own = found.rows.to_numpy()
        rows.append(own if numbers is None else numbers[own])
        batches.append(found.batch)
        for i, row in enumerate(found.bad.rows):
            bad.add(row if numbers is None else int(numbers[row]), found.bad.codes[i], found.bad.messages[i], found.bad.paths[i])
    places = np.concatenate([*rows, np.empty(0, np.int64)])
    batch = batches[0] if len(batches) == 1 else pa.Table.from_batches(batches, schema).combine_chunks().to_batches()
    if isinstance(batch, list):
        batch = batch[0] if batch else pa.RecordBatch.from_arrays([pa.nulls(0, kind) for kind in schema.types], schema=schema)
    if len(parts) > 1 and len(places) and not bool((np.diff(places) > 0).all()):
        order = np.argsort(places, kind="stable")
        batch, places = batch.take(pa.array(order)), places[order]
    return Decoded(batch, pa.array(places.astype(np.int32)), _ordered(bad))


def kept(schema: pa.Schema, wanted: Collection[str] | None) -> pa.Schema:
    """The columns that somebody reads, one at least, since a batch of none has no rows."""
    if wanted is None or not len(schema):
        return schema
    fields = [field for field in schema if field.name in wanted]
    return pa.schema(fields or [schema.field(0)], schema.metadata)


def pruned(found: Decoded, schema: pa.Schema) -> Decoded:
    """What a decoder of all columns gave, with the columns of ``schema`` only."""
    return found if found.batch.num_columns == len(schema) else Decoded(found.batch.select(schema.names), found.rows, found.bad)


def _ordered(bad: BadRows) -> BadRows:
    """The same rows in the payloads' order."""
    order = np.argsort(np.asarray(bad.rows, np.int64), kind="stable").tolist()
    return BadRows([bad.rows[i] for i in order], [bad.codes[i] for i in order], [bad.messages[i] for i in order], [bad.paths[i] for i in order])
