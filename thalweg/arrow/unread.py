"""Columns that nobody reads."""

from __future__ import annotations

import pyarrow as pa


class Unread:
    """They keep their place and their type, so that queries mean the same, and cost nothing: all NULLs of a type are slices of one array."""

    def __init__(self) -> None:
        """Nothing is made yet."""
        self._made: dict[pa.DataType, pa.Array] = {}

    def of(self, kind: pa.DataType, rows: int) -> pa.Array:
        """So many NULLs of a type."""
        made = self._made.get(kind)
        if made is None or rows > len(made):
            made = self._made[kind] = pa.nulls(rows, kind)
        return made.slice(0, rows)
