"""Which columns a kernel fills for a reader's schema, and what becomes of them afterwards."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.types as kinds

from thalweg.arrow.columns import TYPE_KEY, assemble
from thalweg.arrow.rows import BadValue
from thalweg.arrow.slots import Slots
from thalweg.codecs.avro.defaults import encode_default
from thalweg.codecs.avro.match import Incompatible, best_branch, readable
from thalweg.codecs.avro.resolve import Resolver
from thalweg.codecs.avro.schema import NO_DEFAULT, Field, Node, SchemaError
from thalweg.codecs.avro.types import branch_names, column
from thalweg.codecs.avro.wire import Cursor, read_long

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from thalweg.codecs.avro.wire import Read

_DECIMAL128: Final = 38


class TextFault(Exception):
    """Kept bytes that cannot be written as text: their rows are the reference decoder's."""


@dataclass(slots=True, eq=False)
class Target:
    """Where values of a reader's type go."""

    reader: Node
    column: pa.Field
    slots: Slots
    parts: dict[str | int, Target] = field(default_factory=dict)
    """Of a record by field name, of a union by branch; ``item`` of an array or a map."""
    is_json: bool = False
    """The bytes are kept and become JSON text afterwards."""
    author: Node | None = None
    """The one type whose bytes are kept."""


def record_sources(writer: Node, reader: Node) -> dict[str, Field]:
    """Writer's field name to the reader's field that takes it: by name, then by the reader's aliases."""
    written = {f.name for f in writer.fields}
    out = {f.name: f for f in reader.fields if f.name in written}
    for target in reader.fields:
        alias = next((a for a in target.aliases if a in written and a not in out), None)
        if target.name not in written and alias is not None:
            out[alias] = target
    return out


@dataclass(slots=True)
class Columns:
    """Makes the targets of one table."""

    missing_is_null: bool = False
    """A declared field that no schema has is NULL."""
    on_text: Callable[[str], None] | None = None
    """Told the type of each value that became JSON text because it lies too deep."""

    def target(self, writers: Sequence[Node], reader: Node, column: pa.Field, *, nullable: bool = False) -> Target:
        """Where what any of ``writers`` wrote goes; ``nullable``: the slot itself can be NULL. Raises Incompatible or SchemaError."""
        if (column.metadata or {}).get(TYPE_KEY) == b"json":
            return self._text(writers, reader, column, nullable=nullable)
        flat = [b for w in writers for b in (w.branches if w.kind == "union" else (w,))]
        if reader.kind == "union":
            return self._union(flat, reader, column, nullable=nullable)
        fitting = [w for w in flat if readable(w, reader)]
        make = {"record": self._record, "array": self._list, "map": self._list, "enum": self._enum}.get(reader.kind)
        if make is None:
            storage, finish = stored(reader, column)
            return Target(reader, column, Slots(storage, valid=nullable and reader.kind != "null", finish=finish))
        return make(fitting, reader, column, nullable)

    def root(self, writers: Sequence[Node], reader: Node, column: pa.Field) -> Target:
        """The target of whole rows."""
        return self.target(writers, reader, column)

    def _text(self, writers: Sequence[Node], reader: Node, column: pa.Field, *, nullable: bool) -> Target:
        """The bytes as they are, written as JSON when the batch is done."""
        slots = Slots(pa.binary(), valid=nullable)
        author = writers[0] if len(writers) == 1 else None
        if author is not None:
            read = Resolver(declared=True).read(author, author, column)
            slots.finish = _as_text(read, column.type, author, self.on_text)
        return Target(reader, column, slots, is_json=True, author=author)

    def _union(self, flat: Sequence[Node], reader: Node, column: pa.Field, *, nullable: bool) -> Target:
        """Nullable, a dense union, or a struct with one field a branch."""
        by_branch: dict[int, list[Node]] = {}
        for writer in flat:
            index = best_branch(writer, reader)
            if index is not None:
                by_branch.setdefault(index, []).append(writer)
        null = next((i for i, b in enumerate(reader.branches) if b.kind == "null"), None)
        nullable = nullable or null in by_branch
        values = [i for i, b in enumerate(reader.branches) if b.kind != "null"]
        if len(values) <= 1:
            inner = values[0] if values else 0
            found = self.target(by_branch.get(inner, []), reader.branches[inner], column, nullable=nullable)
            return Target(reader, column, found.slots, {inner: found})
        names = branch_names(reader)
        if kinds.is_union(column.type):
            children = [column.type.field(i) for i in range(column.type.num_fields)]
            pick = null or 0
            parts: dict[str | int, Target] = {}
            for i, (branch, child) in enumerate(zip(reader.branches, children, strict=True)):
                parts[i] = self.target(by_branch.get(i, []), branch, child, nullable=i == pick)
            slots = Slots(column.type, valid=False, children=tuple(t.slots for t in parts.values()), pick=pick)
            return Target(reader, column, slots, parts)
        return self._union_struct({names[i]: i for i in values}, by_branch, reader, column, nullable=nullable)

    def _union_struct(
        self, places: dict[str, int], by_branch: dict[int, list[Node]], reader: Node, column: pa.Field, *, nullable: bool
    ) -> Target:
        """One nullable field a branch; other declared fields are NULL."""
        parts: dict[str | int, Target] = {}
        children = []
        for child in column.type:
            index = places.get(child.name)
            if index is None:
                children.append(Slots(child.type, constant=pa.nulls(1, child.type)))
                continue
            parts[index] = self.target(by_branch.get(index, []), reader.branches[index], child, nullable=True)
            children.append(parts[index].slots)
        return Target(reader, column, Slots(column.type, valid=nullable, children=tuple(children)), parts)

    def _record(self, writers: Sequence[Node], reader: Node, column: pa.Field, nullable: bool) -> Target:  # noqa: FBT001 - one of a table
        """A struct; what no writer has is the default."""
        by_name = {f.name: f for f in reader.fields}
        written: dict[str, list[Node]] = {}
        for writer in writers:
            sources = record_sources(writer, reader)
            for source in writer.fields:
                if source.name in sources:
                    written.setdefault(sources[source.name].name, []).append(source.node)
        parts: dict[str | int, Target] = {}
        children = []
        for child in column.type:
            found, nodes = by_name.get(child.name), written.get(child.name, [])
            if found is None or (writers and not nodes):
                children.append(Slots(child.type, constant=self._missing(found, child)))
                continue
            try:
                parts[child.name] = self.target(nodes, found.node, child)
            except Incompatible as e:
                raise e.inside(child.name) from None
            children.append(parts[child.name].slots)
        return Target(reader, column, Slots(column.type, valid=nullable, children=tuple(children)), parts)

    def _missing(self, found: Field | None, column: pa.Field) -> pa.Array:
        """The one value of a field that no writer has; without a default nothing reads it."""
        if found is None and not self.missing_is_null:
            raise Incompatible("the schema has no such field").inside(column.name)
        return pa.nulls(1, column.type) if found is None or found.default is NO_DEFAULT else default_array(found, column)

    def _list(self, writers: Sequence[Node], reader: Node, column: pa.Field, nullable: bool) -> Target:  # noqa: FBT001 - one of a table
        """A list, or a map, which is a list with keys."""
        items = [w.item for w in writers]
        if reader.kind == "map":
            item = self.target(items, reader.item, column.type.item_field)
            children = (Slots(pa.string(), valid=False), item.slots)
            return Target(reader, column, Slots(column.type, valid=nullable, children=children), {"item": item})
        item = self.target(items, reader.item, column.type.value_field)
        large = kinds.is_large_list(column.type)
        kind = pa.list_(column.type.value_field) if large else column.type
        slots = Slots(kind, valid=nullable, children=(item.slots,), finish=_cast(column.type) if large else None)
        return Target(reader, column, slots, {"item": item})

    def _enum(self, _writers: Sequence[Node], reader: Node, column: pa.Field, nullable: bool) -> Target:  # noqa: FBT001 - one of a table
        """Numbers of symbols."""
        if kinds.is_int32(column.type):
            return Target(reader, column, Slots(column.type, valid=nullable))
        kind = pa.dictionary(pa.int32(), pa.string())
        symbols = pa.array(reader.symbols, pa.string())
        finish = None if column.type == kind else _cast(column.type)
        return Target(reader, column, Slots(kind, valid=nullable, symbols=symbols, finish=finish))


def default_array(found: Field, column_: pa.Field) -> pa.Array:
    """The default of a field as an array of one value. Raises SchemaError where it does not fit."""
    try:
        value = Resolver().read(found.node, found.node, column_)(Cursor(encode_default(found.node, found.default)))
    except (SchemaError, BadValue) as e:
        raise SchemaError(f"field '{found.name}': {e}") from None
    return assemble(column(column_, found.node), [value])


def stored(reader: Node, column: pa.Field) -> tuple[pa.DataType, Callable[[pa.Array], pa.Array] | None]:
    """The type that the kernel stores a value of ``reader`` in, and what makes the column's type of it."""
    kind, logical = column.type, reader.logical
    if reader.kind == "null":
        return pa.null(), None if kinds.is_null(kind) else _nulls(kind)
    if logical is not None and logical.kind == "decimal":
        storage = (pa.decimal128 if logical.precision <= _DECIMAL128 else pa.decimal256)(logical.precision, logical.scale)
    elif logical is not None and not (logical.kind == "uuid" and kinds.is_string(kind)):
        storage = kind
    elif reader.kind in {"int", "long"}:
        storage = (pa.int32() if reader.kind == "int" else pa.int64()) if kinds.is_decimal(kind) else kind
    elif reader.kind == "fixed":
        storage = pa.binary(reader.size)
    else:
        storage = _PLAIN[reader.kind]
    return storage, None if storage == kind else _cast(kind)


_PLAIN: Final = {
    "boolean": pa.bool_(),
    "float": pa.float32(),
    "double": pa.float64(),
    "bytes": pa.binary(),
    "string": pa.string(),
}


def _cast(kind: pa.DataType) -> Callable[[pa.Array], pa.Array]:
    """A lossless change of type."""
    return lambda array: array.cast(kind)


def _nulls(kind: pa.DataType) -> Callable[[pa.Array], pa.Array]:
    """NULLs of a type."""
    return lambda array: pa.nulls(len(array), kind)


def _as_text(read: Read, kind: pa.DataType, author: Node, on_text: Callable[[str], None] | None) -> Callable[[pa.Array], pa.Array]:
    """Kept bytes as JSON text."""

    def text(raw: bytes) -> Any:  # noqa: ANN401 - text, or None
        try:
            found = read(Cursor(raw))
        except (BadValue, IndexError, RecursionError) as e:
            raise TextFault(str(e)) from e
        if found is not None and on_text is not None:
            on_text(author.branches[read_long(Cursor(raw))].label if author.kind == "union" else author.label)
        return found

    return lambda array: pa.array([None if raw is None else text(raw) for raw in array.to_pylist()], kind)
