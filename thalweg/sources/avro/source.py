"""A location of Avro container files as a bounded source: each file is a topic of one partition, each record's number its offset."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from thalweg.arrow import container
from thalweg.arrow.batch import BadRows, RawBatch
from thalweg.arrow.container import ContainerFault
from thalweg.arrow.metadata import PAYLOAD, TYPES
from thalweg.arrow.schema_header import header_name
from thalweg.errors import SourceFailed
from thalweg.model.position import Partition, Span, TopicIdentity
from thalweg.ports.source import Source
from thalweg.sources.avro.walk import Piece, Walk

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from thalweg.ports.source import Budget, Listener, SourceContext
    from thalweg.sources.avro.options import AvroFileOptions

CODE: Final = "source.block"
_HEADER: Final = header_name(is_key=False)
_MOST_BYTES: Final = 1 << 30
"""Bytes of one batch at most: Arrow's offsets are int32."""
_GUID: Final = b"\x01"


class AvroFiles(Source):
    """Reads every record of every file once, in order. Positions are the pipeline's to keep: files remember nothing."""

    def __init__(self, location: str, options: AvroFileOptions, context: SourceContext) -> None:
        """Look at nothing yet."""
        self._location, self._options, self._context = location, options, context
        self._next: dict[Partition, int] = {}
        self._done: set[Partition] = set()
        self._identities: dict[Partition, TopicIdentity] = {}
        self._paths: dict[Partition, Path] = {}
        self._walk: tuple[Partition, Walk] | None = None
        self._rest: Piece | None = None

    def open(self, listener: Listener) -> None:
        """List the files; each one is a partition of its own."""
        paths = container.files_of(self._location, self._context.folder)
        for path in paths:
            partition = Partition(self._context.relation, path.as_uri(), 0)
            self._paths[partition] = path
            self._identities[partition] = TopicIdentity("file", _identity(path))
        chosen = listener.assigned(dict.fromkeys(self._identities))
        self._next = {p: chosen[p] or 0 for p in self._identities}
        listener.started(dict(self._next))

    def identity(self, partition: Partition) -> TopicIdentity:
        """A file that was written anew has another sync marker, and so is another topic."""
        return self._identities[partition]

    def poll(self, budget: Budget) -> RawBatch | None:
        """The next records, over as many files as the budget takes."""
        taken: list[tuple[Partition, Piece, bytes | None]] = []
        rows, nbytes = budget.rows, min(budget.nbytes, _MOST_BYTES)
        moved: dict[Partition, int] = {}
        while rows > 0 and (nbytes > 0 or not taken) and (found := self._piece()) is not None:
            partition, piece, schema = found
            if taken and piece.rows and int(piece.offsets[1] - piece.offsets[0]) > nbytes:
                self._rest = piece
                break
            part, self._rest = piece.parted(rows, nbytes) if piece.rows else (piece, None)
            rows, nbytes = rows - part.rows, nbytes - int(part.offsets[-1] - part.offsets[0])
            moved.setdefault(partition, self._next[partition])
            self._next[partition] = part.end
            if part.rows:
                taken.append((partition, part, schema))
        spans = tuple(Span(p, start, self._next[p]) for p, start in moved.items() if self._next[p] > start)
        return self._batch(taken, spans) if spans else None

    def idle(self) -> None:
        """Files wait by themselves."""

    def seek(self, positions: Mapping[Partition, int]) -> None:
        """Go to these records."""
        for partition, offset in positions.items():
            if partition in self._next:
                self._next[partition] = offset
                self._done.discard(partition)
        self._leave()

    def commit(self, positions: Mapping[Partition, int], metadata: str) -> Mapping[Partition, int]:  # noqa: ARG002 - the port's signature
        """Nobody keeps positions of files but the targets, whose records count at the next start."""
        return {p: offset for p, offset in positions.items() if p in self._next and self._context.group}

    def lag(self) -> int | None:
        """How many records are left is not known before they are read."""
        return 0 if self.finished() else None

    def finished(self) -> bool:
        """Whether every file was read to the end that it had when its turn came."""
        return len(self._done) == len(self._next)

    def close(self) -> None:
        """Let go of the open file."""
        self._leave()
        self._next.clear()
        self._done.clear()

    def _leave(self) -> None:
        """Close the open file and forget what was read of it."""
        if self._walk is not None:
            self._walk[1].close()
        self._walk = self._rest = None

    def _piece(self) -> tuple[Partition, Piece, bytes | None] | None:
        """What comes next, with the name of its schema; files end on the way."""
        while True:
            if self._walk is None:
                waiting = next((p for p in self._next if p not in self._done), None)
                if waiting is None:
                    return None
                self._walk = (waiting, self._opened(waiting))
            partition, walk = self._walk
            piece = self._rest if self._rest is not None else self._step(partition, walk)
            self._rest = None
            if piece is not None:
                return partition, piece, _GUID + walk.header.schema_id.bytes if walk.header is not None else None
            if walk.number < self._next[partition]:
                raise SourceFailed(
                    f"reading goes on at record {self._next[partition]}, but the file has {walk.number} only", where=partition.topic,
                    hint="it was cut or replaced: --rewrite writes all targets from the start",
                )
            self._done.add(partition)
            self._leave()

    def _opened(self, partition: Partition) -> Walk:
        """Begin with a file."""
        if self._context.blocks is None:
            raise SourceFailed("the table's format does not read blocks of Avro records", where=partition.topic)
        try:
            return Walk(self._paths[partition], self._context.blocks, min(self._options.max_block_bytes, _MOST_BYTES))
        except OSError as e:
            raise SourceFailed(f"the file cannot be read: {e.strerror}", where=partition.topic) from e

    def _step(self, partition: Partition, walk: Walk) -> Piece | None:
        """The next block's records."""
        try:
            return walk.next(self._next[partition])
        except OSError as e:
            raise SourceFailed(f"the file cannot be read: {e.strerror}", where=partition.topic) from e

    def _batch(self, taken: list[tuple[Partition, Piece, bytes | None]], spans: tuple[Span, ...]) -> RawBatch:
        """The pieces as one batch."""
        parts, bad, row, nbytes = [], BadRows(), 0, 0
        for partition, piece, schema in taken:
            parts.append(_records(partition, piece, schema))
            row, nbytes = row + piece.rows, nbytes + int(piece.offsets[-1] - piece.offsets[0])
            if piece.fault is not None:
                bad.add(row - 1, CODE, piece.fault)
        records = pa.Table.from_batches(parts, _SCHEMA).combine_chunks().to_batches()
        batch = records[0] if records else pa.RecordBatch.from_pylist([], _SCHEMA)
        now = pa.scalar(self._context.clock.now_ns() // 1_000, TYPES["ingest_ts"])
        return RawBatch(batch.append_column("ingest_ts", pa.repeat(now, batch.num_rows)), spans, nbytes, bad)


_COLUMNS: Final = ("source_topic", "source_partition", "source_offset", "source_headers")
_SCHEMA: Final = pa.schema([(PAYLOAD, pa.binary()), *((name, TYPES[name]) for name in _COLUMNS)])


def _records(partition: Partition, piece: Piece, schema: bytes | None) -> pa.RecordBatch:
    """Records of one file: their bytes are shared, not copied."""
    rows = piece.rows
    offsets = pa.py_buffer(np.ascontiguousarray(piece.offsets))
    payload = pa.Array.from_buffers(pa.binary(), rows, [None, offsets, pa.py_buffer(piece.data)])
    named = rows if schema is not None else 0
    header = pa.StructArray.from_arrays(
        [pa.repeat(pa.scalar(_HEADER), named), pa.repeat(pa.scalar(schema or b""), named)], fields=list(TYPES["source_headers"].value_type)
    )
    ends = pa.array(np.arange(rows + 1, dtype=np.int32) if named else np.zeros(rows + 1, np.int32))
    columns = [
        payload,
        pa.repeat(pa.scalar(partition.topic), rows),
        pa.repeat(pa.scalar(partition.index, pa.int32()), rows),
        pa.array(np.arange(piece.start, piece.start + rows)),
        pa.ListArray.from_arrays(ends, header, type=TYPES["source_headers"]),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=_SCHEMA)


def _identity(path: Path) -> str:
    """The file's place and its sync marker, which every writing chooses anew."""
    try:
        with path.open("rb") as file:
            return f"{path.as_uri()}#{container.read_header(file).sync.hex()}"
    except (OSError, ContainerFault):
        return path.as_uri()
