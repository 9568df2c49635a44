"""Confluent's framing of JSON documents: which schema each names, and where it begins; schemas are asked for once."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Final

import numpy as np

from thalweg.arrow.fronts import front, without
from thalweg.arrow.rows import FRAMING, SCHEMA_UNKNOWN, BadValue
from thalweg.arrow.schema_header import header_name, header_rows
from thalweg.errors import SchemaUnknown

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt
    import pyarrow as pa

    from thalweg.arrow.batch import BadRows
    from thalweg.ports.schemas import SchemaRegistry

PREFIX_BYTES: Final = 5
_GUID_HEADER_BYTES: Final = 17
_MOST_KNOWN: Final = 10_000
"""Schemas that are kept in mind; broken framing may name any number of them."""


class Frames:
    """Takes documents out of their framing. A schema must be there and be a JSON Schema; the table's columns read the documents of all."""

    def __init__(self, registry: SchemaRegistry, *, is_key: bool) -> None:
        """Asks nobody yet."""
        self._registry = registry
        self._header = header_name(is_key=is_key)
        self._known: dict[int | str, BadValue | None] = {}

    def open(self, payloads: pa.BinaryArray, headers: pa.ListArray | None, bad: BadRows) -> Iterator[tuple[npt.NDArray[np.intp], pa.BinaryArray]]:
        """Row numbers and documents; the others go to ``bad``. Raises SchemaUnavailable."""
        unknown: dict[int | str, BadValue] = {}
        left = np.ones(len(payloads), bool)
        headed = []
        for value, rows in header_rows(headers, self._header):
            left[rows] = False
            try:
                self._admit(from_header(value, self._header), unknown)
                headed.append(rows)
            except BadValue as e:
                _refuse(rows, e, bad)
        if headed:
            own = np.sort(np.concatenate(headed))
            yield own, without(payloads, own, 0)
        framed = self._prefixed(payloads, np.flatnonzero(left), unknown, bad)
        if len(framed):
            yield framed, without(payloads, framed, PREFIX_BYTES)

    def _prefixed(
        self, payloads: pa.BinaryArray, rows: npt.NDArray[np.intp], unknown: dict[int | str, BadValue], bad: BadRows
    ) -> npt.NDArray[np.intp]:
        """The rows whose five bytes name a schema that can be read."""
        places = front(payloads)
        long = rows[places.longer(PREFIX_BYTES)[rows]]
        begin = places.bytes_at(long, 0, PREFIX_BYTES)
        framed = begin[:, 0] == 0
        for row in np.setdiff1d(rows, long[framed], assume_unique=True).tolist():
            _refuse(np.array([row]), _unframed(payloads[row].as_py()), bad)
        good, ids = long[framed], begin[framed, 1:].copy().view(">u4").ravel()
        admitted = np.ones(len(good), bool)
        for schema_id in np.unique(ids).tolist():
            try:
                self._admit(schema_id, unknown)
            except BadValue as e:
                admitted[ids == schema_id] = False
                _refuse(good[ids == schema_id], e, bad)
        return np.asarray(good[admitted])

    def _admit(self, schema_id: int | str, unknown: dict[int | str, BadValue]) -> None:
        """Raises BadValue where there is no such schema, or one of another kind."""
        if schema_id not in self._known and schema_id not in unknown:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            try:
                kind = self._registry.by_id(schema_id).kind
                self._known[schema_id] = None if kind == "JSON" else BadValue(FRAMING, f"schema {schema_id} is {kind}, not JSON")
            except SchemaUnknown as e:
                unknown[schema_id] = BadValue(SCHEMA_UNKNOWN, e.message)
        found = unknown.get(schema_id) or self._known.get(schema_id)
        if found is not None:
            raise BadValue(found.code, found.message)


def from_header(value: bytes, name: str) -> int | str:
    """The id or GUID in a header's value. A malformed header is a bad record: the prefix is not tried."""
    if value[:1] == b"\x01" and len(value) == _GUID_HEADER_BYTES:
        return str(uuid.UUID(bytes=value[1:]))
    if value[:1] == b"\x00" and len(value) == PREFIX_BYTES:
        return int.from_bytes(value[1:], "big")
    raise BadValue(FRAMING, f"header '{name}' is neither 01 and a GUID nor 00 and an id: {len(value)} bytes, 0x{value[:17].hex()}")


def _unframed(payload: bytes) -> BadValue:
    """Why five bytes of framing are not there."""
    if not payload:
        return BadValue(FRAMING, "the payload is empty (0 bytes); it is no tombstone, and it lacks the schema id")
    if payload[0] == 0:
        return BadValue(FRAMING, f"expected magic byte 0 and a 4-byte schema id, found {len(payload)} bytes")
    looks = "; the payload looks like plain JSON (format 'json')" if payload.lstrip()[:1] == b"{" else ""
    return BadValue(FRAMING, f"expected magic byte 0 and a schema id, found byte {payload[0]}{looks}")


def _refuse(rows: npt.NDArray[np.intp], why: BadValue, bad: BadRows) -> None:
    """The same fault in several rows."""
    for row in rows.tolist():
        bad.add(row, why.code, why.message)
