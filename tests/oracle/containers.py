"""Writes Avro container files byte by byte, whole or damaged; the specification's text in forty lines."""

from __future__ import annotations

import bz2
import json
import lzma
import zlib
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

SYNC = bytes(range(0xA0, 0xB0))
ORDER = {
    "type": "record", "name": "O", "fields": [
        {"name": "id", "type": "long"}, {"name": "name", "type": ["null", "string"]}, {"name": "tags", "type": {"type": "array", "items": "string"}},
    ],
}  # fmt: skip


def long(value: int) -> bytes:
    """A zigzag varint."""
    number, out = (value << 1) ^ (value >> 63), bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def text(value: bytes | str) -> bytes:
    """Length and bytes."""
    data = value.encode() if isinstance(value, str) else value
    return long(len(data)) + data


def order(number: int) -> bytes:
    """A datum of ``ORDER``."""
    name = long(0) if number % 3 else long(1) + text(f"n{number}")
    tags = [text("a")] * (number % 4)
    return long(number) + name + (long(len(tags)) + b"".join(tags) if tags else b"") + long(0)


def order_row(number: int) -> dict[str, object]:
    """The same as a row."""
    return {"id": number, "name": None if number % 3 else f"n{number}", "tags": ["a"] * (number % 4)}


def header(schema: object, codec: str | None = "null", more: Mapping[str, bytes] | None = None, *, sync: bytes = SYNC) -> bytes:
    """The header; ``more`` metadata comes before the codec."""
    entries = {"avro.schema": schema if isinstance(schema, bytes) else json.dumps(schema).encode(), **(more or {})}
    if codec is not None:
        entries["avro.codec"] = codec.encode()
    return b"Obj\x01" + long(len(entries)) + b"".join(text(k) + text(v) for k, v in entries.items()) + b"\0" + sync


def packed(codec: str | None, data: bytes) -> bytes:
    """A block's data as its codec has it."""
    if codec == "deflate":
        machine = zlib.compressobj(wbits=-15)
        return machine.compress(data) + machine.flush()
    if codec == "bzip2":
        return bz2.compress(data)
    if codec == "xz":
        return lzma.compress(data)
    if codec == "snappy":
        return bytes(pa.Codec("snappy").compress(data, asbytes=True)) + zlib.crc32(data).to_bytes(4, "big")
    if codec == "zstandard":
        return bytes(pa.Codec("zstd").compress(data, asbytes=True))
    return data


def block(records: Iterable[bytes], codec: str | None = "null", *, count: int | None = None, sync: bytes = SYNC) -> bytes:
    """A block of records, or of what claims to be ``count`` of them."""
    items = list(records)
    data = packed(codec, b"".join(items))
    return long(len(items) if count is None else count) + long(len(data)) + data + sync


def orders(*numbers: int, codec: str | None = "null", **rest: int) -> bytes:
    """A block of orders."""
    return block([order(n) for n in numbers], codec, **rest)


def write(path: Path, *parts: bytes) -> Path:
    """A file of these bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(parts))
    return path
