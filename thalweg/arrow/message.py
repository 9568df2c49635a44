"""Columns of an arena as one Arrow IPC message whose body is the arena itself: Arrow makes all arrays at once, and copies nothing.

The message lies before the columns. Its flatbuffer, a Message with a RecordBatch, is the same for every batch but for its numbers: the rows, the
slots and NULLs of each node, and where each buffer lies.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.types as kinds

from thalweg.kernels import program as p
from thalweg.kernels.arena import MESSAGE, unit_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from thalweg.arrow.slots import Slots
    from thalweg.kernels.arena import Arena
    from thalweg.kernels.memory import Bytes, Longs

_HEAD: Final = struct.Struct("<Ii I6H iIqhB5x 5H6x iIqI8xI")
"""The mark of a message and its size; where the Message begins, its vtable, itself; the RecordBatch's vtable, itself; how many nodes."""
_SIZE, _BODY, _ROWS, _NODES = _HEAD.size, 4, 9, 12
"""Bytes of that, and the words in it that say how long the body is and how many rows there are; the word after it."""
_MOST_LEVELS: Final = 24
"""Arrow reads 64 levels of a message; a map is two."""


def fits(column: Slots, level: int = 1) -> bool:
    """Whether a message can hold the column as it lies in the arena: nothing below it comes from elsewhere, or changes afterwards.

    A union cannot: Arrow gives it no buffers where it has no slots, and others expect them.
    """
    if column.number < 0 or column.which is not None or level > _MOST_LEVELS:
        return False
    if kinds.is_union(column.type) or isinstance(column.type, pa.BaseExtensionType):
        return False
    return all(child.is_final and not child.hidden and fits(child, level + 1) for child in column.children)


class Message:
    """The message of some columns of a table."""

    def __init__(self, schema: pa.Schema, columns: Sequence[Slots], table: Longs) -> None:
        """``schema`` says what the columns, of which each fits, are as they are stored."""
        self._schema, self._table = schema, table
        self._nobody, self._everybody = len(table), len(table) + 1
        root = 0 if table[0, p.C_VALID] >= 0 else self._nobody
        self._nullable, self._booleans = [0] if root == 0 else [], list[int]()
        nodes: list[tuple[int, int]] = []
        buffers: list[tuple[int, ...]] = []
        for column in columns:
            self._add(column, root, nodes, buffers)
        self._slots, self._absent = np.array(nodes, np.int64).T
        self._place, self._unit, self._length, self._width, self._more, self._shift, self._present = np.array(buffers, np.int64).reshape(-1, 7).T
        self._words = np.frombuffer(_head(len(nodes), len(buffers)), np.int64)

    def batch(self, arena: Arena, rows: int) -> pa.RecordBatch:
        """The columns of the first ``rows`` rows, once: bytes of validity and booleans become bits where they lie."""
        counts = np.concatenate((self._nulls(arena), arena.used))
        first, start = MESSAGE // 8, MESSAGE + self._words.nbytes
        words = arena.h64[first : first + len(self._words)]
        words[:] = self._words
        words[_BODY], words[_ROWS] = len(arena.h8) - start, rows
        end = _NODES + 2 * len(self._slots)
        words[_NODES:end:2], words[_NODES + 1 : end : 2] = arena.used[self._slots], counts[self._absent]
        present = counts[self._present] > 0
        lengths = np.concatenate((arena.used, arena.used_bytes))[self._length]
        words[end + 1 :: 2] = (arena.cols[self._place] * self._unit - start) * present
        words[end + 2 :: 2] = (lengths * self._width + self._more >> self._shift) * present
        return pa.ipc.read_record_batch(pa.py_buffer(arena.h8).slice(MESSAGE), self._schema)

    def _nulls(self, arena: Arena) -> Longs:
        """NULLs of each column with validity of its own, then 0, which stands for none, and 1, for a buffer that is always there."""
        nulls, h8, used = np.zeros(len(self._table) + 2, np.int64), arena.h8, arena.used.tolist()
        nulls[self._everybody] = 1
        for number, start in zip(self._nullable, arena.table[self._nullable, p.C_VALID].tolist(), strict=True):
            length = used[number]
            missing = length - int(np.count_nonzero(h8[start : start + length]))
            if missing:
                nulls[number] = missing
                _pack(h8, start, length)
        for number, start in zip(self._booleans, arena.table[self._booleans, p.C_DATA].tolist(), strict=True):
            _pack(h8, start, used[number])
        return nulls

    def _add(self, column: Slots, valid: int, nodes: list[tuple[int, int]], buffers: list[tuple[int, ...]]) -> None:
        """The nodes and buffers of a column whose parent is NULL where column ``valid`` says."""
        number, kind = column.number, int(self._table[column.number, p.C_KIND])
        at = number * p.FIELDS
        if kind == p.NOTHING:
            nodes.append((number, self._everybody + 1 + number))
            return
        if self._table[number, p.C_VALID] >= 0:
            valid = number
            self._nullable.append(number)
        nodes.append((number, valid))
        buffers.append((valid % self._nobody * p.FIELDS + p.C_VALID, 1, number, 1, 7, 3, valid))
        if kind in {p.BYTES, p.LIST}:
            buffers.append((at + p.C_OFFS, 4, number, 4, 4, 0, self._everybody))
        if kind == p.BYTES:
            buffers.append((at + p.C_DATA, 1, len(self._table) + number, 1, 0, 0, self._everybody))
        elif kinds.is_boolean(column.type):
            self._booleans.append(number)
            buffers.append((at + p.C_DATA, 1, number, 1, 7, 3, self._everybody))
        elif kind == p.FIXED:
            buffers.append((at + p.C_DATA, unit_of(column.width), number, column.width, 0, 0, self._everybody))
        if kinds.is_map(column.type):
            nodes.append((column.children[0].number, self._nobody))
            buffers.append((0, 1, number, 1, 7, 3, self._nobody))
        for child in column.children:
            self._add(child, valid if kind == p.STRUCT else self._nobody, nodes, buffers)


def _head(nodes: int, buffers: int) -> bytes:
    """A message whose numbers are 0."""
    size = _SIZE + 16 * (nodes + buffers)
    message, record = (16, 12, 24, 16, 18, 4, 8, 12, 36, 0, 4, 3), (10, 24, 8, 4, 16, 16, 24, 0, 20 + 16 * nodes, nodes)
    return b"".join((_HEAD.pack(0xFFFFFFFF, size, *message, *record), bytes(16 * nodes + 4), struct.pack("<I", buffers), bytes(16 * buffers)))


def _pack(memory: Bytes, start: int, length: int) -> None:
    """Bytes of 0 and 1 as bits where they begin."""
    bits = np.packbits(memory[start : start + length], None, "little")
    memory[start : start + len(bits)] = bits
