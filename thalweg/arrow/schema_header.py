"""The record header that names a payload's schema, as Confluent's clients write it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow.compute as pc

if TYPE_CHECKING:
    import numpy.typing as npt
    import pyarrow as pa


def header_name(*, is_key: bool) -> str:
    """The header that carries a schema's id or GUID."""
    return "__key_schema_id" if is_key else "__value_schema_id"


def header_values(headers: pa.ListArray | None, name: str) -> list[bytes | None] | None:
    """For each record its last header ``name`` (b"" where its value is NULL); None where no record has one."""
    if headers is None or not pc.any(pc.equal(headers.flatten().field(0), name)).as_py():
        return None
    out: list[bytes | None] = []
    for found in headers.to_pylist():
        last = None
        for header in found or ():
            if header["key"] == name:
                last = header["value"] or b""
        out.append(last)
    return out


def header_rows(headers: pa.ListArray | None, name: str) -> list[tuple[bytes, npt.NDArray[np.intp]]]:
    """As :func:`header_groups`, whatever the headers are: of several in one record the last one counts, b"" where its value is NULL."""
    found = header_groups(headers, name)
    if found is not None:
        return found
    by_value: dict[bytes, list[int]] = {}
    for row, value in enumerate(header_values(headers, name) or ()):
        if value is not None:
            by_value.setdefault(value, []).append(row)
    return [(value, np.array(rows, np.intp)) for value, rows in by_value.items()]


def header_groups(headers: pa.ListArray | None, name: str) -> list[tuple[bytes, npt.NDArray[np.intp]]] | None:
    """Each value of header ``name`` with the rows that have it; None where a record has two such headers or one without a value."""
    if headers is None:
        return []
    found = pc.equal(headers.flatten().field(0), name)
    rows = pc.list_parent_indices(headers).filter(found).to_numpy()
    values = headers.flatten().field(1).filter(found)
    if values.null_count or (np.diff(rows) == 0).any():
        return None
    coded = values.dictionary_encode()
    numbers = coded.indices.to_numpy()
    return [(value, rows[numbers == i].astype(np.intp)) for i, value in enumerate(coded.dictionary.to_pylist())]
