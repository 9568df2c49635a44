"""Brokers inside this process: filling, limits, sharing."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

import pytest

from thalweg import registry
from thalweg.errors import SourceFailed, UserError
from thalweg.model.clock import SystemClock
from thalweg.model.options import read
from thalweg.model.position import Partition
from thalweg.ports.source import SourceContext
from thalweg.sources.kafka import embedded
from thalweg.testing.fakes import RecordingObserver
from thalweg.testing.reading import RELATION, Listening, Reading

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture
def make() -> Iterator[Callable[..., Reading]]:
    """Makes sources of embedded topics, each of a pipeline of its own unless told, and closes them."""
    made: list[Reading] = []

    def one(location: str, given: dict[str, str] | None = None, *, pipeline: str | None = None, folder: str = ".") -> Reading:
        plugin = registry.load("sources", "kafka")
        options, errors = read(plugin.options, {"scan.bounded.mode": "latest-offset", **(given or {})})

        assert errors == []

        context = SourceContext(pipeline or uuid.uuid4().hex, RELATION, SystemClock(), RecordingObserver(), folder=folder)
        made.append(Reading(plugin.make(location, options, context), Listening()))
        return made[-1]

    yield one
    for reading in made:
        reading.source.close()


def read_all(reading: Reading) -> list[bytes | None]:
    """Open and read to the end."""
    reading.source.open(reading.listener)
    reading.until_finished()
    return reading.values()


def test_a_file_of_lines_fills_the_topic(tmp_path: Path, make: Callable[..., Reading]) -> None:
    """One record a line, bytes as they are, empty lines left out; the topic is full before ends are taken (GEN-01)."""
    (tmp_path / "orders.jsonl").write_bytes(b'{"a": 1}\n\n{"a": "\xc3\xa4"}\r\nnot json\n{"a":3}')

    reading = make("kafka://embedded/orders", {"embedded.data": "orders.jsonl"}, folder=str(tmp_path))

    assert sorted(v or b"" for v in read_all(reading)) == sorted([b'{"a": 1}', b'{"a": "\xc3\xa4"}', b"not json", b'{"a":3}'])
    assert len(reading.listener.held) == 4


def test_the_number_of_partitions(make: Callable[..., Reading]) -> None:
    """``embedded.partitions`` decides; records are dealt out in turn."""
    reading = make("kafka://embedded/orders", {"embedded.partitions": "2"})
    count = registry.load("sources", "kafka").fill(reading.source, (b"%d" % i for i in range(10)))
    read_all(reading)

    assert count == 10
    assert reading.values(0) == [b"0", b"2", b"4", b"6", b"8"]


def test_a_missing_file(make: Callable[..., Reading]) -> None:
    """A file that is not there is the user's error."""
    reading = make("kafka://embedded/orders", {"embedded.data": "no-such.jsonl"})

    with pytest.raises(UserError, match=r"no-such\.jsonl"):
        reading.source.open(reading.listener)


def test_more_than_the_broker_keeps_is_refused(make: Callable[..., Reading]) -> None:
    """The broker would drop the oldest records without a word; the source says so and names the ways out (design, quickstart data)."""
    reading = make("kafka://embedded/orders", {"embedded.partitions": "1"})

    with pytest.raises(SourceFailed, match=r"the embedded broker keeps 5,242,880 bytes.*embedded\.partitions"):
        reading.source.fill(b"x" * 100_000 for _ in range(60))


def test_records_that_fit_are_all_kept(make: Callable[..., Reading]) -> None:
    """Everything under the limit really comes back, incompressible or not."""
    reading = make("kafka://embedded/orders", {"embedded.partitions": "1"})
    values = [b"%06d" % i * 160 for i in range(5_000)]
    reading.source.fill(values)

    assert read_all(reading) == values


def test_what_the_broker_dropped_is_noticed(make: Callable[..., Reading]) -> None:
    """Filled twice, a topic is too full, though each time was not: its low watermark tells."""
    reading = make("kafka://embedded/orders", {"embedded.partitions": "1"})
    values = [b"%06d" % i * 160 for i in range(5_000)]
    reading.source.fill(values)

    with pytest.raises(SourceFailed, match="does not fit"):
        reading.source.fill(values)


def test_a_pipeline_shares_its_brokers(make: Callable[..., Reading]) -> None:
    """Two tables of one pipeline see the same topics; the brokers stop with the last of them."""
    first, second = make("kafka://embedded/a", pipeline="shared"), make("kafka://embedded/a", pipeline="shared")
    first.source.fill([b"1"])

    assert read_all(first) == [b"1"]
    assert read_all(second) == [b"1"]
    first.source.close()
    second.source.close()
    assert read_all(make("kafka://embedded/a", pipeline="shared")) == []


def test_two_tables_over_one_file_fill_it_once(tmp_path: Path, make: Callable[..., Reading]) -> None:
    """Both see each record once."""
    (tmp_path / "a.jsonl").write_bytes(b"1\n2\n")
    given = {"embedded.data": "a.jsonl", "embedded.partitions": "1"}
    readings = [make("kafka://embedded/a", given, pipeline="twice", folder=str(tmp_path)) for _ in range(2)]

    assert [read_all(r) for r in readings] == [[b"1", b"2"], [b"1", b"2"]]


def test_pipelines_do_not_share_brokers(make: Callable[..., Reading]) -> None:
    """Another pipeline has other brokers."""
    first = make("kafka://embedded/a")
    first.source.fill([b"1"])

    assert read_all(make("kafka://embedded/a")) == []


def test_brokers_have_an_identity_of_their_own(make: Callable[..., Reading]) -> None:
    """Brokers that come later are others, whatever address in memory they get: else a target would take their records for written."""
    ids = []
    for _ in range(2):
        reading = make("kafka://embedded/a", pipeline="again")
        reading.source.fill([b"1"])
        read_all(reading)
        ids.append(reading.source.identity(Partition(RELATION, "a", 0)).cluster_id)
        reading.source.close()

    assert ids[0] != ids[1]
    assert {name.rpartition("-")[0][:11] for name in ids} == {"mockCluster"}


def test_brokers_are_counted() -> None:
    """The last one to give back stops the brokers; a new borrower gets new ones."""
    clusters = embedded.Clusters()
    first, again = clusters.borrow("p"), clusters.borrow("p")
    clusters.give_back("p")
    kept = clusters.borrow("p")
    for _ in range(2):
        clusters.give_back("p")

    assert first is again is kept
    assert clusters.borrow("p") is not first
    assert clusters.token("p") != first.token
    clusters.give_back("p")
