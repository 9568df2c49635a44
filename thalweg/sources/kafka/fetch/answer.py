"""The record batches of one answer: which of them count, and their records as columns, some at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from thalweg.arrow.batch import BadRows
from thalweg.sources.kafka.columns import binary, headers, sized
from thalweg.sources.kafka.fetch.inflate import inflate
from thalweg.sources.kafka.fetch.messages import Garbled
from thalweg.sources.kafka.reader import Fields

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    import numpy.typing as npt

    from thalweg.sources.kafka.fetch.inflate import Piece
    from thalweg.sources.kafka.fetch.messages import Part
    from thalweg.sources.kafka.reader import Key
    from thalweg.sources.kafka.rooms import Rooms

_WINDOW: Final = 1 << 23
"""Bytes that are inflated before their records are taken; a batch that holds more comes alone."""
_MOST: Final = 1 << 30
"""Bytes of such a window with its last batch: Arrow's offsets have 31 bits."""
_COMPRESSED, _TRANSACTIONAL, _CONTROL = 0x07, 0x10, 0x20
_ABORT: Final = 0
_MARKER: Final = 4
"""Bytes of the key of a transaction's end: a version and a kind, two bytes each."""
_MARKER_BATCH: Final = 1 << 16


class Batches:
    """Record batches that wait to be taken. Their memory is that of the answer, so no other may come before they are done with."""

    def __init__(self, loops: Any, data: npt.NDArray[np.uint8], parts: Sequence[tuple[Part, int]]) -> None:  # noqa: ANN401 - a module
        """``parts`` come with the offset that was asked for. Raises Garbled."""
        self._loops = loops
        self._keys = tuple(part.key for part, _ in parts)
        self._data = data
        tables = [self._read(part, wanted, place) for place, (part, wanted) in enumerate(parts)]
        self.next = {part.key: int(table[-1, loops.NEXT]) for (part, _), table in zip(parts, tables, strict=True) if len(table)}
        """Offset behind the last batch, of partitions that have one."""
        self.epochs = {part.key: int(table[-1, loops.EPOCH]) for (part, _), table in zip(parts, tables, strict=True) if len(table)}
        """Leader epoch of the last batch."""
        shown = [table[_visible(loops, data, table, part.aborted)] for (part, _), table in zip(parts, tables, strict=True)]
        table = np.concatenate([part[part[:, loops.COUNT] > 0] for part in shown] or [np.zeros((0, loops.WIDTH), np.int64)])
        count = 0 if (table[:, loops.FLAGS] & _COMPRESSED).any() else len(table)
        self._table, self._packed = table[:count], table[count:]
        self._answer = data
        self._check_counts()
        self._cursor = np.zeros(loops.CURSOR, np.int64)

    def __bool__(self) -> bool:
        """Whether a batch is left."""
        return int(self._cursor[self._loops.FRAME]) < len(self._table) or len(self._packed) > 0

    def drop(self, gone: Collection[Key]) -> None:
        """Forget everything of these partitions that was not taken."""
        loops, cursor = self._loops, self._cursor
        rest, places = self._table[int(cursor[loops.FRAME]) :], [place for place, key in enumerate(self._keys) if key in gone]
        kept = ~np.isin(rest[:, loops.PLACE], places)
        begun = len(kept) > 0 and bool(kept[0])
        self._table, self._packed = rest[kept], self._packed[~np.isin(self._packed[:, loops.PLACE], places)]
        cursor[loops.FRAME] = 0
        if not begun:
            cursor[:] = 0

    def take(self, most: int, rooms: Rooms) -> Fields | None:
        """The next records, up to ``most``; None where none is left. Raises Garbled, after which the rest is of no use."""
        while self:
            left = self._table[int(self._cursor[self._loops.FRAME]) :, self._loops.COUNT]
            if not len(left):
                self._inflate()
                continue
            found = Found(max(1, min(most, int(left.sum()))))
            rows = found.survey(self._loops, self._data, self._table, self._cursor)
            if rows < 0:
                raise Garbled("a record cannot be read")
            if rows:
                return self._fields(found, rows, rooms)
        return None

    def _read(self, part: Part, wanted: int, place: int) -> npt.NDArray[np.int64]:
        """The heads of a partition's batches."""
        loops = self._loops
        table = np.empty(((part.stop - part.start) // loops.HEAD, loops.WIDTH), np.int64)
        count = loops.frames(self._data, part.start, part.stop, table)
        if count < 0:
            reason = "a record batch of an older format" if count == loops.OTHER_FORMAT else "a record batch whose head cannot be right"
            raise Garbled(f"{part.key[0]}[{part.key[1]}]: {reason}")
        if count == 0 and part.stop > part.start:
            raise Garbled(f"{part.key[0]}[{part.key[1]}]: an answer without one whole record batch")
        table = table[:count].copy()
        if count and table[-1, loops.NEXT] <= wanted:
            raise Garbled(f"{part.key[0]}[{part.key[1]}]: an answer with nothing from the offset on that was asked for")
        table[:, loops.WANT], table[:, loops.PLACE] = wanted, place
        return table

    def _inflate(self) -> None:
        """Put the next batches into one memory, none of them compressed."""
        loops, at, count, source = self._loops, 0, 0, memoryview(self._answer.data)
        pieces: list[Piece | memoryview] = []
        for row in self._packed:
            data = source[row[loops.START] : row[loops.STOP]]
            codec = int(row[loops.FLAGS]) & _COMPRESSED
            found = inflate(codec, data, _MOST - at) if codec else [data]
            row[loops.START] = at
            at += sum(len(piece) for piece in found)
            row[loops.STOP] = at
            if at > _MOST:
                raise Garbled(f"record batches hold more than {_MOST:,} bytes")
            pieces += found
            count += 1
            if at >= _WINDOW:
                break
        self._table, self._packed = self._packed[:count], self._packed[count:]
        self._cursor[:] = 0
        self._check_counts()
        self._data = np.empty(at, np.uint8)
        while pieces:  # from the last on, each let go of when it is copied, so that nothing is in memory twice
            piece = pieces.pop()
            at -= len(piece)
            self._data[at : at + len(piece)] = np.frombuffer(piece, np.uint8)

    def _check_counts(self) -> None:
        """No batch may claim more records than fit into it: memory is made for as many."""
        loops, table = self._loops, self._table
        if (table[:, loops.COUNT] * loops.SMALLEST > table[:, loops.STOP] - table[:, loops.START]).any():
            raise Garbled("a record batch claims more records than it has room for")

    def _fields(self, found: Found, rows: int, rooms: Rooms) -> Fields:
        """The second pass: copy what was found."""
        nbytes, key_bytes, bad = int(found.totals[0]), int(found.totals[1]), BadRows()
        keys = np.empty(key_bytes, np.uint8)
        places = found.places[:rows]
        runs = places[np.append(0, np.flatnonzero(places[1:] != places[:-1]) + 1)]
        used = np.unique(runs)
        return Fields(
            tuple(self._keys[place] for place in used), np.searchsorted(used, places).astype(np.int32), found.offsets[:rows],
            self._copied(found.starts, found.sizes, rows, rooms.cut(nbytes)), self._copied(found.key_starts, found.key_sizes, rows, pa.py_buffer(keys)),
            found.epochs[:rows], found.kinds[:rows], found.stamps[:rows], self._headers(found, rows, bad) if found.totals[2] else None,
            nbytes + key_bytes, bad,
        )  # fmt: skip

    def _copied(self, starts: npt.NDArray[np.int64], sizes: npt.NDArray[np.int64], rows: int, to: pa.Buffer) -> pa.Array:
        """Values that have these places in the answer."""
        ends, nulls = np.empty(rows + 1, np.int32), np.zeros(1, np.int64)
        self._loops.copy(starts, sizes, rows, np.array([self._data.ctypes.data, to.address], np.uint64), ends, nulls)
        return binary(ends, to, sizes[:rows] if nulls[0] else None)

    def _headers(self, found: Found, rows: int, bad: BadRows) -> pa.Array:
        """The header column."""
        _, _, count, name_bytes, value_bytes = (int(n) for n in found.totals)
        sizes, value_sizes = np.empty(count, np.int64), np.empty(count, np.int64)
        name, value = np.empty(name_bytes, np.uint8), np.empty(value_bytes, np.uint8)
        places = np.array([self._data.ctypes.data, name.ctypes.data, value.ctypes.data], np.uint64)
        self._loops.copy_headers(self._data, found.header_starts, found.header_counts, rows, sizes, value_sizes, places)
        return headers(found.header_counts[:rows], sized(sizes, name), sized(value_sizes, value), bad)


class Found:
    """What the first pass over records finds: everything of one size, and how much there is to copy."""

    def __init__(self, count: int) -> None:
        """Room for ``count`` records."""
        self.places, self.epochs = (np.empty(count, np.int32) for _ in range(2))
        self.kinds = np.empty(count, np.int8)
        self.offsets, self.stamps, self.starts, self.sizes, self.key_starts, self.key_sizes = (np.empty(count, np.int64) for _ in range(6))
        self.header_starts, self.header_counts = np.empty(count, np.int64), np.empty(count, np.int64)
        self.totals = np.zeros(5, np.int64)

    def survey(
        self, loops: Any, data: npt.NDArray[np.uint8], table: npt.NDArray[np.int64], cursor: npt.NDArray[np.int64]  # noqa: ANN401 - a module
    ) -> int:
        """The first pass, over as many records as there is room for at most; how many, negative where one is broken."""
        return int(loops.survey(
            data, table, len(table), cursor, len(self.places), self.places, self.offsets, self.stamps, self.kinds, self.epochs, self.starts, self.sizes,
            self.key_starts, self.key_sizes, self.header_starts, self.header_counts, self.totals,
        ))  # fmt: skip


def _visible(loops: Any, data: npt.NDArray[np.uint8], table: npt.NDArray[np.int64], aborted: Sequence[tuple[int, int]]) -> npt.NDArray[np.bool_]:  # noqa: ANN401 - a module
    """Which batches hold records that count: none of the broker's own, none of a transaction that was aborted."""
    control: npt.NDArray[np.bool_] = (table[:, loops.FLAGS] & _CONTROL) != 0
    if not aborted:
        return np.logical_not(control)
    shown, waiting, aborting = np.logical_not(control), sorted(aborted, key=lambda found: -found[1]), set()
    for i in np.flatnonzero(table[:, loops.FLAGS] & _TRANSACTIONAL):
        producer = int(table[i, loops.PRODUCER])
        while waiting and waiting[-1][1] < table[i, loops.NEXT]:
            aborting.add(waiting.pop()[0])
        if not control[i]:
            shown[i] = producer not in aborting
        elif table[i, loops.COUNT] and _ends_aborted(loops, data, table[i : i + 1]):
            aborting.discard(producer)
    return shown


def _ends_aborted(loops: Any, data: npt.NDArray[np.uint8], table: npt.NDArray[np.int64]) -> bool:  # noqa: ANN401 - a module
    """Whether the first record of a control batch says that its transaction was aborted. Raises Garbled."""
    table, found = table.copy(), Found(1)
    table[0, loops.WANT] = 0
    if codec := int(table[0, loops.FLAGS]) & _COMPRESSED:
        pieces = inflate(codec, memoryview(data.data)[table[0, loops.START] : table[0, loops.STOP]], _MARKER_BATCH)
        data = np.frombuffer(bytearray(b"".join(pieces)), np.uint8)
        table[0, loops.START], table[0, loops.STOP] = 0, len(data)
    if found.survey(loops, data, table, np.zeros(loops.CURSOR, np.int64)) != 1 or found.key_sizes[0] < _MARKER:
        raise Garbled("the end of a transaction cannot be read")
    start = int(found.key_starts[0])
    return int.from_bytes(data[start : start + _MARKER].tobytes()[2:]) == _ABORT
