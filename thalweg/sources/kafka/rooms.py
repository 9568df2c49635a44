"""Where payloads are copied to: those of one epoch end to end, so that they are one column without another copy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from thalweg.kernels.blocks import blocks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from thalweg.kernels.memory import Bytes

_FIRST: Final = 1 << 16
_MOST: Final = 1 << 31
"""Bytes that Arrow's offsets can no longer count."""
_SPARE: Final = 1.125
"""An epoch may be this much larger than the one before it and still lie in one room."""


class Rooms:
    """One room an epoch, as large as the epochs so far foretell; used by the thread that takes the messages."""

    def __init__(self) -> None:
        """No room yet."""
        self._room: pa.Buffer | None = None
        self._bytes: Bytes = np.empty(0, np.uint8)
        self._at = self._used = 0
        self._wanted = _FIRST

    def begin(self) -> None:
        """The next record is the first of an epoch."""
        if self._used:
            self._wanted = max(_FIRST, int(self._used * _SPARE))
            self._room, self._used = None, 0

    def cut(self, nbytes: int) -> pa.Buffer:
        """Memory behind what was cut last, where it fits; it lives as long as the buffer."""
        if self._room is None or self._at + nbytes > self._room.size:
            self._bytes, self._at = blocks().take(max(nbytes, self._wanted)), 0
            self._room = pa.py_buffer(self._bytes)
        part = self._room.slice(self._at, nbytes)
        self._at += nbytes
        self._used += nbytes
        return part

    def moved(self, values: pa.Array) -> pa.Array:
        """A binary array copied to where it lies in front of what is cut next."""
        bits, ends, old = pa.concat_arrays([values, values.slice(0, 0)]).buffers()
        size = 0 if old is None else old.size
        place = self.cut(size)
        if size:
            self._bytes[self._at - size : self._at] = np.frombuffer(old, np.uint8)
        return pa.Array.from_buffers(pa.binary(), len(values), [bits, ends, place])


def joined(parts: Sequence[pa.Array]) -> pa.Array:
    """Binary arrays as one; nothing but offsets is copied where their values lie end to end in one room and none is NULL."""
    if any(part.null_count for part in parts):
        return pa.concat_arrays(parts)
    ends = [np.frombuffer(part.buffers()[1], np.int32)[part.offset :][: len(part) + 1] for part in parts]
    values = [part.buffers()[2] for part in parts]
    starts = [buffer.address + int(here[0]) for buffer, here in zip(values, ends, strict=True)]
    stops = [buffer.address + int(here[-1]) for buffer, here in zip(values, ends, strict=True)]
    room = values[0].parent
    if stops[-1] - starts[0] >= _MOST or room is None or any(buffer.parent is None or buffer.parent.address != room.address for buffer in values) or starts[1:] != stops[:-1]:
        return pa.concat_arrays(parts)
    moved = [here[1:] + np.int32(start - starts[0] - int(here[0])) for here, start in zip(ends, starts, strict=True)]
    offsets = np.concatenate([np.zeros(1, np.int32), *moved])
    return pa.Array.from_buffers(pa.binary(), len(offsets) - 1, [None, pa.py_buffer(offsets), room.slice(starts[0] - room.address, stops[-1] - starts[0])])
