"""Brokers that are down, restart, or refuse: what the user is told, and what is lost (nothing)."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from tests.service.kafka_topics import Readers, delete_topic, new_topic, send
from tests.services.process import free_ports
from thalweg.errors import SourceFailed, UserError
from thalweg.model.events import CommitFailed, Notice
from thalweg.model.position import Partition
from thalweg.testing.reading import RELATION, check_spans

if TYPE_CHECKING:
    from tests.services.kafka import KafkaServer

pytestmark = pytest.mark.service
SASL = {
    "properties.security.protocol": "SASL_PLAINTEXT", "properties.sasl.mechanism": "PLAIN",
    "properties.sasl.username": "alice", "connect.timeout": "20 s",
}


def part(topic: str) -> Partition:
    """The partition of the table that the tests read."""
    return Partition(RELATION, topic, 0)


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_a_restart_of_the_broker_loses_nothing(own_kafka: KafkaServer, how: str) -> None:
    """A reader in a group goes on after its broker was stopped, or killed, and started again (KSR-06)."""
    readers = Readers(own_kafka.address)
    topic = new_topic(own_kafka.address)
    send(own_kafka.address, topic, [b"%d" % i for i in range(100)])
    reading = readers.open(topic, pipeline=topic)
    reading.until_rows(100)

    assert reading.source.commit({part(topic): 100}, "p") == {part(topic): 100}

    if how == "kill":
        time.sleep(1)  # the broker has no other copy: what was not written yet is lost with it

    getattr(own_kafka, how)()
    for _ in range(5):
        reading.poll()
    own_kafka.start()
    send(own_kafka.address, topic, [b"%d" % i for i in range(100, 200)])
    reading.until_rows(200)

    assert reading.values() == [b"%d" % i for i in range(200)]
    assert check_spans(reading.spans(), {part(topic): 0}).ranges(part(topic)) == [(0, 200)]
    assert readers.observer.of(Notice)
    deadline = time.monotonic() + 30
    while not reading.source.commit({part(topic): 200}, "p"):
        assert time.monotonic() < deadline
        reading.poll()
    readers.close()


def test_a_commit_without_a_broker_is_left_out(own_kafka: KafkaServer) -> None:
    """A commit that cannot reach the broker is an event, not an error, and does not take for ever (KSR-12)."""
    readers = Readers(own_kafka.address)
    topic = new_topic(own_kafka.address)
    send(own_kafka.address, topic, [b"1"])
    reading = readers.open(topic, pipeline=topic)
    reading.until_rows(1)
    own_kafka.kill()
    started = time.monotonic()

    assert reading.source.commit({part(topic): 1}, "p") == {}

    assert time.monotonic() - started < 60
    assert readers.observer.of(CommitFailed)
    readers.close()


def test_a_suspended_broker_is_waited_for(own_kafka: KafkaServer) -> None:
    """A broker that answers nothing for some seconds costs time and nothing else (KSR-06)."""
    readers = Readers(own_kafka.address)
    topic = new_topic(own_kafka.address)
    send(own_kafka.address, topic, [b"1"])
    reading = readers.open(topic)
    reading.until_rows(1)

    own_kafka.suspend()
    waker = threading.Timer(4, own_kafka.resume)
    waker.start()
    for _ in range(20):
        reading.poll()
    waker.join()
    send(own_kafka.address, topic, [b"2"])
    reading.until_rows(2)

    assert reading.values() == [b"1", b"2"]
    readers.close()


def test_nobody_listens() -> None:
    """An address where nobody listens is an error within the time-out, which names the address."""
    address = f"127.0.0.1:{free_ports(1)[0]}"
    started = time.monotonic()

    with pytest.raises(SourceFailed, match=rf"kafka://{address}/t: the brokers do not answer.*is the broker running"):
        Readers(address).open("t", {"connect.timeout": "2 s"})

    assert time.monotonic() - started < 10


def test_a_topic_that_is_not_there(readers: Readers) -> None:
    """A missing topic is an error at the start, not a reader that waits for ever."""
    with pytest.raises(SourceFailed, match=r"topic 'no-such-topic': .*create it, or correct its name"):
        readers.open("no-such-topic")


def test_the_right_password(kafka_server: dict[str, Any], readers: Readers) -> None:
    """SASL settings go to the client (issue item 4)."""
    topic = new_topic(kafka_server["address"])
    send(kafka_server["address"], topic, [b"1"])
    given = {**SASL, "properties.sasl.password": "wonderland"}

    reading = readers.bounded(topic, given, location=f"kafka://{kafka_server['sasl']}/{topic}")

    assert reading.values() == [b"1"]


def test_a_wrong_password(kafka_server: dict[str, Any], readers: Readers) -> None:
    """A refused login is named as such, soon, and the password appears nowhere (CFG, secrets)."""
    started = time.monotonic()

    with pytest.raises(SourceFailed, match=r"refuses the connection.*sasl") as caught:
        readers.open("t", {**SASL, "properties.sasl.password": "looking-glass"}, location=f"kafka://{kafka_server['sasl']}/t")

    assert time.monotonic() - started < 15
    assert "looking-glass" not in str(caught.value)
    assert "looking-glass" not in repr(readers.observer.of(Notice))


def test_tls_to_a_port_without_it(kafka: str, readers: Readers) -> None:
    """A broker that does not speak TLS is an error that says so."""
    with pytest.raises(SourceFailed, match=r"(?i)ssl"):
        readers.open("t", {"properties.security.protocol": "SSL", "connect.timeout": "10 s"})


BAD_PROPERTIES = [
    ({"properties.no.such.setting": "1"}, "no.such.setting"),
    ({"properties.security.protocol": "PIGEON"}, "security.protocol"),
    ({"properties.sasl.jaas.config": "x"}, "JAAS"),
]


@pytest.mark.parametrize(("given", "said"), BAD_PROPERTIES)
def test_settings_that_the_client_refuses(readers: Readers, given: dict[str, str], said: str) -> None:
    """A property that the client does not know or take is the user's error, and named (CFG)."""
    with pytest.raises(UserError, match=said):
        readers.open("t", given)


def test_a_topic_that_is_made_anew_stops_the_run(kafka: str) -> None:
    """Offsets of the old topic mean nothing in the new one: no record of it comes, though it has more than were read."""
    topic, fetching = new_topic(kafka), Readers(kafka, "fetch")
    send(kafka, topic, [b"old"] * 100)
    reading = fetching.open(topic)
    reading.until_rows(100)
    delete_topic(kafka, topic)
    new_topic(kafka, name=topic)
    send(kafka, topic, [b"new"] * 300)

    with pytest.raises(SourceFailed, match=r"was deleted (and created again )?while it was read"):
        reading.until(lambda: False)

    fetching.close()
    assert set(reading.values()) == {b"old"}
