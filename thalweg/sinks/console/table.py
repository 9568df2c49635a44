"""An aligned table that grows as rows come: escaped, truncated, aligned by display width."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

import pyarrow as pa

from thalweg.arrow.columns import meant
from thalweg.sinks.console.json_text import texts

if TYPE_CHECKING:
    from collections.abc import Sequence

_NARROW = frozenset({"Mn", "Me", "Cf"})
_ESCAPED = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_JOINERS = "\u200d\u200c\ufe0f"
NULL = "NULL"


class Table:
    """Remembers the widths of its columns; the head is printed again when one must grow."""

    def __init__(self, schema: pa.Schema, max_width: int) -> None:
        """Numbers stand on the right."""
        self._max = max_width
        self._names = [cell(name, max_width) for name in schema.names]
        self._right = [pa.types.is_integer(t) or pa.types.is_floating(t) or pa.types.is_decimal(t) for t in schema.types]
        self._widths: list[int] = []

    def lines(self, batch: pa.RecordBatch) -> list[str]:
        """Rows as lines, with the head before them where it is due."""
        columns = [self._cells(column) for column in meant(batch)]
        widths = [max([width(n), *map(width, cells)]) for n, cells in zip(self._names, columns, strict=True)]
        out: list[str] = []
        if not self._widths or any(w > have for w, have in zip(widths, self._widths, strict=True)):
            self._widths = [max(pair) for pair in zip(widths, self._widths or widths, strict=True)]
            out += [self._line(self._names), "-+-".join("-" * w for w in self._widths)]
        return out + [self._line(row) for row in zip(*columns, strict=True)]

    def _cells(self, column: pa.Array) -> list[str]:
        """Values of one column; text without its quotes, bytes as in the REPL."""
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type) or pa.types.is_string_view(column.type):
            return [NULL if v is None else cell(v, self._max) for v in column.to_pylist()]
        if _is_bytes(column.type):
            return [NULL if v is None else _cut(r"\x" + v.hex(), self._max) for v in column.to_pylist()]
        valid = column.is_valid().to_pylist()
        return [cell(_bare(v), self._max) if ok else NULL for ok, v in zip(valid, texts(column), strict=True)]

    def _line(self, cells: Sequence[str]) -> str:
        """Cells side by side."""
        padded = []
        for text, have, right in zip(cells, self._widths, self._right, strict=True):
            fill = " " * (have - width(text))
            padded.append(fill + text if right else text + fill)
        return " | ".join(padded).rstrip()


def cell(text: str, limit: int) -> str:
    """One value: control and invisible characters escaped, cut with an ellipsis where it is too wide."""
    out: list[str] = []
    used = 0
    for character in text:
        shown = escaped(character)
        wide = width(shown)
        if used + wide > limit - 1 and (used + wide > limit or len(text) > len(out) + 1):
            return "".join(out) + "…"
        out.append(shown)
        used += wide
    return "".join(out)


def _is_bytes(kind: pa.DataType) -> bool:
    """Whether values are bytes."""
    found = pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind) or pa.types.is_fixed_size_binary(kind)
    return bool(found) and not isinstance(kind, pa.BaseExtensionType)


def _cut(text: str, limit: int) -> str:
    """Plain text, cut with an ellipsis where it is too wide."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def escaped(character: str) -> str:
    """A character that a terminal shows as itself, or its escape."""
    if character in _JOINERS or unicodedata.category(character) not in _ESCAPED:
        return "\\\\" if character == "\\" else character
    code = ord(character)
    short = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}.get(character)
    return short or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}")  # noqa: PLR2004 - widths of Python's escapes


def width(text: str) -> int:
    """Columns that a text takes on a terminal."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.category(c) in _NARROW else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def _bare(text: str) -> str:
    """JSON text of a scalar without its quotes."""
    return text[1:-1] if text.startswith('"') else text
