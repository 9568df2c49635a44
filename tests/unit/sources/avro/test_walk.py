"""One file from any record on: good blocks, damaged ones, and what both are called."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.oracle.containers import ORDER, SYNC, block, header, long, order, orders, packed, write
from thalweg.arrow.container import CODECS
from thalweg.codecs.avro.split import Blocks
from thalweg.sources.avro.walk import Piece, Walk

if TYPE_CHECKING:
    from pathlib import Path

HEAD = header(ORDER)


def walked(path: Path, start: int = 0, most: int = 1 << 20) -> list[Piece]:
    """Every piece of a file."""
    walk = Walk(path, Blocks(), most)
    out = []
    while (piece := walk.next(start)) is not None:
        out.append(piece)
        start = piece.end
    walk.close()
    return out


def numbered(pieces: list[Piece]) -> dict[int, bytes]:
    """Good records by their numbers."""
    out = {}
    for piece in pieces:
        for i in range(piece.rows - (piece.fault is not None)):
            out[piece.start + i] = piece.data[piece.offsets[i] : piece.offsets[i + 1]]
    return out


def faults(pieces: list[Piece]) -> list[tuple[int, str, bytes]]:
    """Number, reason and bytes of each record that is none."""
    return [
        (p.start + p.rows - 1, p.fault, p.data[p.offsets[-2] : p.offsets[-1]]) for p in pieces if p.fault is not None and p.rows
    ]


@pytest.mark.parametrize("codec", CODECS)
def test_every_codec_gives_the_same_records(tmp_path: Path, codec: str) -> None:
    """Blocks of any codec, an empty one among them, which ends nothing (AV-26)."""
    empty = block([], codec)
    path = write(tmp_path / "f", header(ORDER, codec), orders(0, 1, codec=codec), empty, orders(2, codec=codec))
    found = numbered(walked(path))

    assert list(found.values()) == [order(0), order(1), order(2)]
    assert faults(walked(path)) == []


def test_going_to_a_record(tmp_path: Path) -> None:
    """From any number on the rest comes, and blocks before it are not unpacked (BAT-14)."""
    path = write(tmp_path / "f", HEAD, orders(0, 1, 2), orders(3, 4), orders(5))

    for start in range(7):
        assert numbered(walked(path, start)) == {n: order(n) for n in range(start, 6)}
    assert [p.start for p in walked(path, 4)] == [4, 5]


def test_a_file_without_blocks_has_no_records(tmp_path: Path) -> None:
    """And no fault either (AV-26)."""
    assert walked(write(tmp_path / "f", HEAD)) == []


def test_a_wrong_marker_costs_its_block(tmp_path: Path) -> None:
    """The rows before it and from the next marker on are kept; what is passed over is one record, with file and byte (AV-26)."""
    broken = orders(3, 4, sync=b"x" * 16)
    path = write(tmp_path / "f", HEAD, orders(0, 1, 2), broken, orders(5), orders(6))
    pieces = walked(path)
    at = len(HEAD) + len(orders(0, 1, 2))

    assert numbered(pieces) == {0: order(0), 1: order(1), 2: order(2), 4: order(6)}
    ((number, fault, data),) = faults(pieces)
    assert (number, data) == (3, broken + orders(5))
    assert fault.startswith(f"{path} at byte {at}: the block that begins here is not followed by the file's sync marker at byte {at + len(broken) - 16};")
    assert f"{len(data)} bytes are passed over, up to byte {at + len(data)}" in fault
    for start in range(5):
        assert numbered(walked(path, start)) == {n: d for n, d in numbered(pieces).items() if n >= start}


def test_a_truncated_file_tells_where(tmp_path: Path) -> None:
    """Every record before the cut is there, the rest is one bad record, wherever the cut lies (AV-26)."""
    last = orders(2, 3)
    whole = HEAD + orders(0, 1) + last
    for cut in range(1, len(last)):
        pieces = walked(write(tmp_path / "f", whole[:-cut]))

        assert numbered(pieces) == {0: order(0), 1: order(1)}
        ((number, fault, data),) = faults(pieces)
        assert (number, data) == (2, last[:-cut])
        assert f"at byte {len(HEAD + orders(0, 1))}" in fault or "ends inside a number" in fault


@pytest.mark.parametrize(
    ("count", "good", "says"),
    [
        (3, 2, "record 3 of the block's 3 cannot be read: the block ends inside it"),
        (1, 0, "record 1 of the block's 1 has"),
        (9, 2, "it and the 6 behind it are lost"),
        (0, 0, "record 1 of the block's 0 has"),
        (-2, 0, "a block of -2 records is claimed"),
        (1 << 40, 0, "a block of 1099511627776 records is claimed"),
        (1 << 30, 0, "more records of no bytes"),
    ],
)  # fmt: skip
def test_counts_that_lie(tmp_path: Path, count: int, good: int, says: str) -> None:
    """A block with another number of records than it claims is told, and the next one is read (AV-26)."""
    path = write(tmp_path / "f", HEAD, orders(0, 1, count=count), orders(7))
    pieces = walked(path)

    assert list(numbered(pieces).values()) == [order(n) for n in range(good)] + [order(7)]
    assert len(faults(pieces)) == 1
    assert says in faults(pieces)[0][1]
    behind = max(numbered(pieces))
    assert numbered(walked(path, behind)) == {behind: order(7)}


def test_sizes_that_lie(tmp_path: Path) -> None:
    """A block that claims to be larger than the file, or negative, costs itself."""
    for size in (1 << 50, -4):
        path = write(tmp_path / "f", HEAD, orders(0), long(2) + long(size) + order(1) + SYNC, orders(2))
        pieces = walked(path)

        assert numbered(pieces) == {0: order(0), 2: order(2)}
        assert f"a block of {size} bytes is claimed" in faults(pieces)[0][1]


def test_a_bomb_costs_its_block(tmp_path: Path) -> None:
    """A block that unpacks to more than the limit, or is larger before, is one bad record; the next block is read (AV-27)."""
    data = packed("deflate", bytes(32 << 20))
    bomb = long(1) + long(len(data)) + data + SYNC
    path = write(tmp_path / "f", header(ORDER, "deflate"), bomb, orders(1, codec="deflate"))

    unpacked = walked(path)
    assert "more than 1048576 bytes" in faults(unpacked)[0][1]
    assert numbered(unpacked) == {1: order(1)}
    small = walked(path, most=1_000)
    assert f"a block of {len(data)} bytes is larger than 1000" in faults(small)[0][1]
    assert numbered(small) == {1: order(1)}


@pytest.mark.parametrize("data", [b"", b"Obj\x01", b"PK\x03\x04" + bytes(100), header(ORDER, "lzo") + orders(1)])
def test_what_is_no_container_is_one_bad_record(tmp_path: Path, data: bytes) -> None:
    """The whole file is passed over, with the reason (AV-26)."""
    pieces = walked(write(tmp_path / "f", data))

    assert numbered(pieces) == {}
    assert [(n, d) for n, _, d in faults(pieces)] == [(0, data)]


def test_a_schema_that_is_none_costs_its_blocks(tmp_path: Path) -> None:
    """Blocks of a file whose header holds no Avro schema cannot be told apart."""
    pieces = walked(write(tmp_path / "f", header(json.dumps({"type": "recrod"}).encode()), orders(0, 1), orders(2)))

    assert [(n, "cannot be read" in fault) for n, fault, _ in faults(pieces)] == [(0, True), (2, True)]


def test_a_damaged_record_keeps_the_ones_before_it(tmp_path: Path) -> None:
    """Records behind it have no beginning any more; the message says how many (law 4)."""
    bad = order(1) + b"\x08\x7f\xff" + order(2)
    pieces = walked(write(tmp_path / "f", HEAD, block([order(0), bad], count=4), orders(9)))

    assert numbered(pieces) == {0: order(0), 1: order(1), 4: order(9)}
    ((number, fault, data),) = faults(pieces)
    assert (number, data) == (2, bad[len(order(1)) :])
    assert "record 3 of the block's 4 cannot be read" in fault
    assert fault.endswith("it and the 1 behind it are lost")
