"""What a declared column may be for what the wire gives: the same, or wider; never what could lose something."""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa
import pyarrow.types as kinds

_DIGITS: Final = {8: (3, 3), 16: (5, 5), 32: (10, 10), 64: (19, 20)}
"""Decimal digits of signed and unsigned integers by bits."""


class Incompatible(Exception):
    """Why a declared column cannot hold a field; the path grows from the inside out."""

    def __init__(self, message: str) -> None:
        """Start with an empty path."""
        super().__init__(message)
        self.message = message
        self.where = ""

    def inside(self, name: str) -> Incompatible:
        """Note that it lies inside a field."""
        self.where = f"{name}.{self.where}" if self.where else name
        return self


def is_wider(declared: pa.DataType, natural: pa.DataType) -> bool:
    """Whether every value of ``natural`` has the same meaning as ``declared``."""
    if declared == natural:
        return True
    if kinds.is_integer(natural):
        return _holds_integers(declared, natural)
    if kinds.is_float32(natural):
        return bool(kinds.is_float64(declared))
    if kinds.is_string(natural):
        return bool(kinds.is_large_string(declared))
    return bool(kinds.is_binary(natural) and kinds.is_large_binary(declared))


def _holds_integers(declared: pa.DataType, natural: pa.DataType) -> bool:
    """Whether a type holds every number of an integer type."""
    signed, bits = bool(kinds.is_signed_integer(natural)), natural.bit_width
    if kinds.is_integer(declared):
        if bool(kinds.is_signed_integer(declared)) == signed:
            return bool(declared.bit_width >= bits)
        return not signed and bool(declared.bit_width > bits)
    if kinds.is_decimal(declared):
        return bool(declared.scale >= 0 and declared.precision - declared.scale >= _DIGITS[bits][not signed])
    return bool(kinds.is_float64(declared) and bits <= 32)  # noqa: PLR2004 - a double holds 53 bits


def integer_enum(declared: pa.DataType) -> bool:
    """Whether a declared enum is its number (True) or its name (False). Raises Incompatible for anything else."""
    if kinds.is_integer(declared) and is_wider(declared, pa.int32()):
        return True
    text = declared.value_type if kinds.is_dictionary(declared) else declared
    if kinds.is_string(text) or kinds.is_large_string(text):
        return False
    raise Incompatible(f"declared as {declared}, but the field is an enum: a name or a number")


def unit_of_declared(declared: pa.DataType, special: str) -> str:
    """The unit of a declared timestamp or duration. Raises Incompatible."""
    if special == "timestamp":
        if kinds.is_timestamp(declared) and declared.tz is not None:
            return str(declared.unit)
        hint = "; declare it TIMESTAMP_LTZ" if kinds.is_timestamp(declared) else ""
        raise Incompatible(f"declared as {declared}, but the field is a moment in UTC{hint}")
    if kinds.is_duration(declared):
        return str(declared.unit)
    raise Incompatible(f"declared as {declared}, but the field is a duration")


def conform(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The batch with its columns as they are declared."""
    if batch.schema == schema:
        return batch
    arrays: list[Any] = [a if a.type == f.type else a.cast(f.type) for a, f in zip(batch.columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
