"""Arrow values as JSON text."""

from __future__ import annotations

import decimal
import json

import numpy as np
import pyarrow as pa
import pytest

from thalweg.sinks.console.json_text import lines, texts


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (pa.array([2**63 - 1, -(2**63), None]), ["9223372036854775807", "-9223372036854775808", "null"]),
        (pa.array([2**64 - 1], pa.uint64()), ["18446744073709551615"]),
        (pa.array([decimal.Decimal("1.20"), decimal.Decimal("-12345678901234567890.12"), None]), ["1.20", "-12345678901234567890.12", "null"]),
        (pa.array([decimal.Decimal(120)], pa.decimal128(5, 0)), ["120"]),
        (pa.array([0.1, float("nan"), float("inf"), -0.0, 1e300, None]), ["0.1", '"NaN"', '"Infinity"', "-0.0", "1e+300", "null"]),
        (pa.array([0.1, None], pa.float32()), ["0.1", "null"]), (pa.array([np.float16(0.5)], pa.float16()), ["0.5"]),
        (pa.array([True, False, None]), ["true", "false", "null"]), (pa.nulls(2), ["null", "null"]),
        (pa.array(['a"\\\n\x1b\x7f\u2028é', "", None]), ['"a\\"\\\\\\n\\u001b\\u007f\\u2028é"', '""', "null"]),
        (pa.array(["x"], pa.string_view()), ['"x"']), (pa.array(["x"], pa.large_string()), ['"x"']),
        (pa.array([b"\x00\xff", b"", None]), ['"AP8="', '""', "null"]), (pa.array([b"ab"], pa.binary(2)), ['"YWI="']),
        (pa.array([0, None], pa.timestamp("ns")), ['"1970-01-01T00:00:00.000000000"', "null"]),
        (pa.array([1], pa.timestamp("us", "Europe/Berlin")), ['"1970-01-01T00:00:00.000001Z"']),
        (pa.array([-1], pa.timestamp("ms", "UTC")), ['"1969-12-31T23:59:59.999Z"']),
        (pa.array([1], pa.date32()), ['"1970-01-02"']), (pa.array([1], pa.time64("us")), ['"00:00:00.000001"']),
        (pa.array([5], pa.duration("us")), ["5"]),
        (pa.array([[1, None], [], None]), ["[1,null]", "[]", "null"]), (pa.array([[1]], pa.list_view(pa.int8())), ["[1]"]),
        (pa.array([[1, 2]], pa.list_(pa.int8(), 2)), ["[1,2]"]),
        (pa.array([{"a": 1, "b": None}, None]), ['{"a":1,"b":null}', "null"]), (pa.array([{}, None], pa.struct([])), ["{}", "null"]),
        (pa.array([[("k", 1), ("l", None)], [], None], pa.map_(pa.string(), pa.int8())), ['{"k":1,"l":null}', "{}", "null"]),
        (pa.array([[("k", 1), ("k", 2)]], pa.map_(pa.string(), pa.int8())), ['[["k",1],["k",2]]']),
        (pa.array([[(1, 2)]], pa.map_(pa.int8(), pa.int8())), ["[[1,2]]"]),
        (pa.array(["x", None, "x"]).dictionary_encode(), ['"x"', "null", '"x"']),
        (pa.RunEndEncodedArray.from_arrays([2, 3], ["a", None], pa.run_end_encoded(pa.int32(), pa.string())), ['"a"', '"a"', "null"]),
        (pa.array([b"\x00" * 16, None], pa.uuid()), ['"00000000-0000-0000-0000-000000000000"', "null"]),
        (pa.ExtensionArray.from_storage(pa.json_(), pa.array(["{}"])), ['"{}"']),
        (pa.array([(1, 2, 3)], pa.month_day_nano_interval()), ['"MonthDayNano(months=1, days=2, nanoseconds=3)"']),
    ],
    ids=str,
)
def test_exact_text(values: pa.Array, expected: list[str]) -> None:
    """No digit is lost, no NULL becomes a value, and every text is valid JSON."""
    assert texts(values) == expected
    for text in expected:
        json.loads(text)


def test_sliced_arrays() -> None:
    """Offsets of slices are respected at every depth."""
    values = pa.array([[{"a": str(i)}] for i in range(5)]).slice(2, 2)

    assert texts(values) == ['[{"a":"2"}]', '[{"a":"3"}]']


def test_null_struct_hides_its_children() -> None:
    """What stands below a NULL does not show."""
    values = pa.StructArray.from_arrays([pa.array([1, 2])], ["a"], mask=pa.array([True, False]))

    assert texts(values) == ["null", '{"a":2}']


def test_a_record_is_a_line() -> None:
    """Whatever a value holds, a row stays on one line (OB-03)."""
    batch = pa.record_batch({"v": ['\n{"level":"error"}\r\x1b[31m', "x\u2028y"], "n\n": [1, 2]})
    out = lines(batch)

    assert all(len(line.splitlines()) == 1 and "\x1b" not in line for line in out)
    assert [json.loads(line) for line in out] == batch.to_pylist()
