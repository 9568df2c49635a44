"""A writer's schema and the targets of a reader's to the program of the Avro machine."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow.types as kinds

from thalweg.arrow.slots import kind_of
from thalweg.arrow.temporal import UNITS
from thalweg.codecs.avro.kernel_slots import Target, record_sources
from thalweg.codecs.avro.match import Incompatible, best_branch, finer, readable
from thalweg.codecs.avro.scalars import read_scalar
from thalweg.codecs.avro.schema import NO_DEFAULT, Node, SchemaError, min_size
from thalweg.kernels import avro_ops as op
from thalweg.kernels import program as p
from thalweg.kernels.arena import program_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from thalweg.arrow.slots import Slots
    from thalweg.kernels.memory import Longs

MAX_ROWS: Final = 200_000
"""Rows of one program; a schema that needs more has no use."""
MAX_DECIMAL_BYTES: Final = 1024
"""The longest decimal that is written as text."""
_DAY_SECONDS: Final = 86_400
_UUID_BYTES: Final = 16
_NUMBER_OPS: Final = {
    ("int", "float"): (op.NUMBER_FLOAT, 1),
    ("int", "double"): (op.NUMBER_DOUBLE, 1),
    ("long", "float"): (op.NUMBER_FLOAT, 0),
    ("long", "double"): (op.NUMBER_DOUBLE, 0),
    ("float", "float"): (op.FLOAT, 0),
    ("float", "double"): (op.FLOAT_DOUBLE, 0),
    ("double", "double"): (op.DOUBLE, 0),
    ("boolean", "boolean"): (op.BOOLEAN, 0),
    ("string", "string"): (op.TEXT, op.CHECKED),
    ("bytes", "string"): (op.TEXT, op.CHECKED),
    ("string", "bytes"): (op.TEXT, 0),
    ("bytes", "bytes"): (op.TEXT, 0),
}


class Emitter:
    """Writes the program of one writer's schema; the targets' columns have their numbers already."""

    def __init__(self, counters: Sequence[int], tags: Sequence[int]) -> None:
        """``counters`` and ``tags`` are the table's C_COUNT and C_TAG."""
        self._counters = counters
        self._tags = tags
        self._rows: list[list[int]] = []
        self.aux: list[int] = []
        self.paths: list[str] = []
        self._path: list[str] = []
        self._depth = 0
        self._deepest = 0
        self._programs: dict[tuple[int, bool], int] = {}
        self._pending: list[tuple[Node, bool]] = []
        self._calls: list[tuple[int, tuple[int, bool]]] = []
        self._alive: list[Node] = []

    def program(self, writer: Node, root: Target) -> Longs:
        """The whole program. Raises Incompatible or SchemaError."""
        self.emit(writer, root)
        self._row(op.END)
        main, self._deepest = self._deepest, 0
        while self._pending:
            record, exact = self._pending.pop()
            self._programs[id(record), exact] = len(self._rows)
            for field in record.fields:
                self.skip(field.node, exact=exact)
            self._row(op.RETURN)
        for row, key in self._calls:
            self._rows[row][p.P_JUMP] = self._programs[key] * p.WORDS
        self.stack_words = op.FRAME * (main + (op.MAX_RECURSION + 1) * (self._deepest + 1)) + p.ROOM
        return program_of(self._rows)

    def emit(self, writer: Node, target: Target) -> None:
        """Reads what ``writer`` wrote into its target."""
        if target.is_json:
            self._keep(writer, target)
        elif writer.kind == "union":
            self._choose(writer, target)
        elif target.reader.kind == "union":
            self._into_union(writer, target)
        else:
            self._plain(writer, target, mark=True)

    def skip(self, writer: Node, *, exact: bool) -> None:
        """Passes over a value; ``exact``: text is checked too."""
        if writer.kind == "record":
            self._call(writer, exact=exact)
        elif writer.kind == "union":
            self._branches([partial(self.skip, b, exact=exact) for b in writer.branches])
        elif writer.kind in {"array", "map"}:
            self._list(writer, None, lambda: self.skip(writer.item, exact=exact), key=op.CHECKED if exact else 0)
        elif writer.kind == "enum":
            self._row(op.ENUM, arg=len(writer.symbols))
        elif exact and writer.logical is not None and writer.logical.kind == "decimal":
            self._decimal_text(writer)
        elif writer.kind == "fixed":
            self._row(op.FIXED, arg=writer.size)
        elif writer.kind != "null":
            code, arg = _NUMBER_OPS.get((writer.kind, writer.kind)) or (op.INT if writer.kind == "int" else op.LONG, 0)
            self._row(code, arg=arg if exact else 0)

    def _decimal_text(self, writer: Node) -> None:
        """A decimal that will be written as text, which has a limit."""
        if writer.kind == "bytes":
            self._row(op.SHORT_BYTES, arg=MAX_DECIMAL_BYTES)
        else:
            self._row(op.FIXED, arg=writer.size)
            if writer.size > MAX_DECIMAL_BYTES:
                self._row(op.FAIL, arg=p.LIMIT)

    # -- what takes bytes as they are

    def _keep(self, writer: Node, target: Target) -> None:
        """The bytes of a value; text that must be JSON is the reference decoder's work."""
        parts = writer.branches if writer.kind == "union" else (writer,)
        declared_text = any(b.kind == "string" for b in parts)
        if target.author is not writer or declared_text:
            self._row(op.FAIL, arg=p.SLOW)
            return
        if target.slots.number < 0:
            self.skip(writer, exact=True)
            return
        if target.slots.valid:
            self._valid(target.slots)
        self._deeper(1)
        self._row(op.MARK)
        self.skip(writer, exact=True)
        self._row(op.KEEP, target.slots)
        self._deeper(-1)

    def _call(self, record: Node, *, exact: bool) -> None:
        """A program of its own for each record: recursive ones end, and big ones are written once."""
        key = (id(record), exact)
        self._alive.append(record)
        if key not in self._programs:
            self._programs[key] = -1
            self._pending.append((record, exact))
        self._calls.append((len(self._rows), key))
        self._row(op.CALL)

    # -- unions

    def _choose(self, writer: Node, target: Target) -> None:
        """A writer's union: each branch goes on by itself."""
        null = [i for i, b in enumerate(writer.branches) if b.kind == "null"]
        slots = target.slots
        inner = self._inner(target)
        plain = len(writer.branches) == 2 and null and slots.valid and inner is not None  # noqa: PLR2004 - null and one type
        if not plain or inner is None:
            self._branches([partial(self._attempt, partial(self.emit, b, target)) for b in writer.branches])
            return
        at = self._row(op.NULLABLE, slots, arg=null[0] + 2 * _null_kind(slots))
        value, part = writer.branches[1 - null[0]], inner
        self._attempt(lambda: self._value(value, target, part))
        self._rows[at][p.P_JUMP] = len(self._rows) * p.WORDS

    def _value(self, value: Node, target: Target, inner: Target) -> None:
        """The value of a nullable type."""
        index = best_branch(value, target.reader)
        if index is None or index not in target.parts:
            raise Incompatible(f"written as {value.label}, which no branch of the union reads")
        self._plain(value, inner, mark=False)

    def _inner(self, target: Target) -> Target | None:
        """The target of the values of a nullable type; None for other unions, and for what cannot be NULL."""
        if target.reader.kind != "union" or sum(b.kind != "null" for b in target.reader.branches) != 1:
            return None
        return next(iter(target.parts.values())) if any(b.kind == "null" for b in target.reader.branches) else None

    def _attempt(self, body: Callable[[], None]) -> None:
        """A branch, or the code of a row that takes one that cannot be read."""
        at, depth = len(self._rows), self._depth
        try:
            body()
        except Incompatible:
            del self._rows[at:], self.paths[at:]
            self._depth = depth
            self._calls = [c for c in self._calls if c[0] < at]
            self._row(op.FAIL, arg=p.TYPE)

    def _branches(self, bodies: Sequence[Callable[[], None]]) -> None:
        """A jump table, and the bodies one after another."""
        base = len(self.aux)
        self.aux += [len(bodies)] + [0] * len(bodies)
        self._row(op.BRANCHES, arg=base)
        ends = []
        for i, body in enumerate(bodies):
            self.aux[base + 1 + i] = len(self._rows) * p.WORDS
            body()
            ends.append(self._row(op.JUMP))
        for end in ends:
            self._rows[end][p.P_JUMP] = len(self._rows) * p.WORDS

    def _into_union(self, writer: Node, target: Target) -> None:
        """A value for one branch of the reader's union."""
        index = best_branch(writer, target.reader)
        if index is None:
            raise Incompatible(f"written as {writer.label}, which no branch of the union reads")
        branch, slots = target.reader.branches[index], target.slots
        if sum(b.kind != "null" for b in target.reader.branches) <= 1:
            if branch.kind == "null":
                self._null(slots)
            else:
                self.emit(writer, target.parts[index])
        elif kinds.is_union(target.column.type):
            self._enter(writer, target.parts[index], slots)
        elif branch.kind == "null":
            self._null(slots)
        else:
            if slots.valid:
                self._valid(slots)
            for other, part in target.parts.items():
                if other != index:
                    self._null(part.slots)
            self.emit(writer, target.parts[index])

    def _enter(self, writer: Node, part: Target, union: Slots) -> None:
        """A child of a dense union."""
        if union.number < 0:
            self.emit(writer, part)
            return
        number = part.slots.number
        self._deeper(1)
        self._row(op.ENTER, union, arg=self._tags[number], jump=self._counters[number])
        self.emit(writer, part)
        self._row(op.LEAVE)
        self._deeper(-1)

    def _null(self, slots: Slots) -> None:
        """NULL in a column and below."""
        if slots.number >= 0:
            self._row(op.NULLS, slots)

    def _valid(self, slots: Slots) -> None:
        """No NULL."""
        if slots.number >= 0:
            self._row(op.VALID, slots)

    # -- types

    def _plain(self, writer: Node, target: Target, *, mark: bool) -> None:
        """Types that are no unions; ``mark``: note that the slot is not NULL."""
        reader = target.reader
        if reader.kind == "union":
            self._into_union(writer, target)
            return
        if target.is_json:
            self._keep(writer, target)
            return
        if not readable(writer, reader):
            raise Incompatible(f"written as {writer.label}, which cannot be read as {reader.label}")
        if mark and target.slots.valid:
            self._valid(target.slots)
        if reader.kind == "record":
            self._record(writer, target)
        elif reader.kind in {"array", "map"}:
            self._list(writer, target.slots, lambda: self.emit(writer.item, target.parts["item"]), key=op.CHECKED)
        elif reader.kind == "enum":
            self._enum(writer, target)
        elif reader.kind != "null":
            self._scalar(writer, target)

    def _record(self, writer: Node, target: Target) -> None:
        """Fields in the writer's order; what no column takes is passed over."""
        sources = record_sources(writer, target.reader)
        taken = {f.name for f in sources.values()}
        by_name = {f.name: f for f in target.reader.fields}
        for column in target.column.type:
            if column.name in by_name and column.name not in taken:
                if by_name[column.name].default is NO_DEFAULT:
                    raise Incompatible("the writer does not have it and it has no default").inside(column.name)
                if column.name in target.parts:
                    self._row(op.FAIL, arg=p.SLOW)
        for field in writer.fields:
            found = sources.get(field.name)
            self._path.append(field.name if found is None else found.name)
            try:
                if found is None or found.name not in target.parts:
                    self.skip(field.node, exact=False)
                else:
                    self.emit(field.node, target.parts[found.name])
            except Incompatible as e:
                raise e.inside(self._path[-1]) from None
            finally:
                self._path.pop()

    def _list(self, writer: Node, slots: Slots | None, item: Callable[[], None], *, key: int) -> None:
        """An array, or a map with its keys."""
        is_map = writer.kind == "map"
        least = min_size(writer.item) + is_map
        begin = self._row(op.LIST, slots, arg=least)
        self._deeper(1)
        if is_map:
            self._row(op.TEXT, None if slots is None else slots.children[0], arg=key)
        item()
        self._row(op.MAP_END if is_map else op.LIST_END, slots, arg=least, jump=(begin + 1) * p.WORDS)
        self._deeper(-1)
        self._rows[begin][p.P_JUMP] = len(self._rows) * p.WORDS

    def _enum(self, writer: Node, target: Target) -> None:
        """Numbers of the reader's symbols."""
        reader = target.reader
        if writer.symbols == reader.symbols:
            self._row(op.ENUM, target.slots, arg=len(writer.symbols))
            return
        known = {s: i for i, s in enumerate(reader.symbols)}
        other = -1 if reader.default is None else known[reader.default]
        self._row(op.ENUM_MAP, target.slots, arg=len(self.aux))
        self.aux += [len(writer.symbols), *(known.get(s, other) for s in writer.symbols)]

    def _scalar(self, writer: Node, target: Target) -> None:
        """A value without parts, as the column stores it."""
        reader, storage, slots = target.reader, target.slots.type, target.slots
        read_scalar(writer, reader, target.column)
        gain = finer(writer.logical, reader.logical)
        if kinds.is_decimal(storage):
            assert reader.logical is not None
            words = storage.bit_width // 64
            limit = (10**reader.logical.precision).to_bytes(8 * words, "little")
            self._row(op.DECIMAL, slots, arg=len(self.aux))
            self.aux += [writer.size if writer.kind == "fixed" else -1, words, *np.frombuffer(limit, np.int64).tolist()]
        elif kinds.is_interval(storage):
            self._row(op.DURATION, slots)
        elif kinds.is_fixed_size_binary(storage):
            is_text = reader.kind != "fixed"
            self._row(op.UUID_TEXT if is_text else op.FIXED, slots, arg=_UUID_BYTES if is_text else writer.size)
        elif reader.kind in {"int", "long"} and writer.kind in {"int", "long"}:
            self._integer(writer, target, gain)
        else:
            code, arg = _NUMBER_OPS[writer.kind, reader.kind]
            self._row(code, slots, arg=arg)

    def _integer(self, writer: Node, target: Target, gain: int) -> None:
        """An int or a long: plain, or counted in a finer unit, inside a day where it is a time."""
        storage, slots, logical = target.slots.type, target.slots, target.reader.logical
        narrow = int(writer.kind == "int")
        if kinds.is_float64(storage):
            self._row(op.NUMBER_DOUBLE, slots, arg=narrow)
            return
        is_time = kinds.is_time(storage)
        if is_time or kinds.is_timestamp(storage):
            assert logical is not None
            factor = 10 ** (UNITS[storage.unit] - UNITS[logical.unit] + gain)
            if is_time or factor > 1:
                bound = _DAY_SECONDS * 10 ** UNITS[storage.unit] if is_time else 0
                self._row(op.TICKS, slots, arg=len(self.aux))
                self.aux += [narrow, factor, bound, int(storage.bit_width == 64)]  # noqa: PLR2004 - bits
                return
        wide = storage.bit_width == 64  # noqa: PLR2004 - bits
        self._row((op.INT_LONG if narrow else op.LONG) if wide else op.INT, slots)

    # -- rows

    def _row(self, code: int, slots: Slots | None = None, *, arg: int = 0, jump: int = 0) -> int:
        """Append a row; a value without a column is dropped. Returns the row's number."""
        number = -1 if slots is None else slots.number
        row = [0] * p.WORDS
        row[p.P_OP], row[p.P_MASK] = (code, -1) if number >= 0 else (code if code == op.LIST_END else code | op.DROPPED, 0)
        row[p.P_ARG], row[p.P_JUMP], row[p.P_COLUMN] = arg, jump, number
        self._rows.append(row)
        self.paths.append(".".join(self._path))
        if len(self._rows) > MAX_ROWS:
            raise SchemaError(f"the schema needs more than {MAX_ROWS} steps to decode")
        return len(self._rows) - 1

    def _deeper(self, by: int) -> None:
        """Count the frames on the stack."""
        self._depth += by
        self._deepest = max(self._deepest, self._depth)


def _null_kind(slots: Slots) -> int:
    """How a NULL is written to a column."""
    if slots.number < 0:
        return op.NULL_NONE
    kind, width = kind_of(slots.type)
    if kind in {p.BYTES, p.LIST}:
        return op.NULL_BYTES
    return {8: op.NULL_8, 4: op.NULL_4, 1: op.NULL_1}.get(width, op.NULL_ANY) if kind == p.FIXED else op.NULL_ANY
