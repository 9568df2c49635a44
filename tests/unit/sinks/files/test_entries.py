"""Entries of the publish log as JSON."""

from __future__ import annotations

import json

import pytest

from thalweg.model.position import Partition, Span, TopicIdentity
from thalweg.sinks.files.entries import Entry, FileEntry, KeyedSpans, PartitionKey, keyed

KEY = PartitionKey.of(Partition("orders", "t", 3), TopicIdentity("c", "id"))
ENTRY = Entry("p", "r", "_twg_", "abc", "0.1", "1-x", 4, 5, (KeyedSpans(KEY, ((0, 5), (9, 10))),), (FileEntry("a.part", "k=ü/b.parquet", 2, 3),))


def test_round_trip() -> None:
    """What is written is what is read."""
    assert Entry.from_json(ENTRY.to_json()) == ENTRY


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}", b'{"format": 2}', b'{"format": 1}', b"\xff", b"null"])
def test_damaged_entries_are_errors(content: bytes) -> None:
    """Half a file, another format or another thing is never taken for an entry."""
    with pytest.raises(ValueError, match=r".+"):
        Entry.from_json(content)


@pytest.mark.parametrize(("key", "value"), [("temp", "../x"), ("temp", ""), ("final", "/etc/x"), ("final", "a/../../x")])
def test_names_that_lead_out_are_refused(key: str, value: str) -> None:
    """A log made by hand cannot move files elsewhere."""
    body = json.loads(ENTRY.to_json())
    body["files"][0][key] = value

    with pytest.raises(ValueError, match="leads out of the target"):
        Entry.from_json(json.dumps(body).encode())


def test_spans_are_merged_by_partition() -> None:
    """Neighbours become one range, holes stay, empty spans vanish."""
    other = PartitionKey("orders", "c", "id", "t", 1)
    p = Partition("orders", "t", 0)
    spans = [(KEY, Span(p, 5, 9)), (KEY, Span(p, 0, 5)), (KEY, Span(p, 20, 21)), (other, Span(p, 3, 3))]

    assert keyed(spans) == (KeyedSpans(KEY, ((0, 9), (20, 21))),)


def test_same_topic_made_again_is_another_partition() -> None:
    """The topic's id is part of the key (COV-17)."""
    again = PartitionKey.of(Partition("orders", "t", 3), TopicIdentity("c", "id-2"))

    assert again.partition != KEY.partition
