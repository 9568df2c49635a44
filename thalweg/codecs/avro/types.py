"""Avro types to Arrow fields: what each becomes when nobody declares otherwise, and where the depth limit cuts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa
import pyarrow.types as kinds

from thalweg.arrow.columns import JSON_TEXT, UUID, Column, column_of
from thalweg.codecs.avro.schema import Node, SchemaError
from thalweg.ports.depth import MAX_COLUMNS

_DECIMAL128: Final = 38
_DECIMAL256: Final = 76
_PLAIN: Final = {
    "null": pa.null(),
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "bytes": pa.binary(),
    "string": pa.string(),
    "enum": pa.dictionary(pa.int32(), pa.string()),
}


class TooLarge(SchemaError):
    """More columns than are kept, because of records inside themselves: fewer levels are fewer columns."""


@dataclass(slots=True)
class Unfolding:
    """How a schema unfolds into columns; collects what was cut."""

    max_depth: int
    union: str
    """``dense`` or ``struct``."""
    cuts: list[str] = field(default_factory=list)
    """One line for each record that is left as JSON text."""
    columns: int = 0

    def arrow_field(self, name: str, node: Node, path: tuple[Node, ...] = (), where: str = "") -> pa.Field:
        """The nullable field that ``node`` becomes; ``path`` holds the records around it. Raises SchemaError."""
        self.columns += 1
        where = f"{where}.{name}" if where else name
        if self.columns > MAX_COLUMNS:
            cycle = _cycle(path)
            raise (TooLarge if cycle or self.cuts else SchemaError)(_too_many(cycle, self.max_depth))
        if node.kind == "record":
            if len(path) >= self.max_depth:
                self.cuts.append(f"'{where}': record {node.name} lies deeper than 'decode.max_depth' ({self.max_depth}) and becomes JSON text")
                return pa.field(name, pa.string(), metadata=JSON_TEXT)
            inside = (*path, node)
            return pa.field(name, pa.struct([self.arrow_field(f.name, f.node, inside, where) for f in node.fields]))
        if node.kind == "array":
            return pa.field(name, pa.list_(self.arrow_field("item", node.item, path, where)))
        if node.kind == "map":
            return pa.field(name, pa.map_(pa.string(), self.arrow_field("value", node.item, path, where)))
        if node.kind == "union":
            return self._union(name, node, path, where)
        return pa.field(name, _scalar(node, where), metadata=UUID if node.logical and node.logical.kind == "uuid" else None)

    def _union(self, name: str, node: Node, path: tuple[Node, ...], where: str) -> pa.Field:
        """``[null, T]`` is T; other unions are dense unions, or structs with one field a branch."""
        values = [b for b in node.branches if b.kind != "null"]
        if len(values) <= 1:
            inner = values[0] if values else node.branches[0]
            self.columns -= 1  # it is the same column
            return self.arrow_field(name, inner, path, where.rpartition(".")[0])
        names = branch_names(node)
        if self.union == "struct":
            children = [self.arrow_field(n, b, path, where) for n, b in zip(names, node.branches, strict=True) if b.kind != "null"]
            return pa.field(name, pa.struct(children))
        children = [self.arrow_field(n, b, path, where) for n, b in zip(names, node.branches, strict=True)]
        return pa.field(name, pa.dense_union(children))


def branch_names(node: Node) -> list[str]:
    """What the branches of a union are called: without namespace where that is enough to tell them apart."""
    short = [b.label.rpartition(".")[2] for b in node.branches]
    return [s if short.count(s) == 1 else b.label for s, b in zip(short, node.branches, strict=True)]


def column(found: pa.Field, node: Node) -> Column:
    """How a field is assembled from values of ``node``: enums get the reader's symbols."""
    kind = found.type
    if node.kind == "union":
        return _union_column(found, node)
    if kinds.is_dictionary(kind) and node.kind == "enum":
        return Column(kind, symbols=pa.array(node.symbols, kind.value_type))
    if kinds.is_struct(kind) and node.kind == "record":
        by_name = {f.name: f.node for f in node.fields}
        return Column(kind, tuple(column(f, by_name[f.name]) if f.name in by_name else column_of(f.type) for f in kind))
    if kinds.is_map(kind) and node.kind == "map":
        return Column(kind, (column_of(kind.key_type), column(kind.item_field, node.item)))
    if kinds.is_list(kind) and node.kind == "array":
        return Column(kind, (column(kind.value_field, node.item),))
    return column_of(kind)


def _union_column(found: pa.Field, node: Node) -> Column:
    """The children of a union's field, by branch name."""
    values = [b for b in node.branches if b.kind != "null"]
    if len(values) <= 1:
        return column(found, values[0] if values else node.branches[0])
    if not (kinds.is_union(found.type) or kinds.is_struct(found.type)):
        return column_of(found.type)
    by_name = dict(zip(branch_names(node), node.branches, strict=True))
    children = [found.type.field(i) for i in range(found.type.num_fields)]
    return Column(found.type, tuple(column(c, by_name[c.name]) if c.name in by_name else column_of(c.type) for c in children))


def _scalar(node: Node, where: str) -> pa.DataType:
    """The Arrow type of a type without parts."""
    logical = node.logical
    if logical is None:
        return pa.binary(node.size) if node.kind == "fixed" else _PLAIN[node.kind]
    if logical.kind == "decimal":
        if logical.precision > _DECIMAL256:
            raise SchemaError(f"field '{where}': a decimal of {logical.precision} digits is more than Arrow's {_DECIMAL256}")
        make = pa.decimal128 if logical.precision <= _DECIMAL128 else pa.decimal256
        return make(logical.precision, logical.scale)
    if logical.kind == "time":
        return pa.time32("ms") if logical.unit == "ms" else pa.time64(logical.unit)
    if logical.kind == "timestamp":
        return pa.timestamp(logical.unit, "UTC" if logical.zoned else None)
    return {"uuid": pa.binary(16), "date": pa.date32(), "duration": pa.month_day_nano_interval()}[logical.kind]


def _cycle(path: tuple[Node, ...]) -> str:
    """The first record that lies inside itself and the way to it; empty where there is none."""
    seen: list[Node] = []
    for node in path:
        if node in seen:
            return " -> ".join(n.name for n in [*seen[seen.index(node) :], node])
        seen.append(node)
    return ""


def _too_many(cycle: str, max_depth: int) -> str:
    """The message for a schema that unfolds too far: the cycle where there is one, else the size."""
    if not cycle:
        return f"the schema unfolds to more than {MAX_COLUMNS} columns; declare the ones you need"
    way_out = f"lower 'decode.max_depth' (now {max_depth}) or declare the columns"
    return f"the schema is recursive ({cycle}) and unfolds to more than {MAX_COLUMNS} columns; {way_out}"
