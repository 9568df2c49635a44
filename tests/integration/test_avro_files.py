"""Pipelines over Avro container files: every codec, mixed schemas, damage, restarts, the compiled path."""

from __future__ import annotations

import json
import os
import struct
import threading
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest
from datafusion import SessionContext

from tests.oracle.containers import ORDER, block, header, long, order, order_row, orders, text, write
from thalweg import compose, registry
from thalweg.arrow.container import CODECS
from thalweg.errors import DecodeFailed, ScriptErrors
from thalweg.model.events import BadRecords, EpochDone, Fanout
from thalweg.ports.source import Budget

if TYPE_CHECKING:
    from pathlib import Path

    from tests.integration.conftest import Lab

COPY = "COPY (SELECT * FROM t) TO 'memory://{t}-out' STORED AS MEMORY OPTIONS ('metadata' 'none');"


def table(columns: str = "", options: str = "", location: str = "in") -> str:
    """The file table, relative to the pipeline's folder."""
    given = f" OPTIONS ({options})" if options else ""
    return f"CREATE EXTERNAL TABLE t {columns} STORED AS AVRO LOCATION '{location}'{given};"


@pytest.mark.parametrize("codec", CODECS)
def test_a_file_ends_by_itself(lab: Lab, codec: str) -> None:
    """The rows of a container of each codec, as another reader of Avro finds them too (AVR-11, BAT-01, BAT-08, BAT-16, AV-26)."""
    path = write(lab.folder / "in" / "1.avro", header(ORDER, codec), orders(*range(100), codec=codec), orders(100, codec=codec))
    lab.run(table() + COPY)

    assert lab.rows("out") == [order_row(n) for n in range(101)]
    assert lab.rows("out") == SessionContext().read_avro(str(path)).to_pylist()


def test_where_rows_come_from(lab: Lab) -> None:
    """File and record number are the locator, the raw lane has the record's own bytes, with the name of its schema (BAT-14, law 5)."""
    path = write(lab.folder / "in" / "1.avro", header(ORDER), orders(0, 1), orders(2))
    lab.run(table() + """
        COPY (SELECT id FROM t) TO 'memory://{t}-out' STORED AS MEMORY;
        COPY raw.t TO 'memory://{t}-raw' STORED AS MEMORY;
    """)

    assert [(r["_twg_source_topic"], r["_twg_source_partition"], r["_twg_source_offset"], r["id"]) for r in lab.rows("out")] == [
        (path.as_uri(), 0, n, n) for n in range(3)
    ]
    assert lab.column("raw", "payload") == [order(n) for n in range(3)]
    assert {r["_twg_source_headers"][0]["key"] for r in lab.rows("raw")} == {"__value_schema_id"}


NEWER = {
    "type": "record", "name": "O", "fields": [
        {"name": "number", "aliases": ["id"], "type": "double"}, {"name": "note", "type": "string", "default": "none"}, ORDER["fields"][1],
    ],
}  # fmt: skip


def newer(number: int) -> bytes:
    """A datum of ``NEWER``."""
    return struct.pack("<d", number) + text("x") + long(0)


def test_schemas_that_differ_resolve_to_the_tables(lab: Lab) -> None:
    """The last file's schema is the reader's: aliases, promotions and defaults apply to the older ones (AV-18, AV-20, AVR-11)."""
    write(lab.folder / "in" / "1.avro", header(ORDER), orders(3))
    write(lab.folder / "in" / "2.avro", header(NEWER, "xz"), block([newer(7)], "xz"))
    lab.run(table() + COPY)

    assert lab.rows("out") == [{"number": 3.0, "note": "none", "name": "n3"}, {"number": 7.0, "note": "x", "name": None}]


def test_declared_columns_are_the_readers_schema(lab: Lab) -> None:
    """Fields may be left out; a type that the file does not give is refused before anything is read, and so is an unknown name."""
    write(lab.folder / "in" / "1.avro", header(ORDER), orders(3, 4))
    lab.run(table("(name STRING, at BIGINT METADATA FROM 'offset')") + COPY)
    assert lab.rows("out") == [{"name": "n3", "at": 0}, {"name": None, "at": 1}]

    for columns, says in (("(name BIGINT)", "column 'name'"), ("(nam STRING)", "did you mean 'name'")):
        with pytest.raises(ScriptErrors, match=says):
            lab.build(table(columns) + COPY)


def test_nothing_to_read(lab: Lab) -> None:
    """An empty folder with declared columns is an empty table; without them the columns are not known; a missing place is an error."""
    (lab.folder / "in").mkdir()
    lab.run(table("(id BIGINT)") + COPY)
    assert lab.rows("out") == []
    with pytest.raises(ScriptErrors, match="no Avro file"):
        lab.build(table() + COPY)
    with pytest.raises(ScriptErrors, match="no such file or folder"):
        lab.build(table("(id BIGINT)", location="elsewhere") + COPY)


def test_a_table_of_files_has_its_own_format(lab: Lab) -> None:
    """Another 'format' and a remote place are refused where they stand."""
    write(lab.folder / "in" / "1.avro", header(ORDER))
    with pytest.raises(ScriptErrors, match="AVRO has a format of its own"):
        lab.build(table(options="'format' 'json'") + COPY)
    with pytest.raises(ScriptErrors, match="local folders, found s3"):
        lab.build(table("(id BIGINT)", location="s3://b/x") + COPY)
    with pytest.raises(ScriptErrors, match="AVRO files have no key"):
        lab.build(table("(id BIGINT)", "'key.format' 'raw', 'key.fields' 'id'") + COPY)
    with pytest.raises(ScriptErrors, match="a table of AVRO files is bounded"):
        lab.build(table("(id BIGINT)").replace("EXTERNAL", "UNBOUNDED EXTERNAL") + COPY)


def test_names_of_files(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """A URL, a name that is no UTF-8 or full of signs, a place in the current directory: each is read."""
    write(lab.folder / "in" / "a b#?%41.avro", header(ORDER), orders(1))
    write(lab.folder / "in" / os.fsdecode(b"b\xff.avro"), header(ORDER), orders(2), b"damage")
    lab.run(table(location=(lab.folder / "in").as_uri(), options="'bad_data' 'dlq'") + COPY + "COPY dlq.t TO 'memory://{t}-dlq' STORED AS MEMORY;")
    assert lab.column("out", "id") == [1, 2]
    assert "b\\udcff.avro at byte" in lab.column("dlq", "_twg_error_message")[0]

    elsewhere = lab.folder / "elsewhere"
    write(elsewhere / "here" / "1.avro", header(ORDER), orders(3))
    monkeypatch.chdir(elsewhere)
    lab.run(table(location="here") + COPY.replace("-out", "-here"))
    assert lab.column("here", "id") == [3]


def damaged(folder: Path) -> None:
    """Good blocks around a wrong marker, a lying count, and text that is no UTF-8."""
    bad_text = long(8) + long(1) + long(2) + b"\xff\xfe" + long(0)
    write(
        folder / "in" / "1.avro", header(ORDER), orders(0, 1), orders(2, sync=b"z" * 16), orders(3), orders(4, count=2), block([bad_text, order(9)]),
    )


def test_damage_stops_or_is_set_aside(lab: Lab) -> None:
    """With file and byte: the run ends at the first damage, or each becomes one dead letter and everything else a row (AV-26, law 4)."""
    damaged(lab.folder)
    with pytest.raises(DecodeFailed, match=r"source\.block: .*1\.avro at byte \d+") as caught:
        lab.run(table() + COPY)
    assert "offset 2" in str(caught.value)

    lab.run(table(options="'bad_data' 'dlq'") + COPY.replace("-out", "-rest") + "COPY dlq.t TO 'memory://{t}-dlq' STORED AS MEMORY;")
    assert lab.column("rest", "id") == [0, 1, 4, 9]
    letters = lab.rows("dlq")
    assert [(r["_twg_error_code"], r["_twg_source_offset"]) for r in letters] == [("source.block", 2), ("source.block", 4), ("decode.malformed", 5)]
    assert letters[0]["payload"] == orders(2, sync=b"z" * 16) + orders(3)
    assert sum(sum(e.codes.values()) for e in lab.seen.of(BadRecords)) == 3


def test_a_second_run_adds_what_is_new(lab: Lab) -> None:
    """A target that keeps a record gets each row once, over runs: blocks and files that were added come, the rest does not (BAT-14)."""
    folder = lab.folder / "in"
    sql = table() + "COPY (SELECT id FROM t) TO '{out}' STORED AS PARQUET;"
    write(folder / "a.avro", header(ORDER), orders(0, 1, 2))
    for added, expected in ((b"", 3), (orders(3, 4), 5), (b"", 5)):
        with (folder / "a.avro").open("ab") as file:
            file.write(added)
        lab.run(sql)
        assert sorted(ids(lab)) == list(range(expected))
    write(folder / "b.avro", header(ORDER), orders(5))
    lab.run(sql)
    assert sorted(ids(lab)) == list(range(6))


def ids(lab: Lab) -> list[int]:
    """What the Parquet target holds."""
    return [n for f in (lab.folder / "out").glob("*.parquet") for n in pq.read_table(f).column("id").to_pylist()]


def test_a_run_that_was_cut_goes_on_inside_a_block(lab: Lab) -> None:
    """Stopped in the middle of a block, the next run begins at the record behind the last published one (BAT-14)."""
    write(lab.folder / "in" / "a.avro", header(ORDER), orders(*range(500)), orders(*range(500, 900)))
    sql = table() + "COPY (SELECT id FROM t) TO '{out}' STORED AS PARQUET OPTIONS ('roll.rows' '50');"
    lab.start(sql, budget__rows="50")
    deadline = threading.Event()
    while not lab.seen.of(EpochDone):
        deadline.wait(0.005)
    lab.stop()
    first = len(ids(lab))
    lab.run(sql)

    assert 0 < first <= 900
    assert sorted(ids(lab)) == list(range(900))


def test_the_engine_reads_a_static_table(lab: Lab) -> None:
    """'static' 'true' leaves the file to the engine, so that a stream can be joined with it."""
    write(lab.folder / "in" / "1.avro", header(ORDER), orders(0, 3))
    lab.fill({"id": 3}, {"id": 4})
    lab.run(table(options="'static' 'true'", location="in/1.avro") + """
        CREATE EXTERNAL TABLE s (id BIGINT) STORED AS MEMORY LOCATION 'memory://{t}-orders' OPTIONS ('format' 'json', 'scan.bounded.mode' 'latest-offset');
        COPY (SELECT s.id, t.name FROM s JOIN t ON s.id = t.id) TO 'memory://{t}-out' STORED AS MEMORY OPTIONS ('metadata' 'none');
    """)

    assert lab.rows("out") == [{"id": 3, "name": "n3"}]


@pytest.mark.parametrize("kernels", [False, True])
def test_compiled_and_exact_paths_agree(lab: Lab, kernels: bool) -> None:  # noqa: FBT001 - a parameter of the test
    """Blocks and records read by kernels give the rows and the bad records of the reference (AVR-11)."""
    damaged(lab.folder)
    write(lab.folder / "in" / "2.avro", header(ORDER, "snappy"), orders(*range(20, 300), codec="snappy"))
    (lab.folder / "p.sql").write_text(lab.name(table(options="'bad_data' 'drop'") + COPY))
    plan = compose.read_plan(str(lab.folder / "p.sql"), settings={"decode.kernels": "off"}, environ={}, connect=True)
    source, decoding = compose.open_source(plan, plan.sources[0], Fanout())
    if kernels:
        side = decoding.sides[0]
        decoding.use(side, registry.attribute(side.codec.fast)(side.request, side.asked, side.reference))
    source.open(Everything())
    rows: list[dict[str, Any]] = []
    bad: list[tuple[str, str]] = []
    while (raw := source.poll(Budget(rows=7, age_ns=0))) is not None:
        found = decoding.relation(raw)
        rows += found.batch.to_pylist()
        bad += sorted(zip(found.bad.codes, found.bad.messages, strict=True))
    source.close()

    assert [r["id"] for r in rows] == [0, 1, 4, 9, *range(20, 300)]
    assert json.dumps([code for code, _ in bad if code == "source.block"]) == '["source.block", "source.block"]'
    assert ("decode.malformed", "name: invalid UTF-8 at byte 0 of the string") in bad


def test_unions_of_several_types(lab: Lab) -> None:
    """A dense union goes through a pipeline, damage beside it included, and queries take its branches apart; or it is a struct (AVR-03)."""
    schema = {"type": "record", "name": "U", "fields": [{"name": "id", "type": "long"}, {"name": "u", "type": ["null", "int", "string"]}]}
    data = [long(1) + long(1) + long(7), long(2) + long(2) + text("x"), long(3) + long(0), long(4) + long(2) + long(2) + b"\xff\xff"]
    write(lab.folder / "in" / "1.avro", header(schema), block(data))
    lab.run(table(options="'bad_data' 'drop'") + COPY + """
        COPY (SELECT id, union_extract(u, 'int') AS number FROM t WHERE id <> 2) TO 'memory://{t}-part' STORED AS MEMORY OPTIONS ('metadata' 'none');
    """)
    assert lab.rows("out") == [{"id": 1, "u": 7}, {"id": 2, "u": "x"}, {"id": 3, "u": None}]
    assert lab.rows("part") == [{"id": 1, "number": 7}, {"id": 3, "number": None}]

    lab.run(table(options="'bad_data' 'drop', 'avro.union' 'struct'") + COPY.replace("-out", "-struct"))
    assert lab.column("struct", "u") == [{"int": 7, "string": None}, {"int": None, "string": "x"}, None]


class Everything:
    """A listener that starts everything at its start mode."""

    def assigned(self, committed: dict[Any, Any]) -> dict[Any, None]:
        """Nothing is recorded."""
        return dict.fromkeys(committed)

    def started(self, positions: dict[Any, int]) -> None:
        """Nobody asks."""
