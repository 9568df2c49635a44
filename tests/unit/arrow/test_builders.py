"""Buffers to arrays: every kind of column, NULLs of parents, constants, and row counts without columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from thalweg.arrow.builders import Finisher, table_of
from thalweg.arrow.slots import Slots, slots_of
from thalweg.kernels import program as p
from thalweg.kernels.arena import Arena, unit_of


def filled(fields: list[Slots], rows: int) -> Arena:
    """An arena with room for ``rows`` slots and 64 bytes in each column, all valid."""
    table = table_of(fields)
    arena = Arena(table, np.full(len(table), rows), np.full(len(table), 64), zeroed=True)
    for row in arena.table:
        if row[p.C_VALID] >= 0:
            arena.h8[row[p.C_VALID] : row[p.C_VALID] + rows] = 1
    return arena


def put(arena: Arena, column: Slots, values: Any, *, field: int = p.C_DATA, dtype: Any = np.uint8) -> None:  # noqa: ANN401 - any array
    """Write values of one column."""
    row = arena.table[column.number]
    unit = {p.C_DATA: unit_of(int(row[p.C_WIDTH])), p.C_OFFS: 4, p.C_VALID: 1}[field]
    raw = np.frombuffer(values, np.uint8) if isinstance(values, bytes) else np.array(values, dtype).view(np.uint8)
    arena.h8[int(row[field]) * unit :][: raw.size] = raw


def finished(arena: Arena, fields: list[Slots], rows: int) -> list[Any]:
    """The checked batch as Python rows."""
    arena.measure(rows)
    schema = pa.schema([pa.field(f"f{i}", f.type) for i, f in enumerate(fields)])
    batch = Finisher(schema, fields, arena.table).batch(arena, rows)
    batch.validate(full=True)
    return [list(row.values()) for row in batch.to_pylist()]


def test_scalars() -> None:
    """Words, bytes, booleans and text."""
    fields = [slots_of(t) for t in (pa.int64(), pa.float32(), pa.bool_(), pa.string(), pa.binary(3), pa.int16())]
    arena = filled(fields, 2)
    put(arena, fields[0], [1, -2], dtype=np.int64)
    put(arena, fields[1], [0.5, 1.5], dtype=np.float32)
    put(arena, fields[2], [0, 1])
    put(arena, fields[3], [0, 1, 3], field=p.C_OFFS, dtype=np.int32)
    put(arena, fields[3], b"xyz")
    put(arena, fields[4], b"abcdef")
    put(arena, fields[5], [7, -7], dtype=np.int16)

    assert finished(arena, fields, 2) == [[1, 0.5, False, "x", b"abc", 7], [-2, 1.5, True, "yz", b"def", -7]]


def test_children_are_null_where_their_struct_is() -> None:
    """A child without validity of its own, and a constant, share the NULLs of the struct."""
    child = Slots(pa.int32(), valid=False)
    fixed = Slots(pa.string(), constant=pa.array(["d"]))
    empty = Slots(pa.string(), constant=pa.nulls(1, pa.string()))
    struct = Slots(pa.struct([("a", pa.int32()), ("b", pa.string()), ("c", pa.string())]), children=(child, fixed, empty))
    arena = filled([struct], 2)
    put(arena, child, [5, 6], dtype=np.int32)
    put(arena, struct, [1, 0], field=p.C_VALID)
    arena.measure(2)
    made = Finisher(pa.schema([pa.field("s", struct.type)]), [struct], arena.table).batch(arena, 2).column(0)
    made.validate(full=True)

    assert made.to_pylist() == [{"a": 5, "b": "d", "c": None}, None]
    assert [made.field(i).to_pylist() for i in range(3)] == [[5, None], ["d", None], [None, None]]


def test_lists_maps_and_dictionaries() -> None:
    """Items belong to their list; enum numbers become symbols."""
    word = pa.dictionary(pa.int32(), pa.string())
    symbols = Slots(word, symbols=pa.array(["A", "B"]))
    fields = [Slots(pa.list_(word), children=(symbols,)), slots_of(pa.map_(pa.string(), pa.int64()))]
    arena = filled(fields, 4)
    put(arena, fields[0], [0, 2, 3], field=p.C_OFFS, dtype=np.int32)
    put(arena, symbols, [1, 0, 1], dtype=np.int32)
    put(arena, fields[1], [0, 1, 1], field=p.C_OFFS, dtype=np.int32)
    put(arena, fields[1].children[0], [0, 1], field=p.C_OFFS, dtype=np.int32)
    put(arena, fields[1].children[0], b"k")
    put(arena, fields[1].children[1], [9], dtype=np.int64)

    assert finished(arena, fields, 2) == [[["B", "A"], [("k", 9)]], [["B"], []]]


def test_dense_unions() -> None:
    """Type codes choose a child, whose slots are counted."""
    union = slots_of(pa.dense_union([pa.field("n", pa.null()), pa.field("x", pa.int64()), pa.field("s", pa.struct([]))], type_codes=[3, 5, 9]))
    arena = filled([union], 3)
    put(arena, union, [5, 3, 9])
    put(arena, union, [0, 0, 0], field=p.C_OFFS, dtype=np.int32)
    put(arena, union.children[1], [42], dtype=np.int64)
    arena.counters[:] = [1, 1, 1]

    assert finished(arena, [union], 3) == [[42], [None], [{}]]


def test_finish_turns_the_stored_into_the_final() -> None:
    """A column can be stored as one type and handed out as another."""
    stored = slots_of(pa.int32())
    stored.finish = lambda a: a.cast(pa.int64())
    arena = filled([stored], 1)
    put(arena, stored, [4], dtype=np.int32)
    arena.measure(1)
    batch = Finisher(pa.schema([("a", pa.int64())]), [stored], arena.table).batch(arena, 1)

    assert batch.to_pydict() == {"a": [4]}


def test_batches_without_columns_count_rows() -> None:
    """No columns is no reason to forget the rows (AV-23)."""
    arena = filled([], 3)

    batch = Finisher(pa.schema([]), [], arena.table).batch(arena, 3)

    assert (batch.num_rows, batch.num_columns) == (3, 0)
