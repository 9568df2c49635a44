"""A slow and obvious reader of answers to fetches, and the judge that compares the compiled loops with it."""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from tests.oracle.record_batches import CONTROL, GZIP, HEAD, SNAPPY, TRANSACTIONAL, XERIAL, Headers
from thalweg.native import batches as loops
from thalweg.sources.kafka.fetch.answer import Batches
from thalweg.sources.kafka.fetch.messages import Garbled, answer
from thalweg.sources.kafka.reader import make_block
from thalweg.sources.kafka.rooms import Rooms

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from thalweg.sources.kafka.reader import Fields, Key

MANY = 1 << 16
_WORD = 1 << 64
_NAMES = {3: "lz4", 4: "zstd"}


class Broken(Exception):
    """Not what the protocol says."""


class Row(NamedTuple):
    """One record as a pipeline sees it."""

    key: Key
    offset: int
    name: bytes | None
    value: bytes | None
    headers: Headers | None
    """None where a header's key is not UTF-8."""
    stamp: int
    kind: int
    epoch: int


class Head(NamedTuple):
    """The head of a batch, and what is behind it."""

    base: int
    epoch: int
    flags: int
    next: int
    stamp: int
    latest: int
    producer: int
    count: int
    body: bytes


class Walk:
    """Walks through bytes."""

    def __init__(self, data: bytes) -> None:
        """Start at the first."""
        self.data, self.at = data, 0

    def take(self, count: int) -> bytes:
        """So many bytes."""
        if not 0 <= count <= len(self.data) - self.at:
            raise Broken
        self.at += count
        return self.data[self.at - count : self.at]

    def number(self, size: int) -> int:
        """A signed number of so many bytes."""
        return int.from_bytes(self.take(size), signed=True)

    def varint(self) -> int:
        """Zigzag, of 64 bits at most."""
        value = shift = 0
        while (byte := self.take(1)[0]) > 127:
            value |= (byte & 127) << shift
            shift += 7
        value |= byte << shift
        if shift > 63 or value >= _WORD:
            raise Broken
        return (value >> 1) ^ -(value & 1)

    def sized(self) -> bytes | None:
        """Bytes behind their size; None for -1."""
        size = self.varint()
        return None if size == -1 else self.take(size)


def heads(data: bytes) -> list[Head]:
    """The whole batches of a partition."""
    found: list[Head] = []
    while len(data) >= HEAD:
        base, size, epoch, magic, _, flags, last, stamp, latest, producer, _, _, count = struct.unpack_from(">qiibIhiqqqhii", data)
        if magic != 2 or size < HEAD - 12:
            raise Broken
        if size + 12 > len(data):
            break
        behind = base + last + 1
        if base < (found[-1].next if found else 0) or not base < behind < _WORD // 2 or count < 0:
            raise Broken
        found.append(Head(base, epoch, flags, behind, stamp, latest, producer, count, data[HEAD : size + 12]))
        data = data[size + 12 :]
    if data and not found:
        raise Broken
    return found


def shown(found: list[Head], aborted: Iterable[tuple[int, int]]) -> list[Head]:
    """Batches with records that count: what the Java client's ``CompletedFetch`` does."""
    waiting, gone, out = sorted(aborted, key=lambda pair: pair[1]), set[int](), []
    for head in found:
        if waiting and head.flags & TRANSACTIONAL:
            gone |= {producer for producer, first in waiting if first < head.next}
            waiting = [pair for pair in waiting if pair[1] >= head.next]
        transactional = bool(head.flags & TRANSACTIONAL) and bool(aborted)
        if head.flags & CONTROL:
            if transactional and head.count and _aborts(head):
                gone.discard(head.producer)
        elif head.count and not (transactional and head.producer in gone):
            out.append(head)
    return out


def _aborts(head: Head) -> bool:
    """Whether a control batch ends an aborted transaction."""
    walk = Walk(inflated(head))
    row = record(walk, head, ("", 0), 0)
    if row.name is None or len(row.name) < 4 or (head.count == 1 and walk.at != len(walk.data)):
        raise Broken
    return row.name[2:4] == b"\0\0"


def inflated(head: Head) -> bytes:
    """The records of a batch, not compressed any more."""
    codec = head.flags & 7
    try:
        if codec == GZIP:
            return _unzipped(head.body)
        if codec == SNAPPY:
            return _unsnapped(head.body)
        if codec in _NAMES:
            return bytes(pa.CompressedInputStream(pa.BufferReader(head.body), _NAMES[codec]).read())
    except (OSError, EOFError, zlib.error, pa.ArrowException) as e:
        raise Broken from e
    if codec:
        raise Broken
    return head.body


def _unzipped(data: bytes) -> bytes:
    """Members of gzip, one behind the other."""
    out = b""
    while data:
        member = zlib.decompressobj(31)
        out += member.decompress(data)
        if not member.eof:
            raise Broken
        data = member.unused_data
    return out


def _unsnapped(data: bytes) -> bytes:
    """Blocks of snappy."""
    if not data.startswith(XERIAL[:8]):
        return _block(data)
    walk, out = Walk(data), b""
    walk.at = len(XERIAL)
    while walk.at < len(data):
        if data[walk.at :].startswith(XERIAL[:8]):
            walk.at += len(XERIAL)
            continue
        out += _block(walk.take(int.from_bytes(walk.take(4))))
    return out


def _block(data: bytes) -> bytes:
    """One block of snappy: its size comes first."""
    walk, size, shift = Walk(data), 0, 0
    while (byte := walk.take(1)[0]) > 127:
        size |= (byte & 127) << shift
        shift += 7
    size |= byte << shift
    if size > 64 * len(data):
        raise Broken
    return bytes(pa.Codec("snappy").decompress(data, size, asbytes=True)) if size else b""


def record(walk: Walk, head: Head, key: Key, wanted: int) -> Row:
    """One record; headers of one that is not wanted are not looked at."""
    body = Walk(walk.take(walk.varint()))
    body.take(1)
    later, further = body.varint(), body.varint()
    name, value, count = body.sized(), body.sized(), body.varint()
    if not 0 <= further < head.next - head.base or not 0 <= count <= len(body.data) - body.at:
        raise Broken
    headers: list[tuple[bytes, bytes | None]] = []
    if head.base + further >= wanted:
        for _ in range(count):
            header = body.sized()
            if header is None:
                raise Broken
            headers.append((header, body.sized()))
        body.take(0)
        if body.at != len(body.data):
            raise Broken
    appended = bool(head.flags & 8)
    stamp = head.latest if appended else (head.stamp + later + _WORD // 2) % _WORD - _WORD // 2
    return Row(key, head.base + further, name, value, _decodable(headers), stamp, 2 if appended else 1, head.epoch)


def _decodable(headers: list[tuple[bytes, bytes | None]]) -> Headers | None:
    """None where a key is not UTF-8."""
    try:
        for name, _ in headers:
            name.decode()
    except UnicodeDecodeError:
        return None
    return tuple(headers)


def partition(data: bytes, key: Key, wanted: int, aborted: tuple[tuple[int, int], ...]) -> list[Row]:
    """Every record of one partition from the offset on that is wanted."""
    found, rows = heads(data), []
    if found and found[-1].next <= wanted:
        raise Broken
    for head in shown(found, aborted):
        walk, least = Walk(inflated(head)), head.base
        for _ in range(head.count):
            row = record(walk, head, key, wanted)
            if row.offset < least:
                raise Broken
            least = row.offset + 1
            if row.offset >= wanted:
                rows.append(row)
        if walk.at != len(walk.data):
            raise Broken
    return rows


def rows_of(fields: Fields) -> list[Row]:
    """What the loops have laid out."""
    block = make_block(fields, 0)
    block.records.validate(full=True)
    count = block.rows
    headers = [[]] * count if fields.headers is None else fields.headers.to_pylist()
    said = [None if found is None else tuple((h["key"].encode(), h["value"]) for h in found) for found in headers]
    columns = (fields.offsets.tolist(), fields.message_keys.to_pylist(), fields.payloads.to_pylist(), said, fields.stamps.tolist(),
               fields.kinds.tolist(), fields.epochs.tolist())  # fmt: skip

    assert fields.bad.rows == [i for i, found in enumerate(said) if found is None]
    assert fields.nbytes == sum(len(cell or b"") for column in columns[1:3] for cell in column)

    return [Row(fields.keys[at], *cells) for at, *cells in zip(fields.at.tolist(), *columns, strict=True)]


def loaded(data: bytes, wanted: Mapping[Key, int]) -> Batches:
    """The batches of an answer; raises Garbled."""
    octets = np.frombuffer(bytearray(data), np.uint8)
    return Batches(loops, octets, [(part, wanted.get(part.key, 0)) for part in answer(octets)[2]])


def taken(batches: Batches, most: int, rooms: Rooms | None = None) -> list[Row]:
    """The next records; no more than ``most``."""
    fields = batches.take(most, rooms or Rooms())
    rows = [] if fields is None else rows_of(fields)

    assert len(rows) <= most

    return rows


def read(data: bytes, wanted: Mapping[Key, int], most: int = MANY) -> list[Row]:
    """Every record of an answer, by the loops; raises Garbled."""
    batches, rows = loaded(data, wanted), list[Row]()
    while found := taken(batches, most):
        rows += found

    assert not batches

    return rows


def agrees(data: bytes, wanted: Mapping[Key, int], most: int = MANY) -> bool:
    """Both read the same rows, or both refuse; whether they refuse."""
    try:
        expected: list[Row] | None = [row for key, aborted, found in _partitions(data) for row in partition(found, key, wanted.get(key, 0), aborted)]
    except Broken:
        expected = None
    try:
        rows: list[Row] | None = read(data, wanted, most)
    except Garbled:
        rows = None

    assert rows == expected, data.hex()

    return rows is None


def _partitions(data: bytes) -> list[tuple[Key, tuple[tuple[int, int], ...], bytes]]:
    """Partitions, their aborted transactions and their batches."""
    walk, out = Walk(data), []
    walk.take(10)
    for _ in range(walk.number(4)):
        name = _text(walk.take(max(walk.number(2), 0)))
        for _ in range(walk.number(4)):
            index = walk.number(4)
            walk.take(26)
            aborted = tuple([(walk.number(8), walk.number(8)) for _ in range(walk.number(4))])
            walk.take(4)
            out.append(((name, index), aborted, walk.take(max(walk.number(4), 0))))
    if len({key for key, _, _ in out}) < len(out):
        raise Broken
    return out


def _text(name: bytes) -> str:
    """A topic's name."""
    try:
        return name.decode()
    except UnicodeDecodeError:
        raise Broken from None
