"""Avro's binary encoding: a cursor over one datum that never reads past its end and believes no count."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, Final

from thalweg.arrow.rows import LIMIT, MALFORMED, BadValue, bytes_left

MAX_EMPTY_ITEMS: Final = 1_000
"""Items of no bytes that the arrays of one datum may claim; nothing else bounds them."""
MAX_RECURSION: Final = 64
"""Levels of one record inside itself that are read where no column holds them."""
_MORE: Final = 0x80
_BITS: Final = 0x7F
_LAST_SHIFT: Final = 63
_FLOAT: Final = struct.Struct("<f")
_DOUBLE: Final = struct.Struct("<d")
_INT_LOW, _INT_HIGH = -(1 << 31), (1 << 31) - 1


class Cursor:
    """A place in one datum."""

    __slots__ = ("data", "depth", "empties", "pos", "stop")

    def __init__(self, data: bytes, pos: int = 0) -> None:
        """Begin at ``pos``."""
        self.data = data
        self.pos = pos
        self.depth = 0
        self.empties = 0
        self.stop = -1

    @property
    def left(self) -> int:
        """Bytes that are left."""
        return len(self.data) - self.pos

    def enter(self) -> None:
        """Go one level deeper into a type that holds itself."""
        self.depth += 1
        if self.depth > MAX_RECURSION:
            raise BadValue(LIMIT, f"nested more than {MAX_RECURSION} levels deep")

    def leave(self) -> None:
        """Come back from :meth:`enter`."""
        self.depth -= 1


Read = Callable[[Cursor], Any]
"""Reads one value. Raises BadValue, or IndexError at the end of the data."""


def read_long(c: Cursor) -> int:
    """A zigzag varint of at most ten bytes and 64 bits."""
    data, pos = c.data, c.pos
    byte = data[pos]
    pos += 1
    if byte < _MORE:
        c.pos = pos
        return (byte >> 1) ^ -(byte & 1)
    number, shift = byte & _BITS, 7
    while True:
        byte = data[pos]
        pos += 1
        number |= (byte & _BITS) << shift
        if byte < _MORE:
            break
        shift += 7
        if shift > _LAST_SHIFT:
            raise BadValue(MALFORMED, "a number is longer than 10 bytes")
    if number >> 64:
        raise BadValue(MALFORMED, "a number has more than 64 bits")
    c.pos = pos
    return (number >> 1) ^ -(number & 1)


def read_int(c: Cursor) -> int:
    """A long that fits 32 bits."""
    value = read_long(c)
    if not _INT_LOW <= value <= _INT_HIGH:
        raise BadValue(MALFORMED, f"{value} is out of range int")
    return value


def read_null(c: Cursor) -> None:
    """No bytes at all."""


def read_boolean(c: Cursor) -> bool:
    """One byte, 0 or 1."""
    byte = c.data[c.pos]
    if byte > 1:
        raise BadValue(MALFORMED, f"byte {byte} is no boolean")
    c.pos += 1
    return byte == 1


def read_float(c: Cursor) -> float:
    """Four bytes, as a double."""
    pos = c.pos
    c.pos = pos + 4
    if c.pos > len(c.data):
        raise IndexError
    value: float = _FLOAT.unpack_from(c.data, pos)[0]
    return value


def read_double(c: Cursor) -> float:
    """Eight bytes."""
    pos = c.pos
    c.pos = pos + 8
    if c.pos > len(c.data):
        raise IndexError
    value: float = _DOUBLE.unpack_from(c.data, pos)[0]
    return value


def take(c: Cursor, size: int) -> bytes:
    """The next ``size`` bytes."""
    pos = c.pos
    end = pos + size
    if size < 0 or end > len(c.data):
        raise BadValue(MALFORMED, f"{size} bytes are claimed, {len(c.data) - pos} are left")
    c.pos = end
    return c.data[pos:end]


def read_bytes(c: Cursor) -> bytes:
    """Length and bytes."""
    return take(c, read_long(c))


def read_string(c: Cursor) -> str:
    """Length and UTF-8."""
    size = read_long(c)
    pos = c.pos
    c.pos = end = pos + size
    if size < 0 or end > len(c.data):
        c.pos = pos
        return utf8(take(c, size))
    try:
        return c.data[pos:end].decode()
    except UnicodeDecodeError:
        return utf8(c.data[pos:end])


def utf8(data: bytes) -> str:
    """Bytes that must be UTF-8."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as e:
        raise BadValue(MALFORMED, f"invalid UTF-8 at byte {e.start} of the string") from None


def read_index(c: Cursor, size: int, what: str) -> int:
    """A branch or symbol number below ``size``."""
    index = read_long(c)
    if not 0 <= index < size:
        raise BadValue(MALFORMED, f"{what} {index} is out of range 0 to {size - 1}")
    return index


def open_block(c: Cursor, least: int) -> int:
    """The count of the next block of an array or map, 0 at the end; ``least`` is the fewest bytes of an item.

    ``c.stop`` is where the block says that it ends, -1 where it does not say.
    """
    count = read_long(c)
    c.stop = -1
    if count < 0:
        count = -count
        size = read_long(c)
        if not 0 <= size <= len(c.data) - c.pos:
            raise BadValue(MALFORMED, f"a block of {size} bytes is claimed, {len(c.data) - c.pos} are left")
        c.stop = c.pos + size
    if least:
        if count > (len(c.data) - c.pos) // least:
            raise BadValue(MALFORMED, f"{count} items are claimed, {bytes_left(len(c.data) - c.pos)}")
    else:
        c.empties += count
        if c.empties > MAX_EMPTY_ITEMS:
            raise BadValue(LIMIT, f"{count} items of no bytes are claimed; at most {MAX_EMPTY_ITEMS} are read")
    return count


def close_block(c: Cursor, stop: int) -> None:
    """Refuse a block that is not as long as it said."""
    if stop >= 0 and c.pos != stop:
        raise BadValue(MALFORMED, "a block is not as long as it says")


def read_blocks(c: Cursor, least: int, item: Callable[[Cursor], None]) -> None:
    """All blocks of an array or map; ``item`` reads and keeps one item."""
    while count := open_block(c, least):
        stop = c.stop
        for _ in range(count):
            item(c)
        close_block(c, stop)


PRIMITIVES: Final[dict[str, Read]] = {
    "null": read_null,
    "boolean": read_boolean,
    "int": read_int,
    "long": read_long,
    "float": read_float,
    "double": read_double,
    "bytes": read_bytes,
    "string": read_string,
}
"""Readers by Avro's names."""
