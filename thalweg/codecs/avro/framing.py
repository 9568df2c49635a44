"""Which schema a payload was written with: Confluent's header or its prefix."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Final

import pyarrow.compute as pc

from thalweg.arrow.rows import FRAMING, BadValue

if TYPE_CHECKING:
    import pyarrow as pa

PREFIX_BYTES: Final = 5
_ID_HEADER_BYTES: Final = 5
_GUID_HEADER_BYTES: Final = 17
_SINGLE_OBJECT: Final = b"\xc3\x01"


def header_name(*, is_key: bool) -> str:
    """The header that carries a schema's id or GUID."""
    return "__key_schema_id" if is_key else "__value_schema_id"


def header_values(headers: pa.ListArray | None, name: str) -> list[bytes | None] | None:
    """For each record its last header ``name`` (b"" where its value is NULL); None where no record has one."""
    if headers is None or not pc.any(pc.equal(headers.flatten().field(0), name)).as_py():
        return None
    out: list[bytes | None] = []
    for found in headers.to_pylist():
        last = None
        for header in found or ():
            if header["key"] == name:
                last = header["value"] or b""
        out.append(last)
    return out


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
    if payload.startswith(_SINGLE_OBJECT):
        raise BadValue(FRAMING, "expected magic byte 0 and a schema id; the payload looks like Avro single-object encoding (c3 01)")
    if payload[0] == 0:
        raise BadValue(FRAMING, f"expected magic byte 0 and a 4-byte schema id, found {len(payload)} bytes")
    looks = "; it looks like JSON" if payload.lstrip()[:1] in {b"{", b"["} else ""
    raise BadValue(FRAMING, f"expected magic byte 0 and a schema id, found byte {payload[0]}{looks}")
