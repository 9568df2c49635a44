"""What is in use follows from offsets and counters, and NULL reaches everything below."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from thalweg.arrow.builders import Finisher, table_of
from thalweg.arrow.slots import slots_of
from thalweg.kernels import program as p
from thalweg.kernels.arena import Arena
from thalweg.kernels.columns import nulls, room
from thalweg.kernels.jit import kernel
from thalweg.kernels.memory import Bytes, Int, Longs, Words


@kernel
def write_nulls(cols: Longs, k: Int, h8: Bytes, h32: Words, h64: Longs, counters: Longs, stack: Longs) -> None:
    """A NULL row."""
    nulls(cols, 0, k, h8, h32, h64, counters, stack, 0)


@kernel
def ask_room(cols: Longs, rows: Int, h32: Words, counters: Longs, used: Longs, used_bytes: Longs) -> Int:
    """What is left."""
    return room(cols, rows, h32, counters, used, used_bytes)


def test_null_rows_are_null_everywhere() -> None:
    """Every kind of column, and unions inside unions, are NULL; old contents do not shine through."""
    inner = pa.dense_union([pa.field("s", pa.string()), pa.field("t", pa.decimal128(5))])
    kinds = [
        pa.int8(), pa.int32(), pa.int64(), pa.decimal256(50), pa.binary(3), pa.string(), pa.list_(pa.int32()), pa.map_(pa.string(), pa.int8()),
        pa.struct([("a", pa.bool_()), ("b", pa.struct([("c", pa.float64())]))]), pa.dense_union([pa.field("u", inner), pa.field("n", pa.int8())]), pa.null(),
    ]  # fmt: skip
    fields = [slots_of(k) for k in kinds]
    arena = Arena(table_of(fields), *(np.full(len(table_of(fields)), n) for n in (4, 16)))
    arena.h8[p.SCRATCH :] = 0xAA
    arena.h32[arena.table[arena.table[:, p.C_OFFS] > 0, p.C_OFFS]] = 0

    for row in range(3):
        write_nulls(arena.cols, row, arena.h8, arena.h32, arena.h64, arena.counters, np.zeros(16, np.int64))
    arena.measure(3)
    batch = Finisher(pa.schema([(f"f{i}", k) for i, k in enumerate(kinds)]), fields, arena.table).batch(arena, 3)

    batch.validate(full=True)
    assert batch.to_pylist() == [{f"f{i}": None for i in range(len(kinds))}] * 3
    assert arena.counters.tolist() == [3, 0, 3, 0]
    assert not arena.h8[arena.table[1, p.C_DATA] :][:3].any()


def test_room_is_the_smallest_capacity_left() -> None:
    """Row-level columns never run out; lists and bytes do."""
    fields = [slots_of(pa.int64()), slots_of(pa.list_(pa.string()))]
    arena = Arena(table_of(fields), np.array([9, 9, 9, 20]), np.array([0, 0, 0, 50]))
    items, text = arena.table[2, p.C_OFFS], arena.table[3, p.C_OFFS]
    arena.h32[items + 1 : items + 3] = [2, 3]
    arena.h32[text + 1 : text + 4] = [5, 10, 45]

    assert ask_room(arena.cols, 2, arena.h32, arena.counters, arena.used, arena.used_bytes) == 5
    assert arena.used.tolist() == [2, 2, 2, 3]
    assert arena.used_bytes.tolist() == [0, 0, 0, 45]
    assert ask_room(arena.cols, 0, arena.h32, arena.counters, arena.used, arena.used_bytes) == 20
