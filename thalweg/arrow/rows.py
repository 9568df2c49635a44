"""From rows to a decoded batch: good rows are gathered, a bad one costs itself and leaves no trace in its neighbours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from thalweg.arrow.batch import BadRows, Decoded
from thalweg.arrow.columns import Column, record_batch

if TYPE_CHECKING:
    from collections.abc import Sequence

FRAMING: Final = "decode.framing"
SCHEMA_UNKNOWN: Final = "decode.schema_unknown"
MALFORMED: Final = "decode.malformed"
TYPE: Final = "decode.type"
RESERVED: Final = "decode.reserved"
LIMIT: Final = "decode.limit"
_SHOWN: Final = 60
_SHOWN_BYTES: Final = 16


class BadValue(Exception):
    """Why one payload cannot be decoded; the path grows from the inside out while it passes through the readers."""

    def __init__(self, code: str, message: str) -> None:
        """Start with an empty path."""
        super().__init__(message)
        self.code = code
        self.message = message
        self.path: list[str] = []

    def inside(self, step: str | int) -> BadValue:
        """Note that the fault lies inside a field (its name) or an item (its number)."""
        self.path.append(f"[{step}]" if isinstance(step, int) else f".{step}")
        return self

    @property
    def where(self) -> str | None:
        """The dotted path such as ``lines[2].qty``; None at the top."""
        return shown_path("".join(reversed(self.path)).lstrip(".")) or None


class RowCollector:
    """Gathers the rows of one batch."""

    def __init__(self, schema: pa.Schema, columns: Sequence[Column]) -> None:
        """``columns`` say how the schema's fields are assembled."""
        self._schema = schema
        self._columns = columns
        self._values: list[tuple[Any, ...]] = []
        self._rows: list[int] = []
        self._bad = BadRows()

    def add(self, row: int, values: tuple[Any, ...]) -> None:
        """Take the values of a good row, one for each column."""
        self._values.append(values)
        self._rows.append(row)

    def reject(self, row: int, why: BadValue) -> None:
        """Note a bad row."""
        where = why.where
        self._bad.add(row, why.code, f"{where}: {why.message}" if where else why.message, where)

    def finish(self) -> Decoded:
        """The batch of all good rows."""
        batch = record_batch(self._schema, self._columns, self._values)
        return Decoded(batch, pa.array(self._rows, pa.int32()), self._bad)


def bytes_left(count: int) -> str:
    """``1 byte is left``, ``2 bytes are left``."""
    return "1 byte is left" if count == 1 else f"{count} bytes are left"


def shown(value: object) -> str:
    """A value for a message: one line, bounded, control characters escaped."""
    if isinstance(value, bytes):
        more = f"... ({len(value)} bytes)" if len(value) > _SHOWN_BYTES else ""
        return f"0x{value[:_SHOWN_BYTES].hex()}{more}"
    return f"'{bounded(value if isinstance(value, str) else repr(value))}'"


def bounded(text: str) -> str:
    """The beginning of a text on one line, control characters escaped."""
    return text[:_SHOWN].encode("unicode_escape").decode("ascii") + ("..." if len(text) > _SHOWN else "")


def shown_path(path: str) -> str:
    """A path for a message: one line and bounded."""
    text = path[: 4 * _SHOWN].encode("utf-8", "backslashreplace").decode("utf-8")
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
