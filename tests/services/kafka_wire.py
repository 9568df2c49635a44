"""Records that no client would send, written to a broker by hand: timestamps of 0 and -1, header keys that are not UTF-8."""

from __future__ import annotations

import socket
import struct
import time

from tests.oracle.record_batches import Batch, Record, text

_NOT_YET = {3, 5, 6}
"""The topic is not known, or not led, by the broker yet."""


def produce_raw(
    address: str, topic: str, value: bytes | None, *, timestamp_ms: int = 0, headers: tuple[tuple[bytes, bytes | None], ...] = (), partition: int = 0
) -> int:
    """Send one record in a batch of its own; its offset. The broker must lead the partition."""
    batch = Batch((Record(value, headers=headers),), stamp=timestamp_ms, latest=timestamp_ms).encode()
    body = (
        text(None) + struct.pack(">hi", -1, 10_000) + struct.pack(">i", 1) + text(topic)
        + struct.pack(">ii", 1, partition) + struct.pack(">i", len(batch)) + batch
    )
    request = struct.pack(">hhi", 0, 3, 1) + text("wire") + body
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


def _exactly(sock: socket.socket, count: int) -> bytes:
    """So many bytes."""
    out = b""
    while len(out) < count:
        part = sock.recv(count - len(out))

        assert part, "the broker closed the connection"

        out += part
    return out
