"""Arrow values as exact JSON text: decimals and 64-bit numbers keep every digit."""

from __future__ import annotations

import base64
import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from thalweg.arrow.columns import meant

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


def lines(batch: pa.RecordBatch) -> list[str]:
    """One JSON object a row, in the order of the columns."""
    keys = [quote(name) + ":" for name in batch.schema.names]
    columns = [texts(column) for column in meant(batch)]
    return ["{" + ",".join(k + v for k, v in zip(keys, row, strict=True)) + "}" for row in zip(*columns, strict=True)]


def quote(text: str) -> str:
    """A JSON string; control characters are escaped, so one record stays on one line."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def texts(values: pa.Array) -> list[str]:
    """JSON text of every value of an array."""
    values = _plain(values)
    valid = values.is_valid().to_pylist()
    return [text if ok else "null" for ok, text in zip(valid, _texts(values), strict=True)]


def _plain(values: pa.Array) -> pa.Array:
    """The same values without wrapping: extension types, dictionaries, runs."""
    kind = values.type
    if isinstance(kind, pa.UuidType):
        text = [None if v is None else str(v) for v in values.to_pylist()]
        return pa.array(text, pa.string())
    if isinstance(kind, pa.BaseExtensionType):
        return _plain(values.storage)
    if pa.types.is_dictionary(kind):
        return _plain(values.dictionary_decode())
    if pa.types.is_run_end_encoded(kind):
        return _plain(pc.run_end_decode(values))
    return values


def _texts(values: pa.Array) -> Iterable[str]:
    """Text of every slot; what stands in a NULL's slot is not looked at."""
    kind = values.type
    for test, write in _WRITERS:
        if test(kind):
            return write(values)
    return [quote(str(v)) for v in values.to_pylist()]


def _structs(values: pa.StructArray) -> Iterable[str]:
    """Objects."""
    keys = [quote(values.type.field(i).name) + ":" for i in range(values.type.num_fields)]
    children = [texts(values.field(i)) for i in range(values.type.num_fields)]
    if not children:
        return ["{}"] * len(values)
    return ["{" + ",".join(k + v for k, v in zip(keys, row, strict=True)) + "}" for row in zip(*children, strict=True)]


def _lists(values: pa.Array) -> Iterable[str]:
    """Arrays."""
    return [("[" + ",".join(texts(item.values)) + "]") if item.is_valid else "null" for item in values]


def _maps(values: pa.MapArray) -> Iterable[str]:
    """Objects where keys are different texts; else arrays of pairs, so that nothing is lost."""
    return [_map(item.values) if item.is_valid else "null" for item in values]


def _map(entries: pa.StructArray) -> str:
    """One map."""
    keys, items = texts(entries.field(0)), texts(entries.field(1))
    if all(k.startswith('"') for k in keys) and len(set(keys)) == len(keys):
        return "{" + ",".join(f"{k}:{v}" for k, v in zip(keys, items, strict=True)) + "}"
    return "[" + ",".join(f"[{k},{v}]" for k, v in zip(keys, items, strict=True)) + "]"


def _floats(values: pa.Array) -> Iterable[str]:
    """Shortest text that gives the same float; JSON has no words for NaN and infinities, so they are strings."""
    if pa.types.is_float64(values.type):
        return [_float(v, repr) for v in values.to_pylist()]
    return [_float(v, lambda x: str(np.float32(x))) for v in values.cast(pa.float32()).to_pylist()]


def _float(value: float | None, text: Callable[[float], str]) -> str:
    """One float."""
    if value is None:
        return "null"
    return text(value) if math.isfinite(value) else '"NaN"' if math.isnan(value) else '"Infinity"' if value > 0 else '"-Infinity"'


def _times(values: pa.Array) -> Iterable[str]:
    """RFC 3339: ``2026-01-02T03:04:05.000006Z``; without zone where the type has none."""
    kind = values.type
    if pa.types.is_timestamp(kind) and kind.tz:
        values = values.cast(pa.timestamp(kind.unit, "UTC"))
    cast: list[Any] = pc.cast(values, pa.string()).to_pylist()
    return ["null" if v is None else quote(v.replace(" ", "T", 1)) for v in cast]


_t = pa.types
_WRITERS: tuple[tuple[Callable[[pa.DataType], bool], Callable[[Any], Iterable[str]]], ...] = (
    (_t.is_null, lambda v: ["null"] * len(v)),
    (_t.is_boolean, lambda v: ["true" if x else "false" for x in v.to_pylist()]),
    (_t.is_integer, lambda v: [str(x) for x in v.to_pylist()]),
    (_t.is_floating, _floats),
    (_t.is_decimal, lambda v: ["null" if x is None else format(x, "f") for x in v.to_pylist()]),
    (lambda k: _t.is_string(k) or _t.is_large_string(k) or _t.is_string_view(k), lambda v: [quote(x or "") for x in v.to_pylist()]),
    (
        lambda k: _t.is_binary(k) or _t.is_large_binary(k) or _t.is_binary_view(k) or _t.is_fixed_size_binary(k),
        lambda v: ['"' + base64.b64encode(x or b"").decode() + '"' for x in v.to_pylist()],
    ),
    (lambda k: _t.is_timestamp(k) or _t.is_date(k) or _t.is_time(k), _times),
    (_t.is_duration, lambda v: [str(x) for x in v.view(pa.int64()).to_pylist()]),
    (_t.is_map, _maps),
    (_t.is_struct, _structs),
    (lambda k: _t.is_nested(k) and not _t.is_union(k), _lists),
)
