"""Protobuf from a real Kafka broker with its schemas in a real Apicurio Registry, references included."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

import httpx
import pytest

from tests.integration.conftest import Lab
from tests.integration.test_protobuf import ADDRESS, BROKEN, FIRST, PAYLOADS, ROWS, SECOND, framed, shown, written
from tests.service.kafka_topics import new_topic, send

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

pytestmark = pytest.mark.service

SQL = """
SET 'pipeline.name' = '{t}-%s';
CREATE EXTERNAL TABLE orders STORED AS KAFKA LOCATION 'kafka://%s/%s'
OPTIONS ('format' 'protobuf-confluent', 'protobuf-confluent.url' '%s', 'protobuf.message' 'Order', 'bad_data' 'dlq',
         'scan.startup.mode' 'earliest-offset', 'scan.bounded.mode' 'latest-offset');
COPY orders TO 'memory://{t}-out' STORED AS MEMORY;
COPY dlq.orders TO 'memory://{t}-dead' STORED AS MEMORY;
"""


def register(url: str, subject: str, text: str, references: Sequence[dict[str, object]] = ()) -> int:
    """The id of a schema under a subject."""
    body = {"schema": text, "schemaType": "PROTOBUF", "references": list(references)}
    made = httpx.post(f"{url}/subjects/{subject}/versions", json=body, trust_env=False)
    made.raise_for_status()
    return int(made.json()["id"])


def test_two_writers_and_bad_records(kafka: str, apicurio: str, tmp_path: Path) -> None:
    """Rows by the newest schema of the topic's subject, bad records with their bytes, the same by kernel and exact path (PRO-08, REG-04, RG-06, RG-07)."""
    topic, part = new_topic(kafka), f"address-{uuid.uuid4().hex[:8]}"
    register(apicurio, part, ADDRESS)
    refers = [{"name": "shop/address.proto", "subject": part, "version": 1}]
    one, two = (register(apicurio, f"{topic}-value", text, refers) for text in (FIRST, SECOND))
    good = [*(framed(one, written(values)) for values in PAYLOADS), framed(two, written({"id": "5", "note": "n"}, SECOND))]
    bad = [framed(one, BROKEN[0]), framed(987_654_321, b""), framed(two, b"\x08\x01", b"\0"), b"{}"]
    send(kafka, topic, [payload for pair in zip(good, bad, strict=False) for payload in pair] + good[4:])
    found = []
    for compiled in (False, True):
        lab = Lab(tmp_path)
        (lab.run_compiled if compiled else lab.run)(SQL % (uuid.uuid4().hex, kafka, topic, apicurio))
        found.append(shown(lab))
    rows, dead = found[0]

    assert found[1] == found[0]
    assert rows == [*({**row, "note": None} for row in ROWS), {**ROWS[2], "id": 5, "note": "n"}]
    assert [letter[:2] for letter in dead] == list(zip(bad, ["decode.malformed", "decode.schema_unknown", "decode.type", "decode.framing"], strict=True))
