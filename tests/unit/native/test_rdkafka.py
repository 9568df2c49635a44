"""The handle of the client's consumer is proved before it is used."""

from __future__ import annotations

import ctypes
import mmap
from typing import TYPE_CHECKING

import confluent_kafka
import pytest

from thalweg.native import rdkafka
from thalweg.native.library import client_library

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def consumer() -> Iterator[confluent_kafka.Consumer]:
    """A consumer without brokers."""
    made = confluent_kafka.Consumer({"group.id": "g", "client.id": "me", "log_level": 0})
    yield made
    made.close()


def test_a_client_is_proved(consumer: confluent_kafka.Consumer) -> None:
    """The handle answers to its name."""
    client = rdkafka.Client(consumer, "me")

    assert client.handle
    assert len(client.calls()) == len(rdkafka.CALLS)


def test_another_name_is_refused(consumer: confluent_kafka.Consumer) -> None:
    """A handle with a name that is not ours is not believed."""
    with pytest.raises(rdkafka.Unproved, match="has the name 'me#consumer-"):
        rdkafka.Client(consumer, "you")


def test_another_member_is_refused(consumer: confluent_kafka.Consumer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A handle of another member of the group is not believed."""
    monkeypatch.setattr(rdkafka.Client, "_member", lambda _self: "somebody")

    with pytest.raises(rdkafka.Unproved, match="another member"):
        rdkafka.Client(consumer, "me")


def test_another_kind_of_consumer_is_refused() -> None:
    """Nothing is read from an object whose layout is not known."""

    class Other(confluent_kafka.Consumer):  # type: ignore[misc]
        """Has a layout of its own."""

    other = Other({"group.id": "g", "client.id": "me", "log_level": 0})
    with pytest.raises(rdkafka.Unproved, match="kind that is not known"):
        rdkafka.Client(other, "me")
    other.close()


def test_a_closed_consumer_is_refused() -> None:
    """No handle is left in it."""
    closed = confluent_kafka.Consumer({"group.id": "g", "client.id": "me", "log_level": 0})
    closed.close()

    with pytest.raises(rdkafka.Unproved, match="no handle"):
        rdkafka.Client(closed, "me")


def test_another_library_is_refused(consumer: confluent_kafka.Consumer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A library of another version is not the one that the client runs on."""
    monkeypatch.setattr(confluent_kafka, "libversion", lambda: ("0", 1))

    with pytest.raises(rdkafka.Unproved, match="not the one"):
        rdkafka.Client(consumer, "me")


@pytest.mark.parametrize("found", [None, OSError("no"), AttributeError("rd_kafka_new_thing")])
def test_a_missing_library_is_told(consumer: confluent_kafka.Consumer, monkeypatch: pytest.MonkeyPatch, found: Exception | None) -> None:
    """No library, one that does not load, one that lacks a function."""

    def library(_signatures: object) -> None:
        if found is not None:
            raise found

    monkeypatch.setattr(rdkafka, "client_library", library)

    with pytest.raises(rdkafka.Unproved, match="librdkafka"):
        rdkafka.Client(consumer, "me")


def test_memory_is_tried_before_it_is_read() -> None:
    """Addresses that belong to nobody are told, and those that are ours."""
    page = mmap.mmap(-1, mmap.PAGESIZE)
    address = ctypes.addressof(ctypes.c_char.from_buffer(page))

    assert rdkafka.readable(address, 1024)
    assert not rdkafka.readable(8, 1024)


def test_a_function_that_is_missing_is_told() -> None:
    """The library is asked for each function when it is loaded."""
    with pytest.raises(AttributeError):
        client_library({"rd_kafka_no_such_thing": (None, ())})


def test_a_queue_is_closed_once(consumer: confluent_kafka.Consumer) -> None:
    """Partitions are let go of with it; after that nothing comes."""
    queue = rdkafka.Queues(rdkafka.Client(consumer, "me"))
    queue.join("t", 0)
    queue.join("t", 0)
    queue.join("t", 1)
    queue.leave("t", 1)
    queue.leave("t", 1)

    assert len(queue) == 1
    assert queue.turn() is not None

    queue.close()
    queue.close()

    assert queue.turn() is None
