"""Columns of NULLs in the place of what nobody reads."""

from __future__ import annotations

import pyarrow as pa

from thalweg.arrow.unread import Unread


def test_nulls_of_a_type_are_made_once() -> None:
    """Every column of a type is a slice of one array, which grows when more rows are asked for."""
    unread = Unread()
    first, again, fewer = unread.of(pa.string(), 5), unread.of(pa.string(), 5), unread.of(pa.string(), 2)

    assert first.to_pylist() == [None] * 5
    assert fewer.to_pylist() == [None] * 2
    assert [b and b.address for b in first.buffers()] == [b and b.address for b in again.buffers()] == [b and b.address for b in fewer.buffers()]
    assert unread.of(pa.string(), 9).null_count == 9
    assert unread.of(pa.list_(pa.int64()), 3).type == pa.list_(pa.int64())
    assert len(unread.of(pa.int8(), 0)) == 0
