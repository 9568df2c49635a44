"""Avro object container files as bytes: the header, the heads of blocks, and blocks without their compression; no schema is understood here."""

from __future__ import annotations

import bz2
import glob
import hashlib
import lzma
import os
import uuid
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote_to_bytes, urlsplit

import pyarrow as pa

from thalweg.arrow.rows import bytes_left
from thalweg.errors import UserError

if TYPE_CHECKING:
    from typing import BinaryIO

MAGIC: Final = b"Obj\x01"
SYNC_BYTES: Final = 16
CODECS: Final = ("null", "deflate", "snappy", "bzip2", "xz", "zstandard")
_MAX_HEADER: Final = 16 << 20
_MAX_ENTRIES: Final = 65_536
_VARINT_BYTES: Final = 10
_CRC_BYTES: Final = 4
_XZ_MEMORY: Final = 256 << 20


class ContainerFault(Exception):
    """Why a place in a container cannot be read."""

    def __init__(self, message: str, at: int) -> None:
        """``at``: the byte of the file where it begins."""
        super().__init__(message)
        self.message = message
        self.at = at


@dataclass(frozen=True, slots=True)
class Header:
    """What a container says of itself."""

    schema: str
    """The writer's schema, JSON text."""
    codec: str
    sync: bytes
    """The 16 bytes behind the header and behind each block."""
    size: int
    """Bytes of the header; the first block begins there."""

    @property
    def schema_id(self) -> uuid.UUID:
        """A name for the schema's very text, the same in every file."""
        return uuid.UUID(bytes=hashlib.blake2b(self.schema.encode(), digest_size=16).digest())


@dataclass(frozen=True, slots=True)
class Block:
    """Where one block lies."""

    at: int
    count: int
    """Records that it claims."""
    data_at: int
    size: int
    """Bytes that it claims, as they lie in the file."""

    @property
    def end(self) -> int:
        """The byte behind its sync marker."""
        return self.data_at + self.size + SYNC_BYTES


def files_of(location: str, folder: str) -> list[Path]:
    """The files of a location, in the order of their names: a file, a pattern, or every ``*.avro`` below a folder; hidden ones are left out.

    A relative location lies in ``folder``, or else in the current directory. Raises UserError for a place that is not there.
    """
    text = path_of(location)
    wanted = Path(text).expanduser()
    place = wanted if wanted.exists() and not (Path(folder) / wanted).exists() else Path(folder) / wanted
    if place.is_file():
        return [place.absolute()]
    if place.is_dir():
        found = [p for p in place.rglob("*.avro") if p.is_file() and not any(part.startswith((".", "_")) for part in p.relative_to(place).parts)]
        return sorted(p.absolute() for p in found)
    if glob.has_magic(text):
        return sorted(Path(p).absolute() for p in glob.glob(str(place), recursive=True) if Path(p).is_file())  # noqa: PTH207 - ** and absolute patterns
    raise UserError(f"{location}: no such file or folder", hint="name a file, a pattern or a folder that is there")


def path_of(location: str) -> str:
    """The path of a location, which may be a ``file://`` URL."""
    return os.fsdecode(unquote_to_bytes(urlsplit(location).path)) if location.startswith("file://") else location


def shown(path: Path) -> str:
    """A path for messages, whatever bytes its name has."""
    return str(path).encode("utf-8", "backslashreplace").decode()


def read_header(file: BinaryIO) -> Header:
    """Read from the start of a file. Raises ContainerFault."""
    head = file.read(len(MAGIC))
    if head != MAGIC:
        found = f"found 0x{head.hex()}" if head else "the file is empty"
        raise ContainerFault(f"an Avro container begins with 0x{MAGIC.hex()} ('Obj', 1), {found}", 0)
    entries = _metadata(file)
    sync = _exactly(file, SYNC_BYTES)
    try:
        schema, codec = entries.get("avro.schema", b"").decode(), entries.get("avro.codec", b"null").decode() or "null"
    except UnicodeDecodeError:
        raise ContainerFault("the header's schema or codec is no UTF-8", len(MAGIC)) from None
    if not schema:
        raise ContainerFault("the header has no 'avro.schema'", len(MAGIC))
    if codec not in CODECS:
        raise ContainerFault(f"codec '{codec[:40]}' is none of {', '.join(CODECS)}", len(MAGIC))
    return Header(schema, codec, sync, file.tell())


def read_block(file: BinaryIO, header: Header, at: int, end: int) -> Block:
    """The block at byte ``at``, with its sync marker checked; its data is not read. Raises ContainerFault where it cannot be one."""
    file.seek(at)
    count, size = _long(file), _long(file)
    block = Block(at, count, file.tell(), size)
    if size < 0 or block.end > end:
        raise ContainerFault(f"a block of {size} bytes is claimed, {max(end - block.data_at, 0)} are left in the file", at)
    file.seek(block.data_at + size)
    if file.read(SYNC_BYTES) != header.sync:
        raise ContainerFault(f"the block that begins here is not followed by the file's sync marker at byte {block.data_at + size}", at)
    return block


def find_sync(file: BinaryIO, header: Header, start: int, end: int) -> int:
    """The byte behind the next sync marker from ``start`` on; ``end`` where there is none."""
    window, at = 1 << 20, start
    while at < end:
        file.seek(at)
        data = file.read(min(window + SYNC_BYTES - 1, end - at))
        found = data.find(header.sync)
        if found >= 0:
            return at + found + SYNC_BYTES
        if len(data) < SYNC_BYTES:
            break
        at += len(data) - SYNC_BYTES + 1
    return end


def inflate(codec: str, data: bytes, most: int, at: int) -> bytes:
    """A block's data without its compression, at most ``most`` bytes. Raises ContainerFault at byte ``at`` of the file."""
    try:
        out = _inflated(codec, data, most)
    except (zlib.error, lzma.LZMAError, pa.ArrowException, OSError, EOFError, ValueError) as e:
        raise ContainerFault(f"the block cannot be read by codec {codec}: {e}", at) from None
    if out is None or len(out) > most:
        raise ContainerFault(f"the block holds more than {most} bytes ('avro.block.max-bytes')", at)
    return out


def _inflated(codec: str, data: bytes, most: int) -> bytes | None:
    """The data, or None where it is too large to be unpacked at all."""
    if codec == "deflate":
        return _streamed(zlib.decompressobj(-zlib.MAX_WBITS), data, most, spare=_CRC_BYTES)
    if codec == "bzip2":
        return _streamed(bz2.BZ2Decompressor(), data, most)
    if codec == "xz":
        return _streamed(lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY), data, most)
    if codec == "snappy":
        return _snappy(data, most)
    if codec == "zstandard":
        with pa.CompressedInputStream(pa.BufferReader(data), "zstd") as stream:
            found: bytes = stream.read(most + 1)
            return found
    return data


def _streamed(machine: zlib._Decompress | bz2.BZ2Decompressor | lzma.LZMADecompressor, data: bytes, most: int, *, spare: int = 0) -> bytes:
    """Whatever one of the standard library's decompressors makes of the data, one byte more than ``most`` at most.

    ``spare``: bytes that may be left; some writers of deflate cut zlib's head off, but not all of its checksum.
    """
    out = machine.decompress(data, most + 1)
    if len(out) <= most:
        if not machine.eof:
            raise ValueError("the compressed data ends too early")
        if len(machine.unused_data) > spare:
            message = f"{bytes_left(len(machine.unused_data))} behind the compressed data"
            raise ValueError(message)
    return out


def _snappy(data: bytes, most: int) -> bytes | None:
    """Raw Snappy with the CRC-32 of what it holds, big-endian, behind it."""
    if len(data) < _CRC_BYTES:
        raise ValueError("the checksum is missing")
    body, crc = data[:-_CRC_BYTES], int.from_bytes(data[-_CRC_BYTES:], "big")
    size, shift = 0, 0
    for byte in body[:5]:
        size |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:  # noqa: PLR2004 - the last byte of a varint
            break
    if size > most:
        return None
    out: bytes = pa.Codec("snappy").decompress(body, decompressed_size=size, asbytes=True) if size else b""
    if zlib.crc32(out) != crc:
        message = f"the checksum is wrong: 0x{crc:08x} is written, 0x{zlib.crc32(out):08x} is right"
        raise ValueError(message)
    return out


def _metadata(file: BinaryIO) -> dict[str, bytes]:
    """The header's map; the last of several equal keys wins."""
    out: dict[str, bytes] = {}
    while count := _long(file):
        if count < 0:
            count = -count
            _long(file)
        if count > _MAX_ENTRIES:
            raise ContainerFault(f"the header claims {count} entries of metadata", file.tell())
        for _ in range(count):
            key = _exactly(file, _long(file))
            out[key.decode("utf-8", "replace")] = _exactly(file, _long(file))
    return out


def _exactly(file: BinaryIO, size: int) -> bytes:
    """The next bytes of a header."""
    at = file.tell()
    if not 0 <= size <= _MAX_HEADER - at:
        raise ContainerFault(f"{size} bytes are claimed; a header has at most {_MAX_HEADER}", at)
    out = file.read(size)
    if len(out) < size:
        raise ContainerFault("the file ends inside its header", at)
    return out


def _long(file: BinaryIO) -> int:
    """A zigzag varint."""
    at, number = file.tell(), 0
    for i in range(_VARINT_BYTES):
        byte = file.read(1)
        if not byte:
            raise ContainerFault("the file ends inside a number", at)
        number |= (byte[0] & 0x7F) << (7 * i)
        if byte[0] < 0x80:  # noqa: PLR2004 - the last byte of a varint
            if number >> 64:
                break
            return (number >> 1) ^ -(number & 1)
    raise ContainerFault("a number has more than 64 bits", at)


def size_of(file: BinaryIO) -> int:
    """Bytes that the file has now."""
    return os.fstat(file.fileno()).st_size
