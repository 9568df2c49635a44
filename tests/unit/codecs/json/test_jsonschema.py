"""JSON Schemas to columns."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from thalweg import registry
from thalweg.arrow.columns import JSON_TEXT, UUID
from thalweg.codecs.json.jsonschema import JsonSchemaError, columns_of
from thalweg.errors import UserError
from thalweg.testing.codecs import CodecBench

if TYPE_CHECKING:
    from pathlib import Path


def columns(properties: dict[str, Any], **more: Any) -> pa.Schema:  # noqa: ANN401 - any JSON
    """The columns of a schema with these properties."""
    return columns_of(json.dumps({"type": "object", "properties": properties, **more}))


def test_what_each_type_becomes() -> None:
    """Types, formats, containers, references and nullable choices."""
    found = columns(
        {
            "i": {"type": "integer"}, "n": {"type": ["null", "number"]}, "b": {"type": "boolean"}, "s": {"type": "string"}, "nothing": {"type": "null"},
            "at": {"type": "string", "format": "date-time"}, "on": {"type": "string", "format": "date"}, "u": {"type": "string", "format": "uuid"},
            "raw": {"type": "string", "contentEncoding": "base64"}, "list": {"type": "array", "items": {"type": "integer"}},
            "map": {"type": "object", "additionalProperties": {"type": "string"}}, "ref": {"$ref": "#/$defs/line"}, "e": {"enum": ["A", "B", None]},
            "maybe": {"oneOf": [{"type": "null"}, {"$ref": "#/$defs/line"}]},
        },
        **{"$defs": {"line": {"properties": {"sku": {"type": "string"}}}}},
    )  # fmt: skip
    line = pa.struct([("sku", pa.string())])

    assert found.equals(pa.schema([
        pa.field("i", pa.int64()), pa.field("n", pa.float64()), pa.field("b", pa.bool_()), pa.field("s", pa.string()), pa.field("nothing", pa.null()),
        pa.field("at", pa.timestamp("us", "UTC")), pa.field("on", pa.date32()), pa.field("u", pa.binary(16), metadata=UUID), pa.field("raw", pa.binary()),
        pa.field("list", pa.list_(pa.int64())), pa.field("map", pa.map_(pa.string(), pa.string())), pa.field("ref", line), pa.field("e", pa.string()),
        pa.field("maybe", line),
    ]), check_metadata=True)  # fmt: skip


def test_what_is_not_pinned_down_stays_text() -> None:
    """Several types, no type, lists of anything, objects of anything, and what recursion leaves over are JSON text."""
    text = {"a": {"type": ["string", "integer"]}, "b": {}, "c": {"type": "array"}, "d": {"type": "object"}, "e": True, "f": {"anyOf": [{}, {}]}}

    assert all(field.metadata == JSON_TEXT for field in columns(text))
    deep = columns({"n": {"$ref": "#/$defs/node"}}, **{"$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}}})
    assert "struct" in str(deep.field("n").type)


@pytest.mark.parametrize(("text", "reason"), [
    ("{", "no JSON"), ("[]", "no 'properties'"), ('{"type":"array"}', "no 'properties'"),
    ('{"properties":{"a":{"$ref":"#/$defs/x"}}}', "leads nowhere"), ('{"properties":{"a":{"$ref":"other.json"}}}', "neither inside the document"),
    ('{"properties":{"a":{"$ref":"#/properties/a"}}}', "in a circle"),
])  # fmt: skip
def test_schemas_that_are_refused(text: str, reason: str) -> None:
    """The reason is said, and it is found before any data moves."""
    with pytest.raises(JsonSchemaError, match=reason):
        columns_of(text)
    with pytest.raises(UserError, match="the JSON Schema cannot be read"):
        _ = CodecBench("json", options={"json.schema": text}).schema


def test_wide_schemas_are_refused() -> None:
    """A schema that doubles at every level ends with an error, not with all memory."""
    node = {"type": "object", "properties": {"l": {"$ref": "#/$defs/node"}, "r": {"$ref": "#/$defs/node"}}}
    with pytest.raises(JsonSchemaError, match="5000 columns"):
        columns({"n": {"$ref": "#/$defs/node"}}, **{"$defs": {"node": node}})


def test_a_table_from_a_schema_file(tmp_path: Path) -> None:
    """Without a column list the schema gives the columns; a file lies in the static registry."""
    file = tmp_path / "s.json"
    file.write_text('{"type":"object","properties":{"a":{"type":"integer"}}}')
    bench = CodecBench("json", options={"json.schema-file": str(file)})

    assert bench.plugin.registry(bench.request) == ("static", str(file))
    assert bench.schema is None
    bench.registry = registry.load("registries", "static").make(str(file), {})
    assert bench.decode([b'{"a":1}']).batch.to_pylist() == [{"a": 1}]
    with pytest.raises(UserError, match="needs its schema file"):
        CodecBench("json", options={"json.schema-file": str(file)}).decoder()
