"""The columns of an Avro table: from the reader's schema, or declared and checked against it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from thalweg.arrow.columns import Column, column_of
from thalweg.codecs.avro.any_writer import refuse_strays
from thalweg.codecs.avro.match import Incompatible
from thalweg.codecs.avro.resolve import Resolver
from thalweg.codecs.avro.schema import Node, SchemaError, parse, parse_registered
from thalweg.codecs.avro.types import TooLarge, Unfolding, column
from thalweg.errors import SchemaUnknown, UserError
from thalweg.ports.codec import subject_of
from thalweg.ports.depth import deepest, told
from thalweg.ports.schemas import newest

if TYPE_CHECKING:
    from thalweg.ports.codec import DecodeRequest
    from thalweg.ports.schemas import SchemaRegistry

VALUE: Final = "value"
"""The one column of a schema whose root is no record."""
CONTAINER: Final = "avro-container"
"""The format of container files' records: each names the schema of its file's header."""
SINGLE: Final = "avro-single-object"
"""The format whose records name their schemas by fingerprint."""
_NEEDS: Final = "option '{}' is missing: format '{}' needs {}"


@dataclass(frozen=True, slots=True)
class Table:
    """What a decoder needs to know about its columns."""

    schema: pa.Schema
    columns: tuple[Column, ...]
    reader: Node | None
    """None: each writer's schema is read by the declared columns alone."""
    declared: bool
    cuts: tuple[str, ...] = ()

    @property
    def root(self) -> pa.Field:
        """What the root of a datum becomes: a struct of the columns, or the one column."""
        if self.reader is None or record_root(self.reader) is not None:
            return pa.field("", pa.struct(list(self.schema)))
        return self.schema.field(0)

    @property
    def flat(self) -> bool:
        """Whether the fields of the root are the columns."""
        return self.reader is None or record_root(self.reader) is not None


def record_root(node: Node) -> Node | None:
    """The record whose fields are the columns: the root, or the one that is not null in a nullable root."""
    inner = [b for b in node.branches if b.kind != "null"] if node.kind == "union" else [node]
    return inner[0] if len(inner) == 1 and inner[0].kind == "record" else None


def table_of(request: DecodeRequest, registry: SchemaRegistry | None) -> Table | None:
    """The table's columns, None where they lie in a registry that was not given.

    Raises UserError naming the option or column, SchemaUnknown and SchemaUnavailable from the registry.
    """
    declared = request.declared if request.declared is not None and len(request.declared) else None
    try:
        if declared is not None and _by_declaration(request, registry):
            if request.format == SINGLE and registry is not None:
                refuse_strays(declared, registry.schemas())
            return _by_each_writer(declared)
        reader = reader_schema(request, registry)
        if reader is None:
            return None
        refuse_reserved(reader, request.metadata_prefix)
        return _unfolded(request, reader) if declared is None else _declared(reader, declared)
    except SchemaError as e:
        raise UserError(f"the Avro schema cannot be read: {e}") from None


def undeclared(request: DecodeRequest) -> Table | None:
    """The table of declared columns alone, for topics that have no subject of their own; None where that does not apply."""
    if request.format in {"avro", SINGLE, CONTAINER} or subject_of(request) is not None or request.options.reader_schema is not None:
        return None
    _need_url(request)
    if request.declared is None or not len(request.declared):
        message = _NEEDS.format("avro-confluent.subject", request.format, "it where the topic is a pattern")
        raise UserError(message, hint="name the subject whose schema gives the columns, or declare the columns")
    return _by_each_writer(request.declared)


def _header_schema(given: str | None, registry: SchemaRegistry | None) -> Node | None:
    """The schema that the table names, else the last file's."""
    if given is not None:
        return parse(given)
    return None if registry is None else parse_registered(registry.latest(""))


def _by_each_writer(declared: pa.Schema) -> Table:
    """The declared columns alone."""
    return Table(declared, tuple(column_of(f.type) for f in declared), None, declared=True)


def _by_declaration(request: DecodeRequest, registry: SchemaRegistry | None) -> bool:
    """Whether the declared columns are all that is known of the table: a location without files, a folder with several schemas."""
    options = request.options
    if request.format not in {SINGLE, CONTAINER} or options.schema is not None or registry is None:
        return False
    if request.format == SINGLE:
        return options.schema_file is None
    try:
        registry.latest("")
    except SchemaUnknown:
        return True
    return False


def _single_schema(request: DecodeRequest, registry: SchemaRegistry | None) -> Node:
    """The reader's schema of single objects: the one that is named, else the only one in the folder."""
    options = request.options
    if options.schema is not None:
        return parse(options.schema)
    if registry is None:
        message = _NEEDS.format("avro.schema", request.format, "the writers' schemas")
        raise UserError(message, hint="give 'avro.schema', 'avro.schema-file' or 'avro.schema-folder'")
    if options.schema_folder is None or options.schema_file is not None:
        return parse_registered(registry.latest(PurePath(options.schema_file).stem if options.schema_folder else options.schema_file))
    found = [schema for schema in registry.schemas() if schema.kind == "AVRO"]
    if len(found) != 1:
        names = ", ".join(str(schema.id) for schema in found[:12]) or "none"
        message = f"'avro.schema-folder' holds {len(found)} Avro schemas, and one of them must give the columns"
        raise UserError(message, hint=f"name it with 'avro.schema-file', or declare the columns; there are: {names}")
    return parse_registered(found[0])


def reader_schema(request: DecodeRequest, registry: SchemaRegistry | None) -> Node | None:
    """The reader's schema: from an option, else from the registry."""
    options = request.options
    if request.format == "avro":
        if options.schema is not None:
            return parse(options.schema)
        if options.schema_file is None:
            message = _NEEDS.format("avro.schema", request.format, "the writer's schema")
            raise UserError(message, hint="give 'avro.schema' or 'avro.schema-file', or use format 'avro-confluent'")
        return None if registry is None else parse_registered(registry.latest(options.schema_file))
    if request.format in {SINGLE, CONTAINER}:
        return _single_schema(request, registry) if request.format == SINGLE else _header_schema(options.schema, registry)
    _need_url(request)
    if options.reader_schema is not None:
        return parse(options.reader_schema)
    if registry is None:
        return None
    subject = subject_of(request)
    assert subject is not None
    return parse_registered(newest(registry, subject, "AVRO", shown="Avro", hint="set 'avro-confluent.subject', or register the schema first"))


def _need_url(request: DecodeRequest) -> None:
    """Framed data needs a registry."""
    if request.options.url is None:
        message = _NEEDS.format("avro-confluent.url", request.format, "a schema registry")
        raise UserError(message, hint="for example 'avro-confluent.url' 'http://localhost:8081'")


def refuse_reserved(node: Node, prefix: str) -> None:
    """Refuse a schema with a top-level field under the metadata prefix."""
    root = record_root(node)
    for field in root.fields if root is not None else ():
        if field.name.startswith(prefix):
            raise ReservedName(field.name, prefix)


class ReservedName(UserError):
    """A field whose name is kept for metadata columns."""

    def __init__(self, name: str, prefix: str) -> None:
        """Name the field."""
        super().__init__(f"field '{name}' of the schema begins with '{prefix}', which is kept for metadata columns")
        self.name = name


def _unfolded(request: DecodeRequest, reader: Node) -> Table:
    """Every field of the reader's schema, as it is."""
    wanted = request.options.max_depth
    fields, unfolding = deepest(lambda depth: _fields(reader, Unfolding(depth, request.options.union)), wanted, TooLarge)
    root = record_root(reader)
    nodes = [reader] if root is None else [f.node for f in root.fields]
    columns = tuple(column(f, n) for f, n in zip(fields, nodes, strict=True))
    table = Table(pa.schema(fields), columns, reader, declared=False, cuts=told(unfolding.cuts, unfolding.max_depth, wanted))
    _check(table)
    return table


def _fields(reader: Node, unfolding: Unfolding) -> tuple[list[pa.Field], Unfolding]:
    """The columns that an unfolding makes, and the unfolding. Raises SchemaError."""
    root = record_root(reader)
    if root is None:
        return [unfolding.arrow_field(VALUE, reader)], unfolding
    return [unfolding.arrow_field(f.name, f.node, (root,)) for f in root.fields], unfolding


def _declared(reader: Node, declared: pa.Schema) -> Table:
    """The declared columns, each checked against the reader's schema."""
    root = record_root(reader)
    if root is None and declared.names != [VALUE]:
        raise UserError(f"the schema's root is {reader.label}, no record: declare its one column as '{VALUE}'")
    by_name = {VALUE: reader} if root is None else {f.name: f.node for f in root.fields}
    columns = tuple(column(f, by_name[f.name]) if f.name in by_name else column_of(f.type) for f in declared)
    table = Table(declared, columns, reader, declared=True)
    try:
        _check(table)
    except Incompatible as e:
        raise UserError(f"column '{e.where or VALUE}': {e.message}") from None
    return table


def _check(table: Table) -> None:
    """Resolve the reader's schema with itself: every column must be readable, every default must fit."""
    assert table.reader is not None
    Resolver(strict=True, declared=table.declared).read(table.reader, table.reader, table.root)
