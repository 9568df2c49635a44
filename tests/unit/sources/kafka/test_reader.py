"""Blocks of records and the buffer that holds them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from thalweg.arrow.batch import BadRows
from thalweg.sources.kafka.reader import Block, Buffer, Fields, Key, Taken, empty, join, make_block, next_offsets

A, B = ("t", 0), ("u", 1)


def block(*records: tuple[Key, int, bytes | None], bad: int | None = None, stamp_us: int = 1) -> Block:
    """Records by partition, offset and payload."""
    keys = tuple(dict.fromkeys(key for key, _, _ in records))
    rows, values = len(records), [v for _, _, v in records]
    found = BadRows()
    if bad is not None:
        found.add(bad, "source.header", "m")
    return make_block(Fields(
        keys, np.array([keys.index(key) for key, _, _ in records], np.int32), np.array([o for _, o, _ in records], np.int64),
        pa.array(values, pa.binary()), pa.nulls(rows, pa.binary()), np.zeros(rows, np.int32), np.ones(rows, np.int8),
        np.full(rows, 7, np.int64), None, sum(len(v or b"") for v in values), found,
    ), stamp_us)  # fmt: skip


def values(blocks: list[Block]) -> list[bytes | None]:
    """Payloads in order."""
    return [v for b in blocks for v in b.records["payload"].to_pylist()]


MIXED = block((A, 0, b"a"), (B, 5, b"bb"), (A, 1, None), (B, 6, b"dddd"), bad=3)


def test_only_some_partitions() -> None:
    """Other partitions' records go; bad rows keep to their records."""
    kept = MIXED.only({B})

    assert values([kept]) == [b"bb", b"dddd"]
    assert kept.bad.rows == [1]
    assert kept.next_offsets() == {B: 7}
    assert MIXED.only({A, B}) is MIXED
    assert MIXED.only({A}).bad.rows == []
    assert MIXED.only(set()).rows == 0


def test_before_the_ends() -> None:
    """Records at or behind the end of their partition go."""
    assert values([MIXED.before({A: 1, B: 7})]) == [b"a", b"bb", b"dddd"]
    assert MIXED.before({A: 2, B: 7}) is MIXED


def test_after_what_was_taken() -> None:
    """Records in front of what was taken go, and those that come a second time in the block itself (KSR-12)."""
    again = block((A, 4, b"a"), (A, 5, b"b"), (B, 9, b"x"), (A, 5, b"b again"), (A, 6, b"c"), (B, 8, b"older"), (B, 10, b"y"), bad=4)

    assert MIXED.after({}) is MIXED
    assert MIXED.after({A: 0, B: 5}) is MIXED
    assert values([MIXED.after({A: 1, B: 6})]) == [None, b"dddd"]
    assert values([again.after({A: 5})]) == [b"b", b"x", b"c", b"y"]
    assert again.after({A: 5}).bad.rows == [2]
    assert again.after({A: 7, B: 11}).rows == 0
    assert again.only(set()).after({A: 1}).rows == 0


def test_slices() -> None:
    """A part of a block is a block; partitions without a record in it have no position there."""
    part = MIXED.slice(2, 4)

    assert values([part]) == [None, b"dddd"]
    assert part.bad.rows == [1]
    assert part.nbytes == 4
    assert MIXED.slice(0, 1).next_offsets() == {A: 1}


def test_taken_keeps_faults() -> None:
    """Records and ends of other partitions go, and blocks that become empty."""
    taken = Taken([MIXED, block((A, 2, b""))], {A: 3, B: 7}, []).only({B})

    assert values(taken.blocks) == [b"bb", b"dddd"]
    assert taken.ends == {B: 7}


def test_the_buffer_gives_the_oldest_within_rows_and_bytes() -> None:
    """Rows and bytes bound what is taken, but one record always comes (CNX-04)."""
    buffer = Buffer()
    buffer.add(Taken([MIXED, block((A, 2, b"x" * 10), (A, 3, b""))], {A: 4}))

    assert (buffer.rows, buffer.nbytes) == (6, 17)
    assert values(buffer.take(10, 3)) == [b"a", b"bb", None]
    assert buffer.take_ends() == {}
    assert values(buffer.take(10, 3)) == [b"dddd"]
    assert values(buffer.take(1, 100)) == [b"x" * 10]
    assert (buffer.rows, buffer.nbytes) == (1, 0)
    assert values(buffer.take(10, 0)) == [b""]
    assert buffer.take_ends() == {A: 4}
    assert buffer.take(10, 10) == []


def test_the_buffer_forgets() -> None:
    """What is dropped or cut leaves neither rows nor bytes."""
    buffer = Buffer()
    buffer.add(Taken([MIXED], {A: 2, B: 7}))

    assert buffer.last(B, 1) == 7
    assert buffer.last(("v", 0), 1) == 1

    buffer.cut({A: 1, B: 6})
    assert (buffer.rows, buffer.nbytes) == (2, 3)

    buffer.drop([B])
    assert (buffer.rows, buffer.nbytes, buffer.ends) == (1, 1, {A: 2})


def test_joined_blocks_are_one_batch() -> None:
    """Topics of all blocks, bad rows by their new numbers, bytes in all, times of each poll."""
    blocks = [block((A, 0, b"a"), stamp_us=1), block((B, 5, b"bb"), (A, 1, b"c"), bad=1, stamp_us=2)]
    records, nbytes, bad = join(blocks)
    records.validate(full=True)

    assert records["source_topic"].to_pylist() == ["t", "u", "t"]
    assert records["source_partition"].to_pylist() == [0, 1, 0]
    assert records["ingest_ts"].cast(pa.int64()).to_pylist() == [1, 2, 2]
    assert (nbytes, bad.rows) == (4, [2])
    assert next_offsets(blocks) == {A: 2, B: 6}


def test_empty_has_every_column() -> None:
    """No rows, and the schema of a batch with rows."""
    assert empty().num_rows == 0
    assert empty().schema == MIXED.records.schema
