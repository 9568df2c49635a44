"""Completion by what stands before the cursor."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from thalweg.cli.repl.completion import SqlCompleter

if TYPE_CHECKING:
    from tests.unit.cli.repl.conftest import Desk


def offered(desk: Desk, text: str, after: str = "") -> list[str]:
    """What Tab offers at the end of ``text``."""
    completer = SqlCompleter(desk.shell.workspace)
    return [c.text for c in completer.get_completions(Document(text + after, len(text)), CompleteEvent())]


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("SELECT * FROM or", ["orders"]),
        ("SELECT * FROM raw.", ["raw.orders"]),
        ("SELECT * FROM orders, cl", ["clean"]),
        ("SELECT * FROM orders JOIN dou", ["doubled"]),
        ("SELECT twi", ["twice"]),
        ("SELECT id FROM clean WHERE cou", ["country", "count"]),
        ("SELECT c.am", []),
        ("SELECT date_tru", ["date_trunc"]),
        ("SELECT 1 UNIO", ["UNION"]),
        ("select 1 unio", ["union"]),
        ("SET 'repl.mo", ["repl.mode"]),
        ("\\ti", ["\\timing"]),
        ("\\d dou", ["doubled"]),
        ("\\df date_tru", ["date_trunc"]),
        ("\\tail cle", ["clean"]),
        ("", []),
    ],
)
def test_what_is_offered(desk: Desk, text: str, first: list[str]) -> None:
    """Relations after FROM and JOIN; columns, functions and keywords elsewhere; settings and commands at theirs (CLI-07)."""
    desk.load()

    assert offered(desk, text)[: len(first)] == first
    if not first:
        assert offered(desk, text) == []


def test_columns_of_an_alias(desk: Desk) -> None:
    """Behind an alias or a name and a dot stand the columns of that relation, also when FROM comes later (CLI-07)."""
    desk.load()

    assert offered(desk, "SELECT o.", " FROM orders AS o") == ["id", "country", "amount", "tags"]
    assert offered(desk, "SELECT doubled.tw", " FROM doubled WHERE id = 1") == ["twice"]


def test_odd_names_are_quoted(desk: Desk) -> None:
    """A column that SQL would fold is offered in quotes."""
    desk.type('CREATE VIEW odd AS SELECT 1 AS "Two Words";')

    assert '"Two Words"' in offered(desk, "SELECT * FROM odd WHERE ", "")


def test_files_are_offered(desk: Desk) -> None:
    r"""\i completes paths (CLI-07)."""
    desk.file()

    assert offered(desk, f"\\i {desk.folder}/pip") == ["eline.sql"]


def test_what_was_just_defined_is_offered(desk: Desk) -> None:
    """The workspace is asked each time."""
    completer = SqlCompleter(desk.shell.workspace)
    desk.type("CREATE VIEW brand_new AS SELECT 1 AS x;")

    assert [c.text for c in completer.get_completions(Document("SELECT * FROM bra"), CompleteEvent())] == ["brand_new"]
