"""Where things lie: targets, file names and Hive folders."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"
LOG_FOLDER = "_twg"
SUFFIX = ".parquet"
NAME_BYTES = 255
"""Longest name of one file or folder on common file systems."""
_STEM_BYTES = 120
_SAFE = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")


def is_local(location: str) -> bool:
    """Whether ``location`` is a plain path or a ``file:`` URL."""
    return not _SCHEME.match(location) or location.lower().startswith("file:")


def local_path(location: str) -> Path:
    """The folder that a local location names, absolute.

    Raises ValueError, worded for the user, where the location names no folder.
    """
    path = location
    if location.lower().startswith("file:"):
        parts = urlsplit(location)
        if parts.netloc not in {"", "localhost"} or not parts.path.startswith("/"):
            message = f"{location!r} has no full path: a file URL has three slashes, file:///folder/"
            raise ValueError(message)
        path = unquote(parts.path)
    if not path.strip() or "\0" in path:
        message = "the location is empty: name the folder that the files go to"
        raise ValueError(message)
    if path.startswith("~"):
        message = f"{path!r}: ~ is not expanded, write the folder's full path or use ${{HOME}}"
        raise ValueError(message)
    if path.lower().endswith(SUFFIX):
        message = f"{path!r} names one file, but a stream writes many: name a folder, with a slash at its end"
        raise ValueError(message)
    return Path(path).absolute()


def folder_name(name: str) -> str:
    """A pipeline's or relation's name as a folder; two names never give the same one."""
    encoded = _encode(name)
    if len(encoded) > _STEM_BYTES:
        return f"{encoded[:_STEM_BYTES]}~{hashlib.sha256(name.encode()).hexdigest()[:16]}"
    return encoded or "%"


def stem(relation: str) -> str:
    """A relation's name as the beginning of file names: ASCII, never hidden from a reader's glob, bounded in length."""
    clean = re.sub(r"[^A-Za-z0-9_.-]+|\.\.+", "-", relation)[:_STEM_BYTES].lstrip("._-")
    return clean or "relation"


def file_name(relation: str, seq: int, token: str) -> str:
    """``<relation>-<seq>-<16 hex>.parquet``."""
    return f"{stem(relation)}-{seq:06d}-{token}{SUFFIX}"


def file_pattern(relation: str) -> re.Pattern[str]:
    """Matches every name that ``file_name`` gives for this relation."""
    return re.compile(rf"{re.escape(stem(relation))}-\d{{6,}}-[0-9a-f]{{16}}{re.escape(SUFFIX)}")


def hive_folder(columns: tuple[str, ...], values: tuple[str | None, ...]) -> str:
    """``country=DE/day=2026-01-01``; NULL and '' are Hive's default name, the column in the file keeps them apart.

    Raises ValueError naming the column where a value does not fit in a folder's name.
    """
    parts = []
    for column, value in zip(columns, values, strict=True):
        part = f"{_hive_text(column)}={HIVE_NULL if not value else _hive_value(value)}"
        if len(part.encode()) > NAME_BYTES:
            message = (
                f"PARTITIONED BY column {column!r}: a value of {len(value or '')} characters does not fit in a folder's name "
                f"({NAME_BYTES} bytes); partition by a shorter column such as left({column}, 50)"
            )
            raise ValueError(message)
        parts.append(part)
    return "/".join(parts)


def _hive_value(value: str) -> str:
    """Percent-encoded, with the default name itself kept apart from NULL."""
    text = _hive_text(value)
    return "%5F" + text[1:] if text == HIVE_NULL else text


def _hive_text(value: str) -> str:
    """Percent-encode what is special in ASCII; other letters stay (Hive and Spark decode one byte as one character)."""
    return "".join(c if not c.isascii() or ord(c) in _SAFE else f"%{ord(c):02X}" for c in value)


def _encode(name: str) -> str:
    """Percent-encode a name byte by byte; a leading dot or underscore too, since readers skip such folders or mistake them."""
    raw = name.encode()
    return "".join(chr(b) if b in _SAFE and not (at == 0 and b in b"._") else f"%{b:02X}" for at, b in enumerate(raw))
