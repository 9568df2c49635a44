"""The JSON decoder."""

from __future__ import annotations

import pyarrow as pa
import pytest

from thalweg.errors import UserError
from thalweg.testing.codecs import CodecBench

AB = pa.schema([("a", pa.int64()), ("b", pa.string())])


def test_each_document_by_itself() -> None:
    """An empty object is a row of NULLs, null and missing are NULL, unknown members are ignored whatever they hold (JS-01, JS-06)."""
    out = CodecBench("json", AB).decode([
        b'{"a":9007199254740993,"b":"x"}', b"{}", b"null", b'{"b":null,"x":327267367867168100000,"y":1e999999999,"z":{"a":[]}}', b"", b'{"A":1,"a":2}',
    ])  # fmt: skip

    assert out.batch.to_pylist() == [{"a": 9007199254740993, "b": "x"}, {"a": None, "b": None}, {"a": None, "b": None}, {"a": 2, "b": None}]
    assert out.rows.to_pylist() == [0, 1, 3, 5]
    assert (out.bad.rows, out.bad.codes) == ([2, 4], ["decode.malformed"] * 2)


def test_a_field_under_the_metadata_prefix() -> None:
    """Refused by name, at the top of the document only."""
    out = CodecBench("json", AB).decode([b'{"a":1,"_twg_source_offset":5}', b'{"a":1,"x":{"_twg_source_offset":5}}'])

    assert (out.bad.rows, out.bad.codes, out.bad.paths) == ([0], ["decode.reserved"], ["_twg_source_offset"])
    assert out.bad.messages == ["_twg_source_offset: the name begins with '_twg_', which is kept for metadata columns"]


def test_limits_are_options() -> None:
    """'decode.max_depth' and 'decode.max_bytes' are the table's own."""
    bench = CodecBench("json", AB, {"decode.max_depth": "2", "decode.max_bytes": "30"})
    out = bench.decode([b'{"x":[1]}', b'{"x":[[1]]}', b'{"b":"' + b"x" * 30 + b'"}'])

    assert (out.bad.rows, out.bad.codes) == ([1, 2], ["decode.limit"] * 2)


def test_what_the_table_must_say() -> None:
    """Columns are declared or come from a JSON Schema; their types must be ones that JSON can give."""
    with pytest.raises(UserError, match=r"needs a column list or 'json.schema'"):
        _ = CodecBench("json").schema
    with pytest.raises(UserError, match="column 'i': no JSON value can become"):
        _ = CodecBench("json", pa.schema([("i", pa.month_day_nano_interval())])).schema
    with pytest.raises(UserError, match="column '_twg_x' begins with '_twg_'"):
        _ = CodecBench("json", pa.schema([("_twg_x", pa.int8())])).schema
