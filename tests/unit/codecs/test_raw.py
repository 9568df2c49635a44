"""The raw format."""

from __future__ import annotations

import pyarrow as pa
import pytest

from thalweg.errors import UserError
from thalweg.testing.codecs import CodecBench


def test_bytes_are_shared_and_kept() -> None:
    """The payload is the value, empty payloads included, without a copy (REP-02, REP-03)."""
    payloads = pa.array([b"\x00\x00\x00\x00\x07x", b"", b"\xff"], pa.binary())
    out = CodecBench("raw").decoder().decode(payloads, None)

    assert out.batch.schema == pa.schema([("value", pa.binary())])
    assert out.batch.column(0).to_pylist() == payloads.to_pylist()
    assert out.batch.column(0).buffers()[2].address == payloads.buffers()[2].address


def test_text_must_be_utf8() -> None:
    """A STRING column sets the payloads aside that are no UTF-8, and only those."""
    out = CodecBench("raw", pa.schema([("line", pa.string())])).decode([b"a", b"\xff\xfe", "ü".encode()])

    assert out.batch.to_pylist() == [{"line": "a"}, {"line": "ü"}]
    assert (out.bad.rows, out.bad.codes, out.bad.paths) == ([1], ["decode.malformed"], ["line"])
    assert out.bad.messages == ["line: invalid UTF-8 at byte 0"]


def test_what_the_columns_may_be() -> None:
    """One column, of BYTES or STRING."""
    with pytest.raises(UserError, match="one column, but 2 are declared"):
        _ = CodecBench("raw", pa.schema([("a", pa.binary()), ("b", pa.binary())])).schema
    with pytest.raises(UserError, match="column 'n': format 'raw' gives BYTES or STRING, not int64"):
        _ = CodecBench("raw", pa.schema([("n", pa.int64())])).schema
    assert CodecBench("raw", pa.schema([])).schema == pa.schema([("value", pa.binary())])


def test_rows_are_written() -> None:
    """Text is written as UTF-8."""
    assert CodecBench("raw", pa.schema([("line", pa.string())]), rows=[{"line": "ü"}]).encoded() == ["ü".encode()]


@pytest.mark.parametrize(("row", "reason"), [({"line": 7}, "7 is neither bytes nor text"), ({"line": None}, "None is neither"), ({"x": b""}, "gives x only")])
def test_rows_that_are_no_bytes(row: dict[str, object], reason: str) -> None:
    """The column is named; a number is not taken for so many bytes."""
    with pytest.raises(UserError, match=f"column 'line': .*{reason}"):
        CodecBench("raw", pa.schema([("line", pa.string())]), rows=[row]).encoded()
