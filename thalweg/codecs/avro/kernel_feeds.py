"""Arrow arrays to the slots that the encode kernel reads: each column copied into one arena, in the form of its kind."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.types as kinds

from thalweg.kernels import program as p
from thalweg.kernels.arena import Arena, column_row, unit_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from thalweg.kernels.memory import Longs, Words


@dataclass(slots=True, eq=False)
class Feed:
    """One column as the kernel reads it."""

    number: int
    """Row in the table."""
    kind: int = p.NOTHING
    width: int = 0
    prepare: Callable[[pa.Array], pa.Array] | None = None
    """Brings an array into the form of the kind; the NULLs stay those of the array."""
    children: list[Feed] = field(default_factory=list)
    places: list[str | int] = field(default_factory=list)
    """Of each child its name in a struct, its number in a union; ``key``, ``item`` of lists and maps."""
    needed: bool = False
    """A NULL is a fault."""


def table_of(feeds: Sequence[Feed]) -> Longs:
    """The table of columns, int64[n, FIELDS], in the order of the numbers."""
    rows = [column_row(p.STRUCT, parent=-1, valid=False, shared=True)]
    for feed in walk(feeds):
        rows.append(column_row(feed.kind, width=feed.width, parent=0, valid=True, shared=False))
        rows[-1][p.C_END] = len(rows)
    return np.array(rows, np.int64)


def walk(feeds: Sequence[Feed]) -> Iterator[Feed]:
    """Every feed, parents first."""
    for feed in feeds:
        yield feed
        yield from walk(feed.children)


class Loader:
    """Copies the arrays of one batch into an arena."""

    def __init__(self, table: Longs) -> None:
        """``table`` from :func:`table_of`."""
        self._table = table
        self._found: list[tuple[Feed, pa.Array, pa.Array]] = []
        self._slots: Longs = np.zeros(len(table), np.int64)
        self._bytes: Longs = np.zeros(len(table), np.int64)
        self.has_faults = False

    def add(self, feed: Feed, array: pa.Array) -> None:
        """Take the array of a feed, and those of its children."""
        made = array if feed.prepare is None else feed.prepare(array)
        self._found.append((feed, array, made))
        self._slots[feed.number] = len(array)
        self.has_faults |= feed.needed and array.null_count > 0
        if feed.kind in {p.BYTES, p.LIST}:
            offsets = _offsets(made)
            self._bytes[feed.number] = int(offsets[-1]) - int(offsets[0]) if feed.kind == p.BYTES else 0
        for child, place in zip(feed.children, feed.places, strict=True):
            self.add(child, _child(made, place))

    def arena(self) -> Arena:
        """All of them in one block."""
        arena = Arena(self._table, self._slots, self._bytes)
        for feed, array, made in self._found:
            row, rows = arena.table[feed.number], len(array)
            arena.h8[row[p.C_VALID] :][:rows] = _bits(array, 0) if array.null_count else 1
            if feed.kind == p.UNION:
                tags, places = union_slots(made)
                arena.h8[row[p.C_DATA] :][:rows] = tags.view(np.uint8)
                arena.h32[row[p.C_OFFS] :][:rows] = places
            elif feed.kind in {p.BYTES, p.LIST}:
                offsets = _offsets(made)
                arena.h32[row[p.C_OFFS] :][: rows + 1] = offsets - offsets[0]
                if feed.kind == p.BYTES and offsets[-1] > offsets[0]:
                    arena.h8[row[p.C_DATA] :][: offsets[-1] - offsets[0]] = np.frombuffer(made.buffers()[2], np.uint8)[offsets[0] : offsets[-1]]
            elif feed.kind == p.FIXED:
                start, size = int(row[p.C_DATA]) * unit_of(feed.width), feed.width * rows
                arena.h8[start:][:size] = _values(made, feed.width)
        return arena


def union_slots(array: pa.UnionArray) -> tuple[np.ndarray[tuple[int], np.dtype[np.int8]], Words]:
    """Type codes and places of a dense union's own slots: pyarrow's properties forget where a slice begins."""
    if len(array) == 0:
        return np.zeros(0, np.int8), np.zeros(0, np.int32)
    tags, places = np.frombuffer(array.buffers()[1], np.int8), np.frombuffer(array.buffers()[2], np.int32)
    return tags[array.offset : array.offset + len(array)], places[array.offset : array.offset + len(array)]


def _offsets(array: pa.Array) -> Words:
    """The offsets of the array's own slots."""
    if len(array) == 0:
        return np.zeros(1, np.int32)
    return np.frombuffer(array.buffers()[1], np.int32)[array.offset : array.offset + len(array) + 1]


def _values(array: pa.Array, width: int) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    """The bytes of the values; booleans one byte each."""
    if kinds.is_boolean(array.type):
        return _bits(array, 1)
    data = array.buffers()[1]
    raw = np.frombuffer(data, np.uint8) if data is not None and data.size else np.zeros(0, np.uint8)
    return raw[array.offset * width : (array.offset + len(array)) * width]


def _bits(array: pa.Array, buffer: int) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    """A bitmap as bytes of 0 and 1."""
    if buffer == 0 and (kinds.is_null(array.type) or array.buffers()[0] is None):
        return np.asarray(array.is_valid()).view(np.uint8)
    if len(array) == 0:
        return np.zeros(0, np.uint8)
    bits = np.unpackbits(np.frombuffer(array.buffers()[buffer], np.uint8), bitorder="little")
    return bits[array.offset : array.offset + len(array)]


def _child(array: pa.Array, place: str | int) -> pa.Array:
    """The array of a child."""
    if kinds.is_struct(array.type) or kinds.is_union(array.type):
        return array.field(place)
    offsets = _offsets(array)
    inner = array.keys if place == "key" else array.items if kinds.is_map(array.type) else array.values
    return inner.slice(int(offsets[0]), int(offsets[-1]) - int(offsets[0])) if len(inner) else inner
