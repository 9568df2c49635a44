"""A schema registry that is away: at the start, in the middle, and for an id that it does not know."""

from __future__ import annotations

import io
import time
from typing import TYPE_CHECKING, Any

import fastavro
import pytest

from tests.integration.conftest import until
from thalweg.errors import ThalwegError
from thalweg.model.events import BadRecords, DecodeCounts, Notice, PipelineStopped
from thalweg.testing.registry import TestRegistry

if TYPE_CHECKING:
    from tests.integration.conftest import Lab

FIRST = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}, {"name": "country", "type": "string"}]}
SECOND = {**FIRST, "fields": [*FIRST["fields"], {"name": "note", "type": ["null", "string"], "default": None}]}  # type: ignore[dict-item]
SQL = """
SET 'pipeline.name' = '{t}';
CREATE EXTERNAL TABLE orders (id BIGINT, country STRING) STORED AS MEMORY LOCATION 'memory://{t}-orders'
OPTIONS ('format' 'avro-confluent', 'avro-confluent.url' '%s', 'avro-confluent.subject' 'orders-value', 'bad_data' 'dlq',
         'scan.bounded.mode' '%s');
COPY orders TO 'memory://{t}-out' STORED AS MEMORY;
COPY dlq.orders TO 'memory://{t}-dead' STORED AS MEMORY;
"""


def framed(schema: dict[str, Any], schema_id: int, **value: object) -> bytes:
    """Magic byte, id, datum."""
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), value)
    return b"\x00" + schema_id.to_bytes(4, "big") + out.getvalue()


def registered(registry: TestRegistry, schema: dict[str, Any]) -> int:
    """The id under the subject ``orders-value``."""
    return registry.add("orders-value", schema).id


def test_writer_schemas_may_differ_record_by_record(lab: Lab) -> None:
    """Each record names its own; the table's columns are the reader's (RG-06)."""
    with TestRegistry() as registry:
        one, two = registered(registry, FIRST), registered(registry, SECOND)
        lab.fill(*(framed(SECOND, two, id=n, country="de", note="x") if n % 2 else framed(FIRST, one, id=n, country="fr") for n in range(10)))
        lab.run(SQL % (registry.url, "latest-offset"))

    assert lab.column("out", "id") == list(range(10))
    assert lab.column("out", "country") == ["fr", "de"] * 5


def test_an_unknown_id_is_a_dead_letter(lab: Lab) -> None:
    """A few questions for ten thousand records, the rest comes from the negative cache (RG-05)."""
    with TestRegistry() as registry:
        one = registered(registry, FIRST)
        lab.fill(*(framed(FIRST, 999, id=n, country="de") for n in range(300)), framed(FIRST, one, id=1, country="de"))
        lab.run(SQL % (registry.url, "latest-offset"), budget__rows="20")
        asked = sum(n for path, n in registry.calls.items() if "999" in path)

    assert lab.column("out", "id") == [1]
    assert set(lab.column("dead", "_twg_error_code")) == {"decode.schema_unknown"}
    assert sum(sum(e.codes.values()) for e in lab.seen.of(BadRecords)) == 300
    assert asked <= 5


def test_a_registry_that_is_away_at_the_start_is_an_error(lab: Lab) -> None:
    """Clear, with its address, before anything is read."""
    lab.fill(framed(FIRST, 1, id=1, country="de"))
    with TestRegistry() as registry:
        url = registry.url

    with pytest.raises(ThalwegError, match=r"127\.0\.0\.1"):
        lab.run(SQL.replace(" (id BIGINT, country STRING)", "") % (url, "latest-offset"))
    assert lab.rows("out") == []


def test_a_registry_that_goes_away_stops_the_flow_and_loses_nothing(lab: Lab) -> None:
    """No record is bad because of it; when it is back the flow goes on (RG-05)."""
    with TestRegistry() as registry:
        one, two = registered(registry, FIRST), registered(registry, SECOND)
        lab.start(SQL % (registry.url, "unbounded"))
        lab.fill(framed(FIRST, one, id=1, country="de"))
        until(lambda: lab.column("out", "id") == [1])
        registry.fail(*[503] * 1_000)
        lab.fill(framed(SECOND, two, id=2, country="de", note=None), framed(FIRST, one, id=3, country="de"))
        until(lambda: any(e.code == "registry.unavailable" for e in lab.seen.of(Notice)), seconds=60)
        time.sleep(0.3)
        assert lab.column("out", "id") == [1]
        registry.mend()
        until(lambda: lab.column("out", "id") == [1, 2, 3], seconds=60)
        lab.stop()

    assert lab.rows("dead") == []


def test_a_bounded_run_waits_for_the_registry_as_long_as_it_takes(lab: Lab) -> None:
    """``drain.deadline`` is for stops: a run that has read everything is not being stopped (RG-05)."""
    with TestRegistry() as registry:
        one, two = registered(registry, FIRST), registered(registry, SECOND)
        lab.fill(framed(FIRST, one, id=1, country="de"), framed(SECOND, two, id=2, country="de", note=None))
        registry.fail(*[503] * 1_000, path=f"/schemas/ids/{two}")
        lab.start(SQL % (registry.url, "latest-offset"), drain__deadline="100 ms", budget__rows="1")
        until(lambda: any(e.code == "registry.unavailable" for e in lab.seen.of(Notice)), seconds=60)
        time.sleep(0.5)
        assert lab.thread is not None
        assert lab.thread.is_alive()
        registry.mend()
        lab.thread.join(30)

    assert lab.error is None
    assert lab.column("out", "id") == [1, 2]


def test_a_stop_while_the_registry_is_away_is_a_stop(lab: Lab) -> None:
    """It drains what is decoded, fails at nothing, and says which records wait: the next run reads them again, once (RG-05)."""
    with TestRegistry() as registry:
        one, two = registered(registry, FIRST), registered(registry, SECOND)
        lab.start(SQL % (registry.url, "unbounded"), budget__rows="1")
        lab.fill(framed(FIRST, one, id=1, country="de"))
        until(lambda: lab.column("out", "id") == [1])
        registry.fail(*[503] * 1_000)
        lab.fill(framed(SECOND, two, id=2, country="de", note=None), framed(FIRST, one, id=3, country="de"))
        until(lambda: any(e.code == "registry.unavailable" for e in lab.seen.of(Notice)), seconds=60)
        began = time.monotonic()
        lab.stop()
        took = time.monotonic() - began
        told = [e.message for e in lab.seen.of(Notice) if e.code == "registry.stopped"]
        assert took < 8
        assert lab.seen.of(PipelineStopped)[-1].reason == "stopped"
        assert len(told) == 1
        assert "orders[0] 1 to 2; the next start reads them again" in told[0]
        assert lab.column("out", "id") == [1]

        registry.mend()
        lab.start(SQL % (registry.url, "unbounded"))
        until(lambda: len(lab.column("out", "id")) >= 3, seconds=60)
        lab.stop()

    assert lab.column("out", "id") == [1, 2, 3]
    assert lab.rows("dead") == []


@pytest.mark.parametrize("compiled", [False, True])
def test_what_lies_too_deep_is_said_before_and_counted_after(lab: Lab, compiled: bool) -> None:  # noqa: FBT001 - a parameter
    """A recursive schema is cut at ``decode.max_depth``: a warning at the start, the cut values as JSON text, a count by type (DEC-09, DEC-10, DEC-11)."""
    node = {"type": "record", "name": "Node", "fields": [{"name": "v", "type": "long"}, {"name": "next", "type": ["null", "Node"], "default": None}]}
    value: dict[str, Any] = {"v": 0, "next": None}
    for n in range(1, 6):
        value = {"v": n, "next": value}
    with TestRegistry() as registry:
        number = registered(registry, node)
        lab.fill(framed(node, number, **value))
        (lab.run_compiled if compiled else lab.run)(SQL.replace(" (id BIGINT, country STRING)", "").replace("'bad_data'", "'decode.max_depth' '3', 'bad_data'") % (registry.url, "latest-offset"))
    codes = [e.code for e in lab.seen.of(Notice)]

    assert lab.column("out", "v") == [5]
    assert "Node" in next(e.message for e in lab.seen.of(Notice) if e.code == "decode.depth")
    assert codes.count("decode.depth_cut") == 1
    assert [e.counts for e in lab.seen.of(DecodeCounts)] == [{"cut Node": 1}]
