"""The record batches of an answer: which count, in which portions they come, and what is refused."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from tests.oracle.record_batches import (
    ABORT,
    APPENDED,
    COMMIT,
    CONTROL,
    GZIP,
    LZ4,
    SNAPPY,
    TRANSACTIONAL,
    ZSTD,
    Batch,
    Partition,
    Record,
    answer,
    marker,
)
from tests.oracle.record_reader import Row, loaded, read, taken
from thalweg.native import batches as loops
from thalweg.sources.kafka.fetch import answer as module
from thalweg.sources.kafka.fetch import messages
from thalweg.sources.kafka.fetch.answer import Batches
from thalweg.sources.kafka.fetch.messages import Garbled
from thalweg.sources.kafka.reader import make_block
from thalweg.sources.kafka.rooms import Rooms

T, U = ("t", 0), ("u", 3)


def three(base: int, value: bytes = b"v") -> Batch:
    """A batch of three records."""
    return Batch(tuple(Record(value + b"%d" % i, delta=i) for i in range(3)), base)


def sent(*batches: Batch, aborted: tuple[tuple[int, int], ...] | None = None) -> bytes:
    """An answer of one partition."""
    return answer((Partition("t", 0, batches, aborted),))


def offsets(data: bytes, wanted: int = 0) -> list[int]:
    """The offsets that are read."""
    return [row.offset for row in read(data, {T: wanted})]


def of(producer: int, base: int, flags: int = TRANSACTIONAL) -> Batch:
    """A batch of a transaction."""
    return Batch((Record(),), base, flags=flags, producer=producer)


def test_records_of_several_partitions() -> None:
    """Partitions, offsets and everything else of each record, in the order they were sent (KF-01, MET-01)."""
    records = (Record(b"a", b"k", 0, 7, (("ä".encode(), b"1"), (b"", None))), Record(None, None, 2))
    data = answer((Partition("t", 0, (Batch(records, 5, stamp=100, epoch=3),)), Partition("u", 3, (Batch(base=9, flags=APPENDED, latest=50, epoch=-1),))))

    assert read(data, {}) == [
        Row(T, 5, b"k", b"a", (("ä".encode(), b"1"), (b"", None)), 107, 1, 3), Row(T, 7, None, None, (), 100, 1, 3), Row(U, 9, None, b"v", (), 50, 2, -1),
    ]  # fmt: skip


def test_columns_of_the_raw_lane() -> None:
    """NULL and empty stay apart; a header key that is not UTF-8 makes a bad row (REP-06, REP-07, REP-08)."""
    records = (Record(None, b""), Record(b"", None, 1, headers=((b"\xff", b"2"),)), Record(b"x", b"y", 2, headers=((b"a", b""), (b"a", None))))
    fields = loaded(sent(Batch(records, epoch=-1)), {}).take(10, Rooms())

    assert fields is not None

    block = make_block(fields, 9)
    block.records.validate(full=True)

    assert block.records["payload"].to_pylist() == [None, b"", b"x"]
    assert block.records["source_key"].to_pylist() == [b"", None, b"y"]
    assert block.records["source_headers"].to_pylist() == [[], None, [{"key": "a", "value": b""}, {"key": "a", "value": None}]]
    assert block.records["source_leader_epoch"].to_pylist() == [None] * 3
    assert (block.bad.rows, block.bad.codes) == ([1], ["source.header"])
    assert block.next_offsets() == {T: 3}
    assert block.nbytes == 2


@pytest.mark.parametrize("most", [1, 2, 4, 100])
def test_portions(most: int) -> None:
    """However few are taken at a time, the same records come, each once; a batch is left until the last is taken."""
    data = answer((Partition("t", 0, (three(0), Batch((), 3), three(10))), Partition("u", 3, (three(7),))))
    batches, rooms, found = loaded(data, {}), Rooms(), list[Row]()
    while batches:
        found += taken(batches, most, rooms)

    assert found == read(data, {})
    assert [row.offset for row in found] == [0, 1, 2, 10, 11, 12, 7, 8, 9]
    assert batches.take(most, rooms) is None


def test_the_next_offset_counts_everything() -> None:
    """Positions move behind what compaction took away, what the broker wrote for itself, and what was aborted."""
    data = answer((
        Partition("t", 0, (three(0), Batch((), 3, last=6))), Partition("t", 1, (of(7, 0), marker(ABORT, 1, 7)), ((7, 0),)), Partition("u", 3),
    ))  # fmt: skip
    batches = loaded(data, {})

    assert batches.next == {("t", 0): 10, ("t", 1): 2}
    assert [row.offset for row in taken(batches, 100)] == [0, 1, 2]
    assert not batches


def test_nothing_was_sent() -> None:
    """Partitions without records, or no partitions."""
    for data in (answer(()), answer((Partition("t", 0), Partition("u", 3)))):
        batches = loaded(data, {})

        assert not batches
        assert batches.next == {}
        assert batches.take(5, Rooms()) is None


@pytest.mark.parametrize("wanted", range(13))
def test_reading_starts_within_a_batch(wanted: int) -> None:
    """The broker sends the whole batch that an offset is in, or the first behind it."""
    data = sent(*(batch for batch in (three(0), three(10)) if batch.next > wanted))

    assert offsets(data, wanted) == [offset for offset in (0, 1, 2, 10, 11, 12) if offset >= wanted]


def test_an_answer_that_leads_nowhere_is_garbled() -> None:
    """Batches in front of the offset that was asked for would be asked for again for ever."""
    with pytest.raises(Garbled, match="nothing from the offset on"):
        loaded(sent(three(0)), {T: 3})


def test_the_last_batch_may_be_cut() -> None:
    """It comes whole with the next answer; a first batch that is cut never would."""
    cut = Partition("t", 0, (three(0), three(3)), cut=1)

    assert offsets(answer((cut,))) == [0, 1, 2]
    assert loaded(answer((cut,)), {}).next == {T: 3}
    with pytest.raises(Garbled, match=r"t\[0\]: an answer without one whole record batch"):
        loaded(answer((replace(cut, batches=(three(0),)),)), {})


@pytest.mark.parametrize(("batch", "said"), [(Batch(magic=1), "an older format"), (Batch(base=-1), "head cannot be right"), (Batch(count=-5), "head cannot be right")])
def test_heads_are_checked(batch: Batch, said: str) -> None:
    """The partition is named."""
    with pytest.raises(Garbled, match=rf"t\[0\]: .*{said}"):
        loaded(sent(batch), {})


@pytest.mark.parametrize("codec", [GZIP, SNAPPY, LZ4, ZSTD])
def test_compressed_batches_lie_between_others(codec: int) -> None:
    """One memory for all of them, in order, whatever lies in front of them in the answer."""
    large = replace(three(6, b"x" * 500), codec=codec)
    for batches in ((large,), (three(0), large, three(9)), (replace(large, base=0), replace(large, base=3), three(6))):
        plain = sent(*(replace(batch, codec=0) for batch in batches))

        assert read(sent(*batches), {}, 2) == read(plain, {})


def test_batches_that_do_not_count_stay_compressed() -> None:
    """Of aborted transactions and of the broker's own nothing is unpacked, nor of batches that compaction emptied."""
    noise = replace(of(7, 0), codec=GZIP, body=b"", count=1)

    assert offsets(sent(replace(noise, codec=5), of(-1, 1, 0), marker(ABORT, 2, 7), aborted=((7, 0),))) == [1]
    assert offsets(sent(Batch((), 0, GZIP, body=b""), replace(marker(COMMIT, 1, 7), codec=6), of(-1, 2, 0))) == [2]


def test_aborted_transactions() -> None:
    """Records of a producer are hidden from the first offset of its transaction to the marker of its end, nobody else's are."""
    data = sent(
        of(7, 0), of(8, 1), of(7, 2), of(-1, 3, 0), of(7, 4, 0), marker(ABORT, 5, 7), of(7, 6), marker(COMMIT, 7, 8), of(8, 8), marker(ABORT, 9, 8), of(8, 10),
        marker(COMMIT, 11, 7), marker(COMMIT, 12, 8), aborted=((8, 8), (7, 0)),
    )  # fmt: skip

    assert offsets(data) == [1, 3, 4, 6, 10]


def test_transactions_that_begin_within_a_batch() -> None:
    """An abort counts from the batch on whose last offset is not in front of it (as in Java's client)."""
    data = sent(replace(of(7, 0), last=4), replace(of(7, 5), last=4), marker(ABORT, 10, 7), aborted=((7, 9),))

    assert offsets(data) == [0]


def test_a_transaction_that_began_before_the_answer() -> None:
    """Its first offset lies in front of all that was sent."""
    assert offsets(sent(of(7, 20), marker(ABORT, 21, 7), of(7, 22), aborted=((7, 3),)), 20) == [22]


@pytest.mark.parametrize("codec", [0, GZIP])
def test_markers_may_be_compressed(codec: int) -> None:
    """Some brokers have written them so."""
    assert offsets(sent(of(7, 0), replace(marker(ABORT, 1, 7), codec=codec), of(7, 2), aborted=((7, 0),))) == [2]


def test_markers_of_another_kind_end_nothing() -> None:
    """A commit, a kind that is not known yet, and a marker that compaction emptied."""
    empty = Batch((), 3, flags=TRANSACTIONAL | CONTROL, producer=7)

    assert offsets(sent(of(7, 0), marker(COMMIT, 1, 7), marker(9, 2, 7), empty, of(7, 4), of(8, 5), aborted=((7, 0),))) == [5]


@pytest.mark.parametrize("records", [(Record(b"", None),), (Record(b"", b"\0\0\0"),)])
def test_markers_must_be_readable(records: tuple[Record, ...]) -> None:
    """Whether a transaction was aborted is nothing to guess."""
    with pytest.raises(Garbled, match="the end of a transaction"):
        loaded(sent(of(7, 0), replace(marker(ABORT, 1, 7), records=records), aborted=((7, 0),)), {})


def test_without_aborted_transactions_markers_are_not_read() -> None:
    """Who reads uncommitted records gets all but the markers."""
    assert offsets(sent(of(7, 0), replace(marker(ABORT, 1, 7), body=b"", records=(), count=1), of(7, 2))) == [0, 2]


@pytest.mark.parametrize("gone", [{T}, {U}, {("t", 1)}, {T, U}, {("x", 1)}])
@pytest.mark.parametrize("before", range(10))
def test_partitions_are_dropped(gone: set[tuple[str, int]], before: int) -> None:
    """Nothing more comes of them, and of the others all that was not taken, wherever reading was."""
    data = answer((Partition("t", 0, (three(0), three(3))), Partition("t", 1, (three(9),)), Partition("u", 3, (replace(three(2), codec=ZSTD),))))
    batches, everything = loaded(data, {}), read(data, {})
    found = [row for _ in range(before) for row in taken(batches, 1)]
    batches.drop(gone)
    rest = [row for _ in range(12) for row in taken(batches, 1)]

    assert found == everything[:before]
    assert rest == [row for row in everything[before:] if row.key not in gone]
    assert not batches


@pytest.mark.parametrize("count", [4, 1_000, (1 << 31) - 1])
@pytest.mark.parametrize("codec", [0, ZSTD])
def test_claimed_counts_take_no_room(count: int, codec: int) -> None:
    """Memory is made for no more records than there are bytes for."""
    tracemalloc.start()
    try:
        with pytest.raises(Garbled, match=r"more records than it has room for|cannot be read"):
            read(sent(replace(three(0), count=count, codec=codec, last=(1 << 31) - 1)), {}, 1 << 40)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < 1 << 20


@pytest.mark.parametrize("window", [1, 30, 100, 500, 1 << 20])
@pytest.mark.parametrize("most", [1, 4, 100])
def test_batches_are_unpacked_some_at_a_time(monkeypatch: pytest.MonkeyPatch, window: int, most: int) -> None:
    """Wherever one lot ends, the same records come; so they do of what is left when a partition goes."""
    packed = tuple(replace(three(base), codec=codec) for base, codec in ((0, GZIP), (3, 0), (6, LZ4), (9, SNAPPY)))
    data = answer((Partition("t", 0, packed), Partition("u", 3, packed)))
    monkeypatch.setattr(module, "_WINDOW", window)
    batches = loaded(data, {T: 2})
    first = taken(batches, most)
    whole = read(data, {T: 2}, most)
    batches.drop({T})
    rest = [row for _ in range(12) for row in taken(batches, most)]

    assert [row.offset for row in whole] == [*range(2, 12), *range(12)]
    assert [row for row in first if row.key == T] == whole[: min(len(first), 10)]
    assert [*(row for row in first if row.key == U), *rest] == whole[10:]


def test_no_more_is_unpacked_than_is_taken_next(monkeypatch: pytest.MonkeyPatch) -> None:
    """The memory for records is that of one lot, however many batches an answer has."""
    batch = Batch((Record(bytes(1 << 18)),), codec=ZSTD)
    data = sent(*(replace(batch, base=base) for base in range(64)))
    monkeypatch.setattr(module, "_WINDOW", 1 << 20)
    batches, before = loaded(data, {}), pa.total_allocated_bytes()
    tracemalloc.start()
    try:
        for _ in range(64):
            fields = batches.take(1, Rooms())

            assert fields is not None
            assert pa.total_allocated_bytes() - before < 1 << 20

        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < 8 << 20


@pytest.mark.parametrize("codecs", [(GZIP, GZIP), (0, GZIP), (GZIP, 0)])
def test_what_is_unpacked_has_a_limit(monkeypatch: pytest.MonkeyPatch, codecs: tuple[int, int]) -> None:
    """It counts what is compressed and what is not."""
    batches = tuple(replace(three(3 * i, b"x" * 400), codec=codec) for i, codec in enumerate(codecs))

    monkeypatch.setattr(module, "_MOST", 4_000)

    assert len(read(sent(*batches), {})) == 6
    monkeypatch.setattr(module, "_MOST", 2_000)
    with pytest.raises(Garbled, match="more than"):
        read(sent(*batches), {})


def test_broken_records_are_garbled() -> None:
    """Good portions in front of them are read."""
    batches = loaded(sent(three(0), replace(three(3), body=b"\xff" * 30)), {})

    assert [row.offset for row in taken(batches, 3)] == [0, 1, 2]
    with pytest.raises(Garbled, match="a record cannot be read"):
        batches.take(3, Rooms())


def test_payloads_lie_in_one_room() -> None:
    """Values of two portions are end to end, so that they are one column without a copy."""
    batches, rooms = loaded(sent(three(0), three(3)), {}), Rooms()
    first, second = batches.take(3, rooms), batches.take(3, rooms)

    assert first is not None
    assert second is not None

    buffers = [fields.payloads.buffers()[2] for fields in (first, second)]

    assert buffers[1].address == buffers[0].address + buffers[0].size


def test_the_answer_may_be_a_part_of_a_larger_memory() -> None:
    """As the link's buffer is; nothing in front of or behind the answer is read."""
    data = sent(three(0))
    memory = np.full(len(data) + 200, 255, np.uint8)
    memory[100:-100] = np.frombuffer(data, np.uint8)
    octets = memory[100:-100]
    fields = Batches(loops, octets, [(part, 0) for part in messages.answer(octets)[2]]).take(9, Rooms())

    assert fields is not None
    assert fields.payloads == pa.array([b"v0", b"v1", b"v2"], pa.binary())
