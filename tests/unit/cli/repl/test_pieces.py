"""Typed text to statements and backslash commands."""

from __future__ import annotations

import pytest

from thalweg.cli.render import format_error
from thalweg.cli.repl.pieces import Piece, split


@pytest.mark.parametrize(
    ("text", "pieces", "rest"),
    [
        ("SELECT 1; SELECT 2", ["SELECT 1"], " SELECT 2"),
        ("SELECT ';' AS a;", ["SELECT ';' AS a"], ""),
        ("SELECT 1 -- a; b\n;", ["SELECT 1 -- a; b"], ""),
        ("/* ; */ SELECT 2;;\n;", ["/* ; */ SELECT 2"], ""),
        ("-- only this\n", [], ""),
        ("SELECT 'it", [], "SELECT 'it"),
        ("SELECT /* open ;", [], "SELECT /* open ;"),
        ("\\dt\nSELECT 1;\n  \\q", ["\\dt", "SELECT 1", "\\q"], ""),
        ("\\i it's.sql\nSELECT 1;", ["\\i it's.sql", "SELECT 1"], ""),
        ("SELECT 'a\n\\b'; \\x on\n", ["SELECT 'a\n\\b'", "\\x on"], ""),
        ("SELECT 1; \\dt", ["SELECT 1", "\\dt"], ""),
        ("SELECT 1 \\dt", [], "SELECT 1 \\dt"),
        ("", [], ""),
    ],
)
def test_text_is_split(text: str, pieces: list[str], rest: str) -> None:
    """Statements end with a ; that is in no string and no comment, commands with their line; the rest waits (CLI-07)."""
    found, left = split(text, "input", whole=False)

    assert ([p.text for p in found], left) == (pieces, rest)


def test_at_the_end_the_rest_is_a_piece() -> None:
    """A script's last statement needs no semicolon; comments alone are nothing."""
    assert [p.text for p in split("SELECT 1;\nSELECT 2", "stdin", whole=True)[0]] == ["SELECT 1", "SELECT 2"]
    assert split("SELECT 1; -- done", "stdin", whole=True) == (split("SELECT 1;", "stdin", whole=True)[0], "")


def test_an_error_has_its_place_in_the_text() -> None:
    """Line and column count from the beginning of the text, and the whole line is shown (CLI-08)."""
    piece = split("SELECT 1;\n  SELECT a,\n    nope FROM b;", "stdin", whole=False)[0][1]

    assert format_error(piece.error("no nope", piece.text.index("nope"), width=4)) == "stdin:3:5: error: no nope\n        nope FROM b\n        ^^^^"
    assert format_error(piece.error("odd")) == "stdin:2:3: error: odd\n      SELECT a,\n      ^"


def test_pieces_know_what_they_are() -> None:
    """Commands begin with a backslash; statements have words."""
    assert Piece("\\dt", "input").is_command
    assert [w.value for w in Piece("SELECT a", "input").lexemes()] == ["SELECT", "a"]
