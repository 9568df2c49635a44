"""RFC 3339 text to Arrow's integers and back, digit for digit; no zone of the machine, no floating point."""

from __future__ import annotations

import datetime as dt
import re
from typing import Final

UNITS: Final = {"s": 0, "ms": 3, "us": 6, "ns": 9}
"""Decimal places of a second."""
_DATE: Final = re.compile(r"(\d{4})-(\d{2})-(\d{2})", re.ASCII)
_TIME: Final = re.compile(r"(\d{2}):(\d{2}):(\d{2})(?:\.(\d+))?", re.ASCII)
_STAMP: Final = re.compile(rf"({_DATE.pattern})(?:[Tt ]({_TIME.pattern})([Zz]|[+-]\d{{2}}:\d{{2}})?)?", re.ASCII)
_OFFSET: Final = re.compile(r"([+-])(\d{2}):(\d{2})", re.ASCII)
_EPOCH: Final = dt.date(1970, 1, 1).toordinal()
_LAST_DAY: Final = dt.date(9999, 12, 31).toordinal() - _EPOCH
_FIRST_DAY: Final = dt.date(1, 1, 1).toordinal() - _EPOCH
_DAY_SECONDS: Final = 86_400


def parse_date(text: str) -> int:
    """``YYYY-MM-DD`` to days since 1970; years 0001 to 9999. Raises ValueError with the reason."""
    match = _DATE.fullmatch(text)
    if match is None:
        message = "expected a date such as 2024-01-31"
        raise ValueError(message)
    return _days(match[1], match[2], match[3])


def parse_time(text: str, unit: str) -> int:
    """``hh:mm:ss[.fraction]`` to units since midnight. Raises ValueError with the reason."""
    match = _TIME.fullmatch(text)
    if match is None:
        message = "expected a time such as 23:59:59.5"
        raise ValueError(message)
    return _ticks(_seconds(match[1], match[2], match[3]), match[4], unit)


def parse_timestamp(text: str, unit: str, *, zoned: bool) -> int:
    """``YYYY-MM-DDThh:mm:ss[.fraction][Z|+hh:mm]`` to units since 1970; an offset is converted to UTC.

    A zoned column needs the offset, a column without zone refuses one. A date alone is midnight, where no zone is needed.
    Leap seconds (``:60``) and ``24:00`` are refused. Raises ValueError with the reason.
    """
    match = _STAMP.fullmatch(text)
    if match is None:
        message = "expected a timestamp such as 2024-01-31T23:59:59" + ("Z or ...+02:00" if zoned else "")
        raise ValueError(message)
    _, year, month, day, _, hour, minute, second, fraction, offset = match.groups()
    if zoned and offset is None:
        message = "a timestamp with time zone needs 'Z' or an offset such as +02:00"
        raise ValueError(message)
    if offset is not None and not zoned:
        message = "the column has no time zone but the text has an offset; declare it TIMESTAMP_LTZ"
        raise ValueError(message)
    seconds = _days(year, month, day) * _DAY_SECONDS
    if hour is not None:
        seconds += _seconds(hour, minute, second)
    if offset is not None:
        seconds -= _shift(offset)
    return _ticks(seconds, fraction, unit)


def format_date(days: int) -> str:
    """Days since 1970 as ``YYYY-MM-DD``. Raises ValueError outside the years 0001 to 9999."""
    if not _FIRST_DAY <= days <= _LAST_DAY:
        message = f"day {days} is outside the years 0001 to 9999"
        raise ValueError(message)
    return dt.date.fromordinal(days + _EPOCH).isoformat()


def format_time(ticks: int, unit: str) -> str:
    """Units since midnight as ``hh:mm:ss[.fraction]``."""
    places = UNITS[unit]
    seconds, fraction = divmod(ticks, 10**places)
    text = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return f"{text}.{fraction:0{places}}" if fraction else text


def format_timestamp(ticks: int, unit: str, *, zoned: bool) -> str:
    """Units since 1970 as RFC 3339 text. Raises ValueError outside the years 0001 to 9999."""
    days, rest = divmod(ticks, _DAY_SECONDS * 10 ** UNITS[unit])
    return f"{format_date(days)}T{format_time(rest, unit)}{'Z' if zoned else ''}"


def _days(year: str, month: str, day: str) -> int:
    """Days since 1970 of a date that must exist."""
    try:
        return dt.date(int(year), int(month), int(day)).toordinal() - _EPOCH
    except ValueError:
        message = f"there is no date {year}-{month}-{day}"
        raise ValueError(message) from None


def _seconds(hour: str, minute: str, second: str) -> int:
    """Seconds since midnight of a time that must exist."""
    h, m, s = int(hour), int(minute), int(second)
    if h > 23 or m > 59 or s > 59:  # noqa: PLR2004 - a clock has no other numbers
        message = f"there is no time {hour}:{minute}:{second} (leap seconds are not taken)"
        raise ValueError(message)
    return (h * 60 + m) * 60 + s


def _shift(offset: str) -> int:
    """Seconds east of UTC."""
    match = _OFFSET.fullmatch(offset)
    if match is None:
        return 0
    hours, minutes = int(match[2]), int(match[3])
    if hours > 23 or minutes > 59:  # noqa: PLR2004 - a clock has no other numbers
        message = f"there is no offset {offset}"
        raise ValueError(message)
    return (hours * 60 + minutes) * 60 * (-1 if match[1] == "-" else 1)


def _ticks(seconds: int, fraction: str | None, unit: str) -> int:
    """Seconds and a fraction's digits in ``unit``; digits that the unit cannot hold are refused, zeros excepted."""
    places = UNITS[unit]
    digits = (fraction or "").rstrip("0")
    if len(digits) > places:
        message = f"{len(digits)} decimal places of a second do not fit a column in {unit}"
        raise ValueError(message)
    scale: int = 10**places
    return seconds * scale + int(digits.ljust(places, "0") or "0")
