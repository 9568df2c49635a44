"""Streaming tables: options, formats, columns and where schemas lie."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from tests.unit.plan.conftest import ORDERS
from thalweg.errors import ScriptErrors

if TYPE_CHECKING:
    from pathlib import Path

    from tests.unit.plan.conftest import Complaints, Planner

COPY = "\nCOPY t TO './out/' STORED AS PARQUET;"


def table(columns: str = "(a INT)", options: str = "'format' 'json'", location: str = "kafka://h:9092/orders", more: str = "") -> str:
    """A script with one table and one COPY."""
    return f"CREATE EXTERNAL TABLE t {columns}\nSTORED AS KAFKA LOCATION '{location}' {more}\nOPTIONS ({options});{COPY}"


def test_a_table_is_bound_with_all_it_says(plan: Planner) -> None:
    """Options of the table, the transport and the format each reach their owner; NOT NULL and metadata columns are kept (CRD-03)."""
    (source,) = plan(
        table(
            "(a INT NOT NULL, at TIMESTAMP_LTZ(3) METADATA FROM 'timestamp', place BIGINT METADATA FROM 'offset')",
            "'format' 'json', 'tombstones' 'null_row', 'bad_data' 'drop', 'cluster.alias' 'blue', 'properties.group.id' 'g', 'decode.max_depth' '3'",
        )
    ).sources

    assert source.schema == pa.schema([("a", pa.int32()), ("at", pa.timestamp("ms", "UTC")), ("place", pa.int64())])
    assert (source.not_null, source.bad_data, source.tombstones, source.cluster_alias) == (("a",), "drop", "null_row", "blue")
    assert [(c.name, c.key) for c in source.metadata] == [("at", "source_timestamp"), ("place", "source_offset")]
    assert source.options.properties == {"group.id": "g"}
    assert (source.value.request.topic, source.value.request.options.max_depth, source.value.registry) == ("orders", 3, None)


def test_key_columns_come_first(plan: Planner) -> None:
    """``key.fields`` says which declared columns are in the key; their columns stand before the payload's."""
    (source,) = plan(table("(a INT, id STRING)", "'format' 'json', 'key.format' 'raw', 'key.fields' 'id'")).sources

    assert source.schema is not None
    assert source.schema.names == ["id", "a"]
    assert source.key is not None
    assert source.key.request.is_key
    assert source.key.request.declared == pa.schema([("id", pa.string())])


@pytest.mark.parametrize("format_", ["avro-glue", "protobuf-apicurio", "json-glue", "json-apicurio"])
def test_the_depth_setting_reaches_enveloped_formats(plan: Planner, format_: str) -> None:
    """As their inner formats: JSON's depth is a bound on documents, which the setting is not about."""
    options = f"'format' '{format_}', 'apicurio.url' 'http://h'"
    inner, own = (
        plan("SET 'decode.max_depth' = '3';\n" + table("", options + more)).sources[0].value.request.options.max_depth for more in ("", ", 'decode.max_depth' '5'")
    )

    assert (inner, own) == (None if "json" in format_ else 3, 5)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("'properties.acks' 'all'", "3:1 table t has no 'format'"),
        ("'format' 'jsn'", "3:19 unknown format 'jsn' (did you mean 'json'?)"),
        ("'format' 'json', 'value.format' 'raw'", "'format' and 'value.format' are two names of one option"),
        ("'format' 'json', 'badd_data' 'drop'", "3:27 unknown option 'badd_data' (did you mean 'bad_data'?)"),
        ("'format' 'json', 'bad_data' 'skip'", "3:38 option 'bad_data': expected one of fail, drop, dlq, found 'skip'"),
        ("'format' 'json', 'decode.max_depht' '3'", "unknown option 'decode.max_depht' (did you mean 'decode.max_depth'?)"),
        ("'format' 'json', 'scan.startup.mode' 'earliest'", "did you mean 'earliest-offset'"),
        ("'format' 'json', 'topic' 'x'", "exactly one of LOCATION, 'topic'"),
        ("'format' 'json', 'properties.enable.auto.commit' 'true'", "cannot be changed"),
        ("'format' 'json', 'key.format' 'raw'", "'key.format' beside a column list needs 'key.fields'"),
        ("'format' 'json', 'key.fields' 'a'", "'key.fields' needs 'key.format'"),
        ("'format' 'json', 'key.format' 'raw', 'key.fields' 'b'", "'key.fields': no declared column b"),
        ("'format' 'raw'", "format 'raw' gives BYTES or STRING"),
    ],
)
def test_wrong_options_are_refused_where_they_stand(complaints: Complaints, options: str, said: str) -> None:
    """Unknown keys of table, transport and format are told apart from values that do not fit, with the nearest key (CFG-03)."""
    found = complaints(table(options=options))

    assert len(found) == 1
    assert said.replace("3:1 ", "1:23 ") in found[0]


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ("(a INT, a STRING)", "column a is given twice"),
        ("(a BIGNIT)", "1:28 unknown type BIGNIT (did you mean BIGINT?)"),
        ("(_twg_note STRING, b INT)", "1:26 column _twg_note is under the metadata prefix '_twg_'"),
        ("(a INT, _twg_source_offset BIGINT METADATA FROM 'offset')", "under the metadata prefix"),
        ("(a INT, o BIGINT METADATA FROM 'ofset')", "unknown metadata key 'ofset' (did you mean 'offset'?)"),
        ("(a INT, o INT METADATA FROM 'offset')", "o: metadata 'offset' cannot be INT: larger numbers would not fit (declare BIGINT)"),
        ("(a INT, o TIMESTAMP(0) METADATA FROM 'timestamp')", "the ms would be cut off"),
        ("(a INT, o TIMESTAMP_LTZ(9) METADATA FROM 'timestamp')", "nanoseconds end in the year 2262"),
        ("(a INT, o STRING METADATA FROM 'key')", "bytes need not be text"),
        ("(a INT, o MAP<STRING, BYTES> METADATA FROM 'headers')", "headers repeat keys"),
        ("(a INT, o BOOLEAN METADATA FROM 'partition')", "the types do not match"),
        ("(o BIGINT METADATA FROM 'offset')", "schema"),
    ],
)
def test_wrong_columns_are_refused_where_they_stand(complaints: Complaints, columns: str, said: str) -> None:
    """A payload column under the prefix is refused by name (MET-30), a metadata column that would lose something too (DAG-17)."""
    found = complaints(table(columns))

    assert len(found) == 1
    assert said in found[0]


@pytest.mark.parametrize(
    ("declared", "key"),
    [
        ("TIMESTAMP(3)", "timestamp"), ("TIMESTAMP", "timestamp"), ("TIMESTAMP_LTZ", "timestamp"), ("TIMESTAMP_LTZ(3)", "event_time"),
        ("BIGINT", "partition"), ("BYTES", "record_id"), ("UUID", "record_id"), ("BYTES", "key"), ("STRING", "topic"),
        ("ARRAY<ROW<key STRING, value BYTES>>", "headers"), ("INT", "producer_epoch"),
    ],
)  # fmt: skip
def test_metadata_columns_may_be_wider(plan: Planner, declared: str, key: str) -> None:
    """A metadata column may be declared with any type that holds every value of it (MET-02)."""
    (source,) = plan(table(f"(a INT, m {declared} METADATA FROM '{key}')")).sources

    assert [c.name for c in source.metadata] == ["m"]


def test_a_wall_clock_for_a_point_in_time_is_said(plan: Planner) -> None:
    """TIMESTAMP for a UTC time keeps the UTC wall clock and says so; so do lengths and folded capitals (GEN-17)."""
    notes = plan(table("(userId INT, s VARCHAR(5), at TIMESTAMP METADATA FROM 'timestamp')")).rewrites

    assert [note.split(": ")[0] for note in notes] == ["t.userid", "t.s", "t.at"]
    assert 'write "userId"' in notes[0]


def test_partitions_are_for_files(complaints: Complaints) -> None:
    """PARTITIONED BY on a stream is refused."""
    assert any("PARTITIONED BY is for files" in line for line in complaints(table(more="PARTITIONED BY (a)")))


def test_a_registry_is_not_asked_without_connect(plan: Planner, asked: list[str]) -> None:
    """What lies in a registry stays unresolved, with everything that hangs on it, and nobody is asked (CL-02)."""
    text = (
        "CREATE EXTERNAL TABLE t STORED AS KAFKA LOCATION 'kafka://h:9092/orders'\nOPTIONS ('format' 'avro-confluent', "
        "'avro-confluent.url' 'http://registry:1', 'avro-confluent.basic-auth.user-info' 'u:p');\n"
        f"CREATE VIEW v AS SELECT anything FROM t;{COPY}\nCOPY v TO './v/' STORED AS PARQUET;"
    )

    offline, online = plan(text), plan(text.replace("anything", "order_id"), connect=True)

    assert [offline.sources[0].schema, offline.nodes[0].schema, *(lane.schema for lane in offline.lanes)] == [None] * 4
    assert online.sources[0].schema is not None
    assert online.sources[0].schema.names == ["order_id", "note"]
    assert online.nodes[0].schema == pa.schema([("order_id", pa.int64())])
    assert asked == ["http://registry:1 with a password"]


@pytest.mark.parametrize(
    ("url", "topic", "said"),
    [("http://silent:1", "orders", "the registry gives no answer (http://silent:1)"), ("http://r:1", "ordres", "there is no subject 'ordres-value'")],
)
def test_a_registry_that_cannot_help_is_named(complaints: Complaints, asked: list[str], url: str, topic: str, said: str) -> None:
    """A registry without an answer or without the subject is an error at the table, with its URL (CL-02)."""
    options = f"'format' 'avro-confluent', 'avro-confluent.url' '{url}'"

    found = complaints(table("", options, f"kafka://h:9092/{topic}"), connect=True)

    assert asked
    assert len(found) == 1
    assert said in found[0]


@pytest.mark.parametrize(
    ("url", "more", "unanswered"), [("http://silent:1", "", True), ("http://silent:1", "SELECT nope;", False), ("http://r:1", "", False), ("./nowhere", "", False)]
)
def test_a_registry_that_gives_no_answer_is_nobodys_fault(plan: Planner, asked: list[str], url: str, more: str, unanswered: bool) -> None:  # noqa: FBT001 - a parameter
    """The file may be right, unless something else in it is wrong; a folder that is not there is a wrong option (CL-02)."""
    text = table("", f"'format' 'avro-confluent', 'avro-confluent.url' '{url}'", "kafka://h:9092/ordres") + more

    with pytest.raises(ScriptErrors) as caught:
        plan(text, connect=True)

    assert caught.value.unanswered is unanswered
    assert len(asked) == (not url.startswith("."))


def test_key_and_value_may_not_share_a_column(complaints: Complaints, asked: list[str]) -> None:
    """Two columns of one name are refused with the way out."""
    both = "'format' 'avro-confluent', 'avro-confluent.url' 'http://r:1', 'key.format' 'avro-confluent', 'key.avro-confluent.url' 'http://r:1'"

    found = complaints(table("", both), connect=True)

    assert asked
    assert [line.split(" (")[0] for line in found] == ["1:23 table t has more than one column note", "1:23 table t has more than one column order_id"]


def test_the_keys_format_has_options_of_its_own(complaints: Complaints) -> None:
    """Options of the key's format begin with ``key.``; the error says so."""
    (found,) = complaints(table("(a INT, id BIGINT)", "'format' 'json', 'key.format' 'avro-confluent', 'key.fields' 'id'"))

    assert "'key.format': option 'avro-confluent.url' is missing" in found


def test_a_schema_file_lies_beside_the_pipeline(plan: Planner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative schema file is looked for beside the pipeline, whatever the current directory is (CF-06)."""
    folder = tmp_path / "a folder ä"
    folder.mkdir()
    (folder / "order.avsc").write_text('{"type": "record", "name": "O", "fields": [{"name": "id", "type": "long"}]}', encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    (source,) = plan(table("", "'format' 'avro', 'avro.schema-file' 'order.avsc'"), base=str(folder)).sources

    assert source.schema is not None
    assert source.schema.field("id").type == pa.int64()


def test_an_error_in_one_table_is_not_repeated_by_its_readers(complaints: Complaints) -> None:
    """One mistake gives one error: views and COPYs over a broken table are not judged for its sake (CFG-03)."""
    text = ORDERS.replace("DECIMAL(10, 2)", "DECIMAL(10, 12)") + "CREATE VIEW v AS SELECT amount FROM orders;\nCOPY v TO './v/' STORED AS PARQUET;"

    assert len(complaints(text)) == 1


PROTO = """syntax = "proto3"; package shop; message Order { int64 id = 1; Status status = 2; int64 at = 3; Extra extra = 4; int32 fine = 5; }
enum Status { NEW = 0; } message Extra { string a = 1; }"""


@pytest.mark.usefixtures("asked")
def test_every_wrong_column_is_named_at_once(complaints: Complaints, tmp_path: Path) -> None:
    """One run names all columns that the wire cannot give, each at its place, whatever the format (DEC-06)."""
    (tmp_path / "o.proto").write_text(PROTO)
    columns = "(id INT, nosuch STRING, status BIGINT, fine INT, at STRING, extra ROW<a INT>)"
    found = complaints(table(columns, "'format' 'protobuf', 'protobuf.descriptor' 'o.proto', 'protobuf.message' 'shop.Order'"), base=str(tmp_path))

    assert [line.split("'")[1] for line in found] == ["id", "nosuch", "at", "extra.a"]
    assert len({line.split()[0] for line in found}) == len(found)

    avro = complaints(table("(order_id STRING, note BIGINT)", "'format' 'avro-confluent', 'avro-confluent.url' 'http://known:1'"), connect=True)
    assert [line.split("'")[1] for line in avro] == ["order_id", "note"]


def test_a_refusal_stands_at_its_own_column(complaints: Complaints) -> None:
    """The column that a message proposes may be declared, too: the error stands at the wrong one."""
    schema = """{"type": "record", "name": "R", "fields": [{"name": "bb", "type": "long"}]}"""
    (found,) = complaints(table("(bb BIGINT, bbb BIGINT)", f"'format' 'avro', 'avro.schema' '{schema}'"))

    assert "column 'bbb': the schema has no such field; did you mean 'bb'?" in found
    assert found.startswith("1:37 ")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("'format' 'protobuf', 'protobuf.descriptor' 'rge.desc'", "cannot be read"),
        ("'format' 'protobuf', 'protobuf.descriptor' 'bad.desc'", "no Protobuf descriptor set"),
        ("'format' 'protobuf', 'protobuf.descriptor' 'bad.proto'", "do not compile"),
        ("'format' 'avro', 'avro.schema-file' 'bad.proto'", "the Avro schema cannot be read"),
        ("'format' 'avro-confluent', 'avro-confluent.url' '.', 'avro-confluent.subject' 'nosuch'", "there is no nosuch.avsc"),
        ("'format' 'avro-confluent', 'avro-confluent.url' './rge'", "no schema file or folder rge"),
    ],
)
def test_a_schema_that_cannot_be_read(complaints: Complaints, tmp_path: Path, options: str, said: str) -> None:
    """The error stands at the option that says where the schema lies, and names the place once."""
    (tmp_path / "bad.desc").write_text("garbage")
    (tmp_path / "bad.proto").write_text("garbage")
    (found,) = complaints(table("", options), base=str(tmp_path))

    assert said in found.replace(f"{tmp_path}/", "")
    assert found.startswith(f"3:{10 + options.rindex(options.rsplit(maxsplit=1)[-1])} ")
    assert found.count("rge") == options.count("rge")
