"""Protobuf by the kernel, one program for the table's message; what it leaves to the exact path, and every bad row, is read again there."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
from google.protobuf.source_context_pb2 import SourceContext

from thalweg.arrow.batch import BadRows, Decoded
from thalweg.arrow.room import in_room
from thalweg.arrow.rows import BadValue
from thalweg.arrow.schema_header import header_name, header_rows, header_values
from thalweg.arrow.splice import kept, pruned, spliced, taken
from thalweg.codecs.protobuf.decoder import ProtobufDecoder, Writers
from thalweg.codecs.protobuf.descriptors import DescriptorError
from thalweg.codecs.protobuf.framing import from_header, from_prefix
from thalweg.codecs.protobuf.kernel_decoder import compile_decoder
from thalweg.codecs.protobuf.kernel_framing import beginning, prefixes_of
from thalweg.codecs.protobuf.named import MOST_NAME, schema_of
from thalweg.codecs.protobuf.options import ProtobufOptions
from thalweg.codecs.protobuf.table import table_of_message
from thalweg.ports.codec import Decoder, DecodeRequest

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    import numpy.typing as npt

    from thalweg.ports.schemas import SchemaRegistry

_MOST_PREFIX: Final = MOST_NAME + 16
_LEFT = -1
"""In place of where a message begins: the reference decoder reads this row."""


class FastProtobufDecoder(Decoder):
    """Gives what the reference decoder gives, message for message."""

    def __init__(
        self, reference: ProtobufDecoder, registry: SchemaRegistry | None, *, is_key: bool = False, wanted: Collection[str] | None = None
    ) -> None:
        """``registry`` None: the payloads have no framing. Raises DescriptorError for a message that the kernel does not take."""
        self._reference = reference
        self._schema = kept(reference.schema, wanted)
        self._header = header_name(is_key=is_key)
        self._cut: Counter[str] = Counter()
        self._program = compile_decoder(reference.table, wanted=self._schema.names, on_text=self._note_cut)
        self._writers = None if registry is None else Writers(reference.table, registry)
        self.slow = 0

    @property
    def schema(self) -> pa.Schema:
        """The table's columns that somebody reads."""
        return self._schema

    @property
    def name(self) -> str:
        """The message."""
        return self._reference.name

    @property
    def notices(self) -> tuple[str, ...]:
        """What lies too deep."""
        return self._reference.notices

    @property
    def coarse(self) -> tuple[str, ...]:
        """The columns of times whose digits do not all fit."""
        return self._reference.coarse

    @property
    def fallbacks(self) -> Mapping[str, int]:
        """How often each message was written as text, here and by the reference."""
        return self._cut + Counter(self._reference.fallbacks)

    @property
    def finer(self) -> int:
        """How many times had digits finer than their column's unit, here and in the reference."""
        return self._program.finer + self._reference.finer

    @property
    def slow_rows(self) -> Mapping[str, int]:
        """How many rows only the exact path could read."""
        return {"protobuf": self.slow}

    def decode(self, payloads: pa.BinaryArray, headers: pa.ListArray | None) -> Decoded:
        """Decode by the kernel, whatever schema wrote the rows, as long as it wrote the table's message; the rest by the reference."""
        starts = self._starts(payloads, headers)
        own = np.flatnonzero(starts != _LEFT)
        whole, begin = len(own) == len(payloads), starts[own]
        made = in_room(payloads if whole else payloads.take(pa.array(own, pa.int64())), lambda some, rows: self._program.decode(some, begin[rows]))
        if made is None:
            self.slow += len(payloads)
            return pruned(self._reference.decode(payloads, headers), self._schema)
        found, short = made
        own = own[short]
        whole = len(own) == len(payloads)
        fast = Decoded(found.batch, pa.array(found.rows, pa.int32()), BadRows())
        left = np.ones(len(payloads), bool)
        left[own[found.rows]] = False
        rest = np.flatnonzero(left)
        if not len(rest):
            return fast
        exact = pruned(self._reference.decode(*taken(payloads, headers, rest)), self._schema)
        self.slow += len(exact.rows)
        return spliced(self.schema, [(fast, None if whole else own), (exact, rest)])

    def _starts(self, payloads: pa.BinaryArray, headers: pa.ListArray | None) -> npt.NDArray[np.int32]:
        """Where each message begins, int32[n]; ``_LEFT`` where the framing is wrong or names what this table does not read."""
        if self._writers is None:
            return np.zeros(len(payloads), np.int32)
        self._writers.forget()
        if self._reference.naming is not None:
            return self._named_starts(payloads, headers)
        prefixes = prefixes_of(payloads)
        begins = np.array([*(self._start(prefix) for prefix in prefixes.found), _LEFT], np.int32)
        starts = begins[prefixes.which]
        named = header_values(headers, self._header)
        if named is not None:
            known = {value: self._headed(value) for value in set(named) if value is not None}
            for row, value in enumerate(named):
                if value is not None:
                    starts[row] = known[value]
        return starts

    def _named_starts(self, payloads: pa.BinaryArray, headers: pa.ListArray | None) -> npt.NDArray[np.int32]:
        """The same where headers name schemas and payloads messages: of each schema one message is the table's, and it has one usual prefix."""
        assert self._writers is not None
        assert self._reference.naming is not None
        starts = np.full(len(payloads), _LEFT, np.int32)
        for value, rows in header_rows(headers, self._header):
            message = self._writers.same_message(schema_of(value)[0])
            if message is None:
                continue
            starts[rows] = self._named(b"", value)
            prefix = self._reference.naming.prefix(value, message)
            if len(prefix) <= _MOST_PREFIX:
                starts[rows[beginning(payloads, rows, prefix)]] = self._named(prefix, value)
        return starts

    def _named(self, prefix: bytes, value: bytes) -> int:
        """Where messages begin with this prefix and header."""
        assert self._writers is not None
        assert self._reference.naming is not None
        try:
            named, start = self._reference.naming.read(prefix, value)
            self._writers.admit(named)
        except BadValue:
            return _LEFT
        return start

    def _start(self, prefix: bytes) -> int:
        """Where messages with this prefix begin."""
        assert self._writers is not None
        try:
            named, start = from_prefix(prefix)
            self._writers.admit(named)
        except BadValue:
            return _LEFT
        return start

    def _headed(self, value: bytes) -> int:
        """Where messages begin whose schema stands in a header."""
        assert self._writers is not None
        try:
            self._writers.admit(from_header(value, self._header))
        except BadValue:
            return _LEFT
        return 0

    def _note_cut(self, name: str) -> None:
        """One message became text."""
        self._cut[name] += 1


def warm_up() -> None:
    """Compile, or load, what decoding needs."""
    table = table_of_message(DecodeRequest("protobuf", None, ProtobufOptions(), None, "_twg_"), SourceContext.DESCRIPTOR)
    compile_decoder(table).decode(pa.array([b""], pa.binary()))


def make(request: DecodeRequest, registry: SchemaRegistry | None, reference: Decoder) -> Decoder | None:
    """The fast decoder; None for another reference than ours, and for a message that the kernel does not take."""
    if not isinstance(reference, ProtobufDecoder):
        return None
    try:
        return FastProtobufDecoder(reference, None if request.format == "protobuf" else registry, is_key=request.is_key, wanted=request.wanted)
    except DescriptorError:
        return None

