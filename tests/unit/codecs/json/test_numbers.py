"""Digits to numbers."""

from __future__ import annotations

from decimal import Context, Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thalweg.arrow.rows import BadValue
from thalweg.codecs.json.numbers import double, integer, single, unscaled

LOW, HIGH = -(2**63), 2**63 - 1


@pytest.mark.parametrize(("text", "value"), [
    ("9007199254740993", 9007199254740993), ("9223372036854775807", HIGH), ("-9223372036854775808", LOW), ("1.0", 1), ("1e3", 1000),
    ("10E-1", 1), ("-0", 0), ("-0.0", 0), ("0e999", 0), ("1." + "0" * 5000, 1), ("922337203685477580.7e1", HIGH),
])  # fmt: skip
def test_integers_are_exact(text: str, value: int) -> None:
    """All 64 bits, and whole numbers however they are written (JS-01, JS-03)."""
    assert integer(text, LOW, HIGH, "int64") == value


@pytest.mark.parametrize(("text", "reason"), [
    ("9223372036854775808", "9223372036854775808 is out of range int64"), ("-9223372036854775809", "out of range int64"),
    ("327267367867168100000", "out of range int64"), ("1" * 10_000, "out of range int64"), ("1e30", "out of range"),
    ("1e999999999999999999999", "out of range"), ("1.5", "more decimal places"), ("1e-1", "more decimal places"),
    ("1." + "0" * 5000 + "1", "more decimal places"),
])  # fmt: skip
def test_integers_that_are_none(text: str, reason: str) -> None:
    """Out of range and fractions are errors of the record (JS-01, JS-03)."""
    with pytest.raises(BadValue, match=reason) as caught:
        integer(text, LOW, HIGH, "int64")
    assert len(caught.value.message) < 200


@pytest.mark.parametrize(("text", "value"), [
    ("0.1", 10**9), ("1e-3", 10**7), ("12", 12 * 10**10), ("-0.10000000000000000000000", -(10**9)), ("9999999999.9999999999", 10**20 - 1),
])  # fmt: skip
def test_decimals_are_exact(text: str, value: int) -> None:
    """decimal(20, 10): every digit, nothing through a double (JS-02)."""
    assert unscaled(text, 20, 10, "decimal(20, 10)") == value


@pytest.mark.parametrize(("text", "reason"), [
    ("12345678901.12345678901", "out of range"), ("1E400", "out of range"), ("0.00000000001", "more decimal places"),
    ("10000000000", "out of range"), ("1e99999999999999999999", "out of range"),
])  # fmt: skip
def test_decimals_are_never_rounded(text: str, reason: str) -> None:
    """A digit that does not fit is an error (JS-02)."""
    with pytest.raises(BadValue, match=reason):
        unscaled(text, 20, 10, "decimal(20, 10)")


@given(st.decimals(allow_nan=False, allow_infinity=False), st.integers(1, 76), st.integers(0, 76))
def test_decimals_agree_with_python(number: Decimal, precision: int, scale: int) -> None:
    """Accepted exactly when the number times the scale is whole and has few enough digits."""
    scale = min(scale, precision)
    scaled = Context(prec=5_000, Emax=10**9, Emin=-(10**9)).scaleb(number, scale)
    fits = abs(number.adjusted()) < 2_000 and scaled == scaled.to_integral_value() and abs(scaled) < 10**precision
    if fits:
        assert unscaled(str(number), precision, scale, "d") == int(scaled)
    elif number:
        with pytest.raises(BadValue):
            unscaled(str(number), precision, scale, "d")


def test_floats_are_the_nearest() -> None:
    """The nearest double, the nearest float rounded once, never an infinity (JS-02)."""
    assert double("0.1") == 0.1
    assert double("1e-400") == 0.0
    assert single("16777217.0000000000000000001") == 16777218.0
    assert single("16777217") == 16777216.0
    assert str(double("-0")) == "-0.0"
    for text, read in (("1e400", double), ("-1e400", double), ("1e39", single), ("1e400", single)):
        with pytest.raises(BadValue, match="out of range"):
            read(text)
