"""``${NAME}`` and ``${NAME:-default}`` filled from the environment: one pass, values opaque, places kept.

Inside quotes a value's own quotes are doubled, so a value cannot end the string it stands in. Outside of quotes a value
stands as it is and may hold any SQL. Comments are left alone. ``$${NAME}`` is a literal ``${NAME}``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from thalweg.dialect.lexer import COMMENT, comment_end
from thalweg.dialect.tree import SourceText

if TYPE_CHECKING:
    from collections.abc import Mapping

    from thalweg.errors import ScriptError

_NAME: Final = r"[A-Za-z_][A-Za-z0-9_]*"
_MARK: Final = re.compile(r"\$\$\{|\$\{")
_VARIABLE: Final = re.compile(rf"\$\{{(?P<name>{_NAME})(?::-(?P<default>[^}}\n]*))?\}}")
_OUTSIDE: Final = re.compile(rf"(?P<comment>{COMMENT})|(?P<mark>\$\$\{{(?={_NAME}(?::-|\}}))|\$\{{)|(?P<quote>(?:(?<!\w)[eE])?'|\"|`|\$(?:[^\W\d]\w*)?\$)")
_SHORT: Final = 40


@dataclass(frozen=True, slots=True)
class Substituted:
    """The text to parse, what could not be filled, and where that lies in the text."""

    source: SourceText
    errors: tuple[ScriptError, ...]
    unfilled: tuple[tuple[int, int], ...]
    """``(start, end)`` in ``source.text`` of what stands for each variable that had no value."""


def substitute(original: str, file: str, environ: Mapping[str, str]) -> Substituted:
    """Fill every variable of ``original``; a byte order mark in front is no part of the text."""
    run = _Substitution(original.removeprefix("\ufeff"), environ)
    run.outside()
    source = SourceText(file, "".join(run.out), run.text, tuple(run.edits))
    plain = SourceText(file, run.text, run.text)
    errors = tuple(plain.error(fault.message, fault.at, width=fault.width, hint=fault.hint) for fault in run.faults)
    return Substituted(source, errors, tuple(run.unfilled))


@dataclass(frozen=True, slots=True)
class _Fault:
    """One variable that could not be filled; never says a value."""

    at: int
    width: int
    message: str
    hint: str


@dataclass(slots=True)
class _Substitution:
    """One pass over the text; ``at`` is what has been copied or replaced."""

    text: str
    environ: Mapping[str, str]
    at: int = 0
    length: int = 0
    """Length of ``out`` so far."""
    out: list[str] = field(default_factory=list)
    edits: list[tuple[int, int, int]] = field(default_factory=list)
    faults: list[_Fault] = field(default_factory=list)
    unfilled: list[tuple[int, int]] = field(default_factory=list)

    def outside(self) -> None:
        """The whole text, beginning outside of quotes."""
        scan = 0
        while match := _OUTSIDE.search(self.text, scan):
            if match.lastgroup == "comment":
                scan = comment_end(self.text, match.start()) or len(self.text)
            elif match.lastgroup == "mark":
                scan = self.mark(match.start(), "")
            else:
                scan = self.inside(match.group(), match.end())
        self.copy_to(len(self.text))

    def inside(self, quote: str, start: int) -> int:
        """A quoted run from behind its opening mark; returns the offset behind its closing mark."""
        closing = quote[-1] if not quote.startswith("$") else quote
        skip = r"\\.|''|" if quote in {"e'", "E'"} else "" if quote.startswith("$") else re.escape(closing * 2) + "|"
        pattern = re.compile(rf"{skip}(?P<mark>\$\$\{{|\$\{{)|(?P<end>{re.escape(closing)})", re.DOTALL)
        scan = start
        while match := pattern.search(self.text, scan):
            if match.lastgroup == "end":
                return match.end()
            scan = match.end() if match.lastgroup is None else self.mark(match.start(), quote)
        return len(self.text)

    def mark(self, start: int, quote: str) -> int:
        """``${`` or ``$${`` at ``start``; returns the offset from which to go on."""
        if self.text.startswith("$$", start):
            self.replace(start, start + len("$$"), "$")
            return start + len("$${")
        match = _VARIABLE.match(self.text, start)
        if match is None:
            return self.malformed(start)
        self.fill(match, quote)
        return match.end()

    def fill(self, match: re.Match[str], quote: str) -> None:
        """One well-formed variable."""
        name, default = match["name"], match["default"]
        value = self.environ.get(name)
        if default is not None and not value:
            value = default  # as in a shell, :- covers unset and empty
        if value is None:
            hint = f"set {name}, or give a default: ${{{name}:-...}}"
            self.fault(match, f"the environment variable {name} is not set", hint)
        elif quote.startswith("$") and quote in value:
            self.fault(match, f"the value of {name} holds the {quote} that ends this string", f"write '${{{name}}}' in single quotes")
        else:
            self.replace(match.start(), match.end(), _guarded(value, quote))

    def fault(self, match: re.Match[str], message: str, hint: str) -> None:
        """A variable without a usable value: its name stands in, so that the rest can be read."""
        self.faults.append(_Fault(match.start(), match.end() - match.start(), message, hint))
        begin = self.replace(match.start(), match.end(), match["name"])
        self.unfilled.append((begin, self.length))

    def malformed(self, start: int) -> int:
        """A ``${`` that is no variable."""
        line_end = self.text.find("\n", start)
        rest = self.text[start : len(self.text) if line_end < 0 else line_end]
        closed = rest.find("}") + 1
        named = re.match(rf"\$\{{{_NAME}", rest)
        if closed and not (named and re.search(r"['\"\s/]", rest[:closed])):
            message = f"expected ${{NAME}} or ${{NAME:-default}}, found {rest[:closed][:_SHORT]}"
        else:
            message = "this ${ has no closing }"
        self.faults.append(_Fault(start, closed or len("${"), message, "a literal ${ is written $${"))
        self.copy_to(start)
        self.unfilled.append((self.length, self.length + len("${")))
        return start + len("${")

    def replace(self, start: int, end: int, value: str) -> int:
        """Put ``value`` in the place of ``text[start:end]``; returns its offset in the result."""
        self.copy_to(start)
        begin = self.length
        self.out.append(value)
        self.length += len(value)
        self.edits.append((start, end - start, len(value)))
        self.at = end
        return begin

    def copy_to(self, end: int) -> None:
        """Take the text over as it is, up to ``end``."""
        self.out.append(self.text[self.at : end])
        self.length += end - self.at
        self.at = end


def _guarded(value: str, quote: str) -> str:
    """A value that cannot end the quoted run it stands in."""
    if not quote or quote.startswith("$"):
        return value
    if quote in {"e'", "E'"}:
        value = value.replace("\\", "\\\\")
    return value.replace(quote[-1], quote[-1] * 2)
