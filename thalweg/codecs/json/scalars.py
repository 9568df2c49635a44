"""What a JSON Schema says of one value: type, format, range and Kafka Connect's own marks, to an Arrow type that holds it exactly."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Any, Final

import pyarrow as pa

from thalweg.arrow.columns import UUID

_INT64, _UINT64 = (1 << 63) - 1, (1 << 64) - 1
_MOST_DIGITS: Final = 38
_FORMATS: Final = {"date-time": pa.timestamp("us", "UTC"), "date": pa.date32()}
_INTEGERS: Final = {"int8": pa.int8(), "int16": pa.int16(), "int32": pa.int32(), "int64": pa.int64()}
_CONNECT: Final = "org.apache.kafka.connect.data."
_CONNECT_TIMES: Final = {"Date": pa.date32(), "Time": pa.time32("ms"), "Timestamp": pa.timestamp("ms", "UTC")}


def scalar(kind: str, spec: dict[str, Any]) -> pa.Field | None:
    """The field, without a name, of a value of this type; None where only JSON text holds all of them."""
    if kind == "string":
        return _text(spec)
    if kind == "integer":
        return _field(_connect_time(spec) or _integer(spec))
    if kind == "number":
        return _field(_number(spec))
    plain = {"boolean": pa.bool_(), "null": pa.null()}.get(kind)
    return None if plain is None else _field(plain)


def _field(data_type: pa.DataType) -> pa.Field:
    """A nullable field."""
    return pa.field("", data_type)


def _text(spec: dict[str, Any]) -> pa.Field:
    """Text, by its format. A ``time`` has an offset, which no type of Arrow holds, so it stays text."""
    if spec.get("format") == "uuid":
        return pa.field("", pa.binary(16), metadata=UUID)
    if spec.get("contentEncoding") == "base64":
        return _field(pa.binary())
    return _field(_FORMATS.get(str(spec.get("format")), pa.string()))


def _integer(spec: dict[str, Any]) -> pa.DataType:
    """64 bits, unless the schema's range needs others or Connect names the width."""
    named = _INTEGERS.get(str(spec.get("connect.type")))
    if named is not None:
        return named
    low, high = _whole(spec.get("minimum", spec.get("exclusiveMinimum"))), _whole(spec.get("maximum", spec.get("exclusiveMaximum")))
    if (high is not None and high > _INT64) or (low is not None and low < -_INT64 - 1):
        fits = low is not None and low >= 0 and high is not None and high <= _UINT64
        return pa.uint64() if fits else pa.decimal128(_MOST_DIGITS, 0)
    return pa.int64()


def _number(spec: dict[str, Any]) -> pa.DataType:
    """A double; a decimal where the schema counts in powers of ten, or Connect says so."""
    if spec.get("title") == f"{_CONNECT}Decimal":
        found = _connect_decimal(spec.get("connect.parameters"))
        if found is not None:
            return found
    if str(spec.get("connect.type")) == "float32":
        return pa.float32()
    step = _decimal(spec.get("multipleOf"))
    if step is not None and step > 0:
        _, digits, exponent = step.normalize().as_tuple()
        if isinstance(exponent, int) and digits == (1,) and -_MOST_DIGITS < exponent <= 0:
            return pa.decimal128(_MOST_DIGITS, -exponent)
    return pa.float64()


def _connect_decimal(parameters: object) -> pa.DataType | None:
    """A decimal of the scale, and the precision, that Connect notes."""
    if not isinstance(parameters, dict):
        return None
    scale = _whole(parameters.get("scale"))
    digits = _whole(parameters.get("connect.decimal.precision", _MOST_DIGITS))
    return pa.decimal128(digits, scale) if scale is not None and digits is not None and 0 <= scale <= digits <= _MOST_DIGITS and digits else None


def _connect_time(spec: dict[str, Any]) -> pa.DataType | None:
    """Days, or milliseconds, that Connect marks as a date or time."""
    title = str(spec.get("title", ""))
    return _CONNECT_TIMES.get(title.removeprefix(_CONNECT)) if title.startswith(_CONNECT) else None


def _decimal(value: object) -> Decimal | None:
    """A number of the schema, exactly as it is written."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        found = Decimal(str(value))
    except InvalidOperation:
        return None
    return found if found.is_finite() else None


def _whole(value: object) -> int | None:
    """A whole number of the schema."""
    found = _decimal(value)
    return int(found) if found is not None and abs(found) < Decimal(10) ** 40 else None
