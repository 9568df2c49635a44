"""Settings of the Kafka client."""

from __future__ import annotations

import logging

import pytest

from thalweg.errors import SourceFailed, UserError
from thalweg.model.events import Notice
from thalweg.sources.kafka import client
from thalweg.sources.kafka.options import KafkaOptions, Place
from thalweg.testing.fakes import RecordingObserver

PLACE = Place("h:1", ("t",), None)


def options(**properties: str) -> KafkaOptions:
    """Options with some properties; ``_`` stands for ``.``."""
    return KafkaOptions(properties={k.replace("_", "."): v for k, v in properties.items()})


def test_defaults() -> None:
    """What the product sets unless the user does (KSR-03, design section 5)."""
    found = client.settings(PLACE, options(), "shop")

    assert found["group.id"] == "twg-shop"
    assert found["isolation.level"] == "read_committed"
    assert found["fetch.queue.backoff.ms"] == "5"
    assert (found["enable.auto.commit"], found["enable.auto.offset.store"], found["enable.partition.eof"]) == ("false", "false", "true")
    assert found["auto.offset.reset"] == "error"


def test_the_users_properties_win_but_for_ours() -> None:
    """``properties.*`` go over the defaults; what the promises rest on goes over both; resets are ours to do."""
    found = client.settings(PLACE, options(group_id="g", isolation_level="read_uncommitted", auto_offset_reset="latest"), "shop")

    assert (found["group.id"], found["isolation.level"], found["auto.offset.reset"]) == ("g", "read_uncommitted", "error")


def held_kbytes(found: dict[str, str], partitions: int) -> int:
    """What the client may hold of all partitions: full queues, a fetch beyond each, and what every message costs beside its bytes."""
    kbytes = int(found["queued.max.messages.kbytes"]) + int(found["fetch.message.max.bytes"]) // 1024
    return partitions * (kbytes + int(found["queued.min.messages"]) // 2)


@pytest.mark.parametrize("partitions", [1, 4, 8, 9, 16, 64, 200])
def test_the_prefetch_is_bounded_however_many_partitions(partitions: int) -> None:
    """Queues are per partition where each is drained by itself, so more partitions get smaller ones (CNX-07)."""
    assert held_kbytes(client.prefetch(options(), partitions), partitions) <= 150_000


def test_the_prefetch_is_the_users_where_they_say_so() -> None:
    """What a user sets is never overruled, and one queue for all is not divided."""
    found = client.prefetch(options(queued_min_messages="7", max_partition_fetch_bytes="9"), 16)

    assert found == {"queued.max.messages.kbytes": "2048"}
    assert client.settings(PLACE, options(queued_min_messages="7"), "shop")["queued.min.messages"] == "7"
    assert client.prefetch(KafkaOptions(reader="consume"), 16) == {}
    assert client.settings(PLACE, KafkaOptions(reader="consume"), "shop")["queued.max.messages.kbytes"] == "32768"


def test_a_pattern_leaves_internal_topics_out() -> None:
    """The client never matches the brokers' own topics."""
    assert "consumer_offsets" in client.settings(Place("h:1", (), ".*"), options(), "shop")["topic.blacklist"]


def test_discovery() -> None:
    """The discovery interval is the client's metadata refresh."""
    found = client.settings(PLACE, KafkaOptions(discovery_ns=2_000_000_000), "shop")

    assert found["topic.metadata.refresh.interval.ms"] == "2000"


REFUSED = [
    ({"enable_auto_commit": "true"}, "'properties.enable.auto.commit' cannot be changed"),
    ({"enable_auto_offset_store": "true"}, "'properties.enable.auto.offset.store' cannot be changed"),
    ({"enable_partition_eof": "false"}, "'properties.enable.partition.eof' cannot be changed"),
    ({"partition_assignment_strategy": "range,sticky"}, "but not sticky"),
    ({"auto_offset_reset": "sometimes"}, "expected earliest, latest or error"),
    ({"test_mock_num_brokers": "3"}, "kafka://embedded"),
]


@pytest.mark.parametrize(("given", "said"), REFUSED)
def test_refused_by_name(given: dict[str, str], said: str) -> None:
    """What the source cannot give is refused before anything runs (KSR-03, KSR-09)."""
    (complaint,) = client.complaints(options(**given))

    assert said in complaint


def test_the_same_value_is_no_override() -> None:
    """Saying what holds anyway is allowed."""
    assert client.complaints(options(enable_auto_commit="FALSE", auto_offset_reset="none", partition_assignment_strategy="range")) == []


@pytest.mark.parametrize(("said", "means"), [(None, "error"), ("none", "error"), ("smallest", "earliest"), ("end", "latest")])
def test_reset_policy(said: str | None, means: str) -> None:
    """All spellings of the client."""
    assert client.reset_policy(options(**({} if said is None else {"auto_offset_reset": said}))) == means


@pytest.mark.parametrize(
    ("given", "cooperative"),
    [({}, False), ({"partition.assignment.strategy": "cooperative-sticky"}, True), ({"group.protocol": "consumer"}, True), ({"group.protocol": "classic"}, False)],
)
def test_cooperative(given: dict[str, str], *, cooperative: bool) -> None:
    """Which groups hand partitions over one by one."""
    assert client.cooperative(given) is cooperative


def test_admin_settings_have_no_consumer_settings() -> None:
    """An admin client logs a warning for each setting that it does not know."""
    found = client.admin_settings({**client.settings(PLACE, options(sasl_username="u", session_timeout_ms="6000"), "shop"), "bootstrap.servers": "h:1"})

    assert found == {"bootstrap.servers": "h:1", "client.id": "twg-shop", "sasl.username": "u"}


def test_scrub() -> None:
    """A secret value is replaced wherever it appears."""
    assert client.scrub("login with hunter2 failed", {"sasl.password": "hunter2", "group.id": "login"}) == "login with ******** failed"


def test_refused_settings_are_the_users_error() -> None:
    """The client's reason comes through, without secrets."""
    conf = {"bootstrap.servers": "h:1", "group.id": "g", "no.such": "1", "sasl.password": "hunter2"}
    with pytest.raises(UserError, match=r"no\.such"):
        client.connect(conf, print, RecordingObserver())


def test_other_reasons_are_the_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that does not start for another reason is a failed source."""
    from confluent_kafka import KafkaError, KafkaException  # noqa: PLC0415 - only here

    def refuse(_conf: object) -> None:
        raise KafkaException(KafkaError(KafkaError.BROKER_NOT_AVAILABLE, "no threads left"))

    monkeypatch.setattr(client, "Consumer", refuse)
    with pytest.raises(SourceFailed, match="no threads left"):
        client.connect({"group.id": "g"}, print, RecordingObserver())


def test_log_lines_become_notices() -> None:
    """Warnings and worse, with arguments filled in and secrets taken out."""
    observer = RecordingObserver()
    log = client.ClientLog(observer, {"sasl.password": "hunter2"})

    log.log(logging.INFO, "%s", "hello")
    log.log(logging.ERROR, "%s: %s", "FAIL", "hunter2 refused")
    log.log(logging.WARNING, "100% plain")

    assert observer.of(Notice) == [
        Notice("warning", "kafka.client", "FAIL: ******** refused"), Notice("warning", "kafka.client", "100% plain"),
    ]
