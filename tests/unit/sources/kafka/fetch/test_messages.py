"""Fetch requests byte by byte, and answers whose every claim is checked."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from tests.oracle.record_batches import Batch, Partition, answer, text
from thalweg.sources.kafka.fetch import messages
from thalweg.sources.kafka.fetch.messages import Garbled, Limits, Part, request

LIMITS = Limits(500, 1, 8 << 20, 1 << 20, committed=True)
BATCHES = (Batch(), Batch(base=1))


def read(data: bytes) -> tuple[int, int, list[Part]]:
    """What an answer says."""
    return messages.answer(np.frombuffer(bytearray(data), np.uint8))


def headed(topics: int, rest: bytes = b"") -> bytes:
    """An answer with so many topics, as it claims."""
    return struct.pack(">ihii", 0, 0, 0, topics) + rest


def test_a_request_byte_by_byte() -> None:
    """Version 11 of the protocol: no session, no rack, topics in the order of their first partition."""
    found = request(LIMITS, {("b", 1): 7, ("a", 0): 1 << 40, ("b", 0): 9})

    head = struct.pack(">iiiibii", -1, 500, 1, 8 << 20, 1, 0, -1) + struct.pack(">i", 2)
    parts = {index: struct.pack(">iiqqi", index, -1, offset, -1, 1 << 20) for index, offset in ((1, 7), (0, 9))}
    first = text("b") + struct.pack(">i", 2) + parts[1] + parts[0]
    second = text("a") + struct.pack(">i", 1) + struct.pack(">iiqqi", 0, -1, 1 << 40, -1, 1 << 20)
    assert found == head + first + second + struct.pack(">i", 0) + text("")


def test_uncommitted_records_may_be_asked_for() -> None:
    """The isolation is one byte."""
    read_all = request(Limits(500, 1, 8 << 20, 1 << 20, committed=False), {})

    assert [found[16] for found in (request(LIMITS, {}), read_all)] == [1, 0]


def test_an_answer_is_read() -> None:
    """Throttling, error, and each partition with its ends, transactions and the place of its batches."""
    data = answer((
        Partition("ä", 3, BATCHES, ((5, 6), (7, 8)), high=10, stable=9), Partition("ä", 1, error=3, high=-1, stable=-1), Partition("z", 3, cut=-1),
    ), 250, 35)  # fmt: skip
    throttle_ms, error, (first, second, third) = read(data)

    assert (throttle_ms, error) == (250, 35)
    assert first[:5] == (("ä", 3), 0, 10, 9, ((5, 6), (7, 8)))
    assert data[first.start : first.stop] == b"".join(batch.encode() for batch in BATCHES)
    assert second[:5] == (("ä", 1), 3, -1, -1, ())
    assert second.start == second.stop
    assert third.key == ("z", 3)


def test_null_arrays_are_empty() -> None:
    """-1 in place of a count or a size: no topics, no partitions, no records."""
    part = struct.pack(">ihqqqi", 4, 0, 1, 1, 0, -1) + struct.pack(">ii", -1, -1)

    assert read(headed(-1)) == (0, 0, [])
    assert read(headed(2, (text("t") + struct.pack(">i", -1)) * 2)) == (0, 0, [])
    assert [found.key for found in read(headed(1, text("t") + struct.pack(">i", 1) + part))[2]] == [("t", 4)]


def test_every_cut_is_garbled() -> None:
    """An answer that ends too early is refused wherever that is."""
    data = answer((Partition("t", 0, BATCHES, ((5, 6),)), Partition("u", 0)))
    for size in range(len(data)):
        with pytest.raises(Garbled):
            read(data[:size])


@pytest.mark.parametrize("count", [2, 1 << 16, (1 << 31) - 1])
def test_claimed_counts_are_not_believed(count: int) -> None:
    """Topics, partitions and transactions that are not there."""
    one = struct.pack(">ihqqq", 4, 0, 1, 1, 0)
    claims = [
        headed(count, text("t") + struct.pack(">i", 0)), headed(1, text("t") + struct.pack(">i", count) + one + struct.pack(">iii", -1, -1, -1)),
        headed(1, text("t") + struct.pack(">i", 1) + one + struct.pack(">iqq", count, 1, 1)),
        headed(1, text("t") + struct.pack(">i", 1) + one + struct.pack(">iii", -1, -1, count)),
        headed(1, struct.pack(">h", 1 << 14) + b"t"),
    ]  # fmt: skip
    for claim in claims:
        with pytest.raises(Garbled):
            read(claim)


def test_names_are_text() -> None:
    """A topic that is not UTF-8 has no name."""
    with pytest.raises(Garbled, match="utf-8"):
        read(headed(1, struct.pack(">h", 1) + b"\xff" + struct.pack(">i", 0)))


def test_a_partition_comes_once() -> None:
    """Twice would be its records twice, also under a topic that is named twice."""
    twice = answer((Partition("t", 1, BATCHES), Partition("u", 1), Partition("t", 1, BATCHES)))

    with pytest.raises(Garbled, match="twice"):
        read(twice)
