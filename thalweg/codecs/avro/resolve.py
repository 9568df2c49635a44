"""A writer's schema, a reader's schema and the columns to one function that reads a datum: Avro's schema resolution."""

from __future__ import annotations

import difflib
import json
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn

import pyarrow as pa
import pyarrow.types as kinds

from thalweg.arrow.columns import TYPE_KEY
from thalweg.arrow.rows import MALFORMED, TYPE, BadValue, bounded
from thalweg.codecs.avro.defaults import encode_default
from thalweg.codecs.avro.match import Incompatible, best_branch, readable
from thalweg.codecs.avro.scalars import read_scalar
from thalweg.codecs.avro.schema import NO_DEFAULT, Field, Node, SchemaError, min_size
from thalweg.codecs.avro.text import Walker
from thalweg.codecs.avro.types import branch_names
from thalweg.codecs.avro.wire import Cursor, Read, close_block, open_block, read_index, read_null, read_string

_NULL: Final[Read] = read_null
"""NULL, from no bytes."""


@dataclass(slots=True)
class Resolver:
    """Makes readers for the columns of one table."""

    strict: bool = False
    """Raise for a branch of a union that cannot be read, instead of when a datum takes it."""
    missing_is_null: bool = False
    """A declared field that the writer does not have is NULL: there is no reader's schema that could give a default."""
    texts: list[str] = field(default_factory=list)
    """The type of each value that was written as JSON text because it lies too deep; whoever reads rows empties it."""
    declared: bool = False
    """JSON columns were asked for, so they are not noted."""
    unread: frozenset[str] = frozenset()
    """Columns that nobody reads: what is cut in them is not noted."""
    _walker: Walker = field(default_factory=Walker)
    _records: int = 0
    """Records around the type that is being resolved."""
    _quiet: bool = False

    def read(self, writer: Node, reader: Node, column: pa.Field) -> Read:
        """Reads what ``writer`` wrote as ``reader`` into ``column``. Raises Incompatible or SchemaError."""
        if (column.metadata or {}).get(TYPE_KEY) == b"json":
            return self._text(writer, column)
        if writer.kind == "union":
            return self._any_branch([self._branch(b, reader, column) for b in writer.branches])
        if reader.kind == "union":
            return self._into_union(writer, reader, column)
        if not readable(writer, reader):
            raise Incompatible(f"written as {writer.label}, which cannot be read as {reader.label}")
        make = {"record": self._record, "enum": _enum, "array": self._array, "map": self._map}.get(reader.kind, read_scalar)
        return make(writer, reader, column)

    def _text(self, writer: Node, column: pa.Field) -> Read:
        """JSON text: of text that must be JSON already, of anything else by writing it."""
        if not (kinds.is_string(column.type) or kinds.is_large_string(column.type)):
            raise Incompatible(f"JSON is text, not {column.type}")
        if writer.kind == "null":
            return _NULL
        if writer.kind == "union":
            return self._any_branch([self._text(b, column) for b in writer.branches])
        if self.declared:
            return _checked_json if writer.kind == "string" else self._walker.text(writer)
        if self._quiet:
            return self._walker.text(writer)
        write, seen, label = self._walker.text(writer), self.texts, writer.label

        def text(c: Cursor) -> str:
            seen.append(label)
            return str(write(c))

        return text

    def _branch(self, writer: Node, reader: Node, column: pa.Field) -> Read:
        """One branch of a writer's union; what cannot be read fails when a datum takes it."""
        try:
            return self.read(writer, reader, column)
        except Incompatible as e:
            if self.strict:
                raise
            message = f"{e.where}: {e.message}" if e.where else e.message
            return lambda _c: _fail(message)

    def _any_branch(self, branches: list[Read]) -> Read:
        """Reads the branch that the datum names."""
        if len(branches) == 2 and _NULL in branches:  # noqa: PLR2004 - the nullable type
            return _nullable(branches.index(_NULL), branches[1 - branches.index(_NULL)])
        return lambda c: branches[read_index(c, len(branches), "branch")](c)

    def _into_union(self, writer: Node, reader: Node, column: pa.Field) -> Read:
        """A value for one branch of the reader's union: nullable, a dense union, or a struct with one field a branch."""
        index = best_branch(writer, reader)
        if index is None:
            raise Incompatible(f"written as {writer.label}, which no branch of the union reads")
        branch = reader.branches[index]
        if sum(b.kind != "null" for b in reader.branches) <= 1:
            return _NULL if branch.kind == "null" else self.read(writer, branch, column)
        kind = column.type
        names = [kind.field(i).name for i in range(kind.num_fields)] if kinds.is_nested(kind) else []
        wanted = branch_names(reader)
        if kinds.is_union(kind) and names == wanted:
            read = self.read(writer, branch, kind.field(index))
            return lambda c: (index, read(c))
        if not kinds.is_struct(kind) or any(n not in names for n, b in zip(wanted, reader.branches, strict=True) if b.kind != "null"):
            raise Incompatible(f"a union of {', '.join(wanted)} becomes ROW with a field for each branch, or JSON")
        if branch.kind == "null":
            return _NULL
        place, size = names.index(wanted[index]), len(names)
        read = self.read(writer, branch, kind.field(place))
        return lambda c: (None,) * place + (read(c),) + (None,) * (size - place - 1)

    def _record(self, writer: Node, reader: Node, column: pa.Field) -> Read:
        """Fields in the writer's order into the places of the columns; what no column holds is passed over."""
        if not kinds.is_struct(column.type):
            raise Incompatible(f"record {reader.name} becomes ROW or JSON, not {column.type}")
        children = list(column.type)
        places = {child.name: at for at, child in enumerate(children)}
        by_name = {f.name: f for f in reader.fields}
        self._refuse_unknown(places, by_name)
        values: list[Any] = [None] * (len(children) + 1)
        sources = _sources(writer, reader)
        steps: list[tuple[int, str, Read]] = []
        for written in writer.fields:
            target = sources.get(written.name)
            if target is None or target.name not in places:
                steps.append((len(children), written.name, self._walker.skip(written.node)))
                continue
            at = places[target.name]
            try:
                steps.append((at, target.name, self._field(written.node, target.node, children[at])))
            except Incompatible as e:
                raise e.inside(target.name) from None
        taken = {f.name for f in sources.values()}
        for name, at in places.items():
            if name in by_name and name not in taken:
                values[at] = self._default(by_name[name], children[at])
        return _record_reader(steps, values)

    def _field(self, writer: Node, reader: Node, column: pa.Field) -> Read:
        """Reads one field of a record; the fields of the outermost one are the table's columns."""
        before = self._quiet
        self._quiet = before or (not self._records and column.name in self.unread)
        self._records += 1
        try:
            return self.read(writer, reader, column)
        finally:
            self._records, self._quiet = self._records - 1, before

    def _refuse_unknown(self, places: dict[str, int], by_name: dict[str, Field]) -> None:
        """Refuse a declared field that the reader's schema does not have."""
        for name in places:
            if name in by_name or self.missing_is_null:
                continue
            near = difflib.get_close_matches(name, by_name, n=1) or [n for n in by_name if n.lower() == name.lower()]
            mean = f"; did you mean '{near[0]}'?" if near else f"; there are: {bounded(', '.join(by_name))}"
            raise Incompatible(f"the schema has no such field{mean}").inside(name)

    def _default(self, target: Field, column: pa.Field) -> Any:  # noqa: ANN401 - whatever the column stores
        """The value of a field that the writer does not have."""
        if target.default is NO_DEFAULT:
            raise Incompatible("the writer does not have it and it has no default").inside(target.name)
        try:
            data = encode_default(target.node, target.default)
            return self.read(target.node, target.node, column)(Cursor(data))
        except (SchemaError, BadValue) as e:
            raise SchemaError(f"field '{target.name}': {e}") from None

    def _array(self, writer: Node, reader: Node, column: pa.Field) -> Read:
        """Items in the order of the blocks."""
        if not (kinds.is_list(column.type) or kinds.is_large_list(column.type)):
            raise Incompatible(f"an array becomes ARRAY or JSON, not {column.type}")
        item, least = self.read(writer.item, reader.item, column.type.value_field), min_size(writer.item)

        def read(c: Cursor) -> list[Any]:
            out: list[Any] = []
            while count := open_block(c, least):
                stop = c.stop
                try:
                    for _ in range(count):
                        out.append(item(c))  # noqa: PERF401 - the error names the item
                except BadValue as e:
                    raise e.inside(len(out)) from None
                close_block(c, stop)
            return out

        return read

    def _map(self, writer: Node, reader: Node, column: pa.Field) -> Read:
        """Entries in order; the last of several equal keys wins."""
        if not (kinds.is_map(column.type) and kinds.is_string(column.type.key_type)):
            raise Incompatible(f"a map becomes MAP<STRING, ...> or JSON, not {column.type}")
        item, least = self.read(writer.item, reader.item, column.type.item_field), min_size(writer.item) + 1

        def read(c: Cursor) -> list[tuple[str, Any]]:
            out: dict[str, Any] = {}
            while count := open_block(c, least):
                stop = c.stop
                for _ in range(count):
                    key = read_string(c)
                    try:
                        out[key] = item(c)
                    except BadValue as e:
                        raise e.inside(key) from None
                close_block(c, stop)
            return list(out.items())

        return read


def _nullable(null: int, other: Read) -> Read:
    """A union of null, which is branch ``null``, and one type."""
    null_byte, other_byte = null << 1, (1 - null) << 1

    def read(c: Cursor) -> Any:  # noqa: ANN401 - whatever the column stores
        pos = c.pos
        byte = c.data[pos]
        if byte == other_byte:
            c.pos = pos + 1
            return other(c)
        if byte == null_byte:
            c.pos = pos + 1
            return None
        return other(c) if read_index(c, 2, "branch") != null else None

    return read


def _fail(message: str) -> NoReturn:
    """What a branch does that the reader's schema cannot take."""
    raise BadValue(TYPE, message)


def _checked_json(c: Cursor) -> str:
    """A string that must be JSON."""
    text = read_string(c)
    try:
        json.loads(text, parse_constant=lambda name: _fail(f"{name} is no JSON value"), parse_int=str, parse_float=str)
    except (json.JSONDecodeError, RecursionError) as e:
        raise BadValue(TYPE, f"the text is no JSON: {e}") from None
    return text


def _sources(writer: Node, reader: Node) -> dict[str, Field]:
    """Writer's field name to the reader's field that takes it: by name, then by the reader's aliases."""
    written = {f.name for f in writer.fields}
    out = {f.name: f for f in reader.fields if f.name in written}
    for target in reader.fields:
        if target.name not in written:
            for alias in target.aliases:
                if alias in written and alias not in out:
                    out[alias] = target
                    break
    return out


def _record_reader(steps: list[tuple[int, str, Read]], values: list[Any]) -> Read:
    """Reads the steps in order into a copy of ``values``, whose last place takes what nobody wants."""

    def read(c: Cursor) -> tuple[Any, ...]:
        out = values.copy()
        name = ""
        try:
            for at, name, step in steps:  # noqa: B007 - names the field in the error
                out[at] = step(c)
        except BadValue as e:
            raise e.inside(name) from None
        except IndexError:
            raise BadValue(MALFORMED, "the payload ends inside").inside(name) from None
        out.pop()
        return tuple(out)

    return read


def _enum(writer: Node, reader: Node, column: pa.Field) -> Read:
    """A symbol's number in the reader's list, or its text where the column is text."""
    is_text = kinds.is_string(column.type) or kinds.is_large_string(column.type)
    if not (is_text or (kinds.is_dictionary(column.type) and kinds.is_string(column.type.value_type))):
        raise Incompatible(f"an enum becomes STRING or JSON, not {column.type}")
    known = {s: s if is_text else i for i, s in enumerate(reader.symbols)}
    other = None if reader.default is None else known[reader.default]
    table = [known.get(s, other) for s in writer.symbols]

    def read(c: Cursor) -> Any:  # noqa: ANN401 - a number or text
        index = read_index(c, len(table), "symbol")
        value = table[index]
        if value is None:
            raise BadValue(TYPE, f"symbol '{bounded(writer.symbols[index])}' is not among the reader's symbols")
        return value

    return read
