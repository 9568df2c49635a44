"""JSON by the kernel; what it leaves to the exact path, and every bad row, is read again there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from thalweg.arrow.batch import BadRows, Decoded
from thalweg.arrow.room import in_room
from thalweg.arrow.splice import kept, pruned, spliced, taken
from thalweg.codecs.json.framed import FramedJsonDecoder
from thalweg.codecs.json.kernel_decoder import compile_json
from thalweg.codecs.json.values import Unsupported
from thalweg.ports.codec import Decoder

if TYPE_CHECKING:
    from collections.abc import Mapping

    from thalweg.codecs.json.kernel_decoder import JsonProgram
    from thalweg.ports.codec import DecodeRequest
    from thalweg.ports.schemas import SchemaRegistry


class FastJsonDecoder(Decoder):
    """Gives what the reference decoder gives, message for message."""

    def __init__(self, reference: Decoder, program: JsonProgram) -> None:
        """``program`` was made for the reference's schema, or some of its columns."""
        self._reference, self._program = reference, program
        self.slow = 0

    @property
    def schema(self) -> pa.Schema:
        """The declared columns that somebody reads."""
        return self._program.schema

    @property
    def notices(self) -> tuple[str, ...]:
        """What of the schema lies too deep for columns."""
        return self._reference.notices

    @property
    def slow_rows(self) -> Mapping[str, int]:
        """How many rows the exact path has read."""
        return {"json": self.slow}

    def decode(self, payloads: pa.BinaryArray, headers: pa.ListArray | None) -> Decoded:
        """Decode by the kernel, the rest by the reference."""
        made = in_room(payloads, lambda some, _: self._program.decode(some))
        if made is None:
            self.slow += len(payloads)
            return pruned(self._reference.decode(payloads, headers), self.schema)
        found, own = made
        fast = Decoded(found.batch, pa.array(found.rows, pa.int32()), BadRows())
        is_left = np.ones(len(payloads), bool)
        is_left[own[found.codes == 0]] = False
        left = np.flatnonzero(is_left)
        if not len(left):
            return fast
        self.slow += len(found.slow) + len(payloads) - len(own)
        return spliced(self.schema, [(fast, None if len(own) == len(payloads) else own), (pruned(self._reference.decode(*taken(payloads, headers, left)), self.schema), left)])


def warm_up() -> None:
    """Compile, or load, what decoding needs."""
    compile_json(pa.schema([("a", pa.int64())])).decode(pa.array([b'{"a":1}'], pa.binary()))


def make(request: DecodeRequest, _registry: SchemaRegistry | None, reference: Decoder) -> Decoder | None:
    """The fast decoder; None where the kernel does not take the schema, or has another one in mind than the reference."""
    options, schema = request.options, kept(reference.schema, request.wanted)
    try:
        program = compile_json(
            reference.schema, max_depth=options.max_depth, prefix=request.metadata_prefix, max_bytes=options.max_bytes, wanted=schema.names
        )
    except Unsupported:
        return None
    if not program.schema.equals(schema):
        return None
    if isinstance(reference, FramedJsonDecoder):
        return reference.over(FastJsonDecoder(reference.inner, program))
    return FastJsonDecoder(reference, program)
