"""Column lists: spelling of types and lossless metadata."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thalweg.arrow.metadata import TYPES
from thalweg.plan.columns import lossless, sql_type
from thalweg.plan.types import parse_type

LEAVES = st.sampled_from(
    [
        pa.string(), pa.binary(), pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64(),
        pa.float32(), pa.float64(), pa.date32(), pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns"), pa.timestamp("s"),
        pa.timestamp("ms"), pa.timestamp("us", "UTC"), pa.timestamp("ns", "UTC"), pa.decimal128(10, 2), pa.decimal256(60, 0), pa.binary(16),
    ]
)  # fmt: skip
KINDS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        inner.map(pa.list_),
        st.tuples(LEAVES, inner).map(lambda kv: pa.map_(*kv)),
        st.lists(inner, min_size=1, max_size=3).map(lambda kinds: pa.struct([(f"f{i}", kind) for i, kind in enumerate(kinds)])),
    ),
    max_leaves=6,
)


@given(KINDS)
def test_a_type_survives_its_spelling(kind: pa.DataType) -> None:
    """What is suggested to a user can be declared and means the same type."""
    assert parse_type(sql_type(kind)).type == kind


def test_types_without_a_spelling_keep_arrows_words() -> None:
    """A type that no list can declare is shown as Arrow writes it."""
    assert sql_type(pa.null()) == "null"
    assert sql_type(pa.large_list(pa.int32())) == "ARRAY<INT>"
    assert sql_type(pa.string_view()) == "STRING"


@pytest.mark.parametrize("name", sorted(TYPES))
def test_a_metadata_column_keeps_its_own_type(name: str) -> None:
    """Every metadata column may be declared with the type that it has (MET-25)."""
    assert lossless(TYPES[name], TYPES[name]) is None


@given(st.sampled_from([-(2**31), -1, 0, 2**31 - 1, 2**40]), st.sampled_from([pa.int8(), pa.int16(), pa.int32(), pa.int64()]))
def test_what_is_called_lossless_is(value: int, want: pa.DataType) -> None:
    """A declared type that is accepted for an int32 or an int64 holds every value of it."""
    have = pa.int32() if -(2**31) <= value < 2**31 else pa.int64()

    if lossless(have, want) is None:
        assert pa.array([value], have).cast(want).to_pylist() == [value]
