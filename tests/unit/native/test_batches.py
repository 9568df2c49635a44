"""The loops over record batches: heads, records, values and headers, and bytes that claim what is not there."""

from __future__ import annotations

import struct
from dataclasses import replace

import numpy as np
import pytest

from tests.oracle.record_batches import APPENDED, HEAD, Batch, Record, varint
from tests.oracle.record_reader import Head, Row, Walk, heads, record
from thalweg.native import batches as loops
from thalweg.sources.kafka.fetch.answer import Found

RECORD = Record(b"value", b"key", 0, 5, ((b"name", b"content"),))
BATCH = Batch((RECORD, Record(delta=3)), 10, stamp=1_000, latest=2_000, epoch=4)
LONG = (1 << 63) - 1


def octets(data: bytes) -> np.ndarray:
    """Bytes as the loops take them."""
    return np.frombuffer(bytearray(data), np.uint8)


def framed(data: bytes, start: int = 0, stop: int | None = None) -> tuple[int, np.ndarray]:
    """What ``frames`` says, and its table, which has no row more than it may need."""
    stop = len(data) if stop is None else stop
    table = np.zeros(((stop - start) // loops.HEAD, loops.WIDTH), np.int64)
    return loops.frames(octets(data), start, stop, table), table


def surveyed(batch: Batch, most: int = 100, wanted: int = 0) -> tuple[int, Found]:
    """What ``survey`` says of one batch, and what it has found."""
    data = batch.encode()
    count, table = framed(data)

    assert count == 1

    table[0, loops.WANT] = wanted
    found = Found(most)
    return found.survey(loops, octets(data), table, np.zeros(loops.CURSOR, np.int64)), found


def bent(at: int, layout: str, *numbers: int) -> bytes:
    """A batch whose head says something else."""
    data = bytearray(BATCH.encode())
    struct.pack_into(f">{layout}", data, at, *numbers)
    return bytes(data)


def test_heads_are_read() -> None:
    """Every field of a head lands in its place; negative numbers stay negative (KF-01)."""
    data = Batch((Record(), Record(delta=1)), 1 << 40, 1, 0x78, -1, -1, 1 << 41, 77, last=9).encode()
    count, table = framed(b"abc" + data + b"end", 3, 3 + len(data))

    assert count == 1
    assert table[0, : loops.WANT].tolist() == [3 + HEAD, 3 + len(data), 1 << 40, (1 << 40) + 10, -1, 0x79, -1, 1 << 41, 77, 2]


@pytest.mark.parametrize("missing", [1, 10, HEAD, HEAD + 20])
def test_a_cut_batch_is_left_out(missing: int) -> None:
    """A broker cuts its answer off anywhere; what is whole in front of that counts."""
    data = BATCH.encode()
    last = replace(BATCH, base=20).encode()

    assert framed(data + last[: len(last) - missing])[0] == 1


def test_nothing_whole() -> None:
    """No batch in less than a head, or in half a batch."""
    data = BATCH.encode()

    assert [framed(data[:size])[0] for size in (0, 1, HEAD - 1, HEAD, len(data) - 1)] == [0] * 5


@pytest.mark.parametrize("magic", [0, 1, 3, 255])
def test_other_formats_are_refused(magic: int) -> None:
    """Message sets of old brokers are told apart by one byte."""
    assert framed(bent(16, "B", magic))[0] == loops.OTHER_FORMAT


@pytest.mark.parametrize(
    ("at", "layout", "number"),
    [(8, "i", -1), (8, "i", 48), (8, "i", -(1 << 31)), (57, "i", -1), (23, "i", -1), (23, "i", -(1 << 31)), (0, "q", -1), (0, "q", LONG), (0, "q", LONG - 3)],
)
def test_heads_that_cannot_be_right(at: int, layout: str, number: int) -> None:
    """Sizes below a head, negative counts, and offsets that are negative or end behind the largest."""
    assert framed(bent(at, layout, number))[0] == loops.BROKEN


@pytest.mark.parametrize("base", [0, 9, 13])
def test_batches_rise(base: int) -> None:
    """A batch does not begin in front of the end of the one before it."""
    assert framed(BATCH.encode() + replace(BATCH, base=base).encode())[0] == loops.BROKEN
    assert framed(BATCH.encode() + replace(BATCH, base=14).encode())[0] == 2


def test_records_are_found() -> None:
    """Offsets, times, sizes and places; NULL is -1 (REP-06)."""
    batch = replace(BATCH, records=(RECORD, Record(None, b"", 3, -7), Record(b"", None, 4)))
    count, found = surveyed(batch)
    data = batch.encode()

    assert count == 3
    assert found.offsets[:3].tolist() == [10, 13, 14]
    assert found.stamps[:3].tolist() == [1_005, 993, 1_000]
    assert found.sizes[:3].tolist() == [5, -1, 0]
    assert found.key_sizes[:3].tolist() == [3, 0, -1]
    assert found.epochs[:3].tolist() == [4, 4, 4]
    assert found.kinds[:3].tolist() == [1, 1, 1]
    assert found.totals.tolist() == [5, 3, 1, 4, 7]
    assert data[found.starts[0] :][:5] == b"value"
    assert data[found.key_starts[0] :][:3] == b"key"


def test_the_broker_may_set_the_time() -> None:
    """Then all records have the largest of their batch (MET-06)."""
    _, found = surveyed(replace(BATCH, flags=APPENDED))

    assert found.stamps[:2].tolist() == [2_000, 2_000]
    assert found.kinds[:2].tolist() == [2, 2]


def test_times_wrap() -> None:
    """A time that no clock shows ends nothing."""
    count, found = surveyed(replace(BATCH, stamp=LONG))

    assert count == 2
    assert found.stamps[0] == -(1 << 63) + 4


@pytest.mark.parametrize(("wanted", "offsets"), [(0, [10, 13]), (11, [13]), (13, [13]), (14, [])])
def test_records_in_front_are_passed_over(wanted: int, offsets: list[int]) -> None:
    """A batch is sent whole, whichever of its offsets was asked for; headers of those in front do not count."""
    count, found = surveyed(BATCH, wanted=wanted)

    assert found.offsets[:count].tolist() == offsets
    assert found.totals[2] == (1 if wanted <= 10 else 0)


def test_a_cursor_goes_on() -> None:
    """One record at a time, across batches, is what all at once are."""
    data = BATCH.encode() + replace(BATCH, base=20).encode()
    count, table = framed(data)
    cursor, offsets = np.zeros(loops.CURSOR, np.int64), []
    while cursor[loops.FRAME] < count:
        found = Found(1)

        assert found.survey(loops, octets(data), table, cursor) == 1

        offsets.append(int(found.offsets[0]))

    assert offsets == [10, 13, 20, 23]
    assert cursor[: loops.LEAST].tolist() == [2, 0, 0]
    assert Found(1).survey(loops, octets(data), table, cursor) == 0


@pytest.mark.parametrize("deltas", [(0, 0), (3, 2), (-1, 0), (0, 4), (0, 1 << 31), (1 << 62, -1)])
@pytest.mark.parametrize("most", [1, 2])
def test_offsets_rise_within_a_batch(deltas: tuple[int, ...], most: int) -> None:
    """Offsets that fall, repeat, or lie outside of their batch are no offsets, wherever the cursor stood between two of them."""
    data = replace(BATCH, records=tuple(Record(delta=delta) for delta in deltas), last=3).encode()
    _, table = framed(data)
    cursor = np.zeros(loops.CURSOR, np.int64)

    said = [Found(most).survey(loops, octets(data), table, cursor) for _ in range(2)]

    assert loops.BROKEN in said


def claims() -> list[bytes]:
    """Records that claim what is not there."""
    body = RECORD.encode()[1:]
    fixed = b"\0" + varint(5) + varint(0)
    return [
        b"", b"\x80" * 9, b"\xff" * 10 + b"\x01", varint(-1), varint(0) + b"\0" * 9, varint(5) + b"\0" * 9, varint(len(body) + 1) + body, varint(len(body) - 1) + body,
        *(varint(len(tail)) + tail for tail in (
            fixed + varint(99) + b"abcdef", fixed + varint(-2) + b"abcdef", fixed + varint(LONG) + b"abcdef", fixed + varint(-(1 << 63)) + b"abcdef",
            fixed + varint(-2) + varint(-1) + varint(0), fixed + varint(-1) + varint(-2) + varint(0), fixed + varint(-1) + varint(-1) + varint(1) + varint(0) + varint(-2),
            fixed + varint(-1) + varint(99) + b"abc", fixed + varint(-1) + varint(-1) + varint(-1) + b"ab", fixed + varint(-1) * 3, fixed + varint(-1) + varint(-1) + varint(LONG) + b"ab",
            fixed + varint(-1) + varint(-1) + varint(2) + varint(-1) + varint(0), fixed + varint(-1) + varint(-1) + varint(1) + varint(1) + b"n" + varint(9),
            fixed + varint(-1) + varint(-1) + varint(1) + b"\x80", fixed + varint(-1) + varint(-1) + varint(1) + varint(0) + b"\x80",
            fixed + varint(-1) + varint(-1) + varint(2) + varint(0) + varint(0), fixed + varint(-1) + varint(-1) + varint(0) + b"x",
            b"\0" + b"\x80" * 20, fixed + b"\x80" * 9 + b"\x02" + b"a" * 9, b"\0" * 5 + b"\x80",
        )),
    ]  # fmt: skip


@pytest.mark.parametrize("claimed", claims())
@pytest.mark.parametrize("behind", [b"", b"\0" * 20])
def test_claims_are_not_believed(claimed: bytes, behind: bytes) -> None:
    """Sizes, counts and varints that end behind their record, and what is left over in it, make it broken, whatever follows."""
    assert surveyed(replace(BATCH, records=(), body=claimed + behind, count=1, last=0))[0] == loops.BROKEN


def test_left_overs_are_broken() -> None:
    """Bytes behind the last record of a batch mean that its count is wrong."""
    assert surveyed(replace(BATCH, count=1))[0] == loops.BROKEN
    assert surveyed(replace(BATCH, count=3))[0] == loops.BROKEN


def test_every_cut_of_a_record_is_broken() -> None:
    """No end of the data lets a loop read on."""
    body = Record(b"v" * 70, b"k", 1, 1 << 40, ((b"n" * 70, b"v"), (b"", None))).encode()
    for size in range(len(body)):
        assert surveyed(replace(BATCH, records=(), body=body[:size], count=1))[0] == loops.BROKEN


def test_long_varints_at_the_end_of_the_data() -> None:
    """Fewer than eight bytes in front of the end of memory are read one by one."""
    for size in range(12):
        batch = Batch((Record(b"x" * size, None, 0, 1 << 62),))
        count, found = surveyed(batch)

        assert (count, found.sizes[0], found.stamps[0]) == (1, size, 1 << 62)


def test_values_are_copied_end_to_end() -> None:
    """NULL and empty take no room; the ends are Arrow's."""
    data, to = octets(b"..abc.de"), np.zeros(6, np.uint8)
    ends, nulls = np.zeros(5, np.int32), np.zeros(1, np.int64)
    starts, sizes = np.array([2, 0, 7, 6], np.int64), np.array([3, -1, 0, 2], np.int64)
    loops.copy(starts, sizes, 4, np.array([data.ctypes.data, to.ctypes.data], np.uint64), ends, nulls)

    assert to.tobytes() == b"abcde\0"
    assert ends.tolist() == [0, 3, 3, 3, 5]
    assert nulls.tolist() == [1]


def test_headers_are_copied() -> None:
    """Names and values of every record in order; a NULL value is -1 (REP-07, REP-08)."""
    headers = ((b"a", b"1"), (b"", None), (b"name", b""))
    batch = replace(BATCH, records=(Record(headers=headers), Record(delta=1), Record(delta=2, headers=((b"z", b"9" * 80),))))
    rows, found = surveyed(batch)
    data = octets(batch.encode())
    sizes, value_sizes, names, values = np.zeros(4, np.int64), np.zeros(4, np.int64), np.zeros(7, np.uint8), np.zeros(82, np.uint8)
    places = np.array([array.ctypes.data for array in (data, names, values)], np.uint64)
    loops.copy_headers(data, found.header_starts, found.header_counts, rows, sizes, value_sizes, places)

    assert found.header_counts[:3].tolist() == [3, 0, 1]
    assert found.totals[2:].tolist() == [4, 6, 81]
    assert (sizes.tolist(), names.tobytes()) == ([1, 0, 4, 1], b"anamez\0")
    assert (value_sizes.tolist(), values.tobytes()) == ([1, -1, 0, 80], b"1" + b"9" * 80 + b"\0")


def test_the_slow_reader_reads_the_same() -> None:
    """The reader that the loops are compared with finds what was written."""
    data = BATCH.encode()
    (head,) = heads(data)

    assert head == Head(10, 4, 0, 14, 1_000, 2_000, -1, 2, data[HEAD:])
    assert record(Walk(head.body), head, ("t", 1), 0) == Row(("t", 1), 10, b"key", b"value", ((b"name", b"content"),), 1_005, 1, 4)
