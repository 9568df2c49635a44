"""Rows of Python values, as Arrow gives them, to Avro data with or without framing; for quickstart and test data."""

from __future__ import annotations

import datetime as dt
import struct
import uuid
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from thalweg.arrow.rows import bounded
from thalweg.arrow.temporal import UNITS
from thalweg.codecs.avro.defaults import encode_default, encode_long
from thalweg.codecs.avro.schema import NO_DEFAULT, Node, SchemaError, parse_registered
from thalweg.codecs.avro.single_object import prefix
from thalweg.codecs.avro.table import SINGLE, VALUE, reader_schema, record_root
from thalweg.errors import UserError
from thalweg.ports.codec import subject_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from thalweg.ports.codec import DecodeRequest
    from thalweg.ports.schemas import SchemaRegistry

_COLUMN: Final = "column '"
_EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def row_encoder(request: DecodeRequest, registry: SchemaRegistry | None) -> Callable[[dict[str, Any]], bytes]:
    """What writes one row by the reader's schema. Raises UserError for a row that does not fit it."""
    node, before = _schema(request, registry)
    rooted = record_root(node) is not None

    def encode(row: dict[str, Any]) -> bytes:
        try:
            return before + _encode(node, row if rooted else row[VALUE])
        except KeyError:
            raise UserError(f"a row cannot be written as Avro: there is no column '{VALUE}'") from None
        except SchemaError as e:
            raise UserError(f"a row cannot be written as Avro: {e}") from None

    return encode


def _schema(request: DecodeRequest, registry: SchemaRegistry | None) -> tuple[Node, bytes]:
    """The schema to write by and the bytes before each datum."""
    try:
        if request.format in {"avro", SINGLE}:
            node = reader_schema(request, registry)
            if node is not None:
                return node, prefix(node) if request.format == SINGLE else b""
        elif registry is not None and (subject := subject_of(request)) is not None:
            found = registry.latest(subject)
            schema_id = found.id if isinstance(found.id, int) else registry.register(subject, found)
            return parse_registered(found), b"\0" + schema_id.to_bytes(4, "big")
    except SchemaError as e:
        raise UserError(f"the Avro schema cannot be read: {e}") from None
    raise UserError(f"format '{request.format}' needs its schema to write data")


def _encode(node: Node, value: Any) -> bytes:  # noqa: ANN401 - whatever Arrow gives as Python
    """One value."""
    if node.kind == "union":
        return _union(node, value)
    if node.kind == "record" and isinstance(value, dict):
        return b"".join(_member(node, at, value) for at in range(len(node.fields)))
    if node.kind == "array" and isinstance(value, list):
        return _block([_encode(node.item, v) for v in value])
    if node.kind == "map" and value is not None:
        pairs = value.items() if isinstance(value, dict) else value
        return _block([encode_long(len(k.encode())) + k.encode() + _encode(node.item, v) for k, v in pairs])
    plain = _plain(node, value)
    if node.kind in {"bytes", "fixed"} and isinstance(plain, bytes | bytearray):
        if node.kind == "fixed" and len(plain) != node.size:
            raise SchemaError(f"{len(plain)} bytes do not fit fixed({node.size})")
        return (encode_long(len(plain)) if node.kind == "bytes" else b"") + bytes(plain)
    try:
        return encode_default(node, plain)
    except SchemaError:
        raise SchemaError(f"{'NULL' if value is None else bounded(repr(value))} does not fit type {bounded(node.label)}") from None


def _member(node: Node, at: int, row: dict[str, Any]) -> bytes:
    """One field of a record; a field that the row lacks takes its default, else null."""
    field = node.fields[at]
    try:
        if field.name not in row and field.default is not NO_DEFAULT:
            return encode_default(field.node, field.default)
        return _encode(field.node, row.get(field.name))
    except SchemaError as e:
        raise _within(field.name, str(e)) from None


def _within(name: str, said: str) -> SchemaError:
    """A message with the column that it is about, dotted from the row on."""
    return SchemaError(f"column '{name}.{said.removeprefix(_COLUMN)}" if said.startswith(_COLUMN) else f"{_COLUMN}{name}': {said}")


def _union(node: Node, value: Any) -> bytes:  # noqa: ANN401 - see _encode()
    """The first branch that the value fits."""
    for index, branch in enumerate(node.branches):
        if (value is None) != (branch.kind == "null"):
            continue
        try:
            return encode_long(index) + _encode(branch, value)
        except SchemaError:
            if sum(b.kind != "null" for b in node.branches) == 1:
                raise
    raise SchemaError(f"{bounded(repr(value))} fits no branch of the union")


def _block(items: list[bytes]) -> bytes:
    """All items in one block."""
    return encode_long(len(items)) + b"".join(items) + b"\0" if items else b"\0"


def _plain(node: Node, value: Any) -> Any:  # noqa: ANN401 - see _encode()
    """A value of a logical type as the type underneath; others as they are."""
    logical = node.logical
    if logical is None:
        return value
    if logical.kind == "decimal" and isinstance(value, Decimal | int):
        return _unscaled(node, Decimal(value))
    if logical.kind == "uuid" and isinstance(value, bytes | uuid.UUID):
        found = value if isinstance(value, uuid.UUID) else uuid.UUID(bytes=value)
        return str(found) if node.kind == "string" else found.bytes
    if logical.kind == "duration" and isinstance(value, tuple):
        months, days, nanos = value
        return struct.pack("<III", months, days, nanos // 1_000_000)
    return _clock(value, logical.unit)


def _clock(value: Any, unit: str) -> Any:  # noqa: ANN401 - see _encode()
    """Python's dates, times and timestamps as integers; others as they are."""
    if isinstance(value, dt.datetime):
        return _since(value.replace(tzinfo=dt.UTC) if value.tzinfo is None else value, unit)
    if isinstance(value, dt.date):
        return value.toordinal() - _EPOCH.date().toordinal()
    if isinstance(value, dt.time):
        return _since(dt.datetime.combine(_EPOCH.date(), value, dt.UTC), unit)
    return value


def _since(value: dt.datetime, unit: str) -> int:
    """Units since 1970."""
    since = value - _EPOCH
    micros = (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
    places = UNITS[unit] - UNITS["us"]
    if places >= 0:
        return micros * int(10**places)
    ticks, rest = divmod(micros, int(10**-places))
    if rest:
        raise SchemaError(f"{value} has more decimal places than {unit}")
    return ticks


def _unscaled(node: Node, value: Decimal) -> bytes:
    """Two's complement, as short as it goes, or as long as the fixed is."""
    logical = node.logical
    assert logical is not None
    sign, digits, exponent = value.as_tuple()
    shift = int(exponent) + logical.scale if isinstance(exponent, int) else -1
    if shift < 0 and any(digits[shift:]):
        raise SchemaError(f"{value} has more decimal places than decimal({logical.precision}, {logical.scale})")
    number = int("".join(map(str, digits if shift >= 0 else digits[:shift])) or "0") * int(10 ** max(shift, 0)) * (-1 if sign else 1)
    if abs(number) >= 10**logical.precision:
        raise SchemaError(f"{value} does not fit decimal({logical.precision}, {logical.scale})")
    size = node.size if node.kind == "fixed" else (number if number >= 0 else ~number).bit_length() // 8 + 1
    return number.to_bytes(size, "big", signed=True)
