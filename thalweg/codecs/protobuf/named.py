"""Which message a payload is, as AWS Glue's and Apicurio's serialisers say it: behind the schema's id, which comes in a header here."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from thalweg.arrow.rows import FRAMING, BadValue
from thalweg.codecs.protobuf.descriptors import glue_order, indexes_of
from thalweg.codecs.protobuf.framing import read_indexes, write_indexes

if TYPE_CHECKING:
    from collections.abc import Callable

    from google.protobuf.descriptor import Descriptor

    from thalweg.codecs.protobuf.framing import Named
    from thalweg.ports.codec import DecodeRequest

MOST_NAME: Final = 512
"""Bytes of a message's name."""
_ID_BYTES: Final = 5
_GUID_BYTES: Final = 17
_CONTINUED: Final = 0x80
_LOW7: Final = 0x7F
_NUMBER_BYTES: Final = 5
_MOST: Final = (1 << 32) - 1
_NAME_TAG: Final = 0x0A
"""Field 1 of ``Ref``, a text."""


@dataclass(frozen=True, slots=True)
class Naming:
    """How one serialiser names the message. A header's value is 00 and an id, or 01 and a GUID, and what else the record's headers say."""

    read: Callable[[bytes, bytes], tuple[Named, int]]
    """Payload and header's value to what they name and where the message begins. Raises BadValue."""
    prefix: Callable[[bytes, Descriptor], bytes]
    """What payloads of a message usually begin with, given their header's value."""


def schema_of(value: bytes) -> tuple[int | str, bytes]:
    """The schema in a header's value, and what follows."""
    if value[0]:
        return str(uuid.UUID(bytes=value[1:_GUID_BYTES])), value[_GUID_BYTES:]
    return int.from_bytes(value[1:_ID_BYTES], "big"), value[_ID_BYTES:]


def naming_of(request: DecodeRequest) -> Naming | None:
    """How payloads of a table name their messages; None for Confluent's way."""
    return NAMINGS.get(request.options.naming or request.format)


def before_message(naming: Naming | None, message: Descriptor) -> bytes:
    """What a serialiser writes between the schema's id and a message."""
    return write_indexes(indexes_of(message)) if naming is None else naming.prefix(bytes(_ID_BYTES), message)


def _read_glue(payload: bytes, value: bytes) -> tuple[Named, int]:
    """A varint: the message's place among all of the schema by full name."""
    index, start = _varint(payload, 0, "the message index")
    return (schema_of(value)[0], index), start


def _glue_prefix(_value: bytes, message: Descriptor) -> bytes:
    """The place of a message in its file."""
    names = [m.full_name for m in glue_order(list(message.file.message_types_by_name.values()))]
    return _write_varint(names.index(message.full_name))


def _read_apicurio(payload: bytes, value: bytes) -> tuple[Named, int]:
    """A ``Ref`` before the message. Where a header names the type, version 2 writes no ``Ref``, version 3 the same name again."""
    schema_id, name = schema_of(value)
    if name:
        shown = _text(name, "the type's header")
        before = _ref(name)
        return (schema_id, shown), len(before) if payload.startswith(before) else 0
    found, start = _read_ref(payload)
    return (schema_id, _text(found, "the Ref")), start


def _apicurio_prefix(value: bytes, message: Descriptor) -> bytes:
    """A ``Ref`` to the type in the header, or to the message."""
    return _ref(schema_of(value)[1] or message.name.encode())


def _read_indexed(payload: bytes, value: bytes) -> tuple[Named, int]:
    """Message indexes before the message; a name in a header says more than they do."""
    schema_id, name = schema_of(value)
    indexes, start = read_indexes(payload, 0)
    return (schema_id, _text(name, "the type's header") if name else indexes), start


def _indexed_prefix(_value: bytes, message: Descriptor) -> bytes:
    """The path of a message; Apicurio writes that of the first one in full."""
    return write_indexes(indexes_of(message), short=False)


def _read_both(payload: bytes, value: bytes) -> tuple[Named, int]:
    """A ``Ref``, then message indexes, in the order in which Apicurio's serialiser writes them."""
    named, at = _read_apicurio(payload, value)
    return named, read_indexes(payload, at)[1]


def _both_prefix(value: bytes, message: Descriptor) -> bytes:
    """A ``Ref`` and the path of a message."""
    return _apicurio_prefix(value, message) + _indexed_prefix(value, message)


def _ref(name: bytes) -> bytes:
    """A delimited ``Ref``."""
    inner = bytes([_NAME_TAG]) + _write_varint(len(name)) + name
    return _write_varint(len(inner)) + inner


def _read_ref(data: bytes) -> tuple[bytes, int]:
    """The name in a delimited ``Ref`` and where it ends."""
    size, start = _varint(data, 0, "the length of the Ref that names the message")
    end = start + size
    if end > len(data):
        raise BadValue(FRAMING, f"the Ref that names the message claims {size} bytes at byte {start} of the data, which has {len(data)}")
    if not size or data[start] != _NAME_TAG:
        found = f"byte {data[start]}" if size else "an empty one"
        raise BadValue(FRAMING, f"expected a Ref that names the message at byte {start} of the data, found {found}")
    length, at = _varint(data, start + 1, "the message's name")
    if at + length != end or not length:
        raise BadValue(FRAMING, f"the message's name of {length} bytes at byte {at} of the data does not fill its Ref, which ends at byte {end}")
    return data[at:end], end


def _text(name: bytes, where: str) -> str:
    """A name that may be one."""
    if len(name) > MOST_NAME:
        raise BadValue(FRAMING, f"{where} names a message with {len(name)} bytes; expected at most {MOST_NAME}")
    try:
        return name.decode("ascii")
    except UnicodeDecodeError as e:
        raise BadValue(FRAMING, f"{where} names no message: byte {e.start} of the name is {name[e.start]}") from None


def _varint(data: bytes, p: int, what: str) -> tuple[int, int]:
    """An unsigned number of 32 bits at ``p`` and the next position."""
    value = 0
    for at in range(_NUMBER_BYTES):
        if p + at >= len(data):
            raise BadValue(FRAMING, f"the data end inside {what}, at byte {p + at}")
        value |= (data[p + at] & _LOW7) << 7 * at
        if data[p + at] < _CONTINUED:
            if value > _MOST:
                break
            return value, p + at + 1
    raise BadValue(FRAMING, f"{what} at byte {p} of the data is no number of 32 bits: 0x{data[p : p + _NUMBER_BYTES].hex()}")


def _write_varint(value: int) -> bytes:
    """An unsigned number."""
    out = bytearray()
    while value > _LOW7:
        out.append(value & _LOW7 | _CONTINUED)
        value >>= 7
    out.append(value)
    return bytes(out)


NAMINGS: Final = {
    "protobuf-glue": Naming(_read_glue, _glue_prefix),
    "protobuf-apicurio": Naming(_read_apicurio, _apicurio_prefix),
    "indexes": Naming(_read_indexed, _indexed_prefix),
    "ref-indexes": Naming(_read_both, _both_prefix),
}
"""By format, or by what an envelope's option says."""
