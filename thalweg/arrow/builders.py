"""Column buffers that a kernel filled, finished to Arrow arrays without copying values."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as kinds

from thalweg.arrow.message import Message, fits
from thalweg.arrow.slots import kind_of
from thalweg.kernels import program as p
from thalweg.kernels.arena import column_row, unit_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from thalweg.arrow.slots import Slots
    from thalweg.kernels.arena import Arena
    from thalweg.kernels.memory import Bytes, Longs

_from_buffers: Final = pa.Array.from_buffers
_FEW: Final = 8
"""So many columns are put into a batch one after another; a batch is made anew for more."""


def table_of(fields: Sequence[Slots], *, nullable: bool = False) -> Longs:
    """The table of columns, int64[n, FIELDS], for the fields of a row; numbers every column. ``nullable``: a row can be NULL as a whole."""
    rows = [column_row(p.STRUCT, parent=-1, valid=nullable, shared=True)]
    counters = itertools.count()

    def add(column: Slots, parent: int, *, shared: bool) -> None:
        if column.constant is not None:
            return
        kind, width = kind_of(column.type)
        column.number, column.width, column.kind = len(rows), width, kind
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
    """Makes the columns of a row a batch: by a message those that fit into one, the others one by one."""

    def __init__(self, schema: pa.Schema, fields: Sequence[Slots], table: Longs) -> None:
        """``table`` is that of the fields."""
        self._schema = schema
        self._columns = [(c, fits(c)) for c in fields if not c.hidden]
        self._later = [i for i, ((c, _), f) in enumerate(zip(self._columns, schema, strict=True)) if not c.is_final or not c.type.equals(f.type)]
        inside = [(c, f) for (c, fitting), f in zip(self._columns, schema, strict=True) if fitting]
        self._is_whole = len(inside) == len(self._columns) and table[0, p.C_VALID] < 0 and len(self._later) <= _FEW
        stored = [f if c.is_final and c.type.equals(f.type) else f.with_type(_stored_type(c)) for c, f in inside]
        self._message = Message(pa.schema(stored, schema.metadata), [c for c, _ in inside], table) if inside else None

    def batch(self, arena: Arena, rows: int) -> pa.RecordBatch:
        """The first ``rows`` rows of an arena, which are good; once, after ``arena.measure(rows)``. The arrays share its memory.

        A batch without columns keeps its row count.
        """
        if not self._columns:
            return pa.RecordBatch.from_struct_array(pa.StructArray.from_buffers(pa.struct([]), rows, [None]))
        if self._message is None or not self._is_whole:
            return self._mixed(arena, rows)
        made = self._message.batch(arena, rows)
        for i in self._later:
            column, field = _finished(self._columns[i][0], made.column(i), _ALL), self._schema.field(i)
            made = made.set_column(i, field, column if column.type.equals(field.type) else column.cast(field.type))
        return made

    def _mixed(self, arena: Arena, rows: int) -> pa.RecordBatch:
        """The batch of arrays, some of which come from the message."""
        single = _Single(arena)
        outer = single.root(rows)
        stored = iter([] if self._message is None else self._message.batch(arena, rows).columns)
        arrays = [_finished(c, next(stored), outer) if fitting else single.array(c, rows, outer) for c, fitting in self._columns]
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)


class _Single:
    """Makes arrays one by one."""

    def __init__(self, arena: Arena) -> None:
        """The arrays share the arena's memory."""
        table, self._bytes, self._offsets = arena.table, arena.h8, arena.h32
        self._valid, self._data, self._begins = table[:, p.C_VALID].tolist(), table[:, p.C_DATA].tolist(), table[:, p.C_OFFS].tolist()
        self._used, self._used_bytes = arena.used.tolist(), arena.used_bytes.tolist()
        self._memory = pa.py_buffer(arena.h8)

    def root(self, rows: int) -> _Validity:
        """Which rows are there."""
        return _packed(self._bytes[self._valid[0] :][:rows]) if self._valid[0] >= 0 else _ALL

    def array(self, column: Slots, length: int, outer: _Validity) -> pa.Array:
        """One column of ``length`` slots, whose parent's slots are valid as ``outer`` says."""
        if column.constant is not None:
            return _finished(column, _repeated(column, length, outer), outer)
        start, valid = self._valid[column.number], outer
        if column.which is not None:
            said = self._bytes[self._data[column.which[0].number] :][:length]
            valid = _packed((said == column.which[1]).view(np.uint8))
        elif start >= 0:
            valid = _packed(self._bytes[start : start + length])
        return _finished(column, self._maker(column.kind)(column, length, valid), outer)

    def _maker(self, kind: int) -> Callable[[Slots, int, _Validity], pa.Array]:
        """What makes a kind of column. Asked for each time: kept, it would be a circle of references, and the arena would live until the collector comes."""
        return {
            p.NOTHING: self._nothing, p.FIXED: self._values, p.BYTES: self._pieces, p.LIST: self._lists, p.STRUCT: self._structs, p.UNION: self._unions,
        }[kind]  # fmt: skip

    def _arrays(self, columns: Iterable[Slots], length: int, outer: _Validity) -> list[pa.Array]:
        """Those of the columns that are not hidden."""
        return [self.array(c, length, outer) for c in columns if not c.hidden]

    def _values(self, column: Slots, length: int, valid: _Validity) -> pa.Array:
        """Of one width; booleans are a byte each."""
        start = self._data[column.number] * unit_of(column.width)
        if kinds.is_boolean(column.type):
            values = pa.py_buffer(np.packbits(self._bytes[start : start + length], bitorder="little"))
        else:
            values = self._slice(start, length * column.width)
        return _from_buffers(_stored_type(column), length, [valid.buffer, values], valid.nulls)

    def _pieces(self, column: Slots, length: int, valid: _Validity) -> pa.Array:
        """Bytes or text."""
        data = self._slice(self._data[column.number], self._used_bytes[column.number])
        return _from_buffers(column.type, length, [valid.buffer, self._ends(column, length), data], valid.nulls)

    def _lists(self, column: Slots, length: int, valid: _Validity) -> pa.Array:
        """Lists and maps."""
        items = int(self._offsets[self._begins[column.number] + length])
        children = self._arrays(column.children, items, _ALL)
        if kinds.is_map(column.type):
            children = [_from_buffers(pa.struct([column.type.key_field, column.type.item_field]), items, [None], 0, 0, children)]
        return _from_buffers(column.type, length, [valid.buffer, self._ends(column, length)], valid.nulls, 0, children)

    def _structs(self, column: Slots, length: int, valid: _Validity) -> pa.Array:
        """The children are NULL where their struct is."""
        return _from_buffers(column.type, length, [valid.buffer], valid.nulls, 0, self._arrays(column.children, length, valid))

    def _unions(self, column: Slots, length: int, _valid: _Validity) -> pa.Array:
        """Dense unions."""
        tags, places = self._slice(self._data[column.number], length), self._slice(4 * self._begins[column.number], 4 * length)
        children = [self.array(c, self._used[c.number], _ALL) for c in column.children]
        return _from_buffers(column.type, length, [None, tags, places], 0, 0, children)

    def _nothing(self, column: Slots, length: int, _valid: _Validity) -> pa.Array:
        """NULLs, which have no buffer."""
        return pa.nulls(length, column.type)

    def _slice(self, start: int, size: int) -> pa.Buffer:
        """Some of the memory."""
        if start + size > self._memory.size:
            raise IndexError("a column ends after its arena")
        return self._memory.slice(start, size)

    def _ends(self, column: Slots, length: int) -> pa.Buffer:
        """Where each slot's items or bytes begin and end."""
        return self._slice(4 * self._begins[column.number], 4 * length + 4)


class _Validity(NamedTuple):
    """A validity bitmap, None where nothing is NULL."""

    buffer: pa.Buffer | None
    nulls: int


_ALL: Final = _Validity(None, 0)


def _packed(valid: Bytes) -> _Validity:
    """Bytes of 0 and 1 as bits."""
    nulls = len(valid) - int(np.count_nonzero(valid))
    return _Validity(pa.py_buffer(np.packbits(valid, bitorder="little")), nulls) if nulls else _ALL


def _stored_type(column: Slots) -> pa.DataType:
    """What lies in the arena: of a dictionary the numbers."""
    return column.type.index_type if kinds.is_dictionary(column.type) else column.type


def _finished(column: Slots, made: pa.Array, outer: _Validity) -> pa.Array:
    """What becomes of the array that was stored; ``outer`` says where the parent's slots are valid."""
    if column.constant is None and kinds.is_dictionary(column.type):
        made = pa.DictionaryArray.from_arrays(made, column.symbols, ordered=column.type.ordered, safe=False)
    if column.unset is not None:
        made = _defaulted(made, column.unset, outer)
    return made if column.finish is None else column.finish(made)


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
