"""Which declared types take a field's values without loss."""

from __future__ import annotations

import pyarrow as pa
import pytest

from thalweg.codecs.protobuf.declared import Incompatible, integer_enum, is_wider, unit_of_declared


@pytest.mark.parametrize(
    ("declared", "natural", "wider"),
    [
        (pa.int64(), pa.int32(), True), (pa.int32(), pa.int64(), False), (pa.int64(), pa.uint32(), True), (pa.uint64(), pa.int32(), False),
        (pa.decimal128(20, 0), pa.uint64(), True), (pa.decimal128(10, 0), pa.int64(), False), (pa.decimal128(21, 2), pa.int64(), True),
        (pa.float64(), pa.int32(), True), (pa.float64(), pa.int64(), False), (pa.float64(), pa.float32(), True), (pa.float32(), pa.float64(), False),
        (pa.large_string(), pa.string(), True), (pa.large_binary(), pa.binary(), True), (pa.string(), pa.binary(), False), (pa.bool_(), pa.bool_(), True),
    ],
)  # fmt: skip
def test_wider(declared: pa.DataType, natural: pa.DataType, wider: bool) -> None:  # noqa: FBT001 - a parameter
    """Every number, text and byte must keep its meaning (PRO-12)."""
    assert is_wider(declared, natural) is wider


def test_enums_are_names_or_numbers() -> None:
    """Of 32 bits at least, or text, coded or not."""
    assert integer_enum(pa.int32())
    assert integer_enum(pa.int64())
    assert not integer_enum(pa.dictionary(pa.int32(), pa.string()))
    assert not integer_enum(pa.large_string())
    with pytest.raises(Incompatible, match="the field is an enum"):
        integer_enum(pa.int16())


def test_clocks_have_a_zone_and_spans_have_none() -> None:
    """A timestamp is a moment in UTC; without a zone it is told what to declare."""
    assert unit_of_declared(pa.timestamp("ns", "UTC"), "timestamp") == "ns"
    assert unit_of_declared(pa.duration("ms"), "duration") == "ms"
    with pytest.raises(Incompatible, match="declare it TIMESTAMP_LTZ"):
        unit_of_declared(pa.timestamp("us"), "timestamp")
    with pytest.raises(Incompatible, match=r"a moment in UTC$"):
        unit_of_declared(pa.int64(), "timestamp")
    with pytest.raises(Incompatible, match="the field is a duration"):
        unit_of_declared(pa.int64(), "duration")
