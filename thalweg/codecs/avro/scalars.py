"""Types without parts: the writer's bytes through the reader's type to what the column stores, each step lossless."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.types as kinds

from thalweg.arrow.columns import TYPE_KEY
from thalweg.arrow.floats import nearest_float32
from thalweg.arrow.rows import TYPE, BadValue, shown
from thalweg.arrow.temporal import UNITS
from thalweg.codecs.avro.match import Incompatible, described, finer
from thalweg.codecs.avro.wire import PRIMITIVES, Read, read_bytes, take, utf8

if TYPE_CHECKING:
    from thalweg.codecs.avro.schema import Node

Change = Callable[[Any], Any]


def _same(value: Any) -> Any:  # noqa: ANN401 - nothing to do
    """The value as it is."""
    return value


_SAME: Final[Change] = _same
_UUID: Final = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_DAY_SECONDS: Final = 86_400
_INT64: Final = 1 << 63
_INT32: Final = 1 << 31
_DIGITS: Final = {"int": 10, "long": 19}


def read_scalar(writer: Node, reader: Node, field: pa.Field) -> Read:
    """Reads a value written as ``writer``, meant as ``reader``, for a column ``field``. Raises Incompatible."""
    gain = finer(writer.logical, reader.logical)
    base = _promoted(writer, reader)
    change = _change(reader, field, gain)
    if change is None or change is _SAME:
        return base
    final = change
    return lambda c: final(base(c))


def _promoted(writer: Node, reader: Node) -> Read:
    """The writer's encoding as a value of the reader's kind."""
    if writer.kind == "fixed":
        size = writer.size
        return lambda c: take(c, size)
    read = PRIMITIVES[writer.kind]
    if reader.kind == "bytes":
        return read_bytes
    promote: dict[str, Change] = {"double": float, "float": _single, "string": utf8}
    change = None if writer.kind == reader.kind else promote.get(reader.kind)
    if change is None:
        return read
    final = change
    return lambda c: final(read(c))


def _single(number: int) -> float:
    """A whole number to the nearest float, rounded once."""
    return nearest_float32(float(number), lambda near: (number > int(near)) - (number < int(near)))


def _change(reader: Node, field: pa.Field, gain: int) -> Change | None:
    """What is left to do between a value of the reader's type and the column; None for nothing. Raises Incompatible."""
    kind, logical = field.type, reader.logical
    meaning = (field.metadata or {}).get(TYPE_KEY)
    if logical is not None and not (logical.kind == "uuid" and reader.kind == "string" and kinds.is_string(kind)):
        change = _LOGICAL[logical.kind](reader, field, gain)
        if change is None:
            raise _cannot(described(logical), field)
        return change
    if meaning is not None or not _holds(reader, kind):
        raise _cannot(f"{reader.kind}({reader.size})" if reader.kind == "fixed" else reader.kind, field)
    if kinds.is_decimal(kind):
        scale = 10**kind.scale
        return lambda number: number * scale
    if reader.kind == "int" and kinds.is_float64(kind):
        return float
    return None


def _cannot(wire: str, field: pa.Field) -> Incompatible:
    """The error for a declared type that the wire cannot give without loss."""
    meaning = (field.metadata or {}).get(TYPE_KEY)
    return Incompatible(f"Avro {wire} does not become {meaning.decode().upper() if meaning else field.type} without loss")


def _holds(reader: Node, kind: pa.DataType) -> bool:
    """Whether a column holds every value of a type without logical meaning."""
    if kinds.is_decimal(kind):
        return reader.kind in _DIGITS and kind.precision - kind.scale >= _DIGITS[reader.kind]
    tests: dict[str, tuple[Callable[[pa.DataType], bool], ...]] = {
        "null": (lambda _: True,),
        "boolean": (kinds.is_boolean,),
        "int": (kinds.is_int32, kinds.is_int64, kinds.is_float64),
        "long": (kinds.is_int64,),
        "float": (kinds.is_float32, kinds.is_float64),
        "double": (kinds.is_float64,),
        "bytes": (kinds.is_binary, kinds.is_large_binary),
        "string": (kinds.is_string, kinds.is_large_string),
        "fixed": (kinds.is_binary, kinds.is_large_binary, lambda t: kinds.is_fixed_size_binary(t) and t.byte_width == reader.size),
    }
    return any(test(kind) for test in tests[reader.kind])


def _decimal(reader: Node, field: pa.Field, _gain: int) -> Change | None:
    """Two's complement, big endian, of any length; no bytes are zero."""
    logical, kind = reader.logical, field.type
    assert logical is not None
    more = kind.scale - logical.scale if kinds.is_decimal(kind) else -1
    if more < 0 or kind.precision - kind.scale < logical.precision - logical.scale:
        return None
    bound, factor, what = 10**logical.precision, int(10**more), described(logical)

    def change(data: bytes) -> int:
        number = int.from_bytes(data, "big", signed=True)
        if not -bound < number < bound:
            raise BadValue(TYPE, f"{shown(data)} has more digits than {what}")
        return number * factor

    return change


def _uuid(reader: Node, field: pa.Field, _gain: int) -> Change | None:
    """16 bytes, from text in either case or from 16 bytes."""
    if not (kinds.is_fixed_size_binary(field.type) and field.type.byte_width == 16):  # noqa: PLR2004 - bytes of a UUID
        return None
    return _uuid_text if reader.kind == "string" else _SAME


def _uuid_text(text: str) -> bytes:
    """The bytes of a UUID's text."""
    if _UUID.fullmatch(text) is None:
        raise BadValue(TYPE, f"{shown(text)} is no UUID")
    return bytes.fromhex(text.replace("-", ""))


def _date(_reader: Node, field: pa.Field, _gain: int) -> Change | None:
    """Days since 1970."""
    return _SAME if kinds.is_date32(field.type) else None


def _time(reader: Node, field: pa.Field, gain: int) -> Change | None:
    """Units since midnight, within a day."""
    assert reader.logical is not None
    more = UNITS[field.type.unit] - UNITS[reader.logical.unit] if kinds.is_time(field.type) else -1
    if more < 0:
        return None
    factor = int(10 ** (more + gain))
    bound = _DAY_SECONDS * 10 ** UNITS[field.type.unit]

    def change(ticks: int) -> int:
        if not 0 <= ticks * factor < bound:
            raise BadValue(TYPE, f"{ticks} is no time of day")
        return ticks * factor

    return change


def _timestamp(reader: Node, field: pa.Field, gain: int) -> Change | None:
    """Units since 1970, any 64 bits."""
    logical, kind = reader.logical, field.type
    assert logical is not None
    if not kinds.is_timestamp(kind) or (kind.tz is not None) != logical.zoned:
        return None
    more = UNITS[kind.unit] - UNITS[logical.unit]
    if more < 0:
        return None
    factor = int(10 ** (more + gain))

    def change(ticks: int) -> int:
        if not -_INT64 <= ticks * factor < _INT64:
            raise BadValue(TYPE, f"{ticks} is out of range {kind}")
        return ticks * factor

    return change if factor > 1 else _SAME


def _duration(_reader: Node, field: pa.Field, _gain: int) -> Change | None:
    """Three unsigned little-endian numbers: months, days, milliseconds."""
    if field.type != pa.month_day_nano_interval():
        return None

    def change(data: bytes) -> tuple[int, int, int]:
        months, days, millis = struct.unpack("<III", data)
        if months >= _INT32 or days >= _INT32:
            raise BadValue(TYPE, f"{months} months and {days} days do not fit an interval")
        return months, days, millis * 1_000_000

    return change


_LOGICAL: Final[dict[str, Callable[[Node, pa.Field, int], Change | None]]] = {
    "decimal": _decimal,
    "uuid": _uuid,
    "date": _date,
    "time": _time,
    "timestamp": _timestamp,
    "duration": _duration,
}

