"""Protobuf payloads to a batch by the kernel: a program once for a table's message, then a code a row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from thalweg.arrow.builders import Finisher, table_of
from thalweg.arrow.kernel_rows import KernelRows, payload_views, readonly
from thalweg.arrow.rows import LIMIT, MALFORMED, TYPE
from thalweg.codecs.protobuf.declared import conform
from thalweg.codecs.protobuf.kernel_program import Compiler
from thalweg.kernels import program as p
from thalweg.kernels import protobuf
from thalweg.kernels import protobuf_ops as op
from thalweg.kernels.arena import Arena, Sizes
from thalweg.kernels.protobuf_rows import settle

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    import numpy.typing as npt

    from thalweg.codecs.protobuf.table import Table
    from thalweg.kernels.memory import Longs

_REASONS: Final = {
    p.NULL_ROW: (MALFORMED, "there is no payload"),
    p.MALFORMED: (MALFORMED, "the bytes end early, or a tag, a length, a group or a number cannot be"),
    p.LIMIT: (LIMIT, "more messages in repeated fields than are read"),
    p.UTF8: (MALFORMED, "the text is not UTF-8"),
    p.DEPTH: (LIMIT, f"messages lie deeper than {op.MAX_LEVELS} levels"),
    p.TYPE: (TYPE, "the value does not fit the column"),
}


class ProtobufProgram:
    """Decodes payloads of one table's message. Used by one thread at a time."""

    def __init__(self, table: Table, wanted: Collection[str] | None, on_text: Callable[[str], None] | None) -> None:
        """``wanted``: the columns to keep; the others are checked as if they were read. Raises DescriptorError for what it does not take."""
        kept = [i for i, s in enumerate(table.shapes) if wanted is None or s.name in wanted]
        self.schema = pa.schema([table.schema.field(i) for i in kept], table.schema.metadata)
        natural = pa.schema([table.natural.field(i) for i in kept])
        compiler = Compiler(table.max_items, on_text)
        fields, root = compiler.message(table.form, [table.shapes[i] for i in kept], -1, "")
        self._table = table_of(fields)
        self._finisher = Finisher(natural, fields, self._table)
        self._levels = compiler.levels
        self._texts = [s.number for s in compiler.text_counters]
        self._level_of = self._number_levels(compiler)
        self._program = compiler.tables.finish(root, compiler.levels)
        self._maps: Longs = np.array(compiler.maps, np.int64).reshape(-1)
        self._max_items = table.max_items
        self._stack: Longs = np.zeros((op.MAX_LEVELS + 2) * op.FRAME, np.int64)
        self._groups: Longs = np.zeros(op.MAX_LEVELS + 1, np.int64)
        self._sizes = Sizes(self._table)
        self.finer = 0
        """Times whose digits did not all fit their column's unit, so far."""

    def decode(self, payloads: pa.BinaryArray, skip_bytes: int | npt.NDArray[np.int32] = 0) -> KernelRows:
        """Decode each payload after ``skip_bytes`` bytes of framing, one number or one a row. A bad row costs itself."""
        src, offs, present = payload_views(payloads)
        rows = len(payloads)
        longest = int(np.diff(offs).max(initial=0))
        arena = Arena(self._table, *self._sizes.guess(rows, int(offs[-1]) - int(offs[0]), longest + p.ROOM), zeroed=True)
        counters = arena.counters = np.zeros(self._levels + len(self._texts), np.int64)
        saved, starts = np.zeros_like(counters), np.zeros_like(counters)
        codes, faults, good = np.zeros(rows, np.uint8), np.zeros(rows * op.FAULT, np.int64), np.empty(rows, np.int32)
        state = np.array([0, 0, p.ROOM, self._max_items, self._program.root, 0, self._levels], np.int64)
        seen = np.zeros(1 << max(longest, 16).bit_length() if len(self._maps) else 1, np.int32)
        skips = readonly(np.atleast_1d(np.asarray(skip_bytes, np.int32)))
        while True:
            program, caps = self._program.linked(arena.table), self._room(arena.table)
            done = protobuf.decode(
                src, offs, skips, present, program, self._program.table, self._program.aux, self._maps, arena.cols, self._level_of,
                counters, saved, caps, starts, self._stack, self._groups, seen, arena.h8, arena.h32, arena.h64, state, codes, faults, good,
            )  # fmt: skip
            if done == rows:
                break
            settle(arena.cols, counters, int(state[op.S_OUT]), arena.h32, arena.used, arena.used_bytes)
            if not arena.grow(int(state[op.S_OUT]), rows, int(offs[done + 1] - offs[done]) + p.ROOM):
                codes[done] = p.LIMIT
                state[op.S_ROW] += 1
        count = int(state[op.S_OUT])
        self.finer += int(state[op.S_FINER])
        settle(arena.cols, counters, count, arena.h32, arena.used, arena.used_bytes)
        self._sizes.learn(count, arena.used, arena.used_bytes)
        batch = conform(self._finisher.batch(arena, count), self.schema)
        found = faults.reshape(-1, op.FAULT)
        return KernelRows(batch, good[:count], codes, *(found[:, i] for i in range(op.FAULT)))

    def reason(self, found: KernelRows, row: int) -> tuple[str, str, str | None]:
        """Code, message and path of a bad row."""
        code, text = _REASONS[int(found.codes[row])]
        path = self._program.paths[int(found.places[row]) // p.WORDS] or None
        where = f"{text} (byte {int(found.positions[row])})"
        return code, f"{path}: {where}" if path else where, path

    def _number_levels(self, compiler: Compiler) -> Longs:
        """The counter of each column's slots, -1 for the row's own; the table's direct children of lists get theirs too."""
        own = {slots.number: level for slots, level in compiler.item_counters}
        levels = np.full(len(self._table), -1, np.int64)
        for t in range(1, len(self._table)):
            parent = int(self._table[t, p.C_PARENT])
            levels[t] = own.get(parent, levels[parent])
            if parent in own:
                self._table[t, p.C_COUNT] = own[parent]
        return levels

    def _room(self, table: Longs) -> Longs:
        """What each counter may reach."""
        out = np.full(self._levels + len(self._texts), p.MOST_SLOTS, np.int64)
        inside = self._level_of >= 0
        np.minimum.at(out, self._level_of[inside], table[inside, p.C_CAP])
        out[self._levels :] = table[self._texts, p.C_BCAP]
        return out


def compile_decoder(
    table: Table, *, wanted: Collection[str] | None = None, on_text: Callable[[str], None] | None = None
) -> ProtobufProgram:
    """The program that reads payloads of a table's message.

    Args:
        table: The table's message and columns.
        wanted: The columns to keep; the others are checked as if they were read, and dropped.
        on_text: Told the type of each message that became JSON text because it lies too deep.

    Raises:
        DescriptorError: The kernel does not take the message; the reference decoder does.
    """
    return ProtobufProgram(table, wanted, on_text)
