"""Connections of our own against a real broker: every way to log in, over TLS and without, and what a broker says that refuses."""

from __future__ import annotations

import select
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.service.kafka_topics import Readers, new_topic, send
from tests.services.kafka import KafkaServer, make_kafka
from tests.services.process import need_tools
from thalweg.native.rdkafka import Unproved
from thalweg.sources.kafka.fetch.access import access
from thalweg.sources.kafka.fetch.link import Link, LinkFailed
from thalweg.sources.kafka.fetch.wire import API_VERSIONS, api_versions

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

pytestmark = pytest.mark.service

LOGIN = {"sasl.username": "alice", "sasl.password": "wonderland"}


@pytest.fixture(scope="module")
def short_logins(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaServer]:
    """A broker that believes a login for two seconds."""
    need_tools()
    server = make_kafka(tmp_path_factory.mktemp("short") / "kafka", "connections.max.reauth.ms=2000")
    server.start()
    yield server
    server.kill()


def conf(server: Mapping[str, Any], protocol: str, **more: str) -> dict[str, str]:
    """Properties of a client that trusts the broker's authority; underscores are dots."""
    trust = {"ssl.ca.location": f"{server['certificates']}/ca.pem"} if protocol.endswith("ssl") else {}
    return {"security.protocol": protocol, **trust, **{key.replace("_", "."): value for key, value in more.items()}}


def opened(address: str, properties: Mapping[str, str]) -> Link:
    """A connection to the broker."""
    host, _, port = address.rpartition(":")
    return Link.open(host, int(port), access(properties), 30)


def knows_fetch(link: Link) -> bool:
    """Whether the broker answers one more question over the connection."""
    link.send(API_VERSIONS, 0, b"")
    while (answer := link.receive()) is None:
        select.select([link], [], [], 30)
    error, known = api_versions(answer.tobytes())
    return error == 0 and 1 in known


def test_without_encryption(kafka_server: dict[str, Any]) -> None:
    """A broker that asks for nothing is connected at once."""
    link = opened(kafka_server["address"], {})

    assert knows_fetch(link)

    link.close()


@pytest.mark.parametrize(("listener", "mechanism"), [
    ("sasl", "PLAIN"), ("sasl_ssl", "PLAIN"), ("sasl_ssl", "SCRAM-SHA-256"), ("sasl_ssl", "SCRAM-SHA-512"),
])
def test_every_login(kafka_server: dict[str, Any], listener: str, mechanism: str) -> None:
    """Each mechanism logs in, over TLS too, and questions are answered afterwards."""
    protocol = "sasl_ssl" if listener == "sasl_ssl" else "sasl_plaintext"
    link = opened(kafka_server[listener], {**conf(kafka_server, protocol, sasl_mechanism=mechanism), **LOGIN})

    assert knows_fetch(link)
    assert knows_fetch(link)

    link.close()


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512"])
def test_a_login_that_ends(short_logins: KafkaServer, mechanism: str) -> None:
    """A broker that wants to see a login every two seconds keeps the connection for longer than that."""
    facts = short_logins.facts
    link = opened(facts["sasl_ssl"], {**conf(facts, "sasl_ssl", sasl_mechanism=mechanism), **LOGIN})
    until, answers = time.monotonic() + 4.5, set()
    while time.monotonic() < until:
        answers.add(knows_fetch(link))

    assert answers == {True}

    link.close()


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_a_wrong_password(kafka_server: dict[str, Any], mechanism: str) -> None:
    """The broker's own words say that the login has failed; the password is not in them."""
    properties = {**conf(kafka_server, "sasl_ssl", sasl_mechanism=mechanism), **LOGIN, "sasl.password": "looking-glass"}
    with pytest.raises(LinkFailed, match=r"refuses alice: Authentication failed") as caught:
        opened(kafka_server["sasl_ssl"], properties)

    assert "looking-glass" not in str(caught.value)


def test_a_mechanism_that_the_broker_has_not(kafka_server: dict[str, Any]) -> None:
    """The message says which ones it has."""
    properties = {**conf(kafka_server, "sasl_plaintext", sasl_mechanism="SCRAM-SHA-512"), **LOGIN}
    with pytest.raises(LinkFailed, match=r"does not take SCRAM-SHA-512, but PLAIN"):
        opened(kafka_server["sasl"], properties)


@pytest.mark.parametrize("form", ["location", "pem"])
def test_a_certificate_of_our_own(kafka_server: dict[str, Any], form: str) -> None:
    """A broker that wants to see a certificate is shown it, from a file or from the text itself."""
    folder = kafka_server["certificates"]
    given = {"ssl.ca": "ca.pem", "ssl.certificate": "client.pem", "ssl.key": "client.key"}
    properties = {f"{key}.{form}": f"{folder}/{name}" for key, name in given.items()}
    if form == "pem":
        properties = {key: Path(path).read_text(encoding="ascii") for key, path in properties.items()}
    link = opened(kafka_server["ssl"], {"security.protocol": "ssl", **properties})

    assert knows_fetch(link)

    link.close()


def test_without_the_certificate(kafka_server: dict[str, Any]) -> None:
    """The broker ends a connection without one."""
    with pytest.raises(LinkFailed, match=r"certificate|closed"):
        opened(kafka_server["ssl"], conf(kafka_server, "ssl"))


def test_a_broker_that_nobody_vouches_for(kafka_server: dict[str, Any]) -> None:
    """A certificate of an unknown authority, and a name that it does not hold for, are left to the client; the name may be left unchecked."""
    login = {"sasl.mechanism": "PLAIN", **LOGIN}
    with pytest.raises(Unproved, match="CERTIFICATE_VERIFY_FAILED"):
        opened(kafka_server["sasl_ssl"], {"security.protocol": "sasl_ssl", **login})
    elsewhere = kafka_server["sasl_ssl"].replace("127.0.0.1", "localhost")
    properties = {**conf(kafka_server, "sasl_ssl"), **login}
    with pytest.raises(Unproved, match="CERTIFICATE_VERIFY_FAILED"):
        opened(elsewhere, properties)
    link = opened(elsewhere, {**properties, "ssl.endpoint.identification.algorithm": "none"})

    assert knows_fetch(link)

    link.close()


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512"])
def test_records_over_tls_behind_a_login(kafka_server: dict[str, Any], mechanism: str) -> None:
    """The same properties serve the client and the connections beside it; every record comes through the latter."""
    topic = new_topic(kafka_server["address"], 2)
    for index in range(2):
        send(kafka_server["address"], topic, [b"%d" % i for i in range(5_000)], index)
    properties = {**conf(kafka_server, "sasl_ssl", sasl_mechanism=mechanism), **LOGIN}
    readers = Readers(kafka_server["sasl_ssl"], "fetch")
    reading = readers.bounded(topic, {f"properties.{key}": value for key, value in properties.items()})
    way = reading.source._tap.way
    readers.close()

    assert way == "fetch"
    for index in range(2):
        assert reading.values(index) == [b"%d" % i for i in range(5_000)]
