"""Headers, blocks and codecs of Avro container files, whole and damaged."""

from __future__ import annotations

import io
import time
from typing import TYPE_CHECKING

import fastavro
import pytest

from tests.oracle.containers import ORDER, SYNC, header, long, order, orders, packed, text, write
from thalweg.arrow import container
from thalweg.arrow.container import CODECS, ContainerFault
from thalweg.errors import UserError

if TYPE_CHECKING:
    from pathlib import Path


def read(data: bytes) -> container.Header:
    """The header of a file of these bytes."""
    return container.read_header(io.BytesIO(data))


@pytest.mark.parametrize("codec", CODECS)
def test_every_codec_is_unpacked(codec: str) -> None:
    """What was packed comes back, the empty block too (AV-26)."""
    for data in (b"", b"x", b"".join(order(i) for i in range(5_000))):
        assert container.inflate(codec, packed(codec, data), 1 << 20, 7) == data


@pytest.mark.parametrize("codec", ["deflate", "snappy", "bzip2", "xz", "zstandard"])
def test_a_bomb_costs_a_limit(codec: str) -> None:
    """A small block that unpacks to 64 MiB of zeros ends at the limit, quickly (AV-27)."""
    bomb = packed(codec, bytes(64 << 20))
    begin = time.monotonic()

    with pytest.raises(ContainerFault, match="more than 1048576 bytes") as caught:
        container.inflate(codec, bomb, 1 << 20, 99)

    assert caught.value.at == 99
    assert time.monotonic() - begin < 5


@pytest.mark.parametrize("codec", ["deflate", "snappy", "bzip2", "xz", "zstandard"])
def test_damaged_blocks_are_faults(codec: str) -> None:
    """A block that is cut, or has bytes changed or added, is never taken for another (AV-26)."""
    data = b"".join(order(i) for i in range(300))
    whole = packed(codec, data)
    for damaged in (whole[:-1], whole[: len(whole) // 2], b"\x00", b"\xff" * 40):
        with pytest.raises(ContainerFault, match=f"codec {codec}|more than 1048576 bytes"):
            container.inflate(codec, damaged, 1 << 20, 0)
    with pytest.raises(ContainerFault, match=f"codec {codec}"):
        container.inflate(codec, whole + b"12345", 1 << 20, 0)


def test_snappy_checksums_are_checked() -> None:
    """The CRC-32 of the unpacked data, big-endian, must be right (AV-26)."""
    whole = packed("snappy", b"abc")

    with pytest.raises(ContainerFault, match="checksum is wrong: 0x352441c3 is written, 0x352441c2 is right"):
        container.inflate("snappy", whole[:-1] + b"\xc3", 100, 0)


def test_deflate_of_fastavro(tmp_path: Path) -> None:
    """Writers that leave some of zlib's checksum behind the data are read."""
    path = tmp_path / "f.avro"
    with path.open("wb") as file:
        fastavro.writer(file, ORDER, [{"id": 1, "name": "n", "tags": []}], codec="deflate")
    with path.open("rb") as file:
        head = container.read_header(file)
        block = container.read_block(file, head, head.size, container.size_of(file))
        file.seek(block.data_at)

        assert container.inflate(head.codec, file.read(block.size), 100, 0) == long(1) + long(1) + text("n") + long(0)


def test_the_header_is_read_whole() -> None:
    """The codec may come after any metadata, in several blocks of the map, also with sizes; without one it is null (AV-26)."""
    many = header(ORDER, "deflate", {f"user.{i}": b"v" * i for i in range(20)})
    assert (read(many).codec, read(many).sync, read(many).size) == ("deflate", SYNC, len(many))
    assert read(header(ORDER, None)).codec == read(header(ORDER, "")).codec == "null"
    entry = text("avro.schema") + text('"long"')
    sized = b"Obj\x01" + long(-1) + long(len(entry)) + entry + long(1) + text("avro.codec") + text("xz") + b"\0" + SYNC
    assert (read(sized).schema, read(sized).codec) == ('"long"', "xz")
    assert read(header(b'"long"')).schema_id == read(header(b'"long"', "xz")).schema_id != read(many).schema_id


@pytest.mark.parametrize(
    ("data", "says", "at"),
    [
        (b"", "the file is empty", 0),
        (b"PAR1....", "found 0x50415231", 0),
        (header(ORDER)[:-3], "ends inside its header", len(header(ORDER)) - 16),
        (header(ORDER, "lz77"), "codec 'lz77' is none of null, deflate", 4),
        (header(b""), "no 'avro.schema'", 4),
        (header(b"\xff"), "no UTF-8", 4),
        (b"Obj\x01" + b"\xff" * 11, "more than 64 bits", 4),
        (b"Obj\x01" + long(1 << 40), "claims 1099511627776 entries", 10),
        (b"Obj\x01" + long(1) + long(1 << 40), "1099511627776 bytes are claimed", 11),
        (b"Obj\x01" + long(1) + long(-5), "-5 bytes are claimed", 6),
        (b"Obj\x01" + long(1), "ends inside a number", 5),
    ],
)  # fmt: skip
def test_headers_that_are_none(data: bytes, says: str, at: int) -> None:
    """Each fault has its reason and its byte, and no claim makes memory."""
    with pytest.raises(ContainerFault) as caught:
        read(data)

    assert says in caught.value.message
    assert caught.value.at == at


def test_blocks_and_sync_markers(tmp_path: Path) -> None:
    """A block is one when its marker follows it; the next marker can be searched for over any distance (AV-26)."""
    head, far = header(ORDER), bytes((1 << 20) - 20)
    path = write(tmp_path / "f", head, orders(1), far, SYNC, orders(2))
    with path.open("rb") as file:
        known, end = container.read_header(file), container.size_of(file)
        first = container.read_block(file, known, known.size, end)
        assert (first.count, first.end) == (1, known.size + len(orders(1)))
        with pytest.raises(ContainerFault, match=r"sync marker"):
            container.read_block(file, known, first.end, end)
        again = container.find_sync(file, known, first.end, end)
        assert again == first.end + len(far) + 16
        assert container.read_block(file, known, again, end).end == end
        assert container.find_sync(file, known, again + 30, end) == end
        assert container.find_sync(file, known, end - 3, end) == end


def test_locations(tmp_path: Path) -> None:
    """A file, a pattern, a folder with those below it, a URL; hidden ones are left out, the order is the names'."""
    for name in ("b.avro", "a.avro", "sub/c.avro", "_tmp/d.avro", ".e.avro", "note.txt", "with space/f.avro"):
        write(tmp_path / name, b"")
    names = lambda location: [p.relative_to(tmp_path).as_posix() for p in container.files_of(location, str(tmp_path))]  # noqa: E731

    assert names(".") == names(tmp_path.as_uri()) == ["a.avro", "b.avro", "sub/c.avro", "with space/f.avro"]
    assert names("note.txt") == ["note.txt"]
    assert names("?.avro") == ["a.avro", "b.avro"]
    assert names("**/c.avro") == ["sub/c.avro"]
    assert names((tmp_path / "with space").as_uri()) == ["with space/f.avro"]
    assert names("x*.avro") == []
    with pytest.raises(UserError, match=r"no such file or folder \(name a file, a pattern or a folder that is there\)"):
        names("nowhere")
