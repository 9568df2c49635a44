"""Rows on their way out: aligned tables for people, CSV, JSON lines and Arrow for programs. Batches go through as they come."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, Protocol, TextIO

import pyarrow as pa
import pyarrow.csv as pa_csv
from rich.cells import cell_len, chop_cells, set_cell_size

from thalweg.arrow.columns import meant
from thalweg.cli import figures, values
from thalweg.cli.render import printable
from thalweg.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

FORMATS: Final = ("table", "csv", "json", "arrow")
_CELL: Final = 120
"""Cells that one value may take where nobody knows how wide the terminal is."""
_NARROWEST: Final = 4
_READABLE: Final = 10
"""Cells below which a cut value says nothing: with more columns than fit like that, rows go down."""
_CUT: Final = "..."


class Output(Protocol):
    """Where the rows of one result go."""

    def write(self, batch: pa.RecordBatch) -> bool:
        """Take rows; False when it wants no more."""

    def close(self) -> None:
        """The result is over; called once, also after an error in the middle."""


def output(kind: str, schema: pa.Schema, stream: TextIO, look: TableLook) -> Output:
    """The output for one result in one of FORMATS; ``look`` counts for tables only."""
    if kind == "table":
        return _Table(schema, stream, look)
    if kind == "csv":
        return _Csv(schema, stream)
    if kind == "json":
        return _JsonLines(stream)
    if stream.isatty():
        raise UserError("Arrow is binary and standard output is a terminal", hint="redirect it to a file or a pipe")
    return _Arrow(schema, stream)


def stream_table(schema: pa.Schema, stream: TextIO) -> Output:
    """A table whose rows are drawn as they come: widths rest on the first ones, later rows that need more take more."""
    return _StreamTable(schema, stream)


class TableLook:
    """How tables are drawn: fitted to a width or not, across or down, and how many rows at most."""

    def __init__(self, *, width: Callable[[], int | None], max_rows: int, expanded: str = "auto") -> None:
        """``width`` gives the terminal's columns, None where there is no terminal; ``expanded`` is ``on``, ``off`` or ``auto``."""
        self.width, self.max_rows, self.expanded = width, max_rows, expanded


class _Table:
    """Gathers rows up to a bound, then draws them all: widths depend on every row."""

    def __init__(self, schema: pa.Schema, stream: TextIO, look: TableLook) -> None:
        """Nothing is drawn before ``close``."""
        self._schema, self._stream, self._look = schema, stream, look
        self._rows: list[list[str]] = []
        self._more = False

    def write(self, batch: pa.RecordBatch) -> bool:
        """Gather; False once there are more rows than are shown."""
        room = self._look.max_rows - len(self._rows)
        self._more = self._more or batch.num_rows > room
        part = batch.slice(0, room)
        columns = [[values.shown(v) for v in values.plain(column, values.hexadecimal)] for column in meant(part)]
        self._rows += [[column[i] for column in columns] for i in range(part.num_rows)]
        return not self._more

    def close(self) -> None:
        """Draw."""
        names = [printable(name) for name in self._schema.names]
        right = [is_number(field.type) for field in self._schema]
        width = self._look.width()
        lines = _expanded(names, self._rows, width) if self._goes_down(names, width) else aligned(names, self._rows, right, width)
        count = f"({figures.count(len(self._rows))})"
        if self._more:
            count = f"(the first {figures.count(len(self._rows))}; SET 'repl.max.rows' shows more)"
        self._stream.write("\n".join([*lines, count]) + "\n")

    def _goes_down(self, names: list[str], width: int | None) -> bool:
        """Whether each row is a block of its own."""
        if self._look.expanded != "auto":
            return self._look.expanded == "on"
        least = sum(min(w, _READABLE) + 3 for w in _widths(names, self._rows))
        return width is not None and least - 3 > width and bool(self._rows)


class _StreamTable:
    """Draws each row at once."""

    def __init__(self, schema: pa.Schema, stream: TextIO) -> None:
        """The header waits for the first rows, which say how wide the columns are."""
        self._names = [printable(name) for name in schema.names]
        self._right = [is_number(field.type) for field in schema]
        self._stream = stream
        self._widths: list[int] = []
        self._count = 0

    def write(self, batch: pa.RecordBatch) -> bool:
        """Draw at once."""
        columns = [[values.shown(v) for v in values.plain(column, values.hexadecimal)] for column in meant(batch)]
        rows = [[column[i] for column in columns] for i in range(batch.num_rows)]
        if not self._widths and rows:
            self._widths = _widths(self._names, rows)
            self._stream.write("\n".join(aligned(self._names, rows, self._right, None)[:2]) + "\n")
        for row in rows:
            self._count += 1
            cells = (_fitted(cell, max(w, min(cell_len(cell), _CELL)), right=r) for cell, w, r in zip(row, self._widths, self._right, strict=True))
            self._stream.write(" | ".join(cells).rstrip() + "\n")
        return True

    def close(self) -> None:
        """Say how many there were."""
        self._stream.write(f"({figures.count(self._count)})\n")


class _Csv:
    """RFC 4180 with a header: texts in quotes, NULL as nothing at all, bytes as hex, nested values as JSON."""

    def __init__(self, schema: pa.Schema, stream: TextIO) -> None:
        """The header is written even when there are no rows."""
        flat = [pa.field(f.name, f.type if _is_flat(f.type) else pa.string()) for f in schema]
        self._schema = pa.schema(flat)
        self._writer = pa_csv.CSVWriter(_buffer(stream), self._schema)

    def write(self, batch: pa.RecordBatch) -> bool:
        """Write at once."""
        columns = [
            column if column.type == field.type else pa.array(_texts(column), pa.string())
            for column, field in zip(meant(batch), self._schema, strict=True)
        ]
        self._writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=self._schema))
        return True

    def close(self) -> None:
        """Flush."""
        self._writer.close()


class _JsonLines:
    """One object a line; bytes as base64, decimals as text, so that nothing is rounded."""

    def __init__(self, stream: TextIO) -> None:
        """Nothing is written for an empty result."""
        self._stream = stream
        self._ascii = (stream.encoding or "").lower().replace("-", "") != "utf8"

    def write(self, batch: pa.RecordBatch) -> bool:
        """Write at once."""
        columns = [values.plain(column, values.base64_text) for column in meant(batch)]
        names = batch.schema.names
        for i in range(batch.num_rows):
            self._stream.write(json.dumps(dict(zip(names, (c[i] for c in columns), strict=True)), ensure_ascii=self._ascii) + "\n")
        return True

    def close(self) -> None:
        """Flush, so that a reader sees the last line."""
        self._stream.flush()


class _Arrow:
    """An Arrow IPC stream."""

    def __init__(self, schema: pa.Schema, stream: TextIO) -> None:
        """The schema is written even when there are no rows."""
        self._writer = pa.ipc.new_stream(_buffer(stream), schema)

    def write(self, batch: pa.RecordBatch) -> bool:
        """Write at once."""
        self._writer.write_batch(batch)
        return True

    def close(self) -> None:
        """Write the end mark."""
        self._writer.close()


def aligned(names: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[bool], width: int | None) -> list[str]:
    """A header, a rule and a line for each row; columns shrink to ``width`` where it is known, the widest first."""
    widths = _widths(names, rows)
    if width is not None:
        _shrink(widths, width)
    lines = [" | ".join(_fitted(name, w, right=r) for name, w, r in zip(names, widths, right, strict=True))]
    lines.append("-+-".join("-" * w for w in widths))
    lines += [" | ".join(_fitted(cell, w, right=r) for cell, w, r in zip(row, widths, right, strict=True)) for row in rows]
    return [line.rstrip() for line in lines]


def _widths(names: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    """What each column would like to have."""
    return [max([cell_len(name), *(min(cell_len(row[i]), _CELL) for row in rows)]) for i, name in enumerate(names)]


def is_number(kind: pa.DataType) -> bool:
    """Whether a column is set to the right."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _expanded(names: list[str], rows: list[list[str]], width: int | None) -> list[str]:
    """A block for each row, a line for each value; long values go on below."""
    label = max((cell_len(name) for name in names), default=0)
    room = max((width or _CELL) - label - 3, 2 * _NARROWEST)
    lines = []
    for number, row in enumerate(rows, start=1):
        lines.append(f"-[ row {number} ]".ljust(label + 3, "-"))
        for name, cell in zip(names, row, strict=True):
            pieces = chop_cells(cell, room) or [""]
            lines.append(f"{set_cell_size(name, label)} | {pieces[0]}")
            lines += [f"{'':{label}} | {piece}" for piece in pieces[1:]]
    return [line.rstrip() for line in lines]


def _shrink(widths: list[int], room: int) -> None:
    """Take from the widest column until all fit, or none is wide any more."""
    while sum(widths) + 3 * (len(widths) - 1) > room and max(widths, default=0) > _NARROWEST:
        widest = max(range(len(widths)), key=widths.__getitem__)
        widths[widest] -= 1


def _fitted(cell: str, width: int, *, right: bool) -> str:
    """Cut with dots or filled with spaces to exactly ``width`` cells."""
    size = cell_len(cell)
    if size > width:
        keep = max(0, width - len(_CUT))
        return set_cell_size(set_cell_size(cell, keep).rstrip() + _CUT[: width - keep], width)
    return " " * (width - size) + cell if right else cell + " " * (width - size)


def _is_flat(kind: pa.DataType) -> bool:
    """Whether Arrow's CSV writer says a type the way we want it."""
    return bool(pa.types.is_boolean(kind) or is_number(kind) or pa.types.is_string(kind))


def _texts(column: pa.Array) -> list[str | None]:
    """Values as text, NULL kept apart from the text NULL."""
    return [
        None if v is None else json.dumps(v, ensure_ascii=False) if isinstance(v, list | dict) else str(v)
        for v in values.plain(column, values.hexadecimal)
    ]


def _buffer(stream: TextIO) -> pa.NativeFile:
    """The bytes under a text stream; closing the writer leaves the stream open."""
    stream.flush()
    return pa.PythonFile(stream.buffer, mode="w")
