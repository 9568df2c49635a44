"""Avro payloads to columns: find each payload's schema, read it by the table's, in order, one bad row at a time."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from thalweg.arrow.rows import FRAMING, LIMIT, MALFORMED, RESERVED, SCHEMA_UNKNOWN, TYPE, BadValue, RowCollector, bytes_left
from thalweg.arrow.schema_header import header_name, header_values
from thalweg.codecs.avro.framing import CONFLUENT, Framing, from_header, looks_like
from thalweg.codecs.avro.match import Incompatible
from thalweg.codecs.avro.resolve import Resolver
from thalweg.codecs.avro.schema import Node, SchemaError, parse_registered
from thalweg.codecs.avro.split import Blocks
from thalweg.codecs.avro.table import ReservedName, Table, refuse_reserved
from thalweg.codecs.avro.wire import Cursor, Read
from thalweg.errors import SchemaUnknown
from thalweg.ports.codec import Decoder

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    import pyarrow as pa

    from thalweg.arrow.batch import Decoded
    from thalweg.ports.schemas import SchemaRegistry


class AvroDecoder(Decoder):
    """Reads plain data by one schema, or framed data by the schema that each payload names."""

    def __init__(
        self, table: Table, prefix: str, registry: SchemaRegistry | None, *, framing: Framing = CONFLUENT, is_key: bool = False,
        wanted: Collection[str] | None = None,
    ) -> None:  # fmt: skip
        """``registry`` None: the payloads are plain data, written by the table's own schema. ``wanted``: the columns whose cuts count."""
        self.framing = framing
        self._table = table
        self._prefix = prefix
        self._registry = registry
        self._header = header_name(is_key=is_key)
        unread = frozenset() if wanted is None else frozenset(table.schema.names) - frozenset(wanted)
        self._resolver = Resolver(missing_is_null=table.reader is None, declared=table.declared, unread=unread)
        self._cut: Counter[str] = Counter()
        self._readers: dict[int | str, Read | BadValue] = {}
        self._plain = None if table.reader is None else self._resolver.read(table.reader, table.reader, table.root)
        self._blocks = Blocks()
        self._nothing = (None,) * len(table.schema)

    @property
    def schema(self) -> pa.Schema:
        """The table's columns."""
        return self._table.schema

    @property
    def registry(self) -> SchemaRegistry | None:
        """Where writers' schemas are; None for plain data."""
        return self._registry

    @property
    def table(self) -> Table:
        """The table's columns and where they come from."""
        return self._table

    @property
    def name(self) -> str:
        """The record, or another named type at the schema's root."""
        return self._table.reader.name if self._table.reader is not None else ""

    @property
    def blocks(self) -> Blocks:
        """Finds the records in a container's blocks."""
        return self._blocks

    @property
    def notices(self) -> tuple[str, ...]:
        """The records that lie too deep."""
        return self._table.cuts

    @property
    def fallbacks(self) -> Mapping[str, int]:
        """How often each of them was written as text, in good rows."""
        return dict(self._cut)

    def decode(self, payloads: pa.BinaryArray, headers: pa.ListArray | None) -> Decoded:
        """Decode each payload by the schema that it names."""
        rows = RowCollector(self._table.schema, self._table.columns)
        named = header_values(headers, self._header) if self._registry is not None and self.framing.headers else None
        unknown: dict[int | str, BadValue] = {}
        for row, payload in enumerate(payloads.to_pylist()):
            try:
                read, start = self._reader(payload, named[row] if named else None, unknown)
                self._resolver.texts.clear()
                value = _datum(read, Cursor(payload, start))
            except BadValue as e:
                rows.reject(row, e if self._registry is not None else _hinted(e, payload))
                continue
            if self._resolver.texts:
                self._cut.update(self._resolver.texts)
            if self._table.flat:
                rows.add(row, self._nothing if value is None else value)
            else:
                rows.add(row, (value,))
        return rows.finish()

    def _reader(self, payload: bytes, header: bytes | None, unknown: dict[int | str, BadValue]) -> tuple[Read, int]:
        """What reads a payload, and where its datum begins."""
        if self._registry is None:
            assert self._plain is not None
            return self._plain, 0
        if header is not None:
            schema_id, start = from_header(header, self._header), 0
        else:
            schema_id, start = self.framing.schema_id(payload), self.framing.size
        found = self._readers.get(schema_id) or unknown.get(schema_id)
        if found is None:
            try:
                found = self._readers[schema_id] = self._resolve(schema_id, self._registry)
            except SchemaUnknown as e:
                found = unknown[schema_id] = BadValue(SCHEMA_UNKNOWN, e.message)
        if isinstance(found, BadValue):
            raise BadValue(found.code, found.message)
        return found, start

    def _resolve(self, schema_id: int | str, registry: SchemaRegistry) -> Read | BadValue:
        """What reads payloads of one writer's schema, or why none of them can be read; asked once."""
        registered = registry.by_id(schema_id)
        if registered.kind != "AVRO":
            return BadValue(FRAMING, f"schema {schema_id} is {registered.kind}, not Avro")
        try:
            writer: Node = parse_registered(registered)
            refuse_reserved(writer, self._prefix)
            return self._resolver.read(writer, self._table.reader or writer, self._table.root)
        except ReservedName as e:
            bad = BadValue(RESERVED, f"schema {schema_id}: {e.message}")
        except SchemaError as e:
            bad = BadValue(SCHEMA_UNKNOWN, f"schema {schema_id} cannot be read: {e}")
        except Incompatible as e:
            where = f"field '{e.where}': " if e.where else ""
            bad = BadValue(TYPE, f"schema {schema_id} does not resolve to the table's columns: {where}{e.message}")
        return bad


def _hinted(bad: BadValue, payload: bytes) -> BadValue:
    """The verdict on plain data, with what the payload looks like where it may not be plain."""
    looks = looks_like(payload)
    if bad.code == MALFORMED and looks:
        bad.message += f" (the payload looks like {looks})"
    return bad


def _datum(read: Read, c: Cursor) -> Any:  # noqa: ANN401 - whatever the column stores
    """One datum, which must take the whole payload."""
    try:
        value = read(c)
    except IndexError:
        raise BadValue(MALFORMED, "the payload ends too early") from None
    except RecursionError:
        raise BadValue(LIMIT, "nested too deep") from None
    if c.left:
        raise BadValue(MALFORMED, f"{bytes_left(c.left)} after the datum")
    return value
