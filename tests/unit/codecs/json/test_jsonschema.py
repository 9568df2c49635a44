"""JSON Schemas to columns."""

from __future__ import annotations

import contextlib
import datetime as dt
import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thalweg import registry
from thalweg.arrow.columns import JSON_TEXT, UUID
from thalweg.codecs.json import documents
from thalweg.codecs.json.documents import JsonSchemaError
from thalweg.codecs.json.jsonschema import columns_of, unfolded
from thalweg.errors import UserError
from thalweg.ports.schemas import RegisteredSchema
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
    """More columns than are kept are an error, not all memory; what doubles at every level is cut as deep as it fits, unless fewer levels were asked for."""
    node = {"type": "object", "properties": {"l": {"$ref": "#/$defs/node"}, "r": {"$ref": "#/$defs/node"}}}
    with pytest.raises(JsonSchemaError, match="5000 columns"):
        columns({f"c{i}": {"type": "integer"} for i in range(5_001)})
    tree = registered({"properties": {"n": {"$ref": "#/$defs/node"}}, "$defs": {"node": node}})
    assert unfolded(tree, 64).cuts[0].endswith(" and 2,043 more: deeper than 12 levels, kept as JSON text")
    assert unfolded(tree, 64).schema == unfolded(tree, 12).schema
    with pytest.raises(JsonSchemaError, match="5000 columns"):
        unfolded(tree, 13)
    much = {"type": "object", "properties": {**{f"c{i}": {"type": "integer"} for i in range(400)}, "next": {"$ref": "#/$defs/node"}}}
    assert "deeper than 13 levels" in unfolded(registered({"properties": {"n": {"$ref": "#/$defs/node"}}, "$defs": {"node": much}}), 64).cuts[0]


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


def registered(text: object, *references: tuple[str, RegisteredSchema]) -> RegisteredSchema:
    """A JSON Schema with its references."""
    return RegisteredSchema(1, "JSON", text if isinstance(text, str) else json.dumps(text), references)


def test_exact_types_by_range_step_and_connects_marks() -> None:
    """64 bits unless the range needs more; powers of ten are decimals; Connect's dates, decimals and widths are what they are; a time stays text."""
    connect = "org.apache.kafka.connect.data."
    found = columns({
        "plain": {"type": "integer", "minimum": 0, "maximum": 2**63 - 1}, "unsigned": {"type": "integer", "minimum": 0, "maximum": 2**64 - 1},
        "huge": {"type": "integer", "maximum": 10**30}, "low": {"type": "integer", "minimum": -(2**70)}, "endless": {"type": "integer", "maximum": 1e300},
        "cents": {"type": "number", "multipleOf": 0.01}, "fives": {"type": "number", "multipleOf": 0.05}, "odd": {"type": "number", "multipleOf": True},
        "price": {"type": "number", "title": connect + "Decimal", "connect.parameters": {"scale": "2", "connect.decimal.precision": "12"}},
        "no_scale": {"type": "number", "title": connect + "Decimal", "connect.parameters": {"scale": "x"}}, "marked": {"type": "number", "title": connect + "Decimal"},
        "day": {"type": "integer", "title": connect + "Date"}, "clock": {"type": "integer", "title": connect + "Time"},
        "at": {"type": "integer", "title": connect + "Timestamp"}, "small": {"type": "integer", "connect.type": "int16"},
        "single": {"type": "number", "connect.type": "float32"}, "time": {"type": "string", "format": "time"}, "one": {"const": 7},
        "either": {"type": ["integer", "number", "null"]}, "same": {"enum": [1, 2]}, "mixed": {"enum": [1, "x"]},
    })  # fmt: skip

    assert [str(f.type) for f in found] == [
        "int64", "uint64", "decimal128(38, 0)", "decimal128(38, 0)", "int64", "decimal128(38, 2)", "double", "double", "decimal128(12, 2)", "double", "double",
        "date32[day]", "time32[ms]", "timestamp[ms, tz=UTC]", "int16", "float", "string", "int64", "double", "int64", "string",
    ]  # fmt: skip
    assert found.field("mixed").metadata == JSON_TEXT
    assert found.field("time").metadata is None
    bench = CodecBench("json", options={"json.schema": json.dumps({"properties": {"day": {"type": "integer", "title": connect + "Date"}, "cents": {
        "type": "number", "multipleOf": 0.01}}})})
    assert bench.decode([b'{"day":1,"cents":0.10}']).batch.to_pylist() == [{"day": dt.date(1970, 1, 2), "cents": Decimal("0.10")}]


def test_choices_that_say_one_thing_and_members_side_by_side() -> None:
    """``allOf`` joins members, contradictions stay text; of choices only one besides null is a type; patterns are maps; unknown words stay text."""
    text = {"type": "string"}
    found = columns(
        {
            "joined": {"allOf": [{"$ref": "#/$defs/base"}, {"properties": {"own": text, "id": {"type": "string"}}}]},
            "wrapped": {"allOf": [{"$ref": "#/$defs/base"}]}, "twice": {"anyOf": [{"oneOf": [{"type": "null"}, text]}, {"const": None}]},
            "either": {"oneOf": [text, {"type": "integer"}]}, "narrowed": {"type": "string", "oneOf": [{"minLength": 1}, {"maxLength": 0}]},
            "map": {"type": "object", "patternProperties": {"^x": {"type": "integer"}}, "additionalProperties": False}, "tuple": {"type": "array", "prefixItems": [text], "items": text},
            "old_tuple": {"type": "array", "items": [text]}, "nothing": False, "if": {"if": {}, "then": text}, "none": {"type": ["null"]}, "odd": {"type": 7},
            "two_patterns": {"type": "object", "patternProperties": {"a": text}, "additionalProperties": text}, "all_odd": {"allOf": [True]},
        },
        **{"$defs": {"base": {"type": "object", "properties": {"id": {"type": "integer"}, "at": {"type": "string", "format": "date-time"}}}}},
    )  # fmt: skip
    at = pa.field("at", pa.timestamp("us", "UTC"))

    assert found.field("joined").type == pa.struct([pa.field("id", pa.string(), metadata=JSON_TEXT), at, pa.field("own", pa.string())])
    assert found.field("joined").type.field("id").metadata == JSON_TEXT
    assert found.field("wrapped").type == pa.struct([pa.field("id", pa.int64()), at])
    assert found.field("map").type == pa.map_(pa.string(), pa.int64())
    assert found.field("none").type == pa.null()
    assert [n for n in ("twice", "narrowed") if found.field(n).metadata] == []
    for name in ("either", "tuple", "old_tuple", "nothing", "if", "two_patterns", "odd", "all_odd"):
        assert found.field(name).metadata == JSON_TEXT, name


def test_references_of_the_registry() -> None:
    """By the reference's name, by its own ``$id``, relative to the document's, with pointers and anchors, in a diamond (RG-07)."""
    city = {"$id": "http://shop/city.json", "type": "string"}
    address = {
        "$id": "http://shop/address.json", "type": "object", "properties": {"city": {"$ref": "city.json"}, "zip": {"$ref": "#zip"}},
        "$defs": {"zip": {"$anchor": "zip", "type": "integer"}, "old": {"$id": "#old", "type": "boolean"}},
    }
    inner = registered(address, ("city.json", registered(city)))
    root = {
        "$id": "http://shop/order.json", "type": "object",
        "properties": {
            "home": {"$ref": "address.json"}, "work": {"$ref": "http://shop/address.json"}, "zip": {"$ref": "address.json#/$defs/zip"}, "named": {"$ref": "by-name"},
            "old": {"$ref": "address.json#old"}, "list": {"type": "array", "items": {"$ref": "#/$defs/a~1b%25"}}, "item": {"$ref": "#/$defs/list/0"},
            "inside": {"$ref": "part.json"},
        },
        "$defs": {"a/b%": {"type": "boolean"}, "list": [{"type": "number"}], "part": {"$id": "part.json", "properties": {"x": {"$ref": "#/$defs/y"}}, "$defs": {"y": city}}},
    }  # fmt: skip
    found = unfolded(registered(root, ("address.json", inner), ("by-name", inner), ("city.json", registered(city))), 24).schema
    place = pa.struct([("city", pa.string()), ("zip", pa.int64())])

    assert [f.type for f in found] == [place, place, pa.int64(), place, pa.bool_(), pa.list_(pa.bool_()), pa.float64(), pa.struct([("x", pa.string())])]


@pytest.mark.parametrize(("root", "references", "reason"), [
    ({"$ref": "lost.json"}, (), "neither inside the document"), ({"$ref": "a#/x"}, (("a", registered({})),), "leads nowhere"),
    ({"$ref": "#lost"}, (), "leads nowhere"), ({"$ref": 7}, (), "is no text"), ({"$ref": "http://[x"}, (), "neither inside"), ({"$id": "http://h/", "not": {"$id": "http://[x"}}, (), "is no URI"),
    ({}, (("a", registered("{")),), "reference 'a' is no JSON"), ({}, (("a", RegisteredSchema(1, "AVRO", '"long"')),), "is AVRO, no JSON Schema"),
    ({}, (("a", registered({"x": 1})), ("a", RegisteredSchema(2, "JSON", '{"x":2}'))), "two different schemas are referred to as 'a': 1 and 2"),
])  # fmt: skip
def test_references_that_lead_nowhere(root: Any, references: Any, reason: str) -> None:  # noqa: ANN401 - any JSON
    """Each says what it is."""
    with pytest.raises(JsonSchemaError, match=reason):
        unfolded(registered({"properties": {"a": root}}, *references), 24)


def test_recursion_is_cut_and_said() -> None:
    """A type inside itself becomes columns down to ``decode.max_depth`` and JSON text below; the start log names the place (DEC-09)."""
    text = {"properties": {"n": {"$ref": "#/$defs/node"}}, "$defs": {"node": {"type": "object", "properties": {
        "v": {"type": "integer"}, "next": {"$ref": "#/$defs/node"}}}}}
    bench = CodecBench("json", options={"json.schema": json.dumps(text), "decode.max_depth": "3"})
    decoder = bench.decoder()

    assert decoder.notices == ("'n.next.next': deeper than 3 levels, kept as JSON text",)
    assert bench.decode([b'{"n":{"v":1,"next":{"v":2,"next":null}}}']).batch.to_pylist() == [{"n": {"v": 1, "next": {"v": 2, "next": None}}}]
    assert len(unfolded(registered(text), 1000).cuts) == 1
    wide = {"properties": {"n": {"$ref": "#/$defs/node"}}, "$defs": {"node": {"type": "object", "properties": {
        "l" * 150: {"$ref": "#/$defs/node"}, "m": {"type": "array", "items": {"$ref": "#/$defs/node"}}, "o": {"type": "object", "additionalProperties": {"$ref": "#/$defs/node"}}}}}}
    assert " and 6 more: deeper than 4 levels" in unfolded(registered(wide), 4).cuts[0]


def test_large_schemas_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A schema of too many parts ends with an error."""
    monkeypatch.setattr(documents, "_MAX_NODES", 50)
    with pytest.raises(JsonSchemaError, match="more than 50 parts"):
        columns({f"c{n}": {"type": "integer"} for n in range(50)})


@settings(deadline=None, max_examples=300)
@given(st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.sampled_from([
        "string", "integer", "number", "object", "array", "null", "#", "#/properties/a", "a", "date-time", "http://h/x"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([
        "type", "properties", "items", "$ref", "oneOf", "anyOf", "allOf", "enum", "const", "format", "minimum", "maximum", "multipleOf", "additionalProperties",
        "patternProperties", "$id", "$anchor", "$defs", "a", "title", "connect.parameters", "connect.type", "prefixItems"]), inner, max_size=4),
    max_leaves=25,
))  # fmt: skip
def test_any_json_is_columns_or_refused(spec: Any) -> None:  # noqa: ANN401 - any JSON
    """No schema, however odd, ends in anything but columns or the error that says why."""
    with contextlib.suppress(JsonSchemaError):
        assert unfolded(registered({"properties": {"a": spec, "b": {"$ref": "#/properties/a"}}}), 8).schema.names == ["a", "b"]
