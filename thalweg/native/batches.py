"""The loops over Kafka record batches as a broker sends them, compiled.

Record batches of format 2: https://kafka.apache.org/documentation/#recordbatch. A table has one row of :data:`WIDTH` numbers for each
batch. ``data`` is uint8[n]; every read stays inside the bounds that a table gives, or inside of ``data``. Nothing here allocates, takes the GIL or raises.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from thalweg.kernels.jit import inline, kernel
from thalweg.kernels.machine import Addresses, Int, U, copy_bytes
from thalweg.kernels.memory import long_varint, rd, unzigzag, word_varint

Octets: TypeAlias = npt.NDArray[np.uint8]
Longs: TypeAlias = npt.NDArray[np.int64]
Words: TypeAlias = npt.NDArray[np.int32]
Bytes: TypeAlias = npt.NDArray[np.int8]
Table: TypeAlias = np.ndarray[tuple[int, int], np.dtype[np.int64]]
"""int64[batches, WIDTH]."""

START, STOP, BASE, NEXT, EPOCH, FLAGS, STAMP, LATEST, PRODUCER, COUNT, WANT, PLACE = range(12)
"""Where records are in ``data``; first offset and the one behind the last; leader epoch; attributes; first and largest timestamp; producer id;
how many records; the first offset that is wanted; which partition."""
WIDTH = 12
HEAD = 61
"""Bytes in front of the records of a batch."""
WORD = 8
SMALLEST = 7
"""Bytes of a record with nothing in it."""
_LENGTH_AT, _EPOCH_AT, _MAGIC_AT, _FLAGS_AT, _LAST_AT, _STAMP_AT, _LATEST_AT, _PRODUCER_AT, _COUNT_AT = 8, 12, 16, 21, 23, 27, 35, 43, 57
_FORMAT = 2
OTHER_FORMAT, BROKEN = -1, -2
COMPRESSED, APPENDED = 7, 8
"""Bits of the attributes: the codec, and that the broker has set the timestamp."""
FRAME, AT, LEFT, LEAST = range(4)
"""A cursor: batch, position of its next record (0: its first), how many of its records are left, how far behind its first offset the next is at least."""
CURSOR = 4


@inline
def _number(data: Octets, p: Int, size: Int) -> Int:
    """A number of ``size`` bytes, big endian, signed."""
    value = U(0)
    for i in range(size):
        value = value << U(8) | U(rd(data, p + i))
    spare = U(64 - 8 * size)
    return np.int64(value << spare) >> np.int64(spare)


@kernel
def frames(data: Octets, start: Int, stop: Int, table: Table) -> Int:
    """Read the heads of the whole batches between ``start`` and ``stop`` into ``table``; how many there are, BROKEN or OTHER_FORMAT.

    A batch that does not end before ``stop`` is left out: the broker cuts an answer off anywhere. ``table`` has room for a batch each HEAD bytes.
    Offsets rise from batch to batch.
    """
    found, p, least = 0, np.int64(start), np.int64(0)
    while p + HEAD <= stop:
        size = _number(data, p + _LENGTH_AT, 4)
        if rd(data, p + _MAGIC_AT) != _FORMAT:
            return OTHER_FORMAT
        if size < HEAD - _EPOCH_AT:
            return BROKEN
        end = p + _EPOCH_AT + size
        if end > stop:
            break
        row = table[found]
        row[START], row[STOP] = p + HEAD, end
        row[BASE], row[EPOCH], row[FLAGS] = _number(data, p, 8), _number(data, p + _EPOCH_AT, 4), _number(data, p + _FLAGS_AT, 2)
        row[NEXT] = row[BASE] + _number(data, p + _LAST_AT, 4) + 1
        row[STAMP], row[LATEST] = _number(data, p + _STAMP_AT, 8), _number(data, p + _LATEST_AT, 8)
        row[PRODUCER], row[COUNT] = _number(data, p + _PRODUCER_AT, 8), _number(data, p + _COUNT_AT, 4)
        if row[COUNT] < 0 or row[BASE] < least or row[NEXT] <= row[BASE]:
            return BROKEN
        found, p, least = found + 1, end, row[NEXT]
    return found


@inline
def _varint(data: Octets, p: Int, end: Int) -> tuple[Int, Int]:
    """A zigzag number and the position behind it, which is -1 where there is none in front of ``end``; ``p`` may be negative."""
    if p < 0 or p >= end:
        return np.int64(0), np.int64(-1)
    value, behind = np.int64(0), np.int64(-1)
    if p + WORD <= len(data):
        value, behind = word_varint(data, p)
    if behind < 0 or behind > end:
        value, behind = long_varint(data, p, end)
    return unzigzag(value), behind


@inline
def _sized(data: Octets, p: Int, end: Int) -> tuple[Int, Int, Int]:
    """Size, -1 for NULL, position, and what is behind, -1 where it is not in front of ``end``."""
    size, p = _varint(data, p, end)
    if p < 0 or size < -1 or size > end - p:
        return np.int64(-1), np.int64(0), np.int64(-1)
    return size, p, p + max(size, np.int64(0))


@inline
def _headers(data: Octets, p: Int, end: Int, count: Int, totals: Longs) -> Int:
    """Step over headers and add them to ``totals``; what is behind, -1 where they are broken."""
    for _ in range(count):
        name, _, p = _sized(data, p, end)
        if p < 0 or name < 0:
            return np.int64(-1)
        value, _, p = _sized(data, p, end)
        if p < 0:
            return np.int64(-1)
        totals[2] += 1
        totals[3] += name
        totals[4] += max(value, np.int64(0))
    return p


@inline
def _record(
    data: Octets, p: Int, stop: Int, at: Int, starts: Longs, sizes: Longs, key_starts: Longs, key_sizes: Longs, header_starts: Longs,
    header_counts: Longs,
) -> tuple[Int, Int, Int]:  # fmt: skip
    """Where one record has what; its end, -1 where it is broken, and how far behind the first of its batch it is in time and in offset."""
    length, p = _varint(data, p, stop)
    end = p + length
    if p < 0 or length < SMALLEST - 1 or length > stop - p:
        return np.int64(-1), np.int64(0), np.int64(0)
    later, p = _varint(data, p + 1, end)
    further, p = _varint(data, p, end)
    key_sizes[at], key_starts[at], p = _sized(data, p, end)
    sizes[at], starts[at], p = _sized(data, p, end)
    header_counts[at], p = _varint(data, p, end)
    header_starts[at] = p
    if p < 0 or header_counts[at] < 0 or header_counts[at] > end - p:
        return np.int64(-1), np.int64(0), np.int64(0)
    return end, later, further


@kernel
def survey(
    data: Octets, table: Table, count: Int, cursor: Longs, most: Int, places: Words, offsets: Longs, stamps: Longs, kinds: Bytes, epochs: Words,
    starts: Longs, sizes: Longs, key_starts: Longs, key_sizes: Longs, header_starts: Longs, header_counts: Longs, totals: Longs,
) -> Int:  # fmt: skip
    """Read up to ``most`` records of the first ``count`` batches, from the cursor on, which is moved; how many, or BROKEN.

    A size of -1 is NULL. ``totals``: payload and key bytes, headers, bytes of their names and of their values. Offsets rise within a batch, and
    nothing lies behind a record's headers or a batch's last record.
    """
    totals[:] = 0
    found, i, p, left, least = 0, cursor[FRAME], cursor[AT], cursor[LEFT], cursor[LEAST]
    while i < count and found < most:
        row = table[i]
        if p == 0:
            p, left, least = row[START], row[COUNT], np.int64(0)
        appended = row[FLAGS] & APPENDED
        while left > 0 and found < most:
            end, later, further = _record(data, p, row[STOP], found, starts, sizes, key_starts, key_sizes, header_starts, header_counts)
            if end < 0 or further < least or further >= row[NEXT] - row[BASE]:
                return BROKEN
            p, left, least = end, left - 1, further + 1
            offsets[found] = row[BASE] + further
            if offsets[found] < row[WANT]:
                continue
            if _headers(data, header_starts[found], end, header_counts[found], totals) != end:
                return BROKEN
            places[found], epochs[found], kinds[found] = row[PLACE], row[EPOCH], np.int8(2 if appended else 1)
            stamps[found] = row[LATEST] if appended else row[STAMP] + later
            totals[0] += max(sizes[found], np.int64(0))
            totals[1] += max(key_sizes[found], np.int64(0))
            found += 1
        if left == 0:
            if p != row[STOP]:
                return BROKEN
            i, p = i + 1, np.int64(0)
    cursor[FRAME], cursor[AT], cursor[LEFT], cursor[LEAST] = i, p, left, least
    return found


@kernel
def copy(starts: Longs, sizes: Longs, count: Int, places: Addresses, ends: Words, nulls: Longs) -> None:
    """Copy values from the first address of ``places``, where they have these starts and sizes, end to end to the second.

    ``ends`` become Arrow's offsets; ``nulls`` how many are NULL.
    """
    source, to = places[0], places[1]
    end = np.int32(0)
    ends[0] = end
    nulls[0] = 0
    for i in range(count):
        size = sizes[i]
        if size > 0:
            copy_bytes(to, source + U(starts[i]), U(size))
            to += U(size)
            end += np.int32(size)
        elif size < 0:
            nulls[0] += 1
        ends[i + 1] = end


@kernel
def copy_headers(data: Octets, starts: Longs, counts: Longs, count: Int, sizes: Longs, value_sizes: Longs, places: Addresses) -> None:
    """Copy headers that :func:`survey` has seen, names to the second and values to the third address of ``places``; the first is that of ``data``."""
    source, to_name, to_value = places[0], places[1], places[2]
    end, at = np.int64(len(data)), 0
    for i in range(count):
        p = starts[i]
        for _ in range(counts[i]):
            sizes[at], start, p = _sized(data, p, end)
            copy_bytes(to_name, source + U(start), U(sizes[at]))
            to_name += U(sizes[at])
            value_sizes[at], start, p = _sized(data, p, end)
            if value_sizes[at] > 0:
                copy_bytes(to_value, source + U(start), U(value_sizes[at]))
                to_value += U(value_sizes[at])
            at += 1
