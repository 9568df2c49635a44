"""Arrow values as plain ones: every type, slices, NULLs, nothing rounded."""

from __future__ import annotations

import datetime as dt
import decimal
import json

import pyarrow as pa
import pytest

from thalweg.cli.values import base64_text, hexadecimal, plain, shown

UTC = dt.UTC
CASES = [
    (pa.array([1, None], pa.int64()), [1, None]),
    (pa.array([2**63], pa.uint64()), [2**63]),
    (pa.array([True, None]), [True, None]),
    (pa.array([1.5, float("nan"), float("inf"), float("-inf"), None]), [1.5, "NaN", "Infinity", "-Infinity", None]),
    (pa.array([decimal.Decimal("1.50"), None], pa.decimal128(20, 2)), ["1.50", None]),
    (pa.array(["a", "", None]), ["a", "", None]),
    (pa.array([b"\x00\xff", b"", None], pa.binary()), [r"\x00ff", r"\x", None]),
    (pa.array([1, None], pa.timestamp("ns", "UTC")), ["1970-01-01T00:00:00.000000001Z", None]),
    (pa.array([1], pa.timestamp("s")), ["1970-01-01T00:00:01"]),
    (pa.array([dt.date(2020, 1, 2), None]), ["2020-01-02", None]),
    (pa.array([1], pa.time64("us")), ["00:00:00.000001"]),
    (pa.array([5, None], pa.duration("ms")), ["5 ms", None]),
    (pa.array([(1, 2, 3), None], pa.month_day_nano_interval()), ["1 months 2 days 3 ns", None]),
    (pa.array(["a", None]).dictionary_encode(), ["a", None]),
    (pa.nulls(1), [None]),
    (pa.array([[1, None], None, []], pa.list_(pa.int32())), [[1, None], None, []]),
    (pa.array([[1, 2], None], pa.list_(pa.int32(), 2)), [[1, 2], None]),
    (pa.array([[b"x"]], pa.large_list(pa.binary())), [[r"\x78"]]),
    (pa.array([{"a": 1, "t": dt.date(2020, 1, 1)}, None]), [{"a": 1, "t": "2020-01-01"}, None]),
    (pa.array([[("k", 1)], None, []], pa.map_(pa.string(), pa.int32())), [{"k": 1}, None, {}]),
    (pa.array([[("k", 1), ("k", 2)]], pa.map_(pa.string(), pa.int32())), [[["k", 1], ["k", 2]]]),
    (pa.array([[(1, "x")]], pa.map_(pa.int32(), pa.string())), [[[1, "x"]]]),
    (pa.array([bytes(range(16)), None], pa.uuid()), ["00010203-0405-0607-0809-0a0b0c0d0e0f", None]),
    (pa.array(['{"a": 1}'], pa.json_()), ['{"a": 1}']),
    (
        pa.UnionArray.from_dense(pa.array([0, 1], pa.int8()), pa.array([0, 0], pa.int32()), [pa.array([1]), pa.array([[b"z"]])], ["a", "b"]),
        [1, [r"\x7a"]],
    ),
    (
        pa.UnionArray.from_dense(pa.array([0], pa.int8()), pa.array([0], pa.int32()), [pa.array([{"d": decimal.Decimal("1.0")}])], ["s"]),
        [{"d": "1.0"}],
    ),
]


@pytest.mark.parametrize(("column", "expected"), CASES, ids=lambda v: str(v.type) if isinstance(v, pa.Array) else "")
def test_values_are_plain_and_exact(column: pa.Array, expected: list[object]) -> None:
    """Each type becomes what JSON can say; a slice gives the slice's values (REP-16)."""
    doubled = pa.concat_arrays([column, column]) if not pa.types.is_union(column.type) else column

    assert plain(column, hexadecimal) == expected
    assert plain(doubled.slice(len(doubled) - len(column)), hexadecimal) == expected
    json.dumps(plain(column, base64_text), allow_nan=False)


def test_sliced_nested_values() -> None:
    """A slice in the middle of lists, maps and structs does not shift its values."""
    lists = pa.array([[1], [2, 3], None, [4]])
    maps = pa.array([[("a", 1)], [("b", 2)], None], pa.map_(pa.string(), pa.int32()))

    assert plain(lists.slice(1, 3), hexadecimal) == [[2, 3], None, [4]]
    assert plain(maps.slice(1), hexadecimal) == [{"b": 2}, None]


def test_what_a_table_shows() -> None:
    """NULL and the empty text are different, nested values are JSON, control characters are escapes (OB-03)."""
    values = [None, "", True, False, 1, {"a": "ä\n"}, "x\x1b[31m\n"]

    assert [shown(v) for v in values] == ["NULL", "", "true", "false", "1", '{"a": "ä\\n"}', "x\\x1b[31m\\n"]
    assert base64_text(b"ab") == "YWI="
