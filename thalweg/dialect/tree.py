"""What a pipeline file says, as frozen statements with their places; embedded SQL stays verbatim."""

from __future__ import annotations

from dataclasses import dataclass, field

from thalweg.errors import Location, ScriptError


@dataclass(frozen=True, slots=True)
class Fragment:
    """A run of the file's text: a query, an expression or a type, exactly as written."""

    start: int
    """0-based code point offset into ``SourceText.text``."""
    text: str

    @property
    def end(self) -> int:
        """Offset after the last code point."""
        return self.start + len(self.text)


@dataclass(frozen=True, slots=True)
class SourceText:
    """The file after ``${NAME}`` was filled, and the way back to places in the file as the user sees it."""

    file: str
    text: str
    original: str
    """The text before substitution; locations point into this."""
    edits: tuple[tuple[int, int, int], ...] = ()
    """``(offset in original, length in original, length in text)`` for each substitution, ascending."""

    def to_original(self, offset: int) -> int:
        """Where an offset into ``text`` lies in ``original``; inside a substituted value: its start."""
        shift = 0
        for at, old, new in self.edits:
            if offset < at - shift:
                break
            if offset < at - shift + new:
                return at
            shift += old - new
        return offset + shift

    def location(self, offset: int, width: int = 1) -> Location:
        """Line and column, both from 1, and the line itself."""
        at = min(self.to_original(offset), len(self.original))
        begin = self.original.rfind("\n", 0, at) + 1
        end = self.original.find("\n", at)
        line = self.original[begin : end if end >= 0 else len(self.original)].rstrip("\r")
        return Location(self.file, self.original.count("\n", 0, at) + 1, at - begin + 1, line, max(1, min(width, len(line) - (at - begin))))

    def error(self, message: str, offset: int, *, width: int = 1, hint: str | None = None) -> ScriptError:
        """A ScriptError at an offset into ``text``."""
        return ScriptError(message, self.location(offset, width), hint=hint)


@dataclass(frozen=True, slots=True)
class Name:
    """An identifier, perhaps dotted, folded the way DataFusion folds it."""

    parts: tuple[str, ...]
    start: int

    def __str__(self) -> str:
        """Parts joined by dots."""
        return ".".join(self.parts)


@dataclass(frozen=True, slots=True)
class Text:
    """A quoted string and where it stands."""

    value: str
    start: int


@dataclass(frozen=True, slots=True)
class Option:
    """One ``'key' 'value'`` pair."""

    key: str
    value: str
    start: int
    """Offset of the key."""
    value_start: int


@dataclass(frozen=True, slots=True)
class ColumnDef:
    """One column of a source's column list."""

    name: str
    type: Fragment
    start: int
    metadata: Text | None = None
    """``METADATA FROM 'key'``; plain ``METADATA`` repeats the column's own name."""
    not_null: bool = False


@dataclass(frozen=True, slots=True)
class Expectation:
    """``CONSTRAINT name EXPECT (expr) ON VIOLATION action``."""

    name: str
    expr: Fragment
    action: str
    """``WARN`` (none given), ``FAIL``, ``DROP ROW``, ``QUARANTINE`` or ``ANNOTATE``."""
    start: int


@dataclass(frozen=True, slots=True)
class SetOption:
    """``SET 'key' = 'value';``."""

    start: int
    end: int
    key: Text
    value: Text


@dataclass(frozen=True, slots=True)
class CreateTable:
    """``CREATE [UNBOUNDED] EXTERNAL TABLE``."""

    start: int
    end: int
    name: Name
    stored_as: Text
    """Upper case."""
    location: Text
    unbounded: bool = False
    columns: tuple[ColumnDef, ...] = ()
    expectations: tuple[Expectation, ...] = ()
    options: tuple[Option, ...] = ()
    partitioned_by: tuple[Name, ...] = ()
    bare: str = ""
    """The statement without its column list: what DataFusion gets for static kinds without declared columns."""


@dataclass(frozen=True, slots=True)
class CreateView:
    """``CREATE VIEW name [(constraints)] AS query``."""

    start: int
    end: int
    name: Name
    query: Fragment
    expectations: tuple[Expectation, ...] = ()


@dataclass(frozen=True, slots=True)
class CreateFunction:
    """``CREATE FUNCTION f(types) RETURNS type LANGUAGE l AS 'where'``."""

    start: int
    end: int
    name: Name
    arguments: Fragment | None
    returns: Fragment | None
    language: Text
    body: Text


@dataclass(frozen=True, slots=True)
class Copy:
    """``COPY relation|(query) TO 'url' STORED AS kind [PARTITIONED BY (...)] [OPTIONS (...)]``."""

    start: int
    end: int
    relation: Name | None
    """Exactly one of ``relation`` and ``query`` is given."""
    query: Fragment | None
    target: Text
    stored_as: Text | None
    partitioned_by: tuple[Name, ...] = ()
    options: tuple[Option, ...] = ()


Statement = SetOption | CreateTable | CreateView | CreateFunction | Copy


@dataclass(frozen=True, slots=True)
class Script:
    """A whole file. Statements that had errors of their own are left out; what can be checked further is checked further."""

    source: SourceText
    statements: tuple[Statement, ...]
    errors: tuple[ScriptError, ...] = field(default=())
    broken: frozenset[str] = field(default=frozenset())
    """Names that a broken statement would have defined: nobody is told that they are unknown."""
