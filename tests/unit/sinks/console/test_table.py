"""The aligned table."""

from __future__ import annotations

import io
import uuid

import pyarrow as pa
import pytest

from thalweg.arrow.columns import UUID
from thalweg.cli.rows import TableLook, output
from thalweg.sinks.console.table import Table, cell, width


def test_aligned_by_display_width() -> None:
    """Wide letters count two, combining marks none; numbers stand on the right."""
    batch = pa.record_batch({"name": ["漢字", "e\u0301e", "abc"], "n": [1, 200, None]})

    assert Table(batch.schema, 40).lines(batch) == ["name |    n", "-----+-----", "漢字 |    1", "e\u0301e   |  200", "abc  | NULL"]


def test_head_is_repeated_only_when_a_column_grows() -> None:
    """Epochs share one table until a value needs more room."""
    table = Table(pa.schema([("a", pa.string())]), 40)
    out = [table.lines(pa.record_batch({"a": [v]})) for v in ("abc", "ab", "abcdef", "abcd")]

    assert [len(lines) for lines in out] == [3, 1, 3, 1]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\nb\tc\r", "a\\nb\\tc\\r"), ("\x1b[31mred", "\\x1b[31mred"), ("\x00\x7f\x9b", "\\x00\\x7f\\x9b"), ("a\\n", "a\\\\n"),
        ("\u202egnp.exe", "\\u202egnp.exe"), ("\u2028", "\\u2028"), ("\U000e0041", "\\U000e0041"), ("\ufeffx", "\\ufeffx"),
        ("👩\u200d🔬", "👩\u200d🔬"), ("", ""), ("é", "é"),
    ],
)
def test_control_characters_are_escaped(text: str, shown: str) -> None:
    """No value moves the cursor, sets a colour, hides or turns text around (OB-03)."""
    assert cell(text, 100) == shown


@pytest.mark.parametrize(
    ("text", "limit", "shown"),
    [("abcdef", 6, "abcdef"), ("abcdefg", 6, "abcde…"), ("漢字漢字", 6, "漢字…"), ("漢字漢", 6, "漢字漢"), ("\x1b" * 10, 9, "\\x1b\\x1b…"), ("x" * 10**6, 8, "xxxxxxx…")],
)
def test_long_values_are_cut(text: str, limit: int, shown: str) -> None:
    """The ellipsis is part of the limit, and an escape is never cut in two."""
    assert cell(text, limit) == shown
    assert width(shown) <= limit


def test_nested_values_are_json() -> None:
    """Structs and lists show as JSON, NULL as a word, quotes of plain text are left out."""
    batch = pa.record_batch({"l": [[1, 2], None], "t": pa.array([0, None], pa.timestamp("s"))})

    assert Table(batch.schema, 40).lines(batch)[2:] == ["[1,2] | 1970-01-01T00:00:00", "NULL  | NULL"]


def test_bytes_and_uuids_are_shown_as_in_the_repl() -> None:
    """Bytes in hexadecimal, a UUID as its text, whether Arrow or the field says what it is."""
    known = uuid.UUID(int=7)
    fields = [pa.field("b", pa.binary()), pa.field("u", pa.binary(16), metadata=UUID), pa.field("x", pa.uuid())]
    storage = pa.array([known.bytes, None], pa.binary(16))
    batch = pa.RecordBatch.from_arrays(
        [pa.array([b"\n\xff", None]), storage, pa.ExtensionArray.from_storage(pa.uuid(), storage)], schema=pa.schema(fields)
    )
    shown, out = Table(batch.schema, 40).lines(batch)[2:], io.StringIO()
    repl = output("table", batch.schema, out, TableLook(width=lambda: None, max_rows=9))
    repl.write(batch)
    repl.close()

    assert [cell.strip() for cell in shown[0].split("|")] == ["\\x0aff", str(known), str(known)]
    assert [cell.strip() for cell in shown[1].split("|")] == ["NULL"] * 3
    assert [cell.strip() for cell in out.getvalue().splitlines()[2].split("|")] == ["\\x0aff", str(known), str(known)]
    assert Table(batch.schema, 5).lines(batch)[2].startswith("\\x0a…")
