"""Variables: one pass, opaque values, places that point into the file as it is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thalweg.dialect.lexer import lex
from thalweg.dialect.substitute import substitute


def filled(text: str, **environ: str) -> str:
    """The text after substitution; there must be no error."""
    done = substitute(text, "f.sql", environ)
    assert done.errors == ()
    return done.source.text


def test_value_is_not_filled_again() -> None:
    """A ``$`` in a value stays, a ``${...}`` in it too: one pass only (CF-01)."""
    assert filled("'${P}' ${P}", P="pa$$w${HOME}rd", HOME="/h") == "'pa$$w${HOME}rd' pa$$w${HOME}rd"


def test_lone_dollars_and_escapes_stay() -> None:
    """``$5``, a lone ``$`` and dollar quotes are no variables; ``$${X}`` is a literal ``${X}`` (CF-01)."""
    assert filled("$5 $ '$ $5' $${X} '$${X} $${'", X="no") == "$5 $ '$ $5' ${X} '${X} ${'"
    assert filled('$${"a": 1}$$ $t$ ${X} $t$', X="v") == '$${"a": 1}$$ $t$ v $t$'


def test_defaults() -> None:
    """A default stands in for an unset and for an empty variable; an empty one without default is empty."""
    assert filled("'${A:-x}' '${A:-}' '${B:-y}' '${B}' '${C:-z}'", B="", C="c") == "'x' '' 'y' '' 'c'"
    assert filled("'${A:-it's}' ${A:-'q'}") == "'it''s' 'q'"


@pytest.mark.parametrize(
    ("around", "value", "inside"),
    [
        ("'{}'", "a'b; COPY", "a''b; COPY"),
        ('"{}"', 'a"b', 'a""b'),
        ("`{}`", "a`b", "a``b"),
        ("E'{}'", "a'b\\n", "a''b\\\\n"),
        ("e'{}'", "\\", "\\\\"),
        ("$${}$$", "a'b", "a'b"),
    ],
)
def test_value_cannot_break_out(around: str, value: str, inside: str) -> None:
    """A value cannot end the quoted run that it stands in (CF-02)."""
    assert filled(around.replace("{}", "${V}"), V=value) == around.replace("{}", inside)


@given(st.text(st.characters(exclude_categories=["Cs"])), st.sampled_from(["'", '"', "`", "E'", "$t$"]))
def test_any_value_stays_one_lexeme(value: str, quote: str) -> None:
    """Whatever a value holds, a quoted variable is one lexeme with that value, or an error that does not show it (CF-02)."""
    close = quote if quote.startswith("$") else quote[-1]
    done = substitute(f"{quote}${{V}}{close} END", "f.sql", {"V": value})

    if done.errors:
        assert quote == "$t$"
        assert "$t$" in value
        return
    lexemes, faults = lex(done.source.text)
    assert [lexeme.value for lexeme in lexemes] == [value, "END"]
    assert faults == []


@pytest.mark.parametrize("value", ["a: b", '"', "-----BEGIN\nKEY\n-----END", "0123", "false", "1e3", "", "#x", "null", "--", "/*"])
def test_awkward_values_are_text(value: str) -> None:
    """Values are text and nothing else, whatever they look like (CF-02)."""
    assert lex(filled("'${X}'", X=value))[0][0].value == value


def test_comments_are_left_alone() -> None:
    """Nothing is filled in a comment, so a commented-out line needs no variable."""
    text = "-- ${NO}\n/* ${NO /* ${} */ */ '--${YES}' /*"

    assert filled(text, YES="y") == text.replace("${YES}", "y")


def test_unset_variable_is_an_error_with_its_place() -> None:
    """Every unset variable is named where it stands, and what is filled elsewhere is never shown (CF-01)."""
    done = substitute("SET 'a' = '${S}';\r\n\tSET 'ü' = '${NOPE}' ${NOPE2};", "f.sql", {"S": "secret"})

    assert [(str(e.location), e.location.width, e.message) for e in done.errors] == [
        ("f.sql:2:13", 7, "the environment variable NOPE is not set"),
        ("f.sql:2:22", 8, "the environment variable NOPE2 is not set"),
    ]
    assert all("secret" not in str(e) for e in done.errors)
    assert [done.source.text[a:b] for a, b in done.unfilled] == ["NOPE", "NOPE2"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("'${X'", "this ${ has no closing }"),
        ("${X\n}", "this ${ has no closing }"),
        ("'${A/b' '${B}'", "this ${ has no closing }"),
        ("${}", "expected ${NAME} or ${NAME:-default}, found ${}"),
        ("'${1X}'", "expected ${NAME} or ${NAME:-default}, found ${1X}"),
        ("${X:?no}", "expected ${NAME} or ${NAME:-default}, found ${X:?no}"),
        ("${X-y}", "expected ${NAME} or ${NAME:-default}, found ${X-y}"),
    ],
)
def test_malformed_variable(text: str, message: str) -> None:
    """What is no variable and no escape is an error that says how to write either."""
    done = substitute(text, "f.sql", {"B": "b"})

    assert [e.message for e in done.errors] == [message]
    assert done.errors[0].hint == "a literal ${ is written $${"


def test_value_that_would_end_a_dollar_quoted_string() -> None:
    """Dollar quotes know no escape, so a value that holds them is refused, without being shown (CF-02)."""
    done = substitute("$$ ${V} $$", "f.sql", {"V": "x $$; COPY hidden"})

    assert [e.message for e in done.errors] == ["the value of V holds the $$ that ends this string"]
    assert "hidden" not in str(done.errors[0])


def test_byte_order_mark_is_no_column() -> None:
    """A byte order mark counts for nothing (CF-06)."""
    done = substitute("\ufeff${X}", "f.sql", {})

    assert str(done.errors[0].location) == "f.sql:1:1"
    assert done.source.original == "${X}"


@given(st.lists(st.sampled_from(["ab", "ü\n", "${A}", "${B:-dd}", "$${C}", "'", "${D}", "\r\n", "😀"]), max_size=12))
def test_places_lead_back_to_the_file(pieces: list[str]) -> None:
    """Every place outside of a value leads back to the same character of the file."""
    done = substitute("".join(pieces), "f.sql", {"A": "longer value", "D": ""}).source
    values: set[int] = set()
    shift = 0
    for at, old, new in done.edits:
        values |= set(range(at - shift, at - shift + new))
        shift += old - new

    for offset, character in enumerate(done.text):
        if offset not in values:
            assert done.original[done.to_original(offset)] == character
    assert done.to_original(len(done.text)) == len(done.original)
