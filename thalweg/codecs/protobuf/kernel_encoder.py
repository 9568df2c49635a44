"""A batch to Protobuf payloads by the kernel: a program once for a message and its columns, then a payload or a code a row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from thalweg.arrow.kernel_rows import Encoded, readonly
from thalweg.codecs.protobuf.kernel_feeds import Block
from thalweg.codecs.protobuf.kernel_writing import WriteCompiler
from thalweg.codecs.protobuf.shapes import Unfolding
from thalweg.kernels import program as p
from thalweg.kernels import protobuf_encode
from thalweg.kernels import protobuf_encode_ops as op

if TYPE_CHECKING:
    import numpy.typing as npt

    from thalweg.codecs.protobuf.forms import Form
    from thalweg.kernels.memory import Bytes, Longs

_GROWTH: Final = 1.25


class ProtobufEncoder:
    """Writes batches of one message. Used by one thread at a time."""

    def __init__(self, form: Form, columns: pa.Schema) -> None:
        """Raises Incompatible where a column is no field or cannot become it, DescriptorError for what is not written."""
        shapes = Unfolding(max_depth=1 << 30, writing=True).root(form, columns)
        compiler = WriteCompiler()
        self._feeds = compiler.root(form, shapes)
        self._names = columns.names
        self._count = compiler.feeds
        self._program, self._pointers, self._aux = compiler.arrays()
        self._paths = compiler.paths
        self._stack: Longs = np.zeros(op.FRAME * (compiler.deepest + 1), np.int64)
        self._per_row = 64.0

    def encode(self, batch: pa.RecordBatch, prefix: bytes = b"") -> Encoded:
        """Write every row, with ``prefix`` before each message. A row that does not fit the message costs itself."""
        rows, block = batch.num_rows, Block(self._count)
        for feed, name in zip(self._feeds, self._names, strict=True):
            block.add(feed, batch.column(name))
        h8 = readonly(block.memory())
        program = self._program.copy()
        if len(self._pointers):
            at, words, feeds, fields = self._pointers.T
            program[at, words] = block.addresses[feeds, fields]
        out: Bytes = np.empty(int(self._per_row * rows * _GROWTH) + 2 * op.LONGEST + len(prefix), np.uint8)
        starts, codes, faults = np.zeros(rows, np.int64), np.zeros(rows, np.uint8), np.zeros(rows, np.int32)
        state: Longs = np.array([rows, len(out)], np.int64)
        lead = readonly(np.frombuffer(prefix, np.uint8))
        while protobuf_encode.encode(
            readonly(program.reshape(-1)), self._aux, self._stack, h8, h8.view(np.int32), h8.view(np.int64), lead, out, starts, codes, faults, state,
        ):  # fmt: skip
            if 2 * len(out) > p.MOST_SLOTS:
                raise ValueError(f"the payloads of {rows} rows are larger than {p.MOST_SLOTS} bytes; encode fewer rows at once")
            done = out[state[op.S_OUT] :]
            out = np.concatenate([np.empty(2 * len(out) - len(done), np.uint8), done])
            state[op.S_OUT] = len(out) - len(done)
        written = len(out) - int(state[op.S_OUT])
        self._per_row = max(written / max(rows, 1), 1.0)
        paths = {int(row): self._paths[faults[row]] for row in np.flatnonzero(codes)}
        return Encoded(_payloads(out[state[op.S_OUT] :], written - starts, codes), codes, paths)


def compile_encoder(form: Form, columns: pa.Schema) -> ProtobufEncoder:
    """The encoder of a message for batches with ``columns``; a field without a column is not written.

    Raises Incompatible where a column is no field or cannot become it, or a required field has none; DescriptorError for what is not written.
    """
    return ProtobufEncoder(form, columns)


def _payloads(data: Bytes, starts: Longs, codes: npt.NDArray[np.uint8]) -> pa.BinaryArray:
    """The payloads, NULL where there is a code."""
    bad = int(np.count_nonzero(codes))
    valid = pa.py_buffer(np.packbits(codes == 0, bitorder="little")) if bad else None
    offsets = np.append(starts, len(data)).astype(np.int32)
    return pa.Array.from_buffers(pa.binary(), len(codes), [valid, pa.py_buffer(offsets), pa.py_buffer(data)], bad)
