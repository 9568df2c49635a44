"""Insertions into a text."""

from __future__ import annotations

import pytest

from thalweg.dialect.lineage import analyse
from thalweg.dialect.splice import Edit, apply


def test_apply() -> None:
    """Edits are made at their offsets, those at one offset in order, each distinct one once."""
    edits = [Edit(3, "C"), Edit(0, "A"), Edit(3, "D"), Edit(3, "C"), Edit(1, "B")]

    assert apply("xyz", edits) == "AxByzCD"
    assert apply("xyz", []) == "xyz"


@pytest.mark.parametrize(
    ("sql", "spliced"),
    [
        ("SELECT a FROM t", 'SELECT a, "t"."_twg_row" FROM t'),
        ("SELECT * FROM t", "SELECT * FROM t"),
        ("SELECT *, a FROM t", 'SELECT * EXCLUDE ("_twg_row"), a, "t"."_twg_row" FROM t'),
        ("SELECT a, * FROM t", "SELECT a, * FROM t"),
        ("SELECT *, FROM t", 'SELECT * EXCLUDE ("_twg_row"), "t"."_twg_row" FROM t'),
        ("SELECT t.*, t.* FROM t", 'SELECT t.* EXCLUDE ("_twg_row"), t.* FROM t'),
        ("SELECT * EXCLUDE a, b FROM t", 'SELECT * EXCLUDE (a, "_twg_row"), b, "t"."_twg_row" FROM t'),
        ("SELECT * EXCEPT (a), b FROM t", 'SELECT * EXCEPT (a, "_twg_row"), b, "t"."_twg_row" FROM t'),
        ("SELECT d.*, 1 FROM t, d", 'SELECT d.*, 1, "t"."_twg_row" FROM t, d'),
        ("SELECT * FROM t, d", 'SELECT * EXCLUDE ("_twg_row"), "t"."_twg_row" FROM t, d'),
        ("SELECT FROM t", 'SELECT "t"."_twg_row" FROM t'),
        ("FROM t AS x SELECT a", 'FROM t AS x SELECT a, "x"."_twg_row"'),
        ("SELECT a * 2, count FROM t", 'SELECT a * 2, count, "t"."_twg_row" FROM t'),
        ("SELECT j.* FROM (t JOIN d ON true) AS j", 'SELECT j.* EXCLUDE ("_twg_row"), "j"."_twg_row" FROM (t JOIN d ON true) AS j'),
        ("SELECT x.* FROM t AS x(a, b)", 'SELECT x.* FROM t AS x(a, b, "_twg_row")'),
        ('SELECT "X y".a FROM t "X y"', 'SELECT "X y".a, "X y"."_twg_row" FROM t "X y"'),
    ],
)
def test_select_lists(sql: str, spliced: str) -> None:
    """Each select list shows the hidden column once and last, and a star shows it only where it ends the list (CRD-05)."""
    assert analyse(sql, {"t"}, ()).spliced == spliced
