"""Records as they wait between the client and the pipeline: blocks of columns, and the buffer that holds them."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from thalweg.arrow.batch import BadRows
from thalweg.arrow.metadata import HEADERS, PAYLOAD, TYPES
from thalweg.sources.kafka.rooms import joined

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    import numpy.typing as npt
    from confluent_kafka import KafkaError

    from thalweg.sources.kafka.rooms import Rooms

Key = tuple[str, int]
"""Topic and partition, the way messages say it."""
TIMESTAMP_TYPES: Final = pa.array(["CreateTime", "LogAppendTime"])
BAD_HEADER: Final = "source.header"


@dataclass(frozen=True, slots=True)
class Fault:
    """An error that came in place of a message."""

    error: KafkaError
    key: Key | None


@dataclass(frozen=True, slots=True)
class Fields:
    """What messages hold, field by field, in the order they came."""

    keys: tuple[Key, ...]
    """Every partition that has a message here."""
    at: npt.NDArray[np.int32]
    """Each message's place in ``keys``."""
    offsets: npt.NDArray[np.int64]
    payloads: pa.Array
    message_keys: pa.Array
    epochs: npt.NDArray[np.int32]
    """-1 where the broker gives none."""
    kinds: npt.NDArray[np.int8]
    """0 no timestamp, 1 create time, 2 log append time."""
    stamps: npt.NDArray[np.int64]
    """Milliseconds since 1970; -1 is none as well."""
    headers: pa.Array | None
    """None where no message has any."""
    nbytes: int
    """Payload and key bytes."""
    bad: BadRows


@dataclass(frozen=True, slots=True)
class Block:
    """Records of one call to the client as columns, with what the source asks of them."""

    records: pa.RecordBatch
    keys: tuple[Key, ...]
    at: npt.NDArray[np.int32]
    offsets: npt.NDArray[np.int64]
    nbytes: int
    """Payload and key bytes."""
    bad: BadRows

    @property
    def rows(self) -> int:
        """How many records."""
        return len(self.at)

    def within(self, nbytes: int) -> int:
        """How many records, from the first on, have no more than ``nbytes`` together."""
        if self.nbytes <= nbytes:
            return self.rows
        return int(np.searchsorted(np.cumsum(_sizes(self.records)), nbytes, "right"))

    def only(self, held: Collection[Key]) -> Block:
        """The records of these partitions."""
        if all(key in held for key in self.keys):
            return self
        return self._masked(np.array([key in held for key in self.keys], np.bool_)[self.at])

    def before(self, ends: Mapping[Key, int]) -> Block:
        """The records in front of these offsets."""
        mask = self.offsets < np.array([ends[key] for key in self.keys], np.int64)[self.at]
        return self if mask.all() else self._masked(mask)

    def after(self, reached: Mapping[Key, int]) -> Block:
        """The records at or behind these offsets, of each partition only those that lie behind all in front of them."""
        floors = np.array([reached.get(key, 0) for key in self.keys], np.int64)
        order = np.argsort(self.at, kind="stable")
        at, offsets = self.at[order], self.offsets[order]
        begins = np.append(True, at[1:] != at[:-1])[: self.rows]
        wanted = np.where(begins, floors[at], np.append(0, offsets[:-1] + 1)[: self.rows])
        if (offsets >= wanted).all():
            return self
        mask = np.zeros(self.rows, np.bool_)
        for i, floor in enumerate(floors):
            rows = order[at == i]
            mask[rows] = self.offsets[rows] >= np.maximum.accumulate(np.append(floor, self.offsets[rows] + 1))[:-1]
        return self._masked(mask)

    def slice(self, start: int, stop: int) -> Block:
        """The records from ``start`` to ``stop``; nothing is copied."""
        part = slice(start, stop)
        bad = _kept(self.bad, {row: row - start for row in self.bad.rows if start <= row < stop})
        return self._of(self.records.slice(start, stop - start), self.at[part], self.offsets[part], bad)

    def next_offsets(self) -> dict[Key, int]:
        """Offset behind the last record, by partition."""
        found = np.full(len(self.keys), -1, np.int64)
        # The last record of each run of one partition will do: where a partition has several runs, the last of them is written last.
        last = np.append(np.flatnonzero(self.at[1:] != self.at[:-1]), self.rows - 1) if self.rows else np.zeros(0, np.intp)
        found[self.at[last]] = self.offsets[last] + 1
        return {key: int(offset) for key, offset in zip(self.keys, found, strict=True) if offset >= 0}

    def _masked(self, mask: npt.NDArray[np.bool_]) -> Block:
        """The records that the mask keeps."""
        rows = np.cumsum(mask) - 1
        bad = _kept(self.bad, {row: int(rows[row]) for row in self.bad.rows if mask[row]})
        return self._of(self.records.filter(pa.array(mask)), self.at[mask], self.offsets[mask], bad)

    def _of(self, records: pa.RecordBatch, at: npt.NDArray[np.int32], offsets: npt.NDArray[np.int64], bad: BadRows) -> Block:
        """Some of the records."""
        return Block(records, self.keys, at, offsets, int(_sizes(records).sum()), bad)


@dataclass(slots=True)
class Taken:
    """What one call to the client brought."""

    blocks: list[Block] = field(default_factory=list)
    ends: dict[Key, int] = field(default_factory=dict)
    """Next fetch position by partition, as said by an end-of-partition event."""
    faults: list[Fault] = field(default_factory=list)

    def only(self, held: Collection[Key]) -> Taken:
        """Without records and ends of other partitions; faults stay."""
        ends = {key: end for key, end in self.ends.items() if key in held}
        return Taken([part for block in self.blocks if (part := block.only(held)).rows], ends, self.faults)


@dataclass(slots=True)
class Buffer:
    """Records that were taken from the client and not yet returned, with the end-of-partition marks among them."""

    blocks: deque[Block] = field(default_factory=deque)
    ends: dict[Key, int] = field(default_factory=dict)
    """End marks that lie behind all records of their partition."""
    rows: int = 0
    nbytes: int = 0

    def add(self, taken: Taken) -> None:
        """Take what one call returned."""
        self.ends.update(taken.ends)
        for block in taken.blocks:
            self._append(block)

    def move(self, rooms: Rooms) -> None:
        """Let the payloads that are here lie in front of those that come."""
        for i, block in enumerate(self.blocks):
            place = block.records.schema.get_field_index(PAYLOAD)
            payloads = rooms.moved(block.records.column(place))
            self.blocks[i] = replace(block, records=block.records.set_column(place, PAYLOAD, payloads))

    def drop(self, keys: Iterable[Key]) -> None:
        """Forget everything of these partitions."""
        gone = set(keys)
        self._replace(block.only({key for key in block.keys if key not in gone}) for block in self.blocks)
        self.ends = {key: end for key, end in self.ends.items() if key not in gone}

    def cut(self, ends: Mapping[Key, int]) -> None:
        """Forget every record that is not in front of its partition's end."""
        self._replace(block.before(ends) for block in self.blocks)

    def last(self, key: Key, start: int) -> int:
        """Offset behind the last record of a partition that is here; ``start`` where there is none."""
        return max([start, *(block.next_offsets().get(key, start) for block in self.blocks)])

    def take(self, rows: int, nbytes: int) -> list[Block]:
        """The oldest records, at most ``rows`` of them and ``nbytes`` in all, but at least one if there is one."""
        out: list[Block] = []
        while self.blocks and rows > 0:
            block = self.blocks[0]
            fits = min(rows, block.within(nbytes))
            fits = max(fits, 0 if out else 1)
            if fits == 0:
                break
            if fits < block.rows:
                self.blocks[0] = block.slice(fits, block.rows)
                block = block.slice(0, fits)
            else:
                self.blocks.popleft()
            out.append(block)
            rows -= block.rows
            nbytes -= block.nbytes
            self.rows -= block.rows
            self.nbytes -= block.nbytes
        return out

    def take_ends(self) -> dict[Key, int]:
        """The end marks, once no record is left in front of them."""
        if self.blocks:
            return {}
        ends, self.ends = self.ends, {}
        return ends

    def _append(self, block: Block) -> None:
        """Put records behind those that are here."""
        if block.rows:
            self.blocks.append(block)
            self.rows += block.rows
            self.nbytes += block.nbytes

    def _replace(self, blocks: Iterable[Block]) -> None:
        """Hold these instead."""
        found = list(blocks)
        self.blocks, self.rows, self.nbytes = deque(), 0, 0
        for block in found:
            self._append(block)


def next_offsets(blocks: Iterable[Block]) -> dict[Key, int]:
    """Offset behind the last record, by partition."""
    return {key: offset for block in blocks for key, offset in block.next_offsets().items()}


def make_block(fields: Fields, stamp_us: int) -> Block:
    """Fields as the columns of the raw lane."""
    rows = len(fields.at)
    stamped = (fields.kinds != 0) & (fields.stamps != -1)
    topics = list(dict.fromkeys(topic for topic, _ in fields.keys))
    codes = np.array([topics.index(topic) for topic, _ in fields.keys], np.int32)
    partitions = np.array([index for _, index in fields.keys], np.int32)
    columns: dict[str, pa.Array] = {
        PAYLOAD: fields.payloads,
        "source_topic": pa.DictionaryArray.from_arrays(pa.array(codes[fields.at], pa.int32()), pa.array(topics, pa.string())),
        "source_partition": pa.array(partitions[fields.at], pa.int32()),
        "source_offset": pa.array(fields.offsets, pa.int64()),
        "source_leader_epoch": _known(fields.epochs, fields.epochs >= 0),
        "source_key": fields.message_keys,
        "source_timestamp": _known(fields.stamps, stamped).cast(TYPES["source_timestamp"]),
        "source_timestamp_type": pa.DictionaryArray.from_arrays(_known(fields.kinds - np.int8(1), stamped), TIMESTAMP_TYPES),
        "source_headers": _no_headers(rows) if fields.headers is None else fields.headers,
        "ingest_ts": pa.repeat(pa.scalar(stamp_us, TYPES["ingest_ts"]), rows),
    }
    return Block(pa.RecordBatch.from_pydict(columns), fields.keys, fields.at, fields.offsets, fields.nbytes, fields.bad)


def join(blocks: Sequence[Block]) -> tuple[pa.RecordBatch, int, BadRows]:
    """Blocks as one batch, its payload, key and header bytes, and the rows whose headers cannot be read."""
    records = blocks[0].records if len(blocks) == 1 else _end_to_end([block.records for block in blocks])
    bad, before = BadRows(), 0
    for block in blocks:
        bad.extend(_kept(block.bad, {row: row + before for row in block.bad.rows}))
        before += block.rows
    headers = records.column("source_headers").flatten()
    names, values = (pc.sum(pc.binary_length(part)).as_py() or 0 for part in headers.flatten())
    return records, sum(block.nbytes for block in blocks) + names + values, bad


def empty() -> pa.RecordBatch:
    """No records, but every column: for a batch that only moves positions."""
    words, longs, none = np.zeros(0, np.int32), np.zeros(0, np.int64), pa.array([], pa.binary())
    return make_block(Fields((), words, longs, none, none, words, np.zeros(0, np.int8), longs, None, 0, BadRows()), 0).records


def _end_to_end(parts: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """One batch; the payloads are copied only where they do not lie in one room."""
    place = parts[0].schema.get_field_index(PAYLOAD)
    rest = pa.concat_batches([part.remove_column(place) for part in parts])
    return rest.add_column(place, parts[0].schema.field(place), joined([part.column(place) for part in parts]))


def _known(values: npt.NDArray[np.generic], known: npt.NDArray[np.bool_]) -> pa.Array:
    """Numbers, NULL where they are not known; without a copy where all are."""
    return pa.array(values) if known.all() else pa.array(values, mask=~known)


def _sizes(records: pa.RecordBatch) -> npt.NDArray[np.int64]:
    """Payload and key bytes of each record."""
    payloads, keys = (pc.fill_null(pc.binary_length(records.column(name)), 0).to_numpy(zero_copy_only=False) for name in (PAYLOAD, "source_key"))
    total: npt.NDArray[np.int64] = np.add(payloads, keys, dtype=np.int64)
    return total


def _no_headers(rows: int) -> pa.Array:
    """Empty lists."""
    return pa.ListArray.from_arrays(pa.repeat(pa.scalar(0, pa.int32()), rows + 1), pa.array([], HEADERS.value_type))


def _kept(bad: BadRows, rows: Mapping[int, int]) -> BadRows:
    """Bad rows under their new numbers; without those that have none."""
    out = BadRows()
    for row, code, message, path in zip(bad.rows, bad.codes, bad.messages, bad.paths, strict=True):
        if row in rows:
            out.add(rows[row], code, message, path)
    return out
