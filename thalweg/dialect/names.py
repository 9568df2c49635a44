"""Identifiers the way DataFusion folds and quotes them, and the nearest of several words to a misspelt one."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

DEFAULT_CATALOG: Final = "datafusion"
DEFAULT_SCHEMA: Final = "public"
_NEAR: Final = 0.7
_TO_LOWER: Final = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}


def fold(identifier: str) -> str:
    """An unquoted identifier as DataFusion reads it: only ASCII letters go to lower case."""
    return identifier.translate(_TO_LOWER)


def quote(identifier: str) -> str:
    """An identifier in double quotes; words such as ``end`` need them even where DataFusion prints none."""
    return '"' + identifier.replace('"', '""') + '"'


def qualified(parts: Sequence[str]) -> str:
    """Folded parts joined by dots, without the default catalog and schema: ``public.orders`` is ``orders``."""
    rest = list(parts)
    if len(rest) == len(("catalog", "schema", "table")) and rest[0] == DEFAULT_CATALOG:
        del rest[0]
    if len(rest) == len(("schema", "table")) and rest[0] == DEFAULT_SCHEMA:
        del rest[0]
    return ".".join(rest)


def nearest(word: str, words: Iterable[str]) -> str | None:
    """The one of ``words`` that ``word`` was probably meant to be; case does not count."""
    by_upper = {w.upper(): w for w in words}
    close = difflib.get_close_matches(word.upper(), by_upper, n=1, cutoff=_NEAR)
    return by_upper[close[0]] if close else None


def did_you_mean(word: str, words: Iterable[str]) -> str | None:
    """``did you mean X?``, or None when nothing is near."""
    near = nearest(word, words)
    return None if near is None else f"did you mean {near}?"
