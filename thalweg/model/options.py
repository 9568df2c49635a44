"""``OPTIONS (...)`` to frozen dataclasses: typed, documented, did-you-mean, secrets redacted.

A plug-in describes its options as one frozen dataclass whose fields are made by :func:`option` and
:func:`passthrough`; :func:`read` fills it from the text of a statement.
"""

from __future__ import annotations

import dataclasses
import difflib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, cast

from thalweg.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

T = TypeVar("T")
_SECRET = re.compile(r"password|secret|token|credential|sasl\.jaas|private|\.key\b|key\.pem|user-?info|basic[.-]auth", re.IGNORECASE)
_DURATION = re.compile(r"(?P<n>\d+(?:\.\d+)?)\s*(?P<unit>ns|us|ms|s|sec|second|min|m|h|d)s?", re.IGNORECASE)
_DURATION_NS = {
    "ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000, "sec": 1_000_000_000, "second": 1_000_000_000,
    "min": 60_000_000_000, "m": 60_000_000_000, "h": 3_600_000_000_000, "d": 86_400_000_000_000,
}
_SIZE = re.compile(r"(?P<n>\d+(?:\.\d+)?)\s*(?P<unit>b|kb|kib|mb|mib|gb|gib)?", re.IGNORECASE)
_SIZE_BYTES = {"b": 1, "kb": 1_000, "kib": 1 << 10, "mb": 1_000_000, "mib": 1 << 20, "gb": 1_000_000_000, "gib": 1 << 30}
REDACTED = "********"
MAX_DEPTH = 64
"""Levels of ``decode.max_depth`` at most: what reads schemas and documents goes down by recursion, and Parquet's readers have bounds."""
_URL_SECRET = re.compile(
    r"((?<=://)[^/@:\s']*:|[?&][^=&\s']*(?:password|secret|token|credential)[^=&\s']*=)((?<=:)[^/\s']*(?=@)|(?<==)[^&\s']*)", re.IGNORECASE
)
_OPTION = re.compile(r"('[^']*'\s*=?\s*')((?:[^']|'')*)")


@dataclass(frozen=True, slots=True)
class OptionDoc:
    """What one option is called, takes and does; the reference page is made from these."""

    key: str
    takes: str
    default: str
    doc: str
    prefix: bool = False
    """Whether ``key`` is a prefix such as ``properties.``."""


def text(value: str) -> str:
    """Any text."""
    return value


def integer(value: str) -> int:
    """A whole number."""
    try:
        return int(value)
    except ValueError:
        message = f"expected a whole number, found {value!r}"
        raise ValueError(message) from None


def boolean(value: str) -> bool:
    """``true`` or ``false``."""
    folded = value.strip().lower()
    if folded not in {"true", "false"}:
        message = f"expected true or false, found {value!r}"
        raise ValueError(message)
    return folded == "true"


def duration(value: str) -> int:
    """A duration such as ``250 ms``, ``60 s`` or ``7 d``, in nanoseconds."""
    match = _DURATION.fullmatch(value.strip())
    if match is None:
        message = f"expected a duration such as '250 ms' or '60 s', found {value!r}"
        raise ValueError(message)
    return round(float(match["n"]) * _DURATION_NS[match["unit"].lower()])


def size(value: str) -> int:
    """A size such as ``64 MiB`` or ``32000000``, in bytes."""
    match = _SIZE.fullmatch(value.strip())
    if match is None:
        message = f"expected a size such as '64 MiB', found {value!r}"
        raise ValueError(message)
    return round(float(match["n"]) * _SIZE_BYTES[(match["unit"] or "b").lower()])


def one_of(*choices: str) -> Callable[[str], str]:
    """One of a few words."""

    def read_choice(value: str) -> str:
        folded = value.strip().lower()
        if folded not in choices:
            near = difflib.get_close_matches(folded, choices, n=1)
            mean = f"; did you mean {near[0]!r}?" if near else ""
            message = f"expected one of {', '.join(choices)}, found {value!r}{mean}"
            raise ValueError(message)
        return folded

    read_choice.__doc__ = "one of " + ", ".join(f"`{c}`" for c in choices)
    return read_choice


def at_least(low: int, reader: Callable[[str], int] = integer) -> Callable[[str], int]:
    """A number or size that is not below ``low``."""

    def read_bounded(value: str) -> int:
        out = reader(value)
        if out < low:
            message = f"must be at least {low}, found {value!r}"
            raise ValueError(message)
        return out

    read_bounded.__doc__ = f"{(reader.__doc__ or '').rstrip('.')}, at least {low}"
    return read_bounded


def within(low: int, high: int, reader: Callable[[str], int] = integer) -> Callable[[str], int]:
    """A whole number, or a size, from ``low`` to ``high``."""

    def read_within(value: str) -> int:
        out = reader(value)
        if not low <= out <= high:
            message = f"must be from {low} to {high}, found {value!r}"
            raise ValueError(message)
        return out

    read_within.__doc__ = f"{(reader.__doc__ or '').rstrip('.')} from {low} to {high}"
    return read_within


def option(
    key: str, reader: Callable[[str], object] = text, *, default: object = dataclasses.MISSING, doc: str = "", secret: bool = False
) -> Any:  # noqa: ANN401 - the value of a dataclass field takes the field's own type
    """One option: its key, how its text is read, its default and what it does."""
    meta = {"key": key, "reader": reader, "doc": doc, "secret": secret}
    return dataclasses.field(default=default, metadata=meta, repr=not secret)


def passthrough(prefix: str, *, doc: str = "") -> Any:  # noqa: ANN401 - see option()
    """Every option under ``prefix``, as a mapping without it; secret values never show in ``repr``."""
    meta = {"key": prefix, "prefix": True, "doc": doc}
    return dataclasses.field(default_factory=dict, metadata=meta, repr=False)


def docs(cls: type) -> list[OptionDoc]:
    """Every option of an options dataclass, in the order of its fields."""
    out = []
    for field in dataclasses.fields(cls):
        meta = field.metadata
        if "key" not in meta:
            continue
        prefix = bool(meta.get("prefix"))
        takes = "" if prefix else (getattr(meta["reader"], "__doc__", None) or "").strip().split("\n")[0].rstrip(".")
        default = "" if prefix else ("required" if field.default is dataclasses.MISSING else _shown(field.default))
        out.append(OptionDoc(meta["key"], takes, default, meta["doc"], prefix))
    return out


def _shown(value: object) -> str:
    """A default, as a user would write it."""
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def is_known(key: str, known: list[OptionDoc]) -> bool:
    """Whether ``key`` is one of ``known`` or lies under one of its prefixes."""
    return any(key.startswith(d.key) and len(key) > len(d.key) if d.prefix else key == d.key for d in known)


def unknown(key: str, known: list[OptionDoc]) -> OptionError:
    """The error for a key that nobody claims, with the nearest key that somebody does."""
    near = difflib.get_close_matches(key.lower(), [d.key for d in known if not d.prefix], n=1, cutoff=0.6)
    hint = f"did you mean '{near[0]}'?" if near else f"known options: {', '.join(d.key + ('*' if d.prefix else '') for d in known)}"
    return OptionError(key, f"unknown option '{key}'", hint=hint)


def read(cls: type[T], values: Mapping[str, str]) -> tuple[T | None, list[OptionError]]:
    """Fill ``cls`` from option texts; keys that it does not know are left to others.

    Returns the dataclass (None when there was an error) and every error, never raises.
    """
    found: dict[str, object] = {}
    errors: list[OptionError] = []
    for field in dataclasses.fields(cast("Any", cls)):
        meta = field.metadata
        key = meta.get("key")
        if key is None:
            continue
        if meta.get("prefix"):
            found[field.name] = {k[len(key):]: v for k, v in values.items() if k.startswith(key) and len(k) > len(key)}
        elif key in values:
            try:
                found[field.name] = meta["reader"](values[key])
            except ValueError as e:
                shown = "the value does not fit" if meta["secret"] else str(e)
                errors.append(OptionError(key, f"option '{key}': {shown}"))
        elif field.default is dataclasses.MISSING:
            errors.append(OptionError(key, f"option '{key}' is missing"))
    return (None, errors) if errors else (cls(**found), [])


def redact(values: Mapping[str, str]) -> dict[str, str]:
    """A copy in which the value of every key that looks like a secret is replaced."""
    return {k: REDACTED if _SECRET.search(k) else v for k, v in values.items()}


def redact_url(url: str) -> str:
    """``scheme://user:secret@host?token=secret`` without the secrets."""
    return _URL_SECRET.sub(lambda found: found[1] + REDACTED, url)


def redact_line(line: str) -> str:
    """A line of a ``.sql`` file in which every secret is covered by as many asterisks: what stands behind it stays in its place."""

    def covered(found: re.Match[str]) -> str:
        return found[1] + "*" * len(found[2])

    line = _OPTION.sub(lambda found: covered(found) if _SECRET.search(found[1]) else found[0], line)
    return _URL_SECRET.sub(covered, line)
