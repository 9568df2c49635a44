"""Kafka's wire format as far as opening a connection needs it: request frames, ApiVersions, SaslHandshake, SaslAuthenticate.

Decoders raise ValueError for an answer that is not what it should be.
"""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

API_VERSIONS: Final = 18
SASL_HANDSHAKE: Final = 17
SASL_AUTHENTICATE: Final = 36
HEAD: Final = struct.Struct(">ii")
"""What every answer starts with: the bytes that follow the size, and the correlation id, which is counted in it."""
_REQUEST: Final = struct.Struct(">ihhi")
_SHORT: Final = struct.Struct(">h")
_INT: Final = struct.Struct(">i")
_LONG: Final = struct.Struct(">q")
_RANGE: Final = struct.Struct(">hhh")


class Handshake(NamedTuple):
    """What the broker says to a mechanism."""

    error: int
    mechanisms: list[str]


class Authenticated(NamedTuple):
    """One step of an authentication."""

    error: int
    message: str
    data: bytes
    lifetime_ms: int
    """After so long the broker wants to see the login again; 0 for never."""


def frame(api_key: int, version: int, correlation_id: int, client_id: str, body: bytes) -> bytes:
    """A whole request with header version 1."""
    name = text(client_id)
    return _REQUEST.pack(8 + len(name) + len(body), api_key, version, correlation_id) + name + body


def text(value: str) -> bytes:
    """A string with its length in front."""
    data = value.encode()
    return _SHORT.pack(len(data)) + data


def sized(data: bytes) -> bytes:
    """Bytes with their length in front; the body of SaslAuthenticate version 1."""
    return _INT.pack(len(data)) + data


class _Reader:
    """Walks through an answer."""

    def __init__(self, data: bytes) -> None:
        """Start at the first byte."""
        self._data, self._at = data, 0

    def number(self, layout: struct.Struct) -> int:
        """One number."""
        return int(layout.unpack(self.take(layout.size))[0])

    def take(self, count: int) -> bytes:
        """So many bytes."""
        part = self._data[self._at : self._at + count] if count >= 0 else b""
        if len(part) != count:
            raise ValueError("an answer of the broker is too short")
        self._at += count
        return part

    def text(self) -> str:
        """A string; empty for none."""
        return self.take(max(self.number(_SHORT), 0)).decode(errors="replace")


def api_versions(data: bytes) -> tuple[int, dict[int, tuple[int, int]]]:
    """ApiVersions version 0: the error code, and the first and last version of each request by its key."""
    reader = _Reader(data)
    error = reader.number(_SHORT)
    found = (_RANGE.unpack(reader.take(_RANGE.size)) for _ in range(reader.number(_INT)))
    return error, {key: (first, last) for key, first, last in found}


def sasl_handshake(data: bytes) -> Handshake:
    """SaslHandshake version 1."""
    reader = _Reader(data)
    return Handshake(reader.number(_SHORT), [reader.text() for _ in range(reader.number(_INT))])


def sasl_authenticate(data: bytes) -> Authenticated:
    """SaslAuthenticate version 1."""
    reader = _Reader(data)
    return Authenticated(reader.number(_SHORT), reader.text(), reader.take(max(reader.number(_INT), 0)), reader.number(_LONG))
