"""The ways in which records come, and the changes from one to another, over the client's mock cluster."""

from __future__ import annotations

import time
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from thalweg import registry
from thalweg.model.clock import SystemClock
from thalweg.model.events import Notice
from thalweg.model.options import read
from thalweg.native.rdkafka import Unproved
from thalweg.ports.source import Budget, SourceContext
from thalweg.sources.kafka import tap
from thalweg.sources.kafka.loading import DRAINING, FETCHING, Loading
from thalweg.testing.fakes import RecordingObserver
from thalweg.testing.reading import RELATION, Listening, Reading, check_spans

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy as np

    from thalweg.native.mock_cluster import MockCluster
    from thalweg.sources.kafka.reader import Taken

ROWS = 600


@pytest.fixture
def topic(mock_kafka: MockCluster) -> str:
    """600 records of every kind over three partitions."""
    mock_kafka.create_topic("t", 3)
    send(mock_kafka, ROWS)
    return "t"


def send(cluster: MockCluster, rows: int, start: int = 0) -> None:
    """Produce records that differ in all that a record can have."""
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "log_level": 0, "linger.ms": 1})
    for i in range(start, start + rows):
        headers = [("a", b"%d" % i), ("\u00e4", None), ("a", b"")] if i % 11 == 0 else None
        producer.produce("t", None if i % 5 == 0 else b"v" * (i % 40), None if i % 7 == 0 else b"%d" % i, i % 3, timestamp=1 + i, headers=headers)
    assert producer.flush(30) == 0


@pytest.fixture
def opened(mock_kafka: MockCluster) -> Iterator[Callable[..., Reading]]:
    """Opens sources of the topic and closes them."""
    made: list[Reading] = []

    def open_one(*, group: bool = True, **given: str) -> Reading:
        plugin = registry.load("sources", "kafka")
        options, errors = read(plugin.options, {k.replace("_", "."): v for k, v in given.items()})
        observer = RecordingObserver()
        context = SourceContext(uuid.uuid4().hex, RELATION, SystemClock(), observer, group=group)
        reading = Reading(plugin.make(f"kafka://{mock_kafka.bootstrap}/t", options, context), Listening())
        made.append(reading)
        assert errors == []
        reading.source.open(reading.listener)
        return reading

    yield open_one
    for reading in made:
        reading.source.close()


def table(reading: Reading) -> pa.Table:
    """Everything that was read but the times of polls, in the order of partitions."""
    batches = []
    for batch in reading.batches:
        batch.records.validate(full=True)
        columns = {n: batch.records[n] for n in batch.records.schema.names if n != "ingest_ts"}
        batches.append(pa.table({n: c.cast(pa.string()) if pa.types.is_dictionary(c.type) else c for n, c in columns.items()}))
    return pa.concat_tables(batches).combine_chunks().sort_by([("source_partition", "ascending"), ("source_offset", "ascending")])


def notices(reading: Reading) -> list[str]:
    """What was said about readers."""
    events = reading.source._context.observer.events
    return [e.message for e in events if isinstance(e, Notice) and e.code == "kafka.reader"]


def test_all_readers_give_the_same(topic: str, opened: Callable[..., Reading]) -> None:
    """Every column and every byte count, over NULL, empty, keys, headers and times (KF-01, REP-06, REP-07, REP-08)."""
    found = []
    for reader in ("fetch", "columnar", "consume"):
        reading = opened(reader=reader, scan_bounded_mode="latest-offset")
        reading.until_finished(Budget(rows=97))
        found.append((table(reading), sum(b.nbytes for b in reading.batches), reading.source._tap.way, notices(reading)))

    assert found[0][0].equals(found[2][0])
    assert found[1][0].equals(found[2][0])
    assert found[0][1] == found[1][1] == found[2][1]
    assert [way for _, _, way, _ in found] == ["fetch", "columnar", "consume"]
    assert found[0][0].num_rows == ROWS
    assert [said for _, _, _, said in found] == [[], [], []]


def only_the_client(_conf: object) -> None:
    """As for settings that only the client understands."""
    raise Unproved("no way in")


@pytest.mark.parametrize("bounded", ["unbounded", "latest-offset"])
@pytest.mark.parametrize(("way", "loops"), [("fetch", FETCHING), ("columnar", DRAINING)])
def test_a_run_goes_over_to_compiled_loops_while_it_reads(
    topic: str, mock_kafka: MockCluster, opened: Callable[..., Reading], monkeypatch: pytest.MonkeyPatch, bounded: str, way: str, loops: str
) -> None:
    """Nothing is lost, repeated or out of order at the change, with records in the client's queue and in the buffer."""
    monkeypatch.setattr(tap, "_WORTH", 100)
    if way == "columnar":
        monkeypatch.setattr(tap, "access", only_the_client)
    fresh = Loading(loops)
    monkeypatch.setattr(tap, "loading", lambda _module: fresh)
    reading = opened(scan_bounded_mode=bounded)
    before = reading.source._tap.way
    reading.until_rows(150, Budget(rows=50, age_ns=50_000_000))
    fresh.wait()
    if bounded == "unbounded":
        send(mock_kafka, ROWS, ROWS)
    reading.until_rows(ROWS * (2 if bounded == "unbounded" else 1), Budget(rows=50, age_ns=50_000_000))

    assert (before, reading.source._tap.way) == ("consume", way)
    covered = check_spans(reading.spans(), reading.listener.held)
    assert sum(span.end - span.start for span in covered) == reading.rows()
    records = table(reading)
    for index in range(3):
        at = records.filter(pa.array(records["source_partition"].to_numpy() == index))
        assert at["source_offset"].to_pylist() == list(range(reading.rows() // 3))


def test_a_first_run_on_a_machine_never_waits_for_the_compiler(
    topic: str, mock_kafka: MockCluster, opened: Callable[..., Reading], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With nothing in the cache, records come while a child process compiles; then they come as columns, none lost or repeated."""
    monkeypatch.setenv("THALWEG_CACHE", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(Path(tap.__file__).parents[3]))
    monkeypatch.setattr(tap, "_WORTH", 100)
    fresh = Loading(FETCHING)
    monkeypatch.setattr(tap, "loading", lambda _module: fresh)
    reading = opened()
    began = time.monotonic()
    reading.until_rows(1)
    first = time.monotonic() - began
    sent = ROWS
    while reading.source._tap.way == "consume":
        assert time.monotonic() < began + 60

        send(mock_kafka, 60, sent)
        sent += 60
        reading.until_rows(sent, Budget(rows=50, age_ns=50_000_000))
    send(mock_kafka, 60, sent)
    reading.until_rows(sent + 60)

    assert first < 2
    assert sent > ROWS + 60
    assert [values for i in range(3) if (values := table(reading).filter(pa.compute.field("source_partition") == i)["source_offset"].to_pylist())
            != list(range((sent + 60) // 3))] == []


def test_a_short_run_never_pays_for_the_loops(topic: str, opened: Callable[..., Reading], monkeypatch: pytest.MonkeyPatch) -> None:
    """Few records are read one by one, and nothing is compiled or imported for them."""
    fresh = Loading(FETCHING)
    monkeypatch.setattr(tap, "loading", lambda _module: fresh)
    reading = opened(scan_bounded_mode="latest-offset")
    reading.until_finished()

    assert (reading.rows(), fresh.begun) == (ROWS, False)


def test_a_handle_that_is_not_proved_is_said_once(topic: str, opened: Callable[..., Reading], monkeypatch: pytest.MonkeyPatch) -> None:
    """The reader that works everywhere takes over."""

    def refuse(*_: object) -> None:
        raise Unproved("no such client")

    monkeypatch.setattr(tap, "Drain", refuse)
    reading = opened(reader="columnar")
    reading.until_rows(ROWS)

    assert reading.source._tap.way == "consume"
    assert notices(reading) == ["records are read one by one, which is slower: no such client"]


def test_a_compiler_that_fails_is_told(topic: str, opened: Callable[..., Reading], monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever it trips over, the run goes on."""

    def trip(_path: str) -> None:
        raise RuntimeError("no LLVM")

    fresh = Loading(FETCHING)
    monkeypatch.setattr(tap, "loading", lambda _module: fresh)
    monkeypatch.setattr(registry, "attribute", trip)
    fresh.wait()
    monkeypatch.undo()
    monkeypatch.setattr(tap, "loading", lambda _module: fresh)
    reading = opened()
    reading.until(lambda: reading.rows() == ROWS and len(notices(reading)) > 1)

    assert notices(reading) == [
        "records are taken from the client's queues: the copy loops cannot be compiled: RuntimeError: no LLVM",
        "records are read one by one, which is slower: the copy loops cannot be compiled: RuntimeError: no LLVM",
    ]


class Direct:
    """A tap over a consumer of the test's own, with columns."""

    def __init__(self, cluster: MockCluster) -> None:
        """All partitions from their start, with ends marked."""
        self.consumer = Consumer({
            "bootstrap.servers": cluster.bootstrap, "group.id": "g", "client.id": "me", "enable.partition.eof": True, "log_level": 0,
        })  # fmt: skip
        self.tap = tap.Tap(self.consumer, {"client.id": "me"}, "columnar", SystemClock(), lambda level, message: pytest.fail(f"{level}: {message}"))
        self.keys = [("t", i) for i in range(3)]
        self.tap.hold(self.keys)
        self.consumer.assign([TopicPartition(*key, 0) for key in self.keys])

    def until(self, done: Callable[[Taken], bool]) -> list[Taken]:
        """Take until something came."""
        found: list[Taken] = []
        deadline = time.monotonic() + 20
        while not found or not done(found[-1]):
            assert time.monotonic() < deadline

            found.append(self.tap.take(1000, 0.05))
        return found

    def close(self) -> None:
        """Queues first."""
        self.tap.close()
        self.consumer.close()


@pytest.fixture
def direct(topic: str, mock_kafka: MockCluster) -> Iterator[Direct]:
    """A tap, closed in the end."""
    made = Direct(mock_kafka)
    yield made
    made.close()


def test_ends_and_errors_come_beside_records(direct: Direct, mock_kafka: MockCluster) -> None:
    """Ends of partitions carry their offset; an error of a partition carries its name and words."""
    ends = {key: end for taken in direct.until(lambda taken: bool(taken.ends)) for key, end in taken.ends.items()}

    assert ends
    assert set(ends.values()) == {ROWS // 3}

    mock_kafka.topic_error("t", 29)
    send_one = direct.until(lambda taken: bool(taken.faults) or bool(mock_kafka.push_errors(1, 29)))
    fault = send_one[-1].faults[0]

    assert (fault.error.name(), fault.key is None or fault.key in direct.keys) == ("TOPIC_AUTHORIZATION_FAILED", True)
    assert "uthoriz" in fault.error.str()


def test_an_exception_in_a_drain_gives_every_message_back(direct: Direct, monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory that runs out while columns are made leaks nothing and destroys nothing twice."""
    drain = direct.tap._drain
    assert drain is not None
    popped, destroyed = [], []
    pop, destroy = drain._pop, drain._copying.destroy

    def popping(before: int, most: int, wait_ms: int) -> int:
        found = pop(before, most, wait_ms)
        popped.extend(drain._events[before:found].tolist())
        return found

    def destroying(messages: np.ndarray, count: int) -> None:
        destroyed.extend(messages[:count].tolist())
        destroy(messages, count)

    def fail(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(drain, "_pop", popping)
    monkeypatch.setattr(drain._copying, "destroy", destroying)
    monkeypatch.setattr(drain._copying, "fields", fail)
    with pytest.raises(MemoryError):
        direct.until(lambda _taken: False)

    assert popped == destroyed != []


def test_close_between_drains(direct: Direct) -> None:
    """A consumer that is closed with full queues is closed within seconds, and may be told so again."""
    direct.until(lambda taken: bool(taken.blocks))
    start = time.monotonic()
    direct.close()

    assert time.monotonic() - start < 5


@pytest.mark.parametrize("pause_s", [0.0, 0.2])
def test_a_partition_that_is_assigned_anew_goes_on(direct: Direct, pause_s: float) -> None:
    """The library stops and starts a partition at times of its own; its records still come, while others do too."""
    direct.until(lambda taken: bool(taken.ends))
    key = direct.keys[1]
    for start in (150, 20, 199):
        direct.consumer.incremental_unassign([TopicPartition(*key)])
        direct.consumer.incremental_assign([TopicPartition(*key, start)])
        time.sleep(pause_s)
        found = direct.until(lambda taken: key in taken.ends)

        assert [int(o) for taken in found for b in taken.blocks for o in b.only({key}).offsets] == list(range(start, ROWS // 3))


@pytest.mark.parametrize("reader", ["fetch", "columnar", "consume"])
@pytest.mark.parametrize("group", [True, False])
def test_a_position_that_is_gone_is_reset(topic: str, opened: Callable[..., Reading], reader: str, group: bool) -> None:  # noqa: FBT001 - a parameter
    """The error comes through the partition's queue, and the records behind the reset too (KF-07)."""
    given = {"scan_startup_mode": "specific-offsets", "scan_startup_specific-offsets": "partition:0,offset:400"}
    reading = opened(reader=reader, properties_auto_offset_reset="earliest", group=group, **given)
    reading.until_rows(ROWS)

    assert len(reading.values(0)) == ROWS // 3


def test_released_partitions_send_nothing_more(direct: Direct) -> None:
    """After release and unassign, no record of the partition comes through our queue; it may come back later."""
    direct.until(lambda taken: bool(taken.ends))
    gone = direct.keys[0]
    direct.tap.release([gone])
    direct.consumer.incremental_unassign([TopicPartition(*gone)])
    direct.tap.hold([gone])
    direct.consumer.incremental_assign([TopicPartition(*gone, 150)])
    blocks = [b for taken in direct.until(lambda taken: gone in taken.ends) for b in taken.blocks]

    assert {key for b in blocks for key in b.next_offsets()} >= {gone}
    assert [int(o) for b in blocks for o in b.only({gone}).offsets] == list(range(150, ROWS // 3))


def test_a_jump_is_remembered_when_the_way_changes(topic: str, opened: Callable[..., Reading], monkeypatch: pytest.MonkeyPatch) -> None:
    """A partition that was moved over a gap, and of which nothing has come since, goes on behind the gap; one that was not, behind what was returned."""
    reading = opened(reader="consume", group=False)
    small = Budget(rows=30, age_ns=20_000_000)
    reading.until(lambda: len(reading.source._assignment.next) == 3 and min(reading.source._assignment.next.values()) > 0, small)
    before = dict(reading.source._assignment.next)
    jumped, other = min(before, key=before.__getitem__), max(before, key=before.__getitem__)
    reading.source._intake.place(jumped, 190)
    monkeypatch.setattr(reading.source._tap, "change", lambda: True)
    reading.batches.clear()
    reading.source._intake._change()
    monkeypatch.setattr(reading.source._tap, "change", lambda: False)
    reading.until(lambda: all(next_ == ROWS // 3 for next_ in reading.source._assignment.next.values()), small)

    assert before[jumped] < 190
    assert len(reading.values(jumped[1])) == 10
    assert len(reading.values(other[1])) == ROWS // 3 - before[other]
