"""Errors as text: places, carets, hints; nothing in them can move a cursor."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest

from thalweg.cli.render import coloured, format_error, printable, show_error
from thalweg.errors import DecodeFailed, Location, OptionError, ScriptError, ScriptErrors

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Terminal


def error(text: str, column: int, width: int = 1, hint: str | None = None) -> ScriptError:
    """An error in the third line of a file."""
    return ScriptError("something is wrong", Location("p.sql", 3, column, text, width), hint=hint)


def caret(text: str, column: int, width: int = 1, terminal: int = 120) -> tuple[str, str]:
    """The two lines that show a place."""
    _, line, mark = format_error(error(text, column, width), width=terminal).split("\n")
    return line, mark


def test_every_error_of_a_file_is_shown_in_order() -> None:
    """All errors of a file come at once, in the order of their places, an empty line between two (CLI-08)."""
    late = ScriptError("late", Location("p.sql", 9, 1, "b", 1))

    shown = format_error(ScriptErrors([late, error("SELECT * FROM order", 15, 5, "did you mean 'orders'?")]))

    assert shown == (
        "p.sql:3:15: error: something is wrong\n"
        "    SELECT * FROM order\n"
        "                  ^^^^^\n"
        "    hint: did you mean 'orders'?\n"
        "\n"
        "p.sql:9:1: error: late\n"
        "    b\n"
        "    ^"
    )


def test_tabs_and_wide_characters_keep_the_caret_under_its_word() -> None:
    """A tab takes up to four columns, a wide character two (CLI-08)."""
    line, mark = caret("\t'日本' x bad", 9, 3)

    assert line == "        '日本' x bad"
    assert mark == " " * (4 + 4 + 6 + 3) + "^^^"


def test_a_wide_word_has_a_wide_caret() -> None:
    """Two wide characters are underlined by four carets."""
    assert caret("a 日本", 3, 2)[1] == "      ^^^^"


def test_caret_at_the_end_of_a_line() -> None:
    """An error behind the last character has a caret there."""
    assert caret("SELECT", 7)[1] == "          ^"


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("('x.password' 'it''s', 'b' 'c', 'x.token'='t')", "('x.password' '*****', 'b' 'c', 'x.token'='*')"),
        ("'ssl.key.pem' 'never closed", "'ssl.key.pem' '************"),
        ("SET 'client.secret' = 'y';", "SET 'client.secret' = '*';"),
        ("LOCATION 'http://u:p@ss@h/x?token=t&a=b'", "LOCATION 'http://u:****@h/x?token=*&a=b'"),
        ("SELECT 'a', 'b' FROM t WHERE x = 'password' AND y = 'z'", "SELECT 'a', 'b' FROM t WHERE x = 'password' AND y = 'z'"),
        ("'url' 'http://host:8081/subjects/a@b'", "'url' 'http://host:8081/subjects/a@b'"),
    ],
)
def test_secrets_of_a_shown_line_are_covered(line: str, shown: str) -> None:
    """An error beside a password does not print it, and its caret stays where it was (CFG-22)."""
    assert caret(line, len(line) - 1)[0] == f"    {shown}"
    assert len(line) == len(shown)


@pytest.mark.parametrize("column", [1, 60, 150, 299])
def test_long_lines_are_cut_around_the_caret(column: int) -> None:
    """Whatever the column, the line fits and the caret stands under its character (CL-02)."""
    text = "".join(chr(ord("a") + i % 26) for i in range(300))

    line, mark = caret(text, column, 1, terminal=80)

    assert len(line) <= 80
    assert line[mark.index("^")] == text[column - 1]


def test_invisible_characters_are_escapes() -> None:
    """A line with ANSI codes or a no-break space shows them; the caret counts the escape (OB-03)."""
    line, mark = caret("\x1b[31m\xa0x", 7)

    assert line == "    \\x1b[31m\\xa0x"
    assert line[mark.index("^")] == "x"
    assert printable("a\u202eb\n") == "a\\u202eb\\n"


def test_an_error_without_a_place() -> None:
    """Others begin with error:, name what they are about, and keep their lines apart."""
    shown = format_error(DecodeFailed("first\nsecond\x1b", where="orders[3] offset 17", hint="drop it"))

    assert shown == "error: orders[3] offset 17: first\n    second\\x1b\n    hint: drop it"
    assert format_error(OptionError("k", "no")) == "error: no"


def test_plain_text_has_no_colour() -> None:
    """Without a terminal the text is what format_error gives, nothing else (CL-02)."""
    out = io.StringIO()

    show_error(error("abc", 1), out)

    assert out.getvalue() == format_error(error("abc", 1)) + "\n"
    assert not coloured(out)


def test_a_terminal_has_colours_and_a_width(terminal: Terminal) -> None:
    """On a terminal error:, the carets and hint: are coloured, and lines are cut to its width."""
    show_error(error("x" * 300, 200, hint="less"), terminal)

    shown = terminal.getvalue()
    assert "\x1b[1;31merror:\x1b[0m" in shown
    assert "\x1b[36mhint:\x1b[0m less" in shown
    assert "\x1b[1;31m^\x1b[0m" in shown
    assert max(len(line) for line in shown.splitlines()[1:2]) <= 100


def test_no_color_is_obeyed(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    """NO_COLOR and a dumb terminal have no colours."""
    monkeypatch.setenv("NO_COLOR", "1")
    show_error(error("abc", 1), terminal)
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    show_error(error("abc", 1), terminal)

    assert "\x1b" not in terminal.getvalue()
