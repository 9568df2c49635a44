"""Kafka record batches of format 2 and answers to fetches, written by hand: also what no client and no broker would send."""

from __future__ import annotations

import gzip
import struct
from dataclasses import dataclass, field
from functools import cache

import pyarrow as pa

Headers = tuple[tuple[bytes, bytes | None], ...]
GZIP, SNAPPY, LZ4, ZSTD = 1, 2, 3, 4
APPENDED, TRANSACTIONAL, CONTROL = 8, 16, 32
ABORT, COMMIT = 0, 1
XERIAL = b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)
HEAD = 61
_XERIAL_BLOCK = 64
_POLYNOMIAL = 0x82F63B78


@dataclass(frozen=True)
class Record:
    """One record; ``delta`` and ``later`` are how far behind the first of its batch it is in offset and in time."""

    value: bytes | None = b"v"
    key: bytes | None = None
    delta: int = 0
    later: int = 0
    headers: Headers = ()

    def encode(self) -> bytes:
        """As it lies in a batch."""
        body = b"\0" + varint(self.later) + varint(self.delta) + sized(self.key) + sized(self.value) + varint(len(self.headers))
        body += b"".join(sized(part) for header in self.headers for part in header)
        return varint(len(body)) + body


@dataclass(frozen=True)
class Batch:
    """One record batch; what is None follows from the records, anything else is claimed."""

    records: tuple[Record, ...] = (Record(),)
    base: int = 0
    codec: int = 0
    flags: int = 0
    epoch: int = 0
    stamp: int = 0
    latest: int = 0
    producer: int = -1
    last: int | None = None
    """How far the last offset is behind the first; those of records that compaction took away count."""
    count: int | None = None
    magic: int = 2
    body: bytes | None = None
    xerial: bool = True

    @property
    def end(self) -> int:
        """How far the last offset is behind the first."""
        return self.last if self.last is not None else max((record.delta for record in self.records), default=0)

    @property
    def next(self) -> int:
        """The offset behind the last."""
        return self.base + self.end + 1

    def encode(self) -> bytes:
        """As it lies in a log."""
        body = self.body if self.body is not None else b"".join(record.encode() for record in self.records)
        count = len(self.records) if self.count is None else self.count
        tail = struct.pack(">hiqqqhii", self.flags | self.codec, self.end, self.stamp, self.latest, self.producer, -1, -1, count)
        tail += compressed(self.codec, body, xerial=self.xerial)
        return struct.pack(">qiibI", self.base, len(tail) + 9, self.epoch, self.magic, crc32c(tail)) + tail


def marker(kind: int, base: int, producer: int) -> Batch:
    """The broker's record of how a transaction ended."""
    return Batch((Record(b"\0\0\0\0\0\0", struct.pack(">hh", 0, kind)),), base, flags=TRANSACTIONAL | CONTROL, producer=producer)


@dataclass(frozen=True)
class Partition:
    """One partition of an answer."""

    topic: str = "t"
    partition: int = 0
    batches: tuple[Batch, ...] = ()
    aborted: tuple[tuple[int, int], ...] | None = None
    error: int = 0
    high: int = 100
    stable: int = 100
    cut: int = 0
    """Bytes that are missing at the end."""
    raw: bytes | None = field(default=None, repr=False)

    def encode(self) -> bytes:
        """Number, error, ends, aborted transactions, records."""
        out = struct.pack(">ihqqq", self.partition, self.error, self.high, self.stable, 0)
        out += struct.pack(">i", -1 if self.aborted is None else len(self.aborted)) + b"".join(struct.pack(">qq", *pair) for pair in self.aborted or ())
        data = b"".join(batch.encode() for batch in self.batches) if self.raw is None else self.raw
        data = data[: len(data) - self.cut]
        return out + struct.pack(">ii", -1, len(data)) + data


def answer(partitions: tuple[Partition, ...], throttle_ms: int = 0, error: int = 0) -> bytes:
    """The body of an answer of version 11, one topic after the other in the order they come first."""
    topics: dict[str, list[Partition]] = {}
    for partition in partitions:
        topics.setdefault(partition.topic, []).append(partition)
    out = struct.pack(">ihii", throttle_ms, error, 0, len(topics))
    for topic, found in topics.items():
        out += text(topic) + struct.pack(">i", len(found)) + b"".join(partition.encode() for partition in found)
    return out


def compressed(codec: int, data: bytes, *, xerial: bool = True) -> bytes:
    """Records as a producer compresses them; a codec that nobody knows leaves them alone."""
    if codec == GZIP:
        return gzip.compress(data, 1, mtime=0)
    if codec == SNAPPY:
        return _xerial(data) if xerial else pa.Codec("snappy").compress(data, asbytes=True)
    if codec in {LZ4, ZSTD}:
        sink = pa.BufferOutputStream()
        with pa.CompressedOutputStream(sink, {LZ4: "lz4", ZSTD: "zstd"}[codec]) as out:
            out.write(data)
        return bytes(sink.getvalue())
    return data


def _xerial(data: bytes) -> bytes:
    """Blocks of snappy with their sizes in front, as Java's clients send them; small ones, so that there are several."""
    blocks = [pa.Codec("snappy").compress(data[i : i + _XERIAL_BLOCK], asbytes=True) for i in range(0, len(data), _XERIAL_BLOCK)]
    return XERIAL + b"".join(struct.pack(">i", len(block)) + block for block in blocks)


def varint(number: int) -> bytes:
    """Zigzag varint."""
    left, out = (number << 1) ^ (number >> 63), bytearray()
    while left > 0x7F:
        out.append(left & 0x7F | 0x80)
        left >>= 7
    out.append(left)
    return bytes(out)


def sized(data: bytes | None) -> bytes:
    """Bytes with their length in front; -1 for none."""
    return varint(-1) if data is None else varint(len(data)) + data


def text(value: str | None) -> bytes:
    """A string of a request or an answer."""
    return struct.pack(">h", -1) if value is None else struct.pack(">h", len(value.encode())) + value.encode()


@cache
def _crc_table() -> tuple[int, ...]:
    """CRC-32C, one byte at a time."""
    table = []
    for start in range(256):
        crc = start
        for _ in range(8):
            crc = (crc >> 1) ^ (_POLYNOMIAL if crc & 1 else 0)
        table.append(crc)
    return tuple(table)


def crc32c(data: bytes) -> int:
    """The checksum of a batch."""
    crc, table = 0xFFFFFFFF, _crc_table()
    for byte in data:
        crc = (crc >> 8) ^ table[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF
