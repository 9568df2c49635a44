"""A message makes what single buffers make: every kind of column, NULLs at every level, rows that are NULL, and what a message cannot hold."""

from __future__ import annotations

import gc
import weakref
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

from thalweg.arrow import builders
from thalweg.arrow.builders import Finisher, table_of
from thalweg.arrow.message import fits
from thalweg.arrow.slots import Slots, slots_of
from thalweg.kernels import program as p
from thalweg.kernels.arena import MESSAGE, Arena, unit_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

UNION = pa.dense_union([pa.field("n", pa.null()), pa.field("s", pa.string()), pa.field("i", pa.struct([("b", pa.bool_())]))], type_codes=[2, 7, 5])
WORD = pa.dictionary(pa.int32(), pa.string())
TYPES = [
    pa.int8(), pa.int32(), pa.int64(), pa.float16(), pa.float64(), pa.bool_(), pa.decimal128(9, 2), pa.decimal256(50), pa.binary(3), pa.binary(0),
    pa.date32(), pa.timestamp("us", "UTC"), pa.string(), pa.binary(), pa.null(), pa.list_(pa.string()), pa.list_(pa.list_(pa.bool_())),
    pa.map_(pa.string(), pa.struct([("a", pa.bool_()), ("b", pa.list_(pa.int64()))])), pa.struct([]), UNION, pa.list_(UNION),
    pa.struct([("a", pa.bool_()), ("b", pa.struct([("c", pa.float64()), ("d", UNION), ("e", pa.null())]))]),
]  # fmt: skip


def filled(fields: Sequence[Slots], rows: int, *, nullable: bool = False, seed: int = 0) -> Arena:
    """An arena whose columns hold anything."""
    table, random = table_of(fields, nullable=nullable), np.random.default_rng(seed)
    arena = Arena(table, np.full(len(table), 8 * rows + 8), np.full(len(table), 64 * rows + 64))
    arena.h8[p.SCRATCH :] = 0xAA
    counts = {0: rows}
    for t, row in enumerate(arena.table.tolist()):
        parent = arena.table[row[p.C_PARENT]].tolist()
        if row[p.C_COUNT] >= 0:
            slots = int(arena.counters[row[p.C_COUNT]])
        elif t and parent[p.C_KIND] == p.LIST:
            slots = int(arena.h32[parent[p.C_OFFS] + counts[row[p.C_PARENT]]])
        else:
            slots = counts[max(row[p.C_PARENT], 0)]
        counts[t] = slots
        fill(arena, t, row, slots, random)
    return arena


def fill(arena: Arena, t: int, row: list[int], slots: int, random: np.random.Generator) -> None:
    """Write the slots of one column."""
    if row[p.C_VALID] >= 0:
        arena.h8[row[p.C_VALID] :][:slots] = random.integers(0, 2, slots)
    if row[p.C_KIND] in {p.BYTES, p.LIST}:
        ends = np.cumsum([0, *random.integers(0, 3, slots)])
        arena.h32[row[p.C_OFFS] :][: slots + 1] = ends
    if row[p.C_KIND] == p.BYTES:
        arena.h8[row[p.C_DATA] :][: ends[-1]] = random.integers(97, 123, ends[-1])
    if row[p.C_KIND] == p.FIXED:
        width = row[p.C_WIDTH]
        values = np.zeros((slots, width), np.uint8)
        values[:, :1] = random.integers(0, 2, (slots, 1))
        arena.h8[row[p.C_DATA] * unit_of(width) :][: slots * width] = values.reshape(-1)
    if row[p.C_KIND] == p.UNION:
        children = [c for c in arena.table.tolist() if c[p.C_PARENT] == t]
        chosen = random.integers(0, len(children), slots)
        for i, child in enumerate(children):
            arena.h8[row[p.C_DATA] :][:slots][chosen == i] = child[p.C_TAG]
            arena.h32[row[p.C_OFFS] :][:slots][chosen == i] = np.arange(int((chosen == i).sum()))
            arena.counters[child[p.C_COUNT]] = int((chosen == i).sum())


def batch_of(fields: Sequence[Slots], rows: int, *, nullable: bool = False) -> pa.RecordBatch:
    """The checked batch of an arena that holds anything."""
    arena = filled(fields, rows, nullable=nullable)
    arena.measure(rows)
    schema = pa.schema([pa.field(f"f{i}", f.type, metadata={"i": str(i)}) for i, f in enumerate(fields) if not f.hidden], {"whose": "this"})
    batch = Finisher(schema, fields, arena.table).batch(arena, rows)
    batch.validate(full=True)
    assert batch.schema.equals(schema, check_metadata=True)
    return batch


def sizes(array: pa.Array) -> list[int | None]:
    """Bytes of all buffers."""
    return [None if b is None else b.size for b in array.buffers()]


def by_single_buffers(fields: Sequence[Slots], rows: int, monkeypatch: pytest.MonkeyPatch, *, nullable: bool = False) -> pa.RecordBatch:
    """The same batch without a message."""
    with monkeypatch.context() as patched:
        patched.setattr(builders, "fits", lambda _: False)
        return batch_of(fields, rows, nullable=nullable)


@pytest.mark.parametrize("rows", [0, 1, 9, 100])
@pytest.mark.parametrize("nullable", [False, True])
@pytest.mark.parametrize("types", [TYPES, [t for t in TYPES if "union" not in str(t)]], ids=["all", "those that fit"])
def test_a_message_makes_what_single_buffers_make(types: list[pa.DataType], rows: int, nullable: bool, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: FBT001
    """Values, NULLs and the sizes of all buffers."""
    fields = [slots_of(t) for t in types]

    made = batch_of(fields, rows, nullable=nullable)
    single = by_single_buffers([slots_of(t) for t in types], rows, monkeypatch, nullable=nullable)

    assert [fits(f) for f in fields] == ["union" not in str(t) for t in types]
    assert made.equals(single)
    assert [sizes(a) for a in made.columns] == [sizes(a) for a in single.columns]
    assert [a.null_count for a in made.columns] == [a.null_count for a in single.columns]


def test_children_without_validity_are_null_where_a_struct_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """As deep as structs go, and not below a list."""
    inner = pa.struct([("c", pa.int32()), ("d", pa.list_(pa.int8()))])

    def fields() -> list[Slots]:
        items = Slots(pa.list_(pa.int8()), valid=False, children=(Slots(pa.int8(), valid=False),))
        below = Slots(inner, valid=False, children=(Slots(pa.int32(), valid=False), items))
        return [Slots(pa.struct([("a", pa.bool_()), ("b", inner)]), children=(Slots(pa.bool_(), valid=False), below)), Slots(pa.int64(), valid=False)]

    made = batch_of(fields(), 50)

    assert made.equals(by_single_buffers(fields(), 50, monkeypatch))
    assert made.column(0).null_count > 0
    assert made.column(0).field(1).field(0).null_count == made.column(0).null_count
    assert made.column(0).field(1).field(1).values.null_count == made.column(1).null_count == 0


def changing() -> list[Slots]:
    """Columns that become something else than what is stored."""
    word, text = Slots(WORD, symbols=pa.array(["A", "B"])), Slots(pa.int8(), finish=lambda a: a.cast(pa.int8()))
    return [slots_of(pa.bool_()), word, slots_of(pa.string()), text, Slots(pa.int8(), unset=pa.scalar(7, pa.int8()))]


def apart() -> list[Slots]:
    """Columns that a message cannot hold, beside such as it can."""
    said = Slots(pa.uint8(), valid=False, hidden=True)
    word = Slots(WORD, symbols=pa.array(["A", "B"]))
    return [
        Slots(pa.string(), constant=pa.array(["c"])), slots_of(UNION), Slots(pa.list_(WORD), children=(word,)), said,
        Slots(pa.int32(), valid=False, which=(said, 1)), slots_of(pa.bool_()),
    ]  # fmt: skip


@pytest.mark.parametrize("nullable", [False, True])
@pytest.mark.parametrize("make", [changing, lambda: [c for _ in range(5) for c in changing()], apart])
def test_columns_that_change_keep_their_places(make: Callable[[], list[Slots]], nullable: bool, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: FBT001
    """Dictionaries, finished, defaulted and constant columns, few and many of them, hidden ones, and such as another column chooses."""
    made = batch_of(make(), 40, nullable=nullable)

    assert made.equals(by_single_buffers(make(), 40, monkeypatch, nullable=nullable))


def test_what_no_message_holds_is_known() -> None:
    """Whatever comes from elsewhere or changes below the top, and more levels than Arrow reads."""
    deep = pa.int64()
    for _ in range(40):
        deep = pa.list_(deep)
    fields = [*apart(), *changing(), slots_of(deep)]
    table_of(fields)

    assert [fits(f) for f in fields] == [False, False, False, True, False, True, *[True] * 5, False]
    assert batch_of([slots_of(deep)], 3).num_rows == 3


def test_types_that_differ_from_the_schema_are_cast() -> None:
    """The schema has the last word, as for any batch of arrays."""
    field = slots_of(pa.int8())
    arena = filled([field], 5)
    arena.measure(5)

    batch = Finisher(pa.schema([("a", pa.int64())]), [field], arena.table).batch(arena, 5)

    assert batch.schema.types == [pa.int64()]
    assert set(batch.column(0).to_pylist()) <= {0, 1, None}


def test_arrays_keep_the_memory() -> None:
    """What lies in a batch stays after its arena is gone, aligned for Arrow, and is not copied."""
    fields = [slots_of(t) for t in (pa.int64(), pa.string())]
    arena = filled(fields, 1000)
    arena.measure(1000)
    first, end = arena.h8.ctypes.data, arena.h8.ctypes.data + len(arena.h8)
    batch = Finisher(pa.schema([("a", pa.int64()), ("b", pa.string())]), fields, arena.table).batch(arena, 1000)
    before = batch.to_pylist()

    del arena
    gc.collect()
    others = [filled([slots_of(t) for t in (pa.int64(), pa.string())], 1000, seed=1) for _ in range(3)]

    assert batch.to_pylist() == before
    assert others[0].h8.ctypes.data != first
    buffers = [b for column in batch.columns for b in column.buffers() if b is not None]
    assert all(b.address % 64 == 0 and first < b.address < end for b in buffers)


def test_a_column_outlives_its_batch_and_those_after_it() -> None:
    """Memory is used again once the last array over it is gone, not before: of many large batches one column each is kept."""
    kinds = (pa.bool_(), pa.string(), pa.list_(pa.bool_()), WORD)
    kept = []

    for seed in range(24):
        fields = [slots_of(t) for t in kinds]
        fields[3].symbols = pa.array(["A", "B"])
        arena = filled(fields, 5000, seed=seed)
        arena.measure(5000)
        batch = Finisher(pa.schema([(f"f{i}", t) for i, t in enumerate(kinds)]), fields, arena.table).batch(arena, 5000)
        column = batch.column(seed % 4)
        kept.append((column, column.to_pylist()))

    assert len(arena.h8) > 1 << 18
    assert all(column.to_pylist() == values for column, values in kept)


def test_a_message_has_room_in_any_arena() -> None:
    """Even of columns that take the most words."""
    fields = [slots_of(pa.map_(pa.string(), pa.string())) for _ in range(100)]
    arena = filled(fields, 2)
    arena.measure(2)
    first = int(arena.table[1, p.C_VALID])

    finisher = Finisher(pa.schema([(f"f{i}", f.type) for i, f in enumerate(fields)]), fields, arena.table)
    batch = finisher.batch(arena, 2)

    assert finisher._message is not None
    assert first > MESSAGE
    assert batch.num_columns == 100
    batch.validate(full=True)


@pytest.mark.parametrize("data_type", [pa.int64(), UNION, pa.list_(pa.string())])
def test_an_arena_goes_with_its_last_array(data_type: pa.DataType) -> None:
    """At once, without the collector, whose next round may be many batches away."""
    fields = [slots_of(data_type), slots_of(pa.string())]
    arena = filled(fields, 5)
    arena.measure(5)
    memory = weakref.ref(arena)
    gc.disable()
    try:
        batch = Finisher(pa.schema([pa.field(str(i), f.type) for i, f in enumerate(fields)]), fields, arena.table).batch(arena, 5)
        bytes_before = blocks_of(arena)
        del arena
        there = bytes_before()
        del batch

        assert memory() is None
        assert there is not None
        del there
        assert bytes_before() is None
    finally:
        gc.enable()


def blocks_of(arena: Arena) -> weakref.ref[np.ndarray[tuple[int], np.dtype[np.uint8]]]:
    """Whether the memory of an arena is still there."""
    owner = arena.h8
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    return weakref.ref(owner)
