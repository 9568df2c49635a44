"""Column buffers that a kernel filled, finished to Arrow arrays without copying values."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as kinds

from thalweg.kernels import program as p
from thalweg.kernels.arena import column_row, unit_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from thalweg.kernels.arena import Arena
    from thalweg.kernels.memory import Bytes, Longs

_KINDS: Final = (
    (kinds.is_string, p.BYTES),
    (kinds.is_binary, p.BYTES),
    (kinds.is_list, p.LIST),
    (kinds.is_map, p.LIST),
    (kinds.is_struct, p.STRUCT),
    (kinds.is_union, p.UNION),
    (kinds.is_null, p.NOTHING),
)
"""Kinds without a width of their own; every other type is FIXED."""


@dataclass(slots=True, eq=False)
class Slots:
    """One column as a kernel fills it, and what becomes of it afterwards."""

    type: pa.DataType
    """What the buffers hold."""
    valid: bool = True
    """Whether it has validity bytes of its own; without them a slot is NULL where its parent is."""
    children: tuple[Slots, ...] = ()
    """Of a struct its fields, of a list its items, of a map keys and values, of a dense union its branches."""
    symbols: pa.Array | None = None
    """Values of a dictionary."""
    constant: pa.Array | None = None
    """One value, the same in every slot; the kernel knows nothing of it."""
    finish: Callable[[pa.Array], pa.Array] | None = None
    """Makes the final array of the one that the buffers hold."""
    pick: int = 0
    """The branch of a union that stands for NULL."""
    number: int = -1
    """Row in the table; -1 for a constant."""
    hidden: bool = False
    """Only the kernel needs it: no array is made of it."""
    which: tuple[Slots, int] | None = None
    """Instead of validity bytes: the column that says which of several columns holds the slot's value, and what it says for this one."""
    unset: pa.Scalar | None = None
    """What a NULL becomes where its parent is there, before ``finish``."""


def slots_of(data_type: pa.DataType) -> Slots:
    """The column of a type, each level with validity; dictionaries need their symbols set."""
    if kinds.is_map(data_type):
        return Slots(data_type, children=(Slots(data_type.key_type, valid=False), slots_of(data_type.item_type)))
    if kinds.is_list(data_type):
        return Slots(data_type, children=(slots_of(data_type.value_type),))
    if kinds.is_struct(data_type) or kinds.is_union(data_type):
        children = tuple(slots_of(data_type.field(i).type) for i in range(data_type.num_fields))
        return Slots(data_type, valid=not kinds.is_union(data_type), children=children)
    return Slots(data_type)


def kind_of(data_type: pa.DataType) -> tuple[int, int]:
    """Kind and width in the table of columns."""
    for test, kind in _KINDS:
        if test(data_type):
            return kind, 0
    if kinds.is_dictionary(data_type):
        return p.FIXED, data_type.index_type.bit_width // 8
    if kinds.is_fixed_size_binary(data_type):
        return p.FIXED, data_type.byte_width
    return p.FIXED, max(data_type.bit_width // 8, 1)


def table_of(fields: Sequence[Slots], *, nullable: bool = False) -> Longs:
    """The table of columns, int64[n, FIELDS], for the fields of a row; numbers every column. ``nullable``: a row can be NULL as a whole."""
    rows = [column_row(p.STRUCT, parent=-1, valid=nullable, shared=True)]
    counters = itertools.count()

    def add(column: Slots, parent: int, *, shared: bool) -> None:
        if column.constant is not None:
            return
        kind, width = kind_of(column.type)
        column.number = len(rows)
        row = column_row(kind, width=width, parent=parent, valid=column.valid and kind not in {p.UNION, p.NOTHING}, shared=shared)
        rows.append(row)
        for i, child in enumerate(column.children):
            add(child, column.number, shared=shared and kind == p.STRUCT)
            if kind == p.UNION:
                if child.constant is not None:
                    raise ValueError("a branch of a union cannot be constant")
                branch = rows[child.number]
                branch[p.C_TAG], branch[p.C_COUNT] = column.type.type_codes[i], next(counters)
        if kind == p.UNION:
            row[p.C_PICK] = column.children[column.pick].number
        row[p.C_END] = len(rows)

    for column in fields:
        add(column, 0, shared=True)
    rows[0][p.C_END] = len(rows)
    return np.array(rows, np.int64)


class Finisher:
    """Makes arrays of an arena whose first ``rows`` rows are good; call once ``arena.measure(rows)`` is done."""

    def __init__(self, arena: Arena) -> None:
        """The arrays share the arena's memory."""
        self._arena = arena

    def batch(self, schema: pa.Schema, fields: Sequence[Slots], rows: int) -> pa.RecordBatch:
        """The fields as a batch; one without columns keeps its row count."""
        if not len(schema):
            return pa.RecordBatch.from_struct_array(pa.StructArray.from_buffers(pa.struct([]), rows, [None]))
        root = self._arena.table[0, p.C_VALID]
        outer = _packed(self._arena.h8[root:][:rows]) if root >= 0 else _ALL
        return pa.RecordBatch.from_arrays([self.array(c, rows, outer) for c in fields if not c.hidden], schema=schema)

    def array(self, column: Slots, length: int, outer: _Validity) -> pa.Array:
        """One column of ``length`` slots, whose parent's slots are valid as ``outer`` says."""
        made = _repeated(column, length, outer) if column.constant is not None else self._stored(column, length, outer)
        if column.unset is not None:
            made = _defaulted(made, column.unset, outer)
        return made if column.finish is None else column.finish(made)

    def _stored(self, column: Slots, length: int, outer: _Validity) -> pa.Array:
        """A column that lies in the arena."""
        arena, row = self._arena, self._arena.table[column.number]
        kind, offsets, data = int(row[p.C_KIND]), int(row[p.C_OFFS]), int(row[p.C_DATA])
        if kind == p.NOTHING:
            return pa.nulls(length, column.type)
        valid = _packed(arena.h8[row[p.C_VALID] :][:length]) if row[p.C_VALID] >= 0 else outer
        if column.which is not None:
            said = arena.h8[int(arena.table[column.which[0].number, p.C_DATA]) :][:length]
            valid = _packed((said == column.which[1]).view(np.uint8))
        if kind == p.UNION:
            tags, places = pa.py_buffer(arena.h8[data:][:length]), pa.py_buffer(arena.h32[offsets:][:length])
            children = [self.array(c, int(arena.used[c.number]), _ALL) for c in column.children]
            return pa.Array.from_buffers(column.type, length, [None, tags, places], 0, 0, children)
        buffers: list[pa.Buffer | None] = [valid.buffer]
        if kind in {p.BYTES, p.LIST}:
            buffers.append(pa.py_buffer(arena.h32[offsets:][: length + 1]))
        if kind == p.BYTES:
            buffers.append(pa.py_buffer(arena.h8[data:][: int(arena.used_bytes[column.number])]))
        elif kind == p.FIXED:
            buffers.append(self._values(column, data, length))
        return self._assembled(column, kind, length, buffers, valid)

    def _values(self, column: Slots, data: int, length: int) -> pa.Buffer:
        """The values of a column of one width."""
        arena, width = self._arena, int(self._arena.table[column.number, p.C_WIDTH])
        if kinds.is_boolean(column.type):
            return pa.py_buffer(np.packbits(arena.h8[data:][:length], bitorder="little"))
        return pa.py_buffer(arena.h8[data * unit_of(width) :][: width * length])

    def _assembled(self, column: Slots, kind: int, length: int, buffers: list[pa.Buffer | None], valid: _Validity) -> pa.Array:
        """An array of its buffers and the columns below."""
        if kinds.is_dictionary(column.type):
            indices = pa.Array.from_buffers(column.type.index_type, length, buffers, valid.nulls)
            return pa.DictionaryArray.from_arrays(indices, column.symbols, ordered=column.type.ordered, safe=False)
        if kind == p.STRUCT:
            children = [self.array(c, length, valid) for c in column.children if not c.hidden]
        else:
            children = [self.array(c, self._items(column, length), _ALL) for c in column.children if not c.hidden]
        if kinds.is_map(column.type):
            entry = pa.struct([column.type.key_field, column.type.item_field])
            children = [pa.Array.from_buffers(entry, self._items(column, length), [None], 0, 0, children)]
        return pa.Array.from_buffers(column.type, length, buffers, valid.nulls, 0, children)

    def _items(self, column: Slots, length: int) -> int:
        """Items of all lists of a column."""
        return int(self._arena.h32[int(self._arena.table[column.number, p.C_OFFS]) + length])


@dataclass(frozen=True, slots=True)
class _Validity:
    """A validity bitmap, None where nothing is NULL."""

    buffer: pa.Buffer | None
    nulls: int


_ALL: Final = _Validity(None, 0)


def _packed(valid: Bytes) -> _Validity:
    """Bytes of 0 and 1 as bits."""
    nulls = len(valid) - int(np.count_nonzero(valid))
    return _Validity(pa.py_buffer(np.packbits(valid, bitorder="little")), nulls) if nulls else _ALL


def _repeated(column: Slots, length: int, outer: _Validity) -> pa.Array:
    """A constant column, NULL where its parent is."""
    assert column.constant is not None
    zeros = np.zeros(length, np.int32)
    return column.constant.take(pa.Array.from_buffers(pa.int32(), length, [outer.buffer, pa.py_buffer(zeros)], outer.nulls))


def _defaulted(made: pa.Array, unset: pa.Scalar, outer: _Validity) -> pa.Array:
    """The array with ``unset`` for NULLs whose parent is there."""
    missing = made.is_null()
    if outer.buffer is not None:
        missing = pc.and_(missing, pa.Array.from_buffers(pa.bool_(), len(made), [None, outer.buffer]))
    return pc.if_else(missing, unset, made)
