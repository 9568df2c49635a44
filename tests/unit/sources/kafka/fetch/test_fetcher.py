"""Fetching from the brokers ourselves, over the client's mock cluster: positions, ends, trouble, and the client that takes over."""

from __future__ import annotations

import socket
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Producer

from tests.service.kafka_topics import Readers
from thalweg.model.events import Notice
from thalweg.model.position import Partition
from thalweg.native.mock_cluster import MockCluster
from thalweg.native.rdkafka import Unproved
from thalweg.ports.source import Budget
from thalweg.sources.kafka import tap
from thalweg.sources.kafka.fetch import fetcher
from thalweg.sources.kafka.fetch.dial import LinkFailed
from thalweg.sources.kafka.fetch.fetcher import limits
from thalweg.testing.reading import RELATION, check_spans

if TYPE_CHECKING:
    from collections.abc import Iterator

    from thalweg.testing.reading import Reading

PARTITIONS = 4
ROWS = 400
"""Of each partition."""
SMALL = Budget(rows=30, age_ns=20_000_000)
FETCH = 1
NOT_LEADER, OUT_OF_RANGE = 6, 1
DROPPED = -195


@pytest.fixture
def cluster() -> Iterator[MockCluster]:
    """Three brokers, and a topic whose partitions they share."""
    made = MockCluster(3)
    assert made.create_topic("t", PARTITIONS)
    send(made)
    yield made
    made.close()


def send(cluster: MockCluster, start: int = 0, rows: int = ROWS) -> None:
    """Numbered records in each partition."""
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "log_level": 0, "linger.ms": 1})
    for i in range(start, start + rows):
        for index in range(PARTITIONS):
            producer.produce("t", b"%d" % i, partition=index)
    assert producer.flush(30) == 0


@pytest.fixture
def readers(cluster: MockCluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[Readers]:
    """Sources that fetch, and that try again a moment after trouble."""
    monkeypatch.setattr(tap, "_FIRST_PAUSE_NS", 50_000_000)
    made = Readers(cluster.bootstrap, "fetch")
    yield made
    made.close()


def way(reading: Reading) -> str:
    """How records come now."""
    found: str = reading.source._tap.way
    return found


def notices(readers: Readers) -> list[str]:
    """What was said about readers."""
    return [e.message for e in readers.observer.events if isinstance(e, Notice) and e.code == "kafka.reader"]


def assert_whole(reading: Reading, rows: int = ROWS) -> None:
    """Every record of every partition once and in order, no hole between spans."""
    covered = check_spans(reading.spans(), reading.listener.held)
    for index in range(PARTITIONS):
        assert reading.values(index) == [b"%d" % i for i in range(rows)]
        assert covered.ranges(Partition(RELATION, "t", index)) == [(0, rows)]


def test_records_come_from_all_brokers(readers: Readers) -> None:
    """One connection for each leader; the client fetches nothing."""
    reading = readers.bounded("t")

    assert_whole(reading)
    assert way(reading) == "fetch"
    assert len(reading.source._tap._fetcher._peers) == 3
    assert notices(readers) == []


def test_every_broker_has_its_turn(readers: Readers) -> None:
    """Where less is taken than one broker has ready, the others are not left behind."""
    reading = readers.open("t", group=False)
    fetching = reading.source._tap._fetcher
    seen: list[set[int]] = [set() for _ in range(40)]
    deadline = time.monotonic() + 20
    for partitions in seen:
        while not partitions:
            assert time.monotonic() < deadline

            partitions |= {key[1] for block in fetching.take(10, 0.02).blocks for key in block.keys}

    leaders = {key[1]: address for address, peer in fetching._peers.items() for key in peer.keys}
    for some in (seen[20:26], seen[34:]):
        assert {leaders[index] for index in set.union(*some)} == set(fetching._peers)


def test_records_that_come_later(readers: Readers, cluster: MockCluster) -> None:
    """A run that waits at the end goes on with what is produced then; the lag is known throughout."""
    reading = readers.open("t")
    reading.until_rows(PARTITIONS * ROWS)
    lag = reading.source.lag()
    send(cluster, ROWS, 50)
    reading.until_rows(PARTITIONS * (ROWS + 50))

    assert_whole(reading, ROWS + 50)
    assert (lag, reading.source.lag()) == (0, 0)


def test_the_lag_is_not_known_before_a_broker_has_answered(readers: Readers) -> None:
    """None rather than a guess."""
    reading = readers.open("t")
    before = reading.source.lag()
    reading.until_held(PARTITIONS)
    reading.source._tap._fetcher._ends.clear()

    assert before == 0, "nothing is held, so nothing is missing"
    assert reading.source.lag() is None


@pytest.mark.parametrize("code", [NOT_LEADER, DROPPED])
def test_trouble_hands_over_to_the_client_and_back(readers: Readers, cluster: MockCluster, code: int) -> None:
    """Errors in the middle of a run: the client goes on from the same records, and fetching begins again by itself."""
    reading = readers.open("t")
    reading.until_rows(200, SMALL)
    ways = {way(reading)}
    cluster.push_errors(FETCH, *[code] * 12)
    send(cluster, ROWS, ROWS)
    deadline = time.monotonic() + 40
    while reading.rows() < 2 * PARTITIONS * ROWS or ways != {"fetch", "consume"} or way(reading) != "fetch":
        assert time.monotonic() < deadline, (reading.rows(), ways)

        reading.poll(SMALL)
        ways.add(way(reading))

    assert_whole(reading, 2 * ROWS)
    assert any(said.startswith("records are read one by one for 0 s: ") for said in notices(readers))


def test_a_leader_that_moves(readers: Readers, cluster: MockCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """The partition is read from its new leader, nothing lost or repeated; the client is told the epoch, so that it can see a truncated log."""
    reading = readers.open("t")
    told: list[int | None] = []
    epoch = reading.source._tap.epoch
    monkeypatch.setattr(reading.source._tap, "epoch", lambda key: (told.append(found := epoch(key)), found)[1])
    reading.until_rows(100, SMALL)
    for broker in (1, 2, 3):
        cluster.set_leader("t", 0, broker)
        reading.until_rows(min(reading.rows() + 300, PARTITIONS * ROWS), SMALL)
    send(cluster, ROWS, 10)
    reading.until_rows(PARTITIONS * (ROWS + 10), SMALL)

    assert_whole(reading, ROWS + 10)
    assert {found for found in told if found is not None} == {0}


def test_a_broker_that_goes_away_and_comes_back(readers: Readers, cluster: MockCluster) -> None:
    """Its partitions wait, and go on; the others are read meanwhile."""
    reading = readers.open("t")
    reading.until_rows(100, SMALL)
    cluster.broker_down(2)
    for _ in range(20):
        reading.poll(SMALL)
    cluster.broker_up(2)
    reading.until_rows(PARTITIONS * ROWS, SMALL)

    assert_whole(reading)


def test_a_connection_that_is_lost_once_is_made_anew(readers: Readers, cluster: MockCluster) -> None:
    """An idle connection that a broker closes is no trouble."""
    reading = readers.open("t")
    reading.until_rows(PARTITIONS * ROWS)
    fetching = reading.source._tap._fetcher
    fetching._peers[next(iter(fetching._peers))].link._sock.shutdown(socket.SHUT_RDWR)
    send(cluster, ROWS, 10)
    reading.until_rows(PARTITIONS * (ROWS + 10))

    assert_whole(reading, ROWS + 10)
    assert way(reading) == "fetch"
    assert notices(readers) == []


def test_an_idle_connection_that_is_lost_keeps_nobody_busy(readers: Readers, monkeypatch: pytest.MonkeyPatch) -> None:
    """While all partitions of a broker are paused, the end of its connection is noticed once, not again and again."""
    reading = readers.open("t")
    reading.until_rows(PARTITIONS * ROWS)
    fetching = reading.source._tap._fetcher
    fetching.pause(fetching.held)
    deadline = time.monotonic() + 20
    while any(peer.asked for peer in fetching._peers.values()):
        assert time.monotonic() < deadline

        fetching.take(100, 0.02)
    old = {address: peer.link for address, peer in fetching._peers.items()}
    next(iter(old.values()))._sock.shutdown(socket.SHUT_RDWR)
    for _ in range(3):
        fetching.take(100, 0.02)
    new = {address: peer.link for address, peer in fetching._peers.items()}

    assert fetching.trouble is None
    assert [new[address] is link for address, link in old.items()] == [False, True, True]
    assert fetching._selector.select(0) == []


def test_connections_that_are_lost_again_and_again_are_trouble(readers: Readers) -> None:
    """The client takes over, and says why."""
    reading = readers.open("t")
    reading.until_rows(100, SMALL)
    fetching = reading.source._tap._fetcher
    for _ in range(2):
        fetching._lost_ns = time.monotonic_ns()
        for peer in fetching._peers.values():
            peer.failed, peer.batches = "it broke", None
            peer.asked = {}
        reading.poll(SMALL)
    reading.until_rows(PARTITIONS * ROWS)

    assert set(notices(readers)) == {"records are read one by one for 0 s: it broke"}
    for index in range(PARTITIONS):
        assert reading.values(index) == [b"%d" % i for i in range(ROWS)]


def test_a_broker_that_does_not_answer(readers: Readers, monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer that does not come is trouble after a while."""
    reading = readers.open("t")
    reading.until_rows(PARTITIONS * ROWS)
    monkeypatch.setattr(fetcher, "_ANSWER_NS", -500_000_001)
    reading.until(lambda: bool(notices(readers)))

    assert notices(readers) == ["records are read one by one for 0 s: a broker does not answer"]


def test_a_position_that_is_gone_is_the_clients_affair(readers: Readers) -> None:
    """The client asks what to do with it, by the user's rule; then fetching goes on."""
    reading = readers.open("t", {"properties.auto.offset.reset": "earliest"})
    reading.until_rows(PARTITIONS * ROWS)
    reading.source.seek({Partition(RELATION, "t", 0): 4_000})
    reading.until(lambda: len(reading.values(0)) == 2 * ROWS and way(reading) == "fetch")

    assert f"t[0]: a broker answers with error {OUT_OF_RANGE}" in notices(readers)[0]


def test_seeks_and_releases_in_the_middle_of_an_answer(readers: Readers) -> None:
    """Nothing of the old place comes after a seek, though whole answers lay ready."""
    reading = readers.open("t")
    reading.until_rows(60, SMALL)
    for place in (300, 5, 399, 0):
        reading.batches.clear()
        reading.source.seek({Partition(RELATION, "t", index): place for index in range(PARTITIONS)})
        reading.until_rows(PARTITIONS, SMALL)

        assert {span.partition: span.start for span in reversed(reading.spans())} == {span.partition: place for span in reading.spans()}
    reading.until_rows(PARTITIONS * ROWS, SMALL)
    for index in range(PARTITIONS):
        assert reading.values(index) == [b"%d" % i for i in range(ROWS)]


def test_released_partitions_send_nothing_more(readers: Readers) -> None:
    """Neither what lay ready nor what is under way; the last of a broker's ends its connection."""
    reading = readers.open("t")
    reading.until_rows(60, SMALL)
    fetching = reading.source._tap._fetcher
    fetching.release([("t", index) for index in range(PARTITIONS)])
    deadline = time.monotonic() + 20
    while fetching._peers:
        assert time.monotonic() < deadline

        taken = fetching.take(100, 0.02)

        assert (taken.blocks, taken.ends) == ([], {})
    assert list(fetching.held) == []


def test_a_topic_without_a_leader(readers: Readers, cluster: MockCluster) -> None:
    """The client waits for one; its words come through it."""
    cluster.set_leader("t", 0, -1)
    offsets = ";".join(f"partition:{index},offset:0" for index in range(PARTITIONS))
    reading = readers.open("t", {"scan.startup.mode": "specific-offsets", "scan.startup.specific-offsets": offsets}, group=False)
    reading.until(lambda: bool(notices(readers)))
    cluster.set_leader("t", 0, 1)
    reading.until_rows(PARTITIONS * ROWS)

    assert "t[0] has no leader" in notices(readers)[0]
    assert_whole(reading)


def test_a_broker_that_will_never_do(readers: Readers, monkeypatch: pytest.MonkeyPatch) -> None:
    """What cannot be had is said once, and the client's queues are drained from then on."""

    def refuse(*_: object) -> None:
        raise Unproved("no fetch of version 11")

    monkeypatch.setattr(tap, "_WORTH", 100)
    monkeypatch.setattr(fetcher.Link, "open", refuse)
    reading = readers.open("t")
    reading.until(lambda: reading.rows() == PARTITIONS * ROWS and way(reading) == "columnar")

    assert notices(readers) == ["records are taken from the client's queues: no fetch of version 11"]
    assert_whole(reading)


def test_brokers_that_cannot_be_reached(readers: Readers, monkeypatch: pytest.MonkeyPatch) -> None:
    """The client may know a way: it goes on, and each time for longer."""

    def fail(*_: object) -> None:
        raise LinkFailed("no connection")

    monkeypatch.setattr(fetcher.Link, "open", fail)
    reading = readers.open("t")
    reading.until(lambda: reading.rows() == PARTITIONS * ROWS and len(notices(readers)) >= 2)

    assert all(said.startswith("records are read one by one for ") and said.endswith(" s: no connection") for said in notices(readers))
    assert reading.source._tap._pause_ns >= 200_000_000
    assert_whole(reading)


def test_settings_that_only_the_client_understands(readers: Readers) -> None:
    """A reader that was asked for by name and cannot be had is a warning."""
    reading = readers.open("t", {"properties.client.rack": "a"})
    reading.until_rows(PARTITIONS * ROWS)

    assert way(reading) == "columnar"
    assert [said.partition(":")[0] for said in notices(readers)] == ["records are taken from the client's queues, which is slower"]
    assert "client.rack" in notices(readers)[0]


def test_a_broker_that_wants_to_be_left_alone(readers: Readers) -> None:
    """It is not asked again before."""
    reading = readers.open("t")
    reading.until_rows(PARTITIONS * ROWS)
    fetching = reading.source._tap._fetcher
    (_, peer), *_ = fetching._peers.items()
    peer.asked, peer.ready_ns = {}, 10
    fetching._ask(peer, 9)

    assert peer.asked == {}


@pytest.mark.parametrize(
    ("given", "brokers", "expected"),
    [
        ({}, 1, (500, 1, 8 << 20, 1 << 20, True)),
        ({}, 4, (500, 1, 2 << 20, 1 << 20, True)),
        ({}, 100, (500, 1, 1 << 20, 1 << 20, True)),
        ({"fetch.wait.max.ms": "10", "fetch.min.bytes": "5", "fetch.max.bytes": "1000", "isolation.level": "read_uncommitted"}, 1, (10, 5, 1000, 1 << 20, False)),
        ({"max.partition.fetch.bytes": "77"}, 1, (500, 1, 8 << 20, 77, True)),
        ({"max.partition.fetch.bytes": "77", "fetch.message.max.bytes": "78"}, 1, (500, 1, 8 << 20, 78, True)),
    ],
)
def test_limits(given: dict[str, str], brokers: int, expected: tuple[int, int, int, int, bool]) -> None:
    """The user's properties, else less memory the more brokers there are."""
    found = limits(given, brokers)

    assert (found.wait_ms, found.least_bytes, found.most_bytes, found.partition_bytes, found.committed) == expected


def test_limits_that_are_no_numbers() -> None:
    """They are left to the client, which says what is wrong with them."""
    with pytest.raises(Unproved, match=r"'properties.fetch.min.bytes' is not a number"):
        limits({"fetch.min.bytes": "many"}, 1)


def test_an_answer_with_an_error_of_its_own(readers: Readers, monkeypatch: pytest.MonkeyPatch) -> None:
    """Errors of a whole answer are trouble as well."""
    monkeypatch.setattr(fetcher, "answer", lambda _data: (0, 33, []))
    reading = readers.open("t")
    reading.until_rows(PARTITIONS * ROWS)

    assert "a broker answers with error 33" in notices(readers)[0]


def test_bytes_that_only_tls_knows_of(readers: Readers, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for a selector that cannot see them."""
    reading = readers.open("t")
    reading.until_rows(PARTITIONS * ROWS)
    fetching = reading.source._tap._fetcher
    waited: list[float] = []
    quiet = SimpleNamespace(select=lambda seconds: waited.append(seconds) or (), close=fetching._selector.close)
    monkeypatch.setattr(fetching, "_selector", quiet)
    fetching._wait(0.0)
    monkeypatch.setattr(fetcher.Link, "decrypted", lambda _self: True)
    fetching._wait(0.0)

    assert waited == [0.0]
