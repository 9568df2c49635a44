"""Figures as people read them."""

from __future__ import annotations

from thalweg.cli import figures


def test_sizes_are_decimal() -> None:
    """Bytes climb units in thousands and keep one decimal."""
    assert [figures.size(n) for n in (0, 999, 1500, 2_500_000, 3e15, 7e18)] == ["0 B", "999 B", "1.5 kB", "2.5 MB", "3.0 PB", "7000.0 PB"]


def test_times_and_counts() -> None:
    """Latencies, clocks and counts with their nouns."""
    assert [figures.latency(s) for s in (None, 0.0031, 1.25)] == ["-", "3 ms", "1.2 s"]
    assert [figures.milliseconds(s) for s in (None, 0.00312)] == [None, 3.1]
    assert [figures.clock(s) for s in (7, 67, 3723)] == ["0:07", "1:07", "1:02:03"]
    assert [figures.count(1), figures.count(1234), figures.count(2, "view")] == ["1 row", "1,234 rows", "2 views"]
