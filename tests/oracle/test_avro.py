"""The Avro decoder against fastavro, over generated schemas and values; where fastavro is known to be wrong it is not asked."""

from __future__ import annotations

import datetime as dt
import io
import json
from decimal import Decimal
from typing import Any

import avro.io
import avro.schema
import fastavro
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from thalweg.ports.schemas import RegisteredSchema, SchemaRegistry
from thalweg.testing.codecs import CodecBench, mutated

INTS = {"int": (-(2**31), 2**31 - 1), "long": (-(2**63), 2**63 - 1)}
SCALARS: dict[str, st.SearchStrategy[Any]] = {
    "null": st.none(), "boolean": st.booleans(), "int": st.integers(*INTS["int"]), "long": st.integers(*INTS["long"]),
    "float": st.floats(width=32, allow_nan=False), "double": st.floats(allow_nan=False), "bytes": st.binary(max_size=20), "string": st.text(max_size=20),
}  # fmt: skip


@st.composite
def schemas(draw: st.DrawFn, depth: int = 3, names: list[int] | None = None) -> Any:  # noqa: ANN401 - any Avro schema
    """An Avro schema without logical types; named types are numbered."""
    names = names if names is not None else [0]
    kinds = ["scalar", "enum", "fixed"] + (["record", "array", "map", "nullable"] if depth else [])
    kind = draw(st.sampled_from(kinds))
    names[0] += 1
    name = f"N{names[0]}"
    inner = schemas(depth - 1, names) if depth else st.nothing()
    made: dict[str, st.SearchStrategy[Any]] = {
        "scalar": st.sampled_from(sorted(SCALARS)),
        "enum": st.just({"type": "enum", "name": name, "symbols": ["A", "B", "C"]}),
        "fixed": st.builds(lambda size: {"type": "fixed", "name": name, "size": size}, st.integers(1, 5)),
        "record": st.lists(inner, min_size=1, max_size=4).map(lambda found: record(name, found)),
        "array": inner.filter(lambda s: s != "null").map(lambda s: {"type": "array", "items": s}),
        "map": inner.map(lambda s: {"type": "map", "values": s}),
        "nullable": inner.filter(lambda s: s != "null" and not isinstance(s, list)).flatmap(lambda s: st.permutations(["null", s])),
    }
    return draw(made[kind])


def record(name: str, kinds: list[Any]) -> dict[str, Any]:
    """A record with a field of each type."""
    return {"type": "record", "name": name, "fields": [{"name": f"f{i}", "type": k} for i, k in enumerate(kinds)]}


def values(schema: Any) -> st.SearchStrategy[Any]:  # noqa: ANN401 - any Avro schema
    """Values of a schema, as fastavro takes them."""
    if isinstance(schema, list):
        return st.none() | values(next(s for s in schema if s != "null"))
    if isinstance(schema, str):
        return SCALARS[schema]
    made = {
        "record": lambda: st.fixed_dictionaries({f["name"]: values(f["type"]) for f in schema["fields"]}),
        "array": lambda: st.lists(values(schema["items"]), max_size=4),
        "map": lambda: st.dictionaries(st.text(max_size=5), values(schema["values"]), max_size=4),
        "enum": lambda: st.sampled_from(schema["symbols"]),
        "fixed": lambda: st.binary(min_size=schema["size"], max_size=schema["size"]),
    }
    return made[schema["type"]]()


def as_fastavro(value: Any, schema: Any) -> Any:  # noqa: ANN401 - any value
    """A row's value with its maps as dicts."""
    if value is None:
        return None
    if isinstance(schema, list):
        return as_fastavro(value, next(s for s in schema if s != "null"))
    if isinstance(schema, dict) and schema["type"] == "map":
        return {k: as_fastavro(v, schema["values"]) for k, v in value}
    if isinstance(schema, dict) and schema["type"] == "array":
        return [as_fastavro(v, schema["items"]) for v in value]
    if isinstance(schema, dict) and schema["type"] == "record":
        return {f["name"]: as_fastavro(value[f["name"]], f["type"]) for f in schema["fields"]}
    return value


def written(schema: Any, value: Any) -> bytes:  # noqa: ANN401 - any value
    """A value as fastavro writes it."""
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), value)
    return out.getvalue()


def read(schema: Any, payload: bytes) -> Any:  # noqa: ANN401 - any value
    """What fastavro makes of a payload; None where it refuses it or leaves bytes over."""
    source = io.BytesIO(payload)
    try:
        found = fastavro.schemaless_reader(source, fastavro.parse_schema(schema), None)
    except (EOFError, ValueError, IndexError, KeyError, OverflowError, TypeError):
        return None
    return found if source.tell() == len(payload) else None


roots = st.lists(schemas(), min_size=1, max_size=4).map(lambda kinds: record("Root", kinds))


@settings(max_examples=60)
@given(st.data())
def test_reads_what_fastavro_writes(data: st.DataObject) -> None:
    """Every value of every schema comes back (AVR-01, AVR-09)."""
    schema = data.draw(roots)
    rows = data.draw(st.lists(values(schema), min_size=1, max_size=4))
    out = CodecBench("avro", options={"avro.schema": json.dumps(renamed(schema))}).decode([written(renamed(schema), r) for r in rows])

    assert out.bad.messages == []
    assert [as_fastavro(r, schema) for r in out.batch.to_pylist()] == rows


def renamed(schema: Any, seen: set[str] | None = None, path: str = "R") -> Any:  # noqa: ANN401 - any Avro schema
    """The schema with names that are all different."""
    seen = seen if seen is not None else set()
    if isinstance(schema, list):
        return [renamed(s, seen, f"{path}u") for s in schema]
    if isinstance(schema, str):
        return schema
    out = dict(schema)
    if "name" in out:
        while path in seen:
            path += "x"
        seen.add(path)
        out["name"] = path
    for key in ("items", "values"):
        if key in out:
            out[key] = renamed(out[key], seen, path + key[0])
    if "fields" in out:
        out["fields"] = [{**f, "type": renamed(f["type"], seen, f"{path}{f['name']}")} for f in out["fields"]]
    return out


@settings(max_examples=40)
@given(st.data())
def test_writes_what_fastavro_reads(data: st.DataObject) -> None:
    """The row encoder's data is read by fastavro as the same values (JSX-02)."""
    schema = renamed(data.draw(roots))
    row = data.draw(values(schema))
    bench = CodecBench("avro", options={"avro.schema": json.dumps(schema)}, rows=[row])

    assert read(schema, bench.encoded()[0]) == row


@settings(max_examples=60)
@given(st.data())
def test_damaged_data(data: st.DataObject) -> None:
    """What the decoder accepts of damaged data, fastavro reads as the same values; nothing raises, whatever fastavro does."""
    schema = renamed(data.draw(roots.filter(lambda s: '"null"' not in json.dumps(s))))
    rows = data.draw(st.lists(values(schema), min_size=1, max_size=3))
    payloads = list(mutated([written(schema, r) for r in rows], data.draw(st.integers(0, 2**32)), 30))
    out = CodecBench("avro", options={"avro.schema": json.dumps(schema)}).decode(payloads)

    for row, found in zip(out.rows.to_pylist(), out.batch.to_pylist(), strict=True):
        theirs = read(schema, payloads[row])
        assert theirs is None or repr(theirs) == repr(as_fastavro(found, schema))


@settings(max_examples=40)
@given(st.data())
def test_resolution(data: st.DataObject) -> None:
    """A writer's record read by a reader with fields left out, moved, promoted and added gives what fastavro gives (AVR-01)."""
    writer = renamed(data.draw(roots))
    kept = data.draw(st.permutations(writer["fields"]))[: data.draw(st.integers(0, len(writer["fields"])))]
    wider = {"int": ["int", "long", "double"], "float": ["float", "double"]}
    fields = [{**f, "type": data.draw(st.sampled_from(wider.get(f["type"], [f["type"]]))) if isinstance(f["type"], str) else f["type"]} for f in kept]
    added = [{"name": "extra", "type": ["null", "long"], "default": None}, {"name": "more", "type": "string", "default": "é"}]
    reader = {**writer, "fields": [*fields, *added]}
    row = data.draw(values(writer))
    payload = written(writer, row)
    theirs = fastavro.schemaless_reader(io.BytesIO(payload), fastavro.parse_schema(writer), fastavro.parse_schema(reader))
    ours = resolved(writer, reader, payload)

    assert as_fastavro(ours, reader) == theirs


class Known(SchemaRegistry):
    """A registry with one schema under every id."""

    def __init__(self, schema: object) -> None:
        """Of this text."""
        self.text = json.dumps(schema)

    def by_id(self, schema_id: int | str) -> RegisteredSchema:
        """The one."""
        return RegisteredSchema(schema_id, "AVRO", self.text)

    def latest(self, subject: str) -> RegisteredSchema:
        """The one."""
        return self.by_id(subject)

    def register(self, subject: str, schema: RegisteredSchema) -> int:
        """Nothing is registered here."""
        raise AssertionError(subject, schema)

    def close(self) -> None:
        """Nothing is open."""


def resolved(writer: Any, reader: Any, payload: bytes) -> Any:  # noqa: ANN401 - any value
    """A payload of one schema in a table of another."""
    options = {"avro-confluent.url": "http://h", "avro-confluent.schema": json.dumps(reader)}
    out = CodecBench("avro-confluent", options=options, registry=Known(writer)).decode([b"\0\0\0\0\1" + payload])
    assert out.bad.messages == []
    return out.batch.to_pylist()[0]


def test_a_second_opinion() -> None:
    """Apache's own implementation writes logical types and resolves defaults; the rows are what it was given (AVR-04)."""
    schema = record("Root", [
        {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}, {"type": "int", "logicalType": "date"},
        {"type": "long", "logicalType": "timestamp-micros"}, {"type": "array", "items": "long"}, ["null", {"type": "map", "values": "string"}],
    ])  # fmt: skip
    row = {"f0": Decimal("-12.34"), "f1": dt.date(1969, 1, 1), "f2": dt.datetime(2024, 1, 1, 1, 2, 3, 4, dt.UTC), "f3": [-(2**63), 2**63 - 1], "f4": {"k": "ü"}}
    out = io.BytesIO()
    avro.io.DatumWriter(avro.schema.parse(json.dumps(schema))).write(row, avro.io.BinaryEncoder(out))
    found = CodecBench("avro", options={"avro.schema": json.dumps(schema)}).decode([out.getvalue()])

    assert [as_fastavro(r, schema) for r in found.batch.to_pylist()] == [row]


def test_what_the_oracle_gets_wrong() -> None:
    """Where fastavro rounds, overflows or leaves values raw, the decoder does not follow it (AV-10, AV-13, AV-20)."""
    long = {"type": "long", "logicalType": "timestamp-millis"}
    out = CodecBench("avro", options={"avro.schema": json.dumps(long)}).decode([written("long", 253402300800000)])

    assert out.batch.column(0).cast(pa.int64()).to_pylist() == [253402300800000]
