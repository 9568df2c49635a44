"""Exact numbers to single-precision floats."""

from __future__ import annotations

import struct
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from thalweg.arrow.floats import LARGEST, nearest_float32


def single(exact: Fraction) -> float:
    """The function under test, given an exact number."""
    return nearest_float32(float(exact), lambda near: (exact > Fraction(near)) - (exact < Fraction(near)))


def neighbours(value: float) -> list[float]:
    """The floats beside ``value``."""
    bits = struct.unpack("<I", struct.pack("<f", value))[0]
    near = [struct.unpack("<f", struct.pack("<I", b))[0] for b in (bits - 1, bits + 1) if 0 <= b < 2**32 and b & 0x7F800000 != 0x7F800000]
    return [f for f in near if f == f]  # noqa: PLR0124 - a NaN is not equal to itself


@given(st.integers(-(2**63), 2**63 - 1))
@example(2**62 + 2**38 + 1)
@example(16777217)
def test_no_float_is_nearer(number: int) -> None:
    """The result is a float and none of its neighbours is closer to the exact number."""
    exact = Fraction(number)
    result = single(exact)

    assert struct.unpack("<f", struct.pack("<f", result))[0] == result
    assert all(abs(Fraction(result) - exact) <= abs(Fraction(other) - exact) for other in neighbours(result))


def test_rounding_twice_would_be_wrong() -> None:
    """A number just above the middle between two floats goes up, though its double is the middle itself."""
    middle = Fraction(2**24 + 1)
    above, below = middle + Fraction(1, 2**40), middle - Fraction(1, 2**40)

    assert (single(middle), single(above), single(below)) == (2.0**24, 2.0**24 + 2, 2.0**24)
    assert (single(-above), single(-below)) == (-(2.0**24) - 2, -(2.0**24))


def test_the_smallest_numbers() -> None:
    """Half of the smallest float is 0, more is the smallest float."""
    smallest = Fraction(1, 2**149)

    assert single(smallest / 2) == 0.0
    assert single(smallest / 2 + Fraction(1, 2**300)) == float(smallest)
    assert single(-smallest / 2 - Fraction(1, 2**300)) == -float(smallest)


def test_the_largest_number() -> None:
    """Below the middle to the float that does not exist it is the largest float, from there on an error."""
    beyond = Fraction(2**128 - 2**103)

    assert single(beyond - 1) == LARGEST
    assert single(-beyond + 1) == -LARGEST
    with pytest.raises(OverflowError):
        single(beyond)
