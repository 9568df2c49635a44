"""Typed text to pieces: statements that end with ``;`` and backslash commands that end with their line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from thalweg.dialect.lexer import lex
from thalweg.errors import Location, ScriptError

if TYPE_CHECKING:
    from thalweg.dialect.lexer import Lexeme


@dataclass(frozen=True, slots=True)
class Piece:
    """One thing to do, and where it came from."""

    text: str
    """A statement without its ``;``, or a whole backslash command."""
    origin: str
    """A file's name, ``stdin``, or ``input``."""
    line: int = 1
    """Of the first character, from 1."""
    before: str = ""
    """What stands before it on its line."""

    @property
    def is_command(self) -> bool:
        """Whether it is a backslash command."""
        return self.text.startswith("\\")

    def lexemes(self) -> list[Lexeme]:
        """The words of a statement."""
        return lex(self.text)[0]

    def error(self, message: str, offset: int = 0, *, width: int = 1, hint: str | None = None) -> ScriptError:
        """An error at an offset into the text."""
        offset = max(0, min(offset, len(self.text)))
        begin = self.text.rfind("\n", 0, offset) + 1
        end = self.text.find("\n", offset)
        text = self.text[begin : end if end >= 0 else len(self.text)].rstrip("\r")
        rows = self.text.count("\n", 0, offset)
        before = self.before if rows == 0 else ""
        place = Location(self.origin, self.line + rows, offset - begin + 1 + len(before), before + text, max(1, min(width, len(text) - (offset - begin))))
        return ScriptError(message, place, hint=hint)


def split(text: str, origin: str, *, whole: bool) -> tuple[list[Piece], str]:
    """The complete pieces of ``text`` and the rest that waits for its ``;``.

    With ``whole`` nothing more will come: the rest is a piece too. Comments alone are no rest.
    """
    pieces: list[Piece] = []
    at = pending = 0
    lines = text.splitlines(keepends=True)
    for number, line in enumerate(lines):
        if line.lstrip().startswith("\\") and _blank(text[pending:at]):
            begin = at + len(line) - len(line.lstrip())
            pieces.append(_piece(text, begin, at + len(line), origin))
            pending = at + len(line)
        at += len(line)
        following = lines[number + 1] if number + 1 < len(lines) else "\\"
        if following.lstrip().startswith("\\"):
            found, pending = _statements(text, pending, at, origin)
            pieces += found
    rest = text[pending:]
    if _blank(rest):
        rest = ""
    elif whole:
        pieces.append(_piece(text, pending, len(text), origin))
        rest = ""
    return pieces, rest


def _statements(text: str, start: int, end: int, origin: str) -> tuple[list[Piece], int]:
    """The statements between two offsets, and where the first incomplete one begins."""
    part = text[start:end]
    lexemes, faults = lex(part)
    limit = min((fault.start for fault in faults), default=len(part))
    pieces, begin = [], 0
    for lexeme in lexemes:
        if lexeme.start < begin or lexeme.start >= limit:
            continue
        if lexeme.upper == "\\" and _blank(part[begin : lexeme.start]):
            newline = part.find("\n", lexeme.start)
            end_of_line = len(part) if newline < 0 else newline
            pieces.append(_piece(text, start + lexeme.start, start + end_of_line, origin))
            begin = end_of_line
        elif lexeme.upper == ";":
            if not _blank(part[begin : lexeme.start]):
                pieces.append(_piece(text, start + begin, start + lexeme.start, origin))
            begin = lexeme.end
    return pieces, start + begin


def _piece(text: str, start: int, end: int, origin: str) -> Piece:
    """A piece without the space around it."""
    inner = text[start:end]
    start += len(inner) - len(inner.lstrip())
    return Piece(inner.strip(), origin, text.count("\n", 0, start) + 1, text[text.rfind("\n", 0, start) + 1 : start])


def _blank(text: str) -> bool:
    """Whether there is nothing but space and comments."""
    if not text.strip():
        return True
    lexemes, faults = lex(text)
    return not lexemes and not faults
