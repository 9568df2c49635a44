"""Places in a file as the user sees it."""

from __future__ import annotations

import pytest

from thalweg.dialect.tree import Fragment, Name, SourceText


@pytest.mark.parametrize(
    ("text", "mark", "place"),
    [
        ("a\nb", "b", (2, 1)),
        ("a\r\n\tb", "b", (2, 2)),
        ("é😀b", "b", (1, 3)),
        ("e\u0301b", "b", (1, 3)),
        ("b", "b", (1, 1)),
        ("\n\n  b\n", "b", (3, 3)),
    ],
)
def test_line_and_column_count_code_points(text: str, mark: str, place: tuple[int, int]) -> None:
    """Lines and columns count from 1, in code points, whatever the line ends (CF-06)."""
    found = SourceText("f.sql", text, text).location(text.index(mark))

    assert (found.line, found.column) == place
    assert "\r" not in found.text
    assert found.text[found.column - 1] == mark


def test_caret_stays_on_its_line() -> None:
    """The caret is at least one wide and does not run past the line."""
    source = SourceText("f.sql", "ab\ncd", "ab\ncd")

    assert source.location(1, 99).width == 1
    assert source.location(5, 9).width == 1
    assert source.location(99).line == 2


def test_fragment_and_name() -> None:
    """A fragment knows its end, a name its dotted form."""
    assert Fragment(3, "abc").end == 6
    assert str(Name(("raw", "orders"), 0)) == "raw.orders"
