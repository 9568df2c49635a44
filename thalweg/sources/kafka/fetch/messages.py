"""Fetch requests and their answers, version 11: the last one that names topics and has no tagged fields."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    import numpy.typing as npt

    from thalweg.sources.kafka.reader import Key

FETCH: Final = 1
VERSION: Final = 11
_HEAD: Final = struct.Struct(">iiiibiii")
"""Replica, longest wait, least bytes, most bytes, isolation, session and its epoch, number of topics."""
_ASKED: Final = struct.Struct(">iiqqi")
"""Partition, leader epoch, offset, first offset of a follower, most bytes."""
_PART: Final = struct.Struct(">ihqqqi")
"""Partition, error, high watermark, last stable offset, first offset, number of aborted transactions."""
_ABORTED: Final = struct.Struct(">qq")
_UNKNOWN: Final = -1
_NO_SESSION: Final = (0, -1)


class Garbled(Exception):
    """An answer that is not what the protocol says."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What the broker may put into an answer, and how long it may wait for that."""

    wait_ms: int
    least_bytes: int
    most_bytes: int
    """Of an answer; a batch that is larger comes alone."""
    partition_bytes: int
    committed: bool
    """Whether records of open and aborted transactions stay away."""


class Part(NamedTuple):
    """What an answer says about one partition."""

    key: Key
    error: int
    high: int
    stable: int
    aborted: tuple[tuple[int, int], ...]
    """Producer id and first offset of each aborted transaction that the records may be of."""
    start: int
    stop: int
    """Where the record batches are in the answer."""


def request(limits: Limits, positions: Mapping[Key, int]) -> bytes:
    """Ask for records from these positions on, the first partitions first."""
    topics: dict[str, list[tuple[int, int]]] = {}
    for (topic, partition), offset in positions.items():
        topics.setdefault(topic, []).append((partition, offset))
    isolation = 1 if limits.committed else 0
    out = [_HEAD.pack(_UNKNOWN, limits.wait_ms, limits.least_bytes, limits.most_bytes, isolation, *_NO_SESSION, len(topics))]
    for topic, asked in topics.items():
        name = topic.encode()
        out.append(struct.pack(f">h{len(name)}si", len(name), name, len(asked)))
        out += [_ASKED.pack(partition, _UNKNOWN, offset, _UNKNOWN, limits.partition_bytes) for partition, offset in asked]
    out.append(struct.pack(">ih", 0, 0))  # no topics to forget, no rack
    return b"".join(out)


def answer(data: npt.NDArray[np.uint8]) -> tuple[int, int, list[Part]]:
    """Milliseconds that the broker wants to be left alone, its error, and the partitions. Raises Garbled."""
    try:
        return _answer(memoryview(data.data))
    except (struct.error, UnicodeDecodeError) as e:
        raise Garbled(f"an answer to a fetch cannot be read: {e}") from None


def _answer(data: memoryview) -> tuple[int, int, list[Part]]:
    """The same; raises struct.error where it ends too early."""
    throttle_ms, error, _, topics = struct.unpack_from(">ihii", data)
    at, parts = 14, list[Part]()
    for _ in range(topics):
        (size,) = struct.unpack_from(">h", data, at)
        name, partitions = struct.unpack_from(f">{max(size, 0)}si", data, at + 2)
        at += 2 + len(name) + 4
        topic = name.decode()
        for _ in range(partitions):
            part, at = _part(topic, data, at)
            parts.append(part)
    if len({part.key for part in parts}) < len(parts):
        raise Garbled("an answer to a fetch has a partition twice")
    return throttle_ms, error, parts


def _part(topic: str, data: memoryview, at: int) -> tuple[Part, int]:
    """One partition, and where the next one is."""
    partition, error, high, stable, _, transactions = _PART.unpack_from(data, at)
    at += _PART.size
    size = max(transactions, 0) * _ABORTED.size
    if at + size > len(data):
        raise Garbled("an answer to a fetch ends within its aborted transactions")
    aborted = tuple(_ABORTED.iter_unpack(data[at : at + size]))
    _, length = struct.unpack_from(">ii", data, at + size)
    start = at + size + 8
    stop = start + max(length, 0)
    if stop > len(data):
        raise Garbled("an answer to a fetch ends within its records")
    return Part((topic, partition), error, high, stable, aborted, start, stop), stop
