"""Avro schema texts."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from thalweg.codecs.avro.schema import Logical, SchemaError, min_size, parse, parse_registered
from thalweg.ports.schemas import RegisteredSchema


def test_names_and_namespaces() -> None:
    """Names are completed by the namespace around them, and found with or without it."""
    root = parse(json.dumps({"type": "record", "name": "R", "namespace": "a.b", "fields": [
        {"name": "e", "type": {"type": "enum", "name": "E", "symbols": ["X"], "aliases": ["Old", "c.Other"]}},
        {"name": "again", "type": "E"}, {"name": "full", "type": "a.b.E"}, {"name": "deep", "type": {"type": {"type": "array", "items": {"type": "E"}}}},
        {"name": "other", "type": {"type": "fixed", "name": "z.F", "size": 1, "namespace": "ignored"}},
    ]}))  # fmt: skip
    e = root.fields[0].node

    assert (root.name, e.name, e.aliases) == ("a.b.R", "a.b.E", ("a.b.Old", "c.Other"))
    assert root.fields[1].node is root.fields[2].node is root.fields[3].node.item is e
    assert root.fields[4].node.name == "z.F"


def test_a_bare_name_is_a_schema() -> None:
    """``long`` with and without quotes (RG-08)."""
    assert parse('"long"').kind == parse("long").kind == "long"


@pytest.mark.parametrize(("spec", "logical"), [
    ({"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2}, Logical("decimal", 4, 2)),
    ({"type": "bytes", "logicalType": "decimal", "precision": 4}, Logical("decimal", 4, 0)),
    ({"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 6}, None), ({"type": "bytes", "logicalType": "decimal"}, None),
    ({"type": "bytes", "logicalType": "decimal", "precision": 0}, None), ({"type": "bytes", "logicalType": "decimal", "precision": True}, None),
    ({"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": -1}, None), ({"type": "bytes", "logicalType": "decimal", "precision": "4"}, None),
    ({"type": "string", "logicalType": "decimal", "precision": 4}, None),
    ({"type": "fixed", "name": "F", "size": 2, "logicalType": "decimal", "precision": 4}, Logical("decimal", 4, 0)),
    ({"type": "fixed", "name": "F", "size": 2, "logicalType": "decimal", "precision": 5}, None),
    ({"type": "fixed", "name": "F", "size": 0, "logicalType": "decimal", "precision": 1}, None),
    ({"type": "string", "logicalType": "uuid"}, Logical("uuid")), ({"type": "bytes", "logicalType": "uuid"}, None),
    ({"type": "fixed", "name": "F", "size": 15, "logicalType": "uuid"}, None), ({"type": "int", "logicalType": "timestamp-millis"}, None),
    ({"type": "long", "logicalType": "date"}, None), ({"type": "long", "logicalType": "time-millis"}, None), ({"type": "string", "logicalType": 7}, None),
    ({"type": "long", "logicalType": "timestamp-millis"}, Logical("timestamp", unit="ms", zoned=True)),
    ({"type": "long", "logicalType": "local-timestamp-nanos"}, Logical("timestamp", unit="ns")), ({"type": "string", "logicalType": "foo"}, None),
    ({"type": "long", "logicalType": "timestamp-hours"}, None), ({"type": "bytes", "logicalType": "big-decimal"}, None),
])  # fmt: skip
def test_logical_types(spec: dict[str, Any], logical: Logical | None) -> None:
    """Those that fit are understood; unknown and invalid ones are the type underneath (AV-11)."""
    assert parse(json.dumps(spec)).logical == logical


@pytest.mark.parametrize(("text", "reason"), [
    ("{", "no JSON"), ('"nope"', "unknown type 'nope'"), ("{}", "expected a type"), ("5", "expected a type"), ('{"type":"nope"}', "unknown type"),
    ('{"type":"array"}', "needs 'items'"), ('{"type":"map"}', "needs 'values'"), ("[]", "no valid union"), ('["int","int"]', "no valid union"),
    ('["int",["null"]]', "no valid union"), ('{"type":"record","fields":[]}', "record needs 'name'"), ('{"type":"record","name":"R"}', "needs 'fields'"),
    ('{"type":"record","name":"R","fields":[{"name":"a"}]}', "needs 'type'"), ('{"type":"record","name":"R","fields":[5]}', "expected a field"),
    ('{"type":"record","name":"R","fields":[{"name":"a","type":"int"},{"name":"a","type":"int"}]}', "two fields of one name"),
    ('{"type":"enum","name":"E","symbols":["A","A"]}', "symbols are repeated"), ('{"type":"enum","name":"E","symbols":["A"],"default":"B"}', "do not hold the default"),
    ('{"type":"enum","name":"E","symbols":"A"}', "expected a list of names"), ('{"type":"fixed","name":"F"}', "needs a 'size'"),
    ('{"type":"fixed","name":"F","size":-1}', "needs a 'size'"), ('[{"type":"fixed","name":"F","size":1},{"type":"fixed","name":"F","size":1}]', "defined twice"),
    ('{"type":"array","items":' * 300 + '"int"' + "}" * 300, "nests deeper than 200"), ('{"type":' * 5000 + '"int"' + "}" * 5000, "nests deeper|no JSON"),
])  # fmt: skip
def test_texts_that_are_no_schema(text: str, reason: str) -> None:
    """The reason is said; nothing overflows."""
    with pytest.raises(SchemaError, match=reason):
        parse(text)


@pytest.mark.parametrize("spec", [
    {"type": "record", "name": "X", "fields": [{"name": "x", "type": "X"}]},
    {"type": "record", "name": "X", "fields": [{"name": "x", "type": {"type": "record", "name": "Y", "fields": [{"name": "y", "type": ["X", "Y"]}]}}]},
])  # fmt: skip
def test_recursion_that_never_ends(spec: dict[str, Any]) -> None:
    """A record that no finite datum fits is refused in milliseconds (AV-22)."""
    begin = time.monotonic()
    with pytest.raises(SchemaError, match="record 'X' contains itself without end through field 'x'"):
        parse(json.dumps(spec))

    assert time.monotonic() - begin < 0.5


def registered(schema_id: int, spec: object, *references: tuple[str, RegisteredSchema]) -> RegisteredSchema:
    """A schema as a registry would give it."""
    return RegisteredSchema(schema_id, "AVRO", json.dumps(spec), references)


def named(name: str, *types: object) -> dict[str, Any]:
    """A record whose fields have these types."""
    return {"type": "record", "name": name, "fields": [{"name": f"f{i}", "type": t} for i, t in enumerate(types)]}


def test_references_in_a_diamond() -> None:
    """A type that two references share is defined once (RG-07)."""
    address = registered(1, named("Address", "string"))
    order, invoice = (registered(i, named(n, "Address"), ("Address", address)) for i, n in ((2, "Order"), (3, "Invoice")))
    root = parse_registered(registered(4, named("Root", "Order", "Invoice"), ("Order", order), ("Invoice", invoice)))

    assert root.fields[0].node.fields[0].node is root.fields[1].node.fields[0].node


def test_references_that_disagree() -> None:
    """Two versions of one type are an error that names both (RG-07)."""
    order = registered(2, named("Order", "Address"), ("Address", registered(1, named("Address", "string"))))
    invoice = registered(3, named("Invoice", "Address"), ("Address", registered(9, named("Address", "int"))))
    with pytest.raises(SchemaError, match="reference 'Address' means schema 1 in one place and schema 9 in another"):
        parse_registered(registered(4, named("Root", "Order", "Invoice"), ("Order", order), ("Invoice", invoice)))


def test_one_type_under_two_references() -> None:
    """The same text under two names is read once; two versions of a type under two names are an error that names both (RG-07)."""
    order = registered(2, named("Order", "Address"), ("Address", registered(1, named("Address", "string"))))

    def invoice(schema_id: int, item: str) -> RegisteredSchema:
        return registered(3, named("Invoice", "Address"), ("address.avsc", registered(schema_id, named("Address", item))))

    def root(second: RegisteredSchema) -> RegisteredSchema:
        return registered(4, named("Root", "Order", "Invoice"), ("Order", order), ("Invoice", second))

    assert [f.node.name for f in parse_registered(root(invoice(1, "string"))).fields] == ["Order", "Invoice"]
    with pytest.raises(SchemaError, match="type 'Address' is defined by schema 1 and again by schema 9"):
        parse_registered(root(invoice(9, "int")))
    with pytest.raises(SchemaError, match="type 'Order' is defined by schema 2 and again by schema 5"):
        parse_registered(registered(5, named("Order", "int"), ("Order", order)))
    with pytest.raises(SchemaError, match="type 'Twice' is defined twice"):
        parse_registered(registered(6, named("Root", named("Twice"), named("Twice"))))


def test_fewest_bytes() -> None:
    """What bounds the counts that a block may claim."""
    spec = named("R", "null", "int", "float", ["null", "double"], {"type": "fixed", "name": "F", "size": 3}, {"type": "array", "items": "R"})

    assert min_size(parse(json.dumps(spec))) == 0 + 1 + 4 + 1 + 3 + 1
