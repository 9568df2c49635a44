"""Message types to Arrow columns: the tree of columns that a form unfolds to, whole or as declared."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.types as kinds
from google.protobuf.descriptor import FieldDescriptor

from thalweg.arrow.columns import JSON_TEXT, TYPE_KEY
from thalweg.codecs.protobuf.declared import Incompatible, integer_enum, is_wider, unit_of_declared
from thalweg.codecs.protobuf.descriptors import DescriptorError
from thalweg.ports.depth import DEFAULT_DEPTH, MAX_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from thalweg.codecs.protobuf.forms import Form, Part

ENUM: Final = pa.dictionary(pa.int32(), pa.string())
SCALARS: Final[dict[int, pa.DataType]] = {
    FieldDescriptor.TYPE_BOOL: pa.bool_(),
    FieldDescriptor.TYPE_BYTES: pa.binary(),
    FieldDescriptor.TYPE_DOUBLE: pa.float64(),
    FieldDescriptor.TYPE_FLOAT: pa.float32(),
    FieldDescriptor.TYPE_STRING: pa.string(),
    **dict.fromkeys((FieldDescriptor.TYPE_INT32, FieldDescriptor.TYPE_SINT32, FieldDescriptor.TYPE_SFIXED32), pa.int32()),
    **dict.fromkeys((FieldDescriptor.TYPE_INT64, FieldDescriptor.TYPE_SINT64, FieldDescriptor.TYPE_SFIXED64), pa.int64()),
    **dict.fromkeys((FieldDescriptor.TYPE_UINT32, FieldDescriptor.TYPE_FIXED32), pa.uint32()),
    **dict.fromkeys((FieldDescriptor.TYPE_UINT64, FieldDescriptor.TYPE_FIXED64), pa.uint64()),
}


@dataclass(slots=True, eq=False)
class Shape:
    """One column, or one value of a list or map."""

    kind: str
    """``scalar``, ``enum``, ``number``, ``struct``, ``wrapper``, ``timestamp``, ``duration``, ``json``, ``list`` or ``map``."""
    name: str
    type: pa.DataType
    part: Part
    """The field that it comes from; of a list's item the list's, of a map's key and value the entry's."""
    children: tuple[Shape, ...] = ()
    """Of a struct its columns, of a list its items, of a map keys and values."""
    unset: Any = None
    """What an unset field holds, as the wire would say it; None for NULL."""
    whole: bool = False
    """JSON text of all values of a repeated field."""
    cut: bool = False
    """JSON text because the message lies too deep, not because it was asked for."""

    @property
    def column(self) -> pa.Field:
        """The Arrow field."""
        return pa.field(self.name, self.type, metadata=JSON_TEXT if self.kind == "json" else None)

    @property
    def unit(self) -> str:
        """Of a timestamp or duration."""
        return str(self.type.unit)


class TooLarge(DescriptorError):
    """More columns than are kept, because of messages inside themselves: fewer levels are fewer columns."""


@dataclass(slots=True)
class Unfolding:
    """How a message unfolds into columns; collects what was cut."""

    max_depth: int = DEFAULT_DEPTH
    enum: str = "string"
    """``string`` or ``number``."""
    unit: str = "us"
    """Of timestamps and durations."""
    defaults: bool = False
    writing: bool = False
    """Declared columns are written, not read: they may also be narrower than their fields, and wider where each value is checked."""
    cuts: list[str] = field(default_factory=list)
    """One line for each message that is left as JSON text."""
    columns: int = 0

    def root(self, form: Form, declared: pa.Schema | None = None) -> tuple[Shape, ...]:
        """The columns of a message: all of them, or those that are declared. Raises DescriptorError, Incompatible."""
        return self._members(form, (form,), "", None if declared is None else list(declared))

    def field(self, part: Part, form: Form) -> Shape:
        """The column of one field of a message, whole. Raises DescriptorError."""
        return self._column(part, (form,), part.name, None)

    def _members(self, form: Form, path: tuple[Form, ...], where: str, declared: Sequence[pa.Field] | None) -> tuple[Shape, ...]:
        """The fields of a message; ``path`` holds the messages around it and itself."""
        if declared is None:
            return tuple(self._column(p, path, f"{where}.{p.name}" if where else p.name, None) for p in form.parts)
        by_name = {p.name: p for p in form.parts}
        found = []
        for wanted in declared:
            if wanted.name not in by_name:
                raise Incompatible(f"message {form.name} has no such field").inside(wanted.name)
            try:
                found.append(self._column(by_name[wanted.name], path, f"{where}.{wanted.name}" if where else wanted.name, wanted))
            except Incompatible as e:
                raise e.inside(wanted.name) from None
        return tuple(found)

    def _column(self, part: Part, path: tuple[Form, ...], where: str, declared: pa.Field | None) -> Shape:
        """One field of a message."""
        if declared is not None and (declared.metadata or {}).get(TYPE_KEY) == b"json" and (part.form is not None or part.repeated):
            return Shape("json", part.name, pa.string(), part, whole=part.repeated)
        if part.is_map:
            return self._map(part, path, where, declared)
        if part.repeated:
            if declared is not None and not kinds.is_list(declared.type):
                raise Incompatible(f"declared as {declared.type}, but the field is repeated")
            item = self._value(part, "item", path, where, None if declared is None else declared.type.value_field)
            return Shape("list", part.name, pa.list_(item.column), part, (item,))
        shape = self._value(part, part.name, path, where, declared)
        if not part.presence or (self.defaults and part.has_default and not part.oneof):
            shape.unset = part.default
        return shape

    def _map(self, part: Part, path: tuple[Form, ...], where: str, declared: pa.Field | None) -> Shape:
        """A map; keys have no NULL."""
        assert part.form is not None
        if declared is not None and not kinds.is_map(declared.type):
            raise Incompatible(f"declared as {declared.type}, but the field is a map")
        wanted_key, wanted = (None, None) if declared is None else (declared.type.key_field, declared.type.item_field)
        key = self._value(part.form.parts[0], "key", path, where, wanted_key)
        value = self._value(part.form.parts[1], "value", path, where, wanted)
        return Shape("map", part.name, pa.map_(key.type, value.column), part, (key, value))

    def _value(self, part: Part, name: str, path: tuple[Form, ...], where: str, declared: pa.Field | None) -> Shape:
        """One value of a field."""
        self.columns += 1
        if self.columns > MAX_COLUMNS:
            cycle = _cycle(path)
            raise (TooLarge if cycle or self.cuts else DescriptorError)(_too_many(cycle, self.max_depth))
        if part.form is not None:
            return self._message(part, part.form, name, path, where, declared)
        if part.enum is not None:
            as_number = self.enum == "number" if declared is None else integer_enum(declared.type)
            return Shape("number" if as_number else "enum", name, pa.int32() if as_number else ENUM, part)
        natural = SCALARS[part.type]
        self._fits(declared, natural)
        return Shape("scalar", name, natural, part)

    def _fits(self, declared: pa.Field | None, natural: pa.DataType) -> None:
        """Refuse a declared type that could lose something."""
        if declared is None or is_wider(declared.type, natural) or (self.writing and is_wider(natural, declared.type)):
            return
        raise Incompatible(f"declared as {declared.type}, but the field is {natural}")

    def _message(self, part: Part, form: Form, name: str, path: tuple[Form, ...], where: str, declared: pa.Field | None) -> Shape:
        """A message: a well-known type, a struct, or JSON text where it lies too deep."""
        if form.special in {"timestamp", "duration"}:
            unit = self.unit if declared is None else unit_of_declared(declared.type, form.special)
            return Shape(form.special, name, pa.timestamp(unit, "UTC") if form.special == "timestamp" else pa.duration(unit), part)
        if form.special == "wrapper":
            inner = SCALARS[form.parts[0].type]
            self._fits(declared, inner)
            return Shape("wrapper", name, inner, part)
        if form.special == "json":
            if declared is not None and not (kinds.is_string(declared.type) or kinds.is_large_string(declared.type)):
                raise Incompatible(f"declared as {declared.type}, but {form.name} is JSON text")
            return Shape("json", name, pa.string(), part)
        if declared is not None and (declared.metadata or {}).get(TYPE_KEY) == b"json":
            return Shape("json", name, pa.string(), part)
        if len(path) >= self.max_depth:
            self.cuts.append(f"'{where}': message {form.name} lies deeper than 'decode.max_depth' ({self.max_depth}) and becomes JSON text")
            return Shape("json", name, pa.string(), part, cut=True)
        if declared is not None and not kinds.is_struct(declared.type):
            raise Incompatible(f"declared as {declared.type}, but the field is message {form.name}")
        members = self._members(form, (*path, form), where, None if declared is None else list(declared.type))
        return Shape("struct", name, pa.struct([m.column for m in members]), part, members)


def coarse(shapes: Sequence[Shape], above: str = "") -> list[str]:
    """Where timestamps and durations are that do not hold nanoseconds, dotted."""
    out = []
    for shape in shapes:
        where = f"{above}.{shape.name}" if above else shape.name
        if shape.kind in {"timestamp", "duration"}:
            out += [] if shape.unit == "ns" else [where]
        elif shape.kind == "list":
            out += [where + found.removeprefix("item") for found in coarse(shape.children)]
        elif shape.kind == "map":
            out += [where + found.removeprefix("value") for found in coarse(shape.children[1:])]
        else:
            out += coarse(shape.children, where)
    return out


def _cycle(path: tuple[Form, ...]) -> str:
    """The first message that lies inside itself and the way to it; empty where there is none."""
    seen: list[Form] = []
    for form in path:
        if form in seen:
            return " -> ".join(f.name for f in [*seen[seen.index(form) :], form])
        seen.append(form)
    return ""


def _too_many(cycle: str, max_depth: int) -> str:
    """The message for a schema that unfolds too far: the cycle where there is one, else the size."""
    if not cycle:
        return f"the message unfolds to more than {MAX_COLUMNS} columns; declare the ones you need"
    way_out = f"lower 'decode.max_depth' (now {max_depth}) or declare the columns"
    return f"the message is recursive ({cycle}) and unfolds to more than {MAX_COLUMNS} columns; {way_out}"
