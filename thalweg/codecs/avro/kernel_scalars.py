"""Columns without parts to what the encode kernel writes: which op, from which form, lossless or not at all."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as kinds

from thalweg.arrow.temporal import UNITS
from thalweg.codecs.avro.match import Incompatible, described
from thalweg.kernels import avro_encode_ops as op
from thalweg.kernels import program as p

if TYPE_CHECKING:
    from collections.abc import Callable

    from thalweg.codecs.avro.schema import Logical, Node

_DIGITS128: Final = 38
_DIGITS256: Final = 76
_UUID_BYTES: Final = 16


@dataclass(frozen=True, slots=True)
class ScalarFeed:
    """How a column is read and written."""

    op: int
    kind: int
    width: int = 0
    prepare: Callable[[pa.Array], pa.Array] | None = None
    arg: int = 0
    table: list[int] = field(default_factory=list)
    """For ``aux``; the argument is its place."""


def scalar_feed(node: Node, kind: pa.DataType) -> ScalarFeed:
    """How a column of type ``kind`` becomes ``node``. Raises Incompatible where that loses something."""
    makers = (_logical, _enum, _number, _bytes)
    found = next((made for maker in makers if (made := maker(node, kind)) is not None), None)
    if found is None:
        wire = described(node.logical) if node.logical is not None else node.kind
        raise Incompatible(f"{kind} does not become Avro {wire} without loss")
    return found


def _logical(node: Node, kind: pa.DataType) -> ScalarFeed | None:
    """A logical type from the Arrow type of the same meaning."""
    logical = node.logical
    if logical is None:
        return None
    if logical.kind == "decimal" and kinds.is_decimal(kind):
        return _decimal(node, logical, kind)
    if logical.kind in {"date", "time", "timestamp"}:
        return _clock(node, logical, kind)
    if logical.kind == "uuid" and kinds.is_fixed_size_binary(kind) and kind.byte_width == _UUID_BYTES and node.kind == "string":
        return ScalarFeed(op.UUID_TEXT, p.FIXED, _UUID_BYTES)
    return ScalarFeed(op.DURATION, p.FIXED, 16) if logical.kind == "duration" and kinds.is_interval(kind) else None


def _clock(node: Node, logical: Logical, kind: pa.DataType) -> ScalarFeed | None:
    """Dates, and times and timestamps in a unit that is no finer."""
    if logical.kind == "date" and kinds.is_date(kind):
        return ScalarFeed(op.INT, p.FIXED, 4, _cast(kind, pa.date32()))
    if logical.kind == "time" and kinds.is_time(kind) and UNITS[kind.unit] <= UNITS[logical.unit]:
        narrow = node.kind == "int"
        return ScalarFeed(op.INT if narrow else op.LONG, p.FIXED, 4 if narrow else 8, _cast(kind, pa.time32("ms") if narrow else pa.time64("us")))
    if logical.kind == "timestamp" and kinds.is_timestamp(kind) and (kind.tz is not None) == logical.zoned:
        more = UNITS[logical.unit] - UNITS[kind.unit]
        return ScalarFeed(op.SCALED if more else op.LONG, p.FIXED, 8, arg=10**more) if more >= 0 else None
    return None


def _decimal(node: Node, logical: Logical, kind: pa.DataType) -> ScalarFeed | None:
    """The digits in the schema's scale; more digits than its precision are a fault of the row."""
    more = logical.scale - kind.scale
    digits = max(kind.precision + more, logical.precision)
    if more < 0 or digits > _DIGITS256:
        return None
    words = 2 if digits <= _DIGITS128 else 4
    storage = pa.decimal128(_DIGITS128, logical.scale) if words == 2 else pa.decimal256(_DIGITS256, logical.scale)  # noqa: PLR2004 - words of 128 bits
    limit = (10**logical.precision).to_bytes(8 * words, "little")
    table = [node.size if node.kind == "fixed" else -1, words, *np.frombuffer(limit, np.int64).tolist()]
    return ScalarFeed(op.DECIMAL, p.FIXED, 8 * words, _cast(kind, storage), table=table)


def _enum(node: Node, kind: pa.DataType) -> ScalarFeed | None:
    """Symbols by their text, or their numbers."""
    if node.kind != "enum":
        return None
    if kinds.is_int32(kind):
        return ScalarFeed(op.ENUM, p.FIXED, 4, arg=len(node.symbols))
    if not _is_text(kind.value_type if kinds.is_dictionary(kind) else kind):
        return None
    symbols = pa.array(node.symbols, pa.string())

    def numbers(array: pa.Array) -> pa.Array:
        if kinds.is_dictionary(array.type):
            return _numbers_of(array.dictionary.cast(pa.string()), symbols).take(array.indices)
        return _numbers_of(array.cast(pa.string()), symbols)

    return ScalarFeed(op.ENUM, p.FIXED, 4, numbers, arg=len(node.symbols))


def _numbers_of(texts: pa.Array, symbols: pa.Array) -> pa.Array:
    """The place of each text among the symbols, -1 for none."""
    return pc.fill_null(pc.index_in(texts, value_set=symbols), pa.scalar(-1, pa.int32()))


def _number(node: Node, kind: pa.DataType) -> ScalarFeed | None:
    """Booleans, whole numbers and floats from types that are no wider, or are checked row by row."""
    if node.kind in {"int", "long"}:
        return _whole(node, kind) if kinds.is_integer(kind) else None
    if node.kind == "boolean":
        return ScalarFeed(op.BOOLEAN, p.FIXED, 1) if kinds.is_boolean(kind) else None
    if node.kind == "float" and (kinds.is_float32(kind) or kinds.is_float16(kind)):
        return ScalarFeed(op.FLOAT, p.FIXED, 4, _cast(kind, pa.float32()))
    if node.kind == "double" and (kinds.is_floating(kind) or (kinds.is_integer(kind) and kind.bit_width <= 32)):  # noqa: PLR2004 - bits
        return ScalarFeed(op.DOUBLE, p.FIXED, 8, _cast(kind, pa.float64()))
    return None


def _whole(node: Node, kind: pa.DataType) -> ScalarFeed | None:
    """Whole numbers; wide ones for an int are checked row by row."""
    if kinds.is_uint64(kind):
        return ScalarFeed(op.UNSIGNED, p.FIXED, 8) if node.kind == "long" else None
    if node.kind == "long":
        return ScalarFeed(op.LONG, p.FIXED, 8, _cast(kind, pa.int64()))
    if kinds.is_int64(kind) or kinds.is_uint32(kind):
        return ScalarFeed(op.NARROW, p.FIXED, 8, _cast(kind, pa.int64()))
    return ScalarFeed(op.INT, p.FIXED, 4, _cast(kind, pa.int32()))


def _bytes(node: Node, kind: pa.DataType) -> ScalarFeed | None:
    """Text, bytes and fixed."""
    text = _is_text(kind.value_type if kinds.is_dictionary(kind) else kind)
    binary = kinds.is_binary(kind) or kinds.is_large_binary(kind) or kinds.is_binary_view(kind)
    if node.kind == "string" and text:
        return ScalarFeed(op.TEXT, p.BYTES, 0, _cast(kind, pa.string()))
    if node.kind == "bytes" and (text or binary or kinds.is_fixed_size_binary(kind)):
        return ScalarFeed(op.TEXT, p.BYTES, 0, _cast(kind, pa.string() if text else pa.binary()))
    if node.kind == "fixed" and kinds.is_fixed_size_binary(kind) and kind.byte_width == node.size:
        return ScalarFeed(op.FIXED, p.FIXED, node.size, arg=node.size)
    if node.kind == "fixed" and binary:
        return ScalarFeed(op.SIZED, p.BYTES, 0, _cast(kind, pa.binary()), arg=node.size)
    return None


def _is_text(kind: pa.DataType) -> bool:
    """Whether it is text of any layout."""
    return bool(kinds.is_string(kind) or kinds.is_large_string(kind) or kinds.is_string_view(kind))


def _cast(kind: pa.DataType, target: pa.DataType) -> Callable[[pa.Array], pa.Array] | None:
    """A lossless change of type; None where there is nothing to do."""
    return None if kind == target else lambda array: array.cast(target)
