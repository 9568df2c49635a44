"""From modes to numbers, against a client that answers from a table."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from thalweg.errors import SourceFailed
from thalweg.ports.source import Committed
from thalweg.sources.kafka.faults import Patience
from thalweg.sources.kafka.options import KafkaOptions, up_to_now
from thalweg.sources.kafka.positions import Positions
from thalweg.testing.fakes import FakeClock

A, B = ("t", 0), ("t", 1)


class Client:
    """Knows the marks, commits and timestamps of two partitions."""

    def __init__(self, *, fail_first: bool = False) -> None:
        """``fail_first``: the first answer carries an error that passes."""
        self.fail = fail_first
        self.marks = {A: (3, 10), B: (0, 7)}
        self.commits: dict[tuple[str, int], tuple[int, str]] = {A: (5, "note"), B: (-1001, "")}
        self.times = {A: 6, B: -1}

    def committed(self, wanted: list[TopicPartition], timeout: float) -> list[TopicPartition]:
        """The group's offsets."""
        if self.fail:
            self.fail = False
            raise KafkaException(KafkaError(KafkaError.NOT_COORDINATOR))
        return [TopicPartition(tp.topic, tp.partition, *self.commits[tp.topic, tp.partition]) for tp in wanted]

    def get_watermark_offsets(self, wanted: TopicPartition, timeout: float) -> tuple[int, int]:
        """First offset and end."""
        return self.marks[wanted.topic, wanted.partition]

    def offsets_for_times(self, wanted: list[TopicPartition], timeout: float) -> list[TopicPartition]:
        """First offset at a time."""
        return [TopicPartition(tp.topic, tp.partition, self.times[tp.topic, tp.partition]) for tp in wanted]


def positions(options: KafkaOptions | None = None, client: Client | None = None) -> Positions:
    """Positions over such a client."""
    found: Any = client or Client()
    return Positions(found, options or KafkaOptions(), Patience(FakeClock(), 10**9, "here", {}))


def test_committed() -> None:
    """A position with its note, None where there is none; errors that pass are waited out."""
    assert positions(client=Client(fail_first=True)).committed([A, B]) == {A: Committed(5, "note"), B: None}
    assert positions().committed([]) == {}


STARTS = [
    (KafkaOptions(), {A: 3, B: 0}),
    (KafkaOptions(startup_mode="latest-offset"), {A: 10, B: 7}),
    (KafkaOptions(startup_mode="specific-offsets", startup_offsets={0: 4}), {A: 4, B: 0}),
    (KafkaOptions(startup_mode="timestamp", startup_timestamp_ms=9), {A: 6, B: 7}),
    (KafkaOptions(startup_mode="group-offsets", properties={"auto.offset.reset": "latest"}), {A: 5, B: 7}),
    (KafkaOptions(startup_mode="group-offsets", properties={"auto.offset.reset": "earliest"}), {A: 5, B: 0}),
]


@pytest.mark.parametrize(("options", "expected"), STARTS)
def test_starts(options: KafkaOptions, expected: dict[tuple[str, int], int]) -> None:
    """Each mode is resolved to numbers (issue item 4)."""
    assert positions(options).starts([A, B]) == expected
    assert positions(options).starts([]) == {}


def test_group_offsets_without_offset() -> None:
    """Without an offset and without a rule the start fails, with the partition and the ways out."""
    with pytest.raises(SourceFailed, match=r"^t\[1\]: the group has no committed offset.*auto\.offset\.reset"):
        positions(KafkaOptions(startup_mode="group-offsets")).starts([A, B])


ENDS = [
    (KafkaOptions(bounded_mode="latest-offset"), {A: 10, B: 7}),
    (KafkaOptions(bounded_mode="specific-offsets", bounded_offsets={1: 4}), {A: 10, B: 4}),
    (KafkaOptions(bounded_mode="timestamp", bounded_timestamp_ms=9), {A: 6, B: 7}),
    (KafkaOptions(bounded_mode="group-offsets"), {A: 5, B: 7}),
]


@pytest.mark.parametrize(("options", "expected"), ENDS)
def test_ends(options: KafkaOptions, expected: dict[tuple[str, int], int]) -> None:
    """Each mode is resolved to numbers; a partition that a mode says nothing about ends where it is now."""
    assert positions(options).ends([A, B]) == expected


NOW = [
    ({}, {A: 3, B: 0}, {A: 10, B: 7}),
    ({"startup_mode": "specific-offsets", "startup_offsets": {0: 4}}, {A: 4, B: 0}, {A: 10, B: 7}),
    ({"startup_mode": "timestamp", "startup_timestamp_ms": 9}, {A: 6, B: 7}, {A: 10, B: 7}),
    ({"startup_mode": "latest-offset", "bounded_mode": "timestamp", "bounded_timestamp_ms": 9}, {A: 3, B: 0}, {A: 6, B: 7}),
    ({"startup_mode": "group-offsets", "bounded_mode": "group-offsets"}, {A: 3, B: 0}, {A: 5, B: 7}),
    ({"bounded_mode": "specific-offsets", "bounded_offsets": {0: 99, 1: 4}}, {A: 3, B: 0}, {A: 10, B: 4}),
]


@pytest.mark.parametrize(("given", "starts", "ends"), NOW)
def test_a_look_up_to_now(given: dict[str, Any], starts: dict[tuple[str, int], int], ends: dict[tuple[str, int], int]) -> None:
    """The table's own places count; no end lies behind the last record of now, so that nobody waits for it (CLI-07)."""
    looked = positions(up_to_now(KafkaOptions(**given)))

    assert (looked.starts([A, B]), looked.ends([A, B])) == (starts, ends)


def test_an_error_of_one_partition() -> None:
    """An answer that carries an error for one partition is no answer."""

    class Failing(Client):
        """One partition may not be read."""

        def offsets_for_times(self, wanted: list[TopicPartition], timeout: float) -> list[Any]:
            """An answer with an error inside."""

            class Answer:
                """One partition's answer."""

                error = KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED)

            return [Answer()]

    with pytest.raises(SourceFailed, match=r"offsets for a timestamp cannot be read.*READ and DESCRIBE"):
        positions(client=Failing()).at_time([A], 1)
