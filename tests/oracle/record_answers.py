"""Random answers to fetches: logs with transactions, gaps and every codec, what a reader finds in them, and damage."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from tests.oracle.record_batches import ABORT, APPENDED, COMMIT, HEAD, TRANSACTIONAL, Batch, Headers, Partition, Record, answer, marker
from tests.oracle.record_reader import Row

if TYPE_CHECKING:
    from random import Random

    from thalweg.sources.kafka.reader import Key

PLACES = (("t", 0), ("t", 1), ("u", 0))
_EDGES = (0, 1, 2, 6, 7, 48, 49, 60, 61, 127, 128, 255, 256, 1 << 16, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, (1 << 63) - 1, 1 << 63, (1 << 64) - 1)
_OPEN = -1


@dataclass
class Log:
    """One partition: batches, and for each the records that it adds; aborted transactions with the offset of their end."""

    key: Key
    batches: list[Batch] = field(default_factory=list)
    aborted: list[tuple[int, int, int]] = field(default_factory=list)
    hidden: set[int] = field(default_factory=set)
    """Batches of aborted transactions, and the broker's own."""

    @property
    def next(self) -> int:
        """The offset behind the last."""
        return self.batches[-1].next if self.batches else 0

    def part(self, wanted: int, cut: int = 0) -> Partition:
        """What a broker sends of it from an offset on."""
        aborted = tuple((producer, first) for producer, first, end in self.aborted if end >= wanted)
        return Partition(*self.key, tuple(batch for batch in self.batches if batch.next > wanted), aborted or None, cut=cut)

    def rows(self, wanted: int) -> list[Row]:
        """What a reader finds there."""
        found = [(batch, record) for i, batch in enumerate(self.batches) if i not in self.hidden for record in batch.records]
        return [_row(self.key, *pair) for pair in found if pair[0].base + pair[1].delta >= wanted]


def _row(key: Key, batch: Batch, record: Record) -> Row:
    """A record as a reader finds it."""
    appended = bool(batch.flags & APPENDED)
    stamp = batch.latest if appended else batch.stamp + record.later
    headers: Headers | None = record.headers
    for name, _ in record.headers:
        if name.startswith(b"\xff"):
            headers = None
    return Row(key, batch.base + record.delta, record.key, record.value, headers, stamp, 2 if appended else 1, batch.epoch)


class Pen:
    """Writes random answers."""

    def __init__(self, random: Random) -> None:
        """The source of chance."""
        self._random = random

    def log(self, key: Key, steps: int) -> Log:
        """A partition; no transaction is open at its end."""
        random, log, begun = self._random, Log(key), dict[int, list[int]]()
        for _ in range(steps):
            producer = random.choice((_OPEN, _OPEN, 7, 8))
            if producer in begun and random.random() < 0.4:
                self._end(log, producer, begun.pop(producer))
                continue
            batch = self.batch(log.next + random.choice((0, 0, 0, 3)))
            if producer != _OPEN:
                batch = replace(batch, producer=producer, flags=batch.flags | TRANSACTIONAL)
                begun.setdefault(producer, []).append(len(log.batches))
            log.batches.append(batch)
        for producer, places in begun.items():
            self._end(log, producer, places)
        return log

    def _end(self, log: Log, producer: int, places: list[int]) -> None:
        """Commit or abort a transaction."""
        kind = self._random.choice((ABORT, COMMIT))
        log.hidden.add(len(log.batches))
        if kind == ABORT:
            log.hidden.update(places)
            log.aborted.append((producer, log.batches[places[0]].base, log.next))
        log.batches.append(marker(kind, log.next, producer))

    def batch(self, base: int) -> Batch:
        """A batch of no to six records."""
        random, delta, records = self._random, 0, []
        for _ in range(random.choice((0, 1, 1, 2, 3, 6))):
            delta += random.choice((0, 0, 0, 1, 200))
            records.append(replace(self.record(), delta=delta))
            delta += 1
        return Batch(
            tuple(records), base, random.choice((0, 0, 0, 0, 1, 2, 3, 4)), random.choice((0, 0, APPENDED)), random.choice((-1, 0, 9)),
            random.randrange(-1, 1 << 41), random.randrange(1 << 41), last=max(delta - 1, 0) + random.choice((0, 0, 2)), xerial=random.random() < 0.5,
        )  # fmt: skip

    def record(self) -> Record:
        """Any record."""
        random = self._random
        headers = tuple((self._name(), self._bytes()) for _ in range(random.choice((0, 0, 0, 1, 3))))
        return Record(self._bytes(), self._bytes(), 0, random.choice((0, 1, -5, 300, 1 << 40)), headers)

    def answer(self) -> bytes:
        """A whole answer of a few partitions."""
        random = self._random
        keys = random.sample(PLACES, random.choice((1, 1, 2, 3)))
        return answer(tuple(self.log(key, random.randrange(4)).part(0) for key in keys))

    def bent(self) -> bytes:
        """An answer in which something is wrong inside of one batch, which is compressed after that."""
        random = self._random
        batches = [self.batch(base) for base in (0, 1000, 2000)[: random.choice((1, 2, 3))]]
        place = random.randrange(len(batches))
        batch = batches[place]
        body = b"".join(record.encode() for record in batch.records)
        batches[place] = random.choice((
            lambda: replace(batch, body=bytes(scratched(random, body))), lambda: replace(batch, body=bytes(scratched(random, body))),
            lambda: replace(batch, count=random.choice((-1, 0, 1, 7, (1 << 31) - 1))), lambda: replace(batch, last=random.choice((-1, 0, 1, (1 << 31) - 1))),
            lambda: replace(batch, base=random.choice((-1, 0, 999, 1001, (1 << 63) - 1))), lambda: replace(batch, codec=random.randrange(8), body=body),
        ))()  # fmt: skip
        return answer((Partition(*random.choice(PLACES), tuple(batches), random.choice((None, ((-1, 0),), ((7, 500),)))),))

    def _bytes(self) -> bytes | None:
        """NULL, empty, short or longer than a varint of one byte counts."""
        return self._random.choice((None, b"", b"ab", self._random.randbytes(9), b"x" * 70))

    def _name(self) -> bytes:
        """A header's key, at times not UTF-8."""
        return self._random.choice((b"", b"name", "ä".encode(), b"n" * 70, b"\xff\xfe" if self._random.random() < 0.2 else b"k"))


def mutated(random: Random, payload: bytes, other: bytes) -> bytes:
    """An answer with damage to its bytes, or one that is wrong inside of its batches."""
    if random.random() < 0.5:
        return Pen(random).bent()
    if random.random() < 0.1:
        cut = random.randrange(len(payload) + 1)
        return payload[:cut] + other[random.randrange(len(other) + 1) :]
    return bytes(scratched(random, payload))


def scratched(random: Random, payload: bytes) -> bytearray:
    """One to three changes: a byte, a number of two to eight bytes, something more or less."""
    data = bytearray(payload)
    for _ in range(random.choice((1, 1, 2, 3))):
        at, kind = random.randrange(len(data) + 1), random.randrange(6)
        size = random.choice((1, 2, 4, 8))
        if kind == 0:
            data[at : at + 1] = bytes([random.choice((0, 1, 2, 0x7F, 0x80, 0xFF, random.randrange(256)))])
        elif kind == 1:
            data[at : at + size] = (random.choice(_EDGES) & ((1 << 8 * size) - 1)).to_bytes(size)
        elif kind == 2:
            del data[at : at + size]
        elif kind == 3:
            data[at:at] = random.randbytes(size)
        elif kind == 4:
            del data[len(data) - random.randrange(HEAD) :]
        elif at < len(data):
            data[at] ^= 1 << random.randrange(8)
    return data
