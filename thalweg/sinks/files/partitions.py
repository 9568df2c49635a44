"""Rows of a batch by their Hive folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from thalweg.sinks.files import layout

if TYPE_CHECKING:
    from collections.abc import Iterator


def is_partitionable(kind: pa.DataType) -> bool:
    """Whether a value of this type has one short, exact text."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    t = pa.types
    tests = (t.is_string, t.is_large_string, t.is_string_view, t.is_integer, t.is_boolean, t.is_date, t.is_timestamp, t.is_decimal)
    return any(test(kind) for test in tests)


def split(batch: pa.RecordBatch, columns: tuple[str, ...]) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Each Hive folder with its rows, in the order of first appearance; rows keep their order.

    Raises ValueError naming the column where a value does not fit in a folder's name.
    """
    if not columns:
        yield "", batch
        return
    if not batch.num_rows:
        return
    texts = [_texts(batch.column(batch.schema.get_field_index(c))) for c in columns]
    codes = np.zeros(batch.num_rows, np.int64)
    for text in texts:
        _, codes = np.unique(codes * len(text.dictionary) + text.indices.to_numpy(), return_inverse=True)
    _, first, counts = np.unique(codes, return_index=True, return_counts=True)
    order = np.argsort(codes, kind="stable")
    ends = np.cumsum(counts)
    for at in np.argsort(first, kind="stable"):
        folder = layout.hive_folder(columns, tuple(t[int(first[at])].as_py() for t in texts))
        # taken one by one: slices of one sorted batch would keep each other's memory alive
        rows = order[ends[at] - counts[at]: ends[at]]
        yield folder, batch if len(counts) == 1 else batch.take(pa.array(rows))


def _texts(column: pa.Array) -> pa.DictionaryArray:
    """Values as text, dictionary-encoded with NULL as one of the codes."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if not pa.types.is_string(column.type):
        column = pc.cast(column, pa.string())
    return column.dictionary_encode(null_encoding="encode")
