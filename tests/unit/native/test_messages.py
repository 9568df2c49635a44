"""The copy loops over message structs and library functions that the tests make."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

from thalweg.arrow.batch import BadRows
from thalweg.native import machine, messages
from thalweg.native.rdkafka import address_of
from thalweg.sources.kafka import columnar
from thalweg.sources.kafka.reader import Block, make_block

if TYPE_CHECKING:
    from pathlib import Path

POINTER = ctypes.c_void_p
Headers = list[tuple[bytes, bytes | None]]


class Struct(ctypes.Structure):
    """``rd_kafka_message_t``."""

    _fields_ = (
        ("err", ctypes.c_int32), ("topic", POINTER), ("partition", ctypes.c_int32), ("payload", POINTER), ("size", ctypes.c_size_t),
        ("key", POINTER), ("key_size", ctypes.c_size_t), ("offset", ctypes.c_int64), ("private", POINTER),
    )  # fmt: skip


@dataclass
class Fake:
    """One message; its topic is the address 1."""

    value: bytes | None = b"v"
    key: bytes | None = None
    offset: int = 0
    partition: int = 0
    err: int = 0
    stamp: int = 5
    kind: int = 1
    epoch: int = 7
    headers: Headers | None = None


@dataclass
class Library:
    """Functions with the signatures of the real ones, over messages that are kept here."""

    fakes: list[Fake]
    structs: list[Struct] = field(default_factory=list)
    destroyed: list[int] = field(default_factory=list)
    keep: list[Any] = field(default_factory=list)
    polled: list[int] = field(default_factory=list)
    waits: list[int] = field(default_factory=list)
    asked: list[int] = field(default_factory=list)
    """Messages that were asked for their headers."""

    def __post_init__(self) -> None:
        """Lay the messages out."""
        for fake in self.fakes:
            self.structs.append(Struct(
                fake.err, 1, fake.partition, self.place(fake.value), len(fake.value or b""), self.place(fake.key), len(fake.key or b""),
                fake.offset, None,
            ))  # fmt: skip
        self.at = {ctypes.addressof(struct): i for i, struct in enumerate(self.structs)}
        self.messages = np.array(list(self.at), np.uint64)

    def place(self, data: bytes | None) -> int | None:
        """Bytes somewhere in memory; None is the null pointer, and no bytes are not."""
        if data is None:
            return None
        self.keep.append(ctypes.create_string_buffer(data))
        return ctypes.addressof(self.keep[-1])

    def calls(self) -> np.ndarray:
        """Addresses of the functions."""
        half, word = ctypes.c_int32, ctypes.c_int64
        functions = [
            ctypes.CFUNCTYPE(word, POINTER, POINTER)(self.timestamp), ctypes.CFUNCTYPE(half, POINTER)(lambda m: self.fakes[self.at[m]].epoch),
            ctypes.CFUNCTYPE(half, POINTER, POINTER)(self.headers), ctypes.CFUNCTYPE(word, POINTER)(lambda h: len(self.of(h))),
            ctypes.CFUNCTYPE(half, POINTER, POINTER, POINTER, POINTER, POINTER)(self.header),
            ctypes.CFUNCTYPE(word, POINTER, POINTER)(self.poll), ctypes.CFUNCTYPE(half, POINTER)(lambda m: 8 if self.fakes[self.at[m]].err else 2),
            ctypes.CFUNCTYPE(word, POINTER)(lambda m: m), ctypes.CFUNCTYPE(None, POINTER)(lambda m: self.destroyed.append(self.at[m])),
        ]  # fmt: skip
        self.keep += functions
        return np.array([address_of(f) for f in functions], np.uint64)

    def poll(self, _queue: int, wait_ms: int | None) -> int:
        """``rd_kafka_queue_poll``: an event is its message."""
        self.waits.append(wait_ms or 0)
        return int(self.messages[self.polled.pop(0)]) if self.polled else 0

    def of(self, handle: int) -> Headers:
        """The headers behind a handle: the message's number and 1."""
        return self.fakes[handle - 1].headers or []

    def timestamp(self, message: int, kind: int) -> int:
        """``rd_kafka_message_timestamp``."""
        fake = self.fakes[self.at[message]]
        ctypes.c_int32.from_address(kind).value = fake.kind
        return fake.stamp

    def headers(self, message: int, out: int) -> int:
        """``rd_kafka_message_headers``."""
        i = self.at[message]
        self.asked.append(i)
        if self.fakes[i].headers is None:
            return -156
        ctypes.c_uint64.from_address(out).value = i + 1
        return 0

    def header(self, handle: int, index: int | None, name: int, value: int, size: int) -> int:
        """``rd_kafka_header_get_all``."""
        key, data = self.of(handle)[index or 0]
        ctypes.c_uint64.from_address(name).value = self.place(key) or 0
        ctypes.c_uint64.from_address(value).value = self.place(data) or 0
        ctypes.c_uint64.from_address(size).value = len(data or b"")
        return 0


def read(library: Library, part_bytes: int = 1 << 30, *, in_place: bool = False) -> list[Block]:
    """The blocks that the loops make of messages."""
    copying = columnar.Copying(messages, library.calls(), lambda address: f"topic-{address}", in_place=in_place)
    survey = copying.survey(library.messages, len(library.fakes))
    blocks = [make_block(copying.fields(survey, *part), 9) for part in survey.parts(part_bytes)]
    for block in blocks:
        block.records.validate(full=True)
    return blocks


def test_null_and_empty_stay_apart() -> None:
    """Payload and key keep NULL, empty and bytes apart (KF-01, REP-06)."""
    (block,) = read(Library([Fake(None, None), Fake(b"", b""), Fake(b"abc", b"k"), Fake(None, b"kk"), Fake(b"\0\xff", None)]))

    assert block.records["payload"].to_pylist() == [None, b"", b"abc", None, b"\0\xff"]
    assert block.records["source_key"].to_pylist() == [None, b"", b"k", b"kk", None]
    assert block.nbytes == 8
    assert [block.slice(i, i + 1).nbytes for i in range(5)] == [0, 0, 4, 2, 2]
    assert block.bad == BadRows()


def test_locator_and_times() -> None:
    """Offset, partition, epoch, time and its type; what the broker leaves out is NULL (MET-01, MET-06, MET-07)."""
    (block,) = read(Library([
        Fake(offset=1 << 40, partition=3, kind=2), Fake(offset=2, partition=1, epoch=-1), Fake(offset=3, kind=0), Fake(offset=4, stamp=-1),
    ]))  # fmt: skip
    records = block.records

    assert records["source_offset"].to_pylist() == [1 << 40, 2, 3, 4]
    assert records["source_partition"].to_pylist() == [3, 1, 0, 0]
    assert records["source_leader_epoch"].to_pylist() == [7, None, 7, 7]
    assert records["source_timestamp"].cast(pa.int64()).to_pylist() == [5, 5, None, None]
    assert records["source_timestamp_type"].to_pylist() == ["LogAppendTime", "CreateTime", None, None]
    assert set(records["source_topic"].to_pylist()) == {"topic-1"}
    assert block.next_offsets() == {("topic-1", 3): (1 << 40) + 1, ("topic-1", 1): 3, ("topic-1", 0): 5}


def test_headers() -> None:
    """Headers keep order, duplicates, and NULL and empty apart (REP-07, REP-08, MET-13)."""
    some: Headers = [(b"a", b"1"), (b"b", None), (b"a", b""), ("\u00e4".encode(), b"\xff")]
    (block,) = read(Library([Fake(), Fake(headers=some), Fake(headers=[]), Fake(headers=[(b"", b"x")])]))
    found = [[(h["key"], h["value"]) for h in row] for row in block.records["source_headers"].to_pylist()]

    assert found == [[], [(k.decode(), v) for k, v in some], [], [("", b"x")]]


@pytest.mark.parametrize("in_place", [True, False])
def test_only_messages_that_may_have_headers_are_asked(in_place: bool) -> None:  # noqa: FBT001 - a parameter
    """A zero behind the value says that there are none, but only where values lie as on the wire, and not for old formats and NULL (REP-07)."""
    some: Headers = [(b"a", b"1")]
    library = Library([
        Fake(b"bare"), Fake(b"two", headers=some), Fake(b"old", epoch=-1, headers=some), Fake(None, headers=some), Fake(b"", headers=some),
    ])  # fmt: skip
    two = ctypes.create_string_buffer(b"two\x02")
    library.structs[1].payload = ctypes.addressof(two)
    (block,) = read(library, in_place=in_place)

    assert [len(row) for row in block.records["source_headers"].to_pylist()] == [0, 1, 1, 1, 1]
    assert block.records["payload"].to_pylist() == [b"bare", b"two", b"old", None, b""]
    assert library.asked == ([1, 2, 3, 4] if in_place else [0, 1, 2, 3, 4])


def test_a_header_key_that_is_not_utf8_is_a_bad_row() -> None:
    """Only its own row is hurt, and the row says why (KF-01)."""
    (block,) = read(Library([Fake(headers=[(b"a", b"1")]), Fake(headers=[(b"\xff", b"2")]), Fake()]))

    assert block.records["source_headers"].to_pylist() == [[{"key": "a", "value": b"1"}], None, []]
    assert (block.bad.rows, block.bad.codes) == ([1], ["source.header"])
    assert "can't decode byte 0xff" in block.bad.messages[0]


def test_errors_are_not_copied() -> None:
    """Errors and ends between records are told apart before anything is copied: their payload is no record."""
    library = Library([Fake(b"1"), Fake(b"Broker: end", err=-191, offset=9), Fake(b"2", offset=1), Fake(None, err=3)])
    copying = columnar.Copying(messages, library.calls(), str)
    survey = copying.survey(library.messages, 4)
    (block,) = read(library)

    assert survey.errors.tolist() == [0, -191, 0, 3]
    assert block.records["payload"].to_pylist() == [b"1", b"2"]


def test_only_errors_make_no_block() -> None:
    """Nothing but ends."""
    assert read(Library([Fake(err=-191), Fake(err=-191)])) == []


@pytest.mark.parametrize("nbytes", [1, 10, 11, 35])
def test_large_drains_are_parted(nbytes: int) -> None:
    """Blocks stay below what Arrow's offsets can say; a record that is larger comes alone; headers go with their records."""
    fakes = [Fake(b"x" * size, offset=i, headers=[(b"n%d" % i, b"v")]) for i, size in enumerate([10, 5, 6, 30, 0, 1, 10])]
    blocks = read(Library(fakes), nbytes)

    assert [v for b in blocks for v in b.records["payload"].to_pylist()] == [f.value for f in fakes]
    assert [h[0]["key"] for b in blocks for h in b.records["source_headers"].to_pylist()] == [f"n{i}" for i in range(7)]
    assert all(b.nbytes <= nbytes or b.rows == 1 for b in blocks)


def test_a_queue_is_emptied_up_to_a_count() -> None:
    """Events are put behind those that are there; only the first is waited for; errors bring no message."""
    library = Library([Fake(), Fake(err=-191), Fake()], polled=[0, 1, 2])
    copying = columnar.Copying(messages, library.calls(), str)
    events, found = np.zeros(5, np.uint64), np.zeros(5, np.uint64)

    assert copying.pop(1, 1, 3, 20, events, found) == 3
    assert copying.pop(1, 3, 5, 20, events, found) == 4
    assert library.waits == [20, 0, 20, 0]
    assert events.tolist() == [0, *library.messages.tolist(), 0]
    assert found.tolist() == [0, library.messages[0], 0, library.messages[2], 0]
    assert copying.survey(found[1:4].copy(), 3).errors.tolist() == [0, 1, 0]


def test_every_message_is_destroyed_once() -> None:
    """Errors too."""
    library = Library([Fake(), Fake(err=-191), Fake()])
    columnar.Copying(messages, library.calls(), str).destroy(library.messages, 3)

    assert library.destroyed == [0, 1, 2]


def test_compiled_loops_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty cache is seen as empty."""
    messages.compile_all()
    monkeypatch.setenv("THALWEG_CACHE", str(tmp_path))

    assert messages.cached() is not machine._JIT
