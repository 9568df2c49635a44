"""What compiled loops have laid out, as Arrow columns: values of any size, and headers."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from thalweg.arrow.metadata import HEADERS
from thalweg.sources.kafka.reader import BAD_HEADER

if TYPE_CHECKING:
    import numpy.typing as npt

    from thalweg.arrow.batch import BadRows


def headers(counts: npt.NDArray[np.int64], names: pa.Array, values: pa.Array, bad: BadRows) -> pa.Array:
    """The header column of records that have so many headers each; a key that is not UTF-8 makes a bad row with NULL headers."""
    starts = np.concatenate([np.zeros(1, np.int32), np.cumsum(counts).astype(np.int32)])
    try:
        keys = names.cast(pa.string())
    except pa.ArrowInvalid:
        return _with_bad(starts, names, values, bad)
    return pa.ListArray.from_arrays(pa.array(starts), pa.StructArray.from_arrays([keys, values], fields=list(HEADERS.value_type)))


def _with_bad(starts: npt.NDArray[np.int32], names: pa.Array, values: pa.Array, bad: BadRows) -> pa.Array:
    """Headers where at least one key is not UTF-8."""
    rows: list[list[dict[str, Any]] | None] = []
    for start, stop in pairwise(starts):
        try:
            rows.append([{"key": names[i].as_py().decode(), "value": values[i].as_py()} for i in range(start, stop)])
        except UnicodeDecodeError as e:
            bad.add(len(rows), BAD_HEADER, f"a header key is not UTF-8: {e}")
            rows.append(None)
    return pa.array(rows, HEADERS)


def sized(sizes: npt.NDArray[np.int64], data: npt.NDArray[np.uint8]) -> pa.Array:
    """Values of these sizes that lie end to end; a size of -1 is NULL."""
    ends = np.zeros(len(sizes) + 1, np.int32)
    np.cumsum(np.maximum(sizes, 0), out=ends[1:])
    return binary(ends, pa.py_buffer(data), sizes)


def binary(ends: npt.NDArray[np.int32], data: pa.Buffer, sizes: npt.NDArray[np.int64] | None) -> pa.Array:
    """Values between these ends; NULL where there are ``sizes`` and they say -1."""
    bits = None if sizes is None else pa.py_buffer(np.packbits(sizes >= 0, bitorder="little"))
    return pa.Array.from_buffers(pa.binary(), len(ends) - 1, [bits, pa.py_buffer(ends), data])
