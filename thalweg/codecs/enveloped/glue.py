"""AWS Glue's envelope: header byte 3, a byte for the compression, the 16 bytes of the schema version's UUID, then the data."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from thalweg.arrow.fronts import front, without
from thalweg.arrow.rows import FRAMING, LIMIT, bytes_left
from thalweg.codecs.enveloped.decoder import Piece, keys_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from thalweg.arrow.batch import BadRows

PREFIX_BYTES: Final = 18
_VERSION: Final = 3
_PLAIN, _ZLIB = 0, 5
_GUID: Final = 1
"""The first byte of Confluent's header before a GUID."""
MAX_INFLATED: Final = 16 << 20
"""Bytes that one payload may inflate to."""
_PIECE_BYTES: Final = 64 << 20


class GlueEnvelope:
    """Opens payloads of AWS's serialisers."""

    def open(self, payloads: pa.BinaryArray, headers: pa.ListArray | None, bad: BadRows) -> Iterator[Piece]:  # noqa: ARG002 - Glue uses no headers
        """First what is not compressed, then the rest in pieces of bounded size."""
        places = front(payloads)
        rows = np.flatnonzero(places.longer(PREFIX_BYTES))
        begin = places.bytes_at(rows, 0, 2)
        good = (begin[:, 0] == _VERSION) & ((begin[:, 1] == _PLAIN) | (begin[:, 1] == _ZLIB))
        right = np.zeros(len(payloads), bool)
        right[rows[good]] = True
        for row in np.flatnonzero(~right).tolist():
            bad.add(row, FRAMING, _wrong(payloads[row].as_py()))
        zipped = begin[good, 1] == _ZLIB
        plain = rows[good][~zipped]
        keys = np.full((len(payloads), 17), _GUID, np.uint8)
        keys[rows[good], 1:] = places.bytes_at(rows[good], 2, 16)
        if len(plain):
            yield Piece(plain, without(payloads, plain, PREFIX_BYTES), keys_of(keys[plain]))
        yield from _inflated(payloads, rows[good][zipped], keys, bad)


def _inflated(payloads: pa.BinaryArray, rows: npt.NDArray[np.intp], keys: npt.NDArray[np.uint8], bad: BadRows) -> Iterator[Piece]:
    """Compressed payloads, a piece whenever there is enough of them."""
    taken: list[int] = []
    found: list[bytes] = []
    size = 0
    for row in rows.tolist():
        data = _inflate(payloads[row].as_py()[PREFIX_BYTES:])
        if isinstance(data, tuple):
            bad.add(row, *data)
            continue
        taken.append(row)
        found.append(data)
        size += len(data)
        if size > _PIECE_BYTES:
            yield _piece(taken, found, keys)
            taken, found, size = [], [], 0
    if taken:
        yield _piece(taken, found, keys)


def _piece(rows: list[int], found: list[bytes], keys: npt.NDArray[np.uint8]) -> Piece:
    """A piece of inflated payloads."""
    places = np.array(rows, np.intp)
    return Piece(places, pa.array(found, pa.binary()), keys_of(keys[places]))


def _inflate(data: bytes) -> bytes | tuple[str, str]:
    """The data, or the code and message of what is wrong with it; never more than the bound in memory."""
    machine = zlib.decompressobj()
    try:
        out = machine.decompress(data, MAX_INFLATED + 1)
    except zlib.error as e:
        return FRAMING, f"the data is no zlib stream: {e}"
    if len(out) > MAX_INFLATED:
        return LIMIT, f"the data inflates to more than {MAX_INFLATED} bytes"
    if not machine.eof:
        return FRAMING, "the zlib stream ends too early"
    if machine.unused_data:
        return FRAMING, f"{bytes_left(len(machine.unused_data))} after the zlib stream"
    return out


def _wrong(payload: bytes) -> str:
    """What is wrong with an envelope."""
    if not payload:
        return "the payload is empty (0 bytes); it is no tombstone, and it lacks the schema version's id"
    if payload[0] != _VERSION:
        looks = "; it looks like Confluent framing" if payload[0] == 0 else "; it looks like JSON" if payload.lstrip()[:1] in {b"{", b"["} else ""
        return f"expected header byte 3 of AWS Glue, found byte {payload[0]}{looks}"
    if len(payload) < PREFIX_BYTES:
        return f"expected 18 bytes of AWS Glue's header, found {len(payload)}"
    return f"expected compression byte 0 (none) or 5 (zlib), found {payload[1]}"
