"""Tags, lengths and numbers of Protobuf's wire format, and what is passed over; every fault is a BadValue."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, Final

from google.protobuf.descriptor import FieldDescriptor

from thalweg.arrow.rows import LIMIT, MALFORMED, BadValue
from thalweg.codecs.protobuf.forms import DELIMITED, END_GROUP, FIXED32, FIXED64, GROUP, MAX_LEVELS, VARINT

if TYPE_CHECKING:
    from collections.abc import Callable

_CONTINUED: Final = 0x80
_LOW7: Final = 0x7F
_VARINT_BYTES: Final = 10
_TAG_BYTES: Final = 5
_MOST_TAG: Final = (1 << 32) - 1
_MOST_LENGTH: Final = (1 << 31) - 1
_MASK64: Final = (1 << 64) - 1
_WIDTHS: Final = {FIXED64: 8, FIXED32: 4}


def read_varint(src: bytes, p: int, end: int) -> tuple[int, int]:
    """The 64 bits of a varint, unsigned, and the next position; bits beyond 64 are dropped, as other runtimes do."""
    value, start = 0, p
    while p < end and p - start < _VARINT_BYTES:
        b = src[p]
        value |= (b & _LOW7) << 7 * (p - start)
        p += 1
        if b < _CONTINUED:
            return value & _MASK64, p
    raise BadValue(MALFORMED, "a number has more than ten bytes" if p - start == _VARINT_BYTES else "the bytes end inside a number")


def read_tag(src: bytes, p: int, end: int) -> tuple[int, int]:
    """A tag, whose field number is at least 1, and the next position."""
    tag, at = _short(src, p, end)
    if tag > _MOST_TAG or tag >> 3 == 0:
        raise BadValue(MALFORMED, f"tag {tag} has no field number that can be")
    return tag, at


def read_length(src: bytes, p: int, end: int) -> tuple[int, int]:
    """Where delimited bytes begin and end."""
    length, at = _short(src, p, end)
    if length > _MOST_LENGTH or length > end - at:
        raise BadValue(MALFORMED, f"a length of {length} bytes, but {end - at} are left")
    return at, at + length


def _short(src: bytes, p: int, end: int) -> tuple[int, int]:
    """A varint of at most five bytes."""
    value, at = read_varint(src, p, min(end, p + _TAG_BYTES))
    return value, at


def skip(src: bytes, p: int, end: int, tag: int, level: int) -> int:
    """Passes over the unknown field whose tag was read; groups inside it count as levels."""
    groups: list[int] = []
    while True:
        kind = tag & 7
        if kind == VARINT:
            _, p = read_varint(src, p, end)
        elif kind in _WIDTHS:
            p += _WIDTHS[kind]
            if p > end:
                raise BadValue(MALFORMED, "the bytes end inside a number")
        elif kind == DELIMITED:
            _, p = read_length(src, p, end)
        elif kind == GROUP:
            deeper(level + len(groups))
            groups.append(tag >> 3)
        elif kind == END_GROUP:
            if not groups or groups.pop() != tag >> 3:
                raise BadValue(MALFORMED, f"group {tag >> 3} ends but did not begin")
        else:
            raise BadValue(MALFORMED, f"there is no wire type {kind}")
        if not groups:
            return p
        tag, p = read_tag(src, p, end)


def deeper(level: int) -> int:
    """One level down."""
    if level >= MAX_LEVELS:
        raise BadValue(LIMIT, f"messages lie deeper than {MAX_LEVELS} levels")
    return level + 1


def _int32(v: int) -> int:
    """The low 32 bits, signed."""
    return ((v & 0xFFFFFFFF) ^ 0x80000000) - 0x80000000


def _int64(v: int) -> int:
    """64 bits, signed."""
    return v - (1 << 64) if v >> 63 else v


def _zigzag32(v: int) -> int:
    """The low 32 bits, unzigzagged."""
    v &= 0xFFFFFFFF
    return (v >> 1) ^ -(v & 1)


VARINTS: Final[dict[int, Callable[[int], Any]]] = {
    FieldDescriptor.TYPE_INT32: _int32,
    FieldDescriptor.TYPE_ENUM: _int32,
    FieldDescriptor.TYPE_INT64: _int64,
    FieldDescriptor.TYPE_UINT32: lambda v: v & 0xFFFFFFFF,
    FieldDescriptor.TYPE_UINT64: lambda v: v,
    FieldDescriptor.TYPE_SINT32: _zigzag32,
    FieldDescriptor.TYPE_SINT64: lambda v: (v >> 1) ^ -(v & 1),
    FieldDescriptor.TYPE_BOOL: bool,
}
"""The value of a varint, by the field's type."""
FIXED: Final = {
    FieldDescriptor.TYPE_DOUBLE: struct.Struct("<d"),
    FieldDescriptor.TYPE_FIXED64: struct.Struct("<Q"),
    FieldDescriptor.TYPE_SFIXED64: struct.Struct("<q"),
    FieldDescriptor.TYPE_FLOAT: struct.Struct("<f"),
    FieldDescriptor.TYPE_FIXED32: struct.Struct("<I"),
    FieldDescriptor.TYPE_SFIXED32: struct.Struct("<i"),
}
"""How a number of fixed width is written, by the field's type."""
