"""SQL types to Arrow: every row of the reference table, and every refusal at its place."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thalweg.plan.types import TypeRefused, parse_type

if TYPE_CHECKING:
    import pyarrow as pa

PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "types.md").read_text(encoding="utf-8")
ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in PAGE.splitlines() if line.startswith("| `")]
GIVEN = [(sql, row[1].strip("`")) for row in ROWS if len(row) == 3 for sql in re.findall(r"`([^`]+)`", row[0])]
REFUSED = [(sql, row[1]) for row in ROWS if len(row) == 2 for sql in re.findall(r"`([^`]+)`", row[0])]


def shown(kind: pa.DataType) -> str:
    """An Arrow type in the words of the page."""
    return str(kind).replace(" not null", "")


@pytest.mark.parametrize(("sql", "arrow"), GIVEN)
def test_the_reference_page_is_right(sql: str, arrow: str) -> None:
    """Each name on the page gives the Arrow type beside it, in capitals and in small letters (DAG-07)."""
    assert shown(parse_type(sql).type) == arrow
    if '"' not in sql:
        assert shown(parse_type(sql.lower()).type) == arrow


@pytest.mark.parametrize(("sql", "why"), REFUSED)
def test_the_reference_page_refuses_what_it_says(sql: str, why: str) -> None:
    """Each refused type is refused for the reason on the page, never mapped to something near (DAG-17)."""
    with pytest.raises(TypeRefused) as found:
        parse_type(sql)

    assert why in found.value.message


def test_the_page_has_all_rows() -> None:
    """The tables are not empty by an accident of parsing."""
    assert len(GIVEN) > 60
    assert len(REFUSED) > 15


@pytest.mark.parametrize(
    ("sql", "offset", "width", "message", "hint"),
    [
        ("ARRAY<STRNG>", 6, 5, "unknown type STRNG", "did you mean STRING?"),
        ("ROW<a INT, b BIGNIT>", 13, 6, "unknown type BIGNIT", "did you mean BIGINT?"),
        ("ROW<a INT, a INT>", 11, 1, "the field a is declared twice", None),
        ("ROW<a>", 5, 1, "expected a type, found '>'", None),
        ("ROW<1 INT>", 4, 1, "expected a field name, found '1'", None),
        ("MAP<STRING>", 10, 1, "expected , and the type of the MAP's values, found '>'", None),
        ("ARRAY<INT", 8, 1, "expected >, found the end of the type", None),
        ("INT INT", 4, 3, "expected the end of the type, found 'INT'", None),
        ("VARCHAR(x)", 8, 1, "expected a length, found 'x'", None),
        ("VARCHAR(0)", 8, 1, "a length is at least 1", None),
        ("DECIMAL(1, 2, 3)", 14, 1, "expected a precision and a scale, found '3'", None),
        ("DECIMAL(1 2)", 10, 1, "expected , or ), found '2'", None),
        ("DECIMAL(3, 5)", 0, 13, "the scale of DECIMAL cannot be larger than its precision, found 5 over 3", None),
        ("TIMESTAMP(4)", 0, 12, "the precision of TIMESTAMP is 0, 3, 6 or 9, found 4", "0 is seconds, 3 milliseconds, 6 microseconds (the default), 9 nanoseconds"),
        ("MAP", 0, 3, "MAP needs what it holds", "write for example MAP<STRING, INT>"),
    ],
)
def test_refusals_stand_at_their_place(sql: str, offset: int, width: int, message: str, hint: str | None) -> None:
    """A wrong type is refused at the word that is wrong, with the nearest right one."""
    with pytest.raises(TypeRefused) as found:
        parse_type(sql)

    assert (found.value.offset, found.value.width, found.value.message, found.value.hint) == (offset, width, message, hint)


def test_a_type_without_a_near_name_lists_them() -> None:
    """A word that is near to nothing gets the list of names."""
    with pytest.raises(TypeRefused) as found:
        parse_type("QQQQ")

    assert found.value.hint is not None
    assert "BIGINT" in found.value.hint


def test_types_do_not_nest_without_end() -> None:
    """A hostile type cannot exhaust the stack."""
    with pytest.raises(TypeRefused, match="nest deeper"):
        parse_type("ARRAY<" * 5_000 + "INT" + ">" * 5_000)


def test_meaning_travels_as_field_metadata() -> None:
    """JSON and UUID keep their meaning wherever they stand."""
    nested = parse_type("MAP<STRING, ROW<u UUID, j JSON[]>>").type.item_type

    assert nested.field("u").metadata == {b"twg:type": b"uuid"}
    assert nested.field("j").type.value_field.metadata == {b"twg:type": b"json"}
    assert parse_type("JSON").field("x").metadata == {b"twg:type": b"json"}


def test_a_length_that_is_not_enforced_is_said() -> None:
    """Nothing is ignored in silence: a length gives a note (GEN-17)."""
    assert parse_type("ROW<a VARCHAR(20)>").notes == ("the length of VARCHAR(20) is not enforced",)
    assert parse_type("VARCHAR NULL").notes == ()


def test_comments_and_quotes_inside_of_a_type() -> None:
    """Flink's comments on fields are skipped; quoted names keep their capitals and doubled quotes."""
    kind = parse_type('ROW<"a ""b""" INT \'the b\', `c` INT /* c */, d -- d\n INT>').type

    assert [field.name for field in kind] == ['a "b"', "c", "d"]


@given(st.text(alphabet="ARINTOW<>(), []\"'`0123_", max_size=30))
def test_no_text_breaks_the_reader(text: str) -> None:
    """Whatever is given, the answer is a type or a refusal inside the text (DAG-17)."""
    refusal = None
    try:
        parse_type(text)
    except TypeRefused as e:
        refusal = e

    assert refusal is None or (0 <= refusal.offset <= max(len(text), 1) and refusal.width >= 1)
