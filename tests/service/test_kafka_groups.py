"""Groups on a real broker: every strategy under joins and leaves, lost partitions, static members."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Producer

from tests.service.kafka_topics import QUICK, Readers, new_topic, send
from thalweg.errors import SourceFailed
from thalweg.model.events import CommitFailed, Notice
from thalweg.model.position import Partition
from thalweg.model.spans import SpanSet
from thalweg.ports.source import Budget
from thalweg.testing.reading import RELATION, Listening, Reading, check_spans

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

pytestmark = pytest.mark.service
STRATEGIES: dict[str, Mapping[str, str]] = {
    "range": {**QUICK, "properties.partition.assignment.strategy": "range"},
    "roundrobin": {**QUICK, "properties.partition.assignment.strategy": "roundrobin"},
    "cooperative-sticky": {**QUICK, "properties.partition.assignment.strategy": "cooperative-sticky"},
    "consumer": {"properties.group.protocol": "consumer"},
}
strategies = pytest.mark.parametrize("given", STRATEGIES.values(), ids=STRATEGIES.keys())


def part(topic: str, index: int = 0) -> Partition:
    """A partition of the table that the tests read."""
    return Partition(RELATION, topic, index)


@dataclass
class Member:
    """A process of a group as the runtime would be: what it returned is durable at once and committed, at the latest when it is revoked."""

    reading: Reading
    stop: threading.Event = field(default_factory=threading.Event)
    thread: threading.Thread | None = None
    failure: BaseException | None = None

    def start(self) -> Member:
        """Join the group."""
        self.reading.listener.on_revoke = self.commit
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()
        return self

    def run(self) -> None:
        """Poll until told to stop, then leave."""
        try:
            self.reading.source.open(self.reading.listener)
            while not self.stop.is_set():
                if self.reading.poll(Budget(rows=500, age_ns=50_000_000)) is not None:
                    self.commit(list(self.reading.listener.held))
            self.commit(list(self.reading.listener.held))
        except BaseException as e:  # noqa: BLE001 - the test looks at it
            self.failure = e
        finally:
            self.reading.source.close()

    def commit(self, partitions: Collection[Partition]) -> None:
        """Commit what was returned; never less than where the partition started this time, for others may have had it since."""
        ends = {span.partition: span.end for span in self.reading.spans()}
        held = {p: max(ends.get(p, 0), self.reading.listener.held[p]) for p in partitions}
        if held:
            self.reading.source.commit(held, "p")

    def leave(self) -> None:
        """Stop and wait."""
        self.stop.set()
        assert self.thread is not None
        self.thread.join(60)

        assert not self.thread.is_alive()
        assert self.failure is None, self.failure


def covered(members: Iterable[Member]) -> int:
    """How many offsets somebody has returned."""
    found = SpanSet(span for m in members for span in m.reading.spans())
    return sum(end - start for p in found.partitions() for start, end in found.ranges(p))


class Team:
    """Members of one group, each on a thread."""

    def __init__(self, readers: Readers) -> None:
        """Nobody is there yet."""
        self.readers = readers
        self.members: list[Member] = []

    def join(self, topic: str, given: Mapping[str, str]) -> Member:
        """One more member; the group is named like the topic."""
        member = Member(self.readers.make(topic, given, pipeline=topic, quick=False)).start()
        self.members.append(member)
        return member

    def wait_until(self, done: Callable[[], bool], timeout_s: float = 40) -> None:
        """Wait for something that the members do."""
        deadline = time.monotonic() + timeout_s
        while not done():
            for member in self.members:
                assert member.failure is None, member.failure
            assert time.monotonic() < deadline, [(m.reading.rows(), m.reading.listener.held, m.reading.listener.calls[-3:]) for m in self.members]

            time.sleep(0.05)

    def stop(self) -> None:
        """End whoever is still there."""
        for member in self.members:
            member.stop.set()


@pytest.fixture
def team(readers: Readers) -> Iterator[Team]:
    """Members that are stopped when the test ends, however it ends."""
    made = Team(readers)
    yield made
    made.stop()


class Feed:
    """Produces numbers to the partitions of a topic in turn, until it is stopped."""

    def __init__(self, address: str, topic: str, partitions: int, at_once: int = 0) -> None:
        """Start at once, and first with as many as fast as can be, so that the readers' queues are full."""
        self.sent = 0
        self._producer = Producer({"bootstrap.servers": address, "log_level": 0, "linger.ms": 5})
        self._topic, self._partitions = topic, partitions
        self._stop = threading.Event()
        self._produce(at_once)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        """Some thousand a second."""
        while not self._stop.wait(0.02):
            self._produce(50)

    def _produce(self, records: int) -> None:
        """The next numbers."""
        for _ in range(records):
            self._producer.produce(self._topic, b"%d" % self.sent, partition=self.sent % self._partitions)
            self.sent += 1
        self._producer.poll(0)

    def stop(self) -> None:
        """Wait until everything is acknowledged."""
        self._stop.set()
        self._thread.join(30)

        assert self._producer.flush(30) == 0


@pytest.fixture
def feeds() -> Iterator[list[Feed]]:
    """Feeds that are stopped when the test ends, however it ends."""
    made: list[Feed] = []
    yield made
    for feed in made:
        feed.stop()


@strategies
def test_nothing_is_lost_while_members_come_and_go(kafka: str, team: Team, feeds: list[Feed], given: Mapping[str, str]) -> None:
    """Three members join and leave while records arrive: each record comes, and none twice unless a commit was overtaken (KSR-08 to KSR-12)."""
    topic = new_topic(kafka, 6)
    feeds.append(Feed(kafka, topic, 6, at_once=60_000))
    members = [team.join(topic, given) for _ in range(3)]

    def shares(*of: Member) -> list[int]:
        return sorted(len(m.reading.listener.held) for m in of)

    team.wait_until(lambda: shares(*members) == [2, 2, 2])
    members[0].leave()
    team.wait_until(lambda: shares(*members[1:]) == [3, 3])
    members[1].leave()
    feeds[0].stop()
    last = members[2].reading
    team.wait_until(lambda: len(last.listener.held) == 6 and covered(members) == feeds[0].sent)
    members[2].leave()

    found = [int(v or b"") for m in members for v in m.reading.values()]
    assert set(found) == set(range(feeds[0].sent))
    if not team.readers.observer.of(CommitFailed):
        assert len(found) == feeds[0].sent


@strategies
def test_a_new_owner_starts_at_the_commit_of_the_old(kafka: str, team: Team, given: Mapping[str, str]) -> None:
    """Revoke lets the old owner commit before the new one is told where to start (KSR-12)."""
    topic = new_topic(kafka, 2)
    for index in range(2):
        send(kafka, topic, [b"%d" % i for i in range(100)], index)
    first = team.join(topic, given)
    team.wait_until(lambda: first.reading.rows() == 200)

    second = team.join(topic, given)
    team.wait_until(lambda: len(second.reading.listener.held) == 1 and len(first.reading.listener.held) == 1)
    (start,) = second.reading.listener.held.values()
    first.leave()
    second.leave()

    assert start == 100
    assert second.reading.values() == []
    assert any(name == "revoked" for name, _ in first.reading.listener.calls)


@pytest.mark.parametrize("name", ["range", "consumer"])
def test_a_member_that_stalls_loses_its_partitions(kafka: str, readers: Readers, name: str) -> None:
    """A member that does not poll in time hears ``lost``, never ``revoked``; it joins again, and nothing unreturned is skipped."""
    topic = new_topic(kafka)
    send(kafka, topic, [b"%d" % i for i in range(1000)])
    given = {**STRATEGIES[name], "properties.max.poll.interval.ms": "6000"}
    reading = readers.open(topic, given, pipeline=topic, quick=False)
    reading.until_rows(100, Budget(rows=100, age_ns=100_000_000))
    reading.source.commit({part(topic): 100}, "p")

    time.sleep(8)
    reading.until(lambda: ("lost", (part(topic),)) in reading.listener.calls)
    reading.until_rows(1000)

    names = [call for call, _ in reading.listener.calls]
    assert names == ["assigned", "started", "lost", "assigned", "started"]
    assert reading.values() == [b"%d" % i for i in range(1000)]


def test_idle_keeps_the_membership(kafka: str, readers: Readers) -> None:
    """A stall that is longer than the poll interval costs nothing as long as ``idle`` is called (CNX-20)."""
    topic = new_topic(kafka)
    send(kafka, topic, [b"x" * 100] * 5_000)
    given = {"properties.max.poll.interval.ms": "10000", "properties.session.timeout.ms": "10000", "properties.heartbeat.interval.ms": "500"}
    reading = readers.open(topic, given, quick=False)  # a busy machine may keep the broker from a heartbeat for seconds
    reading.until_rows(100, Budget(rows=100, age_ns=100_000_000))

    end = time.monotonic() + 13
    while time.monotonic() < end:
        reading.source.idle()
        time.sleep(0.05)
    reading.until_rows(5_000)

    assert [name for name, _ in reading.listener.calls] == ["assigned", "started"]
    assert check_spans(reading.spans(), {part(topic): 0}).ranges(part(topic)) == [(0, 5_000)]


DEAD = """
import sys
from confluent_kafka import Consumer
servers, topic, group, instance, *more = sys.argv[1:]
c = Consumer({"bootstrap.servers": servers, "group.id": group, "group.instance.id": instance, "auto.offset.reset": "earliest", **dict(m.split("=") for m in more)})
c.subscribe([topic])
while True:
    m = c.poll(1)
    if m is not None and m.error() is None:
        print("ready", flush=True)
"""


@pytest.mark.parametrize("name", ["range", "consumer"])
def test_a_static_member_comes_back_after_kill_9(kafka: str, readers: Readers, name: str) -> None:
    """The id of a killed member is taken over, or, in the new protocol, waited for with new clients (KSR-11)."""
    topic = new_topic(kafka)
    send(kafka, topic, [b"1"])
    group = f"twg-{topic}"
    more = ["group.protocol=consumer"] if name == "consumer" else ["session.timeout.ms=6000"]
    dead = subprocess.Popen([sys.executable, "-c", DEAD, kafka, topic, group, "i-1", *more], stdout=subprocess.PIPE, text=True)
    with dead:
        assert dead.stdout is not None
        assert dead.stdout.readline() == "ready\n"
        dead.kill()

    reading = readers.open(topic, {**STRATEGIES[name], "properties.group.instance.id": "i-1"}, pipeline=topic, quick=False)
    reading.until_rows(1)

    assert reading.values() == [b"1"]
    if name == "consumer":
        assert [n.code for n in readers.observer.of(Notice) if n.code == "kafka.instance_held"]


def test_two_members_with_one_instance_id_is_an_error(kafka: str, readers: Readers) -> None:
    """The member whose id was taken by another process stops, and says why (KSR-11)."""
    topic = new_topic(kafka)
    given = {"properties.group.instance.id": "same"}
    first = readers.open(topic, given, pipeline=topic)
    first.until_held()
    second = readers.open(topic, given, pipeline=topic)
    second.until(lambda: bool(second.listener.held))

    with pytest.raises(SourceFailed, match=r"group\.instance\.id"):
        first.until(lambda: False)


def test_what_the_listener_refuses_stops_the_source(kafka: str, readers: Readers) -> None:
    """An error of the listener comes out of ``poll`` as it is, though it was raised inside the client's callback."""
    topic = new_topic(kafka)

    class Refusing(Listening):
        """Wants no partition."""

        def assigned(self, committed: object) -> dict[Partition, int | None]:
            """Refuse."""
            raise SourceFailed("refused by the listener")

    reading = readers.open(topic, listener=Refusing())

    with pytest.raises(SourceFailed, match="refused by the listener"):
        reading.until(lambda: False)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_bounded_run_waits_with_its_last_commit_for_a_dead_member(kafka: str, readers: Readers, protocol: str) -> None:
    """A run that assigns its own partitions commits once the dead member has left the group (design, bounded runs)."""
    topic = new_topic(kafka)
    send(kafka, topic, [b"1"])
    more = ["group.protocol=consumer"] if protocol == "consumer" else ["session.timeout.ms=6000"]
    dead = subprocess.Popen([sys.executable, "-c", DEAD, kafka, topic, f"twg-{topic}", "i-1", *more], stdout=subprocess.PIPE, text=True)
    with dead:
        assert dead.stdout is not None
        assert dead.stdout.readline() == "ready\n"
        dead.kill()
    reading = readers.bounded(topic, pipeline=topic)

    assert reading.source.commit({part(topic): 1}, "p") == {part(topic): 1}
