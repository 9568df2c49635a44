"""Protobuf payloads to columns: find the schema that each was written with, read it by the table's, one bad row at a time."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from thalweg.arrow.rows import FRAMING, SCHEMA_UNKNOWN, TYPE, BadValue, RowCollector
from thalweg.arrow.schema_header import header_name, header_values
from thalweg.codecs.protobuf.declared import Incompatible, conform
from thalweg.codecs.protobuf.descriptors import DescriptorError, MessageSet, messages_of
from thalweg.codecs.protobuf.forms import Forms
from thalweg.codecs.protobuf.framing import Named, from_header, from_prefix
from thalweg.codecs.protobuf.oracle import Parser
from thalweg.codecs.protobuf.stored import Storing, assembled
from thalweg.codecs.protobuf.writers import check_writer
from thalweg.errors import SchemaUnknown
from thalweg.ports.codec import Decoder

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    import pyarrow as pa
    from google.protobuf.descriptor import Descriptor

    from thalweg.arrow.batch import Decoded
    from thalweg.codecs.protobuf.framing import Place
    from thalweg.codecs.protobuf.named import Naming
    from thalweg.codecs.protobuf.table import Table
    from thalweg.ports.schemas import SchemaRegistry

_MOST_KNOWN: Final = 10_000
"""Messages of schemas that are kept in mind; broken framing may name any number of them."""


class ProtobufDecoder(Decoder):
    """Reads payloads by the table's message; of framed ones it checks that their schema wrote that message."""

    def __init__(
        self, table: Table, registry: SchemaRegistry | None, *, is_key: bool = False, naming: Naming | None = None,
        wanted: Collection[str] | None = None,
    ) -> None:  # fmt: skip
        """``registry`` None: the payloads have no framing; ``naming`` None: it is Confluent's; ``wanted``: the columns whose cuts count."""
        self.table, self.naming = table, naming
        self._header = header_name(is_key=is_key)
        self._writers = None if registry is None else Writers(table, registry)
        self._parser = Parser(table.form, table.max_items)
        self._storing = Storing()
        self._store = self._storing.root(table.shapes, wanted)
        self._columns = [assembled(s) for s in table.shapes]

    @property
    def schema(self) -> pa.Schema:
        """The table's columns."""
        return self.table.schema

    @property
    def name(self) -> str:
        """The message."""
        return self.table.form.name

    @property
    def notices(self) -> tuple[str, ...]:
        """The messages that lie too deep."""
        return self.table.cuts

    @property
    def coarse(self) -> tuple[str, ...]:
        """The columns of times whose digits do not all fit."""
        return self.table.coarse

    @property
    def fallbacks(self) -> Mapping[str, int]:
        """How often each message was written as text."""
        return dict(self._storing.cut)

    @property
    def finer(self) -> int:
        """How many times had digits finer than their column's unit."""
        return self._storing.finer

    def decode(self, payloads: pa.BinaryArray, headers: pa.ListArray | None) -> Decoded:
        """Decode each payload."""
        rows = RowCollector(self.table.natural, self._columns)
        named = header_values(headers, self._header) if self._writers is not None else None
        if self._writers is not None:
            self._writers.forget()
        for row, payload in enumerate(payloads.to_pylist()):
            try:
                start = self._start(payload, named[row] if named else None)
                rows.add(row, self._store(self._parser.parse(payload, start)))
            except BadValue as e:
                rows.reject(row, e)
        out = rows.finish()
        return replace(out, batch=conform(out.batch, self.schema))

    def _start(self, payload: bytes, header: bytes | None) -> int:
        """Where the message begins, once its schema is known to be readable."""
        if self._writers is None:
            return 0
        if header is not None and self.naming is not None:
            named, start = self.naming.read(payload, header)
            self._writers.admit(named)
            return start
        if header is not None:
            self._writers.admit(from_header(header, self._header))
            return 0
        named, start = from_prefix(payload)
        self._writers.admit(named)
        return start


class Writers:
    """The schemas that payloads name: whether each wrote the table's message, asked once."""

    def __init__(self, table: Table, registry: SchemaRegistry) -> None:
        """Nothing asked yet."""
        self._table = table
        self._registry = registry
        self._known: dict[Named, BadValue | None] = {}
        self._unknown: dict[int | str, BadValue] = {}
        self._schemas: dict[int | str, MessageSet | BadValue] = {}

    def forget(self) -> None:
        """Schemas that the registry did not know may be there by now: ask again, the registry's own cache says how often."""
        self._unknown.clear()

    def admit(self, named: Named) -> None:
        """Raises BadValue where what this schema wrote is not the table's message."""
        if named not in self._known:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            schema_id, place = named
            if schema_id in self._unknown:
                found: BadValue | None = self._unknown[schema_id]
            else:
                try:
                    found = self._known[named] = self._fault(schema_id, place)
                except SchemaUnknown as e:
                    found = self._unknown[schema_id] = BadValue(SCHEMA_UNKNOWN, e.message)
        else:
            found = self._known[named]
        if found is not None:
            raise BadValue(found.code, found.message)

    def same_message(self, schema_id: int | str) -> Descriptor | None:
        """The message of a schema that is called as the table's; None where there is none, or no such schema."""
        if schema_id in self._unknown:
            return None
        try:
            messages = self._messages(schema_id)
        except SchemaUnknown as e:
            self._unknown[schema_id] = BadValue(SCHEMA_UNKNOWN, e.message)
            return None
        return None if isinstance(messages, BadValue) else messages.messages.get(self._table.form.name)

    def _fault(self, schema_id: int | str, place: Place) -> BadValue | None:
        """Why payloads of one message of one schema cannot be read."""
        messages = self._messages(schema_id)
        if isinstance(messages, BadValue):
            return messages
        try:
            message = messages.at(place)
            form = Forms().of(message)
        except DescriptorError as e:
            return BadValue(FRAMING, f"schema {schema_id}: {e}")
        wanted = self._table.form.name
        if form.name != wanted:
            return BadValue(TYPE, f"schema {schema_id} wrote message {form.name}, the table reads {wanted}")
        try:
            check_writer(form, self._table.form)
        except Incompatible as e:
            return BadValue(TYPE, f"schema {schema_id} does not resolve to the table's columns: field '{e.where}' {e.message}")
        return None

    def _messages(self, schema_id: int | str) -> MessageSet | BadValue:
        """The messages of a schema, read once."""
        if schema_id not in self._schemas:
            self._schemas[schema_id] = self._read(schema_id)
        return self._schemas[schema_id]

    def _read(self, schema_id: int | str) -> MessageSet | BadValue:
        """The messages of a schema."""
        registered = self._registry.by_id(schema_id)
        if registered.kind != "PROTOBUF":
            return BadValue(FRAMING, f"schema {schema_id} is {registered.kind}, not Protobuf")
        try:
            return messages_of(registered)
        except DescriptorError as e:
            return BadValue(SCHEMA_UNKNOWN, f"schema {schema_id} cannot be read: {e}")
