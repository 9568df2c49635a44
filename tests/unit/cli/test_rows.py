"""Rows on their way out: tables that fit, and formats that programs read back."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from rich.cells import cell_len

from thalweg.cli.rows import TableLook, aligned, output, stream_table
from thalweg.errors import UserError

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Terminal

ROWS = pa.record_batch({"id": [1, 22], "name": ["日本", None], "raw": [b"\x01", b""], "tags": [["a"], []], "x": [1.5, None]})


class Bytes(io.TextIOWrapper):
    """A text stream over bytes, as standard output is."""

    def __init__(self, encoding: str = "utf-8") -> None:
        """Nothing is written yet."""
        self.held = io.BytesIO()
        super().__init__(self.held, encoding=encoding, write_through=True)


def look(width: int | None = None, max_rows: int = 100, expanded: str = "auto") -> TableLook:
    """How a table is drawn."""
    return TableLook(width=lambda: width, max_rows=max_rows, expanded=expanded)


def drawn(batch: pa.RecordBatch, how: TableLook) -> list[str]:
    """A table's lines."""
    out = io.StringIO()
    table = output("table", batch.schema, out, how)
    table.write(batch)
    table.close()
    return out.getvalue().splitlines()


def test_a_table_is_aligned() -> None:
    """Numbers stand to the right, wide characters count twice, NULL is no empty text (CLI-07)."""
    assert drawn(ROWS, look()) == [
        "id | name | raw  | tags  |    x",
        "---+------+------+-------+-----",
        ' 1 | 日本 | \\x01 | ["a"] |  1.5',
        "22 | NULL | \\x   | []    | NULL",
        "(2 rows)",
    ]


@pytest.mark.parametrize("width", [40, 60, 90])
def test_a_table_fits_its_terminal(width: int) -> None:
    """Whatever the width, no line is longer; wide characters are not cut in half (CL-02)."""
    batch = pa.record_batch({"a": ["日本語" * 30], "bb": ["x" * 100], "n": [1]})

    assert max(cell_len(line) for line in drawn(batch, look(width))) <= width


def test_rows_go_down_where_columns_do_not_fit() -> None:
    r"""Too many columns for the terminal, or \x on, give blocks; long values go on below; \x off never does."""
    many = pa.record_batch({f"c{i}": ["value" * 3] for i in range(12)})

    assert drawn(many, look(50))[:2] == ["-[ row 1 ]", "c0  | valuevaluevalue"]
    assert drawn(many, look(50, expanded="off"))[-1] == "(1 row)"
    assert drawn(pa.record_batch({"a": ["x" * 30]}), look(20, expanded="on")) == ["-[ row 1 ]", "a | " + "x" * 16, "  | " + "x" * 14, "(1 row)"]


def test_a_table_stops_at_its_bound() -> None:
    """More rows than are shown end the reading and are said to be more."""
    out = io.StringIO()
    table = output("table", ROWS.schema, out, look(max_rows=1))

    assert table.write(ROWS) is False
    table.close()
    assert out.getvalue().splitlines()[-1] == "(the first 1 row; SET 'repl.max.rows' shows more)"


def test_an_empty_result_has_a_header() -> None:
    """No rows: the columns are shown all the same."""
    assert drawn(ROWS.slice(0, 0), look())[-1] == "(0 rows)"


def test_aligned_cuts_with_dots() -> None:
    """A cut value ends in dots and takes exactly its column."""
    assert aligned(["a", "b"], [["x" * 50, "1"]], [False, True], 20)[2] == "x" * 13 + "... | 1"


def test_csv_keeps_null_and_empty_apart() -> None:
    """A header, texts in quotes, NULL as nothing, bytes as hex, nested values as JSON; csv reads it back."""
    out = Bytes()
    writer = output("csv", ROWS.schema, out, look())
    writer.write(ROWS)
    writer.close()
    out.flush()

    text = out.held.getvalue().decode()
    assert list(csv.reader(io.StringIO(text))) == [
        ["id", "name", "raw", "tags", "x"], ["1", "日本", "\\x01", '["a"]', "1.5"], ["22", "", "\\x", "[]", ""],
    ]
    assert '22,,"\\x","[]",' in text


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_json_is_one_object_a_line(encoding: str) -> None:
    """Each line is an object, whatever the terminal's encoding; bytes are base64."""
    out = Bytes(encoding)
    writer = output("json", ROWS.schema, out, look())
    writer.write(ROWS)
    writer.close()

    rows = [json.loads(line) for line in out.held.getvalue().decode(encoding).splitlines()]
    assert rows == [
        {"id": 1, "name": "日本", "raw": "AQ==", "tags": ["a"], "x": 1.5}, {"id": 22, "name": None, "raw": "", "tags": [], "x": None},
    ]


def test_arrow_is_a_stream() -> None:
    """Arrow IPC comes back as it was, and the text stream stays open."""
    out = Bytes()
    writer = output("arrow", ROWS.schema, out, look())
    writer.write(ROWS)
    writer.close()

    assert pa.ipc.open_stream(out.held.getvalue()).read_all().to_batches() == [ROWS]
    assert not out.closed


def test_arrow_is_not_for_terminals(terminal: Terminal) -> None:
    """Binary output to a terminal is refused with the way out."""
    with pytest.raises(UserError, match="terminal"):
        output("arrow", ROWS.schema, terminal, look())


def test_a_stream_of_rows_is_drawn_at_once() -> None:
    """Rows of a tail appear as they come; wider ones take more room instead of being cut."""
    out = io.StringIO()
    table = stream_table(ROWS.schema, out)
    table.write(ROWS.slice(0, 0))
    assert out.getvalue() == ""

    table.write(ROWS.slice(0, 1))
    table.write(ROWS.slice(1))
    table.write(pa.record_batch({"id": [3], "name": ["much longer"], "raw": [b""], "tags": [["b"]], "x": [None]}, schema=ROWS.schema))
    table.close()

    assert out.getvalue().splitlines() == [
        "id | name | raw  | tags  |   x",
        "---+------+------+-------+----",
        ' 1 | 日本 | \\x01 | ["a"] | 1.5',
        "22 | NULL | \\x   | []    | NULL",
        ' 3 | much longer | \\x   | ["b"] | NULL',
        "(3 rows)",
    ]
