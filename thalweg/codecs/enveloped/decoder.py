"""A decoder behind an envelope: payloads are opened, the schema's id becomes the header that the inner decoder knows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
import pyarrow as pa

from thalweg.arrow.batch import BadRows
from thalweg.arrow.metadata import HEADERS
from thalweg.arrow.schema_header import header_name
from thalweg.arrow.splice import spliced
from thalweg.ports.codec import Decoder

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import numpy.typing as npt

    from thalweg.arrow.batch import Decoded
    from thalweg.ports.codec import DecodeRequest
    from thalweg.ports.schemas import SchemaRegistry


@dataclass(frozen=True, slots=True)
class Piece:
    """Some payloads of a batch, opened."""

    rows: npt.NDArray[np.intp]
    """Which ones, ascending."""
    payloads: pa.BinaryArray
    """What was inside: binary[len(rows)]."""
    keys: pa.BinaryArray
    """Of each the value of Confluent's header: 00 and an id of four bytes, or 01 and a GUID; a message's name may follow."""


def keys_of(keys: npt.NDArray[np.uint8]) -> pa.BinaryArray:
    """Values of one width, uint8[n, width]."""
    rows, width = keys.shape
    offsets = pa.py_buffer((np.arange(rows + 1) * width).astype(np.int32))
    return pa.Array.from_buffers(pa.binary(), rows, [None, offsets, pa.py_buffer(np.ascontiguousarray(keys))])


class Envelope(Protocol):
    """Knows one kind of framing."""

    def open(self, payloads: pa.BinaryArray, headers: pa.ListArray | None, bad: BadRows) -> Iterator[Piece]:
        """The pieces of a batch; payloads whose envelope is broken go to ``bad`` and to no piece."""


class Enveloped(Decoder):
    """Gives the inner decoder's rows at their places."""

    def __init__(
        self, inner: Decoder, envelope: Envelope, request: DecodeRequest, registry: SchemaRegistry | None, fast: str | None
    ) -> None:
        """``request``, ``registry`` and ``fast`` are the inner codec's."""
        self.inner, self.envelope, self.request, self.registry, self.fast = inner, envelope, request, registry, fast
        self._header = header_name(is_key=request.is_key)

    @property
    def schema(self) -> pa.Schema:
        """The inner decoder's."""
        return self.inner.schema

    @property
    def name(self) -> str:
        """The inner decoder's."""
        return self.inner.name

    @property
    def coarse(self) -> tuple[str, ...]:
        """The inner decoder's."""
        return self.inner.coarse

    @property
    def finer(self) -> int:
        """The inner decoder's."""
        return self.inner.finer

    @property
    def notices(self) -> tuple[str, ...]:
        """The inner decoder's."""
        return self.inner.notices

    @property
    def fallbacks(self) -> Mapping[str, int]:
        """The inner decoder's."""
        return self.inner.fallbacks

    @property
    def slow_rows(self) -> Mapping[str, int]:
        """The inner decoder's."""
        return self.inner.slow_rows

    def over(self, inner: Decoder) -> Enveloped:
        """The same envelope before another decoder of the same data."""
        return Enveloped(inner, self.envelope, self.request, self.registry, self.fast)

    def decode(self, payloads: pa.BinaryArray, headers: pa.ListArray | None) -> Decoded:
        """Open, then decode piece by piece."""
        bad = BadRows()
        parts: list[tuple[Decoded, npt.NDArray[np.intp] | None]] = []
        for piece in self.envelope.open(payloads, headers, bad):
            whole = len(piece.rows) == len(payloads)
            parts.append((self.inner.decode(piece.payloads, self._named(piece.keys)), None if whole else piece.rows))
        if len(parts) == 1 and parts[0][1] is None:
            return parts[0][0]
        return spliced(self.schema, parts, bad)

    def _named(self, keys: pa.BinaryArray) -> pa.ListArray:
        """One header a row: list[n]."""
        rows = len(keys)
        names = pa.repeat(pa.scalar(self._header, pa.string()), rows)
        pairs = pa.StructArray.from_arrays([names, keys], fields=list(HEADERS.value_type))
        return pa.ListArray.from_arrays(pa.array(np.arange(rows + 1, dtype=np.int32)), pairs).cast(HEADERS)
