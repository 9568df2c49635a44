"""Compressed record batches: https://kafka.apache.org/documentation/#recordbatch, attributes 0 to 2."""

from __future__ import annotations

from typing import Final, TypeAlias

import pyarrow as pa

from thalweg.sources.kafka.fetch.messages import Garbled

Piece: TypeAlias = pa.Buffer | bytes | bytearray

_SNAPPY: Final = 2
_STREAMS: Final = {1: "gzip", 3: "lz4", 4: "zstd"}
_XERIAL: Final = b"\x82SNAPPY\x00"
_XERIAL_HEAD: Final = 16
"""The mark, and two versions."""
_SMALLEST, _LARGEST = 1 << 16, 1 << 24
"""Bytes of a piece that is asked for."""
_LONGEST_VARINT: Final = 5
_DENSEST: Final = 64
"""No block of snappy grows by more: its longest copy makes 64 bytes of three."""


def inflate(codec: int, data: memoryview, most: int) -> list[Piece]:
    """What was compressed, in pieces of ``most`` bytes in all at most; raises Garbled."""
    try:
        if codec == _SNAPPY:
            return _snappy(data, most)
        if codec in _STREAMS:
            return _stream(_STREAMS[codec], data, most)
    except (OSError, pa.ArrowException) as e:
        raise Garbled(f"a compressed batch cannot be read: {e}") from None
    raise Garbled(f"a batch is compressed by a codec that is not known: {codec}")


def _stream(name: str, data: memoryview, most: int) -> list[Piece]:
    """Codecs whose data says where it ends."""
    out: list[Piece] = []
    left, size = most, min(max(_SMALLEST, 4 * len(data)), _LARGEST)
    with pa.CompressedInputStream(pa.BufferReader(pa.py_buffer(data)), name) as stream:
        while piece := stream.read_buffer(min(size, left + 1)):
            left -= len(piece)
            if left < 0:
                raise _too_large(most)
            out.append(piece)
    return out


def _snappy(data: memoryview, most: int) -> list[Piece]:
    """One block, or blocks with their sizes in front as Java's clients send them."""
    if bytes(data[: len(_XERIAL)]) != _XERIAL:
        return [_block(data, most)]
    out, at = bytearray(), _XERIAL_HEAD
    while at < len(data):
        if bytes(data[at : at + len(_XERIAL)]) == _XERIAL:  # streams one behind the other
            at += _XERIAL_HEAD
            continue
        size = int.from_bytes(data[at : at + 4], "big")
        if at + 4 + size > len(data):
            raise Garbled("a snappy block ends behind its batch")
        out += _block(data[at + 4 : at + 4 + size], most - len(out))
        at += 4 + size
    return [out]


def _block(data: memoryview, most: int) -> pa.Buffer | bytes:
    """A block of snappy: its size when it is not compressed is a varint in front."""
    size = 0
    for i, byte in enumerate(data[:_LONGEST_VARINT]):
        size |= (byte & 127) << (7 * i)
        if byte < 128:  # noqa: PLR2004 - the last byte of a varint
            break
    else:
        raise Garbled("a snappy block has no size")
    if size > min(most, _DENSEST * len(data)):
        raise _too_large(most)
    return pa.Codec("snappy").decompress(pa.py_buffer(data), size) if size else b""


def _too_large(most: int) -> Garbled:
    """More than may be."""
    return Garbled(f"a compressed batch holds more than the {most:,} bytes that are left for it")
