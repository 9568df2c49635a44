"""Rows to JSON documents."""

from __future__ import annotations

import datetime as dt
import json
import uuid
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from thalweg.arrow.columns import JSON_TEXT, UUID
from thalweg.codecs.json.encode import row_encoder
from thalweg.errors import UserError


def written(value: Any, field: pa.Field | pa.DataType | None = None) -> str:  # noqa: ANN401 - whatever Arrow gives
    """The text of one value."""
    kind = pa.field("v", field) if isinstance(field, pa.DataType) else field
    text = row_encoder(None if kind is None else pa.schema([kind]))({"v": value}).decode()
    json.loads(text)
    return text.removeprefix('{"v":').removesuffix("}")


@pytest.mark.parametrize(("value", "kind", "text"), [
    (None, None, "null"), (True, None, "true"), (2**64, None, str(2**64)), (0.1, None, "0.1"), ("ü\n", None, '"ü\\n"'),
    (Decimal("12345678901.12345678901"), None, "12345678901.12345678901"), (b"\x00\xff", None, '"AP8="'),
    (dt.datetime(2024, 1, 1, 2, tzinfo=dt.timezone(dt.timedelta(hours=2))), None, '"2024-01-01T00:00:00Z"'),
    (dt.datetime(1969, 12, 31, 23, 59, 59, 999999), None, '"1969-12-31T23:59:59.999999"'),  # noqa: DTZ001 - a column without zone
    (dt.date(2024, 1, 1), None, '"2024-01-01"'), (dt.time(1, 2, 3), None, '"01:02:03"'), (uuid.UUID(int=1), None, f'"{uuid.UUID(int=1)}"'),
    (1, pa.timestamp("ns", "UTC"), '"1970-01-01T00:00:00.000000001Z"'), (1, pa.date32(), '"1970-01-02"'), (1, pa.time32("s"), '"00:00:01"'),
    (dt.timedelta(milliseconds=-5), pa.duration("ms"), "-5"), (dt.timedelta(microseconds=5), pa.duration("ns"), "5000"), (7, pa.int64(), "7"),
    ([("k", 1)], pa.map_(pa.string(), pa.int64()), '{"k":1}'), ([1, None], pa.list_(pa.int64()), "[1,null]"), ({"a": [b"x"]}, None, '{"a":["eA=="]}'),
    ({"m": [("k", b"x")]}, pa.struct([("m", pa.map_(pa.string(), pa.binary()))]), '{"m":{"k":"eA=="}}'),
    ('{"k": 1}', pa.field("v", pa.string(), metadata=JSON_TEXT), '{"k": 1}'),
    (bytes(16), pa.field("v", pa.binary(16), metadata=UUID), f'"{uuid.UUID(int=0)}"'),
])  # fmt: skip
def test_values_keep_their_meaning(value: object, kind: pa.DataType | None, text: str) -> None:
    """Numbers exact, bytes as base64, times as RFC 3339, JSON text as it is."""
    assert written(value, kind) == text


@pytest.mark.parametrize("value", [float("nan"), float("-inf"), Decimal("NaN")])
def test_what_json_has_no_number_for(value: object) -> None:
    """NaN and infinities are refused."""
    with pytest.raises(UserError, match="JSON has no"):
        written(value)
