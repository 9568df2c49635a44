"""Errors on a terminal: the place, the line with a caret, the way out. Plain and deterministic where there is no terminal."""

from __future__ import annotations

import os
import re
import shutil
from typing import TYPE_CHECKING, Final, TextIO

from rich.cells import cell_len

from thalweg.errors import ScriptError, ScriptErrors
from thalweg.model.options import redact_line

if TYPE_CHECKING:
    from thalweg.errors import Location, ThalwegError

PLAIN_WIDTH: Final = 120
"""Cells that a source line may take where nobody knows how wide the terminal is."""
_INDENT: Final = "    "
_TAB: Final = 4
_CUT: Final = "..."
_NARROWEST: Final = 30
_RED: Final = "\x1b[1;31m"
_CYAN: Final = "\x1b[36m"
_PLAIN: Final = "\x1b[0m"


def show_error(error: ThalwegError, stream: TextIO) -> None:
    """Write an error to a stream; coloured and fitted only where the stream is a terminal."""
    if not stream.isatty():
        stream.write(format_error(error) + "\n")
        return
    text = format_error(error, width=shutil.get_terminal_size().columns)
    stream.write((_painted(text) if coloured(stream) else text) + "\n")


def format_error(error: ThalwegError, *, width: int = PLAIN_WIDTH) -> str:
    """An error as plain text without a newline at its end; the errors of a file are kept apart by an empty line."""
    if isinstance(error, ScriptErrors):
        return "\n\n".join(format_error(e, width=width) for e in error.errors)
    if isinstance(error, ScriptError):
        lines = [f"{error.location}: error: {_block(error.message)}", *_caret(error.location, width)]
    else:
        lines = [f"error: {printable(error.where)}: {_block(error.message)}" if error.where else f"error: {_block(error.message)}"]
    if error.hint:
        lines.append(f"{_INDENT}hint: {_block(error.hint)}")
    return "\n".join(line.rstrip() for line in lines)


def coloured(stream: TextIO) -> bool:
    """Whether to use colour: a terminal that knows it, and nobody said NO_COLOR."""
    return is_screen(stream) and not os.environ.get("NO_COLOR")


def is_screen(stream: TextIO) -> bool:
    """Whether a stream is a terminal on which something can be drawn over."""
    return stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"


def printable(text: str) -> str:
    """Control, format and other invisible characters as escapes: a value cannot move the cursor or forge a line."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def _block(text: str) -> str:
    """A message of one or more lines; the ones after the first are indented."""
    return ("\n" + _INDENT).join(printable(line.expandtabs(_TAB)) for line in text.strip().splitlines())


def _caret(location: Location, width: int) -> list[str]:
    """The source line and the line under it, cut around the caret where they do not fit."""
    at, count, line = location.column - 1, max(1, location.width), redact_line(location.text)
    before, marked = _expanded(line[:at], 0), ""
    marked = _expanded(line[at : at + count], cell_len(before))
    after = _expanded(line[at + count :], cell_len(before + marked))
    room = max(width, _NARROWEST) - len(_INDENT)
    if cell_len(before + marked + after) > room:
        before, marked, after = _window(before, marked, after, room)
    return [_INDENT + before + marked + after, _INDENT + " " * cell_len(before) + "^" * max(1, cell_len(marked))]


def _window(before: str, marked: str, after: str, room: int) -> tuple[str, str, str]:
    """The part of a long line around its caret: the caret's start always shows."""
    marked = _head(marked, room - 2 * len(_CUT) - _TAB)
    left = room - cell_len(marked)
    if cell_len(before) > left // 2:
        keep = max(left // 2, left - cell_len(after)) - len(_CUT)
        before = _CUT + _tail(before, keep)
    if cell_len(after) > room - cell_len(before + marked):
        after = _head(after, room - cell_len(before + marked) - len(_CUT)) + _CUT
    return before, marked, after


def _expanded(text: str, column: int) -> str:
    """Tabs as spaces up to the next stop, invisible characters as escapes."""
    out: list[str] = []
    for c in text:
        piece = " " * (_TAB - column % _TAB) if c == "\t" else printable(c)
        out.append(piece)
        column += cell_len(piece)
    return "".join(out)


def _head(text: str, cells: int) -> str:
    """As much of the beginning as fits."""
    while cell_len(text) > max(0, cells):
        text = text[:-1]
    return text


def _tail(text: str, cells: int) -> str:
    """As much of the end as fits."""
    while cell_len(text) > max(0, cells):
        text = text[1:]
    return text


def _painted(text: str) -> str:
    """The words ``error:`` and ``hint:`` at their places, and the carets, in colour."""
    text = re.sub(r"^((?:\S.*?: )?)(error:)", rf"\1{_RED}\2{_PLAIN}", text, flags=re.MULTILINE)
    text = re.sub(rf"^({_INDENT})(hint:)", rf"\1{_CYAN}\2{_PLAIN}", text, flags=re.MULTILINE)
    return re.sub(r"^( +)(\^+)$", rf"\1{_RED}\2{_PLAIN}", text, flags=re.MULTILINE)
