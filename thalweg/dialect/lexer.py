"""A pipeline file to lexemes: words, strings, numbers and signs with their places; comments are left out.

The rules are those of DataFusion's tokenizer. A string or comment that never ends is a fault, and reading goes on behind it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final


class Kind(Enum):
    """What a lexeme is."""

    WORD = auto()
    NAME = auto()
    """An identifier in double quotes or backticks."""
    STRING = auto()
    """In single quotes; ``E'...'`` and dollar quotes are strings too."""
    NUMBER = auto()
    SIGN = auto()
    """One character."""


@dataclass(frozen=True, slots=True)
class Lexeme:
    """One run of the text that belongs together."""

    kind: Kind
    start: int
    end: int
    value: str
    """What it says: a word as written, a string or name without its quotes."""
    upper: str
    """The word in upper case or the sign; empty for the others."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A string, quoted name or comment that never ends."""

    start: int
    what: str


COMMENT: Final = r"--[^\n]*|/\*"
_CODE: Final = re.compile(
    rf"""(?P<space>\s+)
    |(?P<comment>{COMMENT})
    |(?P<quoted>[eE]?'|"|`|\$(?:[^\W\d]\w*)?\$)
    |(?P<number>\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)
    |(?P<word>[^\W\d][\w$]*)
    |(?P<sign>.)""",
    re.VERBOSE | re.DOTALL,
)
_NEST: Final = re.compile(r"/\*|\*/")
_BODY: Final = {
    "'": re.compile(r"[^']*+(?:''[^']*+)*+'"),
    '"': re.compile(r'[^"]*+(?:""[^"]*+)*+"'),
    "`": re.compile(r"[^`]*+(?:``[^`]*+)*+`"),
    "e'": re.compile(r"[^'\\]*+(?:(?:\\.|'')[^'\\]*+)*+'", re.DOTALL),
}
_REPAIRS: Final = 50
_TOUCHING: Final = frozenset({Kind.WORD, Kind.NUMBER, Kind.STRING})
_WHAT: Final = {'"': "quoted name", "`": "quoted name"}


def lex(text: str) -> tuple[list[Lexeme], list[Fault]]:
    """Every lexeme of ``text`` in order, and what never ends."""
    broken: set[int] = set()
    while True:
        run = _Lexer(text, frozenset(broken))
        run.read()
        at = run.missing_quote()
        if at is None or len(broken) >= _REPAIRS:
            return run.lexemes, run.faults
        broken.add(at)


def without_comments(text: str) -> str:
    """``text`` with every comment replaced by as many spaces, so that places stay."""
    pieces, last = [], 0
    for lexeme in lex(text)[0]:
        pieces += [_blank(text[last : lexeme.start]), text[lexeme.start : lexeme.end]]
        last = lexeme.end
    return "".join([*pieces, _blank(text[last:])])


def comment_end(text: str, start: int) -> int | None:
    """The offset behind the comment that begins at ``start``; comments nest. None when it never ends."""
    if text.startswith("--", start):
        newline = text.find("\n", start)
        return len(text) if newline < 0 else newline
    depth = 0
    for match in _NEST.finditer(text, start):
        depth += 1 if match.group() == "/*" else -1
        if depth == 0:
            return match.end()
    return None


def quoted_end(text: str, opening: str, start: int) -> int | None:
    """The offset behind a quoted run whose opening mark ends at ``start``, or None when it never ends."""
    if opening.startswith("$"):
        at = text.find(opening, start)
        return None if at < 0 else at + len(opening)
    match = _BODY[opening.lower()].match(text, start)
    return None if match is None else match.end()


def _blank(gap: str) -> str:
    """What stands between two lexemes, as white space."""
    return gap if gap.isspace() or not gap else re.sub(r"\S", " ", gap)


class _Lexer:
    """One pass over the text."""

    def __init__(self, text: str, broken: frozenset[int]) -> None:
        """``broken``: where quoted runs begin that end with their line because their closing quote is missing."""
        self.text = text
        self.broken = broken
        self.lexemes: list[Lexeme] = []
        self.faults: list[Fault] = []

    def read(self) -> None:
        """Read to the end."""
        at = 0
        while at < len(self.text):
            match = _CODE.match(self.text, at)
            assert match is not None  # the last alternative takes anything
            kind = match.lastgroup
            if kind == "comment":
                at = self._comment(at)
            elif kind == "quoted":
                at = self._quoted(at, match.group())
            else:
                at = match.end()
                if kind != "space":
                    self._add(Kind[str(kind).upper()], match.start(), at, match.group())

    def missing_quote(self) -> int | None:
        """Where a quoted run begins whose closing quote is missing, other than those known already.

        A missing quote turns every later string inside out: a string over several lines with something behind it that cannot
        follow a string should have ended with its line.
        """
        for lexeme, after in zip(self.lexemes, self.lexemes[1:], strict=False):
            touched = lexeme.end == after.start and (after.kind in _TOUCHING or after.upper in {".", "/"})
            if touched and lexeme.kind in {Kind.STRING, Kind.NAME} and "\n" in self.text[lexeme.start : lexeme.end]:
                return lexeme.start
        return next((fault.start for fault in self.faults if fault.start not in self.broken and fault.what != "comment"), None)

    def _add(self, kind: Kind, start: int, end: int, value: str) -> None:
        """Note one lexeme."""
        upper = value.upper() if kind in {Kind.WORD, Kind.SIGN} else ""
        self.lexemes.append(Lexeme(kind, start, end, value, upper))

    def _comment(self, start: int) -> int:
        """Skip a comment."""
        end = comment_end(self.text, start)
        if end is None:
            self.faults.append(Fault(start, "comment"))
            return len(self.text)
        return end

    def _quoted(self, start: int, opening: str) -> int:
        """A string or a quoted name."""
        begin = start + len(opening)
        end = None if start in self.broken else quoted_end(self.text, opening, begin)
        kind = Kind.NAME if opening in _WHAT else Kind.STRING
        if end is None:
            self.faults.append(Fault(start, _WHAT.get(opening, "string")))
            end = self._line_end(begin)
            self._add(kind, start, end, self.text[begin:end])
            return end
        self._add(kind, start, end, _value(opening, self.text[begin : end - (len(opening) if opening.startswith("$") else 1)]))
        return end

    def _line_end(self, begin: int) -> int:
        """The end of a broken quoted run: its line's end, without the ``;``, ``)`` and ``,`` that stand there."""
        newline = self.text.find("\n", begin)
        line = self.text[begin : len(self.text) if newline < 0 else newline]
        return begin + len(line.rstrip(" \t\r;,)"))


_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}


def _value(opening: str, body: str) -> str:
    """The text between quotes with its escapes undone."""
    if opening.startswith("$"):
        return body
    quote = opening[-1]
    if opening in {"e'", "E'"}:
        return re.sub(r"\\(.)|''", lambda m: "'" if m.group(1) is None else _ESCAPES.get(m.group(1), m.group(1)), body, flags=re.DOTALL)
    return body.replace(quote * 2, quote)
