"""The memory of a batch: one aligned block that holds every column, seen through typed views, and how large to make it."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

from thalweg.kernels.blocks import blocks
from thalweg.kernels.calling import address
from thalweg.kernels.columns import usage
from thalweg.kernels.program import (
    BYTES,
    C_BCAP,
    C_CAP,
    C_COUNT,
    C_DATA,
    C_KIND,
    C_OFFS,
    C_PARENT,
    C_SHARED,
    C_VALID,
    C_WIDTH,
    FIELDS,
    FIXED,
    LIST,
    MOST_SLOTS,
    P_COLUMN,
    P_OFFS,
    P_VALID,
    SCRATCH,
    UNION,
    WORDS,
)

if TYPE_CHECKING:
    from thalweg.kernels.memory import Bytes, Longs

MESSAGE = 256
"""Where an arena has room for a message to Arrow about its columns; after the scratch and a gap."""
_MESSAGE_WORDS = 10
"""Words that a message takes for a column: the slots and NULLs of up to two nodes, three buffers; a map has two of each."""
_LINE = 64
"""Arrow likes its buffers aligned to 64 bytes, and words that are written past a value's end land in the gap."""
_GROWTH = 1.25


class Arena:
    """One block of memory, laid out by a table of columns. The arrays that are made from it keep it alive."""

    def __init__(self, table: Longs, slots: Longs, nbytes: Longs, *, zeroed: bool = False) -> None:
        """``table`` is int64[n, FIELDS]; ``slots`` and ``nbytes`` int64[n] say what each column has room for.

        ``zeroed`` memory costs little (the system hands it out so) and lets a kernel leave what is unset.
        """
        self.table = table.copy()
        self._pieces = _pieces(table[:, :C_DATA].tobytes())
        self.zeroed = zeroed
        counters = int(table[:, C_COUNT].max(initial=-1)) + 1
        self.counters: Longs = np.zeros(counters, np.int64)
        self.used: Longs = np.zeros(len(table), np.int64)
        self.used_bytes: Longs = np.zeros(len(table), np.int64)
        self._lay_out(slots, nbytes)

    @property
    def cols(self) -> Longs:
        """The table with all addresses, int64[n * FIELDS], as kernels take it."""
        return self.table.reshape(-1)

    def link(self, program: Longs) -> None:
        """Write the columns' addresses into a program, int64[m, WORDS]; rows without a column go to scratch."""
        columns = program[:, P_COLUMN]
        # Both have validity, values and offsets side by side; -1 reads the last row, which counts for nothing.
        program[:, P_VALID : P_OFFS + 1] = self.table[columns, C_VALID : C_OFFS + 1] * (columns >= 0)[:, None]

    def measure(self, rows: int) -> None:
        """Fill ``used`` and ``used_bytes`` with what is in use after ``rows`` rows."""
        usage(self.cols, rows, self.h32, self.counters, self.used, self.used_bytes)

    def grow(self, done: int, rows: int, need: int) -> bool:
        """Make room for a row that may take ``need`` slots and bytes, and for those after it as far as ``done`` rows foretell.

        False when a column would have more slots than Arrow's offsets can count; nothing is changed then.
        """
        self.measure(done)
        ahead = _GROWTH * rows / max(done, 1)
        slots = self._larger(C_CAP, self.used, ahead, need)
        slots = np.where(self.table[:, C_SHARED] == 1, self.table[:, C_CAP], slots)
        nbytes = np.where(self.table[:, C_KIND] == BYTES, self._larger(C_BCAP, self.used_bytes, ahead, need), 0)
        if max(slots.max(), nbytes.max()) > MOST_SLOTS:
            return False
        old, memory = self.table.copy(), self.h8
        self._lay_out(slots, nbytes)
        self._move(old, memory)
        return True

    def _larger(self, field: int, used: Longs, ahead: float, need: int) -> Longs:
        """New capacities: unchanged where there is room for four such rows."""
        now = self.table[:, field]
        wanted = np.minimum(np.maximum(2 * now, (used * ahead).astype(np.int64)), MOST_SLOTS - 4 * need)
        grown: Longs = np.where(now - used >= 4 * need, now, np.maximum(wanted, used) + 4 * need)
        return grown

    def _lay_out(self, slots: Longs, nbytes: Longs) -> None:
        """Give every column its place in a fresh block."""
        table = self.table
        table[:, C_CAP], table[:, C_BCAP] = slots, nbytes
        word, shift, room, each, more = self._pieces
        steps = np.concatenate((slots, nbytes))[room] * each + more & -_LINE
        first = _after(MESSAGE, 8 * _MESSAGE_WORDS * (len(table) + 2))
        ends = steps.cumsum() + first
        self.cols[word] = ends - steps >> shift
        place = int(ends[-1]) if len(ends) else first
        size = place + 2 * _LINE
        block = np.zeros(size, np.uint8) if self.zeroed else blocks().take(size)
        start = -address(block) % _LINE
        self.h8: Bytes = block[start : start + place]
        self.h32, self.h64 = self.h8.view(np.int32), self.h8.view(np.int64)
        self.f32, self.f64 = self.h8.view(np.float32), self.h8.view(np.float64)
        self.h8[:SCRATCH] = 0
        self.h32[table[table[:, C_OFFS] > 0, C_OFFS]] = 0

    def _move(self, old: Longs, memory: Bytes) -> None:
        """Copy what is in use from another block."""
        for was, now, used, used_bytes in zip(old, self.table, self.used.tolist(), self.used_bytes.tolist(), strict=True):
            kind, width = int(now[C_KIND]), int(now[C_WIDTH])
            pieces = [(C_VALID, 1, used if now[C_VALID] >= 0 else 0)]
            if kind in {BYTES, LIST, UNION}:
                pieces.append((C_OFFS, 4, 4 * (used + (kind != UNION))))
            if kind in {BYTES, UNION}:
                pieces.append((C_DATA, 1, used_bytes if kind == BYTES else used))
            elif kind == FIXED:
                pieces.append((C_DATA, unit_of(width), width * used))
            for field, unit, size in pieces:
                target, source = int(now[field]) * unit, int(was[field]) * unit
                self.h8[target : target + size] = memory[source : source + size]


class Sizes:
    """What the batches so far say about the next one: slots and bytes a row of each column."""

    def __init__(self, table: Longs) -> None:
        """``table`` is int64[n, FIELDS]."""
        self._shared = table[:, C_SHARED] == 1
        self._bytes = table[:, C_KIND] == BYTES
        self._slots_per_row = np.full(len(table), 2.0)
        self._bytes_per_row: np.ndarray[tuple[int], np.dtype[np.float64]] | None = None

    def guess(self, rows: int, payload_bytes: int, need: int) -> tuple[Longs, Longs]:
        """Slots and bytes to begin with, for ``rows`` rows of which one may take ``need`` slots and bytes."""
        slots = np.where(self._shared, rows + 1, (self._slots_per_row * rows * _GROWTH).astype(np.int64) + 4 * need)
        if self._bytes_per_row is None:
            first = np.full(len(self._shared), payload_bytes // max(int(self._bytes.sum()), 1))
        else:
            first = (self._bytes_per_row * rows * _GROWTH).astype(np.int64)
        return np.minimum(slots, MOST_SLOTS), np.where(self._bytes, np.minimum(first + 4 * need, MOST_SLOTS), 0)

    def learn(self, rows: int, used: Longs, used_bytes: Longs) -> None:
        """Take what ``rows`` rows of a batch used."""
        if rows:
            self._slots_per_row, self._bytes_per_row = used / rows, used_bytes / rows


def unit_of(width: int) -> int:
    """Bytes of one unit of ``C_DATA`` for a slot of ``width`` bytes."""
    return 4 if width == 4 else 8 if width and width % 8 == 0 else 1  # noqa: PLR2004 - widths of int32 and int64


@functools.lru_cache(maxsize=256)
def _pieces(heads: bytes) -> Longs:
    """Of every buffer of a table, of which ``heads`` has the words before ``C_DATA``: int64[5, n].

    Where its address goes, and the shift that makes the address of a byte's; where, in slots and then bytes that there is room for, it says how much
    the buffer must hold; how many bytes that is for each; how many more there are with the gap.
    """
    rows = np.frombuffer(heads, np.int64).reshape(-1, C_DATA).tolist()
    pieces, gap = [], 2 * _LINE - 1
    for t, row in enumerate(rows):
        kind, width = row[C_KIND], row[C_WIDTH]
        if row[C_VALID] >= 0:
            pieces.append([t * FIELDS + C_VALID, 0, t, 1, gap])
        if kind in {BYTES, LIST, UNION}:
            pieces.append([t * FIELDS + C_OFFS, 2, t, 4, 4 + gap])
        if kind in {BYTES, UNION}:
            pieces.append([t * FIELDS + C_DATA, 0, t + len(rows) * (kind == BYTES), 1, gap])
        elif kind == FIXED:
            pieces.append([t * FIELDS + C_DATA, unit_of(width).bit_length() - 1, t, width, gap])
    return np.array(pieces, np.int64).reshape(-1, 5).T


def column_row(kind: int, *, width: int = 0, parent: int, valid: bool, shared: bool, count: int = -1) -> list[int]:
    """A row of the table before its subtree and its addresses are known."""
    row = [0] * FIELDS
    row[C_KIND], row[C_WIDTH], row[C_PARENT], row[C_VALID] = kind, width, parent, 0 if valid else -1
    row[C_SHARED], row[C_COUNT] = int(shared), count
    return row


def program_of(rows: list[list[int]]) -> Longs:
    """Rows of a program as the int64[m, WORDS] that kernels take."""
    return np.array(rows, np.int64).reshape(-1, WORDS)


def _after(place: int, size: int) -> int:
    """The next free place, a line apart."""
    return (place + size + 2 * _LINE - 1) // _LINE * _LINE
