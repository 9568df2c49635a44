"""A batch to JSON payloads by the kernel: a program once for a schema, then a document or a code a row."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.types as kinds

from thalweg.arrow.columns import TYPE_KEY
from thalweg.arrow.kernel_rows import Encoded, readonly
from thalweg.arrow.temporal import UNITS
from thalweg.codecs.json.kernel_columns import Block
from thalweg.codecs.json.values import Unsupported
from thalweg.kernels import encode_ops as op
from thalweg.kernels.json_encode import encode
from thalweg.kernels.powers import reciprocals
from thalweg.kernels.program import MOST_SLOTS

if TYPE_CHECKING:
    from collections.abc import Sequence

_INTEGERS: Final = {8: op.INT8, 16: op.INT16, 32: op.INT32, 64: op.INT64}
_UNSIGNED: Final = {8: op.UINT8, 16: op.UINT16, 32: op.UINT32, 64: op.UINT64}
_REASONS: Final = {op.NOT_FINITE: "JSON has no NaN and no infinity", op.YEAR: "the time is outside the years 0001 to 9999"}
_GROWTH: Final = 1.25


class JsonEncoder:
    """Writes batches of one schema. Used by one thread at a time."""

    def __init__(self, schema: pa.Schema) -> None:
        """Raises Unsupported for a type that only the reference encoder writes."""
        self._rows: list[list[int]] = []
        self._paths: list[str] = []
        self._names = bytearray()
        self._levels = 1
        self._node(op.OBJECT, "")
        self._members(0, list(schema), "", 1)
        self._program = np.array(self._rows, np.int64).reshape(-1, op.NODE)
        self._blob = np.frombuffer(bytes(self._names) + bytes(8), np.uint8)
        self._per_row = 64.0

    def encode(self, batch: pa.RecordBatch) -> Encoded:
        """Write every row. A row that JSON has no value for costs itself."""
        rows, program = batch.num_rows, self._program.copy()
        block, nodes = Block(program), iter(range(1, len(program)))
        for array in batch.columns:
            block.add(nodes, array)
        h8 = readonly(block.memory())
        out = np.empty(int(self._per_row * rows * _GROWTH) + 8 * op.SPARE + 2 * len(self._blob), np.uint8)
        offsets, codes, places, state = np.zeros(rows + 1, np.int32), np.zeros(rows, np.uint8), np.zeros(rows, np.int32), np.zeros(2, np.int64)
        stack, cell = np.zeros(op.FRAME * self._levels + 1, np.int64), np.zeros(4, np.int64)
        while True:
            done = encode(
                readonly(program.reshape(-1)), readonly(self._blob), reciprocals(), h8, h8.view(np.int32), h8.view(np.int64), h8.view(np.float32), stack, cell, cell.view(np.float64),
                out, offsets, codes, places, state,
            )  # fmt: skip
            if done == rows:
                break
            if 2 * len(out) > MOST_SLOTS:
                raise ValueError(f"the documents of {rows} rows are larger than {MOST_SLOTS} bytes; encode fewer rows at once")
            out = np.concatenate([out[: state[op.S_END]], np.empty(2 * len(out) - int(state[op.S_END]), np.uint8)])
        end = int(state[op.S_END])
        self._per_row = max(end / max(rows, 1), 1.0)
        bad = np.flatnonzero(codes)
        valid = pa.py_buffer(np.packbits(codes == 0, bitorder="little")) if len(bad) else None
        payloads = pa.Array.from_buffers(pa.binary(), rows, [valid, pa.py_buffer(offsets), pa.py_buffer(out[:end])], len(bad))
        return Encoded(payloads, codes, {int(row): self._paths[places[row]] for row in bad})

    def reason(self, made: Encoded, row: int) -> str:
        """Why a row cannot be written."""
        return f"{made.paths[row]}: {_REASONS[int(made.codes[row])]}"

    def _node(self, code: int, path: str, arg: int = 0) -> int:
        """A node before its subtree and its name are known."""
        row = [0] * op.NODE
        row[op.E_OP], row[op.E_VALID], row[op.E_ARG], row[op.E_JUMP] = code, -1, arg, len(self._rows) + 1
        self._rows.append(row)
        self._paths.append(path)
        return len(self._rows) - 1

    def _members(self, at: int, fields: Sequence[pa.Field], path: str, level: int) -> None:
        """The members of an object, with what stands before each."""
        for i, field in enumerate(fields):
            text = f"{',' if i else ''}{json.dumps(field.name, ensure_ascii=False)}:".encode()
            t = self._value(field, f"{path}.{field.name}".lstrip("."), level)
            self._rows[t][op.E_NAME], self._rows[t][op.E_SIZE] = len(self._names), len(text)
            self._names += text
        self._rows[at][op.E_JUMP] = len(self._rows)

    def _value(self, field: pa.Field, path: str, level: int) -> int:
        """The node of a value, and those below it."""
        kind, meaning = field.type, (field.metadata or {}).get(TYPE_KEY)
        self._levels = max(self._levels, level + 1)
        if meaning is not None:
            return self._node(op.RAW if meaning == b"json" else op.UUID, path)
        if kinds.is_dictionary(kind):
            kind = kind.value_type
        if kinds.is_struct(kind):
            t = self._node(op.OBJECT, path)
            self._members(t, [kind.field(i) for i in range(kind.num_fields)], path, level + 1)
            return t
        if kinds.is_map(kind):
            if not _is_text(kind.key_type):
                raise Unsupported(f"{kind}: keys that are not text")
            t = self._node(op.MAP, path)
            self._node(op.TEXT, path)
            self._value(kind.item_field, f"{path}{{}}", level + 1)
        elif kinds.is_list(kind) or kinds.is_large_list(kind):
            t = self._node(op.LIST, path)
            self._value(kind.value_field, f"{path}[]", level + 1)
        else:
            return self._node(*_scalar(kind, path))
        self._rows[t][op.E_JUMP] = len(self._rows)
        return t


def compile_json_encoder(schema: pa.Schema) -> JsonEncoder:
    """The encoder of batches with ``schema``. Raises Unsupported for a type that only the reference encoder writes."""
    return JsonEncoder(schema)


def _is_text(kind: pa.DataType) -> bool:
    """Whether it is any type of text."""
    return bool(kinds.is_string(kind) or kinds.is_large_string(kind) or kinds.is_string_view(kind))


def _scalar(kind: pa.DataType, path: str) -> tuple[int, str, int]:
    """Op, path and argument of a type without parts. Raises Unsupported."""
    if kinds.is_integer(kind):
        return (_INTEGERS if kinds.is_signed_integer(kind) else _UNSIGNED)[kind.bit_width], path, 0
    if kinds.is_decimal(kind):
        return op.DECIMAL, path, kind.bit_width // 8 * op.DECIMAL_WIDTH + kind.scale + op.DECIMAL_SCALE
    if kinds.is_timestamp(kind):
        return op.STAMP, path, UNITS[kind.unit] + (op.ZONED if kind.tz is not None else 0)
    if kinds.is_time(kind):
        return op.TIME, path, UNITS[kind.unit]
    if kinds.is_fixed_size_binary(kind):
        return op.FIXED, path, kind.byte_width
    for matches, code in _SCALARS:
        if matches(kind):
            return code, path, 0
    raise Unsupported(str(kind))


_SCALARS: Final = (
    (_is_text, op.TEXT),
    (kinds.is_boolean, op.BOOLEAN),
    (kinds.is_float64, op.DOUBLE),
    (kinds.is_float32, op.FLOAT),
    (lambda t: kinds.is_binary(t) or kinds.is_large_binary(t) or kinds.is_binary_view(t), op.BINARY),
    (kinds.is_date32, op.DATE),
    (kinds.is_duration, op.INT64),
    (kinds.is_null, op.NOTHING),
)
