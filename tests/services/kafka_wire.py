"""Records that no client would send, written to a broker by hand: timestamps of 0 and -1, header keys that are not UTF-8."""

from __future__ import annotations

import socket
import struct
import time
from functools import cache
from itertools import chain

_NOT_YET = {3, 5, 6}
"""The topic is not known, or not led, by the broker yet."""
_POLYNOMIAL = 0x82F63B78


def produce_raw(
    address: str, topic: str, value: bytes | None, *, timestamp_ms: int = 0, headers: tuple[tuple[bytes, bytes | None], ...] = (), partition: int = 0
) -> int:
    """Send one record in a batch of its own; its offset. The broker must lead the partition."""
    batch = _batch(_record(value, headers), timestamp_ms)
    body = (
        _text(None) + struct.pack(">hi", -1, 10_000) + struct.pack(">i", 1) + _text(topic)
        + struct.pack(">ii", 1, partition) + struct.pack(">i", len(batch)) + batch
    )
    request = struct.pack(">hhi", 0, 3, 1) + _text("wire") + body
    for _ in range(50):
        error, offset = _asked(address, request)
        if error not in _NOT_YET:
            break
        time.sleep(0.1)

    assert error == 0, f"the broker answers with error {error}"

    return offset


def _asked(address: str, request: bytes) -> tuple[int, int]:
    """Error code and offset that one request is answered with."""
    host, _, port = address.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=10) as sock:
        sock.sendall(struct.pack(">i", len(request)) + request)
        answer = _exactly(sock, struct.unpack(">i", _exactly(sock, 4))[0])
    at = 8 + 2 + struct.unpack(">h", answer[8:10])[0] + 4
    _, error, offset = struct.unpack(">ihq", answer[at : at + 14])
    return int(error), int(offset)


def _record(value: bytes | None, headers: tuple[tuple[bytes, bytes | None], ...]) -> bytes:
    """One record of a batch: no deltas, no key."""
    body = b"\x00" + _varint(0) + _varint(0) + _sized(None) + _sized(value) + _varint(len(headers))
    body += b"".join(chain.from_iterable((_sized(key), _sized(content)) for key, content in headers))
    return _varint(len(body)) + body


def _batch(record: bytes, timestamp_ms: int) -> bytes:
    """A batch of one record, format 2."""
    tail = struct.pack(">hiqqqhii", 0, 0, timestamp_ms, timestamp_ms, -1, -1, -1, 1) + record
    return struct.pack(">qiibI", 0, len(tail) + 9, 0, 2, _crc32c(tail)) + tail


def _varint(number: int) -> bytes:
    """Zigzag varint."""
    left, out = (number << 1) ^ (number >> 63), bytearray()
    while left > 0x7F:
        out.append(left & 0x7F | 0x80)
        left >>= 7
    out.append(left)
    return bytes(out)


def _sized(data: bytes | None) -> bytes:
    """Bytes with their length in front; -1 for none."""
    return _varint(-1) if data is None else _varint(len(data)) + data


def _text(value: str | None) -> bytes:
    """A string of the request format."""
    return struct.pack(">h", -1) if value is None else struct.pack(">h", len(value.encode())) + value.encode()


def _exactly(sock: socket.socket, count: int) -> bytes:
    """So many bytes."""
    out = b""
    while len(out) < count:
        part = sock.recv(count - len(out))

        assert part, "the broker closed the connection"

        out += part
    return out


@cache
def _crc_table() -> tuple[int, ...]:
    """CRC-32C, one byte at a time."""
    table = []
    for start in range(256):
        crc = start
        for _ in range(8):
            crc = (crc >> 1) ^ (_POLYNOMIAL if crc & 1 else 0)
        table.append(crc)
    return tuple(table)


def _crc32c(data: bytes) -> int:
    """The checksum of a batch."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = (crc >> 8) ^ _crc_table()[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF
