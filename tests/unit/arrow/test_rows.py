"""Good rows gathered, bad rows noted."""

from __future__ import annotations

import pyarrow as pa

from thalweg.arrow.columns import column_of
from thalweg.arrow.rows import MALFORMED, BadValue, RowCollector, bounded, shown, shown_path


def test_rows_and_bad_rows_keep_their_numbers() -> None:
    """Each row is in the batch or in the bad rows, under its number in the input."""
    rows = RowCollector(pa.schema([("a", pa.int32())]), [column_of(pa.int32())])
    rows.add(0, (1,))
    rows.reject(1, BadValue(MALFORMED, "broken").inside(2).inside("a"))
    rows.add(2, (None,))
    out = rows.finish()

    assert out.batch.to_pylist() == [{"a": 1}, {"a": None}]
    assert out.rows.to_pylist() == [0, 2]
    assert (out.bad.rows, out.bad.codes, out.bad.messages, out.bad.paths) == ([1], [MALFORMED], ["a[2]: broken"], ["a[2]"])


def test_paths_grow_outwards() -> None:
    """Fields are joined by dots, items stand in brackets."""
    bad = BadValue(MALFORMED, "x").inside("qty").inside(2).inside("lines").inside("order")

    assert bad.where == "order.lines[2].qty"
    assert BadValue(MALFORMED, "x").where is None


def test_what_is_shown_is_one_short_line() -> None:
    """Control characters, escapes and huge values do not reach a log as they are (OB-03)."""
    assert shown('a\n{"level":"error"}\x1b[31m') == r"""'a\n{"level":"error"}\x1b[31m'"""
    assert len(shown("x" * 10_000_000)) < 100
    assert shown(bytes(100)) == "0x" + "00" * 16 + "... (100 bytes)"
    assert bounded("ä") == "\\xe4"
    assert shown_path("a\nb\ud800") == "a\\nb\\ud800"
    assert len(shown_path("x" * 10_000)) < 300
