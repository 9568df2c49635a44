"""JSON payloads to a batch by the kernel: a program once for a declared schema, then a code a row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from thalweg.arrow.builders import Finisher, table_of
from thalweg.arrow.kernel_rows import KernelRows, payload_views, readonly
from thalweg.arrow.rows import LIMIT, MALFORMED, RESERVED, TYPE
from thalweg.codecs.json.kernel_program import Emitter
from thalweg.codecs.json.kernel_slots import slots_of
from thalweg.codecs.json.values import record
from thalweg.kernels import json as kernel
from thalweg.kernels import json_ops as op
from thalweg.kernels import program as p
from thalweg.kernels.arena import Arena, Sizes
from thalweg.kernels.powers import fives

if TYPE_CHECKING:
    from collections.abc import Collection

_REASONS: Final = {
    p.NULL_ROW: (MALFORMED, "there is no payload"),
    p.MALFORMED: (MALFORMED, "this is not one JSON object"),
    p.TRAILING: (MALFORMED, "something follows the object"),
    p.LIMIT: (LIMIT, "the document is larger than 'decode.max_bytes'"),
    p.TYPE: (TYPE, "the value does not fit the column"),
    p.RANGE: (TYPE, "the number is out of range"),
    p.TEXT: (TYPE, "the text does not read as what the column holds"),
    op.RESERVED: (RESERVED, "the name begins with the prefix that is kept for metadata columns"),
}
_LARGEST: Final = 8 << 20


class JsonProgram:
    """Decodes documents of one schema. Used by one thread at a time."""

    def __init__(self, schema: pa.Schema, emitter: Emitter, fields: list[Slots], table: Longs, most: tuple[int, int]) -> None:
        """``schema`` and ``fields``: of the columns that are kept; ``most``: bytes and levels of a document."""
        self.schema = schema
        self._finisher = Finisher(schema, fields, table)
        self._table = table
        self._program, self._nodes, self._words, self._names = emitter.arrays()
        self._paths = emitter.paths
        self._prefix = readonly(np.frombuffer(emitter.prefix.encode(), np.uint8))
        self._most = most
        self._epoch = 0
        self._stack = np.zeros(op.FRAME * (emitter.levels + 1) + p.ROOM, np.int64)
        self._has_maps = bool((self._program[:, p.P_OP] == op.MAP).any())
        self._sizes = Sizes(table)

    def decode(self, payloads: pa.BinaryArray) -> KernelRows:
        """Decode each payload. A bad row costs itself."""
        src, offs, present = payload_views(payloads)
        rows = len(payloads)
        longest = min(int(np.diff(offs).max(initial=0)), self._most[0])
        arena = Arena(self._table, *self._sizes.guess(rows, int(offs[-1]) - int(offs[0]), longest + p.ROOM))
        codes, faults, good = np.zeros(rows, np.uint8), np.zeros(rows * op.FAULT, np.int64), np.empty(rows, np.int32)
        state = np.array([0, 0, self._epoch, *self._most, 0, 0, 0], np.int64)
        text, other = np.zeros(longest + 2 * op.PAD, np.uint8), np.zeros(longest + 2 * op.PAD, np.uint8)
        seen = np.zeros(1 << (longest + p.ROOM).bit_length() if self._has_maps else 1, np.int32)
        program = self._program.copy()
        words, names, five = readonly(self._words), readonly(self._names), fives()
        try:
            while True:
                arena.link(program)
                done = kernel.decode(
                    src, offs, present, program.reshape(-1), self._nodes.reshape(-1), words, names, five, self._prefix, arena.cols, arena.counters,
                    arena.used, arena.used_bytes, self._stack, seen, text, other, arena.h8, arena.h32, arena.h64, arena.f32, arena.f64,
                    state, codes, faults, good,
                )  # fmt: skip
                if done == rows:
                    break
                if not arena.grow(int(state[op.S_OUT]), rows, int(offs[done + 1] - offs[done]) + p.ROOM):
                    codes[done] = p.LIMIT
                    state[op.S_ROW] += 1
        finally:
            self._epoch = int(state[op.S_EPOCH])
        count = int(state[op.S_OUT])
        arena.measure(count)
        self._sizes.learn(count, arena.used, arena.used_bytes)
        found = faults.reshape(-1, op.FAULT)
        batch = self._finisher.batch(arena, count)
        return KernelRows(batch, good[:count], codes, found[:, op.F_WHERE], found[:, op.F_NODE] // p.WORDS, np.zeros(rows, np.int64))

    def reason(self, found: KernelRows, row: int) -> tuple[str, str, str | None]:
        """Code, message and path of a bad row."""
        code, text = _REASONS[int(found.codes[row])]
        path = self._paths[int(found.places[row])] or None
        message = f"{text} (byte {int(found.positions[row])})"
        return code, f"{path}: {message}" if path else message, path


def compile_json(
    schema: pa.Schema, *, max_depth: int = 64, prefix: str = "_", wanted: Collection[str] | None = None, max_bytes: int = _LARGEST,
) -> JsonProgram:  # fmt: skip
    """The program that reads documents as ``schema`` declares them.

    Args:
        schema: The columns; each of a type that JSON can give.
        max_depth: Levels of objects and arrays that a document may have.
        prefix: What no name in the outermost object may begin with.
        wanted: The columns to keep; the others are checked as if they were read, and dropped.
        max_bytes: Size that a document may have.

    Raises:
        Unsupported: A type that no JSON value can become, or members of one name.
    """
    record(list(schema))
    slots = [slots_of(field.type) if wanted is None or field.name in wanted else None for field in schema]
    kept = [i for i, column in enumerate(slots) if column is not None]
    fields = [column for column in slots if column is not None]
    table = table_of(fields)
    emitter = Emitter(prefix)
    emitter.emit(list(schema), slots)
    return JsonProgram(pa.schema([schema.field(i) for i in kept], schema.metadata), emitter, fields, table, (max_bytes, max_depth))


if TYPE_CHECKING:
    from thalweg.arrow.slots import Slots
    from thalweg.kernels.memory import Longs
