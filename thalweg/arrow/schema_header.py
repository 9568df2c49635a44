"""The record header that names a payload's schema, as Confluent's clients write it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow.compute as pc

if TYPE_CHECKING:
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
