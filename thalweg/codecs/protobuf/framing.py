"""Which schema and which message of it a payload was written with: Confluent's header or its prefix, and message indexes."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Final

from thalweg.arrow.rows import FRAMING, BadValue

if TYPE_CHECKING:
    from collections.abc import Sequence

PREFIX_BYTES: Final = 5
_GUID_BYTES: Final = 17
_MOST_INDEXES: Final = 32
"""Messages inside one another that a path of indexes may name."""
_CONTINUED: Final = 0x80
_LOW7: Final = 0x7F
_NUMBER_BYTES: Final = 5

Place = tuple[int, ...] | int | str
"""A message in a schema: its path of indexes (Confluent), its number among all (AWS Glue), or its name (Apicurio)."""
Named = tuple[int | str, Place]
"""Id or GUID of a schema, and a message in it."""


def from_header(value: bytes, name: str) -> Named:
    """What a header names. A malformed one is a bad record: the prefix is not tried."""
    size = _GUID_BYTES if value[:1] == b"\x01" else PREFIX_BYTES
    if value[:1] not in {b"\x00", b"\x01"} or len(value) <= size:
        what = f"{len(value)} bytes, 0x{value[:_GUID_BYTES].hex()}"
        raise BadValue(FRAMING, f"header '{name}' is neither 01, a GUID and message indexes nor 00, an id and message indexes: {what}")
    found: int | str = str(uuid.UUID(bytes=value[1:size])) if value[0] else int.from_bytes(value[1:size], "big")
    indexes, end = read_indexes(value, size)
    if end != len(value):
        raise BadValue(FRAMING, f"header '{name}' has {len(value) - end} bytes after its message indexes")
    return found, indexes


def from_prefix(payload: bytes) -> tuple[Named, int]:
    """What the bytes before the message name, and where it begins."""
    if not payload:
        raise BadValue(FRAMING, "the payload is empty (0 bytes); it is no tombstone, and it lacks the schema id")
    if payload[0] != 0:
        looks = "; it looks like JSON" if payload.lstrip()[:1] in {b"{", b"["} else ""
        raise BadValue(FRAMING, f"expected magic byte 0 and a schema id, found byte {payload[0]}{looks}")
    if len(payload) <= PREFIX_BYTES:
        raise BadValue(FRAMING, f"expected magic byte 0, a 4-byte schema id and message indexes, found {len(payload)} bytes")
    indexes, start = read_indexes(payload, PREFIX_BYTES)
    return (int.from_bytes(payload[1:PREFIX_BYTES], "big"), indexes), start


def read_indexes(data: bytes, p: int) -> tuple[tuple[int, ...], int]:
    """The path of message indexes at ``p`` and the next position; the one byte 0 stands for the first message."""
    count, p = _number(data, p)
    if count == 0:
        return (0,), p
    if not 0 < count <= _MOST_INDEXES:
        raise BadValue(FRAMING, f"{count} message indexes; expected 1 to {_MOST_INDEXES}")
    out = []
    for _ in range(count):
        index, p = _number(data, p)
        if index < 0:
            raise BadValue(FRAMING, f"message index {index} is negative")
        out.append(index)
    return tuple(out), p


def write_indexes(indexes: Sequence[int], *, short: bool = True) -> bytes:
    """A path of message indexes; the first message is the one byte 0 where that is ``short``."""
    if short and list(indexes) == [0]:
        return b"\0"
    return b"".join(_zigzag(n) for n in (len(indexes), *indexes))


def _number(data: bytes, p: int) -> tuple[int, int]:
    """A zigzag varint of at most five bytes."""
    value = 0
    for at in range(_NUMBER_BYTES):
        if p + at >= len(data):
            raise BadValue(FRAMING, "the bytes end inside the message indexes")
        value |= (data[p + at] & _LOW7) << 7 * at
        if data[p + at] < _CONTINUED:
            return (value >> 1) ^ -(value & 1), p + at + 1
    raise BadValue(FRAMING, "a message index has more than five bytes")


def _zigzag(value: int) -> bytes:
    """A number as a zigzag varint."""
    left = value << 1
    out = bytearray()
    while left > _LOW7:
        out.append(left & _LOW7 | _CONTINUED)
        left >>= 7
    out.append(left)
    return bytes(out)
