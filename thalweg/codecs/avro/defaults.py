"""A field's default, written in the schema as JSON, to the bytes that a writer would have sent."""

from __future__ import annotations

import struct
from typing import Any, Final

from thalweg.arrow.rows import bounded
from thalweg.codecs.avro.schema import NO_DEFAULT, Node, SchemaError

_BITS: Final = {"int": 31, "long": 63}
_LATIN1: Final = 0xFF


def encode_default(node: Node, value: Any) -> bytes:  # noqa: ANN401 - any JSON
    """Avro's binary encoding of a default. Raises SchemaError where it does not fit the type."""
    if node.kind == "union":
        return _union(node, value)
    if node.kind in {"record", "map"} and isinstance(value, dict):
        return _record(node, value) if node.kind == "record" else _map(node, value)
    if node.kind == "array" and isinstance(value, list):
        items = b"".join(encode_default(node.item, v) for v in value)
        return encode_long(len(value)) + items + b"\0" if value else b"\0"
    if node.kind == "enum" and value in node.symbols:
        return encode_long(node.symbols.index(value))
    found = _scalar(node, value)
    if found is None:
        raise SchemaError(f"default {bounded(repr(value))} does not fit type {bounded(node.label)}")
    return found


def encode_long(value: int) -> bytes:
    """A zigzag varint."""
    left = (value << 1) ^ (value >> 63)
    out = bytearray()
    while left > 0x7F:  # noqa: PLR2004 - seven bits a byte
        out.append(left & 0x7F | 0x80)
        left >>= 7
    out.append(left)
    return bytes(out)


def _union(node: Node, value: Any) -> bytes:  # noqa: ANN401 - any JSON
    """The first branch that the default fits."""
    for index, branch in enumerate(node.branches):
        try:
            return encode_long(index) + encode_default(branch, value)
        except SchemaError:
            continue
    raise SchemaError(f"default {bounded(repr(value))} fits no branch of the union")


def _record(node: Node, value: dict[str, Any]) -> bytes:
    """The fields in order; one that is not given takes its own default."""
    out = []
    for field in node.fields:
        found = value.get(field.name, field.default)
        if found is NO_DEFAULT:
            raise SchemaError(f"the default of record {bounded(node.name)} lacks field '{bounded(field.name)}'")
        out.append(encode_default(field.node, found))
    return b"".join(out)


def _map(node: Node, value: dict[str, Any]) -> bytes:
    """One block."""
    if not value:
        return b"\0"
    return encode_long(len(value)) + b"".join(_sized(k.encode()) + encode_default(node.item, v) for k, v in value.items()) + b"\0"


def _sized(data: bytes) -> bytes:
    """Length and bytes."""
    return encode_long(len(data)) + data


def _scalar(node: Node, value: Any) -> bytes | None:  # noqa: ANN401 - any JSON
    """A value without parts; None where it does not fit."""
    kind = node.kind
    if kind == "null":
        return b"" if value is None else None
    if kind == "boolean":
        return bytes([value]) if isinstance(value, bool) else None
    if kind in _BITS:
        fits = isinstance(value, int) and not isinstance(value, bool) and -(1 << _BITS[kind]) <= value < 1 << _BITS[kind]
        return encode_long(value) if fits else None
    if kind in {"float", "double"}:
        return struct.pack("<f" if kind == "float" else "<d", value) if isinstance(value, int | float) and not isinstance(value, bool) else None
    if isinstance(value, str):
        return _text(node, value)
    return None


def _text(node: Node, value: str) -> bytes | None:
    """Text as UTF-8; bytes and fixed from code points 0 to 255."""
    if node.kind == "string":
        return _sized(value.encode())
    if node.kind in {"bytes", "fixed"} and all(ord(c) <= _LATIN1 for c in value):
        data = value.encode("latin-1")
        if node.kind == "bytes":
            return _sized(data)
        return data if len(data) == node.size else None
    return None
