"""A schema and the columns of a batch to the program of the encode kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.types as kinds

from thalweg.arrow.columns import TYPE_KEY
from thalweg.codecs.avro.defaults import encode_default
from thalweg.codecs.avro.kernel_feeds import Feed
from thalweg.codecs.avro.kernel_scalars import scalar_feed
from thalweg.codecs.avro.match import Incompatible
from thalweg.codecs.avro.schema import NO_DEFAULT, Field, Node
from thalweg.codecs.avro.table import VALUE, record_root
from thalweg.codecs.avro.types import branch_names
from thalweg.kernels import avro_encode_ops as op
from thalweg.kernels import program as p
from thalweg.kernels.arena import program_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from thalweg.kernels.memory import Bytes, Longs

_CODES: Final = 128
"""Type codes of a union are 0 to 127."""


class WriteEmitter:
    """Writes the program of one schema; ``lean`` without the checks for NULLs that batches without NULLs do not need."""

    def __init__(self, *, lean: bool = False) -> None:
        """Begin with nothing."""
        self._lean = lean
        self._rows: list[list[int]] = []
        self._aux: list[int] = []
        self._constants = bytearray()
        self._path: list[str] = []
        self._depth = 0
        self._deepest = 0
        self._numbers = 0
        self.paths: list[str] = []
        self.feeds: list[Feed] = []
        self.names: list[str] = []

    def root(self, node: Node, columns: pa.Schema, *, flat: bool) -> None:
        """The whole program: a record's fields from the columns, or the one column ``value``. Raises Incompatible."""
        if flat:
            record = record_root(node)
            assert record is not None
            if node.kind == "union":
                self._row(op.BRANCH, arg=next(i for i, b in enumerate(node.branches) if b is record))
            self.feeds = self._fields(record, {c.name: c for c in columns}, self.names)
        else:
            self.feeds = [self.value(node, columns.field(VALUE))]
            self.names = [VALUE]
        self._row(op.END)

    @property
    def program(self) -> Longs:
        """int64[m, WORDS]."""
        return program_of(self._rows)

    @property
    def aux(self) -> Longs:
        """Side tables."""
        return np.array([*self._aux, 0], np.int64)

    @property
    def constants(self) -> Bytes:
        """Defaults, encoded."""
        return np.frombuffer(bytes(self._constants) + b"\0", np.uint8).copy()

    @property
    def stack(self) -> Longs:
        """Room for every frame."""
        return np.zeros(op.FRAME * (self._deepest + 1), np.int64)

    def value(self, node: Node, column: pa.Field) -> Feed:
        """Writes the slots of a column as ``node``."""
        self._numbers += 1
        feed = Feed(self._numbers)
        if node.kind == "union":
            self._union(node, column, feed)
        else:
            self._needed(feed, node)
            self._plain(node, column, feed)
        return feed

    # -- NULLs and unions

    def _needed(self, feed: Feed, node: Node) -> None:
        """A NULL is a fault."""
        feed.needed = node.kind != "null"
        if feed.needed and not self._lean:
            self._row(op.NEEDED, feed)

    def _union(self, node: Node, column: pa.Field, feed: Feed) -> None:
        """Nullable; or a branch by a dense union's child, by a struct's field, or the first that takes the column's type."""
        null = next((i for i, b in enumerate(node.branches) if b.kind == "null"), None)
        values = [i for i, b in enumerate(node.branches) if b.kind != "null"]
        if not values:
            self._row(op.BRANCH, arg=null or 0)
        elif null is not None and len(values) == 1:
            at = self._row(op.NULLABLE, feed, arg=null)
            self._plain(node.branches[values[0]], column, feed)
            self._land(at)
        elif kinds.is_union(column.type):
            self._dense(node, column, feed, null)
        else:
            ends = [] if null is None else [self._row(op.ELSE_NULL, feed, arg=null)]
            if null is None:
                self._needed(feed, node)
            if kinds.is_struct(column.type) and column.type.num_fields and {c.name for c in column.type} <= set(branch_names(node)):
                self._choice(node, column, feed)
            else:
                self._first(node, values, column, feed)
            for end in ends:
                self._land(end)

    def _dense(self, node: Node, column: pa.Field, feed: Feed, null: int | None) -> None:
        """Each child to the branch of its name."""
        kind, places = column.type, {name: i for i, name in enumerate(branch_names(node))}
        base = len(self._aux)
        self._aux += [-1] * _CODES
        feed.kind = p.UNION
        self._row(op.UNION, feed, arg=base)
        self._deeper(1)
        ends = []
        for i, code in enumerate(kind.type_codes):
            child = kind.field(i)
            if child.name not in places:
                raise Incompatible(f"the union has no branch '{child.name}'")
            index = places[child.name]
            self._aux[base + code] = len(self._rows) * p.WORDS
            ends += self._child(node.branches[index], index, child, feed, i, null)
        for end in ends:
            self._rows[end][p.P_JUMP] = len(self._rows) * p.WORDS
        self._row(op.LEAVE)
        self._deeper(-1)

    def _child(self, branch: Node, index: int, column: pa.Field, feed: Feed, place: str | int, null: int | None) -> list[int]:
        """One child of a union or a struct of branches; the rows that jump to the end."""
        self._numbers += 1
        child = Feed(self._numbers)
        feed.children.append(child)
        feed.places.append(place)
        ends = []
        if null is not None and branch.kind != "null":
            ends.append(self._row(op.ELSE_NULL, child, arg=null))
        else:
            self._needed(child, branch)
        self._row(op.BRANCH, arg=index)
        self._plain(branch, column, child)
        return [*ends, self._row(op.JUMP)]

    def _choice(self, node: Node, column: pa.Field, feed: Feed) -> None:
        """The one field that is there."""
        places = {name: i for i, name in enumerate(branch_names(node))}
        base = len(self._aux)
        self._aux += [column.type.num_fields] + [0] * (2 * column.type.num_fields)
        feed.kind = p.STRUCT
        self._row(op.CHOICE, feed, arg=base)
        ends = []
        for i, child in enumerate(column.type):
            self._aux[base + 2 + 2 * i] = len(self._rows) * p.WORDS
            ends += self._child(node.branches[places[child.name]], places[child.name], child, feed, child.name, None)
            self._aux[base + 1 + 2 * i] = feed.children[-1].number
            feed.children[-1].needed = False
        for end in ends:
            self._rows[end][p.P_JUMP] = len(self._rows) * p.WORDS

    def _first(self, node: Node, values: list[int], column: pa.Field, feed: Feed) -> None:
        """The first branch that takes the column's type."""
        at, state = len(self._rows), (self._numbers, self._depth)
        for index in values:
            try:
                self._row(op.BRANCH, arg=index)
                self._plain(node.branches[index], column, feed)
            except Incompatible:
                del self._rows[at:], self.paths[at:]
                self._numbers, self._depth = state
                feed.children, feed.places = [], []
            else:
                return
        raise Incompatible(f"{column.type} becomes no branch of the union")

    # -- types

    def _plain(self, node: Node, column: pa.Field, feed: Feed) -> None:
        """Types that are no unions."""
        if (column.metadata or {}).get(TYPE_KEY) == b"json" and node.kind not in {"string", "bytes"}:
            self._row(op.FAIL, arg=p.TYPE)
        elif node.kind == "record":
            if not kinds.is_struct(column.type):
                raise Incompatible(f"{column.type} becomes no record")
            feed.kind = p.STRUCT
            names: list[str] = []
            feed.children = self._fields(node, {c.name: c for c in column.type}, names)
            feed.places = list(names)
        elif node.kind in {"array", "map"}:
            self._list(node, column, feed)
        elif node.kind != "null":
            self._scalar(node, column, feed)
        elif not kinds.is_null(column.type):
            raise Incompatible(f"{column.type} becomes no null")

    def _fields(self, record: Node, columns: dict[str, pa.Field], names: list[str]) -> list[Feed]:
        """Fields from the columns of their name, in the record's order; others are written as their default, or null."""
        known = {f.name for f in record.fields}
        for name in columns:
            if name not in known:
                raise Incompatible("the schema has no such field").inside(name)
        feeds = []
        for target in record.fields:
            self._path.append(target.name)
            try:
                if target.name in columns:
                    feeds.append(self.value(target.node, columns[target.name]))
                    names.append(target.name)
                else:
                    self._constant(target)
            except Incompatible as e:
                raise e.inside(target.name) from None
            finally:
                self._path.pop()
        return feeds

    def _constant(self, target: Field) -> None:
        """The bytes of a default."""
        has_null = target.node.kind == "union" and any(b.kind == "null" for b in target.node.branches)
        if target.default is NO_DEFAULT and not has_null:
            raise Incompatible("there is no such column, and the field has no default")
        begin = len(self._constants)
        self._constants += encode_default(target.node, None if target.default is NO_DEFAULT else target.default)
        self._row(op.CONSTANT, arg=begin, jump=len(self._constants))

    def _list(self, node: Node, column: pa.Field, feed: Feed) -> None:
        """All items in one block."""
        kind, is_map = column.type, node.kind == "map"
        if is_map != kinds.is_map(kind) or not (is_map or _is_list(kind)):
            raise Incompatible(f"{kind} becomes no {node.kind}")
        feed.kind = p.LIST
        item = kind.item_field if is_map else kind.value_field
        feed.prepare = None if is_map or kinds.is_list(kind) else _cast(pa.list_(item))
        begin = self._row(op.LIST, feed)
        self._deeper(1)
        if is_map:
            feed.children.append(self.value(Node("string"), kind.key_field))
            feed.places.append("key")
        feed.children.append(self.value(node.item, item))
        feed.places.append("item")
        self._row(op.LIST_END, jump=(begin + 1) * p.WORDS)
        self._deeper(-1)
        self._land(begin)

    def _scalar(self, node: Node, column: pa.Field, feed: Feed) -> None:
        """A value without parts."""
        found = scalar_feed(node, column.type)
        feed.kind, feed.width, feed.prepare = found.kind, found.width, found.prepare
        arg = found.arg
        if found.table:
            arg = len(self._aux)
            self._aux += found.table
        self._row(found.op, feed, arg=arg)

    # -- rows

    def _row(self, code: int, feed: Feed | None = None, *, arg: int = 0, jump: int = 0) -> int:
        """Append a row; returns its number."""
        row = [0] * p.WORDS
        row[p.P_OP], row[p.P_ARG], row[p.P_JUMP], row[p.P_COLUMN] = code, arg, jump, -1 if feed is None else feed.number
        self._rows.append(row)
        self.paths.append(".".join(self._path))
        return len(self._rows) - 1

    def _land(self, row: int) -> None:
        """Let a row jump to the next one."""
        self._rows[row][p.P_JUMP] = len(self._rows) * p.WORDS

    def _deeper(self, by: int) -> None:
        """Count the frames on the stack."""
        self._depth += by
        self._deepest = max(self._deepest, self._depth)


def _is_list(kind: pa.DataType) -> bool:
    """Whether it is a list of any size class."""
    return bool(kinds.is_list(kind) or kinds.is_large_list(kind) or kinds.is_fixed_size_list(kind))


def _cast(kind: pa.DataType) -> Callable[[pa.Array], pa.Array]:
    """A lossless change of type."""
    return lambda array: array.cast(kind)
