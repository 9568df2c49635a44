"""SQL type names, as DataFusion and Flink write them, to Arrow types."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass, field

import pyarrow as pa

from thalweg.plan import type_names as names

_TOKEN = re.compile(
    r"(?P<space>\s+|--[^\n]*|/\*.*?\*/)|(?P<number>\d+)|(?P<word>[^\W\d]\w*)|(?P<quoted>\"(?:[^\"]|\"\")*\"|`(?:[^`]|``)*`)"
    r"|(?P<text>'(?:[^']|'')*')|(?P<mark>.)",
    re.DOTALL,
)
_CLOSING = {"<": ">", "(": ")"}
_MAX_DECIMAL = 76
_SMALL_DECIMAL = 38
_MAX_DEPTH = 32


class TypeRefused(ValueError):
    """A type that cannot be read: what, where in the text, and the way out."""

    def __init__(self, message: str, offset: int, width: int = 1, hint: str | None = None) -> None:
        """``offset`` and ``width`` are code points of the type's text."""
        super().__init__(message)
        self.message = message
        self.offset = offset
        self.width = width
        self.hint = hint


@dataclass(frozen=True, slots=True)
class _Token:
    """One token: its kind, its text and where it starts."""

    kind: str
    text: str
    start: int


@dataclass(frozen=True, slots=True)
class SqlType:
    """An Arrow type, the meaning that Arrow has no type for, and what was not taken literally."""

    type: pa.DataType
    semantic: bytes | None = None
    notes: tuple[str, ...] = ()

    def field(self, name: str) -> pa.Field:
        """A nullable field of this type."""
        metadata = {names.SEMANTIC_KEY: self.semantic} if self.semantic else None
        return pa.field(name, self.type, metadata=metadata)


def parse_type(text: str) -> SqlType:
    """The Arrow type that ``text`` names; raises TypeRefused."""
    reader = _Reader(text, [_Token(m.lastgroup or "", m[0], m.start()) for m in _TOKEN.finditer(text) if m.lastgroup != "space"])
    found = reader.type(0)
    rest = reader.peek()
    if rest is not None:
        raise TypeRefused(f"expected the end of the type, found {rest.text!r}", rest.start, len(rest.text))
    return SqlType(found.type, found.semantic, tuple(reader.notes))


@dataclass(slots=True)
class _Reader:
    """A recursive-descent reader over the tokens of one type."""

    text: str
    tokens: list[_Token]
    at: int = 0
    notes: list[str] = field(default_factory=list)

    def peek(self) -> _Token | None:
        """The next token, None at the end."""
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def take(self, *texts: str) -> bool:
        """Take these tokens if they come next, whatever their case."""
        ahead = self.tokens[self.at : self.at + len(texts)]
        if len(ahead) == len(texts) and all(t.kind in {"word", "mark"} and t.text.upper() == x for t, x in zip(ahead, texts, strict=True)):
            self.at += len(texts)
            return True
        return False

    def fail(self, expected: str) -> TypeRefused:
        """The error for a token that should be something else."""
        token = self.peek()
        if token is None:
            return TypeRefused(f"expected {expected}, found the end of the type", max(len(self.text) - 1, 0))
        return TypeRefused(f"expected {expected}, found {token.text!r}", token.start, len(token.text))

    def type(self, depth: int) -> SqlType:
        """One type with its ``[]`` and ``ARRAY`` suffixes."""
        if depth > _MAX_DEPTH:
            raise TypeRefused(f"types nest deeper than {_MAX_DEPTH}", self.tokens[self.at - 1].start)
        found = self.base(depth)
        while True:
            if self.take("[", "]") or self.take("ARRAY"):
                found = SqlType(pa.list_(found.field("item")))
                continue
            token = self.peek()
            if token is not None and self.take("NOT", "NULL"):
                raise TypeRefused(
                    "NOT NULL inside a type is not checked in this build", token.start, self._width(token), "leave it out, or declare NOT NULL on the column"
                )
            if token is not None and token.text.upper() == "NULL" and self.take("NULL"):
                continue
            return found

    def base(self, depth: int) -> SqlType:
        """A type without suffixes."""
        first = self.peek()
        if first is None or first.kind != "word":
            raise self.fail("a type")
        name = self.name()
        width = self._width(first)
        if name in names.NESTED:
            return self.nested(name, first, depth)
        if name in names.REFUSED:
            message, hint = names.REFUSED[name]
            raise TypeRefused(message, first.start, width, hint)
        if name in names.DECIMALS:
            return self.decimal(name, first)
        if name in names.TIMES or name.split(" ")[0] in {"TIMESTAMP", *names.TIMESTAMPS}:
            return self.temporal(name, first)
        if name in names.SEMANTIC:
            storage, semantic = names.SEMANTIC[name]
            return SqlType(storage, semantic)
        if name not in names.SIMPLE:
            near = difflib.get_close_matches(name, names.NAMES, n=1)
            hint = f"did you mean {near[0]}?" if near else f"types: {', '.join(n for n in names.NAMES if ' ' not in n)}"
            raise TypeRefused(f"unknown type {self.text[first.start : first.start + width]}", first.start, width, hint)
        return self.sized(name, first)

    def name(self) -> str:
        """The longest run of words that starts a known name, upper case."""
        words = [self.tokens[self.at].text.upper()]
        self.at += 1
        while True:
            token = self.peek()
            longer = " ".join([*words, token.text.upper()]) if token is not None and token.kind == "word" else None
            if longer is None or not any(known == longer or known.startswith(longer + " ") for known in _ALL):
                return " ".join(words)
            words = longer.split(" ")
            self.at += 1

    def numbers(self, low: int, high: int, what: str) -> list[tuple[int, _Token]]:
        """``(n, ...)`` with between ``low`` and ``high`` numbers, or nothing."""
        out: list[tuple[int, _Token]] = []
        if not self.take("("):
            return out
        while True:
            token = self.peek()
            if token is None or token.kind != "number" or len(out) == high:
                raise self.fail(what)
            self.at += 1
            out.append((int(token.text), token))
            if self.take(")"):
                break
            if not self.take(","):
                raise self.fail(", or )")
        if len(out) < low:
            raise TypeRefused(f"expected {what}", out[-1][1].start, len(out[-1][1].text))
        return out

    def sized(self, name: str, first: _Token) -> SqlType:
        """A simple type, perhaps with a length."""
        if name not in names.LENGTHS | names.FIXED:
            return SqlType(names.SIMPLE[name])
        length = self.numbers(1, 1, "a length")
        if not length:
            return SqlType(names.SIMPLE[name])
        value, token = length[0]
        if value < 1:
            raise TypeRefused("a length is at least 1", token.start, len(token.text))
        if name in names.FIXED:
            return SqlType(pa.binary(value))
        self.notes.append(f"the length of {self.text[first.start : token.start + len(token.text)]}) is not enforced")
        return SqlType(names.SIMPLE[name])

    def decimal(self, name: str, first: _Token) -> SqlType:
        """``DECIMAL(p[, s])``: 128 bits up to 38 digits, 256 beyond."""
        given = self.numbers(1, 2, "a precision and a scale")
        if not given:
            hint = "Flink reads it as DECIMAL(10, 0), DataFusion as DECIMAL(38, 10): write which"
            raise TypeRefused(f"{name} needs its precision and scale", first.start, len(first.text), hint)
        precision, scale = given[0][0], given[1][0] if len(given) > 1 else 0
        width = self._width(first)
        if not 1 <= precision <= _MAX_DECIMAL:
            raise TypeRefused(f"the precision of {name} is between 1 and {_MAX_DECIMAL}, found {precision}", first.start, width)
        if scale > precision:
            raise TypeRefused(f"the scale of {name} cannot be larger than its precision, found {scale} over {precision}", first.start, width)
        return SqlType(pa.decimal128(precision, scale) if precision <= _SMALL_DECIMAL else pa.decimal256(precision, scale))

    def temporal(self, name: str, first: _Token) -> SqlType:
        """``TIME`` and ``TIMESTAMP`` with precision and zone, in either order of the words."""
        given = self.numbers(1, 1, "a precision")
        precision = given[0][0] if given else 6
        for words in ("WITHOUT TIME ZONE", "WITH TIME ZONE", "WITH LOCAL TIME ZONE"):
            if self.take(*words.split()):
                name = f"{name} {words}"
        width = self._width(first)
        if name in names.REFUSED:
            raise TypeRefused(names.REFUSED[name][0], first.start, width, names.REFUSED[name][1])
        unit = names.UNITS.get(precision)
        if unit is None:
            hint = "0 is seconds, 3 milliseconds, 6 microseconds (the default), 9 nanoseconds"
            raise TypeRefused(f"the precision of {name} is 0, 3, 6 or 9, found {precision}", first.start, width, hint)
        if name in names.TIMES:
            return SqlType(pa.time32(unit) if unit in {"s", "ms"} else pa.time64(unit))
        if name not in names.TIMESTAMPS:
            raise TypeRefused(f"unknown type {name}", first.start, width)
        return SqlType(pa.timestamp(unit, names.TIMESTAMPS[name]))

    def nested(self, name: str, first: _Token, depth: int) -> SqlType:
        """``ROW<...>``, ``STRUCT<...>``, ``ARRAY<...>``, ``MAP<...>``; ``(...)`` in place of ``<...>`` too."""
        opening = self.peek()
        if opening is None or opening.text not in _CLOSING:
            example = {"MAP": "MAP<STRING, INT>", "ARRAY": "ARRAY<INT>", "LIST": "ARRAY<INT>"}.get(name, f"{name}<id INT, name STRING>")
            raise TypeRefused(f"{name} needs what it holds", first.start, len(first.text), f"write for example {example}")
        self.at += 1
        closing = _CLOSING[opening.text]
        if name in {"ARRAY", "LIST"}:
            out = SqlType(pa.list_(self.type(depth + 1).field("item")))
            self._close(closing)
            return out
        if name == "MAP":
            key = self.type(depth + 1).field("key").with_nullable(False)  # noqa: FBT003 - pyarrow's own signature
            if not self.take(","):
                raise self.fail(", and the type of the MAP's values")
            value = self.type(depth + 1).field("value")
            self._close(closing)
            return SqlType(pa.map_(key, value))
        return SqlType(pa.struct(self.members(closing, depth)))

    def members(self, closing: str, depth: int) -> list[pa.Field]:
        """``name type, name: type, ...`` up to the closing mark."""
        out: list[pa.Field] = []
        while True:
            token = self.peek()
            if token is None or token.kind not in {"word", "quoted"}:
                raise self.fail("a field name")
            self.at += 1
            name = token.text.lower() if token.kind == "word" else token.text[1:-1].replace(token.text[0] * 2, token.text[0])
            if any(name == field.name for field in out):
                raise TypeRefused(f"the field {name} is declared twice", token.start, len(token.text))
            self.take(":")
            out.append(self.type(depth + 1).field(name))
            comment = self.peek()
            if comment is not None and comment.kind == "text":
                self.at += 1
            if self.take(","):
                continue
            self._close(closing)
            return out

    def _close(self, closing: str) -> None:
        """The closing mark."""
        if not self.take(closing):
            raise self.fail(closing)

    def _width(self, first: _Token) -> int:
        """Code points from ``first`` to the token before the next one."""
        last = self.tokens[max(self.at - 1, 0)]
        return max(last.start + len(last.text) - first.start, 1)


_ALL = frozenset({*names.NAMES, *names.REFUSED})
