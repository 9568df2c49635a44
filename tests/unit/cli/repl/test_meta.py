"""Backslash commands."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from thalweg.cli.repl.meta import COMMANDS
from thalweg.errors import ScriptError

if TYPE_CHECKING:
    from tests.unit.cli.repl.conftest import Desk


def test_relations_are_listed(desk: Desk) -> None:
    r"""\d lists everything, \dt tables and views, with where they come from (CLI-07)."""
    desk.load()

    everything, tables = desk.type("\\d"), desk.type("\\dt")

    assert [line.split(" | ")[0].strip() for line in everything[2:]] == [
        "orders", "clean", "doubled", "raw.orders", "dlq.orders", "dlq.all", "doubled", "dlq.orders",
    ]
    assert everything[-1].endswith("dlq.orders -> ./out/dlq/")
    assert [line.split(" | ")[0].strip() for line in tables[2:]] == ["orders", "clean", "doubled"]
    assert tables[3].split(" | ")[1:] == ["view  ", "      3", "over orders"]


def test_one_relation_is_described(desk: Desk) -> None:
    r"""\d NAME shows columns with their Arrow types; names fold as in SQL (CLI-07)."""
    desk.load()

    assert desk.type("\\d ORDERS;") == [
        "column  | type               | null", "--------+--------------------+-----", "id      | int64              | no", "country | string             | yes",
        "amount  | double             | yes", "tags    | list<item: string> | yes",
    ]
    assert desk.type('\\d "clean"')[2].startswith("id")
    with pytest.raises(ScriptError, match=r"input:1:4: no table or view named cleen \(did you mean clean\?\)"):
        desk.type("\\d cleen")


def test_a_column_that_must_not_be_null_is_said_to_be_one(desk: Desk) -> None:
    r"""\d of a table shows what NOT NULL promises; a view promises nothing."""
    desk.load()

    assert [line.rpartition("|")[2].strip() for line in desk.type("\\d orders")[2:]] == ["no", "yes", "yes", "yes"]
    assert desk.type("\\d clean")[2].endswith("| yes")


def test_an_unresolved_relation_is_said_to_be_one(desk: Desk) -> None:
    """A schema that lies in a registry is never guessed."""
    workspace = desk.load().shell.workspace
    object.__setattr__(workspace.plan.sources[0], "schema", None)

    desk.type("\\d orders")
    assert desk.said().startswith("orders: unresolved")
    assert "unresolved" in desk.type("\\dt")[2]


def test_functions_are_listed(desk: Desk) -> None:
    r"""\df lists functions, all or those that match (CLI-07)."""
    assert len(desk.type("\\df")) > 100
    assert {line.split(" | ")[0].strip() for line in desk.type("\\df date_tr*")[2:]} == {"date_trunc"}
    assert any("date_trunc" in line for line in desk.type("\\df trunc"))


def test_switches(desk: Desk) -> None:
    r"""\x and \timing say what they are now (CLI-07)."""
    desk.type("\\x\nSELECT 1 AS a;\n\\x\n\\x auto\n\\timing\n\\timing off\n\\timing on")

    assert desk.out.getvalue() == "-[ row 1 ]\na | 1\n(1 row)\n"
    assert desk.said().splitlines() == [
        "expanded display is on", "expanded display is off", "expanded display is auto", "timing is on", "timing is off", "timing is on",
    ]
    with pytest.raises(ScriptError, match="expected on, off or auto"):
        desk.type("\\x sideways")


def test_files_are_included(desk: Desk) -> None:
    r"""\i loads a pipeline or does what a file says (CLI-07)."""
    desk.type(f"\\i {desk.file()}")

    assert desk.type("SELECT count(*) AS n FROM clean;")[2] == "2"
    with pytest.raises(ScriptError, match="which file"):
        desk.type("\\i")


def test_watch_asks_again(desk: Desk) -> None:
    r"""\watch asks the last question so many times, with a pause between (CLI-07)."""
    with pytest.raises(ScriptError, match="no question yet"):
        desk.type("\\watch")
    desk.load().type("SELECT count(*) AS n FROM orders;")

    began = time.monotonic()
    assert desk.type("\\watch 0.05 3").count("(1 row)") == 3
    assert time.monotonic() - began >= 0.1
    with pytest.raises(ScriptError, match="expected seconds"):
        desk.type("\\watch often")


def test_tail_takes_a_name_a_query_or_the_last_question(desk: Desk) -> None:
    r"""\tail with a relation, with a query, or alone (CLI-07)."""
    with pytest.raises(ScriptError, match="no question yet"):
        desk.type("\\tail")
    desk.load().type("SET 'repl.tail.from' = 'earliest';")

    assert desk.type("\\tail SELECT id FROM clean LIMIT 1;") == ["id", "--", " 1", "(1 row)"]
    assert desk.type("\\tail") == ["id", "--", " 1", "(1 row)"]
    with pytest.raises(ScriptError, match="input:1:14: no column named nope"):
        desk.type("\\tail SELECT nope FROM clean")


def test_help_lists_every_command(desk: Desk) -> None:
    r"""\? has them all; a misspelt one gets a hint (CLI-07, CLI-08)."""
    shown = "\n".join(desk.type("\\?"))

    assert all(f"  {c.name}" in shown for c in COMMANDS)
    with pytest.raises(ScriptError, match=r"did you mean \\timing"):
        desk.type("\\timin")
    with pytest.raises(ScriptError, match="lists all commands"):
        desk.type("\\zzz")


def test_quit_leaves_the_rest_undone(desk: Desk) -> None:
    r"""\q ends a script at once."""
    assert desk.type("SELECT 1;\n\\q\nSELECT 2;").count("(1 row)") == 1
    assert desk.shell.done
