"""RFC 3339 text and Arrow's integers."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thalweg.arrow.temporal import format_date, format_time, format_timestamp, parse_date, parse_time, parse_timestamp


@pytest.mark.parametrize(
    ("text", "unit", "zoned", "ticks"),
    [
        ("2024-01-01T00:00:00+02:00", "us", True, 1704060000000000),
        ("2024-01-01t00:00:00z", "ms", True, 1704067200000),
        ("2024-01-01T00:00:00-00:00", "s", True, 1704067200),
        ("2024-01-01 00:00:00", "us", False, 1704067200000000),
        ("1969-12-31T23:59:59.999999999Z", "ns", True, -1),
        ("1969-12-31T23:59:59.9990Z", "ms", True, -1),
        ("9999-12-31", "us", False, 253402214400000000),
        ("9999-12-31T23:59:59.999999Z", "us", True, 253402300799999999),
        ("0001-01-01", "us", False, -62135596800000000),
        ("0001-01-01T00:00:00+23:59", "s", True, -62135596800 - 86340),
    ],
)
def test_timestamps_are_exact(text: str, unit: str, zoned: bool, ticks: int) -> None:  # noqa: FBT001 - a column of the table
    """An offset is converted to UTC, the year 9999 fits microseconds, every digit counts (JS-12)."""
    assert parse_timestamp(text, unit, zoned=zoned) == ticks


@pytest.mark.parametrize(
    ("text", "unit", "zoned", "reason"),
    [
        ("2024-01-01 00:00:00", "us", True, "needs 'Z' or an offset"),
        ("9999-12-31", "us", True, "needs 'Z' or an offset"),
        ("2024-01-01T00:00:00Z", "us", False, "declare it TIMESTAMP_LTZ"),
        ("2024-02-30T00:00:00Z", "us", True, "there is no date 2024-02-30"),
        ("0000-01-01T00:00:00Z", "us", True, "there is no date"),
        ("2016-12-31T23:59:60Z", "us", True, "leap seconds"),
        ("2024-01-01T24:00:00Z", "us", True, "there is no time"),
        ("2024-01-01T00:00:00+24:00", "us", True, "there is no offset"),
        ("2024-01-01T00:00:00.0000001Z", "us", True, "7 decimal places"),
        ("2024-01-01T00:00:00.Z", "us", True, "expected a timestamp"),
        ("2024-1-1T00:00:00Z", "us", True, "expected a timestamp"),
        ("٢٠٢٤-01-01T00:00:00Z", "us", True, "expected a timestamp"),
        ("2024-01-01T00:00:00Z ", "us", True, "expected a timestamp"),
        ("", "us", False, "expected a timestamp"),
    ],
)
def test_timestamps_that_are_none(text: str, unit: str, zoned: bool, reason: str) -> None:  # noqa: FBT001 - a column of the table
    """Naive text in a zoned column, impossible dates, leap seconds and digits that do not fit are refused (JS-12)."""
    with pytest.raises(ValueError, match=reason):
        parse_timestamp(text, unit, zoned=zoned)


def test_dates_and_times() -> None:
    """Dates count days, times count units of the column."""
    assert parse_date("1970-01-02") == 1
    assert parse_time("23:59:59.5", "ms") == 86_399_500
    assert (format_date(-1), format_time(86_399_500, "ms"), format_time(0, "s")) == ("1969-12-31", "23:59:59.500", "00:00:00")
    for wrong in ("1970-13-01", "70-01-01", "1970-01-01T00:00:00"):
        with pytest.raises(ValueError, match="date"):
            parse_date(wrong)
    for wrong in ("24:00:00", "12:00", "12:00:00.5555"):
        with pytest.raises(ValueError, match=r"time|decimal places"):
            parse_time(wrong, "ms")


def test_far_years_have_no_text() -> None:
    """Integers outside the years 1 to 9999 are legal values, but RFC 3339 has no text for them."""
    with pytest.raises(ValueError, match="outside the years"):
        format_timestamp(253402300800000, "ms", zoned=True)


@given(st.datetimes(), st.sampled_from(["us", "ns"]), st.booleans())
def test_text_and_back(moment: dt.datetime, unit: str, zoned: bool) -> None:  # noqa: FBT001 - drawn
    """Formatting what was parsed gives the same moment; Python's own datetime agrees."""
    text = moment.isoformat() + ("Z" if zoned else "")
    ticks = parse_timestamp(text, unit, zoned=zoned)
    micros = (moment - dt.datetime(1970, 1, 1)) // dt.timedelta(microseconds=1)  # noqa: DTZ001 - naive on both sides

    assert ticks == micros * (1000 if unit == "ns" else 1)
    assert parse_timestamp(format_timestamp(ticks, unit, zoned=zoned), unit, zoned=zoned) == ticks
