"""Sockets to brokers: addresses that lead nowhere, certificates that do not hold, and answers over TLS."""

from __future__ import annotations

import contextlib
import select
import socket
import ssl
import struct
import threading
import time
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.services.certificates import made_certificates
from tests.services.process import free_ports
from tests.services.scripted import Peer, ScriptedBroker
from thalweg.native.rdkafka import Unproved
from thalweg.sources.kafka.fetch.access import access
from thalweg.sources.kafka.fetch.dial import LinkFailed, dial
from thalweg.sources.kafka.fetch.link import Link

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with certificates."""
    folder = tmp_path_factory.mktemp("certificates")
    made_certificates(folder)
    return folder


@pytest.fixture
def served(certificates: Path) -> ssl.SSLContext:
    """The broker's side of TLS."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates / "server.pem", certificates / "server.key")
    return context


def trusting(certificates: Path) -> ssl.SSLContext:
    """Our side of TLS."""
    return ssl.create_default_context(cafile=certificates / "ca.pem")


def soon(seconds: float = 20) -> float:
    """A deadline."""
    return time.monotonic() + seconds


@pytest.mark.parametrize(("host", "seconds", "reason"), [
    ("127.0.0.1", 20, "no connection: .*refused"), ("a..b", 20, "name is not known"), ("a\0b", 20, "name is not known"), ("127.0.0.1", 0, "no time is left"),
])
def test_a_broker_that_nobody_finds(host: str, seconds: float, reason: str) -> None:
    """A closed port, a name that is none, and a time that is over before it began."""
    with pytest.raises(LinkFailed, match=reason):
        dial(host, free_ports(1)[0], None, soon(seconds))


def test_every_address_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name with several addresses, one of a family that there is not, is reached by the first that listens."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        addresses = [("127.0.0.1", free_ports(1)[0]), listening.getsockname()]
        known = [(socket.AF_INET, socket.SOCK_STREAM, 0, "", address) for address in addresses]
        known.insert(0, (-2, socket.SOCK_STREAM, 0, "", addresses[0]))
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: known)
        sock = dial("broker", 1, None, soon())
        reached = sock.getpeername()
        sock.close()

        assert reached == listening.getsockname()


@pytest.mark.parametrize("closes", [True, False])
def test_a_broker_that_does_not_encrypt(certificates: Path, closes: bool) -> None:  # noqa: FBT001 - one column of a table
    """One that goes away has failed; one that speaks without TLS will never be ours."""

    def script(peer: Peer) -> bool:
        peer.sock.recv(5000)
        if closes:
            return True
        peer.sock.sendall(bytes(8))
        return peer.ended()

    expected = (LinkFailed, "instead of encrypting|broke before") if closes else (Unproved, "no encryption with .*WRONG_VERSION")
    with ScriptedBroker(script) as broker, pytest.raises(expected[0], match=expected[1]):
        dial("127.0.0.1", broker.port, trusting(certificates), soon())


def test_a_broker_that_never_encrypts(certificates: Path) -> None:
    """The handshake ends in time."""
    with ScriptedBroker(lambda peer: (peer.sock.recv(5000), peer.ended())) as broker, pytest.raises(LinkFailed, match="broke before it was encrypted"):
        dial("127.0.0.1", broker.port, trusting(certificates), soon(0.05))


def test_a_broker_that_nobody_vouches_for(served: ssl.SSLContext) -> None:
    """What the system's authorities do not know is left to the client."""
    with ScriptedBroker(lambda peer: peer.ended(), served) as broker, pytest.raises(Unproved, match="CERTIFICATE_VERIFY_FAILED"):
        dial("127.0.0.1", broker.port, ssl.create_default_context(), soon())

    assert isinstance(broker.said, ssl.SSLError)


def test_answers_over_tls(served: ssl.SSLContext, certificates: Path) -> None:
    """They arrive whole in pieces of any size; what is decrypted but not taken is known; the end shows."""
    data, seen = np.random.default_rng(1).bytes(3_000_000), threading.Event()

    def script(peer: Peer) -> None:
        peer.tell_versions()
        head = struct.pack(">ii", len(data) + 4, peer.asked().correlation_id)
        for piece in (head[:3], head[3:] + data[:5], data[5:20_000], data[20_000:] + b"stray"):
            peer.sock.sendall(piece)
        seen.wait(20)

    with ScriptedBroker(script, served) as broker:
        conf = {"security.protocol": "ssl", "ssl.ca.location": str(certificates / "ca.pem")}
        with contextlib.closing(Link.open("127.0.0.1", broker.port, access(conf), 20)) as link:
            link.send(1, 11, b"")
            while (found := link.receive()) is None:
                select.select([link], [], [], 20)

            assert found.tobytes() == data
            assert link.decrypted()

            first = link.receive()
            seen.set()
            broker.join()
            with pytest.raises(LinkFailed, match="closed the connection"):
                link.receive()

            assert first is None
            assert not link.decrypted()
