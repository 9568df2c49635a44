"""One JSON document: bytes to Python values, strictly by RFC 8259; numbers and JSON-typed columns keep their text."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from json.decoder import scanstring  # type: ignore[attr-defined] # public in CPython since 2.6, missing in the type stubs
from typing import TYPE_CHECKING, Any, Final, NoReturn

from thalweg.arrow.rows import LIMIT, MALFORMED, BadValue, bounded, shown

if TYPE_CHECKING:
    from collections.abc import Mapping

_ESCAPE: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})|.)", re.DOTALL)
_STRING: Final = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_BRACKET: Final = re.compile(r"[\[\]{}]")
_SPACE: Final = re.compile(r"[ \t\n\r]*")
_SURROGATES: Final = range(0xD800, 0xE000)
_LOW: Final = 0xDC00


class Number(str):
    """A number as its digits stood in the document."""

    __slots__ = ()


class RawText(str):
    """A value of a JSON-typed column, exactly as it stood in the document."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Slices:
    """Where in a document the raw text of values is wanted."""

    raw: bool = False
    fields: Mapping[str, Slices] = field(default_factory=dict)
    items: Slices | None = None
    values: Slices | None = None
    """Of every value of an object that is a map."""

    def __bool__(self) -> bool:
        """Whether anything is wanted here or below."""
        return self.raw or bool(self.fields) or self.items is not None or self.values is not None


def _no_constant(name: str) -> NoReturn:
    """``NaN`` and ``Infinity`` are no JSON."""
    raise BadValue(MALFORMED, f"{name} is no JSON value")


_DECODER: Final = json.JSONDecoder(parse_float=Number, parse_int=Number, parse_constant=_no_constant)


def parse(payload: bytes, *, max_bytes: int, max_depth: int, slices: Slices | None) -> dict[str, Any]:
    """The object that ``payload`` is; the last of several equal keys wins. Raises BadValue."""
    if len(payload) > max_bytes:
        raise BadValue(LIMIT, f"document of {len(payload)} bytes is larger than 'decode.max_bytes' ({max_bytes})")
    text = _text(payload)
    try:
        document = _DECODER.decode(text)
    except json.JSONDecodeError as e:
        raise BadValue(MALFORMED, f"{e.msg} at character {e.pos} (line {e.lineno}, column {e.colno})") from None
    except RecursionError:
        raise BadValue(LIMIT, f"deeper than 'decode.max_depth' ({max_depth})") from None
    if not isinstance(document, dict):
        raise BadValue(MALFORMED, f"expected one JSON object, found {kind_of(document)}")
    if text.count("{") + text.count("[") > max_depth and _depth(text) > max_depth:
        raise BadValue(LIMIT, f"deeper than 'decode.max_depth' ({max_depth})")
    if "\\u" in text and _has_lone_surrogate(text):
        raise BadValue(MALFORMED, "a \\u escape is half of a surrogate pair")
    if slices:
        document, _ = _sliced(text, _skip(text, 0), slices)
    assert isinstance(document, dict)
    return document


def kind_of(value: object) -> str:
    """What a value is, in JSON's words."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, Number):
        return f"the number {bounded(value)}"
    if isinstance(value, str):
        return f"the string {shown(str(value))}"
    return "an object" if isinstance(value, dict) else "an array"


def _text(payload: bytes) -> str:
    """The document as text, with a hint for what is often sent instead."""
    if not payload:
        raise BadValue(MALFORMED, "the payload is empty (0 bytes); it is no tombstone and no JSON object")
    if payload[0] == 0:
        raise BadValue(MALFORMED, "the payload begins with byte 0, which is no JSON; it looks like Confluent framing (format 'json-confluent')")
    try:
        text = payload.decode("utf-8")
    except UnicodeDecodeError as e:
        raise BadValue(MALFORMED, f"invalid UTF-8 at byte {e.start}") from None
    if text.startswith("\ufeff"):
        raise BadValue(MALFORMED, "the payload begins with a byte order mark; JSON is sent without one")
    return text


def _depth(text: str) -> int:
    """Levels of objects and arrays in a valid document."""
    level = deepest = 0
    for bracket in _BRACKET.findall(_STRING.sub("", text)):
        level += 1 if bracket in "[{" else -1
        deepest = max(deepest, level)
    return deepest


def _has_lone_surrogate(text: str) -> bool:
    r"""Whether some ``\uD8xx`` escape of a valid document is not one half of a pair."""
    awaited = -1
    for match in _ESCAPE.finditer(text):
        code = int(match[1], 16) if match[1] else 0
        is_low = code in _SURROGATES and code >= _LOW
        if is_low != (awaited == match.start()) or (awaited >= 0 and not is_low):
            return True
        awaited = match.end() if code in _SURROGATES and not is_low else -1
    return awaited >= 0


def _sliced(text: str, at: int, slices: Slices | None) -> tuple[Any, int]:
    """The value at ``at`` of a valid document, raw where wanted, and the place after it."""
    if slices and not slices.raw and text[at] == "{" and (slices.fields or slices.values):
        return _sliced_object(text, at, slices)
    if slices and not slices.raw and text[at] == "[" and slices.items:
        return _sliced_array(text, at, slices.items)
    value, end = _DECODER.raw_decode(text, at)
    if slices and slices.raw and value is not None:
        return RawText(text[at:end]), end
    return value, end


def _skip(text: str, at: int) -> int:
    """The place of the next character that is no blank."""
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _sliced_object(text: str, at: int, slices: Slices) -> tuple[dict[str, Any], int]:
    """An object of which some members are raw."""
    out: dict[str, Any] = {}
    at = _skip(text, at + 1)
    while text[at] != "}":
        if text[at] == ",":
            at = _skip(text, at + 1)
        key, at = scanstring(text, at + 1, True)  # noqa: FBT003 - the function takes no keywords
        at = _skip(text, _skip(text, at) + 1)
        out[key], at = _sliced(text, at, slices.values or slices.fields.get(key))
        at = _skip(text, at)
    return out, at + 1


def _sliced_array(text: str, at: int, items: Slices) -> tuple[list[Any], int]:
    """An array whose items are or hold raw values."""
    out: list[Any] = []
    at = _skip(text, at + 1)
    while text[at] != "]":
        if text[at] == ",":
            at = _skip(text, at + 1)
        value, at = _sliced(text, at, items)
        out.append(value)
        at = _skip(text, at)
    return out, at + 1
