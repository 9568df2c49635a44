"""What crosses between Arrow and a decode kernel: payloads as views, and rows with a code each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from thalweg.kernels import program as p

if TYPE_CHECKING:
    import numpy.typing as npt
    import pyarrow as pa

    from thalweg.kernels.memory import Bytes, Longs, Words


@dataclass(frozen=True, slots=True)
class KernelRows:
    """What a kernel made of a batch of payloads."""

    batch: pa.RecordBatch
    rows: Words
    """For each row of ``batch`` its row in the input, ascending; int32[batch.num_rows]."""
    codes: npt.NDArray[np.uint8]
    """One of ``kernels.program`` for each input row; OK is 0."""
    positions: Longs
    """Byte in the payload at which a bad row's fault begins; int64[n], 0 for good rows."""
    places: Longs
    """Row of the program that found it."""
    details: Longs
    """What a format says of it besides."""

    @property
    def slow(self) -> npt.NDArray[np.intp]:
        """Rows that are exact but need the reference decoder."""
        return np.flatnonzero(self.codes == p.SLOW)

    @property
    def bad(self) -> npt.NDArray[np.intp]:
        """Rows with a fault."""
        return np.flatnonzero((self.codes != p.OK) & (self.codes != p.SLOW))


def payload_views(payloads: pa.BinaryArray) -> tuple[Bytes, Words, Bytes]:
    """Bytes, offsets, and which payloads there are (empty when all are), each read-only."""
    valid, offsets, data = payloads.buffers()
    rows, start = len(payloads), payloads.offset
    offs = np.frombuffer(offsets, np.int32, rows + 1, 4 * start) if rows else np.zeros(1, np.int32)
    src = np.frombuffer(data, np.uint8) if data is not None and data.size else np.zeros(0, np.uint8)
    present = np.zeros(0, np.uint8)
    if payloads.null_count:
        present = np.unpackbits(np.frombuffer(valid, np.uint8), bitorder="little")[start : start + rows]
    return readonly(src), readonly(offs), readonly(present)


def readonly(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The same memory for reading only: kernels are compiled for that."""
    view = array.view()
    view.flags.writeable = False
    return view


@dataclass(frozen=True, slots=True)
class Encoded:
    """What an encode kernel made of a batch."""

    payloads: pa.BinaryArray
    """One a row; NULL for a row that cannot be written."""
    codes: npt.NDArray[np.uint8]
    """One a row; 0 is good."""
    paths: dict[int, str]
    """Of each bad row the field that was at fault."""
