"""A place in the lexemes of a file: look, take, expect; errors are collected, and ``Stop`` unwinds to where reading can go on."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NoReturn

from thalweg.dialect.lexer import Kind, Lexeme
from thalweg.dialect.names import did_you_mean, fold, nearest
from thalweg.dialect.tree import Fragment, Name, SourceText, Text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

CLOSER: Final = {"(": ")", "[": "]", "{": "}"}
_OPENER: Final = {closer: opener for opener, closer in CLOSER.items()}
_AFTER_CREATE: Final = frozenset({"EXTERNAL", "UNBOUNDED", "VIEW", "FUNCTION", "OR", "TABLE"})
_SHOWN: Final = 40
_HEAD_LEXEMES: Final = 6


class Stop(Exception):
    """The error is noted; go on at the next item, clause or statement."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One error before it has become a ScriptError."""

    offset: int
    width: int
    message: str
    hint: str | None


class Cursor:
    """Reads the lexemes of one file from front to back."""

    def __init__(self, source: SourceText, lexemes: Sequence[Lexeme]) -> None:
        """Begin at the first lexeme."""
        self.source = source
        self.problems: list[Problem] = []
        self._lexemes = lexemes
        self._heads = frozenset(i for i in range(len(lexemes)) if self._begins_statement(i))
        self._at = 0
        self._first = 0

    # -- where we are
    @property
    def lexeme(self) -> Lexeme | None:
        """The next lexeme; None at the end of the file."""
        return self._lexemes[self._at] if self._at < len(self._lexemes) else None

    @property
    def here(self) -> int:
        """Offset of the next lexeme, or of the end of the last one."""
        return self.lexeme.start if self.lexeme else self.behind

    @property
    def behind(self) -> int:
        """Offset behind the lexeme that was taken last."""
        return self._lexemes[self._at - 1].end if self._at else 0

    @property
    def width(self) -> int:
        """Length of the next lexeme."""
        return self.lexeme.end - self.lexeme.start if self.lexeme else 1

    def more(self) -> bool:
        """Whether the file goes on."""
        return self._at < len(self._lexemes)

    def begin_statement(self) -> int:
        """The next lexeme begins a statement, whatever it is; returns its offset."""
        self._first = self._at
        return self.here

    def at_end(self) -> bool:
        """Whether the statement ends here: at ``;``, at the file's end, or where the next one begins without a ``;``."""
        return self.lexeme is None or self.lexeme.upper == ";" or (self._at in self._heads and self._at > self._first)

    def peek(self, *words: str) -> bool:
        """Whether these words or signs come next."""
        ahead = self._lexemes[self._at : self._at + len(words)]
        return len(ahead) == len(words) and all(lexeme.upper == word for lexeme, word in zip(ahead, words, strict=True))

    def peek_kind(self, *kinds: Kind) -> bool:
        """Whether the next lexeme is of one of these kinds."""
        return self.lexeme is not None and self.lexeme.kind in kinds

    def next_kind(self) -> Kind | None:
        """What the lexeme behind the next one is."""
        return self._lexemes[self._at + 1].kind if self._at + 1 < len(self._lexemes) else None

    def next_after(self, offset: int) -> tuple[int, int]:
        """Offset and width of the first lexeme from ``offset`` on; the end of the file has width 1."""
        index = bisect_left(self._lexemes, offset, key=lambda lexeme: lexeme.start)
        if index == len(self._lexemes):
            return self._lexemes[-1].end if self._lexemes else 0, 1
        return self._lexemes[index].start, self._lexemes[index].end - self._lexemes[index].start

    def name_behind(self, words: frozenset[str]) -> Name | None:
        """The identifier behind the first of ``words`` in this statement so far or to come."""
        for index in range(self._first, min(self._first + _HEAD_LEXEMES, len(self._lexemes) - 1)):
            after = self._lexemes[index + 1]
            if self._lexemes[index].upper in words and after.kind in {Kind.WORD, Kind.NAME}:
                return Name((after.value if after.kind is Kind.NAME else fold(after.value),), after.start)
        return None

    # -- taking
    def advance(self) -> Lexeme:
        """Take the next lexeme, whatever it is."""
        lexeme = self._lexemes[self._at]
        self._at += 1
        return lexeme

    def take(self, *words: str) -> bool:
        """Take these words or signs if they come next."""
        if not self.peek(*words):
            return False
        self._at += len(words)
        return True

    def take_near(self, word: str) -> bool:
        """Take ``word``, or a misspelt ``word`` after noting the error."""
        if self.take(word):
            return True
        found = self.lexeme
        if found is None or found.kind is not Kind.WORD or self.at_end() or nearest(found.value, [word]) is None:
            return False
        self.error(f"expected {word}, found {self.shown()}", hint=f"did you mean {word}?")
        self._at += 1
        return True

    def expect(self, *words: str, what: str = "") -> None:
        """Take these words, misspelt ones after noting the error; anything else stops."""
        for word in words:
            if not self.take_near(word):
                self.fail(f"expected {what or ' '.join(words)}, found {self.shown()}")

    def string(self, what: str) -> Text:
        """Take a quoted string."""
        found = self.lexeme
        if found is None or found.kind is not Kind.STRING or self.at_end():
            self.fail(f"expected {what} in single quotes, found {self.shown()}", hint=self._quoting_hint())
        self._at += 1
        return Text(found.value, found.start)

    def identifier(self, what: str) -> Name:
        """Take one identifier."""
        found = self.lexeme
        if found is None or found.kind not in {Kind.WORD, Kind.NAME} or self.at_end():
            self.fail(f"expected {what}, found {self.shown()}")
        self._at += 1
        return Name((found.value if found.kind is Kind.NAME else fold(found.value),), found.start)

    def dotted(self, what: str) -> Name:
        """Take an identifier, perhaps with dots."""
        first = self.identifier(what)
        parts = list(first.parts)
        while self.take("."):
            parts += self.identifier(f"a name after {'.'.join(parts)}.").parts
        return Name(tuple(parts), first.start)

    def fragment(self, start: int) -> Fragment:
        """The text from ``start`` to the end of the lexeme that was taken last, verbatim."""
        return Fragment(start, self.source.text[start : self.behind])

    def skip(self, until: Callable[[], bool] | None = None, *, commas: bool = True) -> None:
        """Past a balanced run: up to a comma, a closer that it did not open, where ``until`` holds, or the statement's end."""
        closers: list[str] = []
        while not self.at_end():
            sign = self._lexemes[self._at].upper
            if sign in CLOSER:
                closers.append(CLOSER[sign])
            elif sign in _OPENER:
                if not closers:
                    return
                closers.pop()
            elif not closers and commas and sign == ",":
                return
            if until is not None and until():
                return
            self._at += 1

    def skip_statement(self) -> None:
        """To the end of the statement."""
        while not self.at_end():
            self._at += 1

    def balanced(self, what: str, stop: tuple[str, ...] = ()) -> None:
        """Past a run whose brackets must match, up to a closer that it did not open, ``stop`` or the statement's end."""
        opened: list[Lexeme] = []
        while not self.at_end() and not (stop and self.peek(*stop)):
            lexeme = self._lexemes[self._at]
            if lexeme.upper in CLOSER:
                opened.append(lexeme)
            elif lexeme.upper in _OPENER:
                if not opened:
                    return
                if CLOSER[opened[-1].upper] != lexeme.upper:
                    self.fail(f"expected {CLOSER[opened[-1].upper]} in {what}, found {self.shown()}")
                opened.pop()
            self._at += 1
        if opened:
            self.fail(f"this {opened[-1].upper} has no closing {CLOSER[opened[-1].upper]} in {what}", at=opened[-1].start)

    # -- errors
    def error(self, message: str, *, at: int | None = None, width: int | None = None, hint: str | None = None) -> None:
        """Note an error at the next lexeme, or at ``at``."""
        size = self.width if at is None else 1
        self.problems.append(Problem(self.here if at is None else at, width or size, message, hint))

    def fail(self, message: str, *, at: int | None = None, width: int | None = None, hint: str | None = None) -> NoReturn:
        """Note an error and stop."""
        self.error(message, at=at, width=width, hint=hint)
        raise Stop

    def shown(self) -> str:
        """The next lexeme as the user wrote it: a variable shows its name, never its value."""
        return self.shown_at(self.here, self.width) if self.lexeme else "the end of the file"

    def shown_at(self, offset: int, width: int) -> str:
        """A lexeme at another place, the same way."""
        text = self.written(offset, offset + width).split("\n")[0]
        if not text:
            return "the end of the file"
        return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."

    def written(self, start: int, end: int) -> str:
        """``text[start:end]`` as it stands in the file, with variables unfilled."""
        stop, shift = self.source.to_original(end), 0
        for at, old, new in self.source.edits:
            if at - shift < end < at - shift + new:
                stop = at + old
            shift += old - new
        return self.source.original[self.source.to_original(start) : stop]

    def place(self, offset: int) -> str:
        """``line:column`` of an offset, for a message about another place."""
        location = self.source.location(offset)
        return f"{location.line}:{location.column}"

    def _quoting_hint(self) -> str | None:
        """What to do about something that should have been a quoted string."""
        if self.at_end() or not self.peek_kind(Kind.WORD, Kind.NAME, Kind.NUMBER):
            return None
        bare = self.shown().strip('"`')
        return f"strings stand in single quotes: '{bare}'"

    def _begins_statement(self, index: int) -> bool:
        """Whether a statement begins here that nobody can mistake: its first words, first on their line."""
        upper = self._lexemes[index].upper
        if upper not in {"CREATE", "COPY", "SET"}:
            return False
        start = self._lexemes[index].start
        if self.source.text[self.source.text.rfind("\n", 0, start) + 1 : start].strip():
            return False
        ahead = self._lexemes[index + 1 : index + 3]
        if not ahead:
            return False
        if upper == "CREATE":
            return ahead[0].upper in _AFTER_CREATE
        if upper == "SET":
            return ahead[0].kind is Kind.STRING
        named = ahead[0].kind in {Kind.WORD, Kind.NAME} and len(ahead) > 1 and (ahead[1].upper in {".", "TO"} or ahead[1].kind is Kind.STRING)
        return ahead[0].upper == "(" or named


def expected_one_of(cursor: Cursor, choices: Sequence[str], where: str, hint: str | None = None) -> NoReturn:
    """Stop because none of ``choices`` comes next; says which one was probably meant."""
    listed = choices[0] if len(choices) == 1 else ", ".join(choices[:-1]) + " or " + choices[-1]
    found = cursor.lexeme
    if hint is None and found is not None and found.kind is Kind.WORD:
        hint = did_you_mean(found.value, choices)
    cursor.fail(f"expected {listed}{where}, found {cursor.shown()}", hint=hint)
