"""Programs that only check: for fields that no column holds, and for messages that are kept as bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from google.protobuf.descriptor import FieldDescriptor as F

from thalweg.codecs.protobuf.forms import DELIMITED, FIXED32, FIXED64, Form, Part
from thalweg.kernels import protobuf_ops as op

if TYPE_CHECKING:
    from thalweg.codecs.protobuf.kernel_tables import Tables


class Checks:
    """Writes one table for each message type, however often it is used; cyclic types end."""

    def __init__(self, tables: Tables) -> None:
        """Nothing written yet."""
        self._tables = tables
        self._made: dict[int, int] = {}
        self._checkable: dict[int, bool] = {}

    def is_checkable(self, part: Part) -> bool:
        """Whether a check says all there is to say of a field.

        It does not where something is required, where a Duration might be merged of two halves that clash, or a Timestamp is a group.
        """
        form = part.form
        if form is None:
            return True
        if id(form) not in self._checkable:
            inside = _reached(form)
            grouped = any(_is_grouped_time(p) for f in inside for p in f.parts)
            self._checkable[id(form)] = not grouped and not any(f.required or f.special == "duration" for f in inside)
        return self._checkable[id(form)] and not _is_grouped_time(part)

    def table(self, form: Form) -> int:
        """The table that checks a message type."""
        known = self._made.get(id(form))
        if known is None:
            known = self._made[id(form)] = self._tables.add()
            for part in form.parts:
                self.put(known, part)
        return known

    def put(self, table: int, part: Part) -> int:
        """What checks a field; its row, 0 where its wire type says it all."""
        tables = self._tables
        if part.form is not None:
            code = op.CHECK_GROUP if part.type == F.TYPE_GROUP else op.CHECK_TIME if part.form.special == "timestamp" else op.CHECK
            row = tables.row(code, extra=part.number)
            tables.set(row, op.R_DATA, int(part.repeated))
            if code != op.CHECK_TIME:
                tables.go_to(row, op.R_NEXT, self.table(part.form))
            tables.put(table, part.number << 3 | part.wire_type, row)
            return row
        if part.type == F.TYPE_STRING:
            row = tables.row(op.CHECK_TEXT)
            tables.put(table, part.number << 3 | DELIMITED, row)
            return row
        if part.packable:
            packed = {FIXED64: op.CHECK_PACKED64, FIXED32: op.CHECK_PACKED32}.get(part.wire_type, op.CHECK_PACKED)
            tables.put(table, part.number << 3 | DELIMITED, tables.row(packed))
        return 0


def _is_grouped_time(part: Part) -> bool:
    """Whether a field is a Timestamp between tags."""
    return part.type == F.TYPE_GROUP and part.form is not None and part.form.special == "timestamp"


def _reached(form: Form) -> list[Form]:
    """A form and all that lie in it."""
    found = [form]
    seen = {id(form)}
    for each in found:
        for part in each.parts:
            if part.form is not None and id(part.form) not in seen:
                seen.add(id(part.form))
                found.append(part.form)
    return found
