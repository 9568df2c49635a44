"""Avro by the kernel, a program for each writer's schema; what it leaves to the exact path, and every bad row, is read again there."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from thalweg.arrow.batch import BadRows, Decoded
from thalweg.arrow.room import in_room
from thalweg.arrow.rows import BadValue
from thalweg.arrow.schema_header import header_groups, header_name, header_values
from thalweg.arrow.splice import kept, pruned, spliced, taken
from thalweg.codecs.avro import kernel_split
from thalweg.codecs.avro.decoder import AvroDecoder
from thalweg.codecs.avro.framing import from_header
from thalweg.codecs.avro.kernel_decoder import Unsupported, compile_decoder
from thalweg.codecs.avro.match import Incompatible
from thalweg.codecs.avro.schema import SchemaError, parse, parse_registered
from thalweg.codecs.avro.table import CONTAINER, ReservedName, refuse_reserved
from thalweg.errors import SchemaUnknown
from thalweg.ports.codec import Decoder

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from thalweg.arrow.kernel_rows import KernelRows
    from thalweg.codecs.avro.kernel_decoder import AvroProgram
    from thalweg.codecs.avro.schema import Node
    from thalweg.codecs.avro.table import Table
    from thalweg.ports.codec import DecodeRequest
    from thalweg.ports.schemas import SchemaRegistry


class FastAvroDecoder(Decoder):
    """Gives what the reference decoder gives, message for message."""

    def __init__(self, reference: AvroDecoder, request: DecodeRequest) -> None:
        """Without a registry of the reference: plain data, written by the table's own schema."""
        self._reference, self._request, self._registry = reference, request, reference.registry
        self._table: Table = reference.table
        self._schema = kept(reference.schema, request.wanted)
        self._header = header_name(is_key=request.is_key)
        self._programs: dict[int | str, AvroProgram | None] = {}
        self._plain = self._compiled(self._table.reader) if self._registry is None and self._table.reader is not None else None
        self.slow = 0
        self._cut: Counter[str] = Counter()

    @property
    def schema(self) -> pa.Schema:
        """The table's columns that somebody reads."""
        return self._schema

    @property
    def notices(self) -> tuple[str, ...]:
        """What lies too deep."""
        return self._reference.notices

    @property
    def fallbacks(self) -> Mapping[str, int]:
        """What was written as text, here and by the reference."""
        return self._cut + Counter(self._reference.fallbacks)

    @property
    def slow_rows(self) -> Mapping[str, int]:
        """How many rows the exact path has read."""
        return {"avro": self.slow}

    def _note_cut(self, name: str) -> None:
        """One record became text."""
        self._cut[name] += 1

    def decode(self, payloads: pa.BinaryArray, headers: pa.ListArray | None) -> Decoded:
        """Decode by the kernel, schema by schema; the rest by the reference."""
        left = np.ones(len(payloads), bool)
        parts: list[tuple[Decoded, npt.NDArray[np.intp] | None]] = []
        for program, rows, skip in self._groups(payloads, headers):
            group = payloads if len(rows) == len(payloads) else payloads.take(pa.array(rows, pa.int64()))
            made = in_room(group, partial(_decode, program, skip))
            if made is None:
                self.slow += len(rows)
                continue
            found, short = made
            own = rows[short]
            parts.append((Decoded(found.batch, pa.array(found.rows, pa.int32()), BadRows()), None if len(own) == len(payloads) else own))
            left[own[found.codes == 0]] = False
            self.slow += len(found.slow) + len(rows) - len(own)
        rest = np.flatnonzero(left)
        if len(rest):
            parts.append((pruned(self._reference.decode(*taken(payloads, headers, rest)), self._schema), rest))
        return parts[0][0] if len(parts) == 1 and parts[0][1] is None else spliced(self.schema, parts)

    def _groups(self, payloads: pa.BinaryArray, headers: pa.ListArray | None) -> list[tuple[AvroProgram, npt.NDArray[np.intp], int]]:
        """Programs, each with the rows that it reads and the bytes before each datum; rows of no group are the reference's."""
        if self._registry is None:
            return [(self._plain, np.arange(len(payloads)), 0)] if self._plain is not None and len(payloads) else []
        framing, out = self._reference.framing, []
        bare = np.ones(len(payloads), bool)
        named = header_groups(headers, self._header) if framing.headers else []
        if named is None:
            bare[[i for i, value in enumerate(header_values(headers, self._header) or ()) if value is not None]] = False
        for value, rows in named or ():
            bare[rows] = False
            program = self._named(value)
            if program is not None:
                out.append((program, rows, 0))
        for schema_id, rows in framing.groups(payloads) if bare.any() else ():
            program = self._program(schema_id)
            if program is not None:
                out.append((program, rows[bare[rows]], framing.size))
        return [group for group in out if len(group[1])]

    def _named(self, header: bytes) -> AvroProgram | None:
        """The program of the schema that a header names; None where the reference has to say what is wrong with it."""
        try:
            return self._program(from_header(header, self._header))
        except BadValue:
            return None

    def _program(self, schema_id: int | str) -> AvroProgram | None:
        """The program of a writer's schema, asked for once; None where the reference has to say what is wrong with it."""
        if schema_id not in self._programs:
            assert self._registry is not None
            try:
                registered = self._registry.by_id(schema_id)
                writer = parse_registered(registered) if registered.kind == "AVRO" else None
                if writer is not None:
                    refuse_reserved(writer, self._request.metadata_prefix)
            except SchemaUnknown:
                return None
            except (SchemaError, ReservedName):
                writer = None
            self._programs[schema_id] = self._compiled(writer)
        return self._programs[schema_id]

    def _compiled(self, writer: Node | None) -> AvroProgram | None:
        """A program with the table's very schema; None where the kernel cannot resolve it."""
        if writer is None:
            return None
        options, table = self._request.options, self._table
        try:
            program = compile_decoder(
                writer, table.reader or writer, declared=table.schema, union=options.union,
                missing_is_null=table.reader is None, wanted=self._schema.names,
                on_text=None if table.declared else self._note_cut,
            )  # fmt: skip
            with suppress(MemoryError):  # which says nothing about the columns
                program.decode(pa.array([], pa.binary()))
        except (Unsupported, Incompatible, SchemaError, pa.ArrowException):
            # Arrow's exceptions: a column that it cannot make of what the kernel stores shows itself without a single row
            return None
        return program if program.schema.equals(self._schema) else None


def _decode(program: AvroProgram, skip: int, payloads: pa.BinaryArray, _rows: npt.NDArray[np.intp]) -> KernelRows:
    """Some payloads behind so many bytes of framing."""
    return program.decode(payloads, skip)


def warm_up() -> None:
    """Compile, or load, what decoding needs."""
    compile_decoder({"type": "record", "name": "R", "fields": [{"name": "a", "type": "long"}]}).decode(pa.array([b"\x02"], pa.binary()))
    kernel_split.machine(parse('"long"'))(b"\x02", 1)


def make(request: DecodeRequest, _registry: SchemaRegistry | None, reference: Decoder) -> Decoder | None:
    """The fast decoder; None for another reference than ours."""
    if not isinstance(reference, AvroDecoder):
        return None
    if request.format == CONTAINER:
        reference.blocks.use(kernel_split.machine)
    return FastAvroDecoder(reference, request)
