"""Exact numbers to the nearest single-precision float, rounded once."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

LARGEST: Final = (2.0 - 2.0**-23) * 2.0**127
_BEYOND: Final = (2.0 - 2.0**-24) * 2.0**127
"""Half way between the largest float and the next one that does not exist."""


def nearest_float32(double: float, remainder: Callable[[float], int]) -> float:
    """The float32 nearest to an exact number whose nearest double is ``double``.

    ``remainder(double)`` is the sign of (exact number - double); it is asked only when ``double`` lies half way between two floats,
    where rounding it again could go the wrong way. Raises OverflowError where the number is too large.
    """
    if abs(double) == _BEYOND and remainder(double) * double < 0:
        return LARGEST if double > 0 else -LARGEST
    rounded = _round(double)
    other = _towards(rounded, double)
    if other is None or double - rounded != other - double:
        return rounded
    sign = remainder(double)
    if sign == 0:
        return rounded
    return max(rounded, other) if sign > 0 else min(rounded, other)


def _round(double: float) -> float:
    """The nearest float, ties to even."""
    out: float = struct.unpack("<f", struct.pack("<f", double))[0]
    return out


def _towards(single: float, double: float) -> float | None:
    """The float next to ``single`` on the side of ``double``; None where they are equal or there is none."""
    if single == double:
        return None
    bits: int = struct.unpack("<I", struct.pack("<f", single))[0]
    if single == 0:
        bits = 1 if double > 0 else 0x80000001
    else:
        bits += 1 if (double > single) == (single > 0) else -1
    out: float = struct.unpack("<f", struct.pack("<I", bits))[0]
    return out
