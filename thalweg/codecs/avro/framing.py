"""Which schema a payload was written with: a header or the bytes before its datum."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from thalweg.arrow.rows import FRAMING, BadValue

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt
    import pyarrow as pa

    Groups = list[tuple[int | str, npt.NDArray[np.intp]]]

PREFIX_BYTES: Final = 5
_ID_HEADER_BYTES: Final = 5
_GUID_HEADER_BYTES: Final = 17
_SINGLE_OBJECT: Final = b"\xc3\x01"
_SINGLE_OBJECT_BYTES: Final = 10


@dataclass(frozen=True, slots=True)
class Framing:
    """How the bytes before a datum name its schema."""

    size: int
    """How many they are."""
    schema_id: Callable[[bytes], int | str]
    """The schema that a payload names. Raises BadValue where it names none."""
    groups: Callable[[pa.BinaryArray], Groups]
    """Schemas, each with the rows of a batch that name it; a row that names none is left out."""
    headers: bool = True
    """Whether a record's header may name the schema instead."""


def from_header(value: bytes, name: str) -> int | str:
    """The id or GUID in a header's value. A malformed header is a bad record: the prefix is not tried."""
    if value[:1] == b"\x01" and len(value) == _GUID_HEADER_BYTES:
        return str(uuid.UUID(bytes=value[1:]))
    if value[:1] == b"\x00" and len(value) == _ID_HEADER_BYTES:
        return int.from_bytes(value[1:], "big")
    raise BadValue(FRAMING, f"header '{name}' is neither 01 and a GUID nor 00 and an id: {len(value)} bytes, 0x{value[:17].hex()}")


def from_prefix(payload: bytes) -> int:
    """The id in the five bytes before the datum."""
    if len(payload) >= PREFIX_BYTES and payload[0] == 0:
        return int.from_bytes(payload[1:PREFIX_BYTES], "big")
    if not payload:
        raise BadValue(FRAMING, "the payload is empty (0 bytes); it is no tombstone, and it lacks the schema id")
    if payload[0] == 0:
        raise BadValue(FRAMING, f"expected magic byte 0 and a 4-byte schema id, found {len(payload)} bytes")
    looks = looks_like(payload)
    mean = f"; the payload looks like {looks}" if looks else ""
    raise BadValue(FRAMING, f"expected magic byte 0 and a schema id, found byte {payload[0]}{mean}")


def looks_like(payload: bytes) -> str:
    """What the first bytes are usually the beginning of; empty where nothing comes to mind."""
    if payload.startswith(_SINGLE_OBJECT):
        return "Avro single-object encoding (c3 01), format 'avro-single-object'"
    if len(payload) >= PREFIX_BYTES and payload[0] == 0:
        return "Confluent framing (format 'avro-confluent')"
    return "JSON" if payload.lstrip()[:1] in {b"{", b"["} else ""


def from_single_object(payload: bytes) -> str:
    """The fingerprint behind the marker, in hexadecimal digits as they lie on the wire."""
    if payload.startswith(_SINGLE_OBJECT) and len(payload) >= _SINGLE_OBJECT_BYTES:
        return payload[2:_SINGLE_OBJECT_BYTES].hex()
    looks = looks_like(payload)
    mean = f"; the payload looks like {looks}" if looks and not payload.startswith(_SINGLE_OBJECT) else ""
    raise BadValue(FRAMING, f"expected c3 01 and a fingerprint of 8 bytes, found {len(payload)} bytes, 0x{payload[:_SINGLE_OBJECT_BYTES].hex()}{mean}")


def confluent_groups(payloads: pa.BinaryArray) -> Groups:
    """Rows by the id behind magic byte 0."""
    src, starts, rows = _framed(payloads, PREFIX_BYTES, b"\x00")
    return _grouped([src[starts + 1 + i] for i in range(PREFIX_BYTES - 1)], rows, lambda key: int.from_bytes(key, "big"))


def single_object_groups(payloads: pa.BinaryArray) -> Groups:
    """Rows by the fingerprint behind the marker."""
    src, starts, rows = _framed(payloads, _SINGLE_OBJECT_BYTES, _SINGLE_OBJECT)
    return _grouped([src[starts + 2 + i] for i in range(_SINGLE_OBJECT_BYTES - 2)], rows, bytes.hex)


def _framed(payloads: pa.BinaryArray, size: int, marker: bytes) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64], npt.NDArray[np.intp]]:
    """All bytes, and where each payload of at least ``size`` bytes begins that begins with ``marker``, with its row."""
    count, (_, offsets, data) = len(payloads), payloads.buffers()
    if not count or data is None or data.size < size:
        return np.zeros(0, np.uint8), np.zeros(0, np.int64), np.zeros(0, np.intp)
    offs = np.frombuffer(offsets, np.int32, count + 1, 4 * payloads.offset).astype(np.int64)
    src = np.frombuffer(data, np.uint8)
    rows = np.flatnonzero(np.diff(offs) >= size)
    for i, byte in enumerate(marker):
        rows = rows[src[offs[rows] + i] == byte]
    return src, offs[rows], rows


def _grouped(names: list[npt.NDArray[np.uint8]], rows: npt.NDArray[np.intp], schema_id: Callable[[bytes], int | str]) -> Groups:
    """Rows by the bytes of their names, which are given byte by byte."""
    numbers = np.zeros(len(rows), np.uint64)
    for part in names:
        numbers = numbers << np.uint64(8) | part
    return [(schema_id(int(n).to_bytes(len(names), "big")), rows[numbers == n]) for n in np.unique(numbers)]


CONFLUENT: Final = Framing(PREFIX_BYTES, from_prefix, confluent_groups)
SINGLE_OBJECT: Final = Framing(_SINGLE_OBJECT_BYTES, from_single_object, single_object_groups, headers=False)
