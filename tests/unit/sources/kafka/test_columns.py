"""Columns of what compiled loops have laid out."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from thalweg.arrow.batch import BadRows
from thalweg.arrow.metadata import HEADERS
from thalweg.sources.kafka.columns import binary, headers, sized

Names = list[bytes]


def made(counts: list[int], names: Names, values: list[bytes | None]) -> tuple[pa.Array, BadRows]:
    """The header column, and its bad rows."""
    bad = BadRows()
    found = headers(np.array(counts, np.int64), pa.array(names, pa.binary()), pa.array(values, pa.binary()), bad)
    found.validate(full=True)
    return found, bad


def test_headers_keep_order_and_null() -> None:
    """Records without any have an empty list; duplicates, NULL and empty stay (REP-07, REP-08)."""
    found, bad = made([2, 0, 1], [b"a", b"a", "ä".encode()], [None, b"", b"1"])

    assert found.type == HEADERS
    assert found.to_pylist() == [[{"key": "a", "value": None}, {"key": "a", "value": b""}], [], [{"key": "ä", "value": b"1"}]]
    assert bad == BadRows()


def test_keys_that_are_not_text_make_bad_rows() -> None:
    """Only their own records have no headers (MET-13)."""
    found, bad = made([1, 2, 0, 1], [b"\xff", b"a", b"b", b"c\xc3"], [b"1", None, b"", b"4"])

    assert found.type == HEADERS
    assert found.to_pylist() == [None, [{"key": "a", "value": None}, {"key": "b", "value": b""}], [], None]
    assert (bad.rows, bad.codes) == ([0, 3], ["source.header"] * 2)
    assert "can't decode byte 0xff" in bad.messages[0]


@pytest.mark.parametrize("sizes", [[], [0], [-1], [2, -1, 0, 3], [-1] * 9])
def test_values_end_to_end(sizes: list[int]) -> None:
    """A size of -1 is NULL and takes no room."""
    data = np.arange(sum(max(size, 0) for size in sizes), dtype=np.uint8)
    found = sized(np.array(sizes, np.int64), data)
    found.validate(full=True)
    left = data.tobytes()

    for size, value in zip(sizes, found.to_pylist(), strict=True):
        assert value == (None if size < 0 else left[:size])
        left = left[max(size, 0) :]
    assert found.null_count == sizes.count(-1)


def test_without_sizes_nothing_is_null() -> None:
    """Then there is no bitmap either."""
    found = binary(np.array([0, 1, 1, 3], np.int32), pa.py_buffer(b"abc"), None)

    assert found.to_pylist() == [b"a", b"", b"bc"]
    assert found.buffers()[0] is None
