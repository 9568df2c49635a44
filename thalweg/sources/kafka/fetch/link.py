"""One connection to one broker, for the one thread that reads."""

from __future__ import annotations

import contextlib
import math
import select
import ssl
import time
from typing import TYPE_CHECKING, Final

import numpy as np

from thalweg.model.options import REDACTED
from thalweg.native.rdkafka import Unproved
from thalweg.sources.kafka.fetch import wire
from thalweg.sources.kafka.fetch.access import PLAIN
from thalweg.sources.kafka.fetch.dial import LinkFailed, dial
from thalweg.sources.kafka.fetch.scram import Scram, ScramFailed

if TYPE_CHECKING:
    import socket
    from typing import Self

    import numpy.typing as npt

    from thalweg.sources.kafka.fetch.access import Access, Login

__all__ = ["Link", "LinkFailed"]

_NEEDED: Final = {"Fetch": (1, 11)}
"""Requests that a broker must know, by key and version."""
_NEEDED_TO_LOG_IN: Final = {"SaslHandshake": (wire.SASL_HANDSHAKE, 1), "SaslAuthenticate": (wire.SASL_AUTHENTICATE, 1)}
_ID_BYTES: Final = 4
_SEND_SECONDS: Final = 10.0
_STEP: Final = 1 << 18
"""The buffer grows by multiples of this."""
_RENEWED: Final = 0.8
"""Part of a login's life after which it is shown again."""
_LONGEST_WORDS: Final = 300
_NOT_YET: Final = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


class Link:
    """Asks one broker one thing at a time; belongs to one thread."""

    def __init__(self, sock: socket.socket, access: Access, name: str) -> None:
        """Take a socket that is connected, and encrypted where it has to be; ``name`` is what errors call the broker."""
        sock.setblocking(False)  # noqa: FBT003 - the name of the method says it
        self._sock = sock
        self._access = access
        self._name = name
        self._asked = 0
        self._outstanding = False
        self._head = memoryview(bytearray(wire.HEAD.size))
        self._head_bytes = 0
        self._buffer: npt.NDArray[np.uint8] = np.empty(0, np.uint8)
        self._size = 0
        self._bytes = 0
        self.received = 0
        """Bytes that have come so far."""
        self._renew_at = math.inf
        self._fault = ""

    @classmethod
    def open(cls, host: str, port: int, access: Access, seconds: float) -> Self:
        """Connect, encrypt, see what the broker can do, and log in, all within ``seconds``; raises LinkFailed, or Unproved where it never will."""
        name, deadline = f"{host}:{port}", time.monotonic() + seconds
        link = cls(dial(host, port, access.tls, deadline), access, name)
        try:
            link._check_versions(deadline)
            if access.login is not None:
                link._log_in(access.login, deadline)
        except BaseException:
            link.close()
            raise
        return link

    def send(self, api_key: int, version: int, body: bytes) -> int:
        """Ask, and return the correlation id; never before the last answer is whole. Raises LinkFailed, after ten seconds at most."""
        deadline = time.monotonic() + _SEND_SECONDS
        login = self._access.login
        if login is not None and time.monotonic() >= self._renew_at and not self._outstanding:
            kept, self._buffer = self._buffer, np.empty(0, np.uint8)  # the last answer is still being read
            self._log_in(login, deadline)
            self._buffer = kept
        return self._send(api_key, version, body, deadline)

    def receive(self) -> npt.NDArray[np.uint8] | None:
        """What follows the correlation id of the answer, valid until the next one; None where it has not come yet. Never waits; raises LinkFailed."""
        if self._fault:
            raise LinkFailed(self._fault)
        if self._head_bytes < len(self._head):
            self._head_bytes = self._fill(self._head, self._head_bytes, len(self._head))
            if self._head_bytes < len(self._head):
                return None
            self._size = self._announced()
        self._bytes = self._fill(self._buffer.data, self._bytes, self._size)
        if self._bytes < self._size:
            return None
        self._head_bytes = self._bytes = 0
        self._outstanding = False
        return self._buffer[: self._size]

    def fileno(self) -> int:
        """For a selector."""
        return self._sock.fileno()

    def decrypted(self) -> bool:
        """Whether bytes are there already of which a selector says nothing."""
        return isinstance(self._sock, ssl.SSLSocket) and self._sock.fileno() >= 0 and self._sock.pending() > 0

    def close(self) -> None:
        """End the connection; never raises, and may be called again."""
        with contextlib.suppress(OSError):
            self._sock.close()

    def _fill(self, view: memoryview, have: int, need: int) -> int:
        """Receive into its place whatever has come; how much of it there is now."""
        receive_into = self._sock.recv_into
        while have < need:
            try:
                got = receive_into(view[have:need])
            except _NOT_YET:
                break
            except OSError as e:
                raise self._failed(f"the connection broke: {e.strerror or e}") from None
            if not got:
                raise self._failed("the broker closed the connection")
            have += got
            self.received += got
        return have

    def _announced(self) -> int:
        """The size of the answer that the head announces, for which there is room then."""
        announced, correlation_id = wire.HEAD.unpack(self._head)
        size = int(announced) - _ID_BYTES
        if size < 0 or announced > self._access.most_bytes:
            raise self._failed(f"an answer of {announced} bytes is no answer, or more than 'receive.message.max.bytes'")
        if not self._outstanding or correlation_id != self._asked:
            raise self._failed("an answer to another question has come")
        if size > len(self._buffer):
            self._buffer = np.empty(0, np.uint8)  # the smaller one goes before the larger one comes
            self._buffer = np.empty(-(-size // _STEP) * _STEP, np.uint8)
        return size

    def _send(self, api_key: int, version: int, body: bytes, deadline: float) -> int:
        """Ask before ``deadline``."""
        if self._fault:
            raise LinkFailed(self._fault)
        if self._outstanding:
            raise RuntimeError("a broker is asked one thing at a time")
        self._asked = (self._asked + 1) & 0x7FFFFFFF
        left = memoryview(wire.frame(api_key, version, self._asked, self._access.client_id, body))
        while left:
            try:
                left = left[self._sock.send(left) :]
            except _NOT_YET as e:
                self._wait(select.POLLIN if isinstance(e, ssl.SSLWantReadError) else select.POLLOUT, deadline)
            except OSError as e:
                raise self._failed(f"the connection broke: {e.strerror or e}") from None
        self._outstanding = True
        return self._asked

    def _wait(self, what: int, deadline: float) -> None:
        """Until the socket is ready, but no longer than the deadline."""
        poll = select.poll()
        poll.register(self._sock, what)
        left = deadline - time.monotonic()
        if left <= 0 or not poll.poll(math.ceil(left * 1000)):
            raise self._failed("the broker does not answer in time")

    def _ask(self, api_key: int, version: int, body: bytes, deadline: float) -> bytes:
        """The answer to a question before ``deadline``."""
        self._send(api_key, version, body, deadline)
        while (answer := self.receive()) is None:
            self._wait(select.POLLIN, deadline)
        return answer.tobytes()

    def _check_versions(self, deadline: float) -> None:
        """See to it that the broker knows what we will ask; it answers this before anybody has logged in."""
        try:
            error, known = wire.api_versions(self._ask(wire.API_VERSIONS, 0, b"", deadline))
        except ValueError as e:
            raise self._failed(f"{e}") from None
        if error:
            raise self._failed(f"the broker answers with error {error} when asked for its versions")
        for name, (key, version) in (_NEEDED if self._access.login is None else {**_NEEDED, **_NEEDED_TO_LOG_IN}).items():
            first, last = known.get(key, (0, -1))
            if not first <= version <= last:
                raise Unproved(f"the broker {self._name} does not know version {version} of {name}")

    def _log_in(self, login: Login, deadline: float) -> None:
        """Show who we are; a broker may want to see it again after a while, on the same connection."""
        self._renew_at = math.inf
        try:
            answer = wire.sasl_handshake(self._ask(wire.SASL_HANDSHAKE, 1, wire.text(login.mechanism), deadline))
            if answer.error:
                known = ", ".join(answer.mechanisms) or f"no login, error {answer.error}"
                raise self._failed(f"the broker does not take {login.mechanism}, but {known}"[:_LONGEST_WORDS])
            if login.mechanism == PLAIN:
                self._step(login, f"\0{login.username}\0{login.password}".encode(), deadline)
                return
            scram = Scram(login.mechanism, login.username, login.password)
            proof = scram.final(self._step(login, scram.first(), deadline))
            scram.verify(self._step(login, proof, deadline))
        except (ScramFailed, ValueError) as e:
            raise self._failed(_scrubbed(f"the login as {login.username} fails: {e}", login)) from None

    def _step(self, login: Login, data: bytes, deadline: float) -> bytes:
        """What the broker says to one message of the mechanism."""
        answer = wire.sasl_authenticate(self._ask(wire.SASL_AUTHENTICATE, 1, wire.sized(data), deadline))
        if answer.error:
            raise self._failed(_scrubbed(f"the broker refuses {login.username}: {answer.message or answer.error}", login))
        if answer.lifetime_ms > 0:
            self._renew_at = time.monotonic() + answer.lifetime_ms / 1000 * _RENEWED
        return answer.data

    def _failed(self, reason: str) -> LinkFailed:
        """To be raised, now and whenever the connection is used again; the socket stays open for the selector that it may be in."""
        self._fault = f"{self._name}: {reason}"
        return LinkFailed(self._fault)


def _scrubbed(words: str, login: Login) -> str:
    """What may be shown of the broker's words."""
    return words.replace(login.password, REDACTED)[:_LONGEST_WORDS]
