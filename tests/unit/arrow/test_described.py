"""Schemas as lists of fields."""

from __future__ import annotations

import pyarrow as pa

from thalweg.arrow.columns import JSON_TEXT, UUID
from thalweg.arrow.described import describe


def test_every_field_has_a_path() -> None:
    """Parents come before children; list items, map values, struct and union fields are all there (DEC-02)."""
    schema = pa.schema([
        pa.field("id", pa.binary(16), metadata=UUID),
        pa.field("lines", pa.list_(pa.struct([pa.field("sku", pa.string()), pa.field("x", pa.string(), metadata=JSON_TEXT)]))),
        pa.field("tags", pa.map_(pa.string(), pa.list_(pa.int32()))),
        pa.field("u", pa.dense_union([pa.field("long", pa.int64())])),
        pa.field("e", pa.dictionary(pa.int32(), pa.string()), nullable=False),
    ])
    found = [(f.path, f.short, f.meaning, f.nullable) for f in describe(schema)]

    assert found == [
        ("id", "fixed_size_binary[16]", "uuid", True),
        ("lines", "list", "", True),
        ("lines[]", "struct", "", True),
        ("lines[].sku", "string", "", True),
        ("lines[].x", "string", "json", True),
        ("tags", "map<string, ...>", "", True),
        ("tags{}", "list", "", True),
        ("tags{}[]", "int32", "", True),
        ("u", "dense_union", "", True),
        ("u.long", "int64", "", True),
        ("e", "dictionary<int32, string>", "", False),
    ]
