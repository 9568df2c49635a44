"""What a REPL does with each kind of statement."""

from __future__ import annotations

import io
import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.unit.cli.conftest import Terminal
from tests.unit.cli.repl.conftest import ORDERS, Desk
from thalweg.errors import ScriptError, UserError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def test_definitions_extend_the_session(desk: Desk) -> None:
    """CREATE adds tables and views, DROP takes back what was typed (CLI-07)."""
    desk.type(desk.table)
    desk.type('CREATE VIEW "Big" AS SELECT id FROM orders WHERE amount > 6; create view v as select 1 as x;')

    assert desk.type('SELECT * FROM "Big";') == ["id", "--", " 2", "(1 row)"]
    desk.type("CREATE VIEW v AS SELECT 2 AS x; DROP VIEW v;")
    assert [line for line in desk.said().splitlines() if "bad record" not in line] == ["orders created", "Big created", "v created", "v replaced", "v dropped"]
    with pytest.raises(ScriptError, match="no table or view named v"):
        desk.type("SELECT * FROM v;")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("COPY clean TO './x/' STORED AS PARQUET;", "COPY is not run here"),
        ("INSERT INTO clean VALUES (1);", "INSERT is no statement"),
        ("WITH a AS (SELECT 1) INSERT INTO clean SELECT 1;", "INSERT is not run here"),
        ("EXPLAIN ANALYZE INSERT INTO clean SELECT 1;", "EXPLAIN takes a query"),
        ("EXPLAIN;", "EXPLAIN takes a query"),
        ("EXPLAIN WITH a AS (SELECT 1) DELETE FROM clean;", "DELETE is not run here"),
        ("SELEKT 1;", "SELEKT is no statement"),
        ("'x';", "this is no statement"),
        ("SET repl.mode TO tail;", "expected SET 'key' = 'value'"),
        ("SET 'repl.mod' = 'tail';", "unknown setting 'repl.mod'"),
        ("SET 'repl.mode' = 'tial';", "did you mean 'tail'"),
        ("DROP 'x';", "expected DROP VIEW"),
        ("DROP VIEW nothing;", "nothing named nothing"),
    ],
)
def test_what_is_not_done_here_is_refused(desk: Desk, text: str, message: str) -> None:
    """The REPL reads: what writes is refused at its word, what is misspelt gets a hint (CLI-08)."""
    desk.load()

    with pytest.raises(UserError) as refused:
        desk.type(text)

    assert message in str(refused.value)
    assert desk.topic.end(0) == 4


def test_explain_and_describe_read_no_stream(desk: Desk) -> None:
    """Plans keep their lines; a stream is described without reading it (CLI-07)."""
    desk.load()

    plan = desk.type("EXPLAIN SELECT twice FROM doubled;")
    assert plan[0] == "-- logical_plan"
    assert any("orders" in line for line in plan)
    assert desk.type("DESCRIBE clean;")[2].split(" | ")[0].strip() == "id"
    assert any("clean" in line for line in desk.type("SHOW TABLES;"))
    assert desk.said() == ""


def test_explain_as_json_is_rows(topic: Callable[..., Any], tmp_path: Path) -> None:
    """For programs a plan is rows like any other."""
    desk = Desk(topic(), tmp_path, "json")

    assert {json.loads(line)["plan_type"] for line in desk.type("EXPLAIN SELECT 1;")} == {"logical_plan", "physical_plan"}


def test_tail_mode_makes_every_select_a_tail(desk: Desk) -> None:
    """SET 'repl.mode' = 'tail' and back (CLI-07)."""
    desk.load().type("SET 'repl.mode' = 'tail'; SET 'repl.tail.from' = 'earliest';")

    assert desk.type("SELECT id FROM orders LIMIT 2;") == ["id", "--", " 1", " 2", "(2 rows)"]
    desk.type("SET 'repl.mode' = 'snapshot';")
    assert desk.type("SELECT max(id) AS m FROM orders;")[2] == "3"


def test_an_interrupted_tail_counts_what_it_showed(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C ends a tail, the rows so far are counted, and the prompt is told."""
    desk.load().type("SET 'repl.tail.from' = 'earliest';")
    real = desk.out.flush
    flushes = iter([None, None])

    def flush() -> None:
        real()
        if next(flushes, "over") == "over":
            monkeypatch.undo()
            raise KeyboardInterrupt

    monkeypatch.setattr(desk.out, "flush", flush)

    with pytest.raises(KeyboardInterrupt):
        desk.type("\\tail orders")
    assert "(3 rows)" in desk.out.getvalue()


def test_files_of_any_kind(desk: Desk) -> None:
    """A pipeline file is loaded whole; another is done piece by piece, up to where it leaves (CLI-07)."""
    desk.shell.run_file(desk.file())
    assert desk.said() == f"{desk.folder}/pipeline.sql: 1 table, 2 views, 2 COPYs (not run here)\n"

    desk.shell.run_file(desk.file("CREATE VIEW v AS SELECT 1 AS a; SELECT a FROM v; \\timing\nSELECT 2;\n\\q\nSELECT nope;", "some.sql"))
    assert desk.out.getvalue().count("(1 row)") == 2
    assert desk.shell.done

    with pytest.raises(ScriptError, match="without end"):
        desk.shell.run_file(desk.file(f"\\i {desk.folder}/loop.sql", "loop.sql"))


def test_timing_is_said(desk: Desk) -> None:
    """With timing on, each question says how long it took."""
    desk.type("\\timing")
    desk.type("SELECT 1;")

    assert desk.said().splitlines()[-1].startswith("time: ")


def test_a_terminal_gets_its_width_and_bars(desk: Desk, monkeypatch: pytest.MonkeyPatch, terminal: Terminal) -> None:
    """Rows are fitted to the terminal; while a stream is read there is a bar that is gone afterwards (CLI-07)."""
    rows = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    desk.load()
    desk.shell.out, desk.shell._notes = rows, terminal

    desk.shell.run_text("SELECT repeat('x', 200) AS a FROM orders LIMIT 1;", "input")
    desk.shell.clear()

    assert max(len(line) for line in rows.getvalue().splitlines()) <= 100
    assert "reading orders" in terminal.getvalue()
    assert rows.getvalue().endswith("\x1b[H\x1b[2J")


def test_two_streams_share_one_question(topic: Callable[..., Any], tmp_path: Path) -> None:
    """A question over two streams reads both up to now; dlq.all holds the bad records of both."""
    desk = Desk(topic(*ORDERS), tmp_path)
    other = Desk(topic(b"worse", *ORDERS), tmp_path)
    desk.type(desk.table)
    desk.type(other.table.replace("orders", "others", 1))

    assert desk.type("SELECT count(*) AS n FROM orders JOIN others USING (id);")[2] == "3"
    assert desk.type("SELECT count(*) AS n FROM dlq.all;")[2] == "3"


def test_csv_of_a_stream(topic: Callable[..., Any], tmp_path: Path) -> None:
    """Other formats go through as they come (CLI-07)."""

    class Out(io.TextIOWrapper):
        """Text over bytes."""

    desk = Desk(topic(*ORDERS), tmp_path, "csv")
    held = io.BytesIO()
    desk.shell.out = Out(held, encoding="utf-8")
    desk.load().shell.run_text("SELECT id, country FROM orders ORDER BY id;", "input")

    assert held.getvalue() == b'"id","country"\n1,"DE"\n2,"FR"\n3,"DE"\n'
