"""The columns of a batch in one block of memory, as the encode kernel reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.types as kinds

from thalweg.kernels.arena import unit_of
from thalweg.kernels.encode_ops import E_DATA, E_OFFS, E_VALID

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from thalweg.kernels.memory import Bytes, Longs

_LINE = 64


class Block:
    """Copies arrays of one batch; the program learns where each lies."""

    def __init__(self, program: Longs) -> None:
        """``program`` int64[m, NODE]: its addresses are written."""
        self._program = program
        self._pieces: list[tuple[int, Bytes]] = []
        self._size = _LINE

    def add(self, nodes: Iterator[int], array: pa.Array) -> None:
        """Take an array and those below it; ``nodes`` counts the rows of the program in the same order."""
        node = self._program[next(nodes)]
        array = plain(array)
        valid = array.buffers()[0]
        node[E_VALID] = -1
        if array.null_count and valid is not None:
            node[E_VALID] = self._put(np.unpackbits(np.frombuffer(valid, np.uint8), bitorder="little")[array.offset :][: len(array)])
        kind = array.type
        if kinds.is_struct(kind):
            for i in range(kind.num_fields):
                self.add(nodes, array.field(i))
        elif kinds.is_map(kind) or kinds.is_list(kind) or kinds.is_string(kind) or kinds.is_binary(kind):
            offsets = np.frombuffer(array.buffers()[1], np.int32)[array.offset :][: len(array) + 1] if len(array) else np.zeros(1, np.int32)
            first, size = int(offsets[0]), int(offsets[-1]) - int(offsets[0])
            node[E_OFFS] = self._put((offsets - offsets[0]).view(np.uint8)) // 4
            if kinds.is_map(kind):
                self.add(nodes, array.keys.slice(first, size))
                self.add(nodes, array.items.slice(first, size))
            elif kinds.is_list(kind):
                self.add(nodes, array.values.slice(first, size))
            else:
                data = array.buffers()[2]
                node[E_DATA] = self._put(np.frombuffer(data, np.uint8)[first : first + size] if data is not None and size else None)
        elif not kinds.is_null(kind):
            self._values(node, array)

    def _values(self, node: Longs, array: pa.Array) -> None:
        """The values of a column of one width; booleans become bytes."""
        data, kind = np.frombuffer(array.buffers()[1], np.uint8) if len(array) else np.zeros(0, np.uint8), array.type
        if kinds.is_boolean(kind):
            node[E_DATA] = self._put(np.unpackbits(data, bitorder="little")[array.offset :][: len(array)])
            return
        width = kind.byte_width
        unit = 1 if kinds.is_fixed_size_binary(kind) else unit_of(width)
        node[E_DATA] = self._put(data[array.offset * width :][: len(array) * width]) // unit

    def _put(self, data: Bytes | None) -> int:
        """A place for bytes."""
        at = self._size
        if data is not None and data.size:
            self._pieces.append((at, data))
            self._size += (data.size + 2 * _LINE - 1) // _LINE * _LINE
        return at

    def memory(self) -> npt.NDArray[Any]:
        """All of it, uint8[n]."""
        block = np.empty(self._size + 2 * _LINE, np.uint8)
        start = -block.ctypes.data % _LINE
        out = block[start : start + self._size]
        for at, data in self._pieces:
            out[at : at + data.size] = data
        return out


def plain(array: pa.Array) -> pa.Array:
    """The same values in the layout that the kernel knows."""
    kind = array.type
    if kinds.is_dictionary(kind):
        return plain(array.dictionary_decode())
    if kinds.is_large_string(kind) or kinds.is_string_view(kind):
        return array.cast(pa.string())
    if kinds.is_large_binary(kind) or kinds.is_binary_view(kind):
        return array.cast(pa.binary())
    return array.cast(pa.list_(kind.value_field)) if kinds.is_large_list(kind) else array
