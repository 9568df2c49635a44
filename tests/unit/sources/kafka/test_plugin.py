"""What the planner learns without asking anybody."""

from __future__ import annotations

import pytest

from thalweg import registry
from thalweg.model.options import docs, read

PLUGIN = registry.load("sources", "kafka")
HERE = "kafka://h:9092/t"
CHECKS = [
    (HERE, {}, []),
    ("kafka://h:9092", {}, ["exactly one of"]),
    (HERE, {"scan.startup.mode": "timestamp"}, ["needs 'scan.startup.timestamp-millis'"]),
    (HERE, {"scan.startup.timestamp-millis": "5"}, ["'scan.startup.mode' is 'earliest-offset'"]),
    (HERE, {"scan.startup.mode": "specific-offsets"}, ["needs 'scan.startup.specific-offsets'"]),
    (HERE, {"scan.bounded.mode": "timestamp"}, ["needs 'scan.bounded.timestamp-millis'"]),
    (HERE, {"scan.bounded.specific-offsets": "partition:0,offset:1"}, ["'scan.bounded.mode' is 'unbounded'"]),
    (HERE, {"embedded.data": "x.jsonl"}, ["fills kafka://embedded only"]),
    ("kafka://embedded/a;b", {"embedded.data": "x.jsonl"}, ["fills one topic"]),
    (HERE, {"properties.enable.auto.commit": "true", "properties.enable.partition.eof": "false"}, ["enable.auto.commit", "enable.partition.eof"]),
]


@pytest.mark.parametrize(("location", "given", "said"), CHECKS)
def test_checks(location: str, given: dict[str, str], said: list[str]) -> None:
    """Each contradiction is told, all of them at once (CFG, KSR-03)."""
    options, errors = read(PLUGIN.options, given)
    found = PLUGIN.check(location, options)

    assert errors == []
    assert len(found) == len(said)
    assert all(part in message for part, message in zip(said, found, strict=True))


STARTS = [
    ({}, "else earliest-offset"),
    ({"scan.startup.mode": "timestamp", "scan.startup.timestamp-millis": "5"}, "else timestamp 5"),
    ({"scan.startup.mode": "specific-offsets", "scan.startup.specific-offsets": "partition:0,offset:7"}, "specific-offsets partition:0,offset:7"),
    ({"scan.bounded.mode": "latest-offset"}, "else earliest-offset; ends at latest-offset"),
]


@pytest.mark.parametrize(("given", "said"), STARTS)
def test_describe_start(given: dict[str, str], said: str) -> None:
    """One line says where a partition starts."""
    options, _ = read(PLUGIN.options, given)

    assert PLUGIN.describe_start(HERE, options).endswith(said)


def test_query_file() -> None:
    """A ``.sql`` file is run by the pipeline, a file of lines is read by the source."""
    found = [PLUGIN.query_file("", read(PLUGIN.options, {"embedded.data": name})[0]) for name in ("a.sql", "a.jsonl")]

    assert found == ["a.sql", None]
    assert PLUGIN.query_file("", read(PLUGIN.options, {})[0]) is None


def test_every_option_is_documented() -> None:
    """Each option says what it does."""
    assert all(doc.doc for doc in docs(PLUGIN.options))


@pytest.mark.parametrize("mode", ["earliest", "latest", "none"])
def test_wrong_modes_are_explained(mode: str) -> None:
    """A mode that is not one of the five names them."""
    _, errors = read(PLUGIN.options, {"scan.startup.mode": mode})

    assert "expected one of earliest-offset, latest-offset" in str(errors[0])
