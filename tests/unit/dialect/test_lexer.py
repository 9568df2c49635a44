"""Lexemes: what belongs together, what is left out, and what never ends."""

from __future__ import annotations

import pytest

from thalweg.dialect.lexer import Kind, lex, without_comments


def values(text: str) -> list[str]:
    """What the lexemes of ``text`` say."""
    return [lexeme.value for lexeme in lex(text)[0]]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("'it''s'", "it's"),
        ("''", ""),
        ("'a;b--c/*d*/'", "a;b--c/*d*/"),
        (r"'back\slash'", r"back\slash"),
        (r"E'tab\tquote\'x'", "tab\tquote'x"),
        (r"e'it''s'", "it's"),
        ("$$it's $1$$", "it's $1"),
        ("$tag$ $$ $tag$", " $$ "),
        ("'two\nlines'", "two\nlines"),
    ],
)
def test_strings(text: str, value: str) -> None:
    """Every way to write a string gives its value."""
    (lexeme,), faults = lex(text)

    assert (lexeme.kind, lexeme.value, lexeme.start, lexeme.end) == (Kind.STRING, value, 0, len(text))
    assert faults == []


@pytest.mark.parametrize(("text", "value"), [('"a ""b"""', 'a "b"'), ("`a``b`", "a`b"), ('"é;"', "é;")])
def test_quoted_names(text: str, value: str) -> None:
    """Double quotes and backticks make names."""
    (lexeme,), _ = lex(text)

    assert (lexeme.kind, lexeme.value, lexeme.upper) == (Kind.NAME, value, "")


def test_words_numbers_and_signs() -> None:
    """Words keep their case and show it upper, numbers may have exponents, every other character is a sign."""
    lexemes, _ = lex("Select naïve_1, 1.5e-3 .5 ->>")

    assert [lexeme.kind for lexeme in lexemes] == [
        Kind.WORD, Kind.WORD, Kind.SIGN, Kind.NUMBER, Kind.NUMBER, Kind.SIGN, Kind.SIGN, Kind.SIGN,
    ]  # fmt: skip
    assert [lexeme.upper for lexeme in lexemes[:2]] == ["SELECT", "NAÏVE_1"]
    assert values("enamee'x'") == ["enamee", "x"]


def test_comments_are_left_out() -> None:
    """Line comments end with the line, block comments nest; quotes inside of them count for nothing."""
    assert values("a -- it's\nb /* ' /* \" */ ; */ c --") == ["a", "b", "c"]
    assert without_comments("a--é\nb/* 😀 */c") == "a   \nb       c"


@pytest.mark.parametrize(
    ("text", "what", "start"),
    [("a 'b", "string", 2), ('a "b', "quoted name", 2), ("a /* b /* */", "comment", 2), ("a $x$ b $y$", "string", 2), ("a `b", "quoted name", 2)],
)
def test_endless_runs_are_faults(text: str, what: str, start: int) -> None:
    """A string, name or comment that never ends is reported where it begins."""
    _, faults = lex(text)

    assert [(fault.what, fault.start) for fault in faults] == [(what, start)]


def test_missing_quote_costs_one_line() -> None:
    """The string whose quote is missing ends with its line; everything behind it is read as it was meant."""
    text = "COPY a TO './x STORED AS PARQUET;\nCOPY b TO './y' OPTIONS ('k' 'v');\nSET 'z' = 'w';"

    lexemes, faults = lex(text)

    assert [fault.start for fault in faults] == [10]
    assert "./x STORED AS PARQUET" in values(text)
    assert [lexeme.value for lexeme in lexemes if lexeme.kind is Kind.STRING][1:] == ["./y", "k", "v", "z", "w"]


def test_two_missing_quotes_are_two_faults() -> None:
    """Two missing quotes pair up to well-formed nonsense; both are found all the same."""
    text = "SET 'a' = 'x;\nSET 'b' = 'y';\nSET 'c' = 'z;\nSET 'd' = 'w';"

    _, faults = lex(text)

    assert [text[fault.start :][:2] for fault in faults] == ["'x", "'z"]


def test_long_broken_input_ends() -> None:
    """Thousands of stray quotes take no more than a moment."""
    lexemes, faults = lex("'a\n" * 3_001)

    assert faults
    assert lexemes
