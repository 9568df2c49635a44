"""Figures for people: sizes, durations, latencies."""

from __future__ import annotations

from typing import Final

_UNITS: Final = ("B", "kB", "MB", "GB", "TB", "PB")
_STEP: Final = 1000.0


def size(nbytes: float) -> str:
    """Bytes in decimal units: ``512 B``, ``1.2 MB``."""
    unit = 0
    while nbytes >= _STEP and unit < len(_UNITS) - 1:
        nbytes /= _STEP
        unit += 1
    return f"{nbytes:.0f} B" if unit == 0 else f"{nbytes:.1f} {_UNITS[unit]}"


def latency(seconds: float | None) -> str:
    """``-`` before there is one, ``3 ms``, ``1.2 s``."""
    if seconds is None:
        return "-"
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


def milliseconds(seconds: float | None) -> float | None:
    """For log lines."""
    return None if seconds is None else round(seconds * 1000, 1)


def clock(seconds: float) -> str:
    """``0:07``, ``1:02:03``."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def count(rows: int, noun: str = "row") -> str:
    """``1 row``, ``1,234 rows``."""
    return f"{rows:,} {noun}" if rows == 1 else f"{rows:,} {noun}s"
