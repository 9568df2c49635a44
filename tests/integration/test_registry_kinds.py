"""Whole pipelines over each kind of registry: framed JSON, Apicurio's own API, AWS Glue."""

from __future__ import annotations

import json
import uuid
import zlib
from typing import TYPE_CHECKING

import pytest

from thalweg.errors import ScriptErrors
from thalweg.testing.http_answers import HttpAnswers, Reply, Request
from thalweg.testing.registry import TestRegistry

if TYPE_CHECKING:
    from tests.integration.conftest import Lab

SQL = """
SET 'pipeline.name' = '{t}';
CREATE EXTERNAL TABLE orders STORED AS MEMORY LOCATION 'memory://{t}-orders'
OPTIONS (%s, 'bad_data' 'dlq', 'scan.bounded.mode' 'latest-offset');
COPY orders TO 'memory://{t}-out' STORED AS MEMORY;
COPY dlq.orders TO 'memory://{t}-dead' STORED AS MEMORY;
"""
AVRO = '{"type":"record","name":"Order","fields":[{"name":"id","type":"long"}]}'
ID = uuid.UUID(int=1 << 90 | 5)


def test_framed_json(lab: Lab) -> None:
    """Columns and records from one registry; an unknown id is a dead letter (REG-04, REG-09, REG-10, JSX-03)."""
    with TestRegistry("/apis/ccompat/v7") as registry:
        stored = registry.add("orders-value", {"properties": {"id": {"type": "integer"}, "price": {"type": "number", "multipleOf": 0.01}}}, kind="JSON")
        lab.fill(*(b"\0" + number.to_bytes(4, "big") + b'{"id":%d,"price":0.10}' % n for n, number in enumerate([stored.id, stored.id, 999])))
        lab.run(SQL % f"'format' 'json-confluent', 'json-confluent.url' '{registry.url}', 'json-confluent.subject' 'orders-value'")

    assert lab.column("out", "id") == [0, 1]
    assert [str(v) for v in lab.column("out", "price")] == ["0.10", "0.10"]
    assert lab.column("dead", "_twg_error_code") == ["decode.schema_unknown"]


def test_apicurio(lab: Lab) -> None:
    """The columns come from the artifact, the records name its content id (REG-04)."""

    def answer(request: Request) -> Reply:
        if "/ids/contentIds/7" in request.path:
            return Reply(200, [] if request.path.endswith("/references") else AVRO)
        if "/groups/shop/artifacts/orders-value/" in request.path:
            return Reply(200, {"contentId": 7, "globalId": 70, "artifactType": "AVRO"})
        return Reply(404, {"error_code": 404, "message": "none"})

    with HttpAnswers(answer) as server:
        lab.fill(b"\0\0\0\0\x07\x02", b"\0\0\0\0\x09\x02", b"\0\0\0\0\x07\x04")
        options = f"'apicurio.url' '{server.url}', 'apicurio.group' 'shop', 'apicurio.artifact' 'orders-value'"
        lab.run(SQL % f"'format' 'avro-apicurio', {options}")

    assert lab.column("out", "id") == [1, 2]
    assert lab.column("dead", "_twg_error_code") == ["decode.schema_unknown"]


def test_glue(lab: Lab) -> None:
    """Plain and compressed records; the secret is in no event of the run (REG-07, REG-11)."""

    def answer(request: Request) -> Reply:
        asked = json.loads(request.body)
        if asked.get("SchemaVersionId") == str(ID) or asked.get("SchemaId", {}).get("SchemaName") == "orders":
            return Reply(200, {"SchemaVersionId": str(ID), "DataFormat": "AVRO", "SchemaDefinition": AVRO, "Status": "AVAILABLE"})
        return Reply(400, {"__type": "EntityNotFoundException", "Message": "none"})

    with HttpAnswers(answer) as server:
        lab.fill(b"\x03\0" + ID.bytes + b"\x02", b"\x03\x05" + ID.bytes + zlib.compress(b"\x04"), b"\x03\0" + bytes(16) + b"\x02")
        keys = "'glue.region' 'eu-central-1', 'glue.access-key-id' 'AKIATEST', 'glue.secret-access-key' 'geheim'"
        lab.run(SQL % f"'format' 'avro-glue', 'glue.endpoint' '{server.url}', 'glue.schema' 'orders', {keys}")

    assert lab.column("out", "id") == [1, 2]
    assert lab.column("dead", "_twg_error_code") == ["decode.schema_unknown"]
    assert "geheim" not in repr(lab.seen.events)


@pytest.mark.parametrize(("options", "said"), [
    ("'format' 'avro-glue', 'glue.regoin' 'x'", "unknown option 'glue.regoin'"),
    ("'format' 'avro-apicurio'", "option 'apicurio.url' is missing"),
    ("'format' 'avro-apicurio', 'apicurio.url' 'http://h', 'apicurio.id-bytes' '5'", "expected 4 or 8"),
    ("'format' 'avro-glu', 'glue.region' 'x'", "unknown format 'avro-glu'"),
    ("'format' 'avro-apicurio', 'apicurio.url' 'nowhere'", "is no URL of a schema registry"),
])  # fmt: skip
def test_options_that_are_wrong(lab: Lab, options: str, said: str) -> None:
    """Each is an error with its place before anything is read."""
    with pytest.raises(ScriptErrors) as caught:
        lab.build(SQL % options)
    assert said in str(caught.value)


def test_tables_share_a_registry_only_when_they_ask_it_alike(lab: Lab) -> None:
    """Two numbers of one Apicurio are two questions: the same number means two schemas."""
    texts = {"contentIds": AVRO, "globalIds": AVRO.replace("long", "string")}

    def answer(request: Request) -> Reply:
        kind = next((k for k in texts if k in request.path), None)
        if kind is None:
            return Reply(200, {"contentId": 7, "globalId": 7, "artifactType": "AVRO"})
        return Reply(200, [] if "/references" in request.path else texts[kind])

    both = "".join(f"""
CREATE EXTERNAL TABLE {name} STORED AS MEMORY LOCATION 'memory://{{t}}-{name}' OPTIONS ('format' 'avro-apicurio', 'apicurio.url' '%s',
'apicurio.id' '{number}', 'apicurio.artifact' 'a', 'scan.bounded.mode' 'latest-offset');
COPY {name} TO 'memory://{{t}}-out{name}' STORED AS MEMORY;""" for name, number in (("one", "contentId"), ("two", "globalId")))
    with HttpAnswers(answer) as server:
        lab.fill(b"\0\0\0\0\x07\x02", topic="one")
        lab.fill(b"\0\0\0\0\x07\x02a", topic="two")
        lab.run(("SET 'pipeline.name' = '{t}';" + both) % (server.url, server.url))

    assert (lab.column("outone", "id"), lab.column("outtwo", "id")) == ([1], ["a"])
