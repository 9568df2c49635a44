"""Python values to Arrow arrays."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from thalweg.arrow.columns import Column, assemble, column_of, record_batch

CASES: list[tuple[pa.DataType, list[Any], list[Any]]] = [
    (pa.null(), [None, None], [None, None]),
    (pa.bool_(), [True, None], [True, None]),
    (pa.uint64(), [2**64 - 1, None], [2**64 - 1, None]),
    (pa.float32(), [0.5, None], [0.5, None]),
    (pa.string(), ["", None, "x\0y"], ["", None, "x\0y"]),
    (pa.large_string(), ["a", None], ["a", None]),
    (pa.binary(), [b"", None, b"\xff"], [b"", None, b"\xff"]),
    (pa.binary(2), [b"ab", None], [b"ab", None]),
    (pa.binary(0), [b"", None], [b"", None]),
    (pa.decimal128(38, 2), [-(10**38) + 1, None, 5], [Decimal("-" + "9" * 36 + ".99"), None, Decimal("0.05")]),
    (pa.decimal256(76, 0), [10**76 - 1, None], [Decimal("9" * 76), None]),
    (pa.list_(pa.int32()), [[1, None], None, []], [[1, None], None, []]),
    (pa.large_list(pa.string()), [["a"], None], [["a"], None]),
    (pa.list_(pa.int8(), 2), [[1, None], None], [[1, None], None]),
    (pa.map_(pa.string(), pa.int32()), [[("a", 1), ("b", None)], None, []], [[("a", 1), ("b", None)], None, []]),
    (pa.struct([("a", pa.int32()), ("b", pa.string())]), [(1, None), None], [{"a": 1, "b": None}, None]),
    (pa.struct([]), [(), None], [{}, None]),
    (pa.dictionary(pa.int32(), pa.string()), ["x", None, "x"], ["x", None, "x"]),
    (pa.month_day_nano_interval(), [(1, -2, 3), None], [pa.MonthDayNano((1, -2, 3)), None]),
]


@pytest.mark.parametrize(("kind", "values", "expected"), CASES, ids=[str(case[0]) for case in CASES])
def test_values_become_arrays(kind: pa.DataType, values: list[Any], expected: list[Any]) -> None:
    """Every type that a codec makes, with NULL and without."""
    array = assemble(column_of(kind), values)
    array.validate(full=True)

    assert array.type == kind
    assert array.to_pylist() == expected
    assert assemble(column_of(kind), values[:1]).to_pylist() == expected[:1]
    assert assemble(column_of(kind), []).to_pylist() == []


@pytest.mark.parametrize("kind", [pa.timestamp("ns", "UTC"), pa.timestamp("s"), pa.date32(), pa.time32("ms"), pa.time64("us"), pa.duration("us")], ids=str)
def test_times_are_integers(kind: pa.DataType) -> None:
    """Integers far outside Python's datetime are kept (AV-13)."""
    values = [0, None, 1] if pa.types.is_time(kind) else [-(2**31), None, 2**31 - 1]
    array = assemble(column_of(kind), values)

    assert array.view(pa.int32() if kind.bit_width == 32 else pa.int64()).to_pylist() == values


def test_null_structs_have_null_children() -> None:
    """A field of a NULL struct is NULL, at every level."""
    kind = pa.struct([("s", pa.struct([("a", pa.int32())])), ("m", pa.map_(pa.string(), pa.int32()))])
    array = assemble(column_of(kind), [None, (None, None), ((1,), [])])

    assert array.field(0).to_pylist() == [None, None, {"a": 1}]
    assert array.field(0).field(0).to_pylist() == [None, None, 1]
    assert array.field(1).to_pylist() == [None, None, []]


def test_unions_are_dense() -> None:
    """Each value lies in the child that it belongs to; NULL is a value of a child."""
    kind = pa.dense_union([pa.field("null", pa.null()), pa.field("string", pa.string()), pa.field("long", pa.int64())])
    array = assemble(column_of(kind), [(1, "a"), (0, None), (2, 5), (1, None)])
    array.validate(full=True)

    assert array.type == kind
    assert array.to_pylist() == ["a", None, 5, None]
    assert array.type_codes.to_pylist() == [1, 0, 2, 1]


def test_enums_have_all_their_symbols() -> None:
    """The dictionary of an enum is its symbols, whichever of them a batch uses."""
    column = Column(pa.dictionary(pa.int32(), pa.string()), symbols=pa.array(["A", "B", "C"]))
    array = assemble(column, [2, None, 0])

    assert array.dictionary.to_pylist() == ["A", "B", "C"]
    assert array.to_pylist() == ["C", None, "A"]


def test_a_batch_without_columns_keeps_its_rows() -> None:
    """Three rows of nothing are three rows (AV-23)."""
    assert record_batch(pa.schema([]), [], [(), (), ()]).num_rows == 3
    assert record_batch(pa.schema([("a", pa.int8())]), [column_of(pa.int8())], []).num_rows == 0


def test_a_union_inside_a_null_struct() -> None:
    """The struct's NULL is nobody's fault: the union below it takes its NULL branch, or the first one."""
    union = pa.dense_union([pa.field("null", pa.null()), pa.field("n", pa.int64())])
    made = column_of(pa.struct([pa.field("u", union)]))

    array = assemble(made, [None, ((1, 7),)])
    array.validate(full=True)

    assert array.to_pylist() == [None, {"u": 7}]
