"""The columns of a table to the program of the Protobuf machine, and the columns that it fills."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa
from google.protobuf.descriptor import FieldDescriptor as F

from thalweg.arrow.slots import Slots
from thalweg.arrow.temporal import UNITS
from thalweg.codecs.protobuf.descriptors import DescriptorError
from thalweg.codecs.protobuf.forms import DELIMITED, FIXED32, FIXED64, GROUP, Form, Part
from thalweg.codecs.protobuf.kernel_checks import Checks
from thalweg.codecs.protobuf.kernel_finish import as_text, named
from thalweg.codecs.protobuf.kernel_tables import Tables
from thalweg.codecs.protobuf.shapes import Shape, Unfolding
from thalweg.kernels import program as p
from thalweg.kernels import protobuf_ops as op

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MOST_MEMBERS: Final = 255
_OPS: Final[dict[int, int]] = {
    **dict.fromkeys((F.TYPE_INT64, F.TYPE_UINT64), op.I64),
    **dict.fromkeys((F.TYPE_INT32, F.TYPE_UINT32, F.TYPE_ENUM), op.I32),
    **dict.fromkeys((F.TYPE_DOUBLE, F.TYPE_FIXED64, F.TYPE_SFIXED64), op.X64),
    **dict.fromkeys((F.TYPE_FLOAT, F.TYPE_FIXED32, F.TYPE_SFIXED32), op.X32),
    F.TYPE_BOOL: op.BOOL, F.TYPE_SINT32: op.S32, F.TYPE_SINT64: op.S64, F.TYPE_STRING: op.TEXT, F.TYPE_BYTES: op.BYTES,
}  # fmt: skip
_PACKED: Final = {FIXED64: op.PACKED64, FIXED32: op.PACKED32}


class Mark:
    """How a field of a message says that it is set: a mode, where the mark is, and the list's counter or the oneof's member."""

    def __init__(self, mode: int = op.PLAIN, at: Slots | None = None, word: int = p.C_DATA, arg: int = 0) -> None:
        """``at`` None: the value's own valid bytes."""
        self.mode, self.at, self.word, self.arg = mode, at, word, arg


class Compiler:
    """Makes the columns of shapes and the rows that fill them. Raises DescriptorError for what the kernel does not take."""

    def __init__(self, max_items: int, on_text: Callable[[str], None] | None = None) -> None:
        """``on_text`` is told the type of each message that became JSON text because it lies too deep."""
        self.tables = Tables()
        self.levels = 0
        """Counters of items, so far."""
        self.item_counters: list[tuple[Slots, int]] = []
        """Each list's column and the counter of its items."""
        self.text_counters: list[Slots] = []
        """The columns of bytes, in the order of their counters."""
        self.maps: list[tuple[int, int]] = []
        """Program row of each map, and the counter of the level that holds it."""
        self._checks = Checks(self.tables)
        self._max_items = max_items
        self._on_text = on_text

    def message(self, form: Form, shapes: Sequence[Shape], level: int, path: str) -> tuple[list[Slots], int]:
        """The columns of a message's fields, hidden ones last, and its table."""
        table = self.tables.add()
        kept = {s.part.index: s for s in shapes}
        hidden: list[Slots] = []
        which: dict[tuple[int, ...], Slots] = {}
        for part in form.parts:
            if part.oneof and part.oneof not in which and any(i in kept for i in part.oneof):
                which[part.oneof] = Slots(pa.uint8(), valid=False, hidden=True)
                hidden.append(which[part.oneof])
        made = {}
        for part in form.parts:
            one = which.get(part.oneof) if part.oneof else None
            if part.index in kept:
                shape = kept[part.index]
                made[part.index] = self._field(shape, self._mark(form, part, one), table, level, f"{path}.{shape.name}" if path else shape.name)
            else:
                hidden += self._unwanted(form, part, one, table, level, path)
        return [made[s.part.index] for s in shapes] + hidden, table

    def _mark(self, form: Form, part: Part, one: Slots | None) -> Mark:
        """How a field of a message is marked."""
        if one is not None:
            if len(part.oneof) > MOST_MEMBERS:
                raise DescriptorError(f"a oneof of more than {MOST_MEMBERS} members")
            has_messages = any(form.parts[i].form is not None for i in part.oneof)
            return Mark(op.ONEOF_ONCE if has_messages else op.ONEOF, one, p.C_DATA, 1 + part.oneof.index(part.index))
        if part.form is not None:
            return Mark(op.ONCE, None, p.C_VALID)
        return Mark(op.PRESENT, None, p.C_VALID) if part.presence else Mark()

    def _field(self, shape: Shape, mark: Mark, table: int, level: int, path: str) -> Slots:
        """A field of a message, repeated or not."""
        part = shape.part
        if shape.whole:
            return self._left(shape, table, path)
        if shape.kind == "list":
            slots = Slots(shape.type, valid=False)
            inside = self._level(slots)
            slots.children = (self._value(shape.children[0], Mark(op.ITEM, slots, p.C_OFFS, inside), table, inside, path),)
            return slots
        if shape.kind == "map":
            return self._map(shape, table, level, path)
        slots = self._value(shape, mark, table, level, path)
        if mark.at is not None:
            slots.which = (mark.at, mark.arg)
        else:
            slots.valid = mark.mode != op.PLAIN
            if slots.valid and shape.unset is not None:
                slots.unset = pa.scalar(shape.unset, slots.type)
        if part.required:
            self.tables.require(table, self.tables.row_of(table, part.number << 3 | part.wire_type))
        return slots

    def _map(self, shape: Shape, table: int, level: int, path: str) -> Slots:
        """A map: entries are messages whose fields have the slots of the map's items."""
        part = shape.part
        form = part.form
        assert form is not None
        value = form.parts[1]
        if value.default or (value.form is not None and value.form.required):
            return self._left(shape, table, path)
        slots = Slots(shape.type, valid=False)
        inside = self._level(slots)
        entry = self.tables.add()
        key = self._value(shape.children[0], Mark(), entry, inside, path)
        seen = Slots(pa.uint8(), valid=False, hidden=True)
        once = value.form is not None
        item = self._value(shape.children[1], Mark(op.ONCE, seen) if once else Mark(), entry, inside, path)
        slots.children = (key, item, seen) if once else (key, item)
        key_row = self.tables.row_of(entry, 1 << 3 | form.parts[0].wire_type)
        row = self.tables.row(op.MAP, op.ITEM, arg=inside, path=path, extra=key_row)
        self.tables.point(row, op.R_PRES, slots, p.C_OFFS)
        self.tables.go_to(row, op.R_NEXT, entry)
        self.tables.put(table, part.number << 3 | DELIMITED, row)
        self.maps.append((row, level))
        return slots

    def _left(self, shape: Shape, table: int, path: str) -> Slots:
        """A field that the reference decoder reads: the column is empty in every row that the kernel finishes."""
        row = self.tables.row(op.LEAVE, path=path)
        part = shape.part
        self.tables.put(table, part.number << 3 | part.wire_type, row)
        if part.packable:
            self.tables.put(table, part.number << 3 | DELIMITED, row)
        if shape.whole:
            return Slots(shape.type, constant=pa.array(["{}" if part.is_map else "[]"], shape.type))
        empty = pa.array([[]], shape.type) if shape.kind in {"list", "map"} else pa.nulls(1, shape.type)
        return Slots(shape.type, constant=empty)

    def _value(self, shape: Shape, mark: Mark, table: int, level: int, path: str) -> Slots:
        """One value of a field."""
        part = shape.part
        if shape.kind in {"scalar", "enum", "number"}:
            return self._scalar(shape, mark, table, path)
        if shape.kind == "json":
            return self._json(shape, mark, table, path)
        assert part.form is not None
        if shape.kind in {"timestamp", "duration"}:
            slots = Slots(shape.type, valid=False)
            if part.type == F.TYPE_GROUP:
                self.tables.put(table, part.number << 3 | GROUP, self._row(op.LEAVE, mark, slots, path))
                return slots
            row = self._row(op.TIMESTAMP if shape.kind == "timestamp" else op.DURATION, mark, slots, path)
            ticks = 10 ** UNITS[shape.unit]
            self.tables.set(row, op.R_NEXT, ticks)
            self.tables.set(row, op.R_EXTRA, op.NANOS // ticks)
            self.tables.put(table, part.number << 3 | DELIMITED, row)
            return slots
        if shape.kind == "wrapper":
            inner = self.tables.add()
            slots = self._scalar(Shape("scalar", shape.name, shape.type, part.form.parts[0]), Mark(), inner, path)
        else:
            children, inner = self.message(part.form, shape.children, level, path)
            slots = Slots(shape.type, valid=False, children=tuple(children))
        is_group = part.type == F.TYPE_GROUP
        tag = part.number << 3 | part.wire_type
        row = self._row(op.GROUP if is_group else op.MESSAGE, mark, slots, path)
        next_tag = tag if mark.mode == op.ITEM and tag < 128 else -1  # noqa: PLR2004 - tags of one byte
        self.tables.set(row, op.R_EXTRA, part.number if is_group else next_tag)
        self.tables.go_to(row, op.R_NEXT, inner)
        self.tables.put(table, tag, row)
        return slots

    def _scalar(self, shape: Shape, mark: Mark, table: int, path: str) -> Slots:
        """A value without parts, one by one and packed."""
        part = shape.part
        closed = part.enum is not None and part.enum.closed
        code = op.CLOSED if closed else _OPS[part.type]
        slots = Slots(pa.int32() if shape.kind == "enum" else shape.type, valid=False)
        if shape.kind == "enum":
            assert part.enum is not None
            slots.finish = named(part.enum)
        row = self._row(code, mark, slots, path)
        side = 0
        if closed:
            assert part.enum is not None
            side = self.tables.numbers(sorted(part.enum.names))
            self.tables.set(row, op.R_NEXT, side)
        if code in {op.TEXT, op.BYTES}:
            self.tables.text_counter(row, len(self.text_counters))
            self.text_counters.append(slots)
        self.tables.put(table, part.number << 3 | part.wire_type, row)
        if part.packable and mark.mode == op.ITEM:
            packed = self._row(_PACKED.get(part.wire_type, op.PACKED), mark, slots, path)
            self.tables.set(packed, op.R_MODE, op.PLAIN)
            self.tables.set(packed, op.R_NEXT, code)
            self.tables.set(packed, op.R_EXTRA, side)
            self.tables.put(table, part.number << 3 | DELIMITED, packed)
        return slots

    def _json(self, shape: Shape, mark: Mark, table: int, path: str) -> Slots:
        """A message that becomes text: its bytes are kept, where nothing in them can be wrong once they are checked."""
        part = shape.part
        form = part.form
        assert form is not None
        tag = part.number << 3 | part.wire_type
        slots = Slots(pa.binary(), valid=False, finish=as_text(part, self._max_items, self._on_text if shape.cut else None))
        if part.type == F.TYPE_GROUP or not self._checks.is_checkable(part):
            self.tables.put(table, tag, self._row(op.LEAVE, mark, slots, path))
            return slots
        row = self._row(op.RAW, mark, slots, path)
        self.tables.go_to(row, op.R_EXTRA, self._checks.table(form))
        self.tables.text_counter(row, len(self.text_counters))
        self.text_counters.append(slots)
        self.tables.put(table, tag, row)
        return slots

    def _unwanted(self, form: Form, part: Part, one: Slots | None, table: int, level: int, path: str) -> list[Slots]:
        """A field that no column holds: checked, or read into a hidden column where more than a check is needed."""
        is_plain = self._checks.is_checkable(part) and not part.required
        if one is None and is_plain:
            self._checks.put(table, part)
            return []
        if one is not None and part.form is not None and is_plain:
            row = self._checks.put(table, part)
            mark = self._mark(form, part, one)
            self.tables.set(row, op.R_MODE, mark.mode)
            self.tables.set(row, op.R_ARG, mark.arg)
            self.tables.point(row, op.R_PRES, one, p.C_DATA)
            return []
        try:
            shape = Unfolding().field(part, form)
        except DescriptorError:
            shape = Unfolding(max_depth=1).field(part, form)
        slots = self._field(shape, self._mark(form, part, one), table, level, f"{path}.{part.name}" if path else part.name)
        slots.hidden = True
        slots.which = None
        return [slots]

    def _row(self, code: int, mark: Mark, slots: Slots, path: str) -> int:
        """A row of a value: its mark, and where the value goes."""
        row = self.tables.row(code, mark.mode, arg=mark.arg, path=path)
        if mark.mode != op.PLAIN:
            self.tables.point(row, op.R_PRES, slots if mark.at is None else mark.at, mark.word)
        if code in {op.MESSAGE, op.GROUP}:
            return row
        self.tables.point(row, op.R_DATA, slots, p.C_DATA)
        if code in {op.TEXT, op.BYTES, op.RAW}:
            self.tables.point(row, op.R_OFFS, slots, p.C_OFFS)
        return row

    def _level(self, slots: Slots) -> int:
        """A counter for the items of a list."""
        self.item_counters.append((slots, self.levels))
        self.levels += 1
        return self.levels - 1


