"""Rows of Python values to JSON documents, for quickstart and test data; numbers exact, bytes as base64, times as RFC 3339."""

from __future__ import annotations

import base64
import datetime as dt
import json
import math
import uuid
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow.types as kinds

from thalweg.arrow.columns import TYPE_KEY, is_list
from thalweg.arrow.temporal import format_date, format_time, format_timestamp
from thalweg.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa


def row_encoder(schema: pa.Schema | None) -> Callable[[dict[str, Any]], bytes]:
    """What writes one row; without a schema the values' own types decide. Raises UserError for NaN and infinities."""
    fields = {} if schema is None else {field.name: field for field in schema}

    def encode(row: dict[str, Any]) -> bytes:
        return _object((name, value, fields.get(name)) for name, value in row.items()).encode("utf-8")

    return encode


def _object(members: Any) -> str:  # noqa: ANN401 - triples of name, value and field
    """``{...}``."""
    return "{" + ",".join(f"{json.dumps(str(name), ensure_ascii=False)}:{_text(value, field)}" for name, value, field in members) + "}"


def _text(value: Any, field: pa.Field | None) -> str:  # noqa: ANN401 - whatever Arrow gives as Python
    """One value."""
    if value is None:
        return "null"
    meaning = None if field is None else (field.metadata or {}).get(TYPE_KEY)
    if meaning is not None:
        return str(value) if meaning == b"json" else f'"{uuid.UUID(bytes=value)}"'
    if isinstance(value, dict):
        children = {} if field is None or not kinds.is_struct(field.type) else {f.name: f for f in field.type}
        return _object((name, each, children.get(name)) for name, each in value.items())
    if field is not None and kinds.is_map(field.type):
        return _object((key, each, field.type.item_field) for key, each in value)
    if isinstance(value, list | tuple):
        item = field.type.value_field if field is not None and is_list(field.type) else None
        return "[" + ",".join(_text(each, item) for each in value) + "]"
    return _temporal(value, field) or _scalar(value)


def _temporal(value: Any, field: pa.Field | None) -> str | None:  # noqa: ANN401 - see _text()
    """Dates, times and timestamps; None for anything else."""
    if isinstance(value, dt.datetime):
        utc = value.astimezone(dt.UTC) if value.tzinfo else value.replace(tzinfo=dt.UTC)
        since = utc - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
        ticks = (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
        return f'"{format_timestamp(ticks, "us", zoned=value.tzinfo is not None)}"'
    if isinstance(value, dt.date):
        return f'"{value.isoformat()}"'
    if isinstance(value, dt.time):
        return f'"{value.isoformat()}"'
    if isinstance(value, dt.timedelta):
        unit = field.type.unit if field is not None and kinds.is_duration(field.type) else "us"
        per_unit = {"s": 1_000_000, "ms": 1_000, "us": 1, "ns": 0.001}[unit]
        return str(int((value // dt.timedelta(microseconds=1)) / per_unit))
    if isinstance(value, int) and field is not None:
        return _ticks(value, field.type)
    return None


def _ticks(value: int, data_type: pa.DataType) -> str | None:
    """Integers of a temporal column; None for other columns."""
    if kinds.is_timestamp(data_type):
        return f'"{format_timestamp(value, data_type.unit, zoned=data_type.tz is not None)}"'
    if kinds.is_date32(data_type):
        return f'"{format_date(value)}"'
    if kinds.is_time(data_type):
        return f'"{format_time(value, data_type.unit)}"'
    return None


def _scalar(value: Any) -> str:  # noqa: ANN401 - see _text()
    """Anything without parts."""
    if isinstance(value, Decimal):
        if not value.is_finite():
            raise UserError(f"JSON has no {value}")
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        raise UserError(f"JSON has no {value}")
    if isinstance(value, bytes):
        return f'"{base64.b64encode(value).decode("ascii")}"'
    if isinstance(value, uuid.UUID):
        return f'"{value}"'
    return json.dumps(value, ensure_ascii=False)
