"""Compressed batches: every codec as clients write it, and bombs, claims and damage that end as one kind of fault."""

from __future__ import annotations

import gzip
import struct
import tracemalloc
from random import Random

import pyarrow as pa
import pytest

from tests.oracle.record_batches import GZIP, LZ4, SNAPPY, XERIAL, ZSTD, compressed
from thalweg.sources.kafka.fetch.inflate import inflate
from thalweg.sources.kafka.fetch.messages import Garbled

CODECS = (GZIP, SNAPPY, LZ4, ZSTD)
MOST = 1 << 30
TEXT = Random(1).randbytes(50_000) + b"abc" * 100_000


def inflated(codec: int, data: bytes, most: int = MOST) -> bytes:
    """All pieces as one."""
    return b"".join(bytes(piece) for piece in inflate(codec, memoryview(data), most))


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("data", [b"", b"x", TEXT])
def test_codecs(codec: int, data: bytes) -> None:
    """What a producer compressed comes back."""
    assert inflated(codec, compressed(codec, data)) == data


@pytest.mark.parametrize("data", [b"", b"x", TEXT])
def test_snappy_without_frames(data: bytes) -> None:
    """One bare block, as clients that are not Java's send it."""
    assert inflated(SNAPPY, compressed(SNAPPY, data, xerial=False)) == data


@pytest.mark.parametrize("codec", CODECS)
def test_streams_may_follow_each_other(codec: int) -> None:
    """Members, frames and streams end to end are one."""
    assert inflated(codec, compressed(codec, b"a" * 100) + compressed(codec, b"b" * 100)) == b"a" * 100 + b"b" * 100


@pytest.mark.parametrize("codec", CODECS)
def test_the_limit_is_exact(codec: int) -> None:
    """As much as may be is taken, one byte more is refused."""
    data = compressed(codec, b"ab" * 5_000)

    assert len(inflated(codec, data, 10_000)) == 10_000
    for most in (9_999, 1, 0):
        with pytest.raises(Garbled, match=r"than the [\d,]+ bytes"):
            inflated(codec, data, most)


@pytest.mark.parametrize("codec", [GZIP, LZ4, ZSTD])
def test_bombs_take_no_room(codec: int) -> None:
    """A batch that holds a thousand times its size is given up at the limit, not behind it."""
    bomb = compressed(codec, bytes(64 << 20))
    before = pa.default_memory_pool().max_memory()
    most = 1 << 20

    with pytest.raises(Garbled, match="left for it"):
        inflated(codec, bomb, most)

    # Nothing is known of how much the pool held at its highest before this test, so it is asked for the difference only.
    assert pa.default_memory_pool().max_memory() - before < 32 << 20


def test_claimed_sizes_take_no_room() -> None:
    """A block of snappy that claims a gigabyte is refused before memory is made."""
    claim = b"\x80\x80\x80\x80\x04"
    tracemalloc.start()
    try:
        for data in (claim + b"abc", XERIAL + struct.pack(">i", 8) + claim + b"abc"):
            with pytest.raises(Garbled, match="holds more than"):
                inflated(SNAPPY, data)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < 1 << 20


@pytest.mark.parametrize("codec", CODECS)
def test_cut_streams_are_garbled(codec: int) -> None:
    """No codec takes half of its data for the whole, unless nothing is missing but the end."""
    data = compressed(codec, Random(2).randbytes(3_000))
    for size in range(20, len(data) - 1, 97):
        with pytest.raises(Garbled):
            inflated(codec, data[:size])


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("data", [b"\xff" * 40, b"\0" * 40, Random(3).randbytes(300)])
def test_noise_is_garbled(codec: int, data: bytes) -> None:
    """What is no compressed data at all ends the same way, or holds nothing."""
    try:
        found = inflated(codec, data)
    except Garbled:
        found = b""

    assert found == b""


@pytest.mark.parametrize(
    "data", [XERIAL + b"\0", XERIAL + struct.pack(">i", 9) + b"abc", XERIAL + struct.pack(">i", 0), XERIAL + struct.pack(">i", -1) + b"abc", b"", b"\x80", b"\xff" * 5],
)  # fmt: skip
def test_frames_of_snappy_are_checked(data: bytes) -> None:
    """Blocks that end behind their batch, or have no size."""
    with pytest.raises(Garbled):
        inflated(SNAPPY, data)


def test_many_small_blocks_are_one_piece() -> None:
    """Millions of blocks are no million objects."""
    block = pa.Codec("snappy").compress(b"x", asbytes=True)
    pieces = inflate(SNAPPY, memoryview(XERIAL + (struct.pack(">i", len(block)) + block) * 1_000), MOST)

    assert [bytes(piece) for piece in pieces] == [b"x" * 1_000]


@pytest.mark.parametrize("codec", [0, 5, 6, 7])
def test_codecs_that_are_not_known(codec: int) -> None:
    """Bits that mean nothing yet."""
    with pytest.raises(Garbled, match=f"not known: {codec}"):
        inflate(codec, memoryview(b"abc"), MOST)


def test_gzip_of_any_level() -> None:
    """Names and times in the head of a member are passed over."""
    assert inflated(GZIP, gzip.compress(TEXT, 9, mtime=1)) == TEXT
