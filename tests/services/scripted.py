"""A Kafka broker of one connection that does what a test's script says, and nothing else."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from typing import TYPE_CHECKING, NamedTuple, Self

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Mapping

GOOD_VERSIONS = {1: (4, 18), 17: (0, 1), 36: (0, 2)}
"""Fetch and the two steps of a login, as of today."""


class Request(NamedTuple):
    """A request with header version 1."""

    api_key: int
    version: int
    correlation_id: int
    client_id: str
    body: bytes


class Peer:
    """The broker's end of a connection."""

    def __init__(self, sock: socket.socket) -> None:
        """A connected socket."""
        self.sock = sock
        sock.settimeout(20)

    def asked(self) -> Request:
        """The next request, whole."""
        (size,) = struct.unpack(">i", self._exactly(4))
        data = self._exactly(size)
        key, version, correlation_id, length = struct.unpack_from(">hhih", data)
        return Request(key, version, correlation_id, data[10 : 10 + length].decode(), data[10 + length :])

    def answer(self, correlation_id: int, body: bytes) -> None:
        """An answer with header version 0."""
        self.sock.sendall(struct.pack(">ii", len(body) + 4, correlation_id) + body)

    def tell_versions(self, known: Mapping[int, tuple[int, int]] = GOOD_VERSIONS, error: int = 0) -> Request:
        """Answer the question for versions."""
        request = self.asked()
        body = struct.pack(">hi", error, len(known)) + b"".join(struct.pack(">hhh", key, *versions) for key, versions in known.items())
        self.answer(request.correlation_id, body)
        return request

    def take_mechanism(self, *mechanisms: str, error: int = 0) -> Request:
        """Answer SaslHandshake."""
        request = self.asked()
        names = b"".join(struct.pack(">h", len(name)) + name.encode() for name in mechanisms)
        self.answer(request.correlation_id, struct.pack(">hi", error, len(mechanisms)) + names)
        return request

    def take_step(self, reply: Callable[[bytes], bytes], error: int = 0, message: str | None = None, lifetime_ms: int = 0) -> Request:
        """Answer SaslAuthenticate; ``reply`` is given what the client says."""
        request = self.asked()
        words = struct.pack(">h", -1) if message is None else struct.pack(">h", len(message)) + message.encode()
        data = reply(request.body[4:])
        self.answer(request.correlation_id, struct.pack(">h", error) + words + struct.pack(">i", len(data)) + data + struct.pack(">q", lifetime_ms))
        return request

    def ended(self) -> bool:
        """Whether the client goes away, with nothing more to say."""
        try:
            return self.sock.recv(1) == b""
        except ConnectionResetError:
            return True

    def _exactly(self, count: int) -> bytes:
        """So many bytes."""
        out = b""
        while len(out) < count:
            part = self.sock.recv(count - len(out))

            assert part, "the client closed the connection"

            out += part
        return out


class ScriptedBroker:
    """Listens on loopback, takes one connection and runs the script over it in a thread; what the script returns is ``said``."""

    def __init__(self, script: Callable[[Peer], object], tls: ssl.SSLContext | None = None) -> None:
        """With ``tls`` the connection is encrypted first."""
        self.said: object = None
        self._script, self._tls = script, tls
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._socket.settimeout(20)
        self.port = int(self._socket.getsockname()[1])
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        """Start."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Wait for the end."""
        self.join()
        self._socket.close()

    def join(self) -> None:
        """Wait until the script is through, and the connection closed."""
        self._thread.join(30)

        assert not self._thread.is_alive(), "the script does not end"

    def _run(self) -> None:
        """The connection's whole life."""
        sock, _ = self._socket.accept()
        with contextlib.ExitStack() as stack:
            stack.callback(sock.close)
            if self._tls is not None:
                sock.settimeout(20)
                try:
                    sock = stack.enter_context(self._tls.wrap_socket(sock, server_side=True))
                except OSError as e:  # the client does not like our certificate
                    self.said = e
                    return
            self.said = self._script(Peer(sock))
