"""Bytes at the beginning of every payload of a batch, without a Python object each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from thalweg.arrow.kernel_rows import payload_views

if TYPE_CHECKING:
    import numpy.typing as npt

_END: Final = (1 << 31) - 1
"""No payload is longer; without an end pyarrow counts the room that it needs below zero."""


@dataclass(frozen=True, slots=True)
class Front:
    """Payloads as bytes and places."""

    src: npt.NDArray[np.uint8]
    starts: npt.NDArray[np.int64]
    sizes: npt.NDArray[np.int64]

    def longer(self, least: int) -> npt.NDArray[np.bool_]:
        """Which payloads have at least so many bytes, bool[n]."""
        return np.asarray(self.sizes >= least)

    def bytes_at(self, rows: npt.NDArray[np.intp], at: int, count: int) -> npt.NDArray[np.uint8]:
        """``count`` bytes from position ``at`` of some payloads, which have them: uint8[len(rows), count]."""
        return np.asarray(self.src[(self.starts[rows] + at)[:, None] + np.arange(count)])


def front(payloads: pa.BinaryArray) -> Front:
    """The places of all payloads."""
    src, offs, _ = payload_views(payloads)
    wide = offs.astype(np.int64)
    return Front(src, wide[:-1], np.diff(wide))


def without(payloads: pa.BinaryArray, rows: npt.NDArray[np.intp], skip: int) -> pa.BinaryArray:
    """Some payloads without their first ``skip`` bytes, which all of them have: binary[len(rows)]."""
    taken = payloads if len(rows) == len(payloads) else payloads.take(pa.array(rows, pa.int64()))
    if not skip or not len(taken):
        return taken
    return pc.binary_slice(taken, skip, _END)
