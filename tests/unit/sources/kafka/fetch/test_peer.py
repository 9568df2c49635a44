"""How long brokers are waited for, and what must not be forgotten when a connection goes."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import KafkaError, Producer

from tests.service.kafka_topics import Readers
from thalweg.model.events import Notice
from thalweg.native.mock_cluster import MockCluster
from thalweg.ports.source import Budget
from thalweg.sources.kafka import tap
from thalweg.sources.kafka.fetch.fetcher import Fetcher, Interrupted, LinkFailed, limits
from thalweg.sources.kafka.fetch.peer import Peer

if TYPE_CHECKING:
    from collections.abc import Iterator

ROWS = 50
FIRST_NS = 50_000_000
MINUTE_NS = 60_000_000_000


@pytest.fixture
def readers(monkeypatch: pytest.MonkeyPatch) -> Iterator[Readers]:
    """Sources that fetch from a topic of one partition."""
    cluster = MockCluster()
    assert cluster.create_topic("t", 1)
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "log_level": 0, "linger.ms": 1})
    for i in range(ROWS):
        producer.produce("t", b"%d" % i)
    assert producer.flush(30) == 0
    monkeypatch.setattr(tap, "_FIRST_PAUSE_NS", FIRST_NS)
    made = Readers(cluster.bootstrap, "fetch")
    yield made
    made.close()
    cluster.close()


def test_an_end_is_told_though_the_connection_breaks_behind_it(readers: Readers, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bounded run whose last records were aborted waits for nothing else: an answer without records counts, and comes only once."""
    reading = readers.open("t")
    reading.until_rows(ROWS)
    fetching = reading.source._tap._fetcher
    (peer,) = fetching._peers.values()
    fetching._said.clear()

    def broken(*_: object) -> None:
        raise LinkFailed("it broke")

    monkeypatch.setattr(peer.link, "send", broken)
    ends: dict[tuple[str, int], int] = {}
    deadline = time.monotonic() + 20
    while not ends:
        assert time.monotonic() < deadline

        ends = fetching.take(100, 0.02).ends

    assert ends == {("t", 0): ROWS}
    assert peer not in fetching._peers.values()


class Slow:
    """A connection over which an answer comes in pieces."""

    def __init__(self, *pieces: int) -> None:
        """How many bytes come at each look."""
        self.received = 0
        self._pieces = list(pieces)

    def receive(self) -> None:
        """The answer is never whole."""
        self.received += self._pieces.pop(0)


def hear(fetching: Fetcher, link: Any, wait_ms: int, ages_ns: list[int]) -> Peer:  # noqa: ANN401 - stands in for a Link
    """A broker that was asked at 0 and is looked at in these moments."""
    fetching._limits = replace(fetching._limits, wait_ms=wait_ms)
    peer = Peer(link)
    peer.asked = {("t", 0): 0}
    for age_ns in ages_ns:
        fetching._hear(peer, age_ns)
    return peer


def test_an_answer_that_comes_slowly_is_waited_for(readers: Readers) -> None:
    """What counts is silence: half an answer may have waited in the socket while sinks stalled."""
    fetching = readers.open("t").source._tap._fetcher
    peer = hear(fetching, Slow(100, 0, 5, 0), 500, [10 * MINUTE_NS, 11 * MINUTE_NS, 15 * MINUTE_NS, 16 * MINUTE_NS])

    assert peer.heard_ns == 15 * MINUTE_NS
    with pytest.raises(Interrupted, match="a broker does not answer"):
        hear(fetching, Slow(100, 0), 500, [10 * MINUTE_NS, 12 * MINUTE_NS])


def test_a_broker_may_wait_as_long_as_it_was_asked_to(readers: Readers) -> None:
    """The wait of a request comes on top of our patience."""
    fetching = readers.open("t").source._tap._fetcher
    peer = hear(fetching, Slow(0), 120_000, [3 * MINUTE_NS])

    assert peer.asked
    with pytest.raises(Interrupted, match="a broker does not answer"):
        hear(fetching, Slow(0), 120_000, [3 * MINUTE_NS + 1])


@pytest.mark.parametrize(("most", "expected"), [(100_000, 86_988), (1_000, 363), (500, 1), (1 << 30, 8 << 20)])
def test_no_answer_is_asked_for_that_would_not_be_taken(most: int, expected: int) -> None:
    """Answers stay below the largest message that the user allows, with what comes beside the records."""
    assert limits({"receive.message.max.bytes": str(most)}, 1).most_bytes == expected


def test_after_a_long_time_without_trouble_the_client_goes_on_for_a_moment_only(readers: Readers) -> None:
    """Pauses double while trouble follows trouble; a leader that moves once a week costs two seconds each time."""
    reading = readers.open("t")
    found = reading.source._tap
    pauses = []
    for quiet_ns in (0, 0, 0, 6 * MINUTE_NS, 0):
        reading.until(lambda: found.way == "fetch")
        found._since_ns = time.monotonic_ns() - quiet_ns
        found._fetcher.trouble = "it broke"
        reading.until(lambda: found.way == "consume")
        pauses.append(found._pause_ns // FIRST_NS)
    said = {e.message for e in readers.observer.events if isinstance(e, Notice) and e.code == "kafka.reader"}

    assert pauses == [2, 4, 8, 2, 4]
    assert said == {"records are read one by one for 0 s: it broke"}


def test_nobody_waits_for_a_way_that_is_closed(readers: Readers, monkeypatch: pytest.MonkeyPatch) -> None:
    """In trouble a poll ends at once, not at the end of its budget, and the next one goes on with the client."""
    reading = readers.open("t")
    reading.until_rows(ROWS)
    found = reading.source._tap
    calls, take = [], found.take

    def failing(count: int, seconds: float) -> Any:  # noqa: ANN401 - as the original
        calls.append(count)
        if found.way == "fetch":
            found._fetcher.trouble = "it broke"
        return take(count, seconds)

    monkeypatch.setattr(found, "take", failing)
    reading.poll(Budget(rows=10, age_ns=MINUTE_NS))

    assert (len(calls), found.way) == (1, "fetch")

    reading.poll(Budget(rows=10, age_ns=1))

    assert found.way == "consume"


def test_idle_connections_of_the_client_are_no_news(readers: Readers) -> None:
    """A broker closes what the client does not use while we fetch; that all brokers are down is said only where the client reads."""
    reading = readers.open("t")
    reading.until_rows(ROWS)
    said = []
    for trouble in (None, "it broke"):
        reading.source._tap._fetcher.trouble = trouble
        reading.poll(Budget(rows=10, age_ns=1))
        for code in (KafkaError._ALL_BROKERS_DOWN, KafkaError._TRANSPORT):
            reading.source._noticed(KafkaError(code))
        said.append([e.message.rpartition("(")[2] for e in readers.observer.events if isinstance(e, Notice) and e.code == "kafka.broker"])

    assert said == [["_TRANSPORT)"], ["_TRANSPORT)", "_ALL_BROKERS_DOWN)", "_TRANSPORT)"]]
