"""Framed JSON documents: out of their framing, then by a decoder of plain ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg.arrow.batch import BadRows
from thalweg.arrow.splice import spliced
from thalweg.ports.codec import Decoder

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    from thalweg.arrow.batch import Decoded
    from thalweg.codecs.json.framing import Frames


class FramedJsonDecoder(Decoder):
    """Gives the inner decoder's rows at their places."""

    def __init__(self, inner: Decoder, frames: Frames, cuts: tuple[str, ...]) -> None:
        """``cuts``: what of the schema lies too deep."""
        self.inner, self.frames, self._cuts = inner, frames, cuts

    @property
    def schema(self) -> pa.Schema:
        """The table's columns."""
        return self.inner.schema

    @property
    def notices(self) -> tuple[str, ...]:
        """What lies too deep."""
        return self._cuts

    @property
    def slow_rows(self) -> Mapping[str, int]:
        """The inner decoder's."""
        return self.inner.slow_rows

    def over(self, inner: Decoder) -> FramedJsonDecoder:
        """The same framing around another decoder of the same columns."""
        return FramedJsonDecoder(inner, self.frames, self._cuts)

    def decode(self, payloads: pa.BinaryArray, headers: pa.ListArray | None) -> Decoded:
        """Take the documents out, then decode them."""
        bad = BadRows()
        parts: list[tuple[Decoded, npt.NDArray[np.intp] | None]] = []
        for rows, documents in self.frames.open(payloads, headers, bad):
            parts.append((self.inner.decode(documents, None), None if len(rows) == len(payloads) else rows))
        if len(parts) == 1 and parts[0][1] is None:
            return parts[0][0]
        return spliced(self.schema, parts, bad)
