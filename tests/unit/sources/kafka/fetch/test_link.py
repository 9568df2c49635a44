"""Questions and answers over one connection: partial, large, false and missing answers, and brokers that go away."""

from __future__ import annotations

import dataclasses
import math
import select
import socket
import struct
import threading
import time
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.services.scripted import GOOD_VERSIONS, Peer, Request, ScriptedBroker
from thalweg.native.rdkafka import Unproved
from thalweg.sources.kafka.fetch.access import access
from thalweg.sources.kafka.fetch.link import Link, LinkFailed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy.typing as npt

MOST_BYTES = 8 << 20


@dataclasses.dataclass
class Pair:
    """A link, and the broker's end of it."""

    link: Link
    peer: Peer

    def asked(self, body: bytes = b"") -> Request:
        """A question that the broker has received."""
        self.link.send(1, 11, body)
        return self.peer.asked()

    def answer(self) -> npt.NDArray[np.uint8]:
        """The next answer, however many pieces it comes in."""
        while (found := self.link.receive()) is None:
            select.select([self.link], [], [], 20)
        return found


@pytest.fixture
def pair() -> Iterator[Pair]:
    """A connection without a network."""
    ours, theirs = socket.socketpair()
    link = Link(ours, access({"client.id": "twg-p", "receive.message.max.bytes": str(MOST_BYTES)}), "h:1")
    yield Pair(link, Peer(theirs))
    link.close()
    theirs.close()


def test_a_question(pair: Pair) -> None:
    """It has header version 1, and each has the next correlation id."""
    first, second = pair.link.send(1, 11, b"body"), pair.peer.asked()

    assert second == Request(1, 11, first, "twg-p", b"body")

    pair.peer.answer(first, b"")
    pair.answer()

    assert pair.link.send(1, 11, b"") == first + 1


def test_correlation_ids_start_again(pair: Pair) -> None:
    """They never grow beyond 31 bits."""
    pair.link._asked = 0x7FFFFFFF
    pair.link.send(1, 11, b"")

    assert pair.peer.asked().correlation_id == 0


def test_an_answer_byte_by_byte(pair: Pair) -> None:
    """It is there with its last byte and not before; asking for it never waits."""
    request = pair.asked()
    data = struct.pack(">ii", 4 + 5, request.correlation_id) + b"hello"
    early = []
    for i in range(len(data)):
        early.append(pair.link.receive())
        pair.peer.sock.sendall(data[i : i + 1])
    found = pair.link.receive()

    assert early == [None] * len(data)
    assert found is not None
    assert found.tobytes() == b"hello"
    assert (found.dtype, found.flags.c_contiguous) == (np.uint8, True)
    assert pair.link.receive() is None


def test_an_answer_without_content(pair: Pair) -> None:
    """An empty answer is an answer."""
    pair.peer.answer(pair.asked().correlation_id, b"")

    assert pair.answer().tobytes() == b""


def test_large_answers_share_one_buffer(pair: Pair) -> None:
    """A large answer arrives whole; what is smaller comes into the same memory, what is larger into more of it."""
    sizes, seen = [5_000_000, 1000, 4_000_000, 6_000_000], []
    for size in sizes:
        data = np.random.default_rng(size).bytes(size)
        writer = threading.Thread(target=pair.peer.answer, args=(pair.asked().correlation_id, data))
        writer.start()
        seen.append(pair.answer())
        writer.join()

        assert seen[-1].tobytes() == data

    assert [np.shares_memory(seen[0], other) for other in seen] == [True, True, True, False]


@pytest.mark.parametrize(("head", "reason"), [
    ((9, 7), "another question"),
    ((3, 1), "3 bytes is no answer"),
    ((-1, 1), "-1 bytes is no answer"),
    ((MOST_BYTES + 1, 1), r"more than 'receive\.message\.max\.bytes'"),
])
def test_false_answers(pair: Pair, head: tuple[int, int], reason: str) -> None:
    """A wrong correlation id and an impossible size end the connection before any memory is taken."""
    pair.asked()
    pair.peer.sock.sendall(struct.pack(">ii", *head))
    with pytest.raises(LinkFailed, match=reason):
        pair.answer()

    assert len(pair.link._buffer) == 0


def test_an_answer_that_nobody_asked_for(pair: Pair) -> None:
    """It is not taken for the next one."""
    request = pair.asked()
    pair.peer.answer(request.correlation_id, b"x")
    pair.answer()
    pair.peer.answer(request.correlation_id, b"x")
    with pytest.raises(LinkFailed, match="another question"):
        pair.answer()


@pytest.mark.parametrize("sent", [b"", b"\0\0", struct.pack(">ii", 9, 1) + b"he"])
def test_a_broker_that_goes_away(pair: Pair, sent: bytes) -> None:
    """The end of the stream shows while an answer is missing, wherever it is cut."""
    pair.asked()
    pair.peer.sock.sendall(sent)
    pair.peer.sock.close()
    with pytest.raises(LinkFailed, match="h:1: the broker closed the connection"):
        pair.answer()


def test_a_broker_that_goes_away_from_an_idle_connection(pair: Pair) -> None:
    """The end of the stream shows although nothing was asked."""
    pair.peer.sock.close()
    with pytest.raises(LinkFailed, match="closed the connection"):
        pair.link.receive()


def test_a_question_to_a_broker_that_is_gone(pair: Pair) -> None:
    """It fails at once."""
    pair.peer.sock.close()
    with pytest.raises(LinkFailed, match="h:1: the connection broke: Broken pipe"):
        pair.link.send(1, 11, b"")


def test_one_question_at_a_time(pair: Pair) -> None:
    """A second question before the answer is a mistake of ours."""
    pair.asked()
    with pytest.raises(RuntimeError, match="one thing at a time"):
        pair.link.send(1, 11, b"")


def test_a_long_question(pair: Pair) -> None:
    """What does not fit into the socket at once is sent as there is room."""
    asked: list[Request] = []
    reader = threading.Thread(target=lambda: asked.append(pair.peer.asked()))
    reader.start()
    pair.link.send(1, 11, bytes(3_000_000))
    reader.join(20)

    assert [len(request.body) for request in asked] == [3_000_000]


def test_a_broker_that_takes_no_question(pair: Pair) -> None:
    """Sending gives up."""
    with pytest.raises(LinkFailed, match="not answer in time"):
        pair.link._send(1, 11, bytes(3_000_000), time.monotonic() + 0.02)


def test_a_failed_link(pair: Pair) -> None:
    """Whoever goes on with it is told the same again; a selector finds its socket until it is closed."""
    pair.peer.answer(pair.asked().correlation_id + 1, b"x")
    for again in (pair.answer, pair.answer, lambda: pair.link.send(1, 11, b"")):
        with pytest.raises(LinkFailed, match="another question"):
            again()

    assert pair.link.fileno() >= 0


def test_a_closed_link(pair: Pair) -> None:
    """It may be closed again, and is of no use."""
    pair.link.close()
    pair.link.close()

    assert (pair.link.fileno(), pair.link.decrypted()) == (-1, False)

    with pytest.raises(LinkFailed, match="the connection broke"):
        pair.link.receive()


# -- opening


def opened(broker: ScriptedBroker, seconds: float = 20, **conf: str) -> Link:
    """A connection to the broker; underscores of the properties are dots."""
    return Link.open("127.0.0.1", broker.port, access({key.replace("_", "."): value for key, value in conf.items()}), seconds)


def refused(script: Callable[[Peer], object], kind: type[Exception], reason: str, **conf: str) -> str:
    """What is said of a broker to which no connection opens; it sees the end of the attempt."""
    with ScriptedBroker(lambda peer: (script(peer), peer.ended())) as broker, pytest.raises(kind, match=reason) as caught:
        opened(broker, **conf)

    assert isinstance(broker.said, tuple)
    assert broker.said[1]

    return str(caught.value)


def login(mechanism: str) -> dict[str, str]:
    """Properties of alice."""
    return {"security_protocol": "sasl_plaintext", "sasl_mechanism": mechanism, "sasl_username": "alice", "sasl_password": "wonderland"}


def test_versions_are_asked_first() -> None:
    """A connection begins with ApiVersions, and is in nobody's way: no delay, kept alive, never waiting."""
    with ScriptedBroker(lambda peer: (peer.tell_versions(), peer.ended())) as broker:
        link = opened(broker, client_id="twg-p")
        options = [link._sock.getsockopt(*name) for name in ((socket.IPPROTO_TCP, socket.TCP_NODELAY), (socket.SOL_SOCKET, socket.SO_KEEPALIVE))]
        waits = link._sock.getblocking()
        link.close()

    assert broker.said == (Request(18, 0, 1, "twg-p", b""), True)
    assert (options, waits) == ([1, 1], False)


@pytest.mark.parametrize("known", [{}, {1: (0, 10)}, {1: (12, 18)}])
def test_a_broker_without_our_fetch(known: dict[int, tuple[int, int]]) -> None:
    """What the broker will never answer is not proved."""
    refused(lambda peer: peer.tell_versions(known), Unproved, "does not know version 11 of Fetch")


def test_a_broker_without_our_login() -> None:
    """The login's two steps count too, for those who log in."""
    known = {**GOOD_VERSIONS, 36: (0, 0)}

    refused(lambda peer: peer.tell_versions(known), Unproved, "version 1 of SaslAuthenticate", **login("PLAIN"))


def test_versions_that_are_no_answer() -> None:
    """An error and a torn answer end the attempt."""
    refused(lambda peer: peer.tell_versions({}, error=35), LinkFailed, "error 35 when asked for its versions")
    refused(lambda peer: peer.answer(peer.asked().correlation_id, b"\0"), LinkFailed, "too short")


def test_a_silent_broker() -> None:
    """The attempt ends in time, although the connection stands."""
    with ScriptedBroker(lambda peer: (peer.asked(), peer.ended())) as broker, pytest.raises(LinkFailed, match="not answer in time"):
        opened(broker, 0.05)


def test_a_plain_login() -> None:
    """User and password go out once the broker takes the mechanism."""
    with ScriptedBroker(lambda peer: (peer.tell_versions(), peer.take_mechanism("PLAIN"), peer.take_step(lambda _: b""))) as broker:
        opened(broker, **login("PLAIN")).close()

    assert isinstance(broker.said, tuple)
    assert [(r.api_key, r.version, r.body) for r in broker.said[1:]] == [(17, 1, b"\0\5PLAIN"), (36, 1, b"\0\0\0\x11\0alice\0wonderland")]


def test_a_login_that_ends() -> None:
    """Before its life is over it is shown again, ahead of the next question; the last answer stays as it is."""

    def script(peer: Peer) -> list[Request]:
        peer.tell_versions()
        peer.take_mechanism("PLAIN")
        peer.take_step(lambda _: b"", lifetime_ms=1)
        peer.answer(peer.asked().correlation_id, b"first")
        seen = [peer.take_mechanism("PLAIN"), peer.take_step(lambda _: bytes(9)), peer.asked()]
        peer.answer(seen[-1].correlation_id, b"other")
        return seen

    with ScriptedBroker(script) as broker:
        both = Pair(opened(broker, **login("PLAIN")), Peer(socket.socket()))
        both.link._renew_at = math.inf
        both.link.send(1, 11, b"")
        first = both.answer()
        both.link._renew_at = 0
        both.link.send(1, 11, b"")
        kept = first.tobytes()

        assert both.answer().tobytes() == b"other"

        both.link.close()
        both.peer.sock.close()

    assert kept == b"first"
    assert isinstance(broker.said, list)
    assert [request.api_key for request in broker.said] == [17, 36, 1]


def test_a_mechanism_that_is_not_taken() -> None:
    """The broker's mechanisms are told; one that has none says so."""
    for said, reason in ((("PLAIN", "GSSAPI"), "not take SCRAM-SHA-256, but PLAIN, GSSAPI"), ((), "but no login, error 33")):
        refused(lambda peer, said=said: (peer.tell_versions(), peer.take_mechanism(*said, error=33)), LinkFailed, reason, **login("SCRAM-SHA-256"))


def test_a_refused_login() -> None:
    """The broker's words are told without the password, its error where it has none."""
    for words, reason in (("no wonderland for you", "refuses alice: .* for you"), (None, "refuses alice: 58")):
        said = refused(
            lambda peer, words=words: (peer.tell_versions(), peer.take_mechanism("PLAIN"), peer.take_step(lambda _: b"", 58, words)),
            LinkFailed, reason, **login("PLAIN"),
        )

        assert "wonderland" not in said


def test_a_broker_that_does_not_know_the_password() -> None:
    """A server that cannot sign is not believed, whatever it lets us do."""

    def script(peer: Peer) -> None:
        peer.tell_versions()
        peer.take_mechanism("SCRAM-SHA-512")
        peer.take_step(lambda first: b"r=" + first.rpartition(b"r=")[2] + b"theirs,s=c2FsdA==,i=4096")
        peer.take_step(lambda _: b"v=c2FsdA==")

    refused(script, LinkFailed, "login as alice fails: the broker's signature is wrong", **login("SCRAM-SHA-512"))
