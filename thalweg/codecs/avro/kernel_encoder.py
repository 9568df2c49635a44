"""A batch to Avro payloads by the kernel: a program once for a schema and its columns, then a code a row."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from thalweg.arrow.kernel_rows import Encoded
from thalweg.codecs.avro.kernel_decoder import unfolded
from thalweg.codecs.avro.kernel_feeds import Loader, table_of
from thalweg.codecs.avro.kernel_writing import WriteEmitter
from thalweg.codecs.avro.schema import Node, parse
from thalweg.codecs.avro.table import record_root
from thalweg.kernels import avro_encode
from thalweg.kernels import avro_encode_ops as op
from thalweg.kernels import program as p

if TYPE_CHECKING:
    import numpy.typing as npt

    from thalweg.codecs.avro.kernel_feeds import Feed
    from thalweg.kernels.memory import Bytes, Longs

_GROWTH = 1.25


class AvroEncoder:
    """Writes batches of one schema. Used by one thread at a time."""

    def __init__(self, node: Node, columns: pa.Schema) -> None:
        """Raises Incompatible where a column does not become its field without loss."""
        self._flat = record_root(node) is not None
        self._strict, self._lean = WriteEmitter(), WriteEmitter(lean=True)
        for emitter in (self._strict, self._lean):
            emitter.root(node, columns, flat=self._flat)
        self._feeds: list[Feed] = self._strict.feeds
        self._names = self._strict.names
        self._table = table_of(self._feeds)
        self._per_row = 64.0

    def encode(self, batch: pa.RecordBatch, prefix: bytes = b"") -> Encoded:
        """Write every row, with ``prefix`` before each datum. A row that does not fit the schema costs itself."""
        loader, rows = Loader(self._table), batch.num_rows
        for feed, name in zip(self._feeds, self._names, strict=True):
            loader.add(feed, batch.column(name))
        arena = loader.arena()
        emitter = self._strict if loader.has_faults else self._lean
        program = emitter.program.copy()
        arena.link(program)
        out: Bytes = np.empty(int(self._per_row * rows * _GROWTH) + 4 * op.LONGEST + len(prefix), np.uint8)
        offsets, codes, faults = np.zeros(rows + 1, np.int32), np.zeros(rows, np.uint8), np.zeros(rows, np.int32)
        state: Longs = np.zeros(2, np.int64)
        lead = np.frombuffer(prefix, np.uint8).copy()
        while True:
            done = avro_encode.encode(
                program.reshape(-1), emitter.aux, emitter.constants, arena.cols, emitter.stack, arena.h8, arena.h32, arena.h64, lead,
                out, offsets, codes, faults, state,
            )  # fmt: skip
            if done == rows:
                break
            if 2 * len(out) > p.MOST_SLOTS:
                raise ValueError(f"the payloads of {rows} rows are larger than {p.MOST_SLOTS} bytes; encode fewer rows at once")
            out = np.concatenate([out[: state[op.S_OUT]], np.empty(2 * len(out) - int(state[op.S_OUT]), np.uint8)])
        self._per_row = max(int(state[op.S_OUT]) / max(rows, 1), 1.0)
        paths = {int(row): emitter.paths[faults[row]] for row in np.flatnonzero(codes)}
        return Encoded(_payloads(out[: state[op.S_OUT]], offsets, codes), codes, paths)


def compile_encoder(schema: Node | dict[str, Any] | list[Any] | str, columns: pa.Schema | None = None) -> AvroEncoder:
    """The encoder of a schema (nodes, JSON or JSON text) for batches with ``columns`` (None: those that the schema unfolds to).

    Raises SchemaError for no Avro schema, Incompatible where a column does not become its field without loss.
    """
    node = schema if isinstance(schema, Node) else parse(schema if isinstance(schema, str) else json.dumps(schema))
    return AvroEncoder(node, columns if columns is not None else unfolded(node, max_depth=24, union="dense", enum="dictionary"))


def _payloads(data: Bytes, offsets: npt.NDArray[np.int32], codes: npt.NDArray[np.uint8]) -> pa.BinaryArray:
    """The payloads, NULL where there is a code."""
    bad = int(np.count_nonzero(codes))
    valid = pa.py_buffer(np.packbits(codes == 0, bitorder="little")) if bad else None
    return pa.Array.from_buffers(pa.binary(), len(codes), [valid, pa.py_buffer(offsets), pa.py_buffer(data)], bad)
