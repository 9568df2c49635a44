"""Batches with payloads too long for a kernel: it makes room for the longest in every column, so those are left out where memory lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np
import pyarrow as pa

from thalweg.arrow.kernel_rows import payload_views

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

T = TypeVar("T")


def in_room(payloads: pa.BinaryArray, decode: Callable[[pa.BinaryArray, npt.NDArray[np.intp]], T]) -> tuple[T, npt.NDArray[np.intp]] | None:
    """What ``decode`` makes of the payloads, and which it was given: all, or those short enough that it raises no MemoryError.

    ``decode`` is called with payloads and their numbers, ascending; what it raised MemoryError for has left no trace. None where nothing fits.
    """
    rows = np.arange(len(payloads))
    some, lengths = payloads, np.diff(payload_views(payloads)[1])
    most = int(lengths.max(initial=0))
    while True:
        try:
            return decode(some, rows), rows
        except MemoryError:
            before = len(rows)
        while len(rows) == before and most:
            most //= 2
            rows = np.flatnonzero(lengths <= most)
        if not most or not len(rows):
            return None
        some = payloads.take(pa.array(rows, pa.int64()))
