"""The memory of a batch: columns do not overlap, growth keeps what was written, sizes are learned."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pytest

from thalweg.arrow.builders import table_of
from thalweg.arrow.slots import Slots, slots_of
from thalweg.kernels import program as p
from thalweg.kernels.arena import Arena, Sizes, program_of, unit_of

ROW = [
    slots_of(pa.int64()),
    slots_of(pa.string()),
    slots_of(pa.list_(pa.struct([("a", pa.int32()), ("b", pa.decimal256(50))]))),
    slots_of(pa.map_(pa.string(), pa.dense_union([pa.field("x", pa.bool_()), pa.field("y", pa.binary(5))]))),
]


def ranges(arena: Arena) -> list[tuple[int, int]]:
    """Byte ranges of every buffer."""
    found = [(0, p.SCRATCH)]
    for row in arena.table:
        kind, width, cap = int(row[p.C_KIND]), int(row[p.C_WIDTH]), int(row[p.C_CAP])
        if row[p.C_VALID] >= 0:
            found.append((row[p.C_VALID], row[p.C_VALID] + cap))
        if kind in {p.BYTES, p.LIST, p.UNION}:
            found.append((4 * row[p.C_OFFS], 4 * (row[p.C_OFFS] + cap + 1)))
        if kind == p.BYTES:
            found.append((row[p.C_DATA], row[p.C_DATA] + row[p.C_BCAP]))
        if kind == p.UNION:
            found.append((row[p.C_DATA], row[p.C_DATA] + cap))
        if kind == p.FIXED:
            start = row[p.C_DATA] * unit_of(width)
            found.append((start, start + width * cap))
    return sorted(found)


def test_buffers_do_not_overlap() -> None:
    """Buffers lie a gap apart, inside the block, and aligned for Arrow."""
    table = table_of(ROW)
    arena = Arena(table, np.full(len(table), 37), np.full(len(table), 101))
    found = ranges(arena)

    assert all(after - end >= 8 for (_, end), (after, _) in itertools.pairwise(found))
    assert found[-1][1] + 8 <= len(arena.h8)
    assert arena.h8.ctypes.data % 64 == 0
    assert all(start % 64 == 0 for start, _ in found)


def test_table_is_in_pre_order() -> None:
    """Parents come first, a subtree is contiguous, and only row-level columns share the row's slots."""
    table = table_of(ROW)

    assert table[:, p.C_PARENT].tolist() == [-1, 0, 0, 0, 3, 4, 4, 0, 7, 7, 9, 9]
    assert table[:, p.C_END].tolist() == [12, 2, 3, 7, 7, 6, 7, 12, 9, 12, 11, 12]
    assert table[:, p.C_SHARED].tolist() == [1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 0, 0]
    assert table[:, p.C_COUNT].tolist() == [-1] * 10 + [0, 1]


def test_growth_keeps_what_is_there() -> None:
    """Values, offsets and validity move to the larger block unchanged."""
    table = table_of([slots_of(pa.list_(pa.string()))])
    arena = Arena(table, np.array([4, 4, 8]), np.array([0, 0, 16]))
    items, text = arena.table[1, p.C_OFFS], arena.table[2]
    arena.h32[items + 1 : items + 3] = [2, 3]
    arena.h32[text[p.C_OFFS] + 1 : text[p.C_OFFS] + 4] = [2, 2, 5]
    arena.h8[text[p.C_DATA] : text[p.C_DATA] + 5] = np.frombuffer(b"abxyz", np.uint8)
    arena.h8[text[p.C_VALID] : text[p.C_VALID] + 3] = [1, 0, 1]

    assert arena.grow(2, 4, 1000)

    arena.measure(2)
    grown = arena.table[2]
    assert arena.used.tolist() == [2, 2, 3]
    assert arena.used_bytes.tolist() == [0, 0, 5]
    assert grown[p.C_CAP] >= 1003
    assert grown[p.C_BCAP] >= 1005
    assert arena.h8[grown[p.C_DATA] : grown[p.C_DATA] + 5].tobytes() == b"abxyz"
    assert arena.h8[grown[p.C_VALID] : grown[p.C_VALID] + 3].tolist() == [1, 0, 1]
    assert arena.h32[grown[p.C_OFFS] : grown[p.C_OFFS] + 4].tolist() == [0, 2, 2, 5]


def test_growth_ends_where_offsets_do() -> None:
    """A column that offsets of 32 bits cannot count is refused, and nothing changes."""
    table = table_of([slots_of(pa.list_(pa.null()))])
    arena = Arena(table, np.array([4, 4, 8]), np.array([0, 0, 0]))
    arena.h32[arena.table[1, p.C_OFFS] + 1] = p.MOST_SLOTS - 10
    before = arena.table.copy()

    assert not arena.grow(1, 2, 1000)
    assert (arena.table == before).all()


def test_programs_are_linked() -> None:
    """A program gets the addresses of its columns; rows without a column go to scratch."""
    table = table_of([slots_of(pa.int64()), slots_of(pa.string())])
    arena = Arena(table, np.full(3, 8), np.full(3, 8))
    program = program_of([[1, -1, 7, 7, 7, 0, 0, 2], [2, 0, 7, 7, 7, 0, 0, -1]])

    arena.link(program)

    assert program[0, p.P_DATA] == arena.table[2, p.C_DATA]
    assert program[0, p.P_OFFS] == arena.table[2, p.C_OFFS]
    assert program[1, [p.P_VALID, p.P_DATA, p.P_OFFS]].tolist() == [0, 0, 0]


def test_sizes_are_learned() -> None:
    """The second batch begins with what the first one needed, and a quarter more."""
    table = table_of([slots_of(pa.list_(pa.string()))])
    sizes = Sizes(table)
    slots, nbytes = sizes.guess(100, 800, 10)
    assert slots.tolist() == [101, 101, 290]
    assert nbytes.tolist() == [0, 0, 840]

    sizes.learn(100, np.array([100, 100, 1000]), np.array([0, 0, 6000]))

    slots, nbytes = sizes.guess(10, 80, 10)
    assert slots.tolist() == [11, 11, 165]
    assert nbytes.tolist() == [0, 0, 790]


def test_constant_branches_are_refused() -> None:
    """A kernel writes every branch of a union, so none can be constant."""
    union = pa.dense_union([pa.field("x", pa.int8())])
    with pytest.raises(ValueError, match="cannot be constant"):
        table_of([Slots(union, children=(Slots(pa.int8(), constant=pa.array([1], pa.int8())),))])
